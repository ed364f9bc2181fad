"""Log Z of a network: exactly, or where it is too wide for that bounds on both sides and an estimate between them.

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
        value: exact, or an estimate.
        lower: a bound from below.
        upper: a bound from above.
        exact: whether the value is exact; both bounds are it then.
        method: "exact", or "bethe": what belief propagation found.
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

    Otherwise the lower bound is that of the mean field. The upper one is by convexity: the network is the mean of
    spanning forests that cover its edges, each with the scores of its edges scaled up, and log Z of the mean is at most
    the mean of theirs. Belief propagation's messages are first moved from edges to nodes, which leaves the network the
    same but the forests nearer to it. Both bounds hold whether or not belief propagation has settled.
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
    """The largest value of the mean-field bound that coordinate ascent reaches from the given marginals."""
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
            # Each edge counts once: half of it at either end.
            value += float(mu[i] @ (own[i] + field(i) / 2.0) - positive @ np.log(positive))
        if value - bound <= 1e-9 * abs(value):
            return max(value, bound)
        bound = value
    return bound


def _moved(graph: Graph, scores: Scores, nodes: Vector, edges: Vector) -> Scores:
    """The same network with what belief propagation's messages say moved from edges to nodes.

    At its fixed point scores + log beliefs of both ends - log belief of an edge are the two messages' logs, a function
    of either end plus a constant; whatever is moved, the sum of all scores stays what it was.
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
    """The mean of log Z over spanning forests, drawn until they cover all edges, edges not yet covered first."""
    random = np.random.default_rng(seed)
    covered = np.zeros(len(graph.edges), dtype=np.int64)
    chosen: list[Numbers] = []
    while not chosen or (covered == 0).any():
        order = np.lexsort([random.random(covered.size), covered])
        chosen.append(np.array(_forest(graph, order), dtype=np.int64))
        covered[chosen[-1]] += 1
    scale = len(chosen) / np.maximum(covered, 1)
    total = 0.0
    for forest in chosen:
        part = Graph(graph.layout, graph.edges[forest], graph.network.n_threads)
        tables = [scores[1][graph.edge_at[e] : graph.edge_at[e + 1]] * scale[e] for e in forest]
        total += part.network.exact(scores[0], np.concatenate([*tables, np.zeros(0)]), limit=2**40)[0]
    return total / len(chosen)


def _forest(graph: Graph, order: Numbers) -> list[int]:
    """Edges of a spanning forest (Kruskal): in this order, those that close no cycle."""
    root = list(range(graph.layout.n_variables))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    kept = []
    ends = graph.edges.tolist()
    for e in order.tolist():
        i, j = (find(v) for v in ends[e])
        if i != j:
            root[i] = j
            kept.append(e)
    return kept
