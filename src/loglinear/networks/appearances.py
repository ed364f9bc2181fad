"""Edge appearances: the share of the spanning forests of a distribution that have each edge.

They are the weights rho of tree-reweighted belief propagation. Any distribution gives a valid upper bound of log Z.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from ..vectors import Vector
from .numbering import Numbers

__all__ = ["DENSE", "appearances", "forests", "shares"]

# Maximum number of variables of a component with exact appearances; a matrix of this size is inverted.
DENSE = 3000
# Minimum number of forests drawn for a larger component.
FORESTS = 50


def appearances(n_variables: int, edges: Numbers, weights: Vector | None = None, *, seed: int = 0) -> Vector:
    """Return the appearances of the edges in spanning forests, shape (n_edges,), above 0 and at most 1.

    A forest's probability is proportional to the product of its edges' weights. In components of up to 3,000 variables
    the appearance of an edge is its weight times its effective resistance (Kirchhoff 1847), exactly; larger ones draw
    forests, each of which prefers edges that none has had yet, until all edges have appeared. The edges of trees appear
    in all forests.

    Cost: O(V^3) for each component with cycles, of V variables.

    Args:
        n_variables: number of variables.
        edges: shape (n_edges, 2).
        weights: > 0, shape (n_edges,); None for 1.
        seed: of the forests that are drawn.
    """
    probabilities = np.ones(len(edges))
    weights = np.ones(len(edges)) if weights is None else weights
    for variables, chosen in _components_with_cycles(n_variables, edges):
        ends = np.searchsorted(variables, edges[chosen])
        share = _resistances if variables.size <= DENSE else _drawn
        probabilities[chosen] = share(variables.size, ends, weights[chosen], seed)
    return np.asarray(np.clip(probabilities, np.finfo(np.float64).tiny, 1.0))


def _components_with_cycles(n_variables: int, edges: Numbers) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield the variables, ascending, and the numbers of the edges of each component that is not a tree."""
    graph = coo_array((np.ones(len(edges)), edges.T.astype(np.int32)), shape=(n_variables, n_variables))
    n, component = connected_components(graph, directed=False)
    of_edge = component[edges[:, 0]]
    n_edges = np.bincount(of_edge, minlength=n)
    cyclic = np.flatnonzero(n_edges >= np.bincount(component, minlength=n))
    by_edge, by_variable = np.argsort(of_edge, kind="stable"), np.argsort(component, kind="stable")
    for number in cyclic.tolist():
        bounds = [
            np.searchsorted(sorted_, [number, number + 1]) for sorted_ in (component[by_variable], of_edge[by_edge])
        ]
        yield by_variable[slice(*bounds[0])], by_edge[slice(*bounds[1])]


def _resistances(n: int, ends: Numbers, weights: Vector, _seed: int) -> Vector:
    """Weight times effective resistance, from the inverse of the Laplacian without its last variable."""
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (ends, ends), weights[:, None])
    np.subtract.at(laplacian, (ends, ends[:, ::-1]), weights[:, None])
    inverse = np.zeros((n, n))
    inverse[:-1, :-1] = np.linalg.inv(laplacian[:-1, :-1])
    i, j = ends.T
    return np.asarray(weights * (inverse[i, i] + inverse[j, j] - 2.0 * inverse[i, j]))


def _drawn(n: int, ends: Numbers, weights: Vector, seed: int) -> Vector:
    return shares(len(ends), forests(n, ends, weights, least=FORESTS, seed=seed))


def shares(n_edges: int, trees: list[Numbers]) -> Vector:
    """Return the share of the forests that have each edge, shape (n_edges,)."""
    return np.bincount(np.concatenate([*trees, np.zeros(0, np.int64)]), minlength=n_edges) / max(len(trees), 1)


def forests(
    n_variables: int, edges: Numbers, weights: Vector | None = None, *, least: int = 1, seed: int = 0
) -> list[Numbers]:
    """Draw spanning forests until every edge has been in one, and at least this number; return the edges of each.

    A forest is the least by random clocks, which ring sooner for edges of larger weights; edges that have not been in
    any forest yet come first.
    """
    random, (i, j) = np.random.default_rng(seed), edges.T.astype(np.int32)
    missing = np.ones(i.size, dtype=bool)
    chosen_forests: list[Numbers] = []
    while len(chosen_forests) < least or missing.any():
        clocks = random.exponential(size=i.size) / (1.0 if weights is None else weights)
        order = np.lexsort([clocks, ~missing])
        ranks = csr_array((np.arange(1.0, i.size + 1.0), (i[order], j[order])), shape=(n_variables, n_variables))
        chosen_forests.append(order[minimum_spanning_tree(ranks).data.astype(np.int64) - 1])
        missing[chosen_forests[-1]] = False
    return chosen_forests
