"""Progress of a training: a bar on a terminal, a line now and then otherwise. Always on stderr."""

from __future__ import annotations

import math
import sys
import time
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..solvers import EndedByPasses, Tolerant
from ..trace import TraceRecord
from .output import say

if TYPE_CHECKING:
    from ..minimize import Callback

__all__ = ["Progress"]

_WINDOW = 5
_PERIOD = 2.0


class Progress:
    """A callback of `minimize` that shows how far the minimisation is.

    The share of the work that is done is read off the relative decrease of the objective, on its way to the solver's
    tolerance; or off the passes, if a number of passes ends the minimisation.

    Args:
        solver: the solver whose steps are shown.
        quiet: print nothing.

    Attributes:
        known: the share of the work that is done, from 0 to 1, where another callback knows it better; else None.
        label: what to print before each step.
    """

    def __init__(self, solver: Any, *, quiet: bool = False) -> None:
        tolerance = solver.tolerance if isinstance(solver, Tolerant) else 0.0
        self._tolerance = min(max(tolerance, 1e-12), 0.5)
        ends_by_passes = isinstance(solver, EndedByPasses) and not isinstance(solver, Tolerant)
        self._passes: int | None = solver.passes if ends_by_passes else None
        self._quiet = quiet
        self._objectives: list[float] = []
        self._share = 0.0
        self.known: float | None = None
        self.label = ""
        self._last = 0.0
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("training"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._bar = Bar(*columns, console=Console(stderr=True))
            self._task = self._bar.add_task("", total=1.0)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            if kind is None:
                self._bar.update(self._task, completed=1.0)
            self._bar.stop()

    def note(self, message: str) -> None:
        """Print a line beside the bar."""
        if self._bar is not None:
            self._bar.console.print(message, highlight=False)
        elif not self._quiet:
            say(message)

    def count_points(self, number: int) -> Callback:
        """Return a callback that notes which of ``number`` points of a path is at work; it comes before this one."""
        done = count()

        def observe(record: TraceRecord, state: Any) -> None:
            if record.iteration == 0:
                at = next(done)
                self.known = min(at, number) / number
                self.label = f"point {at + 1} of {number}, " if at < number else f"point {at + 1}, "

        return observe

    def count_features(self, most: int | None) -> Callback:
        """Return a callback that notes how many of at most ``most`` features have entered; it comes before this one."""

        def observe(record: TraceRecord, state: Any) -> None:
            if most is not None:
                self.known = min(state.selected.size / most, 1.0)

        return observe

    def __call__(self, record: TraceRecord, state: Any) -> None:
        """Show a step."""
        if self._quiet:
            return
        self._objectives.append(record.objective)
        text = f"iteration {record.iteration}, objective {record.objective:,.1f}, active features {record.nnz:,}"
        text = self.label + text
        if record.dev is not None:
            name = "f1" if "f1" in record.dev else "accuracy"
            text += f", dev {name} {record.dev[name]:.4f}"
        if self._bar is not None:
            self._bar.update(self._task, completed=self._progress(), description=text)
        elif time.monotonic() - self._last >= _PERIOD:
            self._last = time.monotonic()
            say(f"{record.seconds:7.1f} s  {text}")

    def _progress(self) -> float:
        """The share of the passes, or of the way, on a logarithmic scale, from a decrease of 1 to the tolerance."""
        if self.known is not None:
            return self.known
        if self._passes is not None:
            return min((len(self._objectives) - 1) / self._passes, 1.0)
        if len(self._objectives) > _WINDOW and self._objectives[-1]:
            first, last = self._objectives[-1 - _WINDOW], self._objectives[-1]
            decrease = max((first - last) / _WINDOW / abs(last), self._tolerance)
            self._share = max(self._share, min(math.log(decrease) / math.log(self._tolerance), 1.0))
        return self._share
