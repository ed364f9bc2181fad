"""The edges of a network by the names of its variables: ranked by strength, or ready to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...vectors import Vector

__all__ = ["Edge", "Network", "drawing", "ranked_edges"]


class Network(Protocol):
    """A trained network; see `loglinear.PairwiseMRF`."""

    categories_: list[npt.NDArray[Any]]

    @property
    def edges_(self) -> npt.NDArray[np.int64]:
        """Pairs of variables, shape (n_edges, 2)."""

    @property
    def weights_(self) -> tuple[Vector, ...]:
        """A table for each edge."""

    @property
    def strengths_(self) -> Vector:
        """Euclidean norm of each edge's weights, shape (n_edges,)."""


@dataclass(frozen=True)
class Edge:
    """An edge of a network by name.

    Attributes:
        variables: both ends.
        strength: Euclidean norm of its weights.
        weights: a state of each end, and the weight of both together, where it is not 0.
    """

    variables: tuple[str, str]
    strength: float
    weights: list[tuple[Any, Any, float]]

    def to_dict(self) -> dict[str, Any]:
        """Return the edge for JSON."""
        weights = [{"states": [a, b], "weight": weight} for a, b, weight in self.weights]
        return {"variables": self.variables, "strength": self.strength, "weights": weights}


def ranked_edges(network: Network, names: Sequence[str]) -> list[Edge]:
    """Return the edges of a network, whose variables have these names, the strongest first."""
    states = [values.tolist() for values in network.categories_]
    pairs, tables, strengths = network.edges_.tolist(), network.weights_, network.strengths_
    edges = []
    for at in (-strengths).argsort(kind="stable").tolist():
        (i, j), table = pairs[at], tables[at]
        weights = [(states[i][a], states[j][b], float(table[a, b])) for a, b in np.argwhere(table).tolist()]
        edges.append(Edge((names[i], names[j]), float(strengths[at]), weights))
    return edges


def drawing(network: Network, names: Sequence[str]) -> tuple[list[str], list[list[int]], Vector, list[int]]:
    """Return names of nodes, edges, strengths and signs of a network's graph, as `loglinear.report.graph` takes them.

    Variables that the network has left out are not in the graph; edges with several weights have the sign 0.
    """
    varying = [i for i, states in enumerate(network.categories_) if states.size > 1]
    place = {variable: at for at, variable in enumerate(varying)}
    signs = [int(np.sign(table[1, 1])) if table.shape == (2, 2) else 0 for table in network.weights_]
    edges = [[place[i], place[j]] for i, j in network.edges_.tolist()]
    return [names[i] for i in varying], edges, network.strengths_, signs
