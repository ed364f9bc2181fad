"""Centralities of the variables of a network, as psychologists measure them.

Source: Opsahl, Agneessens & Skvoretz, Node centrality in weighted networks (2010), with the length of an edge 1/|w|;
Epskamp et al., qgraph (2012), which fixes the units; Robinaugh, Millner & McNally (2016) for the expected influence;
Brandes (2001) for the betweenness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path

from ..vectors import Vector
from .numbering import Numbers

__all__ = ["MEASURES", "Centralities", "centralities"]

MEASURES = ("strength", "expected influence", "closeness", "betweenness")
"""Names of the measures, in the order of `Centralities.table`."""
# Paths whose lengths differ by less than this share are equally long: their edges are added in different orders.
_TIE = 1e-10


@dataclass(frozen=True)
class Centralities:
    """Centralities of each variable, shape (n_variables,) each.

    Attributes:
        strength: sum of |w| over the edges of the variable.
        expected_influence: sum of w over its edges; edges without a sign do not count.
        closeness: 1 / sum of the distances to all others of the largest component; NaN for variables outside of it.
        betweenness: number of pairs of other variables whose shortest path runs through the variable; if several paths
            are equally short, the share that does.
    """

    strength: Vector
    expected_influence: Vector
    closeness: Vector
    betweenness: Vector

    def table(self) -> Vector:
        """Return the measures as rows, shape (4, n_variables), in the order of `MEASURES`."""
        return np.stack([self.strength, self.expected_influence, self.closeness, self.betweenness])


def centralities(n: int, edges: Numbers, strengths: Vector, signs: Numbers) -> Centralities:
    """Return the centralities of n variables.

    The cost is of the order of n^3, with arrays of n^2 numbers.

    Args:
        n: number of variables.
        edges: pairs of variables, each once, shape (n_edges, 2).
        strengths: |w| of each edge, above 0, shape (n_edges,).
        signs: 1 or -1, or 0 for an edge without a sign, shape (n_edges,).
    """
    first, second = edges.T
    weights = np.zeros((n, n))
    weights[first, second] = weights[second, first] = strengths
    signed = np.zeros((n, n))
    signed[first, second] = signed[second, first] = signs * strengths
    lengths = np.divide(1.0, weights, out=np.full((n, n), np.inf), where=weights > 0.0)
    ends = (np.concatenate([first, second]), np.concatenate([second, first]))
    graph = csr_array((lengths[ends], ends), shape=(n, n))
    distances = np.asarray(shortest_path(graph, method="D", directed=True))
    _, component = connected_components(graph, directed=False)
    inside = component == np.bincount(component).argmax()
    closeness = np.full(n, np.nan)
    if inside.sum() > 1:
        closeness[inside] = 1.0 / distances[np.ix_(inside, inside)].sum(axis=1)
    return Centralities(weights.sum(axis=1), signed.sum(axis=1), closeness, _betweenness(lengths, distances))


def _betweenness(lengths: Vector, distances: Vector) -> Vector:
    """Return the betweenness by Brandes' accumulation, for all sources at a time.

    Args:
        lengths: of the edges, infinite where there is none, shape (n, n).
        distances: between all variables, shape (n, n).
    """
    n = len(lengths)
    sources = np.arange(n)
    order = np.argsort(distances, axis=1, kind="stable")

    def before(k: int) -> npt.NDArray[np.bool_]:
        """Return whether each variable is the last but one on a shortest path from a source to its k-th nearest."""
        at = order[:, k]
        there = distances[sources, at]
        through, reached = np.zeros((n, n), np.bool_), np.isfinite(there)
        arrival = distances[reached] + lengths[at[reached]]
        through[reached] = arrival <= there[reached, None] * (1.0 + _TIE)
        return through

    sigma = np.eye(n)  # number of shortest paths from each source
    for k in range(1, n):
        sigma[sources, order[:, k]] += (before(k) * sigma).sum(axis=1)
    delta = np.zeros((n, n))
    for k in range(n - 1, 0, -1):
        n_paths = sigma[sources, order[:, k]]
        share = np.divide(1.0 + delta[sources, order[:, k]], n_paths, out=np.zeros(n), where=n_paths > 0.0)
        delta += before(k) * sigma * share[:, None]
    np.fill_diagonal(delta, 0.0)
    return np.asarray(delta.sum(axis=0) / 2.0)
