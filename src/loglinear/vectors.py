"""Every O(n_features) operation of the optimisers, each one sweep over its arguments, in native code.

Arrays are C-contiguous float64; a name ``out`` (or a documented output) is overwritten and may not overlap the
inputs unless the docstring allows it. Sums are formed over chunks of a fixed size and added up in order, so results are
bitwise the same on any number of threads. A non-finite input gives a non-finite result and no warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

from ._core import vectors as _native

__all__ = [
    "Rows",
    "Strengths",
    "Vector",
    "count_nonzero",
    "norms",
    "on_threads",
    "pseudo_gradient",
    "quasi_newton_step",
    "secant_pair",
    "shrink",
]

Vector = npt.NDArray[np.float64]
# bfloat16, the upper halves of float32: NumPy has no such type, so they are kept as bits.
Rows = npt.NDArray[np.uint16]
# l1, l2, and the number of the last weights that bear neither: l1 |w|_1 + (l2 / 2) |w|^2 over the others.
Strengths = tuple[float, float, int]

_threads: ContextVar[int] = ContextVar("threads", default=0)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Run the operations inside on ``count`` threads; 0, the default, stands for all cores."""
    token = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(token)


def norms(x: Vector) -> tuple[float, float]:
    """Return |x|_1 and |x|_2 squared."""
    return _native.norms(x, _threads.get())


def count_nonzero(x: Vector) -> int:
    """Return the number of entries that are not exactly zero."""
    return int(np.count_nonzero(x != 0.0))  # numpy counts booleans faster than numbers


def pseudo_gradient(w: Vector, g: Vector, penalty: Strengths, out: Vector) -> tuple[float, float]:
    """Write the pseudo-gradient of f(w) + penalty(w) to ``out``, where g is the gradient of f.

    It is the subgradient of minimum norm (Andrew & Gao 2007, Eq. 4), and the plain gradient when l1 = 0.

    Returns:
        Its max-norm (NaN or infinite if any entry is) and its Euclidean norm squared.
    """
    return _native.pseudo_gradient(w, g, penalty, out, _threads.get())


def secant_pair(
    w_new: Vector,
    g_new: Vector,
    w: Vector,
    g: Vector,
    penalty: Strengths,
    s_rows: Rows,
    y_rows: Rows,
    live: Sequence[int],
    spare: int,
    products: Vector,
) -> tuple[float, float, float]:
    """Form the pair (s, y) of the step from w to w_new, and its inner products with all pairs, in one sweep.

    The spare rows become s = w_new - w and y = g_new - g + l2 s, rounded to bfloat16.
    v is the pseudo-gradient at w_new.

    Args:
        w_new: shape (n,).
        g_new: gradient of the unpenalised objective at w_new, shape (n,).
        w: shape (n,).
        g: gradient at w, shape (n,).
        penalty: see ``Strengths``.
        s_rows: shape (m, n), bfloat16.
        y_rows: shape (m, n), bfloat16.
        live: numbers of the k rows that count.
        spare: number of the row to write.
        products: shape (2, 2 k + 2); row 0 becomes the inner products of the live rows of S, the live rows of Y, s and
            y with v, and row 1 their inner products with y.

    Returns:
        The max-norm of v (NaN or infinite if any entry is), its Euclidean norm squared, and (w_new - w) . v.
    """
    return _native.secant_pair(w_new, g_new, w, g, penalty, s_rows, y_rows, live, spare, products, _threads.get())


def quasi_newton_step(
    w: Vector,
    g: Vector,
    penalty: Strengths,
    s_rows: Rows,
    s_coefficients: Vector,
    y_rows: Rows,
    y_coefficients: Vector,
    live: Sequence[int],
    factor: float,
    alpha: float,
    out: Vector,
) -> tuple[float, float, float, float]:
    """Write w + alpha d to ``out``, with d = s_coefficients @ S[live] + y_coefficients @ Y[live] + factor * v.

    v is the pseudo-gradient at w. With l1 > 0 come the two projections of Andrew & Gao (2007), Algorithm 1: pi(d; -v)
    sets the entries of d to zero whose sign is not that of -v; then entries of ``out`` that leave the orthant
    xi_i = sign(w_i), or sign(-v_i) where w_i = 0, become zero.

    Args:
        w: shape (n,).
        g: gradient of the unpenalised objective at w, shape (n,).
        penalty: see ``Strengths``.
        s_rows: S, shape (m, n), bfloat16.
        s_coefficients: shape (k,).
        y_rows: Y, shape (m, n), bfloat16.
        y_coefficients: shape (k,).
        live: numbers of the k rows that count.
        factor: multiplies v.
        alpha: length of the step.
        out: shape (n,).

    Returns:
        d . v, v . (out - w), |out|_1 and |out|_2 squared, the norms without weights that bear no penalty.
    """
    threads = _threads.get()
    return _native.quasi_newton_step(
        w, g, penalty, s_rows, s_coefficients, y_rows, y_coefficients, live, factor, alpha, out, threads
    )


def shrink(v: Vector, threshold: float, factor: float, out: Vector) -> None:
    """Write factor * sign(v) * max(|v| - threshold, 0) to ``out``, which may be v itself."""
    np.subtract(v, np.clip(v, -threshold, threshold), out=out)
    out *= factor
