"""Every O(n_features) operation of the optimisers, each one sweep over its arguments, in native code.

Arrays are C-contiguous float64. An argument named ``out``, or documented as an output, is overwritten and may not
overlap the inputs unless the docstring allows it. Sums are formed over chunks of a fixed size and added up first chunk
first, so results are bitwise the same on any number of threads. A non-finite input gives a non-finite result and no
warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ._core import vectors as _native

__all__ = [
    "Move",
    "Rows",
    "Strengths",
    "Vector",
    "best_constants",
    "conjugate_gradients",
    "count_nonzero",
    "distinct",
    "dot",
    "moments",
    "norms",
    "on_threads",
    "pseudo_gradient",
    "quasi_newton_step",
    "read_only",
    "secant_pair",
    "shrink",
]

A = TypeVar("A", bound="npt.NDArray[Any]")
Vector = npt.NDArray[np.float64]
# Rows of bfloat16 numbers (the upper halves of float32), kept as their bits because NumPy has no such type.
Rows = npt.NDArray[np.uint16]
Signs = npt.NDArray[np.int8]
# l1, l2 and u: the penalty l1 |w|_1 + (l2 / 2) |w|^2 over all weights except the last u. Also the factor of each of
# these weights, by which its penalty is multiplied, and its sign: 1 if never negative, -1 if never positive, 0 if any.
Strengths = tuple[float, float, int] | tuple[float, float, int, Vector, Signs]

_threads: ContextVar[int] = ContextVar("threads", default=0)


class Move(NamedTuple):
    """Numbers that a line search needs about the trial point out = w + alpha d.

    Attributes:
        slope: d . v, where v is the pseudo-gradient at w.
        change: v . (out - w).
        l1_norm: |out|_1 over the weights that bear a penalty, each times its factor.
        squared: |out|_2 squared over the weights that bear a penalty, likewise.
    """

    slope: float
    change: float
    l1_norm: float
    squared: float


def read_only(array: A) -> A:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


@contextmanager
def on_threads(count: int) -> Iterator[None]:
    """Run the operations inside on ``count`` threads; 0, the default, stands for all cores."""
    token = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(token)


def best_constants(rows: Vector, l1: float, l2: float) -> tuple[Vector, Vector]:
    """Return for each row w the least and the largest best c: the sum of l1 |w_k - c| + (l2 / 2) (w_k - c)^2 is least.

    They differ without L2 only, between the two middle entries of a row of even length.

    Source: Friedman, Hastie & Tibshirani, J. Statistical Software 33 (2010), section 4.1.

    Args:
        rows: shape (n, k).
        l1: strength of the L1 penalty, > 0.
        l2: strength of the L2 penalty.

    Returns:
        Two vectors of shape (n,).

    Example:
        >>> import numpy as np
        >>> from loglinear.vectors import best_constants
        >>> best_constants(np.array([[3.0, 2.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0]]), 1.0, 0.0)
        (array([0., 0.]), array([2., 0.]))
    """
    return _native.best_constants(rows.ravel(), rows.shape[1], l1, l2)


def distinct(ids: npt.NDArray[np.uint32], bound: int, most: int) -> npt.NDArray[np.uint32] | None:
    """Return the distinct ids, ascending; None if there are more than ``most``, or one is not below ``bound``."""
    return _native.distinct(ids, bound, most)


def moments(matrix: Vector) -> tuple[Vector, Vector]:
    """Return the means and the standard deviations of the columns of a matrix of shape (n, k), each of shape (k,).

    The mean of a constant column is exactly its value.
    """
    return _native.moments(matrix)


def norms(x: Vector) -> tuple[float, float]:
    """Return |x|_1 and |x|_2 squared."""
    return _native.norms(x, _threads.get())


def dot(x: Vector, y: Vector) -> float:
    """Return the inner product.

    Not by BLAS, which would give long vectors to its own threads, which then wait busily, where ours work.
    """
    return float(np.einsum("i,i", x, y))


def conjugate_gradients(
    product: Callable[[Vector], Vector], right: Vector, diagonal: Vector
) -> Iterator[tuple[Vector, float, float]]:
    """Yield x, an approximation of H^-1 right, after each product with H.

    They end once the residual is 0, or along a direction without curvature.

    Args:
        product: returns H times a vector.
        right: shape (n,).
        diagonal: about that of H, > 0, shape (n,): the preconditioner.

    Yields:
        x, by how much it decreases x'Hx / 2 - right'x, and the residual's r'r weighted by 1 / diagonal.
    """
    x, residual, decrease = np.zeros_like(right), right, 0.0
    scaled = residual / diagonal
    direction, squared = scaled, dot(residual, scaled)
    while squared > 0.0:
        along = product(direction)
        curvature = dot(direction, along)
        if not curvature > 0.0:
            return
        step = squared / curvature
        x, residual = x + step * direction, residual - step * along
        decrease += step * squared / 2.0
        scaled = residual / diagonal
        before, squared = squared, dot(residual, scaled)
        yield x, decrease, squared
        direction = scaled + squared / before * direction


def count_nonzero(x: Vector) -> int:
    """Return the number of entries that are not exactly zero."""
    return int(np.count_nonzero(x != 0.0))  # numpy counts booleans faster than numbers


def pseudo_gradient(w: Vector, g: Vector, penalty: Strengths, out: Vector) -> tuple[float, float]:
    """Write the pseudo-gradient of f(w) + penalty(w) to ``out``, where g is the gradient of f.

    The pseudo-gradient is the subgradient of minimum norm (Andrew & Gao 2007, Eq. 4); with l1 = 0, the gradient.

    Returns:
        The max-norm of the pseudo-gradient (NaN or infinite if any entry is) and its Euclidean norm squared.
    """
    return _native.pseudo_gradient(w, g, penalty, out, _threads.get())


def secant_pair(
    w_new: Vector,
    g_new: Vector,
    w: Vector,
    g: Vector,
    scale: Vector | None,
    penalty: Strengths,
    s_rows: Rows,
    y_rows: Rows,
    live: Sequence[int],
    spare: int,
    products: Vector,
) -> tuple[float, float, float]:
    """Form the pair (s, y) of the step from w to w_new, and its inner products with all pairs, in one sweep.

    The spare rows become s = (w_new - w) / scale and y = scale (g_new - g + l2 (w_new - w)), rounded to bfloat16.
    v is the pseudo-gradient at w_new; the products are with scale times v.

    Args:
        w_new: shape (n,).
        g_new: gradient of the unpenalised objective at w_new, shape (n,).
        w: shape (n,).
        g: gradient at w, shape (n,).
        scale: unit of each weight, shape (n,), positive; None for 1.
        penalty: see ``Strengths``.
        s_rows: shape (m, n), bfloat16.
        y_rows: shape (m, n), bfloat16.
        live: numbers of the k rows that hold earlier pairs.
        spare: number of the row to write.
        products: output, shape (2, 2 k + 2). Its columns stand for the live rows of S, the live rows of Y, s, and y;
            row 0 becomes their inner products with scale times v, row 1 their inner products with y.

    Returns:
        The max-norm of v (NaN or infinite if any entry is), the Euclidean norm of scale times v squared, and
        (w_new - w) . v.
    """
    threads = _threads.get()
    return _native.secant_pair(w_new, g_new, w, g, scale, penalty, s_rows, y_rows, live, spare, products, threads)


def quasi_newton_step(
    w: Vector,
    g: Vector,
    scale: Vector | None,
    penalty: Strengths,
    s_rows: Rows,
    s_coefficients: Vector,
    y_rows: Rows,
    y_coefficients: Vector,
    live: Sequence[int],
    factor: float,
    alpha: float,
    out: Vector,
) -> Move:
    """Write w + alpha d to ``out``, d = scale (s_coefficients @ S[live] + y_coefficients @ Y[live] + factor scale v).

    v is the pseudo-gradient at w. With l1 > 0 the sweep fuses three lines of Andrew & Gao (2007), Algorithm 1:

    - the direction d;
    - its projection pi(d; -v): an entry of d that does not have the sign of -v becomes zero;
    - the projected step: an entry of ``out`` that leaves the orthant xi becomes zero, where xi_i = sign(w_i), or
      sign(-v_i) if w_i = 0.

    With factors and signs, weights without L1 penalty and sign are not projected, and all weights keep their sign.

    Args:
        w: shape (n,).
        g: gradient of the unpenalised objective at w, shape (n,).
        scale: unit of each weight, shape (n,), positive; None for 1.
        penalty: see ``Strengths``.
        s_rows: S, shape (m, n), bfloat16.
        s_coefficients: shape (k,).
        y_rows: Y, shape (m, n), bfloat16.
        y_coefficients: shape (k,).
        live: numbers of the k rows that the coefficients belong to.
        factor: coefficient of v.
        alpha: length of the step.
        out: shape (n,).

    Returns:
        What a line search needs to know about ``out``.
    """
    threads = _threads.get()
    return Move._make(
        _native.quasi_newton_step(
            w, g, scale, penalty, s_rows, s_coefficients, y_rows, y_coefficients, live, factor, alpha, out, threads
        )
    )


def shrink(v: Vector, threshold: float | Vector, factor: float | Vector, out: Vector) -> None:
    """Write factor * sign(v) * max(|v| - threshold, 0) to ``out``, which may be v itself."""
    np.subtract(v, np.clip(v, -threshold, threshold), out=out)
    out *= factor
