"""Tables of notebooks, as HTML, and as data frames of pandas."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..extras import needed_by
from ..visible import counted, shortened, visible_name
from .fragment import shown

if TYPE_CHECKING:
    import pandas

__all__ = ["LISTED", "data_frame", "facts", "listing", "more", "screen"]

LISTED = 20
"""Rows of a table that a notebook shows."""
# Characters of a cell on a screen.
_WIDTH = 24


def facts(rows: Mapping[str, str], caption: str) -> str:
    """Return a table with a name and a text in each row, as HTML."""
    cells = (f'<tr><th scope="row">{shown(name)}</th><td>{shown(text)}</td></tr>' for name, text in rows.items())
    return f'<table class="facts"><caption>{shown(caption)}</caption><tbody>{"".join(cells)}</tbody></table>'


def listing(columns: Mapping[str, Sequence[str]], caption: str, *, texts: Container[str] = ()) -> str:
    """Return a table with a column of texts, which name the rows, and columns of numbers, as HTML.

    Args:
        columns: the cells of each column by its name.
        caption: what the table is.
        texts: names of other columns that contain texts.
    """
    first = next(iter(columns))
    left = {name: ' class="left"' if name == first or name in texts else "" for name in columns}
    head = "".join(f'<th scope="col"{left[name]}>{shown(name)}</th>' for name in columns)
    body = "".join(f"<tr>{_row(cells, list(left.values()))}</tr>" for cells in zip(*columns.values(), strict=True))
    title = f"<caption>{shown(caption)}</caption>"
    return f'<div class="scroll"><table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(cells: Iterable[str], left: Sequence[str]) -> str:
    (name, *others), (first, *sides) = cells, left
    numbers = "".join(f"<td{side}>{shown(cell)}</td>" for cell, side in zip(others, sides, strict=True))
    return f'<th scope="row"{first}>{shown(name)}</th>{numbers}'


def more(n: int, noun: str, where: str = "to_frame() has all", most: int = LISTED) -> str:
    """Return how many rows a table leaves out, as HTML; nothing if it has all.

    Args:
        n: number of rows.
        noun: what a row is.
        where: where the others are.
        most: rows of the table.
    """
    return f'<p class="soft">… and {counted(n - most, f"more {noun}")}; {where}</p>' if n > most else ""


def screen(title: str, columns: Mapping[str, Sequence[str]], n: int, noun: str) -> str:
    """Return a title and a line for each row of a table, as text that fits a screen.

    Args:
        title: of the table.
        columns: the cells of each column by its name; a cell has 24 characters at most.
        n: number of rows, of which the columns may have the first ones.
        noun: what a row is.
    """
    cells = [[shortened(visible_name(cell), _WIDTH) for cell in column] for column in columns.values()]
    widths = [max(map(len, column), default=0) for column in cells]
    rows = zip(*cells, strict=True)
    lines = ["  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    rest = [f"… and {counted(n - len(lines), f'more {noun}')}"] if n > len(lines) else []
    return "\n".join([title, *(f"  {line}".rstrip() for line in [*lines, *rest])])


def data_frame(user: str, columns: Mapping[str, Sequence[Any]], index: str | None = None) -> pandas.DataFrame:
    """Return a data frame of pandas.

    Args:
        user: the method that returns it, for messages.
        columns: values of each column by its name.
        index: name of the column that becomes the index.

    Raises:
        MissingPackageError: pandas is not installed.
    """
    with needed_by(user):
        import pandas
    frame = pandas.DataFrame(dict(columns))
    return frame if index is None else frame.set_index(index)
