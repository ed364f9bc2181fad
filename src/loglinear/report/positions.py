"""Positions of the variables of a drawn graph: each connected part by itself, and parts side by side in rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ..networks.numbering import Numbers
from ..vectors import Vector

__all__ = ["positions"]

# Most variables of a part whose places follow from the distances of all pairs, which takes a second.
_ALL_PAIRS = 450


def positions(n: int, edges: Numbers) -> Vector:
    """Return places of variables in the unit square, shape (n, 2); equal graphs give equal places.

    In a part of at most 450 variables, distances approximate the lengths of shortest paths (Kamada & Kawai 1989);
    larger parts are placed by forces of springs (Fruchterman & Reingold 1991). Without networkx, variables lie on a
    circle. The area of a part is proportional to its number of variables.

    Args:
        n: number of variables.
        edges: pairs of variables, shape (n_edges, 2).
    """
    parts = sorted(_parts(n, edges), key=lambda part: (-len(part), part[0]))
    # A variable takes one unit of area; a margin of half a unit on every side separates the parts.
    sides = [math.sqrt(len(part)) if len(part) > 1 else 0.0 for part in parts]
    at = np.zeros((n, 2))
    for part, side, corner in zip(parts, sides, _corners([side + 1.0 for side in sides]), strict=True):
        at[part] = np.array(corner) + 0.5 + side * _part(part, edges)
    return _centred(at, 1.0) if n else at


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


def _corners(sides: Sequence[float]) -> Iterator[tuple[float, float]]:
    """Lower left corners of squares, the largest first, in rows from top to bottom that form about a square."""
    width = max([math.sqrt(1.15 * sum(side * side for side in sides)), *sides[:1]])
    x = y = 0.0
    for k, side in enumerate(sides):
        if k == 0 or x + side > width * (1.0 + 1e-9):
            x, y = 0.0, y - side
            top = y + side
        yield x, top - side
        x += side


def _part(part: list[int], edges: Numbers) -> Vector:
    """Places of the variables of a connected part in the unit square."""
    if len(part) == 1:
        return np.zeros((1, 2))
    number = {variable: k for k, variable in enumerate(part)}
    angles = 2.0 * math.pi * np.arange(len(part)) / len(part)
    found = np.stack([np.cos(angles), np.sin(angles)], axis=1)
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
        found = np.array([places[k] for k in range(len(part))])
    return _centred(found, 1e-9)


def _centred(at: Vector, least: float) -> Vector:
    """Places scaled and moved to fill the unit square; places spread over less than ``least`` stay in its middle."""
    low, high = at.min(axis=0), at.max(axis=0)
    return np.asarray((at - (low + high) / 2.0) / max(*(high - low), least) + 0.5)
