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
    "Vector",
    "combine",
    "count_nonzero",
    "difference_pair",
    "dot",
    "dots",
    "gradient_along",
    "norms",
    "on_threads",
    "orthant_step",
    "pseudo_gradient",
    "scale",
    "shrink",
    "step_along",
]

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.float32]

_threads: ContextVar[int] = ContextVar("threads", default=0)


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Run the operations inside on so many threads; 0, the default, stands for all cores."""
    token = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(token)


def dot(x: Vector, y: Vector) -> float:
    """Return x . y."""
    return _native.dot(x, y, _threads.get())


def norms(x: Vector) -> tuple[float, float]:
    """Return |x|_1 and |x|_2 squared."""
    return _native.norms(x, _threads.get())


def count_nonzero(x: Vector) -> int:
    """Return the number of entries that are not exactly zero."""
    return int(np.count_nonzero(x))


def scale(x: Vector, factor: float, out: Vector) -> None:
    """Write factor * x to ``out``."""
    with np.errstate(all="ignore"):
        np.multiply(x, factor, out=out)


def dots(s_rows: Rows, y_rows: Rows, live: Sequence[int], v: Vector, y: Rows | None, out: Vector) -> None:
    """Write the inner products of the live rows with v, and with y, to ``out``, in one sweep over all of them.

    out[0, 0, i] = s_rows[live[i]] . v and out[0, 1, i] = y_rows[live[i]] . v; out[1] holds the same with y for v.

    Args:
        s_rows: shape (m, n), float32.
        y_rows: shape (m, n), float32.
        live: numbers of the k rows that count.
        v: shape (n,).
        y: shape (n,), float32, or None.
        out: shape (1, 2, k), or (2, 2, k) with y.
    """
    _native.dots(s_rows, y_rows, live, v, y, out, _threads.get())


def combine(
    s_rows: Rows,
    s_coefficients: Vector,
    y_rows: Rows,
    y_coefficients: Vector,
    live: Sequence[int],
    v: Vector,
    factor: float,
    out: Vector,
    *,
    aligned: bool = False,
) -> float:
    """Write s_coefficients @ s_rows[live] + y_coefficients @ y_rows[live] + factor * v to ``out`` and return out . v.

    Args:
        s_rows: shape (m, n), float32.
        s_coefficients: shape (k,).
        y_rows: shape (m, n), float32.
        y_coefficients: shape (k,).
        live: numbers of the k rows that count.
        v: shape (n,).
        factor: multiplies v.
        out: shape (n,).
        aligned: set the entries of ``out`` whose sign is not that of -v to zero, the projection pi(d; -v) of Andrew &
            Gao (2007), Algorithm 1. The result is then <= 0, and rows are not read where v is zero.
    """
    threads = _threads.get()
    return _native.combine(s_rows, s_coefficients, y_rows, y_coefficients, live, v, factor, aligned, out, threads)


def pseudo_gradient(w: Vector, g: Vector, l1: float, l2: float, out: Vector) -> tuple[float, float]:
    """Write the pseudo-gradient of f(w) + l1 |w|_1 + (l2 / 2) |w|^2 to ``out``, where g is the gradient of f.

    It is the subgradient of minimum norm (Andrew & Gao 2007, Eq. 4), and the plain gradient when l1 = 0.

    Returns:
        Its max-norm (NaN or infinite if any entry is) and its Euclidean norm squared.
    """
    return _native.pseudo_gradient(w, g, l1, l2, w, out, _threads.get())[:2]


def gradient_along(w: Vector, g: Vector, l2: float, direction: Vector, out: Vector) -> tuple[float, float, float]:
    """Write g + l2 w to ``out``; return its max-norm, its Euclidean norm squared, and ``direction`` . out."""
    return _native.pseudo_gradient(w, g, 0.0, l2, direction, out, _threads.get())


def step_along(w: Vector, alpha: float, direction: Vector, out: Vector) -> float:
    """Write w + alpha * direction to ``out`` and return its Euclidean norm squared."""
    return _native.step_along(w, alpha, direction, out, _threads.get())


def orthant_step(w: Vector, alpha: float, direction: Vector, v: Vector, out: Vector) -> tuple[float, float, float]:
    """Write the projection of w + alpha * direction onto the orthant of (w, v) to ``out``.

    Andrew & Gao (2007), Algorithm 1: the orthant is xi_i = sign(w_i), or sign(-v_i) where w_i = 0; entries
    that leave it become zero.

    Returns:
        |out|_1, |out|_2 squared, and v . (out - w).
    """
    return _native.orthant_step(w, alpha, direction, v, out, _threads.get())


def difference_pair(
    w_new: Vector, w: Vector, g_new: Vector, g: Vector, l2: float, s: Rows, y: Rows
) -> tuple[float, float]:
    """Write s = w_new - w and y = g_new - g + l2 * s, rounded to float32; return s . y and y . y of what is written."""
    return _native.difference_pair(w_new, w, g_new, g, l2, s, y, _threads.get())


def shrink(v: Vector, threshold: float, factor: float, out: Vector) -> None:
    """Write factor * sign(v) * max(|v| - threshold, 0) to ``out``, which may be v itself."""
    np.subtract(v, np.clip(v, -threshold, threshold), out=out)
    out *= factor
