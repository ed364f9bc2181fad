"""Laws of all combinations of options: a typed error that names one of them, or a model that is what they say."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ChainCRF, ChainFeatures, Corpus, GraphCRF, MaxEnt, PairwiseMRF, TextClassifier
from loglinear.data.parts import ListedPart
from loglinear.models.chain import OlderModels
from loglinear.objectives.parts import ChainParts
from oracles.jointly import INTEGERS, MINIMISATION, drawn, fitted

# Many combinations do not converge, or leave no weight.
pytestmark = pytest.mark.filterwarnings("ignore")

# Solvers that visit samples in an order, or divide them: repeated samples are visited more often than weighted ones.
BY_SAMPLE = {"adagrad", "asg", "pegasos", "sg", "sgd_l1", "sag", "hybrid", "two_stage", "label_sets", "clustered"}
BY_SAMPLE |= {"parameter_mixing", "dual_cd"}
TOLERANCE = 2e-3  # of objectives, the same multiple of a solver's precision for all


def repeated(items, weights):
    return [item for item, weight in zip(items, weights, strict=True) for _ in range(weight)]


def is_repeatable(options):
    """Whether repeated samples and weighted ones have the same optimum, which the solver finds."""
    counts = options.get("min_count", 1) > 1 or options.get("class_weight") == "balanced"
    return not counts and options.get("solver") not in BY_SAMPLE and options.get("max_iterations") != 3


def same_objective(one, other, label=""):
    """Both trainings have converged, to the same objective."""
    ends = [model.result_ for model in (one, other)]
    if all(end.status.converged for end in ends):
        assert ends[0].objective == pytest.approx(ends[1].objective, rel=TOLERANCE, abs=1e-6), label


def unchanged(one, other, answers):
    """Both models give the same answers, to the last bit."""
    for expected, found in zip(answers(one), answers(other), strict=True):
        np.testing.assert_array_equal(np.asarray(expected, dtype=object), np.asarray(found, dtype=object))


def reopened(model, answers):
    """A model that was saved and loaded gives the same answers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.save(path)
        unchanged(model, type(model).load(path), answers)


WORDS = ["a", "b", "c", "d"]
LABELS = ["O", "B-X", "I-X", "B-Y"]
CHAIN = MINIMISATION | {
    "min_count": [2],
    "order": [2],
    "constraints": ["auto", "bio", "bioes", [("O", "I-X")]],
    "invalid_labels": ["skip", "repair"],
    "class_weight": [{"B-X": 2.0, "O": 0.5}, "balanced"],
}


@st.composite
def sentences(draw):
    """Sentences, labels that may be partial, and weights of sentences and tokens or None."""
    partial = draw(st.sampled_from([None, None, "missing", "several", "soft"]))
    other = {"missing": None, "several": frozenset(["O", "B-X"]), "soft": {"O": 0.7, "B-Y": 0.3}}.get(partial)
    X, y = [], []
    for _ in range(draw(st.integers(3, 8))):
        n = draw(st.integers(1, 4))
        X.append([[draw(st.sampled_from(WORDS)), f"at{t % 2}"] for t in range(n)])
        y.append([draw(st.sampled_from(LABELS)) for t in range(n)])
        if partial is not None and draw(st.booleans()):
            y[-1][0] = other
    y[0][0], y[1][0] = "O", "B-X"
    weights = draw(st.none() | st.lists(INTEGERS, min_size=len(X), max_size=len(X)).filter(any))
    costs = draw(st.none() | st.just([[0.5 * (t + 1) for t in range(len(sentence))] for sentence in X]))
    return X, y, weights, costs


