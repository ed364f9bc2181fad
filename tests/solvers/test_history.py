"""Laws of the limited-memory product H v."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loglinear.solvers.history import History


def rounded(x):
    """The pair as the history keeps it."""
    return x.astype(np.float32).astype(np.float64)


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


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(2, 30),
    memory=st.integers(1, 8),
    steps=st.integers(1, 25),
    seed=st.integers(0, 2**32 - 1),
    ask_always=st.booleans(),
)
def test_product_equals_the_textbook_two_loop_recursion(n, memory, steps, seed, ask_always):
    points, gradients = curved_walk(n, steps, seed)
    history, out = History.empty(memory, n), np.empty(n)
    pairs = []
    for k in range(steps):
        history = history.append(points[k + 1], points[k], gradients[k + 1], gradients[k], 0.0)
        pairs = [*pairs, (rounded(points[k + 1] - points[k]), rounded(gradients[k + 1] - gradients[k]))][-memory:]
        if ask_always or k == steps - 1:
            v = np.random.default_rng(k).normal(size=n)
            history.product(v, out)
            expected = two_loop_recursion(pairs, v)
            np.testing.assert_allclose(out, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_product_spans_several_blocks():
    n = 20_001
    rng = np.random.default_rng(3)
    diagonal = rng.uniform(0.5, 5.0, n)
    points = rng.normal(size=(7, n))
    history, out, pairs = History.empty(4, n), np.empty(n), []
    for k in range(6):
        history = history.append(points[k + 1], points[k], diagonal * points[k + 1], diagonal * points[k], 0.25)
        s = points[k + 1] - points[k]
        pairs = [*pairs, (rounded(s), rounded(diagonal * s + 0.25 * s))][-4:]
    v = rng.normal(size=n)
    history.product(v, out, factor=-1.0)
    np.testing.assert_allclose(out, -two_loop_recursion(pairs, v), rtol=1e-9, atol=1e-12)


def test_product_of_an_empty_history_is_the_identity():
    v, out = np.arange(5.0), np.empty(5)
    History.empty(3, 5).product(v, out, factor=-2.0)
    np.testing.assert_array_equal(out, -2.0 * v)


def test_secant_equation_holds_for_the_newest_pair():
    points, gradients = curved_walk(12, 9, 5)
    history, out = History.empty(5, 12), np.empty(12)
    for k in range(9):
        history = history.append(points[k + 1], points[k], gradients[k + 1], gradients[k], 0.0)
        history.product(rounded(gradients[k + 1] - gradients[k]), out)
        np.testing.assert_allclose(out, rounded(points[k + 1] - points[k]), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("curvature", [-1.0, 0.0, 1e-17, np.inf, np.nan])
def test_pair_without_positive_curvature_is_skipped(curvature):
    points, gradients = curved_walk(6, 3, 1)
    history, out, before = History.empty(2, 6), np.empty(6), np.empty(6)
    for k in range(3):
        history = history.append(points[k + 1], points[k], gradients[k + 1], gradients[k], 0.0)
    v = np.ones(6)
    history.product(v, before)
    zero = np.zeros(6)
    y = np.full(6, curvature)
    y[0] = 1.0 if curvature == 1e-17 else y[0]
    s = np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    same = history.append(s, zero, y, zero, 0.0)
    assert same.live == history.live
    same.product(v, out)
    np.testing.assert_array_equal(out, before)


def test_append_leaves_the_history_before_it_intact():
    points, gradients = curved_walk(8, 6, 2)
    history, before, after, newer = History.empty(3, 8), np.empty(8), np.empty(8), np.empty(8)
    for k in range(5):
        history = history.append(points[k + 1], points[k], gradients[k + 1], gradients[k], 0.0)
    v = np.ones(8)
    history.product(v, before)
    next_history = history.append(points[6], points[5], gradients[6], gradients[5], 0.0)
    next_history.product(v, newer)
    history.product(v, after)
    np.testing.assert_array_equal(after, before)
    assert not np.array_equal(newer, before)
