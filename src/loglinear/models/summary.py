"""What notebooks show of an estimator, and a console of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TypeVar

from ..data.alike import shortened

__all__ = ["first_lines", "summary_html"]

T = TypeVar("T")

_STYLE = """<style>
.loglinear-estimator { font-family: system-ui, sans-serif; line-height: 1.4; max-width: 44rem; overflow-x: auto; }
.loglinear-estimator code { white-space: pre-wrap; }
.loglinear-estimator table { border-collapse: collapse; font-size: .9rem; }
.loglinear-estimator :is(th, td) { padding: .1rem .8rem .1rem 0; text-align: left; vertical-align: top; }
.loglinear-estimator th { font-weight: 400; opacity: .75; }
</style>"""


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
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>' for name, text in rows.items()
    )
    table = f"<table><tbody>{cells}</tbody></table>" if rows else "<p>not fitted yet</p>"
    return f'<div class="loglinear-estimator">{_STYLE}<code>{escape(call)}</code>{table}</div>'
