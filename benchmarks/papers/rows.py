"""Rows of a benchmark's runs in a file of JSON, and their tables in a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Rows:
    """Rows in a file of JSON, which is written after each.

    Args:
        path: of the file; None for none.
    """

    def __init__(self, path: str | None) -> None:
        self.path = Path(path) if path else None
        self.rows: list[dict[str, Any]] = json.loads(self.path.read_text()) if self.path and self.path.exists() else []

    def find(self, wanted: dict[str, Any]) -> dict[str, Any] | None:
        """The row with these entries."""
        return next((row for row in self.rows if wanted.items() <= row.items()), None)

    def add(self, row: dict[str, Any]) -> None:
        """Keep the row."""
        self.rows.append(row)
        if self.path:
            new = self.path.with_name(f"{self.path.name}.new")
            new.write_text(json.dumps(self.rows, indent=0))
            new.replace(self.path)


def markdown(heads: list[str], lines: list[list[Any]]) -> str:
    """A table; numbers are to the right, and None is a dash."""
    cells = [["-" if cell is None else str(cell) for cell in line] for line in lines]
    texts = ["| " + " | ".join(line) + " |" for line in (heads, *cells)]
    return "\n".join([texts[0], "| --- |" + " ---: |" * (len(heads) - 1), *texts[1:]])


def fill(page: Path, kind: str, name: str, text: str) -> None:
    """Replace what is between the page's marks, if it has them."""
    begin, end = f"<!-- {kind}: {name} -->\n", f"\n<!-- end of {kind}: {name} -->"
    before, mark, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    if mark:
        page.write_text(f"{before}{begin}\n{text}\n{end}{after}", encoding="utf-8")
