"""Newton steps that write the Hessian out: of softmax, of sparse matrices with few columns, of similar columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ClassifierObjective, ElasticNet, MaxEnt, Problem, Stop, minimize
from loglinear.errors import OptionError
from loglinear.result import Status
from loglinear.solvers import BFGS, LBFGS, OWLQN, Auto, ProxNewton

TIGHT = ProxNewton(tolerance=1e-13, precision=1e-3)


def objective(seed=0, n=120, d=6, n_classes=3, *, intercept=1.0, weighted=False, threads=1, sparse=False, scales=1.0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.4, rng.normal(size=(n, d)), 0.0)
    scores = X @ rng.normal(size=(d, n_classes)) * 2.0
    y = np.append(np.arange(n_classes), (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)[n_classes:])
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else None
    X = X * scales
    matrix = scipy.sparse.csr_array(X) if sparse else X
    return ClassifierObjective(matrix, y, weights, n_classes=n_classes, intercept=intercept, threads=threads)


def spared(objective, l1, l2):
    return Problem(objective, ElasticNet(l1, l2, objective.n_unpenalised))


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.sampled_from([2, 3, 5]),
    strengths=st.sampled_from([(0.0, 0.3), (0.0, 5.0), (0.5, 0.0), (3.0, 0.0), (0.4, 0.3)]),
    intercept=st.sampled_from([0.0, 1.0, 0.2]),
    weighted=st.booleans(),
    sparse=st.booleans(),
)
def test_the_optimum_is_that_of_quasi_newton_steps(seed, n_classes, strengths, intercept, weighted, sparse):
    problem = spared(
        objective(seed, n_classes=n_classes, intercept=intercept, weighted=weighted, sparse=sparse), *strengths
    )
    quasi = (OWLQN if strengths[0] else BFGS)(tolerance=0.0, gradient_tolerance=1e-9)
    best = minimize(problem, quasi, stop=Stop(max_iterations=5000))
    end = minimize(problem, TIGHT)
    assert end.status is Status.CONVERGED
    assert end.objective == pytest.approx(best.objective, rel=1e-9, abs=1e-9)
    assert end.violation <= 1e-4
    np.testing.assert_allclose(
        problem.objective.probabilities(end.w), problem.objective.probabilities(best.w), atol=1e-3
    )


@examples(40)
@given(
    seed=st.integers(0, 10_000),
    n_classes=st.sampled_from([2, 3, 4]),
    intercept=st.sampled_from([0.0, 1.0, 0.3]),
    weighted=st.booleans(),
    sparse=st.booleans(),
)
def test_a_step_solves_the_system_of_the_hessian(seed, n_classes, intercept, weighted, sparse):
    """Where no sample is far on the wrong side: H delta, by differences of gradients, is minus the gradient."""
    problem = spared(
        objective(seed, n_classes=n_classes, intercept=intercept, weighted=weighted, sparse=sparse), 0.0, 0.7
    )
    data, penalty = problem.objective, problem.penalty
    w = 0.2 * np.random.default_rng(seed).normal(size=data.n_features)
    _, scores, gradient = data.start(w)
    moved, slopes = w.copy(), gradient.copy()
    step = data.newton_step(moved, scores, slopes, l1=0.0, l2=0.7, precision=0.1, sweeps=1, least=0, stride=1)
    delta, t = moved - w, 1e-5
    assert step.moved
    ahead, behind = (data.value_and_gradient(w + sign * t * delta)[1] for sign in (1.0, -1.0))
    of_penalty = np.append(np.full(w.size - penalty.unpenalised, 0.7), np.zeros(penalty.unpenalised))
    product = (ahead - behind) / (2.0 * t) + of_penalty * delta
    slope = gradient + of_penalty * w
    # Weights of the intercept move together without an effect; the rest is the whole step, or a half of it.
    length = -(product @ slope) / (slope @ slope)
    assert length == pytest.approx(2.0 ** np.round(np.log2(length)), rel=1e-4)
    np.testing.assert_allclose(product, -length * slope, atol=1e-4 * np.abs(slope).max())
    np.testing.assert_allclose(slopes, data.value_and_gradient(moved)[1], rtol=1e-9, atol=1e-10)
    assert step.nll == pytest.approx(data.value_and_gradient(moved)[0], rel=1e-12)


# By day each pair of two of the choices.
@pytest.mark.parametrize(
    ("sparse", "n_classes", "strengths"),
    by_day(
        itertools.product([False, True], [2, 4], [(0.0, 1.0), (0.5, 0.0)]),
        lambda case: case[0] ^ (case[1] == 2) ^ (case[2][0] > 0.0),
    ),
)
def test_results_are_bitwise_the_same_on_any_number_of_threads(sparse, n_classes, strengths):
    ends = []
    for threads in (1, 2, 3):
        data = objective(1, 20_000, 12, n_classes, threads=threads, sparse=sparse)
        ends.append(minimize(spared(data, *strengths), ProxNewton()).w.tobytes())
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scales_constant_and_equal_columns_do_not_matter_without_a_penalty(sparse, n_classes):
    plain = minimize(spared(objective(3, n_classes=n_classes, sparse=sparse), 0.0, 0.0), TIGHT).objective
    scales = np.array([1e-8, 1e8, 1.0, 1e3, 1e-5, 7.0])
    scaled = objective(3, n_classes=n_classes, sparse=sparse, scales=scales)
    assert minimize(spared(scaled, 0.0, 0.0), TIGHT).objective == pytest.approx(plain, rel=1e-8)
    data = objective(3, n_classes=n_classes)
    X = data.design.toarray()[:, :-1]
    X = np.column_stack([X, X[:, 0], X[:, 1] - 2.0 * X[:, 2], np.ones(len(X)), np.zeros(len(X))])
    again = ClassifierObjective(scipy.sparse.csr_array(X) if sparse else X, data.targets, n_classes=n_classes)
    end = minimize(spared(again, 0.0, 0.0), TIGHT)
    assert end.objective == pytest.approx(plain, rel=1e-8)
    assert np.abs(end.w).max() < 1e3


def test_steps_leave_the_mean_over_classes_as_it_was():
    data = objective(5)
    for l2 in (0.0, 1.0):
        end = minimize(spared(data, 0.0, l2), TIGHT).w.reshape(-1, 3)
        np.testing.assert_allclose(end.mean(axis=1), 0.0, atol=1e-9 * np.abs(end).max())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_separable_data_end_near_an_objective_of_zero(n_classes, l1):
    X = np.eye(n_classes)[np.arange(30) % n_classes] + 0.1
    data = ClassifierObjective(X, np.arange(30) % n_classes, n_classes=n_classes)
    end = minimize(spared(data, l1, 0.0), ProxNewton(), stop=Stop(max_iterations=60))
    assert end.status is Status.CONVERGED
    assert end.objective < (0.1 if l1 else 1e-9)
    assert np.isfinite(end.w).all()


@pytest.mark.parametrize("l1", [0.0, 0.3])
@pytest.mark.parametrize("size", [10.0, 60.0, 300.0])
def test_steps_come_back_from_far_on_the_wrong_side(size, l1):
    problem = spared(objective(2), l1, 0.5)
    best = minimize(problem, TIGHT)
    end = minimize(problem, TIGHT, w0=-size * np.sign(best.w), stop=Stop(max_iterations=60))
    assert end.status is Status.CONVERGED
    assert end.objective == pytest.approx(best.objective, rel=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_much_alike_take_few_steps_and_sweeps(n_classes):
    """Sweeps over single weights alone would go on for tens of thousands."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(200, 1))
    X = common + 1e-3 * rng.normal(size=(200, 8))
    y = np.digitize(common[:, 0] + X[:, 0] - X[:, 1] + 1e-3 * rng.normal(size=200), np.linspace(-1, 1, n_classes - 1))
    data = ClassifierObjective(X, y, n_classes=n_classes, threads=1)
    problem = spared(data, 1e-3, 0.0)
    w = np.zeros(data.n_features)
    _, scores, gradient = data.start(w)
    step = data.newton_step(w, scores, gradient, l1=1e-3, l2=0.0, precision=1e-6, sweeps=10_000, least=100, stride=1)
    assert step.sweeps < 2000
    end = minimize(problem, ProxNewton(precision=0.01), stop=Stop(max_iterations=40))
    assert end.status is Status.CONVERGED
    assert end.objective == pytest.approx(minimize(problem, TIGHT).objective, rel=1e-7)


