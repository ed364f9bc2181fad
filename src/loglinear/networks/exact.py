"""Exact inference by a junction tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._core import CompletedRows, Network
from ..options import whole_number
from ..vectors import Vector
from .graph import Graph, Moments, Report, Scores
from .numbering import Codes

__all__ = ["ANSWER", "EVALUATION", "LIMIT", "Exact", "is_narrow"]

# Entries of the largest table up to which inference is exact unless the user chooses. A run takes some nanoseconds for
# each entry of all tables. Training repeats it in hundreds of evaluations, where belief propagation is faster on wider
# graphs; an answer of a trained network needs one run.
EVALUATION, ANSWER = 2**14, 2**20
# Entries of the largest table that a user's choice allows, unless a limit is given: 32 MiB.
LIMIT = 2**22


def is_narrow(network: Network, limit: int) -> bool:
    """Return whether exact inference is possible with tables of at most ``limit`` entries."""
    return bool(network.largest_table(limit=limit) <= np.log2(limit))


@dataclass
class Exact:
    """Exact inference by a junction tree; cost and memory are exponential in the tree-width.

    Probabilities of pairs outside the graph are exact as well: one propagation for each state, clamped.

    Args:
        limit: most entries of a table.

    Example:
        >>> from loglinear import PairwiseMRF
        >>> from loglinear.datasets import make_network
        >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
        >>> mrf = PairwiseMRF(l1=60.0, objective="likelihood", inference="exact", inference_options={"limit": 2**16})
        >>> mrf = mrf.fit(X)
        >>> mrf.edges_.tolist()
        [[0, 1], [1, 2], [2, 3]]
    """

    limit: int = LIMIT

    name = "exact"
    is_convex = True

    def __post_init__(self) -> None:
        whole_number("limit", self.limit, 4, 2**40)

    def moments(self, graph: Graph, scores: Scores, report: Report, *, whole: bool) -> Moments:
        """Return expectations after one propagation, or after one for each state if ``whole``."""
        log_z, nodes, edges = graph.network.exact(*scores, limit=self.limit)
        report.add(1, 0.0, 0.0)
        if not whole:
            return Moments(log_z, nodes, edges)
        pairs = graph.network.pair_marginals(*scores, limit=self.limit)
        return Moments(log_z, nodes, edges, graph.numbering.upper(pairs[np.ix_(graph.columns, graph.columns)]))

    def completed(self, graph: Graph, scores: Scores, codes: Codes, weights: Vector | None = None) -> CompletedRows:
        """Complete samples with missing values exactly."""
        return graph.network.completed(*scores, codes, weights=weights, method="exact", limit=self.limit)
