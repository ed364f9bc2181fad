"""Trainings for rows, and the seconds of the processor that they take, which a busy machine hardly changes."""

from __future__ import annotations

import time
from typing import Any

from loglinear.minimize import minimize
from loglinear.result import Status
from loglinear.solvers import Measuring


def minimised(*arguments: Any, **options: Any) -> Any:
    """The result of ``minimize``. Ctrl-C comes out of it, so that no row is kept of a training that was cut short."""
    result = minimize(*arguments, **options)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


class Clocked:
    """A solver whose steps are timed; what it measures for the trace, and callbacks, are not.

    Args:
        solver: whose steps to make.

    Attributes:
        seconds: of the processor, of all threads, so far.
        points: passes, seconds, objective and active features after each step.
        kept: what callbacks keep for the row of the run.
    """

    def __init__(self, solver: Any) -> None:
        self.solver, self.needs = solver, solver.needs
        self.seconds = 0.0
        self.points: list[list[float]] = []
        self.kept: dict[str, Any] = {}

    def init(self, problem: Any, w0: Any) -> Any:
        """Start."""
        return self._timed(self.solver.init, problem, w0)

    def step(self, problem: Any, state: Any) -> Any:
        """Make a step."""
        return self._timed(self.solver.step, problem, state)

    def measure(self, problem: Any, state: Any) -> Any:
        """What the trace needs to know of a state, off the clock."""
        return self.solver.measure(problem, state) if isinstance(self.solver, Measuring) else state

    def look(self, record: Any, state: Any) -> None:
        """A callback that keeps the point."""
        self.points.append([record.passes, self.seconds, record.objective, record.nnz])

    def _timed(self, make: Any, *arguments: Any) -> Any:
        began = time.process_time()
        try:
            return make(*arguments)
        finally:
            self.seconds += time.process_time() - began
