"""Formats of figures, and files of figures that are equal for equal numbers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import Any

from ..errors import OptionError
from ..extras import needed_by

__all__ = ["FORMATS", "check_figure", "is_figure", "is_page", "new_figure", "of_matplotlib", "written"]

FORMATS = ("svg", "png", "pdf")
# Fonts with Chinese, Japanese and Korean letters of Linux, macOS and Windows.
_EASTERN = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic"),
)
# Dots of an inch of .png, as printers need them.
_DOTS = 300


def of_matplotlib(name: str) -> Any:
    """Return a module of matplotlib by its name.

    An import statement would make type checkers read all of matplotlib for every program with loglinear.
    """
    import_module("matplotlib")
    return import_module(f"matplotlib.{name}")


def check_figure(path: str, *, pages: bool = False) -> None:
    """Raise OptionError if the name has no known format; with ``pages`` .html is one too."""
    formats = (*FORMATS, "html") if pages else FORMATS
    if _format(path) not in formats:
        message = f"{path}: unknown figure format; the name must end in .{', .'.join(formats[:-1])} or .{formats[-1]}"
        raise OptionError(message)
    if is_page(path):
        return
    with needed_by(f"{path}: a figure"):
        of_matplotlib("figure")


def is_page(path: str) -> bool:
    """Whether a picture of this name is a page: its name ends in .html."""
    return _format(path) == "html"


def is_figure(path: str) -> bool:
    """Whether the name ends in the extension of a figure."""
    return _format(path) in FORMATS


def _format(path: str) -> str:
    return PurePath(path).suffix.removeprefix(".").lower()


@cache
def _families() -> list[str]:
    """Return matplotlib's own font and those installed for Chinese, Japanese and Korean letters, which it lacks."""
    names = set(of_matplotlib("font_manager").get_font_names())
    return ["DejaVu Sans", *(name for name in _EASTERN if name in names)]


@contextmanager
def new_figure(width: float, height: float, *, constrained: bool = True) -> Iterator[Any]:
    """Provide a matplotlib figure, to be drawn and written within the context; sizes are in inches."""
    style = {"svg.hashsalt": "loglinear", "font.size": 9.0, "font.family": _families()}
    with import_module("matplotlib").rc_context(style):
        yield of_matplotlib("figure").Figure(figsize=(width, height), layout="constrained" if constrained else None)


def written(figure: Any, path: str) -> bytes:
    """Return the content of the figure's file; the name decides the format."""
    content = io.BytesIO()
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(content, format=_format(path), dpi=_DOTS, metadata=dates.get(_format(path)))
    return content.getvalue()
