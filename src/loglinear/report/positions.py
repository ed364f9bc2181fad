"""Positions of the variables of a drawn graph: each connected part by itself, and parts side by side in rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from ..networks.numbering import Numbers
from ..vectors import Vector

__all__ = ["positions"]

# Most variables of a part in which all pairs keep their distance, and number of pivots of a larger one.
_ALL_PAIRS, _PIVOTS = 250, 60
# Most steps towards the least stress, and the step that is small enough to stop, in lengths of an edge.
_STEPS, _SETTLED = 150, 0.01
# A part whose length is at least this multiple of its width is turned to be wider than high.
_LONG = 1.5
# Least distance of two variables, where 1 is the typical distance to the nearest one.
_NEAREST = 0.75


@dataclass(frozen=True)
class Terms:
    """The terms of a stress, sum of weights times (distance of both places - distance wanted)^2.

    Attributes:
        one: variables that the terms move.
        other: variables that they move them away from, or to.
        distance: wanted, in lengths of an edge.
        weight: of each term.
        n: number of variables.
    """

    one: Numbers
    other: Numbers
    distance: Vector
    weight: Vector
    n: int

    def wanted(self, at: Vector) -> Vector:
        """Return the mean of the places where the terms want each variable, shape (n, 2) (Gansner et al. 2005)."""
        apart = at[self.one] - at[self.other]
        stretch = self.distance / np.maximum(np.hypot(*apart.T), 1e-9)
        aims = at[self.other] + apart * stretch[:, None]
        total = np.bincount(self.one, self.weight, self.n)
        sums = [np.bincount(self.one, self.weight * aim, self.n) for aim in aims.T]
        return np.stack(sums, axis=1) / total[:, None]


def positions(n: int, edges: Numbers) -> Vector:
    """Return places of variables in the unit square, shape (n, 2); equal graphs give equal places.

    Distances approximate the lengths of shortest paths (Kamada & Kawai 1989), in a part of more than 250 variables
    those between neighbours and those to 60 pivots. A long part lies on its side. Neighbours are about equally far
    apart in all parts.

    Args:
        n: number of variables.
        edges: pairs of variables, shape (n_edges, 2).
    """
    placed = [(part, _part(part, edges)) for part in _parts(n, edges)]
    # Parts of one variable come last; the tallest of the others first.
    placed.sort(key=lambda placed_part: (len(placed_part[0]) == 1, -np.ptp(placed_part[1][:, 1]), placed_part[0][0]))
    # A margin of half a unit on every side separates the parts.
    sizes = [np.ptp(at, axis=0) + 1.0 for _, at in placed]
    at = np.zeros((n, 2))
    for (part, places), corner in zip(placed, _corners(sizes), strict=True):
        at[part] = corner + 0.5 + places - places.min(axis=0)
    return _centred(at) if n else at


def _parts(n: int, edges: Numbers) -> list[list[int]]:
    """The variables of each connected part, ascending."""
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for i, j in edges.tolist():
        neighbours[i].append(j)
        neighbours[j].append(i)
    seen = [False] * n
    parts = []
    for root in range(n):
        if seen[root]:
            continue
        seen[root], part = True, [root]
        for i in part:
            new = [j for j in neighbours[i] if not seen[j]]
            for j in new:
                seen[j] = True
            part += dict.fromkeys(new)
        parts.append(sorted(part))
    return parts


def _corners(sizes: Sequence[Vector]) -> Iterator[Vector]:
    """Lower left corners of boxes of these sizes, in rows from top to bottom that form about a square."""
    width = max([math.sqrt(1.15 * sum(size.prod() for size in sizes)), *(size[0] for size in sizes)])
    x = y = top = 0.0
    for k, size in enumerate(sizes):
        if k == 0 or x + size[0] > width * (1.0 + 1e-9):
            top = y
            x, y = 0.0, y - max(size[1] for size in sizes[k:])
        yield np.array([x, top - size[1]])
        x += size[0]


def _part(part: list[int], edges: Numbers) -> Vector:
    """Places of the variables of a connected part; the typical distance to the nearest variable is 1."""
    if len(part) == 1:
        return np.zeros((1, 2))
    number = {variable: k for k, variable in enumerate(part)}
    inside = edges[np.isin(edges[:, 0], part)]
    ends = np.array([(number[i], number[j]) for i, j in inside.tolist()])
    pivots, lengths = _lengths(len(part), ends)
    at = _settled(_scaled(lengths), _terms(len(part), ends, pivots, lengths))
    return _apart(_on_its_side(at) / max(_typical_gap(at), 1e-9))


def _lengths(n: int, ends: Numbers) -> tuple[Numbers, Vector]:
    """Pivots, each the variable that is farthest from the ones before, and the lengths of the paths from them to all.

    Returns:
        The pivots, shape (m,), and the number of edges of the shortest paths, shape (m, n).
    """
    graph = coo_array((np.ones(len(ends)), tuple(ends.T)), shape=(n, n)).tocsr()
    if n <= _ALL_PAIRS:
        return np.arange(n), np.asarray(dijkstra(graph, directed=False, unweighted=True))
    pivots, lengths = [0], np.empty((_PIVOTS, n))
    for k in range(_PIVOTS):
        lengths[k] = dijkstra(graph, directed=False, unweighted=True, indices=pivots[k])
        pivots.append(int(lengths[: k + 1].min(axis=0).argmax()))
    return np.array(pivots[:-1]), lengths


def _scaled(lengths: Vector) -> Vector:
    """Places by classical scaling of the lengths to the pivots (Brandes & Pich 2007), with ties broken."""
    squares = lengths**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()
    _, vectors = np.linalg.eigh(centred @ centred.T)
    at = centred.T @ vectors[:, :-3:-1]
    # The sign of an eigenvector is arbitrary, and a graph of one edge has one direction alone.
    at = at * np.sign(at[np.abs(at).argmax(axis=0), np.arange(at.shape[1])])
    at = at * (lengths.max() / max(float(np.ptp(at, axis=0).max()), 1e-9))
    return np.asarray(at + np.random.default_rng(0).normal(scale=0.05, size=at.shape))


def _terms(n: int, ends: Numbers, pivots: Numbers, lengths: Vector) -> Terms:
    """The terms of the stress: a variable, another one, their distance, and the weight of both.

    Those of the pivots stand for the variables around them (Ortmann, Klimenta & Brandes 2017): a weight is the number
    of variables nearest to the pivot and at most half as far from it as the other variable.
    """
    nearest = lengths.argmin(axis=0)
    weights = np.empty_like(lengths)
    for k, row in enumerate(lengths):
        around = np.sort(row[nearest == k])
        weights[k] = np.searchsorted(around, row / 2.0, side="right")
    other, one = np.nonzero(lengths > 1.0)
    far = lengths[other, one]
    return Terms(
        np.concatenate([one, ends[:, 0], ends[:, 1]]),
        np.concatenate([pivots[other], ends[:, 1], ends[:, 0]]),
        np.concatenate([far, np.ones(2 * len(ends))]),
        np.concatenate([weights[other, one] / far**2, np.ones(2 * len(ends))]),
        n,
    )


def _settled(at: Vector, terms: Terms) -> Vector:
    """Places of nearly least stress: each variable moves to where the others want it, all at once and half the way."""
    for _ in range(_STEPS):
        moved = (at + terms.wanted(at)) / 2.0
        small = np.abs(moved - at).max() < _SETTLED
        at = moved
        if small:
            break
    return at


def _apart(at: Vector) -> Vector:
    """Places of which any two are nearly `_NEAREST` apart: nearer ones push each other away."""
    at = at.copy()
    for _ in range(100):
        pairs = cKDTree(at).query_pairs(0.95 * _NEAREST, output_type="ndarray")
        if not len(pairs):
            break
        pairs = pairs[np.lexsort(pairs.T)]
        apart = at[pairs[:, 1]] - at[pairs[:, 0]]
        distance = np.maximum(np.hypot(*apart.T), 1e-9)[:, None]
        push = apart / distance * (_NEAREST - distance) / 2.0
        np.add.at(at, pairs[:, 1], push)
        np.add.at(at, pairs[:, 0], -push)
    return at


def _typical_gap(at: Vector) -> float:
    """The median distance from a variable to the nearest one."""
    nearest = cKDTree(at).query(at, k=2)[0][:, 1]
    return float(np.median(nearest))


def _on_its_side(at: Vector) -> Vector:
    """Places turned so that the longest direction lies level, where one direction is the longest by far."""
    _, spread, axes = np.linalg.svd(at - at.mean(axis=0), full_matrices=False)
    if spread[0] < _LONG * spread[1]:
        return at
    # The sign of a singular vector is arbitrary.
    level = axes[0] * (1.0 if axes[0][np.argmax(np.abs(axes[0]))] > 0.0 else -1.0)
    return np.asarray(at @ np.array([level, [-level[1], level[0]]]).T)


def _centred(at: Vector) -> Vector:
    """Places scaled and moved into the unit square, whose longer side they fill."""
    low, high = at.min(axis=0), at.max(axis=0)
    return np.asarray((at - (low + high) / 2.0) / max(*(high - low), 1.0) + 0.5)
