"""A reader of HTML pages that insists on balanced tags and on headings in order, and collects what pages hold."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise

# Elements that have no end.
_VOID = {"meta", "link", "br", "hr", "img", "input"}
# Elements of SVG that are closed where they begin.
_RAW = {"script", "style"}


class Page(HTMLParser):
    """A page.

    Attributes:
        elements: names of elements and their attributes, in the order of the page.
        text: all text but scripts and style sheets.
        tables: rows of each table, lists of the texts of their cells, by caption.
    """

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.tables = [], "", {}
        self._open, self._caption, self._rows = [], "", []
        assert html.startswith("<!DOCTYPE html>")
        self.feed(html)
        self.close()
        assert self._open == []
        levels = [int(tag[1]) for tag, _ in self.elements if tag in ("h1", "h2", "h3")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in pairwise(levels))

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "table":
            self._caption, self._rows = "", []
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag, self.getpos()
        if tag == "table":
            assert self._caption
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if not _RAW & {*self._open}:
            self.text += data
        if "caption" in self._open:
            self._caption += data
        elif "td" in self._open or "th" in self._open:
            self._rows[-1][-1] += data

    def check_alone(self):
        """Check that nothing is fetched: no address but of places in the page."""
        for tag, attributes in self.elements:
            assert tag not in ("link", "img", "iframe", "object", "base"), tag
            for name, value in attributes.items():
                assert name not in ("src", "srcset", "action", "data"), (tag, name)
                assert name != "xlink:href" or value.startswith("#"), (tag, value)
                assert name != "href" or value.startswith("#"), (tag, value)
                assert not name.startswith("on"), (tag, name)
