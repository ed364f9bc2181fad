"""What notebooks show of an estimator, and a console of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..display.fragment import in_notebook, shown
from ..display.table import facts
from ..visible import counted, shortened

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


def summary_html(call: str, rows: dict[str, str], attributes: Mapping[str, object]) -> str:
    """Return an estimator as HTML: the call that makes it and, if it is fitted, a table of what training has given.

    Args:
        call: the call.
        rows: what training has given.
        attributes: fitted attributes, of which a folded table shows the types, and the shapes of arrays.
    """
    if not rows:
        return in_notebook(f'<code>{shown(call)}</code><p class="soft">not fitted yet</p>')
    kinds = facts({name: _kind_of(value) for name, value in attributes.items()}, "types and shapes")
    folded = f"<details><summary>fitted attributes</summary>{kinds}</details>"
    return in_notebook(f"<code>{shown(call)}</code>{facts(rows, 'trained model')}{folded}")


def _kind_of(value: Any) -> str:
    """Return the type of an attribute, the shape of an array, the length of a list, and a number itself."""
    kind = type(value).__name__
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{kind} of {value.dtype}, shape {value.shape}"
    if isinstance(value, (list, tuple, dict)):
        return f"{kind} of {counted(len(value), 'item')}"
    return f"{value!r}" if isinstance(value, (int, float, str, type(None))) else kind
