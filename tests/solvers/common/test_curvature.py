"""Units in which uneven columns look even: quasi-Newton methods step as they do on scaled columns."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import LBFGS, OWLQN, ClassifierObjective, ElasticNet, Problem, Stop, TwoStage, minimize
from loglinear.solvers import BFGS, Grafting, GraftingLight
from loglinear.solvers.common.curvature import units

RANDOM = np.random.default_rng(3)
EVEN = RANDOM.normal(size=(60, 5))
TARGETS = (EVEN @ RANDOM.normal(size=5) + RANDOM.logistic(size=60) > 0).astype(int)
UNEVEN = EVEN * 10.0 ** np.array([-7, -3, 0, 2, 6])


def problem(X, **options):
    return Problem(ClassifierObjective(X, TARGETS, n_classes=2, intercept=False), ElasticNet(**options))


def test_units_are_found_where_columns_need_them():
    assert not problem(EVEN).is_uneven
    assert not problem((EVEN > 0).astype(float)).is_uneven
    assert not problem(np.abs(EVEN) * [0.004, 1, 1, 1, 30]).is_uneven
    assert problem(EVEN * [1, 1, 1, 1, 1e3]).is_uneven
    assert problem(EVEN * [1e-5, 1, 1, 1, 1]).is_uneven
    assert problem(1e-8 * EVEN).is_uneven
    # A column of zeros says nothing.
    assert not problem(EVEN * [0, 1, 1, 1, 1]).is_uneven


def test_the_unit_is_made_of_the_curvature_the_l2_and_what_one_sample_can_add():
    found = units(problem(UNEVEN, l2=0.25), np.zeros(5))
    expected = (UNEVEN**2).sum(axis=0) / 4 + 0.25 + np.abs(UNEVEN).max(axis=0) ** 2
    np.testing.assert_allclose(found, expected**-0.5, rtol=1e-12)
    assert (units(problem(EVEN * [0, 1, 1, 1e200, 1]), np.zeros(5)) > 0).all()


@pytest.mark.parametrize("solver", [LBFGS(tolerance=0.0), OWLQN(tolerance=0.0), BFGS(tolerance=0.0)])
def test_steps_in_units_are_those_on_scaled_columns(solver):
    of_data = problem(UNEVEN)
    unit = units(of_data, np.zeros(5))
    found = minimize(of_data, solver, stop=Stop(max_iterations=8))
    expected = minimize(problem(UNEVEN * unit), solver, stop=Stop(max_iterations=8))
    np.testing.assert_allclose(
        [record.objective for record in found.trace], [record.objective for record in expected.trace], rtol=1e-6
    )
    np.testing.assert_allclose(found.w / unit, expected.w, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("solver", "l1"),
    [
        *((solver, 0.0) for solver in (LBFGS(), BFGS(), OWLQN(), TwoStage())),
        *((solver, 1e-9) for solver in (OWLQN(), TwoStage(), Grafting(select=2), GraftingLight(select=1))),
    ],
)
def test_uneven_columns_are_no_obstacle(solver, l1):
    best = minimize(problem(EVEN), LBFGS(tolerance=1e-12)).nll
    found = minimize(problem(UNEVEN, l1=l1), solver)
    assert found.status.converged
    assert found.nll <= 1.002 * best + 0.02 * (l1 > 0)
