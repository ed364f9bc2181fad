"""Log Z of a network: exact, or if the tree-width is too large, an estimate between a lower and an upper bound.

Source: Wainwright & Jordan (2008), sections 5 (mean field) and 7.2 (convex combinations of trees).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import OptionError
from ..vectors import Vector
from .exact import Exact
from .graph import Graph, Report
from .loopy_bp import LoopyBP
from .numbering import Numbers

__all__ = ["LogPartition", "log_partition"]

Scores = tuple[Vector, Vector]


@dataclass(frozen=True)
class LogPartition:
    """Log Z in nats.

    Attributes:
        value: log Z, or an estimate.
        lower: lower bound.
        upper: upper bound.
        exact: whether the value is exact; then both bounds equal it.
        method: "exact", or "bethe" for the estimate of belief propagation.
        converged: whether belief propagation settled.
    """

    value: float
    lower: float
    upper: float
    exact: bool
    method: str
    converged: bool = True


def log_partition(graph: Graph, scores: Scores, *, limit: int = 2**22, seed: int = 0) -> LogPartition:
    """Return log Z, exactly if no table of the junction tree has more than ``limit`` entries.

    Otherwise the lower bound is the mean-field bound. The upper bound is by convexity: the scores of the network are
    the mean of the scores of spanning forests that cover all edges (with the edges' scores scaled up), and log Z is at
    most the mean of the forests' log Z. The messages of belief propagation are first moved from edges to nodes, which
    does not change the network but tightens the bound. Both bounds hold also if belief propagation has not settled.
    """
    try:
        value = Exact(limit).moments(graph, scores, Report("exact"), whole=False).log_z
        return LogPartition(value, value, value, True, "exact")
    except OptionError:
        pass
    report = Report("loopy_bp")
    bp = LoopyBP(max_iterations=2000)
    found = bp.moments(graph, scores, report, whole=False)
    lower = _mean_field(graph, scores, found.nodes)
    upper = _forests(graph, _moved(graph, scores, found.nodes, found.edges), seed)
    value = min(max(found.log_z, lower), upper)
    return LogPartition(value, lower, upper, False, "bethe", report.unconverged == 0)


def _mean_field(graph: Graph, scores: Scores, start: Vector, sweeps: int = 100) -> float:
    """The mean-field bound after coordinate ascent from the given marginals."""
    node_at, edge_at, states = graph.node_at, graph.edge_at, graph.layout.states
    tables: list[list[tuple[int, Vector]]] = [[] for _ in range(states.size)]
    for e, (i, j) in enumerate(graph.edges.tolist()):
        table = scores[1][edge_at[e] : edge_at[e + 1]].reshape(states[i], states[j])
        tables[i].append((j, table))
        tables[j].append((i, table.T))
    own = [scores[0][node_at[i] : node_at[i + 1]] for i in range(states.size)]
    mu = [start[node_at[i] : node_at[i + 1]].copy() for i in range(states.size)]

    def field(i: int) -> Vector:
        return sum((table @ mu[j] for j, table in tables[i]), np.zeros(own[i].size))

    bound = -np.inf
    for _ in range(sweeps):
        for i in range(states.size):
            log_mu = own[i] + field(i)
            weights = np.exp(log_mu - log_mu.max())
            mu[i] = weights / weights.sum()
        value = 0.0
        for i in range(states.size):
            positive = mu[i][mu[i] > 0.0]
            # Half of each edge's expected score is counted at either end.
            value += float(mu[i] @ (own[i] + field(i) / 2.0) - positive @ np.log(positive))
        if value - bound <= 1e-9 * abs(value):
            return max(value, bound)
        bound = value
    return bound


def _moved(graph: Graph, scores: Scores, nodes: Vector, edges: Vector) -> Scores:
    """Scores of the same network after the messages of belief propagation have been moved from edges to nodes.

    At a fixed point, scores + log beliefs of both ends - log belief of an edge are the logs of the edge's two messages:
    a function of one end, plus a function of the other, plus a constant. Moving any such functions changes no sum of
    scores.
    """
    node_at, edge_at, states = graph.node_at, graph.edge_at, graph.layout.states
    least = 1e-12
    log_nodes = np.log(np.maximum(nodes, least))
    moved_nodes, moved_edges = scores[0].copy(), scores[1].copy()
    for e, (i, j) in enumerate(graph.edges.tolist()):
        own = slice(edge_at[e], edge_at[e + 1])
        shape = states[i], states[j]
        first, second = (slice(node_at[v], node_at[v + 1]) for v in (i, j))
        belief = np.log(np.maximum(edges[own].reshape(shape), least))
        messages = scores[1][own].reshape(shape) + log_nodes[first, None] + log_nodes[second] - belief
        towards_first = messages.mean(axis=1) - messages.mean() / 2.0
        towards_second = messages.mean(axis=0) - messages.mean() / 2.0
        moved_nodes[first] += towards_first
        moved_nodes[second] += towards_second
        moved_edges[own] -= (towards_first[:, None] + towards_second).ravel()
    return moved_nodes, moved_edges


def _forests(graph: Graph, scores: Scores, seed: int) -> float:
    """The mean of log Z over spanning forests; forests prefer uncovered edges and are drawn until all are covered."""
    random = np.random.default_rng(seed)
    covered = np.zeros(len(graph.edges), dtype=np.int64)
    chosen: list[Numbers] = []
    while not chosen or (covered == 0).any():
        preference = np.lexsort([random.random(covered.size), covered])
        chosen.append(np.array(_forest(graph, preference), dtype=np.int64))
        covered[chosen[-1]] += 1
    scale = len(chosen) / np.maximum(covered, 1)
    total = 0.0
    for forest in chosen:
        part = Graph(graph.layout, graph.edges[forest], graph.network.n_threads)
        tables = [scores[1][graph.edge_at[e] : graph.edge_at[e + 1]] * scale[e] for e in forest]
        total += part.network.exact(scores[0], np.concatenate([*tables, np.zeros(0)]), limit=2**40)[0]
    return total / len(chosen)


def _forest(graph: Graph, preference: Numbers) -> list[int]:
    """Edges of a spanning forest (Kruskal): edges are tried by preference, and kept if they close no cycle."""
    root = list(range(graph.layout.n_variables))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    kept = []
    ends = graph.edges.tolist()
    for e in preference.tolist():
        i, j = (find(v) for v in ends[e])
        if i != j:
            root[i] = j
            kept.append(e)
    return kept