@given(drawn(ChainCRF, CHAIN), sentences())
@examples(120)
def test_chains_of_all_options(options, data):
    X, y, weights, costs = data

    def fit(X, y, weights=None, costs=None):
        return ChainCRF(**{"n_jobs": 1} | options).fit(X, y, sample_weight=weights, token_weight=costs)

    def fit_parts():
        crf = ChainCRF(**options)
        half = len(X) // 2
        parts = [
            ListedPart(f"part {k}", X[at], y[at], None, *(each and each[at] for each in (weights, costs)))
            for k, at in enumerate([slice(half), slice(half, None)])
        ]
        crf._fit(
            lambda _, older: ChainParts(parts, crf._options(ChainFeatures), older=older),
            None,
            None,
            models=OlderModels(None, None, None),
        )
        return crf

    arguments = "token_weight", "sample_weight"
    crf = fitted(lambda: fit(X, y, weights, costs), options, *arguments)
    encoded = Corpus.encode(X, y, sample_weight=weights, token_weight=costs)
    corpus = fitted(lambda: fit(encoded, None), options, *arguments)
    in_parts = fitted(fit_parts, options, *arguments)
    assert (crf is None) == (corpus is None)
    # Parts refuse what needs all sentences at once, and solvers that visit samples.
    if in_parts is not None and crf is not None and is_repeatable(options):
        same_objective(crf, in_parts, "in parts")
    if crf is None:
        return
    for p in crf.marginals(X):
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    unchanged(crf, corpus, lambda model: [model.predict(X), *model.marginals(X)])
    reopened(crf, lambda model: [model.predict(X), *model.marginals(X)])
    # Labels and pairs of labels of a sentence of weight 0 remain, and so do their features.
    if weights is not None and all(weights) and is_repeatable(options):
        again = fit(repeated(X, weights), repeated(y, weights), None, costs and repeated(costs, weights))
        same_objective(crf, again, "repeated")


CLASSIFIER = MINIMISATION | {
    "l1": [*MINIMISATION["l1"], "cv"],
    "class_weight": [{"b": 3.0}, "balanced"],
    "min_count": [2],
}


@st.composite
def samples(draw):
    """Samples with attributes, classes that may be distributions, and weights or None."""
    n = draw(st.integers(12, 20))
    X = [draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)) for _ in range(n)]
    classes = ["a", "b", "c"][: draw(st.integers(2, 3))]
    y = [classes[i % len(classes)] for i in range(n)]
    if draw(st.integers(1, 4)) == 1:
        y[0] = {"a": 0.25, "b": 0.75}
    weights = draw(st.none() | st.lists(INTEGERS, min_size=n, max_size=n).filter(lambda w: all(w[:3])))
    return X, y, weights


def answers_of_classifier(X):
    return lambda model: [model.predict(X), model.predict_proba(X)]


def law_of_classifiers(kind, options, X, y, weights):
    fit = lambda X, y, weights=None: kind(**{"n_jobs": 1} | options).fit(X, y, sample_weight=weights)  # noqa: E731
    model = fitted(lambda: fit(X, y, weights), options, "sample_weight")
    if model is None:
        return None
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, atol=1e-12)
    reopened(model, answers_of_classifier(X))
    if weights is not None and is_repeatable(options) and options.get("l1") != "cv":  # folds of samples
        again = fit(repeated(X, weights), repeated(y, weights))
        for one, other in zip(model.results_, again.results_, strict=True):
            if one.status.converged and other.status.converged:
                assert one.objective == pytest.approx(other.objective, rel=TOLERANCE, abs=1e-6)
    return model


@given(drawn(MaxEnt, CLASSIFIER), samples())
@examples(120)
def test_classifiers_of_all_options(options, data):
    X, y, weights = data
    model = law_of_classifiers(MaxEnt, options, X, y, weights)
    if model is None or any(isinstance(each, dict) for each in y):
        return
    tokens = [[sample] for sample in X], [[each] for each in y]
    corpus = MaxEnt(**{"n_jobs": 1} | options).fit(Corpus.encode(*tokens, sample_weight=weights))
    unchanged(model, corpus, answers_of_classifier(X))


TEXTS = CLASSIFIER | {"words": ["characters:1-2", "blanks"], "ngrams": ["1-2"]}


@given(drawn(TextClassifier, TEXTS), samples())
@examples(60)
def test_text_classifiers_of_all_options(options, data):
    X, y, weights = data
    law_of_classifiers(TextClassifier, options, [" ".join(sample) for sample in X], y, weights)


FIELD = MINIMISATION | {
    "inference": ["exact", "loopy_bp", "trw"],
    "inference_options": [{"damping": 0.5}, {"limit": 2**12}],
    "constraints": [[("b", "a")]],
    "class_weight": [{"a": 2.0}, "balanced"],
}


