"""Pages as single HTML files that need nothing else: their templates, how these show numbers, and saving."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..calibration import floored
from ..data.writing import check_writable, write_text
from ..display.fragment import shown
from ..display.scores import per_cent
from ..extras import needed_by
from ..visible import encodable, visible
from .style import head

__all__ = ["HtmlPage", "check_report", "rendered"]

# Strength of the darkest cell of a table: text stays readable on it, on light and on dark pages.
_DARKEST = 0.55


def check_report(path: str | None = None) -> None:
    """Raise MissingPackageError without Jinja2, which makes the pages, or OptionError if the file cannot be written."""
    with needed_by("a report"):
        import jinja2  # noqa: F401
    if path not in (None, "-"):
        check_writable(str(path))


def rendered(
    template: str,
    title: str,
    *styles: str,
    filters: Mapping[str, Callable[[Any], Any]] = MappingProxyType({}),
    **values: object,
) -> str:
    """Return a page: a template of this folder with these values, in the style of reports and perhaps others.

    Args:
        template: name of the template.
        title: of the page.
        styles: names of more style sheets.
        filters: more filters of the template.
        values: of the template.

    Raises:
        MissingPackageError: Jinja2 is not installed.
    """
    check_report()
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": per_cent, "shade": _shade, "interval": _interval, "count": _count}
    environment.filters |= {"floored": floored, **filters}
    text = Path(__file__).with_name(f"{template}.html").read_text(encoding="utf-8")
    return encodable(visible(environment.from_string(text).render(head=Markup(head(shown(title), *styles)), **values)))


class HtmlPage:
    """What is a page: `save` writes it, and notebooks show it. Subclasses have a title and `html`."""

    title: str

    def html(self) -> str:
        """Return the page; equal contents give equal pages."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced whole or not at all.

        Raises:
            MissingPackageError: Jinja2 is not installed.
            OptionError: the file cannot be written.
            OSError: writing has failed.
        """
        check_report(os.fspath(path))
        write_text(os.fspath(path), self.html().encode("utf-8"))

    def _repr_html_(self) -> str:
        """Return the page in its own frame, so that its style does not affect the notebook."""
        page, title = escape(self.html()), escape(visible(self.title))
        return f'<iframe srcdoc="{page}" title="{title}" style="width:100%;height:40em;border:0"></iframe>'


def _count(number: object) -> str:
    return f"{number:,}" if isinstance(number, int) else str(number)


def _interval(ends: tuple[float, float]) -> str:
    return "–".join(map(per_cent, ends))


def _shade(value: float, largest: float) -> str:
    """Return the style of a cell: blue for positive, orange for negative values (Okabe & Ito 2008)."""
    share = min(abs(value) / largest, 1.0) if largest else 0.0
    colour = "0 114 178" if value >= 0.0 else "213 94 0"
    return f"background:rgb({colour} / {_DARKEST * share:.2f})"
