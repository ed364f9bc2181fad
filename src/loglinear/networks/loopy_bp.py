"""Inference by loopy belief propagation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..options import one_of, real_number, whole_number
from ..vectors import Vector
from .graph import Graph, Moments, Report
from .linear_response import pair_probabilities

__all__ = ["LoopyBP"]


@dataclass
class LoopyBP:
    """Loopy belief propagation, exact on trees.

    Source: Yedidia, Freeman & Weiss (2000).

    Pairs without an edge can be scored in two ways. The product of both beliefs is the belief that belief propagation
    gives an edge of score 0: the gradient of the Bethe approximation. It has no correlation along paths, so that
    structure learning would add an edge between any two correlated variables. Linear response (see
    `networks.linear_response`) has these correlations, and is exact on trees.

    Args:
        damping: share of the old log message in the new one, in [0, 1).
        tolerance: bound on the change of a log message in the last iteration, > 0.
        max_iterations: most iterations of a run, >= 1.
        schedule: "flooding" replaces all messages at a time, "residual" the message that changes most.
        candidates: scores of pairs without an edge: "response", linear response, which falls back to "product" where
            messages have not settled; "product" is the product of beliefs.

    Example:
        >>> from loglinear import PairwiseMRF
        >>> from loglinear.datasets import make_network
        >>> X = make_network("chain", n_variables=4, n_samples=500, strength=3.0, random_state=0).X
        >>> mrf = PairwiseMRF(l1=60.0, objective="likelihood", inference="loopy_bp", inference_options={"damping": 0.5})
        >>> mrf = mrf.fit(X)
        >>> mrf.edges_.tolist()
        [[0, 1], [1, 2], [2, 3]]
    """

    damping: float = 0.3
    tolerance: float = 1e-6
    max_iterations: int = 200
    schedule: str = "flooding"
    candidates: str = "response"
    _last: tuple[Graph, Vector] | None = field(default=None, init=False, repr=False)

    name = "loopy_bp"

    def __post_init__(self) -> None:
        real_number("damping", self.damping, "a number from 0 to below 1", lambda x: 0.0 <= x < 1.0)
        real_number("tolerance", self.tolerance, "a number > 0", lambda x: x > 0.0)
        whole_number("max_iterations", self.max_iterations, 1, 2**31)
        one_of("schedule", self.schedule, ("flooding", "residual"))
        one_of("candidates", self.candidates, ("response", "product"))

    def moments(self, graph: Graph, scores: tuple[Vector, Vector], report: Report, *, whole: bool) -> Moments:
        """Return expectations; messages start where the last run on this graph ended."""
        last = self._last  # read once: another thread may put its own there
        messages = last[1] if last is not None and last[0] is graph else None
        found = graph.network.loopy_bp(
            *scores,
            damping=self.damping,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            schedule=self.schedule,
            messages=messages,
        )
        self._last = graph, found.messages
        report.add(found.iterations, found.residual, self.tolerance)
        products = None
        if whole and self.candidates == "response" and found.residual <= self.tolerance:
            columns, pairs = found.nodes[graph.columns], found.edges[graph.places]
            products = pair_probabilities(graph.numbering, graph.edges, columns, pairs, graph.network.n_threads)
        return Moments(found.log_z, found.nodes, found.edges, products)

    def completion(self) -> dict[str, Any]:
        """Return the options with which rows with missing values are completed: by belief propagation, too."""
        names = ("damping", "tolerance", "max_iterations")
        return {"method": "loopy_bp", **{name: getattr(self, name) for name in names}}
