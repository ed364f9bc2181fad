"""What `structure` writes: edges as a table, as JSON, as a figure, and a summary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..result import Result, Status
from .output import tab_separated

if TYPE_CHECKING:
    from ..models.network import PairwiseMRF
    from ..path import Path

__all__ = ["Edges"]

_SHOWN = 3


class Edges:
    """Edges of a trained network, the strongest first.

    Args:
        estimator: the network.
        names: of its variables.
        n_samples: that it was trained on.
    """

    def __init__(self, estimator: PairwiseMRF, names: list[str], n_samples: int) -> None:
        self._estimator, self._names, self._n_samples = estimator, names, n_samples
        self._result: Result = estimator.result_  # type: ignore[assignment]
        self._path: Path | None = getattr(estimator, "path_", None)
        self._order: list[int] = np.argsort(-estimator.strengths_, kind="stable").tolist()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the training, or the search for the best strength of the penalty."""
        ended = self._path is not None and self._path.interrupted
        return ended or self._result.status is Status.INTERRUPTED

    def _ends(self, edge: int) -> tuple[str, str]:
        i, j = self._estimator.edges_[edge].tolist()
        return self._names[i], self._names[j]

    def _weights(self, edge: int) -> Iterator[tuple[Any, Any, float]]:
        """States of both variables and their weight, where it is not 0."""
        i, j = self._estimator.edges_[edge].tolist()
        first, second = self._estimator.categories_[i].tolist(), self._estimator.categories_[j].tolist()
        weights = self._estimator.weights_[edge]
        for a, b in np.argwhere(weights).tolist():
            yield first[a], second[b], float(weights[a, b])

    def table(self) -> str:
        """A line for each weight."""
        rows = [
            [*self._ends(edge), str(a), str(b), f"{weight:.6g}"]
            for edge in self._order
            for a, b, weight in self._weights(edge)
        ]
        return tab_separated(["variable_1", "variable_2", "state_1", "state_2", "weight"], rows)

    def drawn(self, path: str) -> bytes:
        """The content of a figure's file of this name."""
        from ..report.graph import drawn

        estimator = self._estimator
        signs = [int(np.sign(table[1, 1])) if table.shape == (2, 2) else 0 for table in estimator.weights_]
        return drawn(self._names, estimator.edges_, estimator.strengths_, signs, path)

    def json(self, *, missing: int) -> str:
        """All there is to know, for machines."""
        from ..models.chain_training import plain, training_summary

        name, value = self._likelihood()
        edges = [
            {
                "variables": self._ends(edge),
                "strength": float(self._estimator.strengths_[edge]),
                "weights": [{"states": [a, b], "weight": weight} for a, b, weight in self._weights(edge)],
            }
            for edge in self._order
        ]
        known = {"variables": len(self._names), "samples": self._n_samples, "missing": missing}
        found = {"l1": self._l1(), f"{name.replace('-', '_')}_per_sample": value, "edges": edges}
        return json.dumps(known | training_summary([self._result]) | found, default=plain)

    def _l1(self) -> float:
        return float(self._estimator.l1_)

    def _likelihood(self) -> tuple[str, float]:
        """What is maximised but for the penalty, a sample, and what it is called."""
        name = "log-likelihood" if self._estimator.objective == "likelihood" else "pseudo-log-likelihood"
        return name, -self._result.nll / self._n_samples

    def summary(self) -> str:
        """Lines for people."""
        result, n = self._result, len(self._names)
        n_weights = sum(np.count_nonzero(table) for table in self._estimator.weights_)
        name, value = self._likelihood()
        by = f" (by {self._estimator.inference})" if name == "log-likelihood" else ""
        lines = [
            f"{result.status.message}: objective {result.objective:.2f}, violation {result.violation:.3g}",
            f"l1 {self._l1():.6g}{self._choice()}",
            f"{name} per sample {value:.4f}{by}",
            f"{len(self._order):,} edges of {n * (n - 1) // 2:,} possible ones, {n_weights:,} weights",
        ]
        if self._order:
            ends = (" - ".join(self._ends(edge)) for edge in self._order[:_SHOWN])
            strengths = self._estimator.strengths_[self._order[:_SHOWN]]
            shown = (f"{pair} ({strength:.3g})" for pair, strength in zip(ends, strengths, strict=True))
            lines.append(f"strongest: {', '.join(shown)}")
        elif result.status.converged:
            lines[-1] += "; lower --l1 to have some"
        return "\n".join(lines)

    def _choice(self) -> str:
        """How l1 was chosen, and whether smaller ones might be better still."""
        path = self._path
        if path is None:
            return ""
        text = f", chosen by {self._estimator.l1} among {len(path.points)}"
        if not path.interrupted and path.points[-1].l1 == self._l1():
            text += f", the least of them: try smaller ones too, --l1 {self._l1() / 3.0:.2g} for one"
        return text
