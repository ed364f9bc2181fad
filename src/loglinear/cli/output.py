"""Tables of results, tab-separated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["tab_separated"]

# Names may hold what would break the table.
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r"})


def tab_separated(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lines of cells between tabs, the columns' names first."""
    return "".join("\t".join(cell.translate(_ESCAPES) for cell in line) + "\n" for line in (columns, *rows))
