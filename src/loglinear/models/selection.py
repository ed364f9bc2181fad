"""The course of a feature selection: what entered in which round, and what that brought."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..result import Result, Status
from ..solvers.parts.working_set import WorkingSetState
from ..trace import TraceRecord
from ..vectors import Vector

__all__ = ["Round", "Rounds"]


@dataclass(frozen=True)
class Round:
    """From one selection to the next.

    Attributes:
        n_features: how many had entered before or with it: ``state.selected[:n_features]`` in their order.
        record: of its last step.
    """

    n_features: int
    record: TraceRecord


class Rounds:
    """A callback of ``minimize`` that keeps the rounds of ``Grafting`` and ``GraftingLight``.

    Args:
        score: scores of weights, on development data say, which it fills in as ``record.dev`` at the end of a round.

    Attributes:
        rounds: the first ends where the solver starts, with no feature.
    """

    def __init__(self, score: Callable[[Vector], dict[str, float]] | None = None) -> None:
        self.rounds: list[Round] = []
        self._score = score
        self._entered = 0

    def __call__(self, record: TraceRecord, state: WorkingSetState) -> None:
        """End the round if others have been selected, or the solver has finished."""
        before, self._entered = self._entered, int(state.selected.size)
        if self._entered > before or state.status is not Status.RUNNING:
            self.rounds.append(Round(before, record))
            if self._score is not None:
                record.dev = self._score(state.w)

    def close(self, result: Result) -> None:
        """End the round in which the minimisation was stopped; it has no score."""
        if self._entered > (self.rounds[-1].n_features if self.rounds else 0):
            self.rounds.append(Round(self._entered, result.trace[-1]))
