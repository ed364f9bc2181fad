"""What notebooks show of an estimator, and a console of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..display.fragment import in_notebook, shown
from ..display.table import facts
from ..visible import shortened

__all__ = ["first_lines", "summary_html"]

T = TypeVar("T")

# Items that a console shows, and characters of each.
_SHOWN, _WIDTH = 5, 120


def first_lines(title: str, items: Sequence[T], line_of: Callable[[T], str]) -> str:
    """Return what a console shows of a result: a title and a line for each of the first items.

    Args:
        title: what the result is, and how many items it has.
        items: the items.
        line_of: returns the line of an item, which is cut to the width of a console.
    """
    lines = [f"  {shortened(line_of(item).replace(chr(10), ' '), _WIDTH)}" for item in items[:_SHOWN]]
    if len(items) > _SHOWN:
        lines.append(f"  and {len(items) - _SHOWN:,} more")
    return "\n".join([f"<{title}>", *lines])


def summary_html(call: str, rows: dict[str, str]) -> str:
    """Return an estimator as HTML: the call that makes it and, if it is fitted, a table of what training has given."""
    table = facts(rows, "trained model") if rows else '<p class="soft">not fitted yet</p>'
    return in_notebook(f"<code>{shown(call)}</code>{table}")
