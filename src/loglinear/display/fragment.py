"""HTML of notebooks and pages: one style, and texts of data that are shown and not obeyed."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path

from ..visible import encodable, visible_name

__all__ = ["in_notebook", "notebook_style", "shown"]


@cache
def notebook_style() -> str:
    """Return the style sheet of what is inside an element of the class `loglinear`."""
    return Path(__file__).with_name("notebook.css").read_text(encoding="utf-8")


def in_notebook(html: str, style: str = "") -> str:
    """Return HTML with the style that it needs anywhere.

    Args:
        html: the HTML.
        style: a style sheet in place of `notebook_style`, which contains it.
    """
    return f'<div class="loglinear"><style>{style or notebook_style()}</style>{html}</div>'


def shown(text: str) -> str:
    """Return a text of data or of a model as HTML: markup and control characters are shown, not obeyed."""
    return escape(encodable(visible_name(text)))
