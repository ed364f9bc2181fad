"""A line at the bottom of the terminal that is drawn again and again: a bar, a text and the time."""

from __future__ import annotations

import io
import sys
import threading
import time
from contextlib import redirect_stderr

from ..display.progress import TerminalLine
from .wrapping import columns_of

__all__ = ["Bar"]

# Characters of the line that are not bar, title or text: the time, blanks; and of a long text.
_AROUND = len("  0:00:00") + 2
_TEXT = 110
_PERIOD = 0.1


class Bar:
    """A bar on the terminal of standard error; other messages are printed above it, from any thread.

    Args:
        title: what the work is called.

    Attributes:
        terminal: where the line is.
        room: number of characters of text for which there is space in the line.
    """

    def __init__(self, title: str = "training") -> None:
        self._title, around = title, len(title) + _AROUND
        self.terminal = sys.stderr
        self._line = TerminalLine(self.terminal)
        # The last column stays empty: some terminals start a new line as soon as it is filled.
        self._columns = columns_of(self.terminal) - 1
        self._width = min(max(self._columns - around - _TEXT, 10), 40)
        self.room = max(self._columns - self._width - around, 0)
        self._share, self._text = 0.0, ""
        self._begun = time.monotonic()
        self._drawn_at = -_PERIOD
        self._lock = threading.RLock()
        self._redirection = redirect_stderr(_Above(self))
        self._redirection.__enter__()

    def update(self, share: float, text: str) -> None:
        """Show the share of the work that is done, from 0 to 1, and a text; ten times a second at most."""
        self._share, self._text = share, text
        if time.monotonic() - self._drawn_at >= _PERIOD:
            self._draw()

    def refresh(self) -> None:
        """Draw the line again with the current time, if there is one."""
        if self._line.is_shown:
            self._draw()

    def end(self, *, finished: bool) -> None:
        """Draw the last state, full if the work is finished, and go to the next line; nothing if no work has begun."""
        self._redirection.__exit__(None, None, None)
        if not finished and self._drawn_at < 0.0:
            return
        self._share = 1.0 if finished else self._share
        self._draw()
        self._line.end()

    def write_above(self, text: str) -> int:
        """Write text in place of the line; the next update draws the line again, below the text."""
        with self._lock:
            self._line.clear()
            return self.terminal.write(text)

    def _draw(self) -> None:
        with self._lock:
            self._draw_alone()

    def _draw_alone(self) -> None:
        self._drawn_at = time.monotonic()
        minutes, seconds = divmod(int(self._drawn_at - self._begun), 60)
        elapsed = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
        full = round(self._share * self._width)
        bar = "━" * full + "─" * (self._width - full)
        self._line.show(f"{self._title} {bar} {self._text} {elapsed}"[: self._columns])


class _Above(io.TextIOBase):
    """Standard error while there is a bar."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._bar.terminal.fileno()

    def write(self, text: str, /) -> int:
        return self._bar.write_above(text)
