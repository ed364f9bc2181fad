"""Labelled sentences and their objectives, for the tests of stochastic solvers."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from loglinear import ChainObjective, ClassifierObjective, Corpus


def sentences(n, seed, *, kinds=6, valued=False):
    """Random labelled sentences, one-token and empty ones among them; frequent attributes become dense rows."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        length = int(rng.choice([0, 1, 2, 5, 8], p=[0.05, 0.15, 0.2, 0.3, 0.3]))
        names = [[f"a{i}" for i in rng.integers(0, kinds, 2)] + [f"rare{rng.integers(0, 40)}"] for _ in range(length)]
        if valued:
            X.append([{name: float(rng.normal()) for name in token} for token in names])
        else:
            X.append(names)
        y.append([str(rng.choice(["A", "B", "C"])) for _ in range(length)])
    if not any(y):
        X[0], y[0] = X[0] + [["a0"]] if not valued else [{"a0": 1.0}], ["A"]
    return X, y


class PerSample:
    """The objective of the whole and of each sample, all over the same features: other samples get weight 0."""

    def __init__(self, X, y, weights=None, template=None):
        weights = [1.0] * len(X) if weights is None else weights
        self.tokens = [len(sentence) for sentence in X]
        make = lambda w: ChainObjective(Corpus.encode(X, y, sample_weight=w, template=template), threads=1)  # noqa: E731
        self.whole = make(weights)
        alone = [[w if i == j else 0.0 for i, w in enumerate(weights)] for j in range(len(X))]
        self.samples = [make(w) for w in alone]
        unit = [make([float(i == j) for i in range(len(X))]) for j in range(len(X))]
        at = np.random.default_rng(0).normal(size=self.whole.n_features)
        self.used = [objective.value_and_gradient(at)[1] != 0.0 for objective in unit]
        self.penalised = np.ones(self.whole.n_features, bool)


class Classified:
    """The same of a classifier, whose intercept bears no penalty."""

    def __init__(self, seed, n_classes, *, n=12, d=7, intercept=True, valued=True):
        rng = np.random.default_rng(seed)
        X = scipy.sparse.random_array((n, d), density=0.4, rng=rng, format="csr")
        X.data = rng.normal(size=X.nnz) if valued else np.ones(X.nnz)
        y, weights = rng.integers(n_classes, size=n), rng.choice([1.0, 2.0, 0.5], n)
        self.classifier = ClassifierObjective(X, y, weights, n_classes=n_classes, intercept=intercept)
        self.whole = self.classifier.core.as_chain()
        self.samples = [self.classifier.sample(np.array([i])) for i in range(n)]
        self.used = [np.repeat(row != 0.0, self.classifier.n_outputs) for row in self.classifier.design.toarray()]
        self.tokens = [1] * n
        self.penalised = np.arange(self.whole.n_features) < self.whole.n_features - self.whole.n_unpenalised


def chunky(n=60, seed=5):
    """Sentences whose labels depend on their attributes and neighbours."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(0, 12, rng.integers(2, 9))
        X.append([[f"w{w}", f"p{w % 3}"] for w in words])
        y.append([("A", "B", "C")[(w + (w // 4) * (t % 2)) % 3] for t, w in enumerate(words)])
    return X, y


def linked_codes(states, n=300, missing=0.0, seed=0):
    """Codes of variables that hang together in a chain, and weights of the samples."""
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, r, n) for r in states], axis=1)
    for i in range(1, len(states)):
        copied = rng.random(n) < 0.5
        codes[copied, i] = codes[copied, i - 1] % states[i]
    codes[rng.random(codes.shape) < missing] = -1
    return codes, rng.random(n) * 2.0
