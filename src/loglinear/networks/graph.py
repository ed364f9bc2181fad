"""What a pairwise Markov random field says of its variables: exactly, by belief propagation, or by samples.

Each method has options, and a function ``moments(graph, ...)`` that training calls again and again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .. import _core
from ..vectors import Vector
from .numbering import Codes, Layout, Numbers

__all__ = ["Graph", "Inference", "Moments", "Report"]

# Edges whose scores are looked up at a time.
_EDGES = 1024


class Graph:
    """Some edges of a network, and where weights stand among their scores.

    Args:
        layout: of the weights.
        edges: pairs of variables i < j, each once, shape (n_edges, 2).
        threads: 0 for all cores.

    Attributes:
        network: the native network.
        interactions: numbers of all interactions of the edges, edge by edge, shape (k,).
        places: where they stand in ``edge_scores``, shape (k,).
        columns: where the columns stand in ``node_scores``, shape (D,).
        node_at: where each variable's states begin in ``node_scores``, and where they end, shape (n_variables + 1,).
        edge_at: where each edge's table begins in ``edge_scores``, and where they end, shape (n_edges + 1,).
    """

    def __init__(self, layout: Layout, edges: Numbers, threads: int = 0) -> None:
        self.layout, self.edges = layout, np.ascontiguousarray(edges, dtype=np.int64).reshape(-1, 2)
        self.network = _core.Network(layout.states, self.edges, threads=threads)
        self.columns = np.arange(layout.n_columns) + layout.variable + 1
        rows, across = (layout.states[self.edges[:, side]] for side in (0, 1))
        sizes = (rows - 1) * (across - 1)
        self.node_at = np.concatenate([[0], np.cumsum(layout.states)])
        self.edge_at = np.concatenate([[0], np.cumsum(rows * across)])
        edge = np.repeat(np.arange(sizes.size), sizes)
        within = np.arange(edge.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        s, t = within // (across[edge] - 1), within % (across[edge] - 1)
        first = layout.first[self.edges]
        self.interactions = layout.interactions_of(first[edge, 0] + s, first[edge, 1] + t)
        self.places = self.edge_at[edge] + (s + 1) * across[edge] + t + 1
        self._sorter = np.argsort(self.interactions)

    def places_of(self, interactions: Numbers) -> Numbers:
        """Return where some of the interactions stand in ``edge_scores``."""
        at = np.searchsorted(self.interactions, interactions, sorter=self._sorter)
        return np.asarray(self.places[self._sorter[at]])

    def score(self, scores: tuple[Vector, Vector], codes: Codes) -> Vector:
        """Return log p~ of samples without missing values, shape (n_samples,)."""
        node_scores, edge_scores = scores
        total = node_scores[codes + self.node_at[:-1]].sum(axis=1)
        first, second = self.edges.T
        across, tables = self.layout.states[second], self.edge_at[:-1]
        for start in range(0, len(self.edges), _EDGES):
            at = slice(start, start + _EDGES)
            places = codes[:, first[at]] * across[at] + codes[:, second[at]] + tables[at]
            total += edge_scores[places].sum(axis=1)
        return np.asarray(total)

    def scores(self, interactions: Vector, columns: Vector) -> tuple[Vector, Vector]:
        """Return node and edge scores for weights of the interactions, shape (k,), and of the columns, shape (D,)."""
        node_scores = np.zeros(self.node_at[-1])
        node_scores[self.columns] = columns
        edge_scores = np.zeros(self.edge_at[-1])
        edge_scores[self.places] = interactions
        return node_scores, edge_scores


@dataclass
class Moments:
    """Expectations under a network.

    Attributes:
        log_z: log of the partition function, nats.
        nodes: probability of each state of each variable.
        edges: joint probabilities of the states of each edge of the graph.
        products: probability that two columns are on, shape (D, D), for all pairs; None where that of pairs outside
            the graph is the product of both.
    """

    log_z: float
    nodes: Vector
    edges: Vector
    products: Vector | None = None


@dataclass
class Report:
    """How inference went during training.

    Attributes:
        method: its name.
        runs: how often it was called for.
        iterations: of all runs.
        unconverged: runs that ended before their messages had settled.
        residual: largest change of a log message in the last iteration of the last run.
        worst: the largest such residual of any run.
    """

    method: str
    runs: int = 0
    iterations: int = 0
    unconverged: int = 0
    residual: float = 0.0
    worst: float = 0.0

    def add(self, iterations: int, residual: float, tolerance: float) -> None:
        """Count a run."""
        self.runs += 1
        self.iterations += iterations
        self.unconverged += residual > tolerance
        self.residual, self.worst = residual, max(self.worst, residual)


class Inference(Protocol):
    """A method of inference."""

    name: str

    def moments(self, graph: Graph, scores: tuple[Vector, Vector], report: Report, *, whole: bool) -> Moments:
        """Return expectations; those of pairs outside the graph are wanted if ``whole``."""

    def completion(self) -> dict[str, Any]:
        """Options for `_core.Network.completed`."""
