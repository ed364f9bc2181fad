"""Limits of a minimisation, and why it stops."""

from __future__ import annotations

from dataclasses import dataclass

from .options import USEFUL, limit
from .result import State, Status

__all__ = ["Stop"]


@dataclass(frozen=True)
class Stop:
    """Limits of a minimisation; None for no limit. The first limit reached stops it, after a complete step.

    Args:
        max_iterations: steps since the solver's start, those before a checkpoint included, >= 0.
        max_passes: effective passes over the data, likewise, >= 0.
        max_seconds: solver seconds of this call, >= 0.
        violation: stop, as converged, when the optimality violation is at most this, >= 0.
        gap: stop, as converged, when the distance of the objective from its optimum is proved to be at most this share
            of the objective, from 0 to 0.1; see ``loglinear.gap`` for the bound and its cost. With an L1 penalty alone
            the proof comes late: for chains, 1 % takes 2 to 7 times as long as an end at the default tolerance. Where
            the solver's tolerance is reached first, it ends the minimisation.

    Raises:
        OptionError: a limit is negative or no number; from ``minimize`` when the problem has no bound for ``gap``.

    Example:
        >>> from loglinear import LBFGS, ClassifierObjective, Problem, Stop, minimize
        >>> objective = ClassifierObjective([[1.0], [2.0], [3.0]], [0, 1, 0], n_classes=2)
        >>> minimize(Problem(objective), LBFGS(), stop=Stop(max_iterations=2, max_seconds=60)).iterations
        2
    """

    max_iterations: int | None = None
    max_passes: float | None = None
    max_seconds: float | None = None
    violation: float | None = None
    gap: float | None = None

    def __post_init__(self) -> None:
        limit("max_iterations", self.max_iterations, whole=True)
        limit("max_passes", self.max_passes)
        limit("max_seconds", self.max_seconds)
        limit("violation", self.violation)
        limit("gap", self.gap, USEFUL)

    def status(self, state: State, seconds: float, violation: float, gap: float | None = None) -> Status:
        """Return why to stop in this state; the solver's own verdict comes first, RUNNING is to go on.

        Args:
            state: of the solver.
            seconds: solver seconds so far.
            violation: of optimality at the state's weights; NaN if it is not known.
            gap: bound of the distance from the optimum, nats; None if it is not known.
        """
        if state.status is not Status.RUNNING:
            return state.status
        if self.violation is not None and violation <= self.violation:
            return Status.VIOLATION_REACHED
        if self.gap is not None and gap is not None and gap <= self.gap * abs(state.objective):
            return Status.GAP_REACHED
        if self.max_iterations is not None and state.iteration >= self.max_iterations:
            return Status.MAX_ITERATIONS
        if self.max_passes is not None and state.passes >= self.max_passes:
            return Status.MAX_PASSES
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.MAX_SECONDS
        return Status.RUNNING
