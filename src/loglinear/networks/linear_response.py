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

from ..vectors import Vector
from .numbering import Layout, Numbers

__all__ = ["pair_probabilities"]

# Least probability of a state: covariances stay invertible.
LEAST = 1e-12


def pair_probabilities(layout: Layout, edges: Numbers, means: Vector, joint: Vector) -> Vector | None:
    """Return the probability that two columns of different variables are both on, shape (D, D).

    Cost: O(D^3).

    Args:
        layout: numbering of the columns.
        edges: edges of the graph, shape (n_edges, 2).
        means: probability of each column, shape (D,).
        joint: probability that both columns of an interaction are on, edge by edge as in `Graph.interactions`.

    Returns:
        The matrix; None if the Hessian is not positive definite: the beliefs are at no minimum of the free energy.
    """
    means = np.clip(means, LEAST, 1.0)
    hessian = _nodes(layout, means, 1.0 - np.bincount(edges.ravel(), minlength=layout.n_variables))
    widths = layout.states - 1
    sizes = widths[edges[:, 0]] * widths[edges[:, 1]]
    starts = np.cumsum(sizes) - sizes
    for rows, across in {(int(r), int(s)) for r, s in widths[edges]}:
        chosen = np.flatnonzero((widths[edges[:, 0]] == rows) & (widths[edges[:, 1]] == across))
        columns = np.concatenate(
            [layout.first[edges[chosen, side], None] + np.arange(width) for side, width in ((0, rows), (1, across))],
            axis=1,
        )
        inside = joint[starts[chosen, None] + np.arange(rows * across)].reshape(-1, rows, across)
        second = np.zeros((chosen.size, rows + across, rows + across))
        second[:, :rows, rows:] = inside
        second[:, rows:, :rows] = inside.transpose(0, 2, 1)
        places = np.arange(rows + across)
        second[:, places, places] = means[columns]
        covariance = second - means[columns][:, :, None] * means[columns][:, None, :]
        covariance[:, places, places] += LEAST
        np.add.at(hessian, (columns[:, :, None], columns[:, None, :]), np.linalg.inv(covariance))
    return _inverted(layout, hessian, means)


def _nodes(layout: Layout, means: Vector, factors: npt.NDArray[Any]) -> Vector:
    """Sum over variables of a factor times the inverse covariance of their columns, diag(1 / p) + 1 / p_0."""
    hessian = np.zeros((layout.n_columns, layout.n_columns))
    rest = np.maximum(1.0 - np.add.reduceat(means, layout.first[:-1]), LEAST)
    for i, (a, b) in enumerate(zip(layout.first[:-1].tolist(), layout.first[1:].tolist(), strict=True)):
        hessian[a:b, a:b] = factors[i] * (np.diag(1.0 / means[a:b]) + 1.0 / rest[i])
    return hessian


def _inverted(layout: Layout, hessian: Vector, means: Vector) -> Vector | None:
    """Return the probabilities that the inverse of the Hessian, scaled, gives as covariances."""
    try:
        # Fails unless the Hessian is positive definite.
        np.linalg.cholesky(hessian)
        covariance = np.linalg.inv(hessian)
    except np.linalg.LinAlgError:
        return None
    variances = np.diagonal(covariance)
    if not (np.isfinite(covariance).all() and (variances > 0.0).all()):
        return None
    scale = np.sqrt(np.maximum(means * (1.0 - means), 0.0) / variances)
    return np.asarray(np.outer(means, means) + covariance * np.outer(scale, scale))