@st.composite
def graphs(draw):
    """Graphs with cycles or without, labels that may be missing, and costs of nodes or None."""
    X, y = [], []
    for _ in range(draw(st.integers(3, 5))):
        n = draw(st.integers(2, 5))
        edges = [(i, i + 1) for i in range(n - 1)] + ([(0, n - 1)] if n > 2 and draw(st.booleans()) else [])
        y.append([draw(st.sampled_from("ab")) for _ in range(n)])
        noise = [draw(st.sampled_from([-0.5, 0.0, 0.5])) for _ in range(n)]
        X.append((np.array([[(label == "a") + e] for label, e in zip(y[-1], noise, strict=True)]), np.array(edges)))
    y[0][:2] = ["a", "b"]
    if draw(st.booleans()):
        y[1][0] = None
    costs = [[0.5 + i for i in range(len(labels))] for labels in y]
    return X, y, draw(st.sampled_from([None, costs]))


@given(drawn(GraphCRF, FIELD), graphs())
@examples(100)
def test_fields_on_graphs_of_all_options(options, data):
    X, y, costs = data
    crf = fitted(lambda: GraphCRF(**{"n_jobs": 1} | options).fit(X, y, node_weight=costs), options, "node_weight")
    if crf is None:
        return
    for p in crf.predict_proba(X):
        np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)
    reopened(crf, lambda model: [*model.predict(X), *model.predict_proba(X)])


NETWORK = MINIMISATION | {
    "l1": [0.5, 5.0, "cv", "stars"],
    "l2": [1e-3, 2.0],
    "objective": ["likelihood", "nodewise"],
    "inference": ["loopy_bp", "trw", "exact", "gibbs"],
    "inference_options": [{"damping": 0.5}, {"chains": 50, "sweeps": 2}],
    "path_options": [{"l1": 4, "subsamples": 3}, {"l1": [3.0, 1.0], "folds": 2}, {"gamma": 0.0}],
    "max_states": [2, 4],
    "bins": [2],
    "cuts": [{"d": [0.5]}],
    "missing": [["?"], [2]],
    "reference": [{"a": "y"}],
}
COLUMNS = ["a", "b", "c", "d"]


@st.composite
def tables(draw):
    """Tables of four columns, the last of numbers, with missing values or without, and weights or None."""
    n, rng = draw(st.integers(24, 40)), np.random.default_rng(draw(st.integers(0, 99)))
    a = rng.integers(0, 2, n)
    b, c = np.where(rng.random(n) < 0.8, a, 1 - a), rng.integers(0, 3, n)
    rows = [["xy"[i], "xy"[j], "pqr"[k], float(i + rng.integers(0, 2))] for i, j, k in zip(a, b, c, strict=True)]
    if draw(st.booleans()):
        rows[0][1], rows[1][0] = "?" if draw(st.booleans()) else None, None
    weights = rng.integers(0, 4, n).tolist() if draw(st.booleans()) else None
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows], weights


@given(drawn(PairwiseMRF, NETWORK), tables(), st.booleans())
@examples(100)
def test_networks_of_all_options(options, data, resampled):
    X, weights = data
    options = {"path_options": {"l1": 5, "subsamples": 3}} | options

    def fit(X, weights=None):
        return PairwiseMRF(**{"n_jobs": 1} | options).fit(X, sample_weight=weights)

    mrf = fitted(lambda: fit(X, weights), options)
    if mrf is None:
        return
    for p in mrf.marginals():
        assert p.sum() == pytest.approx(1.0, abs=1e-9)
    reopened(mrf, lambda model: [*model.marginals(), *model.predict(X)])
    if resampled:
        confidence = mrf.edge_confidence(X, 3, sample_weight=weights)
        assert ((0.0 < confidence.shares) & (confidence.shares <= 1.0)).all()
        assert (confidence.lower <= confidence.upper).all()
    # Folds, subsamples and samples of Gibbs sampling depend on the number of rows.
    if weights is not None and is_repeatable(options) and options.get("l1") not in ("cv", "stars"):
        if options.get("inference") != "gibbs":
            again = fit(repeated(X, weights))
            if [states.tolist() for states in again.categories_] != [states.tolist() for states in mrf.categories_]:
                return  # states of samples of weight 0 remain, and one may be the reference
            assert again.l1_ == pytest.approx(mrf.l1_, rel=1e-6)
            same_objective(mrf, again, "repeated")
