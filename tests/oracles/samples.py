"""Labelled sentences and their objectives, for the tests of stochastic solvers."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from loglinear import ChainObjective, ClassifierObjective, Corpus
from loglinear.data.graphs import Graphs, grid_edges
from loglinear.networks.exact import Exact
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.objectives.graph import GraphLikelihood


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


# Methods of inference in which messages settle to rounding errors: passes start from other messages than batches.
INFERENCES = {
    "exact": Exact(),
    "loopy_bp": LoopyBP(damping=0.1, tolerance=1e-13, max_iterations=5000),
    "trw": TreeReweighted(tolerance=1e-13, max_iterations=5000),
}
SHAPES = [
    (1, []),
    (2, []),
    (2, [(1, 0)]),
    (5, [(0, 1), (1, 2), (3, 1), (3, 4)]),
    (4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    (6, grid_edges(2, 3)),
]


class Graphed:
    """The same of a field on graphs: trees, loops and single nodes, some with costs, missing or forbidden labels."""

    def __init__(self, seed, inference="exact", *, labels=3, strength=1.0, threads=1):
        rng = np.random.default_rng(seed)
        symmetric, has_costs, has_missing, is_sparse, has_ties = rng.random(5) < 0.5
        X, y = [], []
        for at in [*range(len(SHAPES)), 4, 3]:
            n, edges = SHAPES[at]
            edges = np.array(edges, np.int64).reshape(-1, 2)
            nodes = rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.6)
            parts = (scipy.sparse.csr_array(nodes) if is_sparse else nodes, edges)
            ties = strength * rng.normal(size=(len(edges), 2)) * (rng.random((len(edges), 2)) < 0.7)
            X.append((*parts, ties) if has_ties else parts)
            y.append(rng.integers(0, labels, n))
            if has_missing:
                y[-1][rng.random(n) < 0.3] = -1
        self.X, self.gold = X, np.concatenate(y)
        costs = 3.0 * rng.random(self.gold.size) if has_costs else None
        graphs = Graphs.of(X)
        used = set(zip(*self.gold[graphs.edges].T.tolist(), strict=True))
        pairs = [(a, b) for a in range(labels) for b in range(labels) if not {(a, b), (b, a)} & used]
        forbidden = [] if has_missing else [*{*pairs[:1], *(pair[::-1] for pair in pairs[:1])}]
        options = dict(inference=INFERENCES[inference], symmetric=bool(symmetric), forbidden=forbidden, costs=costs)
        self.whole = GraphLikelihood(graphs, self.gold, labels, threads=threads, **options)
        self.samples = [self.whole.sample(np.array([k])) for k in range(len(X))]
        self.used = [sample.largest_values() > 0.0 for sample in self.samples]
        self.tokens = [1] * len(X)
        self.penalised = np.ones(self.whole.n_features, bool)


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
