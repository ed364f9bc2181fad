"""The proximal gradient method, for single weights and for groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize as scipy_minimize

from loglinear import ElasticNet, OptionError, Problem, Stop, minimize
from loglinear.networks.exact import Exact
from loglinear.networks.numbering import Layout
from loglinear.objectives.network import NetworkLikelihood
from loglinear.penalty import GroupLasso
from loglinear.solvers import OWLQN, ProxGradient
from oracles.network_enumeration import Enumerated, weights

LAYOUT = Layout([3, 2, 4, 2])


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
