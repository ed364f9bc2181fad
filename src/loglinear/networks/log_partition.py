"""Log Z of a network: exact, or if the tree-width is too large, an estimate between a lower and an upper bound.

Source: Wainwright & Jordan (2008), sections 5 (mean field) and 7.2 (convex combinations of trees); Wainwright, Jaakkola
& Willsky (2005).

The upper bound. Let M_ts(x_s) be any messages, rho_st the edges' appearances in a distribution of spanning forests, and

    a_s(x_s)       = theta_s(x_s) + sum over t of rho_st log M_ts(x_s)
    b_st(x_s, x_t) = theta_st(x_s, x_t) / rho_st - log M_ts(x_s) - log M_st(x_t).

Every assignment has the score sum of a_s + sum of rho_st b_st, so by convexity log Z is at most the mean over forests
of the log Z of the forest with the scores a and b. Let Z_s = sum of exp(a_s) and p_s = exp(a_s) / Z_s. Summing
variables from the leaves of a forest to its roots, an edge multiplies the sum by at most the largest of the sums over
x_t of p_t(x_t) exp(b_st(x_s, x_t)), which gives

    log Z <= sum of log Z_s + sum of rho_st log max(max over x_s of sum over x_t of p_t exp(b_st), the same for x_t).

At the fixed point of tree-reweighted belief propagation all sums over x_t of an edge are the same, and the right-hand
side is its log Z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..errors import OptionError
from ..vectors import Vector
from .appearances import appearances, forests, shares
from .exact import ANSWER, Exact
from .graph import Graph, Report, Scores
from .loopy_bp import LoopyBP
from .tree_reweighted import TreeReweighted

__all__ = ["LogPartition", "log_partition"]

# Minimum number of forests that are drawn for the upper bound.
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

    Otherwise the lower bound is the mean-field bound. The upper bound is the lesser of two, from the messages of
    tree-reweighted belief propagation with uniformly distributed spanning forests and with a few that are drawn. Both
    bounds also hold if belief propagation has not settled. The upper bound is infinite where it would leave the range
    of a double.
    """
    try:
        value = Exact(limit).moments(graph, scores, Report("exact"), whole=False).log_z
        return LogPartition(value, value, value, True, "exact")
    except OptionError:
        pass
    report = Report("loopy_bp")
    moments = LoopyBP(max_iterations=MOST).moments(graph, scores, report, whole=False)
    lower = graph.network.mean_field(*scores, moments.nodes)[0]
    upper = max(_upper(graph, scores, seed), lower)
    value = min(max(moments.log_z, lower), upper)
    return LogPartition(value, lower, upper, False, "bethe", report.unconverged == 0)


def _upper(graph: Graph, scores: Scores, seed: int) -> float:
    """Return the least upper bound at hand."""
    n_variables, edges = graph.numbering.n_variables, graph.edges
    drawn = shares(len(edges), forests(n_variables, edges, least=FORESTS, seed=seed))
    bounds = [math.inf]
    for share in (appearances(n_variables, edges), drawn):
        messages = TreeReweighted(max_iterations=MOST).run(graph, scores, None, appearances=share).messages
        with np.errstate(over="ignore", invalid="ignore"):  # a share close to 0 may leave the range of a double
            bounds.append(_tree_bound(graph, _moved(graph, scores, messages, share), share))
    return min(bound for bound in bounds if not math.isnan(bound))


def _tree_bound(graph: Graph, moved: Scores, share: Vector) -> float:
    """Return the bound of the module's docstring from a and rho b."""
    log_sums = [np.logaddexp.reduce(moved[0][begin:end]) for begin, end in pairwise(graph.node_at.tolist())]
    log_p = moved[0] - np.repeat(log_sums, graph.numbering.states)
    total = float(sum(log_sums))
    for rho, (i, j, table) in zip(share.tolist(), graph.tables(moved[1]), strict=True):
        first, second = (log_p[graph.node_at[v] : graph.node_at[v + 1]] for v in (i, j))
        table = table / rho
        over_first = np.logaddexp.reduce(table + first[:, None], axis=0).max()
        over_second = np.logaddexp.reduce(table + second, axis=1).max()
        total += rho * float(max(over_first, over_second))
    return total


def _moved(graph: Graph, scores: Scores, messages: Vector, share: Vector) -> Scores:
    """Return a and rho b of the module's docstring: scores of the same network, messages moved from edges to nodes."""
    states, (i, j) = graph.numbering.states, graph.edges.T
    # Messages are laid out by the variable that they leave and by edge, without the entry of the first state, a 0.
    edge, source, target = np.tile(np.arange(len(graph.edges)), 2), np.append(i, j), np.append(j, i)
    order = np.lexsort([edge, source])
    ends = np.cumsum(states[target[order]] - 1)
    moved_nodes, moved_edges = scores[0].copy(), scores[1].copy()
    for slot, entries in zip(order.tolist(), np.split(messages, ends)[:-1], strict=True):
        e, v = edge[slot], target[slot]
        message = share[e] * np.append(0.0, entries)
        moved_nodes[graph.node_at[v] : graph.node_at[v + 1]] += message
        table = moved_edges[graph.edge_at[e] : graph.edge_at[e + 1]].reshape(states[i[e]], states[j[e]])
        table -= message if v == j[e] else message[:, None]
    return moved_nodes, moved_edges
