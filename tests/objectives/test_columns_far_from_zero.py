"""Columns of dense tables that are far from 0: the same model as of columns around 0, whatever the solver."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ClassifierObjective, ElasticNet, MaxEnt, Problem, minimize, path
from loglinear.data.matrix import far_from_zero
from loglinear.objectives.groups import LocalGroup
from loglinear.objectives.matrix_parts import ChunkOfSamples, ClassifierParts, MatrixPart
from loglinear.solvers import OWLQN

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


@pytest.mark.parametrize("constant", [1000.0, 0.1, 1e-8])
@pytest.mark.parametrize("penalty", [*PENALTIES, {"l2": 0.0}])
def test_a_constant_column_beside_an_intercept_has_no_weight(penalty, constant):
    X, y, _ = table(1, 2)
    both = np.column_stack([X + 1000.0, np.full(len(X), constant)])
    best, model = MaxEnt(**penalty).fit(X, y), MaxEnt(**penalty).fit(both, y)
    assert model.coef_[0, -1] == 0.0
    assert model.result_.objective == pytest.approx(best.result_.objective, rel=1e-8)


@pytest.mark.parametrize("constant", [1000.0, 0.1, 1e-8])
def test_a_constant_column_of_data_in_parts_becomes_0_without_a_rounding_error(constant):
    X, y, _ = table(1, 2)
    X = np.column_stack([X + 1000.0, np.full(len(X), constant)])
    ends = [0, 7, 7, len(X) // 2, len(X)]  # one of the parts has no samples
    chunks = [ChunkOfSamples.of("part", X[a:b], y[a:b]) for a, b in pairwise(ends)]
    parts = ClassifierParts(LocalGroup(chunks), class_weights=lambda classes, totals: None)
    assert parts.shift[-1] == constant
    _, gradient = parts.value_and_gradient(np.ones(parts.n_features))
    assert gradient[-2] == 0.0


@pytest.mark.parametrize("penalty", [{"l1": 1.0}, {"l1": 1.0, "l2": 1.0}, {"l2": 1.0}, {"l1": "cv"}])
def test_intercepts_of_classes_add_up_to_0(penalty):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3)) + np.array([30.0, 1000.0, 1e5])
    intercept = MaxEnt(**penalty).fit(X, (X - X.mean(0)).argmax(1)).intercept_
    assert abs(intercept.sum()) <= 1e-12 * np.abs(intercept).max()


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


def in_parts(X, y, weights, at):
    chunks = [ChunkOfSamples.of("rows", X[a:b], y[a:b], weights[a:b]) for a, b in pairwise([0, *at, len(y)])]
    return ClassifierParts(LocalGroup(chunks), class_weights=lambda classes, totals: None)


def trained(data, penalty):
    problem = Problem(data, ElasticNet(**penalty, unpenalised=data.n_unpenalised))
    return minimize(problem, OWLQN(tolerance=1e-13))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("far", [3.0, 1e5])
@pytest.mark.parametrize("at", [(), (20, 20, 150)], ids=["one part", "four parts, one empty"])
def test_data_in_parts_end_at_the_optimum_of_columns_around_zero(n_classes, penalty, far, at):
    X, y, weights = table(5, n_classes)
    moved = in_parts(X + far * np.array([1.0, -1.0, 0.0, 2.0]), y, weights, at)
    near = ClassifierObjective(X, y, weights, n_classes=n_classes, intercept="scaled")
    assert moved.shift is not None
    assert moved.shift[2] == 0.0
    result, best = trained(moved, penalty), trained(near, penalty)
    assert result.status.converged
    assert result.objective == pytest.approx(best.objective, rel=1e-8)
    np.testing.assert_allclose(moved.coefficients(result.w)[0], near.coefficients(best.w)[0], atol=1e-3)


def test_the_parts_share_what_is_subtracted_and_scale_the_intercept_as_one_piece_does():
    X, y, weights = table(6, 3)
    X = X + 40.0
    X[:30, 1] = 0.0  # a part by itself would be sparse, or its columns near 0
    X[:30, 2:] = 0.0
    parts = in_parts(X, y, weights, (30, 100))
    one = in_parts(X, y, weights, ())
    np.testing.assert_allclose(parts.shift, X.mean(axis=0))
    np.testing.assert_allclose(parts.shift, one.shift)
    assert parts.intercept == pytest.approx(one.intercept)
    whole = ClassifierObjective(X, y, weights, n_classes=3, intercept=parts.intercept, shift=parts.shift)
    w = np.sin(np.arange(parts.n_features))
    (value, gradient), (expected, whole_gradient) = parts.value_and_gradient(w), whole.value_and_gradient(w)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, whole_gradient, rtol=1e-10, atol=1e-8)
    assert parts.intercept == pytest.approx(np.sqrt(((X - parts.shift) ** 2).T @ weights / weights.sum()).max())
    coef, intercept = whole.coefficients(w)
    np.testing.assert_allclose(parts.coefficients(w)[1], intercept)
    np.testing.assert_allclose(parts.weights_of(coef, intercept), w)


def test_a_part_that_travels_keeps_what_is_subtracted():
    X, y, weights = table(7, 2)
    (part,) = in_parts(X + 40.0, y, weights, ()).group.objects
    w = np.ones(5)
    assert isinstance(part, MatrixPart)
    assert pickle.loads(pickle.dumps(part)).value_and_gradient(w)[0] == part.value_and_gradient(w)[0]


def test_parts_that_are_sparse_together_are_left_as_they_are():
    X, y, weights = table(8, 2)
    X = np.where(np.arange(X.size).reshape(X.shape) % 3 == 0, X + 100.0, 0.0)
    assert in_parts(X, y, weights, (60,)).shift is None


@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_violations_of_a_path_are_by_columns_as_they_were_given(far):
    X, y, weights = table(9, 2)
    objective = ClassifierObjective(X + far, y, weights, n_classes=2, intercept="scaled")
    for point in path(Problem(objective, ElasticNet(unpenalised=1)), 4).points:
        coef, intercept = objective.coefficients(point.result.w)
        p = 1.0 / (1.0 + np.exp(-((X + far) @ coef[0] + intercept[0])))
        gradient = (X + far).T @ (weights * (p - y))
        of_zeros = np.maximum(abs(gradient) - point.l1, 0.0)
        slopes = np.where(coef[0] != 0.0, gradient + point.l1 * np.sign(coef[0]), of_zeros)
        largest = max(abs(slopes).max(), abs(weights @ (p - y)))
        assert point.result.violation == pytest.approx(largest, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_small_sparse_matrix_with_a_column_far_from_zero_is_trained_as_a_dense_one(n_classes):
    rng = np.random.default_rng(n_classes)
    X = np.where(rng.random((300, 12)) < 0.1, 1.0, 0.0)
    X[:, 0] = 1e6 + rng.standard_normal(300)
    y = np.digitize(X[:, 0] - 1e6 + X[:, 1] + rng.standard_normal(300), np.arange(n_classes - 1))
    dense, sparse = (MaxEnt(l1=1.0).fit(kind(X), y) for kind in (np.asarray, scipy.sparse.csr_array))
    assert np.array_equal(dense.coef_, sparse.coef_)
    assert sparse.result_.status.converged
    assert not ClassifierObjective(
        scipy.sparse.csr_array(X[:, 1:]), y, n_classes=n_classes, intercept="scaled"
    ).is_dense


@pytest.mark.parametrize("value", [1e160, 1e300])
def test_values_of_a_small_sparse_matrix_whose_squares_are_no_numbers_raise_no_warning_of_numpy(value):
    X = scipy.sparse.csr_array(np.where(np.eye(40)[:, :9] > 0.0, value, 0.0))
    ClassifierObjective(X, np.arange(40) % 2, n_classes=2, intercept="scaled")
