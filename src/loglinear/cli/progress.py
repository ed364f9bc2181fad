"""Progress of a training on stderr: a bar on a terminal; else a line every two seconds, and for the last step."""

from __future__ import annotations

import math
import sys
import time
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..solvers import EndedByPasses, Tolerant
from ..trace import TraceRecord, TraceWriter, percentage
from .bar import Bar
from .output import say

if TYPE_CHECKING:
    from ..minimize import Callback
    from ..solvers.common.working_set import WorkingSetState

__all__ = ["Progress", "Traced"]

_WINDOW = 5
# The tolerance of most solvers.
_USUAL = 1e-5
_PERIOD = 2.0


class Progress:
    """A callback of `minimize` that shows how far the minimisation is.

    The share of the work that is done is read off the relative decrease of the objective, on its way to the solver's
    tolerance; or off the passes, if a number of passes ends the minimisation.

    Args:
        solver: the solver whose steps are shown.
        quiet: print nothing.

    Attributes:
        share_done: the share of the work that is done, from 0 to 1, where another callback knows it better; else None.
        label: printed before each step.
        failure: the reason why a file about the training could not be written; None if there is none.
    """

    def __init__(self, solver: Any, *, quiet: bool = False) -> None:
        tolerance = solver.tolerance if isinstance(solver, Tolerant) else 0.0
        # None if the solver has not been chosen yet.
        self._tolerance = min(max(_USUAL if tolerance is None else tolerance, 1e-12), 0.5)
        ends_by_passes = isinstance(solver, EndedByPasses) and not isinstance(solver, Tolerant)
        self._passes: int | None = solver.passes if ends_by_passes else None
        self._quiet = quiet
        self._objectives: list[float] = []
        self._share = 0.0
        self.share_done: float | None = None
        self.label = ""
        self.failure: OSError | None = None
        self._begun = time.monotonic()
        self._last = -math.inf
        # The last record, if it has not been shown.
        self._unshown: TraceRecord | None = None
        # Seconds of the finished minimisations, and of the current one.
        self._before = self._seconds = 0.0
        # The last scores on development data.
        self._dev = ""
        self._bar: Bar | None = None
        # Parts of a step that did not fit the terminal, and the longest text so far: both only grow, against flicker.
        self._n_dropped = self._widest = 0

    def __enter__(self) -> Progress:
        self._begun = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            self._bar = Bar()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.end(finished=kind is None)
        elif self._unshown is not None and kind is None:
            self._show(self._unshown)

    @property
    def elapsed(self) -> float:
        """Seconds since the block began, as the bar counts them."""
        return time.monotonic() - self._begun

    def note(self, message: str) -> None:
        """Print a line, above the bar if there is one."""
        if not self._quiet:
            say(message)

    def count_points(self, number: int, folds: int = 0) -> Callback:
        """Return a callback that notes which point of a path is at work; it comes before this one.

        Args:
            number: points of the path; others may follow them if there are no folds.
            folds: paths of as many points that follow, each on a fold's samples.
        """
        done = count()

        def observe(record: TraceRecord, state: object) -> None:
            if record.iteration == 0:
                at = next(done)
                self.share_done = min(at / (number * (folds + 1)), 1.0)
                fold, point = divmod(at, number) if folds else (0, at)
                point_text = f"point {point + 1} of {number}" if point < number else f"point {point + 1}"
                self.label = f"fold {fold} of {folds}, {point_text}" if fold else point_text

        return observe

    def count_features(self, most: int | None) -> Callback:
        """Return a callback that notes how many of at most ``most`` features have entered; it comes before this one."""

        def observe(record: TraceRecord, state: WorkingSetState) -> None:
            if most is not None:
                self.share_done = min(state.selected.size / most, 1.0)

        return observe

    def __call__(self, record: TraceRecord, state: object) -> None:
        """Show a step."""
        if self._quiet:
            return
        due = time.monotonic() - self._last >= _PERIOD
        self._objectives.append(record.objective)
        if record.iteration == 0:
            self._before += self._seconds
        self._seconds = record.seconds
        self._unshown = record
        if due:
            self._last = time.monotonic()
        if self._bar is not None:
            self._bar.update(self._progress(), self._fitting(record, self._bar.room))
        elif due:
            self._show(record)

    def _show(self, record: TraceRecord) -> None:
        text = f"{self.label}, {record.line}" if self.label else record.line
        say(f"{self._before + record.seconds:7.1f} s  {text}")
        self._unshown = None

    def _fitting(self, record: TraceRecord, room: int) -> str:
        """Return a step as the text next to the bar; a narrow terminal drops the least important parts."""
        if record.dev is not None:
            self._dev = f"dev {record.headline} at {record.iteration}"
        iteration, objective, active = record.line.split(", ")[:3]
        gap = "" if record.gap is None else f"gap {percentage(record.gap, record.objective)}"
        parts = [part for part in (self.label, iteration, objective, active, gap, self._dev) if part]
        by_worth = [part for part in (active, objective, iteration, gap, self._dev) if part]
        self._n_dropped = min(self._n_dropped, len(by_worth))
        while self._n_dropped < len(by_worth) and len(self._joined(parts, by_worth)) > room:
            self._n_dropped += 1
        text = self._joined(parts, by_worth)
        if len(text) > room:  # the label alone is too long
            text = (text[: room + 1].rpartition(", ")[0] or text)[:room]
        self._widest = max(self._widest, len(text))
        return text.ljust(min(self._widest, room))

    def _joined(self, parts: list[str], by_worth: list[str]) -> str:
        return ", ".join(part for part in parts if part not in by_worth[: self._n_dropped])

    def _progress(self) -> float:
        """Share of the passes, or of the way from a decrease of 1 to the tolerance on a logarithmic scale."""
        if self.share_done is not None:
            return self.share_done
        if self._passes is not None:
            return min((len(self._objectives) - 1) / self._passes, 1.0)
        if len(self._objectives) > _WINDOW and self._objectives[-1]:
            first, last = self._objectives[-1 - _WINDOW], self._objectives[-1]
            decrease = max((first - last) / _WINDOW / abs(last), self._tolerance)
            self._share = max(self._share, min(math.log(decrease) / math.log(self._tolerance), 1.0))
        return self._share


class Traced(TraceWriter):
    """A callback that writes each record to a file, and without which the training continues if it cannot be written.

    Args:
        path: the file.
        progress: where a warning goes if a record cannot be written.
        append: see `TraceWriter`.

    Raises:
        OSError: the file cannot be created.
    """

    def __init__(self, path: str, progress: Progress, *, append: bool) -> None:
        self._progress, self._failed = progress, False
        super().__init__(path, append=append)

    def __call__(self, record: TraceRecord, state: object) -> None:
        """Append the record to the file, unless the file could not be written before."""
        if self._failed:
            return
        try:
            super().__call__(record, state)
        except OSError as error:
            self._failed, self._progress.failure = True, error
            self._progress.note(f"warning: {self.path}: {error.strerror}; training continues without a trace")