def test_only_few_weights_are_taken_without_an_l1_penalty():
    wide = objective(0, 30, 170)
    with pytest.raises(OptionError, match="needs an L1 penalty, but l1=0, and 513 weights are more than 500"):
        minimize(spared(wide, 0.0, 1.0), ProxNewton())
    assert minimize(spared(wide, 1.0, 0.0), ProxNewton()).status is Status.CONVERGED


def test_small_tables_of_many_weights_end_at_the_optimum_by_default():
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = datasets.load_digits(return_X_y=True)
    data = ClassifierObjective(X[::3], y[::3], n_classes=10, intercept="scaled")
    problem = spared(data, 0.0, 1.0)
    end = minimize(problem, Auto())
    best = minimize(problem, LBFGS(memory=50, tolerance=1e-13, gradient_tolerance=0.0))
    assert end.chosen == "lbfgs (the objective is smooth)"
    assert end.objective <= best.objective + 1e-6


def table_of_classes(n, d, n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scores = X @ (rng.normal(size=(d, n_classes)) * (rng.random((d, 1)) < 0.2))
    return X, (scores / 2.0 + rng.gumbel(size=scores.shape)).argmax(axis=1)


def some_digits():
    X, y = pytest.importorskip("sklearn.datasets").load_digits(return_X_y=True)
    return X[::3], y[::3]


@pytest.mark.parametrize(
    ("load", "l1", "chosen"),
    by_day(
        [
            (some_digits, 1.0, "prox_newton (few columns and classes)"),
            (some_digits, 10.0, "prox_newton (few columns and classes)"),
            (lambda: table_of_classes(300, 300, 5), 1.0, "prox_newton (few columns and classes)"),
            (lambda: table_of_classes(300, 60, 20), 1.0, "owlqn (an L1 penalty)"),
            (lambda: table_of_classes(300, 60, 20), 5.0, "owlqn (an L1 penalty)"),
        ],
        lambda case: (case[0] is some_digits) ^ (case[1] < 5.0),  # digits with a strong penalty, tables with a weak one
    ),
)
def test_many_weights_with_an_l1_penalty_end_at_the_optimum_by_default(load, l1, chosen):
    X, y = load()
    data = ClassifierObjective(X, y, n_classes=int(y.max()) + 1, intercept="scaled")
    problem = spared(data, l1, 0.0)
    assert problem.n_features > 500
    end = minimize(problem, Auto())
    best = minimize(problem, ProxNewton(tolerance=1e-12, gradient_tolerance=0.0, precision=0.01))
    assert (end.status, end.chosen) == (Status.CONVERGED, chosen)
    assert end.objective <= best.objective * (1.0 + 1e-6)
    assert end.w.any()


@pytest.mark.parametrize("strengths", [(0.0, 1.0), (0.0, 0.01), (1.0, 0.0), (0.1, 0.0), (1.0, 1.0)])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
def test_small_tables_end_at_the_optimum_by_default(name, strengths):
    """Unscaled, as they come: wine has columns of 0.1 and of 1000."""
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    l1, l2 = strengths
    end = MaxEnt(l1=l1, l2=l2).fit(X, y).result_
    exact = ProxNewton(tolerance=0.0, gradient_tolerance=0.0, precision=1e-4, max_sweeps=10_000)
    best = MaxEnt(l1=l1, l2=l2, solver=exact, max_iterations=100).fit(X, y).result_
    assert end.status is Status.CONVERGED
    assert end.objective <= best.objective + 1e-6
    assert end.iterations <= 40
