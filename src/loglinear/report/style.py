"""The style sheets of pages, that of all pages with their colours and those of some kinds of pages; their frames."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..display.fragment import notebook_style

__all__ = ["filled", "head", "style_sheet"]

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="loglinear">
<title>{title}</title>
<style>
{style}</style>
</head>"""


@cache
def style_sheet(name: str = "style") -> str:
    """Return a style sheet: "style" of whole pages, or an addition for "labelled" text, a "network" or an "audit"."""
    text = Path(__file__).with_name(f"{name}.css").read_text(encoding="utf-8")
    return notebook_style() + text if name == "labelled" else text


def head(title: str, *styles: str) -> str:
    """Return the beginning of a page, up to its body.

    Args:
        title: of the page, as HTML.
        styles: names of style sheets besides that of all pages.
    """
    return _HEAD.format(title=title, style="".join(map(style_sheet, ("style", *styles))))


def filled(name: str, parts: Mapping[str, str]) -> bytes:
    """Return a page, "network" or "audit", with its parts in place of their names in double braces.

    A text of the data that looks like the name of a part stays as it is.
    """
    head, *rest = Path(__file__).with_name(f"{name}.html").read_text(encoding="utf-8").split("{{ ")
    page = head + "".join(parts[part] + text for part, text in (piece.split(" }}", 1) for piece in rest))
    return page.encode("utf-8", errors="replace")
