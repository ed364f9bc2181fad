"""Laws of the elastic net."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear.errors import LogLinearError, OptionError
from loglinear.penalty import ElasticNet

weights = st.floats(0.0, 5.0)


def one_sided(f, x, direction, h=1e-7):
    return (f(x + direction * h) - f(x)) / h


@given(
    l1=weights,
    l2=weights,
    g=st.floats(-6.0, 6.0),
    w=st.sampled_from([0.0, -0.0, 0.5, -0.5, 2.0, -3.0]),
)
def test_pseudo_gradient_equals_one_sided_finite_differences(l1, l2, g, w):
    def f(x):
        return g * x + l1 * abs(x) + 0.5 * l2 * x * x

    right, left = one_sided(f, w, 1.0), -one_sided(f, w, -1.0)
    expected = left if left > 1e-6 else right if right < -1e-6 else 0.0  # Andrew & Gao (2007), Eq. 4
    found = ElasticNet(l1, l2).pseudo_gradient(np.array([w]), np.array([g]))
    assert found[0] == pytest.approx(expected, abs=2e-5)


@given(l1=weights, l2=weights, g=st.floats(-6.0, 6.0), w=st.sampled_from([0.0, 0.5, -0.5]))
def test_pseudo_gradient_is_the_subgradient_of_minimum_norm(l1, l2, g, w):
    subgradients = g + l2 * w + l1 * (np.array([np.sign(w)]) if w else np.linspace(-1.0, 1.0, 20_001))
    found = ElasticNet(l1, l2).pseudo_gradient(np.array([w]), np.array([g]))[0]
    assert abs(found) == pytest.approx(np.abs(subgradients).min(), abs=l1 * 1e-4 + 1e-12)


@given(l1=weights, l2=weights, v=st.floats(-10.0, 10.0), step=st.floats(0.01, 10.0))
def test_prox_equals_brute_force_minimisation(l1, l2, v, step):
    grid = np.linspace(-10.0, 10.0, 40_001)
    values = (grid - v) ** 2 / (2 * step) + l1 * np.abs(grid) + 0.5 * l2 * grid**2
    found = ElasticNet(l1, l2).prox(np.array([v]), step)[0]
    assert found == pytest.approx(grid[values.argmin()], abs=6e-4)


def test_value_is_the_formula():
    w = np.array([1.0, -2.0, 0.0])
    penalty = ElasticNet(l1=0.5, l2=3.0)
    assert penalty.value(w) == pytest.approx(0.5 * 3.0 + 1.5 * 5.0)
    assert penalty.smooth_value(w) == pytest.approx(1.5 * 5.0)
    np.testing.assert_allclose(penalty.smooth_gradient(w, np.ones(3)), 1.0 + 3.0 * w)


def test_violation_is_the_max_norm_of_the_pseudo_gradient():
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=20_000), rng.normal(size=20_000)
    w[::3] = 0.0
    penalty = ElasticNet(0.3, 0.2)
    assert penalty.violation(w, g) == np.abs(penalty.pseudo_gradient(w, g)).max()
    assert ElasticNet(1e9).violation(np.zeros(4), np.ones(4)) == 0.0


@pytest.mark.parametrize("place", [0, 19_999])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_violation_shows_a_gradient_that_is_not_finite(place, bad):
    g = np.ones(20_000)
    g[place] = bad
    assert not math.isfinite(ElasticNet(0.1, 0.1).violation(np.ones(20_000), g))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, -math.inf, "much", None])
@pytest.mark.parametrize("name", ["l1", "l2"])
def test_absurd_options_raise_option_error(name, bad):
    with pytest.raises(OptionError, match=rf"{name}=.*>= 0") as caught:
        ElasticNet(**{name: bad})
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, LogLinearError)


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_absurd_prox_step_raises_option_error(step):
    with pytest.raises(OptionError, match="step"):
        ElasticNet(1.0).prox(np.ones(2), step)


@pytest.mark.parametrize("l1", [0.0, 0.6])
@pytest.mark.parametrize("unpenalised", [0, 1, 3, 2500, 5000])
def test_the_last_weights_bear_no_penalty(l1, unpenalised):
    """Everything about a penalty is that of the others, and none for the last."""
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=(2, 5000)) * (rng.random((2, 5000)) < 0.7)
    penalty, split = ElasticNet(l1, 0.4, unpenalised), 5000 - unpenalised
    plain, none = ElasticNet(l1, 0.4), ElasticNet()
    assert penalty.value(w) == pytest.approx(plain.value(w[:split]), rel=1e-12)
    assert penalty.smooth_value(w) == pytest.approx(plain.smooth_value(w[:split]), rel=1e-12)
    for name in ("pseudo_gradient", "smooth_gradient"):
        expected = [getattr(plain, name)(w[:split], g[:split]), getattr(none, name)(w[split:], g[split:])]
        assert np.array_equal(getattr(penalty, name)(w, g), np.concatenate(expected))
    assert np.array_equal(penalty.prox(w, 0.5), np.concatenate([plain.prox(w[:split], 0.5), w[split:]]))
    assert penalty.violation(w, g) == abs(penalty.pseudo_gradient(w, g)).max()


@pytest.mark.parametrize("bad", [-1, 1.5, "2", None, True])
def test_unpenalised_is_a_whole_number(bad):
    with pytest.raises(OptionError, match="unpenalised"):
        ElasticNet(unpenalised=bad)
