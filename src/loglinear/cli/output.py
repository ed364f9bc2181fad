"""Output of commands: tables, tab-separated, for standard output or a file; messages for standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

__all__ = ["say", "tab_separated"]

# Names may hold what would break the table.
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


def say(message: str) -> None:
    """Print a line to stderr."""
    print(message, file=sys.stderr, flush=True)


def tab_separated(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return lines of cells between tabs, the columns' names first."""
    return "".join("\t".join(cell.translate(_ESCAPES) for cell in line) + "\n" for line in (columns, *rows))
