"""The findings of an audit as a page on which a person decides: one HTML file, which needs only JavaScript."""

from __future__ import annotations

import json
from collections.abc import Sequence

from .style import filled, head

__all__ = ["audit_page"]


def audit_page(
    columns: Sequence[str], rows: Sequence[Sequence[str]], labels: Sequence[str], *, title: str, file: str, command: str
) -> bytes:
    """Return the content of the page; equal findings give equal pages.

    It shows each finding in its context, to accept, to correct or to reject, and saves the table with the decisions.

    Args:
        columns: names of the table's columns.
        rows: its cells, as they are written between tabs.
        labels: the labels to choose from.
        title: title of the page.
        file: name of the table that the page saves.
        command: how to apply the table.
    """
    data = {
        "title": title,
        "file": file,
        "command": command,
        "columns": list(columns),
        "rows": [list(row) for row in rows],
        "labels": list(labels),
    }
    # Text of the data cannot end the element that holds it.
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return filled("audit", {"head": head("Audit", "audit"), "data": text})
