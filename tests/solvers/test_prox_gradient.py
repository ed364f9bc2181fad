"""The proximal gradient method, for single weights and for groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize as scipy_minimize

from loglinear import ClassifierObjective, ElasticNet, OptionError, Problem, Stop, minimize
from loglinear.networks.exact import Exact
from loglinear.networks.numbering import Numbering
from loglinear.objectives.network import NetworkLikelihood
from loglinear.penalty import GroupLasso
from loglinear.solvers import OWLQN, ProxGradient
from oracles.network_enumeration import Enumerated, weights

LAYOUT = Numbering([3, 2, 4, 2])


@pytest.fixture(scope="module")
def objective():
    codes = Enumerated(LAYOUT, weights(LAYOUT, 1, 0.5)).sample(300)
    return NetworkLikelihood(codes, LAYOUT, inference=Exact())


def grouped(l1, l2=0.0):
    return GroupLasso(l1, l2, LAYOUT.n_columns, LAYOUT.groups())


def test_without_groups_the_optimum_is_that_of_owlqn(objective):
    problem = Problem(objective, ElasticNet(4.0, 0.5, objective.n_unpenalised))
    other = minimize(problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-6))
    found = minimize(problem, ProxGradient(tolerance=0.0, gradient_tolerance=1e-5))
    assert found.status.converged
    assert found.objective == pytest.approx(other.objective, rel=1e-9)
    assert_allclose(found.w, other.w, atol=1e-3)


def test_groups_are_zero_as_a_whole_and_their_conditions_hold(objective):
    problem = Problem(objective, grouped(6.0))
    found = minimize(problem, ProxGradient(tolerance=0.0, gradient_tolerance=1e-5))
    gradient = objective.value_and_gradient(found.w)[1]
    zero = 0
    for i, j in LAYOUT.edges_of(np.arange(LAYOUT.n_interactions)):
        block = LAYOUT.block(i, j).ravel()
        w, g, least = found.w[block], gradient[block], 6.0 * np.sqrt(block.size)
        if not w.any():
            zero += 1
            assert np.linalg.norm(g) <= least + 1e-6
        else:
            assert (w != 0.0).all()
            assert_allclose(g, -least * w / np.linalg.norm(w), atol=1e-3)
    assert 0 < zero < 6


def test_the_group_penalty_has_the_optimum_that_a_general_optimiser_finds(objective):
    problem = Problem(objective, grouped(2.0, 0.3))
    found = minimize(problem, ProxGradient(tolerance=0.0, gradient_tolerance=1e-5))

    def value(w):
        return objective.value_and_gradient(w)[0] + problem.penalty.value(w)

    other = scipy_minimize(value, found.w + 1e-3, method="BFGS")
    assert found.objective <= other.fun + 1e-6 * abs(other.fun)


def test_groups_of_one_weight_are_single_weights(objective):
    single = ElasticNet(3.0, 0.2, objective.n_unpenalised)
    groups = GroupLasso(3.0, 0.2, objective.n_unpenalised, np.arange(LAYOUT.n_interactions))
    w = weights(LAYOUT, 3, 0.5)
    g = objective.value_and_gradient(w)[1]
    assert groups.value(w) == pytest.approx(single.value(w))
    assert groups.violation(w, g) == pytest.approx(single.violation(w, g))
    assert_allclose(groups.pseudo_gradient(w, g), single.pseudo_gradient(w, g), atol=1e-9)
    assert_allclose(groups.prox(w, 0.1), single.prox(w, 0.1), atol=1e-12)
    free = groups.on(np.array([0, 2, LAYOUT.n_interactions]), LAYOUT.n_features)
    assert free.unpenalised == 1
    assert free.groups.tolist() == [0, 1]


def test_the_largest_useful_strength_leaves_no_edge(objective):
    w = objective.independent()
    gradient = objective.value_and_gradient(w)[1][: LAYOUT.n_interactions]
    largest = grouped(1.0).largest(gradient)
    for factor, edges in ((1.01, False), (0.95, True)):
        found = minimize(Problem(objective, grouped(factor * largest)), ProxGradient(), w)
        assert found.w[: LAYOUT.n_interactions].any() == edges


def test_a_solver_that_knows_no_groups_is_refused(objective):
    with pytest.raises(OptionError, match="use prox_gradient"):
        minimize(Problem(objective, grouped(1.0)), OWLQN())


def test_the_objective_never_rises(objective):
    found = minimize(Problem(objective, grouped(1.0)), ProxGradient(iterations=2), stop=Stop(max_iterations=50))
    objectives = [record.objective for record in found.trace]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(objectives))


class Quadratic:
    """1/2 w'Aw - b'w, with curvatures from 1 to a hundred."""

    def __init__(self, n=12, seed=0):
        rng = np.random.default_rng(seed)
        turned = np.linalg.qr(rng.normal(size=(n, n)))[0]
        self.a, self.b = turned * np.geomspace(1.0, 100.0, n) @ turned.T, 10.0 * rng.normal(size=n)
        self.n_features, self.n_samples = n, 1

    def value_and_gradient(self, w, out=None):
        out = np.empty_like(w) if out is None else out
        out[...] = self.a @ w - self.b
        return float(0.5 * w @ self.a @ w - self.b @ w), out


def fista(objective, l1, l2, x, iterations):
    """Beck & Teboulle (2009), section 4, with restarts by O'Donoghue & Candes (2015), section 3.2, and an L that falls.

    Returns:
        The weights, L, evaluations, and how often momentum was dropped.
    """

    def f(w):
        value, gradient = objective.value_and_gradient(w)
        return value + l2 / 2.0 * w @ w, gradient + l2 * w

    def whole(w):
        return f(w)[0] + l1 * np.abs(w).sum()

    y, t, best, restarts, evaluations = x, 1.0, whole(x), 0, 0
    L = max(1.0, np.abs(objective.value_and_gradient(x)[1]).max())
    for _ in range(iterations):
        value, slope = f(y)
        evaluations += 1
        while True:
            v = y - slope / L
            trial = np.sign(v) * np.maximum(np.abs(v) - l1 / L, 0.0)
            evaluations += 1
            if f(trial)[0] <= value + slope @ (trial - y) + L / 2.0 * (trial - y) @ (trial - y):
                break
            L *= 2.0
        if whole(trial) > best:
            y, t, restarts = x, 1.0, restarts + 1
            continue
        t_next = (1.0 + np.sqrt(1.0 + 4.0 * t**2)) / 2.0
        x, y, t, best, L = trial, trial + (t - 1.0) / t_next * (trial - x), t_next, whole(trial), 0.9 * L
    return x, L, evaluations, restarts


@pytest.mark.parametrize(("l1", "l2"), [(0.5, 0.0), (3.0, 0.7)])
def test_a_step_makes_the_iterations_of_fista_with_restarts(l1, l2):
    objective = Quadratic()
    w0 = 1.0 + np.random.default_rng(1).random(12)
    problem, restarted = Problem(objective, ElasticNet(l1, l2)), 0
    for iterations in (1, 2, 5, 30):
        solver = ProxGradient(iterations=iterations)
        state = solver.step(problem, solver.init(problem, w0))
        w, L, evaluations, restarts = fista(objective, l1, l2, w0, iterations)
        assert_allclose(state.w, w, atol=1e-9)
        assert state.curvature == pytest.approx(L, rel=1e-12)
        assert state.gradient_evaluations == evaluations + 2
        restarted += restarts
    assert restarted > 0


def test_momentum_takes_a_tenth_of_the_iterations_of_plain_steps():
    class Narrow(Quadratic):
        def __init__(self):
            super().__init__()
            self.a = np.diag(np.geomspace(1e-4, 1.0, 12))

    problem = Problem(Narrow(), ElasticNet(1e-3))
    solver = ProxGradient(iterations=400)
    w0 = np.ones(12)
    state = solver.step(problem, solver.init(problem, w0))
    x, steps = w0, 0
    while problem.objective.value_and_gradient(x)[0] + 1e-3 * np.abs(x).sum() > state.objective and steps < 4000:
        v = x - problem.objective.value_and_gradient(x)[1]  # L = 1
        x, steps = np.sign(v) * np.maximum(np.abs(v) - 1e-3, 0.0), steps + 1
    assert steps == 4000


@pytest.mark.parametrize("select", [1, 3, 7])
def test_a_step_works_on_the_weights_that_violate_optimality_most_and_on_those_without_penalty(select):
    objective, penalty = Quadratic(), ElasticNet(1.0, unpenalised=2)
    problem = Problem(objective, penalty)
    solver = ProxGradient(select=select, iterations=3)
    start = solver.init(problem, np.zeros(12))
    state = solver.step(problem, start)
    worst = np.argsort(-np.abs(penalty.pseudo_gradient(start.w, start.gradient)[:10]))[:select]
    assert state.working_set == select + 2
    assert set(np.flatnonzero(state.w)) <= {*worst.tolist(), 10, 11}
    assert state.w[worst[0]] != 0.0
    # What is not 0 stays at work, beside as many others.
    following = solver.step(problem, state)
    assert following.working_set == np.count_nonzero(state.w[:10]) + 2 + min(
        select, 10 - np.count_nonzero(state.w[:10])
    )


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_it_stops_at_the_first_five_steps_whose_mean_relative_decrease_is_within_the_tolerance(objective, tolerance):
    problem = Problem(objective, ElasticNet(1.0, 0.0, objective.n_unpenalised))
    found = minimize(problem, ProxGradient(iterations=1, tolerance=tolerance, gradient_tolerance=0.0))
    objectives = np.array([record.objective for record in found.trace])
    decreases = (objectives[:-5] - objectives[5:]) / 5.0 / np.abs(objectives[5:])
    assert found.status.converged
    assert decreases[-1] <= tolerance
    assert (decreases[:-1] > tolerance).all()


def test_rounding_errors_at_the_optimum_do_not_make_the_curvature_grow(objective):
    problem = Problem(objective, ElasticNet(4.0, 0.5, objective.n_unpenalised))
    best = minimize(problem, ProxGradient(tolerance=0.0, gradient_tolerance=1e-9), stop=Stop(max_iterations=60))
    solver = ProxGradient(iterations=5, tolerance=0.0, gradient_tolerance=0.0)
    state = solver.step(problem, solver.init(problem, best.w))
    assert state.curvature < 1e6
    assert state.gradient_evaluations < 30


def test_weights_that_are_not_worth_their_penalty_are_not_worked_on():
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(rng.normal(size=(40, 5)), rng.integers(0, 2, 40), n_classes=2, intercept=False)
    steepest = np.sort(np.abs(objective.value_and_gradient(np.zeros(5))[1]))[::-1]
    l1 = (steepest[1] + steepest[2]) / 2.0
    trace = minimize(Problem(objective, ElasticNet(l1=l1)), ProxGradient()).trace
    assert [record.working_set for record in trace[:2]] == [0, 2]
