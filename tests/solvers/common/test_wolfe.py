"""The steps that the line search tries: the minimum of a cubic, kept within bounds."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from loglinear.solvers.common.wolfe import _extrapolate, _interpolate, cubic_minimum


def at(cubic, alpha):
    """A trial: a point of a polynomial of degree 3, and the slope there."""
    return SimpleNamespace(alpha=alpha, objective=float(cubic(alpha)), slope=float(cubic.deriv()(alpha)))


def with_minimum(seed):
    """A cubic with a minimum, and where it is."""
    rng = np.random.default_rng(seed)
    least, most = np.sort(rng.normal(size=2))[::-1]
    slope = abs(rng.normal()) * np.polynomial.Polynomial.fromroots([least, most])
    return slope.integ() + rng.normal(), least


@pytest.mark.parametrize("seed", range(20))
def test_the_minimum_of_a_cubic_is_found_from_any_two_of_its_points(seed):
    cubic, least = with_minimum(seed)
    for a, b in np.random.default_rng(seed).normal(size=(10, 2)):
        assert cubic_minimum(at(cubic, a), at(cubic, b)) == pytest.approx(least, abs=1e-6)


def test_a_cubic_that_only_falls_or_is_not_finite_has_no_minimum():
    falling = -np.polynomial.Polynomial([0.0, 1.0, 0.0, 1.0])
    assert math.isnan(cubic_minimum(at(falling, 0.0), at(falling, 1.0)))
    assert math.isnan(cubic_minimum(at(falling, 1.0), at(falling, 1.0)))
    beyond = SimpleNamespace(alpha=1.0, objective=math.inf, slope=1.0)
    assert math.isnan(cubic_minimum(at(falling, 0.0), beyond))


@pytest.mark.parametrize("seed", range(20))
def test_a_step_between_two_points_is_the_minimum_or_the_middle(seed):
    cubic, least = with_minimum(seed)
    for a, b in np.random.default_rng(seed).normal(size=(10, 2)):
        share = (least - a) / (b - a)
        expected = least if 0.1 <= share <= 0.9 else (a + b) / 2.0
        assert _interpolate(at(cubic, a), at(cubic, b)) == pytest.approx(expected, abs=1e-6)


def test_a_longer_step_is_the_minimum_where_it_is_2_to_10_times_as_long():
    for least, expected in ((1.5, 2.0), (3.0, 3.0), (8.0, 8.0), (30.0, 10.0)):
        cubic = np.polynomial.Polynomial.fromroots([least, -20.0]).integ()
        assert _extrapolate(at(cubic, 0.0), at(cubic, 1.0)) == pytest.approx(expected)
        wider = np.polynomial.Polynomial.fromroots([4.0 * least, -20.0]).integ()
        assert _extrapolate(at(wider, 0.0), at(wider, 4.0)) == pytest.approx(4.0 * expected)
    falling = -np.polynomial.Polynomial([0.0, 1.0, 0.0, 1.0])
    assert _extrapolate(at(falling, 0.0), at(falling, 1.0)) == 4.0
