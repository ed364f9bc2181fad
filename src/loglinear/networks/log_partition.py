"""Log Z of a network: exact, or if the tree-width is too large, an estimate between a lower and an upper bound.

Source: Wainwright & Jordan (2008), sections 5 (mean field) and 7.2 (convex combinations of trees); Wainwright, Jaakkola
& Willsky (2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import OptionError
from ..vectors import Vector
from .appearances import forests, shares
from .exact import ANSWER, Exact
from .graph import Graph, Report, Scores
from .loopy_bp import LoopyBP
from .numbering import Numbers
from .tree_reweighted import TreeReweighted

__all__ = ["LogPartition", "log_partition"]

# Minimum number of forests of the upper bound.
FORESTS = 10
# Maximum number of iterations of belief propagation.
MOST = 2000


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


def log_partition(graph: Graph, scores: Scores, *, limit: int = ANSWER, seed: int = 0) -> LogPartition:
    """Return log Z, exactly if no table of the junction tree has more than ``limit`` entries.

    Otherwise the lower bound is the mean-field bound. The upper bound is by convexity: the scores of the network are
    the mean of the scores of spanning forests that cover all edges (with the edges' scores scaled up), and log Z is at
    most the mean of the forests' log Z. The messages of tree-reweighted belief propagation are first moved from edges
    to nodes, which does not change the network but makes the bound the least for these forests. Both bounds hold also
    if belief propagation has not settled.
    """
    try:
        value = Exact(limit).moments(graph, scores, Report("exact"), whole=False).log_z
        return LogPartition(value, value, value, True, "exact")
    except OptionError:
        pass
    report = Report("loopy_bp")
    moments = LoopyBP(max_iterations=MOST).moments(graph, scores, report, whole=False)
    lower = graph.network.mean_field(*scores, moments.nodes)[0]
    trees = forests(graph.numbering.n_variables, graph.edges, least=FORESTS, seed=seed)
    share = shares(len(graph.edges), trees)
    spread = TreeReweighted(max_iterations=MOST).run(graph, scores, None, appearances=share)
    upper = _mean(graph, _moved(graph, scores, spread.nodes, spread.edges, share), trees, share)
    value = min(max(moments.log_z, lower), upper)
    return LogPartition(value, lower, upper, False, "bethe", report.unconverged == 0)


def _moved(graph: Graph, scores: Scores, nodes: Vector, edges: Vector, share: Vector) -> Scores:
    """Scores of the same network after the messages of belief propagation have been moved from edges to nodes.

    At a fixed point, scores + share (log beliefs of both ends - log belief of an edge) are the logs of the edge's two
    messages: a function of one end, plus a function of the other, plus a constant. Moving any such functions changes no
    sum of scores.
    """
    node_at, edge_at, states = graph.node_at, graph.edge_at, graph.numbering.states
    least = 1e-12
    log_nodes = np.log(np.maximum(nodes, least))
    moved_nodes, moved_edges = scores[0].copy(), scores[1].copy()
    for e, (i, j) in enumerate(graph.edges.tolist()):
        place = slice(edge_at[e], edge_at[e + 1])
        shape = states[i], states[j]
        first, second = (slice(node_at[v], node_at[v + 1]) for v in (i, j))
        belief = np.log(np.maximum(edges[place].reshape(shape), least))
        messages = scores[1][place].reshape(shape) + share[e] * (log_nodes[first, None] + log_nodes[second] - belief)
        towards_first = messages.mean(axis=1) - messages.mean() / 2.0
        towards_second = messages.mean(axis=0) - messages.mean() / 2.0
        moved_nodes[first] += towards_first
        moved_nodes[second] += towards_second
        moved_edges[place] -= (towards_first[:, None] + towards_second).ravel()
    return moved_nodes, moved_edges


def _mean(graph: Graph, scores: Scores, trees: list[Numbers], share: Vector) -> float:
    """The mean of log Z over spanning forests, the scores of each edge divided by its share of them."""
    total = 0.0
    for forest in trees:
        part = Graph(graph.numbering, graph.edges[forest], graph.network.n_threads)
        tables = [scores[1][graph.edge_at[e] : graph.edge_at[e + 1]] / share[e] for e in forest]
        total += part.network.exact(scores[0], np.concatenate([*tables, np.zeros(0)]), limit=2**40)[0]
    return total / len(trees)
