"""Laws of the limited-memory product H v."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ElasticNet
from loglinear.solvers.common.history import History


def rounded(x):
    """The pair as the history keeps it: in bfloat16, to the nearest, ties to even."""
    bits = x.astype(np.float32).view(np.uint32)
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return bits.view(np.float32).astype(np.float64)


def two_loop_recursion(pairs, v):
    """Nocedal & Wright (2006), Algorithm 7.4, as printed."""
    q = v.copy()
    alphas = []
    for s, y in reversed(pairs):
        alpha = (s @ q) / (s @ y)
        q -= alpha * y
        alphas.append(alpha)
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        beta = (y @ q) / (s @ y)
        q += (alpha - beta) * s
    return q


def curved_walk(n, steps, seed):
    """Points and gradients of a convex quadratic."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    hessian = root @ root.T + np.eye(n)
    points = rng.normal(size=(steps + 1, n))
    return points, points @ hessian


NO_PENALTY = ElasticNet()


def advance(history, points, gradients, k, penalty=NO_PENALTY):
    """The history after step k, and the sizes of the pseudo-gradient."""
    history, *sizes = history.advance(points[k + 1], gradients[k + 1], points[k], gradients[k], penalty)
    return history, sizes


def product(history, v):
    """H v, where the last advance came to the pseudo-gradient v."""
    zero, out = np.zeros_like(v), np.empty_like(v)
    descent, change, l1_norm, squared = history.direction(zero, v, NO_PENALTY).move(1.0, out)
    np.testing.assert_allclose([descent, change, l1_norm], [out @ v, out @ v, np.abs(out).sum()], rtol=1e-9, atol=1e-9)
    assert squared == pytest.approx(out @ out)
    return -out


@examples(60)
@given(
    n=st.integers(2, 30),
    memory=st.integers(1, 8),
    steps=st.integers(1, 25),
    seed=st.integers(0, 2**32 - 1),
)
def test_product_equals_the_textbook_two_loop_recursion(n, memory, steps, seed):
    points, gradients = curved_walk(n, steps, seed)
    history, pairs = History.empty(memory, n), []
    for k in range(steps):
        history, _ = advance(history, points, gradients, k)
        s, y = rounded(points[k + 1] - points[k]), rounded(gradients[k + 1] - gradients[k])
        if s @ y > 0.0:
            pairs = [*pairs, (s, y)][-memory:]
        expected = two_loop_recursion(pairs, gradients[k + 1])
        found = product(history, gradients[k + 1])
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_product_spans_several_blocks():
    n = 20_001
    rng = np.random.default_rng(3)
    diagonal = rng.uniform(0.5, 5.0, n)
    points = rng.normal(size=(7, n))
    history, pairs = History.empty(4, n), []
    for k in range(6):
        history, (violation, squared, slope) = advance(history, points, diagonal * points, k, ElasticNet(0.5, 0.25))
        s, w = points[k + 1] - points[k], points[k + 1]
        pairs = [*pairs, (rounded(s), rounded(diagonal * s + 0.25 * s))][-4:]
        v = (diagonal + 0.25) * w + 0.5 * np.sign(w)
        np.testing.assert_allclose([violation, squared, slope], [np.abs(v).max(), v @ v, s @ v], rtol=1e-10)
    np.testing.assert_allclose(product(history, v), two_loop_recursion(pairs, v), rtol=1e-9, atol=1e-12)


def test_product_of_an_empty_history_is_the_identity():
    v = np.arange(5.0)
    np.testing.assert_array_equal(product(History.empty(3, 5), v), v)


@pytest.mark.parametrize("curvature", [-1.0, 0.0, 1e-17, np.inf, np.nan])
def test_pair_without_positive_curvature_is_skipped(curvature):
    points, gradients = curved_walk(6, 3, 1)
    history, pairs = History.empty(2, 6), []
    for k in range(3):
        history, _ = advance(history, points, gradients, k)
        pairs.append((rounded(points[k + 1] - points[k]), rounded(gradients[k + 1] - gradients[k])))
    zero = np.zeros(6)
    y = np.full(6, curvature)
    y[0] = 1.0 if curvature == 1e-17 else y[0]
    s = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    same, *_ = history.advance(s, y, zero, zero, NO_PENALTY)
    assert same.live == history.live
    if np.isfinite(curvature):
        np.testing.assert_allclose(product(same, y), two_loop_recursion(pairs[-2:], y), rtol=1e-9)


def test_advance_leaves_the_history_before_it_intact():
    points, gradients = curved_walk(8, 6, 2)
    history = History.empty(3, 8)
    for k in range(5):
        history, _ = advance(history, points, gradients, k)
    before = product(history, gradients[5])
    following, _ = advance(history, points, gradients, 5)
    newer = product(following, gradients[6])
    np.testing.assert_array_equal(product(history, gradients[5]), before)
    assert not np.array_equal(newer, before)


def test_a_history_by_other_features_is_the_one_of_the_rows_that_are_left():
    points, gradients = curved_walk(9, 5, 3)
    history = History.empty(3, 9)
    for k in range(5):
        history, _ = advance(history, points, gradients, k)
    old, new = np.arange(10, 19), np.array([4, 11, 12, 14, 15, 17, 18, 30])
    moved = history.onto(old, new)
    from_old, to_new = np.array([1, 2, 4, 5, 7, 8]), np.array([1, 2, 3, 4, 5, 6])
    assert moved.S.shape == (4, 8)
    np.testing.assert_array_equal(moved.S[:, to_new], history.S[:, from_old])
    assert not moved.Y[:, [0, 7]].any()
    v = np.random.default_rng(0).normal(size=8)
    zero = np.zeros(8)
    moved = moved.advance(zero, v, zero, v, NO_PENALTY).curvature
    S, Y = ((rows.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for rows in (moved.S, moved.Y))
    pairs = [(S[row], Y[row]) for row in moved.live]
    np.testing.assert_allclose(product(moved, v), two_loop_recursion(pairs, v), rtol=1e-9)
    assert history.onto(old, old) is history


@pytest.mark.parametrize("steps", [1, 3, 4, 9, 14])
def test_the_inverse_is_the_one_of_the_upper_triangle_of_the_products_left(steps):
    points, gradients = curved_walk(9, steps, 5)
    history = History.empty(4, 9)
    for k in range(steps):
        history, _ = advance(history, points, gradients, k)
    for changed in (history, history.in_units(np.linspace(0.5, 2.0, 9)), history.onto(np.arange(9), np.arange(2, 11))):
        live = np.array(changed.live)
        left = live[:, None], live
        np.testing.assert_allclose(changed.inverse[left] @ np.triu(changed.SY[left]), np.eye(live.size), atol=1e-9)
