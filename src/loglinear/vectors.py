"""Every O(n_features) operation of the optimisers, each one sweep over its arguments.

Arrays are C-contiguous float64; a name ``out`` (or a documented output) is overwritten and may not overlap the
inputs unless the docstring allows it. No vector of length n is allocated: the bodies work in blocks that stay in
cache. Sums are taken block by block in a fixed order without BLAS, so results do not depend on the number of threads.
A non-finite input gives a non-finite result and no warning.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = [
    "Vector",
    "align",
    "combine",
    "count_nonzero",
    "difference_pair",
    "dot",
    "dots",
    "norms",
    "orthant_step",
    "pseudo_gradient",
    "scale",
    "shrink",
    "step_along",
]

Vector = npt.NDArray[np.float64]

_BLOCK = 8192


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


def _inner(x: Vector, y: Vector) -> float:
    return float(np.einsum("i,i->", x, y))


def dot(x: Vector, y: Vector) -> float:
    """Return x . y."""
    with np.errstate(all="ignore"):
        return sum(_inner(x[b], y[b]) for b in _blocks(x.size))


def norms(x: Vector) -> tuple[float, float]:
    """Return |x|_1 and |x|_2 squared."""
    l1_norm = squared = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(x.size):
            l1_norm += float(np.abs(x[b]).sum())
            squared += _inner(x[b], x[b])
    return l1_norm, squared


def count_nonzero(x: Vector) -> int:
    """Return the number of entries that are not exactly zero."""
    return int(np.count_nonzero(x))


def scale(x: Vector, factor: float, out: Vector) -> None:
    """Write factor * x to ``out``."""
    with np.errstate(all="ignore"):
        np.multiply(x, factor, out=out)


def dots(rows: Vector, xs: tuple[Vector, ...], out: Vector) -> None:
    """Write rows[i] . xs[j] to ``out[j, i]``.

    Args:
        rows: shape (m, n).
        xs: k vectors of shape (n,); they share the sweep over ``rows``.
        out: shape (k, m).
    """
    out[...] = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(rows.shape[1]):
            block = rows[:, b]
            for j, x in enumerate(xs):
                out[j] += np.einsum("ij,j->i", block, x[b])


def combine(
    s_rows: Vector,
    s_coefficients: Vector,
    y_rows: Vector,
    y_coefficients: Vector,
    v: Vector,
    factor: float,
    out: Vector,
) -> None:
    """Write s_coefficients @ s_rows + y_coefficients @ y_rows + factor * v to ``out``.

    Args:
        s_rows: shape (m, n).
        s_coefficients: shape (m,).
        y_rows: shape (m, n).
        y_coefficients: shape (m,).
        v: shape (n,).
        factor: multiplies v.
        out: shape (n,).
    """
    with np.errstate(all="ignore"):
        for b in _blocks(v.size):
            part = np.einsum("i,ij->j", s_coefficients, s_rows[:, b])
            part += np.einsum("i,ij->j", y_coefficients, y_rows[:, b])
            np.multiply(v[b], factor, out=out[b])
            out[b] += part


def pseudo_gradient(w: Vector, g: Vector, l1: float, l2: float, out: Vector) -> tuple[float, float]:
    """Write the pseudo-gradient of f(w) + l1 |w|_1 + (l2 / 2) |w|^2 to ``out``, where g is the gradient of f.

    It is the subgradient of minimum norm (Andrew & Gao 2007, Eq. 4), and the plain gradient when l1 = 0.

    Returns:
        Its max-norm (NaN or infinite if any entry is) and its Euclidean norm squared.
    """
    largest = squared = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(w.size):
            x, o = w[b], out[b]
            np.multiply(x, l2, out=o)
            o += g[b]
            if l1 > 0.0:
                # Where w = 0 the subdifferential is [o - l1, o + l1]: its point nearest to zero.
                at_zero = o - np.clip(o, -l1, l1)
                o[...] = np.where(x == 0.0, at_zero, o + l1 * np.sign(x))
            largest = float(np.maximum(largest, np.abs(o).max()))  # unlike max(), keeps NaN
            squared += _inner(o, o)
    return largest, squared


def align(direction: Vector, v: Vector) -> float:
    """Zero, in place, the entries of ``direction`` whose sign is not that of -v, and return direction . v.

    Andrew & Gao (2007), Algorithm 1: the projection pi(d; -v). The result is <= 0.
    """
    product = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(v.size):
            d = direction[b]
            d *= d * v[b] < 0.0
            d += 0.0  # no -0.0
            product += _inner(d, v[b])
    return product


def step_along(w: Vector, alpha: float, direction: Vector, out: Vector) -> float:
    """Write w + alpha * direction to ``out`` and return its Euclidean norm squared."""
    squared = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(w.size):
            o = out[b]
            np.multiply(direction[b], alpha, out=o)
            o += w[b]
            squared += _inner(o, o)
    return squared


def orthant_step(w: Vector, alpha: float, direction: Vector, v: Vector, out: Vector) -> tuple[float, float, float]:
    """Write the projection of w + alpha * direction onto the orthant of (w, v) to ``out``.

    Andrew & Gao (2007), Algorithm 1: the orthant is xi_i = sign(w_i), or sign(-v_i) where w_i = 0; entries
    that leave it become zero.

    Returns:
        |out|_1, |out|_2 squared, and v . (out - w).
    """
    l1_norm = squared = product = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(w.size):
            x, o, pg = w[b], out[b], v[b]
            np.multiply(direction[b], alpha, out=o)
            o += x
            o *= o * np.where(x != 0.0, x, -pg) > 0.0
            o += 0.0  # no -0.0
            l1_norm += float(np.abs(o).sum())
            squared += _inner(o, o)
            product += _inner(o - x, pg)
    return l1_norm, squared, product


def difference_pair(
    w_new: Vector, w: Vector, g_new: Vector, g: Vector, l2: float, s: Vector, y: Vector
) -> tuple[float, float]:
    """Write s = w_new - w and y = g_new - g + l2 * s, and return s . y and y . y."""
    sy = yy = 0.0
    with np.errstate(all="ignore"):
        for b in _blocks(w.size):
            np.subtract(w_new[b], w[b], out=s[b])
            np.subtract(g_new[b], g[b], out=y[b])
            if l2 != 0.0:
                y[b] += l2 * s[b]
            sy += _inner(s[b], y[b])
            yy += _inner(y[b], y[b])
    return sy, yy


def shrink(v: Vector, threshold: float, factor: float, out: Vector) -> None:
    """Write factor * sign(v) * max(|v| - threshold, 0) to ``out``, which may be v itself."""
    with np.errstate(all="ignore"):
        for b in _blocks(v.size):
            x = v[b]
            np.subtract(x, np.clip(x, -threshold, threshold), out=out[b])
            out[b] *= factor
