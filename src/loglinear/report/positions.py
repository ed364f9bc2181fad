"""Positions of the variables of a drawn graph: each connected part by itself, and parts side by side in rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.spatial import cKDTree

from ..networks.numbering import Numbers
from ..vectors import Vector

__all__ = ["positions"]

# Most variables of a part whose places follow from the distances of all pairs, which takes a second.
_ALL_PAIRS = 450
# A part whose length is at least this multiple of its width is turned to be wider than high.
_LONG = 1.5
# Least distance of two variables, where 1 is the typical distance to the nearest one.
_NEAREST = 0.75


def positions(n: int, edges: Numbers) -> Vector:
    """Return places of variables in the unit square, shape (n, 2); equal graphs give equal places.

    In a part of at most 450 variables, distances approximate the lengths of shortest paths (Kamada & Kawai 1989);
    larger parts are placed by forces of springs (Fruchterman & Reingold 1991). Without networkx, variables lie on a
    circle. A long part lies on its side. Neighbours are about equally far apart in all parts.

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
    angles = 2.0 * math.pi * np.arange(len(part)) / len(part)
    centres = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    try:
        import networkx
    except ImportError:
        pass
    else:
        graph = networkx.Graph()
        graph.add_nodes_from(range(len(part)))
        inside = edges[np.isin(edges[:, 0], part)]
        graph.add_edges_from((number[i], number[j]) for i, j in inside.tolist())
        if len(part) <= _ALL_PAIRS:
            places = networkx.kamada_kawai_layout(graph)
        else:
            places = networkx.spring_layout(graph, seed=0, iterations=100)
        centres = np.array([places[k] for k in range(len(part))])
    return _apart(_on_its_side(centres) / max(_typical_gap(centres), 1e-9))


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
