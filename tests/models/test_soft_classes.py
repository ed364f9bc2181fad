"""Distributions over classes in `MaxEnt`: the expected objective, by an optimiser of SciPy."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.special import log_softmax

from examples import by_day
from loglinear import ConvergenceWarning, Corpus, DataError, DataWarning, MaxEnt

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
P = RNG.dirichlet([0.5, 1.0, 2.0], size=40)
WEIGHTS = RNG.choice([0.5, 1.0, 2.0], 40)


def optimum(X, P, weights, l2=0.7):
    """Coefficients, (K, d), of the expected likelihood without an intercept."""
    k, d = P.shape[1], X.shape[1]

    def value(w):
        w = w.reshape(k, d)
        return -(weights[:, None] * P * log_softmax(X @ w.T, axis=1)).sum() + 0.5 * l2 * (w**2).sum()

    return scipy.optimize.minimize(value, np.zeros(k * d), method="BFGS", options={"gtol": 1e-8}).x.reshape(k, d)


def as_dicts(P):
    return [{f"c{k}": p for k, p in enumerate(row)} for row in P.tolist()]


@pytest.mark.parametrize("solver", [None, "lbfgs", "owlqn", "prox_newton", "sag"])
def test_the_optimum_is_that_of_the_expected_likelihood(solver):
    options = {"solver": solver, "tolerance": 1e-5 if solver == "sag" else 1e-10, "max_iterations": 5000}
    model = MaxEnt(l2=0.7, fit_intercept=False, **options).fit(X, P, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.coef_, optimum(X, P, WEIGHTS), atol=2e-4)
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("form", ["dicts", "frame", "sparse", "attributes"])
def test_every_form_of_samples_and_distributions_gives_the_same_model(form):
    pandas = pytest.importorskip("pandas")
    names = ["c0", "c1", "c2"]
    reference = MaxEnt(l2=0.7).fit(X, as_dicts(P)).predict_proba(X)
    if form == "dicts":
        table = pandas.DataFrame(P, columns=names)
        found = MaxEnt(l2=0.7).fit(X, table).predict_proba(X)
    elif form == "frame":
        frame = pandas.DataFrame(X, columns=["a", "b", "c"])
        found = MaxEnt(l2=0.7).fit(frame, as_dicts(P)).predict_proba(frame)
    elif form == "sparse":
        found = MaxEnt(l2=0.7).fit(scipy.sparse.csr_array(X), as_dicts(P)).predict_proba(X)
    else:
        samples = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
        found = MaxEnt(l2=0.7).fit(samples, as_dicts(P)).predict_proba(samples)
    np.testing.assert_allclose(found, reference, atol=1e-4)


def test_certain_classes_are_classes():
    y = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)].tolist()
    mixed = [{"a": 1.0, "b": 0.0} if label == "a" else label for label in y]
    mixed[0], weights = {"a": 0.5, "b": 0.5}, np.ones(len(y))
    weights[0] = 0.0
    mine = MaxEnt().fit(X, mixed, sample_weight=weights).coef_
    np.testing.assert_allclose(mine, MaxEnt().fit(X[1:], y[1:]).coef_, atol=1e-6)


def test_cross_validation_keeps_the_copies_of_a_sample_together():
    sure = 1.0 / (1.0 + np.exp(-6.0 * X[:, 0]))
    model = MaxEnt(l1="cv").fit(X, np.stack([sure, 1.0 - sure], axis=1))
    assert model.coef_.any()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (P * 0.9, r"y, row 0: the probabilities add up to 0.900000, 0.100000 less than 1; divide them by their sum"),
        (P - 1.0, r"y, row 0: a label has the probability -0\.\d+; probabilities are numbers from 0 to 1"),
        (P[:5], r"y has 5 distributions, but X has 40 samples"),
        ([{"a": 0.5, "b": 0.7}] * 40, r"y, row 0: the probabilities add up to 1.200000, 0.200000 more than 1"),
        ([{"a": "x"}] * 40, r"y, row 0: the probability of 'a' is 'x', which is not a number"),
    ],
)
def test_bad_distributions_are_refused_by_row(y, message):
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(X, y)


def without_mass(n_classes):
    """Distributions of which the last column is 0."""
    return np.hstack([np.random.default_rng(n_classes).dirichlet(np.ones(n_classes - 1), size=40), np.zeros((40, 1))])


IMPOSSIBLE = r"1 class has a probability of 0 in every sample: c?\d; the model gives a probability near 0"


@pytest.mark.parametrize(
    ("n_classes", "penalty", "multi_class"),
    by_day(
        product([2, 3, 4], [{"l2": 0.5}, {"l1": 0.2, "l2": 0.0}, {"l1": 0.1, "l2": 0.1}], ["softmax", "ovr"]),
        lambda case: case[0] == 3 and (case[1] == {"l1": 0.2, "l2": 0.0}) == (case[2] == "ovr"),
    ),
)
def test_a_class_without_mass_keeps_its_column(multi_class, n_classes, penalty):
    solvers = [None, "lbfgs", "sag", "adagrad", "prox_newton", "bfgs", "hybrid"] if "l1" not in penalty else []
    solvers = solvers or [None, "owlqn", "two_stage", "sgd_l1", "prox_newton", "grafting", "prox_gradient"]
    Q = without_mass(n_classes)
    for solver in solvers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            with pytest.warns(DataWarning, match=IMPOSSIBLE):
                model = MaxEnt(multi_class=multi_class, solver=solver, **penalty).fit(X, Q)
        found = model.predict_proba(X)
        assert found.shape == Q.shape
        assert model.classes_.tolist() == [*range(n_classes)]
        for numbers in (model.coef_, model.intercept_, model.predict_log_proba(X)):
            assert np.isfinite(numbers).all(), solver
        assert found[:, -1].max() < 0.03, solver
    if n_classes > 3:  # two classes have one weight a column
        expected = MaxEnt(multi_class=multi_class, tolerance=1e-10, **penalty).fit(X, Q[:, :-1]).predict_proba(X)
        with pytest.warns(DataWarning, match=IMPOSSIBLE):
            model = MaxEnt(multi_class=multi_class, tolerance=1e-10, **penalty).fit(X, Q)
        np.testing.assert_allclose(model.predict_proba(X)[:, :-1], expected, atol=1e-3)


def test_labels_of_dicts_that_are_never_probable_keep_their_column():
    Q = without_mass(3)
    with pytest.warns(DataWarning, match="1 class has a probability of 0 in every sample: c2"):
        model = MaxEnt().fit(X, as_dicts(Q))
    assert model.classes_.tolist() == ["c0", "c1", "c2"]
    named = pytest.importorskip("pandas").DataFrame(Q, columns=["c0", "c1", "c2"])
    with pytest.warns(DataWarning, match="sample: c2"):
        assert MaxEnt().fit(X, named).classes_.tolist() == ["c0", "c1", "c2"]


def test_a_corpus_may_have_distributions():
    samples = [dict(zip("abc", row, strict=True)) for row in X.tolist()]
    weights = WEIGHTS.tolist()
    lengths = [3, 7, 10, 20]
    ends = np.cumsum(lengths)
    rows = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
    y = as_dicts(P)
    y[0] = "c1"
    corpus = Corpus.encode(
        [samples[row] for row in rows], [y[row] for row in rows], token_weight=[weights[row] for row in rows]
    )
    expected = MaxEnt(l2=0.7).fit(samples, y, sample_weight=weights)
    model = MaxEnt(l2=0.7).fit(corpus)
    np.testing.assert_allclose(model.predict_proba(samples), expected.predict_proba(samples), atol=1e-12)
    for label, what in ((None, "unknown"), ({"c0", "c1"}, r"one of several \(c0\|c1\)")):
        y[12] = label
        with pytest.raises(DataError, match=f"sentence 2, token 2: the label is {what}, which a classifier cannot"):
            MaxEnt().fit(Corpus.encode([samples[row] for row in rows], [y[row] for row in rows]))


def test_min_count_counts_a_sample_with_several_classes_once():
    samples = [["a", "once"], ["a"], ["a", "twice"], ["twice"]]
    y = [{"x": 0.5, "y": 0.5}, "x", {"x": 0.2, "y": 0.8}, "y"]
    assert MaxEnt(min_count=2).fit(samples, y).attributes_ == ["a", "twice"]
    assert MaxEnt(min_count=2).fit(Corpus.encode([[s] for s in samples], [[k] for k in y])).attributes_ == [
        "a",
        "twice",
    ]
