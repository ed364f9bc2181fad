"""What a paper's script finds: rows in a file of JSON, tables in the paper's page, figures beside it.

A row is made once: what the file holds already is not run again, so a script that was interrupted goes on where it
stopped. Tables go between the marks ``<!-- table: NAME -->`` and ``<!-- end of table: NAME -->`` of the page, so that no
figure in them is typed by hand.
"""

from __future__ import annotations

import json
import math
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# Points that a curve keeps in the file, and digits of its numbers.
POINTS = 120
DIGITS = 10


class Report:
    """Rows, tables and figures of one paper.

    Args:
        name: of the paper; its page is ``NAME.md`` in the folder of the figures.
        arguments: with ``json``, the path of the file of rows, and ``figures``, the folder; None for neither.
    """

    def __init__(self, name: str, arguments: Namespace) -> None:
        self.path = Path(arguments.json) if arguments.json else None
        self.folder = Path(arguments.figures) if arguments.figures else None
        self.page = self.folder / f"{name}.md" if self.folder else None
        self.rows: list[dict[str, Any]] = json.loads(self.path.read_text()) if self.path and self.path.exists() else []

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)

    def find(self, wanted: dict[str, Any]) -> dict[str, Any] | None:
        """The row with these entries."""
        return next((row for row in self.rows if wanted.items() <= row.items()), None)

    def made(self, wanted: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The row with these entries, made and written to the file if there is none."""
        row = self.find(wanted)
        if row is None:
            row = wanted | {name: kept(value) for name, value in make().items()}
            self.rows.append(row)
            self.write()
        return row

    def drop(self, row: dict[str, Any]) -> None:
        """Take a row out, to make it anew."""
        self.rows.remove(row)

    def write(self) -> None:
        """Write the rows to the file, a line each."""
        if self.path:
            new = self.path.with_name(f"{self.path.name}.new")
            new.write_text("[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in self.rows) + "\n]\n")
            new.replace(self.path)

    def table(self, name: str, heads: list[str], lines: list[list[Any]], before: str = "") -> None:
        """Print a table, with a sentence before it, and put both between the marks of this name in the page."""
        self.text(name, f"{before}\n\n{markdown(heads, lines)}" if before else markdown(heads, lines))

    def claims(self, name: str, lines: list[tuple[str, str, bool | None]]) -> None:
        """A table of what the paper says, the figures that bear on it here, and whether it holds; None for partly."""
        verdict = {True: "yes", False: "no", None: "in part"}
        self.table(name, ["the paper says", "here", "holds"], [[says, here, verdict[held]] for says, here, held in lines])

    def text(self, name: str, text: str) -> None:
        """Print a text and put it between the marks of this name in the page, if the page has them."""
        self.say(f"\n{name}\n\n{text}\n")
        if not (self.page and self.page.exists()):
            return
        begin, end = f"<!-- table: {name} -->\n", f"\n<!-- end of table: {name} -->"
        before, mark, rest = self.page.read_text(encoding="utf-8").partition(begin)
        _, ended, after = rest.partition(end)
        if mark and ended:
            self.page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")

    def figure(self, kind: str, name: str, *content: Any, **options: Any) -> None:
        """Draw ``NAME.svg``, if figures are wanted, with the function ``kind`` of ``figures``."""
        if self.folder:
            import figures

            getattr(figures, kind)(*content, self.folder / f"{name}.svg", **options)


def kept(value: Any) -> Any:
    """A value as it goes into the file: numbers rounded, long lists of points thinned; the last point stays."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): kept(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        if len(value) > POINTS and isinstance(value[0], (list, tuple)):
            step = (len(value) - 1) / (POINTS - 1)
            value = [value[round(at * step)] for at in range(POINTS)]
        return [kept(inner) for inner in value]
    return value


def markdown(heads: list[str], lines: list[list[Any]]) -> str:
    """A table; numbers are to the right, texts to the left, and None is a dash."""
    cells = [["-" if cell is None else str(cell) for cell in line] for line in lines]
    texts = ["| " + " | ".join(line) + " |" for line in (heads, *cells)]
    rules = (" --- " if any(len(cell) > 24 for cell in column) else " ---: " for column in zip(*cells, strict=True))
    return "\n".join([texts[0], "| --- |" + "|".join(list(rules)[1:]) + "|", *texts[1:]])
