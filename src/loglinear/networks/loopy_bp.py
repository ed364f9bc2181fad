"""Inference by loopy belief propagation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..options import one_of, real_number, whole_number
from ..vectors import Vector
from .graph import Graph, Moments, Report
from .linear_response import pair_probabilities

__all__ = ["LoopyBP"]

# Most columns for which pairs without an edge are scored by linear response.
RESPONSE = 2000


@dataclass
class LoopyBP:
    """Loopy belief propagation, exact on trees.

    Source: Yedidia, Freeman & Weiss (2000). The belief of two variables without an edge is the product of theirs, which
    is what an edge of score 0 gets from belief propagation as well: the gradient of the Bethe approximation. It knows
    of no correlation along paths, though, and would have an edge between all variables that are correlated at all;
    linear response (see `networks.linear_response`), which is exact on trees, does not.

    Args:
        damping: share of the old log message in the new one, in [0, 1).
        tolerance: bound on the change of a log message in the last iteration, > 0.
        max_iterations: of a run, >= 1.
        schedule: "flooding", all messages at a time, or "residual", that which changes most first.
        candidates: how pairs without an edge are scored: by "response", O(D^3), where D is at most 2,000 and messages
            have settled, else by the "product" of beliefs.
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
        """Run from the messages that the last run on this graph ended with."""
        messages = self._last[1] if self._last is not None and self._last[0] is graph else None
        log_z, nodes, edges, messages, iterations, residual, _ = graph.network.loopy_bp(
            *scores,
            damping=self.damping,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            schedule=self.schedule,
            messages=messages,
        )
        self._last = graph, messages
        report.add(iterations, residual, self.tolerance)
        products = None
        if (
            whole
            and self.candidates == "response"
            and graph.layout.n_columns <= RESPONSE
            and residual <= self.tolerance
        ):
            products = pair_probabilities(graph.layout, graph.edges, nodes[graph.columns], edges[graph.places])
        return Moments(log_z, nodes, edges, products)

    def completion(self) -> dict[str, Any]:
        """As for the model."""
        names = ("damping", "tolerance", "max_iterations")
        return {"method": "loopy_bp", **{name: getattr(self, name) for name in names}}
