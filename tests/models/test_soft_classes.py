"""Distributions over classes in `MaxEnt`: the expected objective, by an optimiser of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.special import log_softmax

from loglinear import DataError, MaxEnt

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
