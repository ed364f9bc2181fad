"""The decrease that a single weight could still bring, and the status that follows from it."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ClassifierObjective, ElasticNet, MaxEnt, Problem, Status, Stop, TwoStage, minimize, path
from loglinear.gain import gain_of_all, has_settled, largest_gain
from loglinear.solvers import IIS, LBFGS, OWLQN, ProxGradient, ProxNewton
from loglinear.solvers.common.history import History
from loglinear.solvers.two_stage import PassEnd


class Quadratic:
    """1/2 (w - t)' A (w - t) + c; it does not tell its curvature along each weight."""

    def __init__(self, A, t, c=0.0):
        self.A, self.t, self.c = np.asarray(A, float), np.asarray(t, float), c
        self.n_features, self.n_samples = self.t.size, 1

    def value_and_gradient(self, w, out=None):
        out = np.empty_like(w) if out is None else out
        out[:] = self.A @ (w - self.t)
        return float((w - self.t) @ out) / 2 + self.c, out


def random_problem(seed, n_classes, **penalty):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, n_classes, 30)
    X[rng.random(X.shape) < 0.3] = 0.0
    weights = rng.choice([0.5, 1.0, 3.0], 30)
    objective = ClassifierObjective(X, y, weights, n_classes=n_classes, intercept=False)
    return objective, Problem(objective, ElasticNet(**penalty)), X, y, weights


@examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 5]), st.sampled_from([True, False, "scaled"]))
def test_the_diagonal_of_a_classifiers_hessian_is_the_differences_of_the_gradient(seed, n_classes, intercept):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 3)), rng.integers(0, n_classes, 12)
    objective = ClassifierObjective(X, y, rng.random(12), n_classes=n_classes, intercept=intercept)
    w, step = rng.normal(size=objective.n_features), 1e-5
    diagonal = objective.hessian_diagonal(w)
    for j in range(w.size):
        move = np.zeros_like(w)
        move[j] = step
        up, down = objective.value_and_gradient(w + move)[1][j], objective.value_and_gradient(w - move)[1][j]
        assert diagonal[j] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-8)


@examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.sampled_from([(0.0, 0.1), (0.3, 0.0), (0.2, 0.3)]))
def test_the_gain_does_not_depend_on_the_units_of_the_columns(seed, n_classes, penalty):
    rng = np.random.default_rng(seed)
    objective, _, X, y, weights = random_problem(seed, n_classes)
    scale = 10.0 ** rng.integers(-6, 7, X.shape[1])
    scaled = ClassifierObjective(X * scale, y, weights, n_classes=n_classes, intercept=False)
    w = rng.normal(size=objective.n_features)
    units = np.repeat(scale, objective.n_outputs)
    there = largest_gain(Problem(scaled), w / units, scaled.value_and_gradient(w / units)[1])
    here = largest_gain(Problem(objective), w, objective.value_and_gradient(w)[1])
    assert there == pytest.approx(here, rel=1e-3)
    assert here > 0.0


@examples(30)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100.0))
def test_the_gain_of_a_quadratic_is_what_the_best_step_along_the_gradient_or_the_weights_brings(seed, size):
    rng = np.random.default_rng(seed)
    A = np.eye(3) * size
    objective = Quadratic(A, rng.normal(size=3) * 0.1)
    w = rng.normal(size=3) * 0.1
    value, gradient = objective.value_and_gradient(w)
    # Along the gradient of a round bowl lies its lowest point, at most 1 away.
    assert largest_gain(Problem(objective), w, gradient) == pytest.approx(value, rel=1e-4)


def test_tiny_columns_are_no_convergence():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    y[X[:, 0] > 0.5] = 1
    tiny = Problem(ClassifierObjective(1e-8 * X, y, n_classes=2, intercept=False))
    result = minimize(tiny, ProxGradient())
    assert result.violation < 1e-6
    assert result.status is Status.STALLED
    assert not result.status.converged
    plain = minimize(Problem(ClassifierObjective(X, y, n_classes=2, intercept=False)), ProxGradient())
    assert plain.status is Status.CONVERGED
    assert plain.objective < 0.9 * result.objective


def test_a_stall_warns():
    from sklearn.exceptions import ConvergenceWarning

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    y[X[:, 0] > 0.5] = 1
    model = MaxEnt(l2=0.0, solver=ProxGradient(), fit_intercept=False)
    with (
        pytest.warns(UserWarning, match="values of column . reach"),
        pytest.warns(ConvergenceWarning, match="stalled after .* scale the columns"),
    ):
        model.fit(1e-8 * X, y)
    assert model.result_.status is Status.STALLED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)


