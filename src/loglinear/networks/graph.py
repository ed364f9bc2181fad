"""The graph of a pairwise Markov random field, and the interface of methods of inference.

A method has options, and a function ``moments(graph, ...)`` that training calls at each step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import log_softmax

from .._core import CompletedRows, Network
from ..options import thread_limit
from ..vectors import Vector
from .numbering import Codes, Numbering, Numbers

__all__ = ["Graph", "Inference", "Moments", "Report", "Scores"]

# Scores of the states of all variables, and the tables of all edges, one after the other.
Scores = tuple[Vector, Vector]

# Number of edges whose scores are looked up at a time.
_EDGES = 1024


class Graph:
    """Some edges of a network, and the places of weights among the scores.

    ``node_scores`` holds the scores of all states of all variables, ``edge_scores`` the tables of all edges.

    Args:
        numbering: numbering of the weights.
        edges: pairs of variables, each once, shape (n_edges, 2); i < j where weights are numbered.
        threads: number of threads; 0 for all cores.

    Attributes:
        interactions: numbers of all interactions of the edges, edge by edge, shape (k,).
        places: index in ``edge_scores`` of each of these interactions, shape (k,).
        columns: index in ``node_scores`` of each column, shape (D,).
        node_at: beginning of each variable's states in ``node_scores``, then their number, shape (n_variables + 1,).
        edge_at: beginning of each edge's table in ``edge_scores``, then their length, shape (n_edges + 1,).
    """

    def __init__(self, numbering: Numbering, edges: Numbers, threads: int = 0) -> None:
        self.numbering, self.edges = numbering, np.ascontiguousarray(edges, dtype=np.int64).reshape(-1, 2)
        self._threads = thread_limit(threads)
        self.columns = np.arange(numbering.n_columns) + numbering.variable + 1
        rows, across = (numbering.states[self.edges[:, side]] for side in (0, 1))
        sizes = (rows - 1) * (across - 1)
        self.node_at = np.concatenate([[0], np.cumsum(numbering.states)])
        self.edge_at = np.concatenate([[0], np.cumsum(rows * across)])
        edge = np.repeat(np.arange(sizes.size), sizes)
        within = np.arange(edge.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        s, t = within // (across[edge] - 1), within % (across[edge] - 1)
        first = numbering.first[self.edges]
        self.interactions = numbering.interactions_of(first[edge, 0] + s, first[edge, 1] + t)
        self.places = self.edge_at[edge] + (s + 1) * across[edge] + t + 1
        self._sorter = np.argsort(self.interactions)

    @cached_property
    def network(self) -> Network:
        """The native network; copies of the graph, pickled ones too, make their own."""
        return Network(self.numbering.states, self.edges, threads=self._threads)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "network"}

    def places_of(self, interactions: Numbers) -> Numbers:
        """Return the index in ``edge_scores`` of some of the graph's interactions."""
        at = np.searchsorted(self.interactions, interactions, sorter=self._sorter)
        return np.asarray(self.places[self._sorter[at]])

    def tables(self, edge_scores: Vector) -> Iterator[tuple[int, int, Vector]]:
        """Yield both ends of each edge and its table, shape (states of the first, states of the second)."""
        shapes = self.numbering.states[self.edges].tolist()
        for (i, j), shape, start in zip(self.edges.tolist(), shapes, self.edge_at[:-1].tolist(), strict=True):
            yield i, j, edge_scores[start : start + shape[0] * shape[1]].reshape(shape)

    def conditionals(self, scores: Scores, codes: Codes) -> list[Vector]:
        """Return log p of each variable's states given all other variables, in samples without missing values.

        Returns:
            For each variable an array of shape (n_samples, states).
        """
        node_scores, edge_scores = scores
        totals = [np.tile(node_scores[start:end], (len(codes), 1)) for start, end in pairwise(self.node_at.tolist())]
        for i, j, table in self.tables(edge_scores):
            totals[i] += table.T[codes[:, j]]
            totals[j] += table[codes[:, i]]
        return [np.asarray(log_softmax(variable_scores, axis=1)) for variable_scores in totals]

    def score(self, scores: Scores, codes: Codes) -> Vector:
        """Return log p~ of samples without missing values, shape (n_samples,)."""
        node_scores, edge_scores = scores
        total = node_scores[codes + self.node_at[:-1]].sum(axis=1)
        for places in self._pairs(codes):
            total += edge_scores[places].sum(axis=1)
        return np.asarray(total)

    def shares(self, codes: Codes, weights: Vector) -> tuple[Vector, Vector]:
        """Return the weight of each state, and of each pair of states of each edge, in samples without missing values.

        They are laid out as the scores.
        """
        nodes, edges = np.zeros(self.node_at[-1]), np.zeros(self.edge_at[-1])
        for counts, places in [(nodes, codes + self.node_at[:-1]), *((edges, places) for places in self._pairs(codes))]:
            least = int(places.min(initial=0))
            counted = np.bincount((places - least).ravel(), np.repeat(weights, places.shape[1]))
            counts[least : least + counted.size] += counted
        return nodes, edges

    def _pairs(self, codes: Codes) -> Iterator[Numbers]:
        """Yield the places of the samples' pairs of states, of some edges at a time, shape (n_samples, edges)."""
        first, second = self.edges.T
        across, tables = self.numbering.states[second], self.edge_at[:-1]
        for start in range(0, len(self.edges), _EDGES):
            at = slice(start, start + _EDGES)
            yield codes[:, first[at]] * across[at] + codes[:, second[at]] + tables[at]

    def scores(self, interactions: Vector, columns: Vector) -> Scores:
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
        edges: joint probability of each pair of states of each edge of the graph.
        products: probability that both columns of an interaction are on, shape (n_interactions,); None if it is the
            product of the columns' probabilities for all pairs outside the graph.
    """

    log_z: float
    nodes: Vector
    edges: Vector
    products: Vector | None = None


@dataclass
class Report:
    """How inference went during training.

    Attributes:
        method: name of the method.
        runs: number of runs of inference.
        iterations: iterations of all runs together.
        unconverged: number of runs that ended before their messages had settled.
        residual: largest change of a log message in the last iteration of the last run.
        worst: largest residual of any run.
        settled: whether the messages of the last evaluation have settled.
        lower: log Z at the end, bounded from below by mean field, nats; None unless inference is "trw".
        upper: log Z at the end as training had it, a bound from above; None unless inference is "trw".

    Example:
        >>> from loglinear import PairwiseMRF
        >>> from loglinear.datasets import make_network
        >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
        >>> report = PairwiseMRF(l1=60.0, objective="likelihood").fit(X).inference_report_
        >>> report.unconverged, report.runs > 0
        (0, True)
    """

    method: str
    runs: int = 0
    iterations: int = 0
    unconverged: int = 0
    residual: float = 0.0
    worst: float = 0.0
    settled: bool = True
    lower: float | None = None
    upper: float | None = None

    def add(self, iterations: int, residual: float, tolerance: float) -> None:
        """Add a run to the report."""
        self.runs += 1
        self.iterations += iterations
        self.unconverged += residual > tolerance
        self.residual, self.worst = residual, max(self.worst, residual)
        self.settled = residual <= tolerance


class Inference(Protocol):
    """A method of inference.

    Attributes:
        name: its name among the options of estimators.
        is_convex: whether its log Z is a convex function of the scores.
    """

    name: str
    is_convex: bool
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def moments(self, graph: Graph, scores: Scores, report: Report, *, whole: bool) -> Moments:
        """Return expectations, with ``products`` if ``whole`` and the method can do better than products."""

    def completed(self, graph: Graph, scores: Scores, codes: Codes, weights: Vector | None = None) -> CompletedRows:
        """Infer the missing values, -1, of samples."""
