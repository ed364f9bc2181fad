"""Laws of L-BFGS and of its line search."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers.common.wolfe import C1, C2
from loglinear.solvers.lbfgs import LBFGS


class Smooth:
    """An objective made of two functions."""

    def __init__(self, n, value, gradient):
        self.n_features, self.n_samples, self.value, self.gradient, self.calls = n, 1, value, gradient, 0

    def value_and_gradient(self, w, out=None):
        self.calls += 1
        out = np.empty_like(w) if out is None else out
        out[...] = self.gradient(w)
        return float(self.value(w)), out


def rosenbrock():
    def gradient(w):
        a, b = w
        return np.array([-400 * a * (b - a * a) - 2 * (1 - a), 200 * (b - a * a)])

    return Smooth(2, lambda w: 100 * (w[1] - w[0] ** 2) ** 2 + (1 - w[0]) ** 2, gradient)


TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-8}


def test_finds_the_bottom_of_the_rosenbrock_valley():
    result = minimize(Problem(rosenbrock()), LBFGS(**TIGHT), [-1.2, 1.0], stop=Stop(max_iterations=200))
    assert result.status is Status.CONVERGED
    np.testing.assert_allclose(result.w, [1.0, 1.0], atol=1e-6)
    assert result.gradient_evaluations < 80


def test_every_step_satisfies_the_strong_wolfe_conditions():
    points = []
    problem = Problem(rosenbrock(), ElasticNet(l2=1e-3))

    def keep(record, state):
        points.append((state.w.copy(), state.objective, problem.penalty.smooth_gradient(state.w, state.gradient)))

    minimize(problem, LBFGS(**TIGHT), [-1.2, 1.0], callbacks=[keep], stop=Stop(max_iterations=25))
    assert len(points) > 15
    for (w, f, g), (w_new, f_new, g_new) in itertools.pairwise(points):
        moved = w_new - w
        assert f_new <= f + C1 * (g @ moved) + 1e-15 * abs(f)
        assert abs(g_new @ moved) <= -C2 * (g @ moved) * (1 + 1e-9)


def test_first_trial_step_has_length_one():
    seen = []

    def gradient(w):
        seen.append(w.copy())
        return 1e3 * w

    objective = Smooth(4, lambda w: 500.0 * (w @ w), gradient)
    problem, solver = Problem(objective), LBFGS()
    solver.step(problem, solver.init(problem, np.full(4, 50.0)))
    assert np.linalg.norm(seen[1] - seen[0]) == pytest.approx(1.0)


def test_quadratic_step_is_found_by_interpolation():
    solver = LBFGS(**TIGHT)
    curvatures = np.array([1.0, 4.0])
    result = minimize(
        Problem(Smooth(2, lambda w: 0.5 * (curvatures @ w**2), lambda w: curvatures * w)), solver, [30.0, 7.0]
    )
    assert result.gradient_evaluations < 15
    np.testing.assert_allclose(result.w, 0.0, atol=1e-7)


@pytest.mark.parametrize("wall", [math.inf, math.nan])
@pytest.mark.parametrize("part", ["value", "gradient"])
def test_trial_point_that_is_not_finite_is_backed_away_from(part, wall):
    def outside(w):
        return w[0] <= 0.0

    def value(w):
        if outside(w):
            return wall if part == "value" else -5.0
        return w[0] - math.log(w[0])

    def gradient(w):
        return np.array([wall]) if outside(w) else 1.0 - 1.0 / w

    result = minimize(Problem(Smooth(1, value, gradient)), LBFGS(**TIGHT), [0.9 + 5.0])
    assert result.w[0] == pytest.approx(1.0, abs=1e-6)
    result = minimize(Problem(Smooth(1, value, gradient)), LBFGS(**TIGHT), [1e-3])
    assert result.w[0] == pytest.approx(1.0, abs=1e-6)


def test_gradient_that_lies_ends_in_a_failed_line_search_and_keeps_the_weights():
    objective = Smooth(3, lambda w: w @ w, lambda w: -2.0 * w)
    w0 = np.array([1.0, 2.0, 3.0])
    result = minimize(Problem(objective), LBFGS(), w0)
    assert result.status is Status.LINE_SEARCH_FAILED
    assert not result.status.converged
    np.testing.assert_array_equal(result.w, w0)
    assert result.objective == 14.0
    assert result.gradient_evaluations == objective.calls


def test_unbounded_objective_is_a_status_not_an_exception():
    solver = LBFGS(max_line_search=3)
    result = minimize(Problem(Smooth(2, lambda w: w.sum(), np.ones_like)), solver, stop=Stop(max_iterations=5))
    assert result.status is Status.MAX_ITERATIONS


def test_l1_penalty_is_refused_with_the_remedy():
    problem = Problem(rosenbrock(), ElasticNet(l1=0.1))
    with pytest.raises(OptionError, match="owlqn"):
        LBFGS().init(problem, np.zeros(2))


def test_evaluations_are_counted_exactly():
    objective = rosenbrock()
    result = minimize(Problem(objective), LBFGS(max_line_search=3), [-1.2, 1.0])
    # Three more verify the convergence.
    assert result.gradient_evaluations == objective.calls - 3 == result.passes