def test_separable_data_without_penalty_stall_until_the_objective_is_next_to_nothing():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), [1, 1, 0, 0]
    problem = Problem(ClassifierObjective(X, y, n_classes=2, intercept=False))

    def settled(weight):
        w = np.array([weight])
        return has_settled(problem, w, *problem.objective.value_and_gradient(w))

    # The objective is about 2 exp(-w), and its optimum 0.
    assert not settled(3.0)
    assert not settled(8.0)
    assert settled(15.0)


def test_samples_far_on_the_wrong_side_have_no_curvature_and_much_to_gain():
    X, y = np.array([[1.0], [2.0], [-1.0], [-3.0]]), [1, 1, 0, 0]
    problem = Problem(ClassifierObjective(X, y, n_classes=2, intercept=False), ElasticNet(l2=1e-6))
    w = np.array([-1e4])
    assert not has_settled(problem, w, *problem.objective.value_and_gradient(w))


class Unread(Quadratic):
    def value_and_gradient(self, w, out=None):
        raise AssertionError("evaluated")


def test_a_bound_of_the_distance_settles_it_without_an_evaluation():
    problem, w = Problem(Unread(np.eye(2), [5.0, 5.0])), np.zeros(2)
    assert has_settled(problem, w, 25.0, np.array([-5.0, -5.0]), gap=0.4)
    with pytest.raises(AssertionError, match="evaluated"):
        has_settled(problem, w, 25.0, np.array([-5.0, -5.0]), gap=0.6)


def test_small_slopes_settle_it_without_an_evaluation():
    # A step of length 1 along the gradient, or of |w| along the weights, gains at most its slope: here 0.24 and 0.26,
    # and 0.25 would be little beside an objective of 25.
    problem = Problem(Unread(np.eye(2), [5.0, 5.0]))
    assert has_settled(problem, np.zeros(2), 25.0, np.array([0.0, 0.24]))
    assert has_settled(problem, np.array([0.0, 1.0]), 25.0, np.array([0.0, -0.24]))
    for w, slope in (([0.0, 0.0], 0.26), ([0.0, 1.0], 0.26), ([0.0, 3.0], 0.24)):
        with pytest.raises(AssertionError, match="evaluated"):
            has_settled(problem, np.array(w), 25.0, np.array([0.0, slope]))


@pytest.mark.parametrize(("first", "again"), [(10.0, True), (20.0, False)])
def test_the_second_stage_starts_from_zero_where_the_first_has_led_above_its_start(first, again):
    objective, solver = ClassifierObjective(np.eye(4), [0, 1, 0, 1], n_classes=2, intercept=False), TwoStage(passes=1)
    problem = Problem(objective, ElasticNet(l2=1.0))
    state, w = solver.init(problem, np.zeros(4)), np.array([-2.0, 2.0, -3.0, 2.0])
    gradient = np.zeros(4)
    nll = problem.evaluate(w, gradient)
    # The objective at w is above 10 nats because of its penalty.
    assert nll < 10.0 < nll + problem.penalty.value(w) < 20.0
    stage = replace(state.stage, w=w, status=Status.PASSES_MADE, iteration=1)
    end = PassEnd(nll, gradient, History.empty(2, 4), 1)
    following = solver.step(problem, replace(state, stage=stage, end=end, first_objective=first))
    at_start = 4.0 * np.log(2.0) if again else nll + problem.penalty.value(w)
    assert following.stage.recent[0] == pytest.approx(at_start)


def test_two_stages_on_columns_of_large_numbers_start_again_from_zero():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 6)) * np.logspace(-8, 8, 6), rng.integers(0, 3, 80)
    result = minimize(Problem(ClassifierObjective(X, y, n_classes=3, intercept=False), ElasticNet(l1=1.0)), TwoStage())
    assert result.objective <= 80 * np.log(3)


def test_the_passes_of_two_stages_are_those_of_both():
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(rng.normal(size=(40, 3)), rng.integers(0, 2, 40), n_classes=2, intercept=False)
    result = minimize(Problem(objective, ElasticNet(l2=1.0)), TwoStage(passes=3))
    assert result.passes == 3 + result.gradient_evaluations


@pytest.mark.parametrize(
    ("solver", "penalty"), [(IIS(), {"l2": 0.1}), (OWLQN(), {"l1": 0.1}), (OWLQN(), {"l1": 1.0, "l2": 1.0})]
)
def test_columns_far_from_0_do_not_pass_for_converged_where_no_single_weight_gains_anything(solver, penalty):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = (rng.random(200) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)

    def problem(shift):
        return Problem(
            ClassifierObjective(shift + X, y, n_classes=2, intercept=shift or 1.0), ElasticNet(**penalty, unpenalised=1)
        )

    result, best = minimize(problem(1000.0), solver), minimize(problem(0.0), OWLQN(tolerance=1e-12)).objective
    assert result.status is Status.STALLED
    assert result.objective > 1.001 * best


