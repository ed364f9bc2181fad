"""The edges of a network by the names of its variables: ranked by strength, or ready to be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...networks.signs import sign_of, state_orders
from ...vectors import Vector

__all__ = ["Edge", "Network", "drawing", "ranked_edges"]


class Network(Protocol):
    """A trained network; see `loglinear.PairwiseMRF`."""

    categories_: list[npt.NDArray[Any]]
    bin_edges_: list[Vector | None]

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

    Variables that the network has left out are not in the graph. An edge has a sign if both variables are binary or
    have states that are numbers or bins, and if its table has a direction: the sign of the linear-by-linear association
    (Agresti 2013, section 10.4.1), which the weights have given all other variables. Other edges have the sign 0.
    """
    varying = [i for i, states in enumerate(network.categories_) if states.size > 1]
    place = {variable: at for at, variable in enumerate(varying)}
    orders = state_orders(network.categories_, network.bin_edges_)
    pairs = network.edges_.tolist()
    signs = [sign_of(table, orders[i], orders[j]) for (i, j), table in zip(pairs, network.weights_, strict=True)]
    return [names[i] for i in varying], [[place[i], place[j]] for i, j in pairs], network.strengths_, signs
