"""The style sheets of pages: that of all pages, with their colours, and those that some kinds of pages add."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ..display.fragment import notebook_style

__all__ = ["style_sheet"]


@cache
def style_sheet(name: str = "style") -> str:
    """Return a style sheet: "style" of whole pages, or an addition for "labelled" text, a "network" or an "audit"."""
    text = Path(__file__).with_name(f"{name}.css").read_text(encoding="utf-8")
    return notebook_style() + text if name == "labelled" else text
