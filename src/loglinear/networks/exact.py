"""Exact inference by a junction tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..options import whole_number
from ..vectors import Vector
from .graph import Graph, Moments, Report

__all__ = ["Exact", "is_narrow"]


def is_narrow(network: _core.Network, limit: int) -> bool:
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

    limit: int = 2**22

    name = "exact"

    def __post_init__(self) -> None:
        whole_number("limit", self.limit, 4, 2**40)

    def moments(self, graph: Graph, scores: tuple[Vector, Vector], report: Report, *, whole: bool) -> Moments:
        """Return expectations after one propagation, or after one for each state if ``whole``."""
        log_z, nodes, edges = graph.network.exact(*scores, limit=self.limit)
        report.add(1, 0.0, 0.0)
        if not whole:
            return Moments(log_z, nodes, edges)
        pairs = graph.network.pair_marginals(*scores, limit=self.limit)
        return Moments(log_z, nodes, edges, graph.numbering.upper(pairs[np.ix_(graph.columns, graph.columns)]))

    def completion(self) -> dict[str, Any]:
        """Return the options with which rows with missing values are completed: exactly, too."""
        return {"method": "exact", "limit": self.limit}