@examples(30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.sampled_from([(0.0, 0.1), (0.3, 0.0), (0.2, 0.3)]))
def test_what_all_weights_gain_together_is_a_real_decrease(seed, n_classes, penalty):
    objective, problem, *_ = random_problem(seed, n_classes, l1=penalty[0], l2=penalty[1])
    w = np.random.default_rng(seed).normal(size=objective.n_features)
    nll, gradient = objective.value_and_gradient(w)
    gain = gain_of_all(problem, w, nll, gradient, np.inf)
    value = nll + problem.penalty.value(w)
    least = minimize(problem, ProxGradient(tolerance=0.0), stop=Stop(max_iterations=2000)).objective
    assert 0.0 <= gain <= value - least + 1e-6


def test_a_bound_that_leaves_room_for_better_weights_has_all_weights_tried():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 20)), np.arange(10) % 5
    best = MaxEnt(l2=0.0025, tolerance=1e-12).fit(X, y).result_.objective
    with pytest.warns(UserWarning, match="stalled"):
        result = MaxEnt(l2=0.0025, solver="sag").fit(X, y).result_
    assert result.objective > 1.02 * best
    assert result.gap >= result.objective - best
    assert result.status is Status.STALLED


def columns_far_from_zero(seed, n_classes):
    """The objectives of samples with columns that are far from 0, at up to 100,000, and of the same columns near 0."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 6))
    y = np.argmax(X @ rng.standard_normal((6, n_classes)) + rng.gumbel(size=(120, n_classes)), axis=1)
    far = X + 10.0 ** rng.uniform(2.0, 5.0, 6) * (np.arange(6) % 2)
    return [ClassifierObjective(columns, y, n_classes=n_classes, intercept=True) for columns in (far, X)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("solver", "penalty"), [(OWLQN(), {"l1": 1.0}), (LBFGS(), {"l2": 1.0}), (ProxNewton(), {"l1": 1.0})]
)
def test_columns_far_from_zero_with_an_intercept_of_their_own_are_judged_near_zero(solver, penalty, n_classes):
    for seed in range(6):
        far, near = (
            Problem(o, ElasticNet(**penalty, unpenalised=o.n_unpenalised))
            for o in columns_far_from_zero(seed, n_classes)
        )
        best = minimize(near, ProxNewton(tolerance=1e-10)).objective
        result = minimize(far, solver, stop=Stop(max_iterations=300))
        assert not result.status.converged or result.objective <= 1.001 * best, (seed, result.status)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_paths_reach_the_optimum_of_columns_far_from_zero_with_an_intercept_of_their_own(n_classes):
    far, near = (Problem(o, ElasticNet(unpenalised=o.n_unpenalised)) for o in columns_far_from_zero(1, n_classes))
    for point in path(far, 5).points:
        result = point.result
        best = minimize(replace(near, penalty=near.penalty.with_l1(point.l1)), ProxNewton(tolerance=1e-10)).objective
        assert result.status is Status.CONVERGED
        assert abs(result.objective - best) <= 1e-6 * best
        nll, gradient = far.objective.value_and_gradient(result.w)
        assert nll == pytest.approx(result.nll, rel=1e-6)
        assert np.abs(gradient[-far.penalty.unpenalised :]).max() <= 1e-3


class Steep(Quadratic):
    """A quadratic objective that tells its curvature."""

    has_hessian_diagonal = True

    def hessian_diagonal(self, w):
        return np.diag(self.A).copy()

    def largest_values(self):
        return None


def test_a_direction_whose_square_is_too_small_for_numbers_is_no_error():
    problem, w = Problem(Steep([[1e20]], [1e-170])), np.zeros(1)
    assert gain_of_all(problem, w, *problem.objective.value_and_gradient(w)) <= 1e-300


def test_slopes_and_curvatures_that_are_too_large_for_numbers_are_no_warning():
    objective = ClassifierObjective([[1e200], [2e200], [-1e200]], [0, 1, 0], n_classes=2, intercept=False)
    assert not has_settled(Problem(objective), np.zeros(1), *objective.value_and_gradient(np.zeros(1)))


def test_what_columns_that_are_much_alike_gain_together_is_found_with_an_l1_penalty():
    rng = np.random.default_rng(1)
    column = rng.normal(size=(2000, 30))
    X = np.hstack([column, column + 1e-3 * rng.normal(size=column.shape)])
    scores = np.hstack([column, (X[:, 30:] - column) / 1e-3]) @ rng.normal(size=(60, 3)) * 0.3
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    objective = ClassifierObjective(X, y, 10.0 ** rng.uniform(-3, 3, 2000), n_classes=3, intercept="scaled")
    problem = Problem(objective, ElasticNet(l1=0.1, unpenalised=3), 3)
    result = minimize(problem, OWLQN(tolerance=5e-6))
    best = minimize(problem, ProxNewton()).objective
    assert result.objective > 1.01 * best
    assert result.status is Status.STALLED
