"""Linear response: correlations of variables that no edge joins, from the beliefs of belief propagation.

Source: Welling & Teh, Neural Computation 16 (2004); Ricci-Tersenghi (2012). The covariance of all columns is the
inverse of the Hessian of the Bethe free energy with respect to their means,

    H = sum over edges of (covariance of both ends)^-1 + sum over variables of (1 - degree) (covariance)^-1.

On trees it is exact. (The product of beliefs, the approximation to order zero, has no correlation along paths.)

Departures:
- covariances are scaled so that the variance of each column is p (1 - p), where p is its belief.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

from .. import _core
from ..vectors import Vector
from .numbering import Numbering, Numbers

__all__ = ["pair_probabilities"]

# Minimum probability of a state, so that covariances stay invertible.
LEAST = 1e-12
# Usual number of iterations for a column of a sparse inverse: a matrix with more entries than D^2 over this number
# is inverted as a dense one. Number of columns up to which the dense inverse is always fast.
ITERATIONS, FEW = 40, 400
# Euclidean norm of the residual of a column of the inverse of H, scaled to a diagonal of 1.
TOLERANCE = 1e-5


def pair_probabilities(
    numbering: Numbering, edges: Numbers, means: Vector, joint: Vector, threads: int = 0
) -> Vector | None:
    """Return the probability that both columns of an interaction are on, for all interactions, shape (n_interactions,).

    Cost: O(D^3) for few columns or many edges; else O(D^2) an iteration of conjugate gradients, of some tens.

    Args:
        numbering: numbering of the columns.
        edges: edges of the graph, shape (n_edges, 2).
        means: probability of each column, shape (D,).
        joint: probability that both columns of an interaction are on, edge by edge as in `Graph.interactions`.
        threads: 0 for all cores.

    Returns:
        The probabilities; None if the Hessian is not positive definite: the beliefs are at no minimum of the free
        energy.
    """
    means = np.clip(means, LEAST, 1.0)
    hessian = _hessian(numbering, edges, means, joint)
    if numbering.n_columns <= FEW or hessian.nnz * ITERATIONS > numbering.n_columns**2:
        inverse = _dense(numbering, hessian)
    else:
        inverse = _sparse(numbering, hessian, threads)
    if inverse is None:
        return None
    variances, covariances = inverse
    if not (np.isfinite(covariances).all() and (variances > 0.0).all()):
        return None
    scale = np.sqrt(np.maximum(means * (1.0 - means), 0.0) / variances)
    return numbering.add_products(means, numbering.scaled(covariances, scale))


def _hessian(numbering: Numbering, edges: Numbers, means: Vector, joint: Vector) -> csr_array:
    """Return H, sparse, shape (D, D)."""
    widths = numbering.states - 1
    degrees = np.bincount(edges.ravel(), minlength=numbering.n_variables)
    reference = np.maximum(1.0 - np.add.reduceat(means, numbering.first[:-1]), LEAST)
    rows: list[Numbers] = []
    columns: list[Numbers] = []
    values: list[Vector] = []

    def add(places: Numbers, blocks: Vector) -> None:
        """Add blocks, shape (k, r, r), at the columns of each, shape (k, r)."""
        rows.append(np.broadcast_to(places[:, :, None], blocks.shape).ravel())
        columns.append(np.broadcast_to(places[:, None, :], blocks.shape).ravel())
        values.append(blocks.ravel())

    # The inverse covariance of a variable's columns is diag(1 / p) + 1 / p_0.
    for width in np.unique(widths).tolist():
        chosen = np.flatnonzero(widths == width)
        places = numbering.first[chosen, None] + np.arange(width)
        blocks = np.eye(width) / means[places][:, None, :] + 1.0 / reference[chosen, None, None]
        add(places, (1.0 - degrees[chosen])[:, None, None] * blocks)
    sizes = widths[edges[:, 0]] * widths[edges[:, 1]]
    starts = np.cumsum(sizes) - sizes
    for r, s in {(int(r), int(s)) for r, s in widths[edges]}:
        chosen = np.flatnonzero((widths[edges[:, 0]] == r) & (widths[edges[:, 1]] == s))
        ends = ((0, r), (1, s))
        places = np.concatenate([numbering.first[edges[chosen, end], None] + np.arange(w) for end, w in ends], axis=1)
        inside = joint[starts[chosen, None] + np.arange(r * s)].reshape(-1, r, s)
        second = np.zeros((chosen.size, r + s, r + s))
        second[:, :r, r:] = inside
        second[:, r:, :r] = inside.transpose(0, 2, 1)
        diagonal = np.arange(r + s)
        second[:, diagonal, diagonal] = means[places]
        covariance = second - means[places][:, :, None] * means[places][:, None, :]
        covariance[:, diagonal, diagonal] += LEAST
        add(places, np.asarray(np.linalg.inv(covariance), dtype=np.float64))
    at = np.concatenate(rows), np.concatenate(columns)
    return coo_array((np.concatenate(values), at), shape=(numbering.n_columns, numbering.n_columns)).tocsr()


def _dense(numbering: Numbering, hessian: csr_array) -> tuple[Vector, Vector] | None:
    """Return the diagonal of the inverse, and its entries of all interactions."""
    full: npt.NDArray[Any] = hessian.toarray()
    try:
        np.linalg.cholesky(full)  # fails unless it is positive definite
        inverse = np.linalg.inv(full)
    except np.linalg.LinAlgError:
        return None
    return np.diagonal(inverse), numbering.upper(inverse)


def _sparse(numbering: Numbering, hessian: csr_array, threads: int) -> tuple[Vector, Vector] | None:
    """The same by conjugate gradients, of the Hessian scaled to a diagonal of 1."""
    diagonal = hessian.diagonal()
    if not (np.isfinite(diagonal).all() and (diagonal > 0.0).all()):
        return None
    unit = 1.0 / np.sqrt(diagonal)
    entries = hessian.tocoo()
    values = entries.data * unit[entries.row] * unit[entries.col]
    at, columns = hessian.indptr.astype(np.int32), hessian.indices.astype(np.int32)
    inverse = _core.symmetric_inverse(at, columns, values, numbering.behind, tolerance=TOLERANCE, threads=threads)
    return None if inverse is None else (inverse[0] * unit**2, numbering.scaled(inverse[1], unit))
