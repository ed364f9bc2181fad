"""Rows of a benchmark's runs in a file of JSON, and their tables in a page."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

# Points that a curve keeps in the file, besides those that have a score where others have none; digits of its numbers.
POINTS = 120
DIGITS = 10


class Rows:
    """Rows in a file of JSON, which is written after each.

    A row is made once: what the file holds already is not run again, so a script that was interrupted goes on where it
    stopped.

    Args:
        path: of the file; None for none.
    """

    def __init__(self, path: str | None) -> None:
        self.path = Path(path) if path else None
        self.rows: list[dict[str, Any]] = json.loads(self.path.read_text()) if self.path and self.path.exists() else []

    def find(self, wanted: dict[str, Any]) -> dict[str, Any] | None:
        """The row with these entries."""
        return next((row for row in self.rows if wanted.items() <= row.items()), None)

    def add(self, row: dict[str, Any]) -> dict[str, Any]:
        """Keep the row, and return it as it is kept."""
        row = {name: kept(value) for name, value in row.items()}
        self.rows.append(row)
        if self.path:
            new = self.path.with_name(f"{self.path.name}.new")
            lines = (json.dumps(row, separators=(",", ":")) for row in self.rows)
            new.write_text("[\n" + ",\n".join(lines) + "\n]\n")
            new.replace(self.path)
        return row

    def made(self, wanted: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The row with these entries, made and kept if there is none."""
        return self.find(wanted) or self.add(wanted | make())

    def drop(self, row: dict[str, Any]) -> None:
        """Take a row out, to make it anew."""
        self.rows.remove(row)


def kept(value: Any) -> Any:
    """A value as it goes into the file: numbers rounded, long lists of points thinned."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): kept(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        points = thinned(value) if value and isinstance(value[0], (list, tuple)) else value
        return [kept(inner) for inner in points]
    return value


def thinned(points: Sequence[Any]) -> list[Any]:
    """Points at even distances, the first and the last among them.

    A course ends its points with a score that is measured now and then, and with None elsewhere. Points with a score
    stay, because there are few of them.
    """
    scored = [at for at, point in enumerate(points) if point[-1] is not None]
    at = evenly(range(len(points)))
    return [points[i] for i in sorted({*at, *evenly(scored)} if len(scored) < len(points) else at)]


def evenly(numbers: Sequence[int]) -> Sequence[int]:
    """At most ``POINTS`` of the numbers."""
    if len(numbers) <= POINTS:
        return numbers
    step = (len(numbers) - 1) / (POINTS - 1)
    return [numbers[round(at * step)] for at in range(POINTS)]


def markdown(heads: list[str], lines: list[list[Any]]) -> str:
    """A table; numbers are to the right, long texts to the left, and None is a dash."""
    cells = [["-" if cell is None else str(cell) for cell in line] for line in lines]
    texts = ["| " + " | ".join(line) + " |" for line in (heads, *cells)]
    columns = list(zip(*cells, strict=True))[1:] or [()] * (len(heads) - 1)
    rules = [" --- |" if any(len(cell) > 24 for cell in column) else " ---: |" for column in columns]
    return "\n".join([texts[0], "| --- |" + "".join(rules), *texts[1:]])


def fill(page: Path, kind: str, name: str, text: str) -> None:
    """Replace what is between the page's marks, if it has them."""
    begin, end = f"<!-- {kind}: {name} -->\n", f"\n<!-- end of {kind}: {name} -->"
    before, mark, rest = page.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if mark and ended:
        page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
