"""A line that is written again and again: on a terminal, or as the output of a notebook's cell."""

from __future__ import annotations

import shutil
import sys
import time
import uuid
from collections.abc import Callable
from typing import Protocol, TextIO

from ..visible import visible_name

__all__ = ["Line", "TerminalLine", "line_of"]

# Seconds between two versions of a line.
_PERIOD = 0.1


class Shown(Protocol):
    """A place for one line of text."""

    def show(self, text: str) -> None:
        """Replace the text by another one."""

    def end(self) -> None:
        """Leave the text as it is; what follows comes after it."""


class TerminalLine:
    """The last line of a terminal.

    Args:
        terminal: the stream.
    """

    def __init__(self, terminal: TextIO) -> None:
        self.terminal, self._shown = terminal, 0

    def show(self, text: str) -> None:
        """Replace the text by another one."""
        self.terminal.write(f"\r{text:{self._shown}}")
        self.terminal.flush()
        self._shown = len(text)

    @property
    def is_shown(self) -> bool:
        """Whether there is a text."""
        return self._shown > 0

    def clear(self) -> None:
        """Remove the text."""
        if self._shown:
            self.terminal.write(f"\r{'':{self._shown}}\r")
            self._shown = 0

    def end(self) -> None:
        """Leave the text as it is, and go to the next line."""
        self.terminal.write("\n")
        self.terminal.flush()


class _NotebookLine:
    """The output of a notebook's cell.

    Args:
        publish: `DisplayPublisher.publish` of IPython.
    """

    def __init__(self, publish: Callable[..., object]) -> None:
        self._publish, self._id, self._is_shown = publish, uuid.uuid4().hex, False

    def show(self, text: str) -> None:
        """Replace the text by another one."""
        self._publish({"text/plain": text}, transient={"display_id": self._id}, update=self._is_shown)
        self._is_shown = True

    def end(self) -> None:
        """Leave the text as it is."""


class Line:
    """A line that is written ten times a second at most, and whose last text is written at its end.

    Args:
        place: where it is.
        width: characters of the line.
    """

    def __init__(self, place: Shown, width: int) -> None:
        self._place, self._width = place, width
        self._at, self._waiting, self._is_shown = -_PERIOD, "", False

    def show(self, text: str) -> None:
        """Show a text in place of the one before."""
        self._waiting = text
        if time.monotonic() - self._at >= _PERIOD:
            self._write()

    def end(self) -> None:
        """Show the last text, and end the line."""
        if self._waiting:
            self._write()
        if self._is_shown:
            self._place.end()
            self._is_shown = False

    def _write(self) -> None:
        self._at, self._is_shown = time.monotonic(), True
        self._place.show(visible_name(self._waiting)[: self._width])
        self._waiting = ""


def line_of(stream: TextIO) -> Line | None:
    """Return a line for progress, in the notebook that runs this program or on the terminal of a stream; else None.

    IPython is not imported: a program that runs in a notebook has imported it.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    if shell is not None and hasattr(shell, "kernel"):
        return Line(_NotebookLine(shell.display_pub.publish), sys.maxsize)
    if not stream.isatty():
        return None
    # The last column stays empty: some terminals start a new line as soon as it is filled.
    return Line(TerminalLine(stream), max(shutil.get_terminal_size().columns - 1, 1))
