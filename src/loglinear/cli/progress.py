"""Progress of a training on stderr: a bar on a terminal; else a line every two seconds, and for the last step.

While a step takes long, the bar's clock moves on, and a line every ten seconds says which step is running.
"""

from __future__ import annotations

import math
import sys
import time
from itertools import count
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..solvers import EndedByPasses, Tolerant
from ..trace import TraceRecord, percentage
from .bar import Bar
from .output import say
from .watch import Watch

if TYPE_CHECKING:
    from ..minimize import Callback
    from ..solvers.common.working_set import WorkingSetState

__all__ = ["Progress"]

_WINDOW = 5
# The tolerance of most solvers.
_USUAL = 1e-5
_PERIOD = 2.0
# Seconds without a line after which there is one, and between looks at the clock.
_SILENCE, _LOOK = 10.0, 1.0


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
        waits: whether Ctrl-C waits for the end of a step.
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
        self.waits = False
        self._begun = time.monotonic()
        # The last record, when it came, when a line was shown last, and whether the record has been shown.
        self._record: TraceRecord | None = None
        self._at, self._last = 0.0, -math.inf
        self._is_shown = True
        self._watch: Watch | None = None
        self._is_stopping = False
        # The last scores on development data.
        self._dev = ""
        self._bar: Bar | None = None
        # Parts of a step that did not fit the terminal, and the longest text so far: both only grow, against flicker.
        self._n_dropped = self._widest = 0

    def __enter__(self) -> Progress:
        self._begun = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            self._bar = Bar()
        if not self._quiet:
            self._watch = Watch(self._stopping, self._waiting, _LOOK)
            self._watch.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.__exit__(kind, error, trace)
        if self._bar is not None:
            self._bar.end(finished=kind is None)
        elif self._record is not None and not self._is_shown and kind is None:
            self._show(self._record)

    @property
    def elapsed(self) -> float:
        """Seconds since the block began: the one clock of the bar, of lines and of the training's last line."""
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
        self._objectives.append(record.objective)
        self._record, self._at, self._is_shown = record, self.elapsed, False
        if self._bar is not None:
            self._bar.update(self._progress(), self._fitting(record, self._bar.room))
        elif self._at - self._last >= _PERIOD:
            self._show(record)

    def _show(self, record: TraceRecord) -> None:
        self._last, self._is_shown = self._at, True
        self._say(self._at, record.line)

    def _say(self, seconds: float, text: str) -> None:
        say(f"{seconds:7.1f} s  {f'{self.label}, {text}' if self.label else text}")

    def _waiting(self) -> None:
        """Show that time passes while a step takes long; called by another thread."""
        record, now = self._record, self.elapsed
        if self._bar is not None:
            self._bar.refresh()
        elif record is not None and now - max(self._last, self._at) >= _SILENCE:
            self._last = now
            self._say(now, f"iteration {record.iteration + 1} is running")

    def _stopping(self) -> None:
        """Say at once what the first Ctrl-C does, once iterations have begun; called by another thread."""
        if self._record is None or self._is_stopping:
            return
        self._is_stopping = True
        if self.waits:
            say("stopping at the end of this step; press Ctrl-C again to stop now")
        else:
            say("stopping; the weights of the last complete iteration are kept")

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
            text = (text[: room + len(", ")].rpartition(", ")[0] or text)[:room]
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
