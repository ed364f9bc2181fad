"""Columns of dense tables that are far from 0: the same model as of columns around 0, whatever the solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ClassifierObjective, MaxEnt
from loglinear.data.matrix import far_from_zero

PENALTIES = [{"l2": 1.0}, {"l1": 1.0, "l2": 0.0}, {"l1": 0.5, "l2": 0.5}]


def table(seed, n_classes, n=200, p=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    scores = X @ rng.normal(size=(p, n_classes)) + rng.normal(size=n_classes) + rng.gumbel(size=(n, n_classes))
    return X, scores.argmax(axis=1), rng.choice([0.5, 1.0, 3.0], n)


@examples(20)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3]),
    st.sampled_from(PENALTIES),
    st.sampled_from([30.0, 1e3, 1e5]),
    st.sampled_from(["softmax", "ovr"]),
)
def test_the_model_is_that_of_columns_around_zero(seed, n_classes, penalty, far, multi_class):
    X, y, weights = table(seed, n_classes)
    shift = far * np.array([1.0, -1.0, 0.0, 2.0])
    fits = [
        MaxEnt(**penalty, multi_class=multi_class, tolerance=1e-10).fit(columns, y, weights)
        for columns in (X, X + shift)
    ]
    near, moved = fits
    np.testing.assert_allclose(moved.coef_, near.coef_, atol=1e-4)
    np.testing.assert_allclose(moved.decision_function(X + shift), near.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("off", [3.0, 30.0, 1000.0])
def test_many_classes_and_columns_with_an_l1_penalty_end_at_the_optimum(off):
    X, y, _ = table(0, 3, n=300, p=100)
    best = MaxEnt(l1=1.0).fit(X, y).result_.objective
    result = MaxEnt(l1=1.0).fit(X + off, y).result_
    assert result.status.converged
    assert result.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_constant_column_beside_an_intercept_has_no_weight(penalty):
    X, y, _ = table(1, 2)
    both = np.column_stack([X + 1000.0, np.full(len(X), 1000.0)])
    best, model = MaxEnt(**penalty).fit(X, y), MaxEnt(**penalty).fit(both, y)
    assert model.coef_[0, -1] == 0.0
    assert model.result_.objective == pytest.approx(best.result_.objective, rel=1e-8)


def test_layouts_and_threads_give_the_same_bits():
    X, y, _ = table(2, 3)
    X = (X + 50.0).astype(np.float32)
    wide = X.astype(np.float64)
    tables = [X, wide, np.asfortranarray(wide), np.asfortranarray(X), np.repeat(wide, 2, axis=0)[::2]]
    models = [MaxEnt(l1=0.5, n_jobs=n).fit(columns, y) for columns in tables for n in (1, 3)]
    for model in models:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)


def test_training_starts_from_a_model_of_columns_far_from_zero():
    X, y, _ = table(3, 3)
    model = MaxEnt(solver="lbfgs", tolerance=1e-9).fit(X + 100.0, y)
    again = MaxEnt(solver="lbfgs").fit(X + 100.0, y, start=model)
    assert again.result_.trace[0].objective == pytest.approx(model.result_.objective, rel=1e-7)


def test_the_array_that_was_given_is_left_as_it_was_and_columns_around_zero_are_not_copied():
    X, y, _ = table(4, 2)
    assert far_from_zero(X) is None
    moved = X + np.array([0.0, 10.0, 0.0, 0.0])
    moved.flags.writeable = False
    shift = far_from_zero(moved)
    assert shift is not None
    assert (shift[[0, 2, 3]] == 0.0).all()
    assert shift[1] == pytest.approx(10.0, abs=0.3)
    objective = ClassifierObjective(moved, y, n_classes=2, intercept="scaled")
    coef, intercept = np.array([[1.0, 2.0, 0.0, -1.0]]), np.array([0.5])
    back = objective.coefficients(objective.weights_of(coef, intercept))
    np.testing.assert_allclose(back[0], coef)
    np.testing.assert_allclose(back[1], intercept)
    scores = moved @ coef[0] + intercept[0]
    nll = np.logaddexp(0.0, np.where(y == 1, -scores, scores)).sum()
    assert objective.value_and_gradient(objective.weights_of(coef, intercept))[0] == pytest.approx(nll)
