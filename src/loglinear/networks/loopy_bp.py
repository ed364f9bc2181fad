"""Inference by loopy belief propagation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .._core import CompletedRows, LoopyBeliefs
from ..options import one_of, real_number, whole_number
from ..vectors import Vector
from .graph import Graph, Moments, Report, Scores
from .linear_response import pair_probabilities
from .numbering import Codes

__all__ = ["LoopyBP", "Propagation"]


@dataclass
class Propagation:
    """Belief propagation: its options, and the messages with which the next run on the same graph starts."""

    damping: float
    tolerance: float = 1e-6
    max_iterations: int = 1000
    _last: tuple[Graph, Vector] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        real_number("damping", self.damping, "a number from 0 to below 1", lambda x: 0.0 <= x < 1.0)
        real_number("tolerance", self.tolerance, "a number > 0", lambda x: x > 0.0)
        whole_number("max_iterations", self.max_iterations, 1, 2**31)

    def last_messages(self, graph: Graph) -> Vector | None:
        """Return the messages of the last run if it was on this graph."""
        last = self._last  # read once, because another thread may replace it
        return last[1] if last is not None and last[0] is graph else None

    def run(
        self,
        graph: Graph,
        scores: Scores,
        messages: Vector | None,
        *,
        schedule: str = "flooding",
        appearances: Vector | None = None,
        labels: Vector | None = None,
    ) -> LoopyBeliefs:
        """Return the beliefs that follow from the given messages, from uniform ones, or from those near labels too."""
        return graph.network.loopy_bp(
            *scores,
            damping=self.damping,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
            schedule=schedule,
            messages=messages,
            appearances=appearances,
            labels=labels,
        )


@dataclass
class LoopyBP(Propagation):
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
    max_iterations: int = 200
    schedule: str = "flooding"
    candidates: str = "response"
    _warm: bool = field(default=True, init=False, repr=False)
    _labels: Vector | None = field(default=None, init=False, repr=False)

    name = "loopy_bp"
    is_convex = False

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("schedule", self.schedule, ("flooding", "residual"))
        one_of("candidates", self.candidates, ("response", "product"))

    def labelled(self, labels: Vector | None) -> LoopyBP:
        """Return the method for graphs with labels: runs do not depend on earlier ones.

        A run starts from uniform messages, and another one near the labels; the larger log Z is the result. If
        labels are strongly coupled, there are several fixed points, and the log Z of some misses the labels.

        Args:
            labels: 1 for the known label of each node, laid out as node scores; None to start from uniform messages
                alone.
        """
        method = replace(self)
        method._warm, method._labels = False, labels
        return method

    def moments(self, graph: Graph, scores: Scores, report: Report, *, whole: bool) -> Moments:
        """Return expectations; unless there are labels, messages start where the last run on this graph ended."""
        start = self.last_messages(graph) if self._warm else None
        best = self.run(graph, scores, start, schedule=self.schedule, labels=self._labels)
        self._last = graph, best.messages
        report.add(best.iterations, best.residual, self.tolerance)
        products = None
        if whole and self.candidates == "response" and best.residual <= self.tolerance:
            columns, pairs = best.nodes[graph.columns], best.edges[graph.places]
            products = pair_probabilities(graph.numbering, graph.edges, columns, pairs, graph.network.n_threads)
        return Moments(best.log_z, best.nodes, best.edges, products)

    def completed(self, graph: Graph, scores: Scores, codes: Codes, weights: Vector | None = None) -> CompletedRows:
        """Complete samples with missing values by belief propagation."""
        return graph.network.completed(
            *scores,
            codes,
            weights=weights,
            method="loopy_bp",
            damping=self.damping,
            tolerance=self.tolerance,
            max_iterations=self.max_iterations,
        )
