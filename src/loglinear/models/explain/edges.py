"""The edges of a network by the names of its variables: ranked by strength, or ready to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ...vectors import Vector

__all__ = ["Drawing", "Edge", "Network", "drawing", "ranked_edges"]


class Network(Protocol):
    """A trained network; see `loglinear.PairwiseMRF`."""

    categories_: list[npt.NDArray[Any]]
    edges_: npt.NDArray[Any]
    weights_: list[Vector]
    strengths_: Vector


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
    """Return the edges of a network, the strongest first.

    Args:
        network: the network.
        names: names of all its variables, those without edges too.
    """
    states = [values.tolist() for values in network.categories_]
    edges = []
    for at in (-network.strengths_).argsort(kind="stable").tolist():
        i, j = network.edges_[at].tolist()
        table = network.weights_[at]
        weights = [(states[i][a], states[j][b], float(table[a, b])) for a, b in np.argwhere(table).tolist()]
        edges.append(Edge((names[i], names[j]), float(network.strengths_[at]), weights))
    return edges


class Drawing(NamedTuple):
    """What `loglinear.report.graph` draws.

    Attributes:
        names: names of the nodes, the variables that the network has not left out.
        edges: pairs of nodes.
        strengths: strengths of the edges.
        signs: sign of each edge between two variables of two states; 0 for other edges.
    """

    names: list[str]
    edges: list[list[int]]
    strengths: Vector
    signs: list[int]


def drawing(network: Network, names: Sequence[str]) -> Drawing:
    """Return the graph of a network, whose variables have these names."""
    varying = [i for i, states in enumerate(network.categories_) if states.size > 1]
    place = {variable: at for at, variable in enumerate(varying)}
    signs = [int(np.sign(table[1, 1])) if table.shape == (2, 2) else 0 for table in network.weights_]
    edges = [[place[i], place[j]] for i, j in network.edges_.tolist()]
    return Drawing([names[i] for i in varying], edges, network.strengths_, signs)
