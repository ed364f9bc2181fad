"""Output of commands: tables, tab-separated, for standard output or a file; messages; models after Ctrl-C."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ..visible import counted, visible_name
from .wrapping import fitted

__all__ = ["Interrupted", "bias_text", "keeping_reached", "say", "sizes", "tab_separated"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or a signal has ended the work early, and the results so far have been written, if there are any.

    Args:
        places: files that were written.
        way_on: how to continue.
        is_early: whether no iteration was complete, so that nothing was written.
    """

    def __init__(self, places: Sequence[str] = (), way_on: str = "", *, is_early: bool = False) -> None:
        outcome = f"wrote {', '.join(places)} with" if places else "the output has"
        outcome = f"interrupted; {outcome} the weights reached so far"
        if is_early:
            outcome = "interrupted before the first iteration was complete; no model was written"
        super().__init__(f"{outcome}{f'; {way_on}' if way_on else ''}")


def say(message: str) -> None:
    """Print a message to stderr, wrapped to the width of a terminal."""
    sys.stderr.write(f"{fitted(message, sys.stderr)}\n")  # in one piece: other threads may print, too
    sys.stderr.flush()


@contextmanager
def keeping_reached(estimator: object) -> Iterator[None]:
    """Go on after Ctrl-C in the block if the estimator holds weights that its training has reached."""
    try:
        yield
    except KeyboardInterrupt:
        if "_results" not in vars(estimator):
            raise


def sizes(name: str, numbers: Mapping[str, int]) -> str:
    """Return a line on the sizes of data, which are given by their nouns."""
    return f"{name}: {', '.join(counted(number, noun) for noun, number in numbers.items())}"


def tab_separated(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return lines of cells between tabs, the columns' names first; control characters in cells are escaped."""
    return "".join("\t".join(visible_name(cell) for cell in line) + "\n" for line in (columns, *rows))


def bias_text(bias: Mapping[str, float]) -> str:
    """Return biases of labels as the flag takes them."""
    return " ".join(shlex.quote(f"{visible_name(label)}={score:g}") for label, score in bias.items())
