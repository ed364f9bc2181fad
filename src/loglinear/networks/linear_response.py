"""What belief propagation says of variables that no edge joins: linear response.

Source: Welling & Teh, Neural Computation 16 (2004); Ricci-Tersenghi (2012). The covariance of all columns is the
inverse of the Hessian of the Bethe free energy by their means,

    H = sum over edges of (covariance of both ends)^-1 + sum over variables of (1 - degree) (covariance)^-1,

which is exact on trees, where the product of beliefs, its approximation to order zero, knows of no correlation along
paths. Departure: the covariances are scaled so that each variable's own is that of its belief.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..vectors import Vector
from .numbering import Layout, Numbers

__all__ = ["pair_probabilities"]

LEAST = 1e-12


def pair_probabilities(layout: Layout, edges: Numbers, means: Vector, joint: Vector) -> Vector | None:
    """Return the probability that two columns are on, shape (D, D), for columns of different variables.

    Cost: O(D^3).

    Args:
        layout: of the columns.
        edges: of the graph, shape (n_edges, 2).
        means: probability of each column, shape (D,).
        joint: probability of both, of the edges' interactions edge by edge as in `Graph.interactions`.

    Returns:
        None if the Hessian is not positive definite: belief propagation is at no minimum of the free energy.
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
    """Sum of factor times the inverse covariance of each variable's columns, diag(1 / p) + 1 / p_0."""
    hessian = np.zeros((layout.n_columns, layout.n_columns))
    rest = np.maximum(1.0 - np.add.reduceat(means, layout.first[:-1]), LEAST)
    for i, (a, b) in enumerate(zip(layout.first[:-1].tolist(), layout.first[1:].tolist(), strict=True)):
        hessian[a:b, a:b] = factors[i] * (np.diag(1.0 / means[a:b]) + 1.0 / rest[i])
    return hessian


def _inverted(layout: Layout, hessian: Vector, means: Vector) -> Vector | None:
    try:
        # Fails unless positive definite.
        np.linalg.cholesky(hessian)
        covariance = np.linalg.inv(hessian)
    except np.linalg.LinAlgError:
        return None
    variances = np.diagonal(covariance)
    if not (np.isfinite(covariance).all() and (variances > 0.0).all()):
        return None
    scale = np.sqrt(np.maximum(means * (1.0 - means), 0.0) / variances)
    return np.asarray(np.outer(means, means) + covariance * np.outer(scale, scale))
