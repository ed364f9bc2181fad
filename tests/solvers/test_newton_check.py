"""Data whose columns are much alike: Newton steps from the beginning, or a second look by them at the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from loglinear import ClassifierObjective, ElasticNet, Problem, Status, minimize
from loglinear.solvers import LBFGS, OWLQN, Auto, ProxNewton, auto
from loglinear.solvers.common.solver import looseness
from loglinear.solvers.newton_check import LOST, LOST_IF_SOLVED, has_alike_columns


def objective(eps, n_classes=3, *, intercept="scaled", far=0.0):
    """Columns and copies of them with noise, which determine the classes together; copies alone without noise."""
    rng = np.random.default_rng(1)
    column, noise = rng.normal(size=(2, 1500, 10))
    X = np.hstack([column, column + eps * noise]) if eps else column
    scores = np.hstack([column, noise]) @ rng.normal(size=(20, n_classes)) * 0.5
    y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    return ClassifierObjective(X + far, y, n_classes=n_classes, intercept=intercept)


def problem(made, **penalty):
    n_classes = made.n_outputs
    return Problem(made, ElasticNet(**penalty, unpenalised=made.n_unpenalised), n_classes)


@pytest.mark.parametrize("eps", [1e-2, 1e-3, 1e-4])
def test_independence_is_the_noise_of_near_copies(eps):
    assert 0.3 * eps < objective(eps).independence < eps


def test_sums_of_columns_and_constants_do_not_make_columns_less_independent():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
    alone = ClassifierObjective(X, y, n_classes=3, intercept=False).independence
    assert alone > 0.8
    more = np.column_stack([X, X.sum(axis=1), X[:, 0], np.zeros(400)])
    assert ClassifierObjective(more, y, n_classes=3, intercept=False).independence > 0.3
    with_constant = np.column_stack([X, np.full(400, 0.1)])
    assert ClassifierObjective(with_constant, y, n_classes=3, intercept=True).independence > 0.8


def test_without_an_intercept_columns_far_from_zero_are_much_alike():
    assert objective(0.0, far=100.0).independence > 0.5
    assert objective(0.0, far=100.0, intercept=False).independence < 0.02


def test_values_whose_squares_are_no_numbers_raise_nothing():
    X = np.array([[1e200, 1.0], [2e200, 0.5], [-1e200, 2.0]])
    assert 0.0 < ClassifierObjective(X, [0, 1, 0], n_classes=2, intercept=False).independence <= 1.0


@pytest.mark.parametrize("penalty", [{"l1": 1.0}, {"l2": 1e-3}])
def test_large_data_with_near_copies_of_columns_get_newton_steps(monkeypatch, penalty):
    for name in ("FEW_NUMBERS", "FEW_WEIGHTS", "MOST_ACTIVE"):
        monkeypatch.setattr(auto, name, 0)
    plain, alike = problem(objective(0.0), **penalty), problem(objective(1e-3), **penalty)
    assert Auto().choice(plain).name == ("owlqn" if "l1" in penalty else "lbfgs")
    assert str(Auto().choice(alike)) == "prox_newton (columns that are much alike)"
    found = minimize(alike, Auto())
    assert found.status is Status.CONVERGED
    assert found.objective <= 1.0001 * minimize(alike, ProxNewton(tolerance=1e-10)).objective
    monkeypatch.setattr(auto, "MANY_PRODUCTS", 0)
    assert Auto().choice(alike).name != "prox_newton"


@pytest.mark.parametrize(("solver", "penalty"), [(OWLQN(), {"l1": 0.1}), (LBFGS(), {"l2": 1e-6})])
def test_a_quasi_newton_method_that_near_copies_deceive_has_stalled(solver, penalty):
    alike = problem(objective(1e-3), **penalty)
    best = minimize(alike, ProxNewton(tolerance=1e-10)).objective
    found = minimize(alike, solver)
    assert found.objective > 1.001 * best
    assert found.status is Status.STALLED
    # A tolerance that is looser by so much ends there as it was asked to.
    assert minimize(alike, replace(solver, tolerance=0.1)).status is Status.CONVERGED


def test_subproblems_are_solved_closely_enough_to_find_better_weights_without_an_intercept():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(120, 6))
    X = np.hstack([Z + 3e4 * rng.uniform(0.3, 1.0, 6), np.eye(4)[rng.integers(0, 4, 120)]])
    y = (Z @ rng.normal(size=(6, 4)) + rng.gumbel(size=(120, 4))).argmax(axis=1)
    far = problem(ClassifierObjective(X, y, n_classes=4, intercept=False), l1=0.5)
    found = minimize(far, OWLQN())
    assert found.objective > 1.2 * minimize(far, ProxNewton(tolerance=1e-9, precision=1e-4)).objective
    assert found.status is Status.STALLED


@pytest.mark.parametrize("solver", [OWLQN()])
def test_columns_too_much_alike_for_products_in_double_precision_have_not_converged_for_sure(solver):
    far = problem(objective(0.0, 4, far=3e6, intercept=False), l2=0.05)
    assert has_alike_columns(far, LOST)
    found = minimize(far, solver)
    assert found.objective > 1.2 * minimize(problem(objective(0.0, 4), l2=0.05), ProxNewton()).objective
    assert found.status is Status.STALLED


def test_with_an_l2_penalty_newton_steps_tell_columns_apart_that_sweeps_cannot():
    far = problem(objective(0.0, 4, far=3e6, intercept=False), l2=0.05)
    assert has_alike_columns(far, LOST)
    assert not has_alike_columns(far, LOST_IF_SOLVED)
    found = minimize(far, ProxNewton())
    assert found.status is Status.CONVERGED
    # Almost that of columns near 0 with an intercept, which the columns now have to make up.
    assert found.objective < 1.05 * minimize(problem(objective(0.0, 4), l2=0.05), ProxNewton()).objective
    farther = problem(objective(0.0, 4, far=1e8, intercept=False), l2=0.05)
    assert has_alike_columns(farther, LOST_IF_SOLVED)
    assert minimize(farther, ProxNewton()).status is Status.STALLED


def test_looseness_is_that_of_the_solver_chosen():
    alike = problem(objective(1e-3), l1=1.0)
    assert looseness(OWLQN(tolerance=1e-9), alike) == 1.0
    assert looseness(OWLQN(tolerance=1e-3), alike) == pytest.approx(100.0)
    assert looseness(Auto(), alike) == 1.0
    assert looseness(Auto(tolerance=1e-3), alike) == pytest.approx(1000.0)  # times the default of prox_newton
    assert looseness(object(), alike) == 1.0
