"""Tables of scores and of confusions as text that fits a terminal: long names lose their middle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loglinear.display_width import display_width, padded, without_middle
from loglinear.visible import visible_name

__all__ = ["confusion_matrix", "most_frequent_confusions", "score_table"]

# Columns that the numbers of a table of scores take, and fewest columns of the names before them.
_NUMBERS, _NAMES = 35, 18
# Number of confusions that a list has, and fewest columns of a name in it.
_N_CONFUSIONS, _LEAST = 20, 12

Confusions = Mapping[Any, Mapping[Any, int]]


def score_table(title: str, rows: Iterable[tuple[Any, Mapping[str, Any]]], width: int) -> list[str]:
    """Return lines with the scores of each row, in per cent.

    Args:
        title: of the names.
        rows: names with precision, recall, f1 and support.
        width: columns of the terminal.
    """
    most = max(width - _NUMBERS, _NAMES)
    cells = [(without_middle(_shown(name), most), scores) for name, scores in rows]
    wide = max([_NAMES, display_width(title), *(display_width(name) for name, _ in cells)])
    return [f"{padded(title, wide)} {'precision':>9} {'recall':>7} {'F':>7} {'support':>8}"] + [
        f"{padded(name, wide)} {100 * row['precision']:9.2f} {100 * row['recall']:7.2f} "
        f"{100 * row['f1']:7.2f} {row['support']:8d}"
        for name, row in cells
    ]


def confusion_matrix(labels: Sequence[Any], confusion: Confusions, width: int) -> list[str]:
    """Return lines with the number of tokens by gold and predicted label; none if they are wider than the terminal."""
    names = [_shown(label) for label in labels]
    lines = _aligned(["", *names], left=True)
    for label, name in zip(labels, names, strict=True):
        cells = [str(confusion.get(gold, {}).get(label, ".")) for gold in labels]
        lines = [f"{line}  {cell}" for line, cell in zip(lines, _aligned([name, *cells]), strict=True)]
        if display_width(lines[0]) > width:
            return []
    return ["confusions: rows gold, columns predicted", *lines] if names else []


def most_frequent_confusions(confusion: Confusions, width: int) -> list[str]:
    """Return lines with the 20 most frequent confusions of labels; none without errors."""
    confusions = [(n, g, p) for g, row in confusion.items() for p, n in row.items() if g != p]
    if not confusions:
        return []
    most = sorted(confusions, key=lambda confusion: -confusion[0])[:_N_CONFUSIONS]
    covered, errors = sum(n for n, _, _ in most), sum(n for n, _, _ in confusions)
    number = f"{covered:,} of {errors:,} errors"
    title = [f"confusions: {number}"]
    if len(most) < len(confusions):
        part = f"the {len(most)} most frequent confusions of {len(confusions):,}:"
        title = [f"{part} {number}"] if len(part) + len(number) < width else [part, number]
    numbers = _aligned(["number", *(f"{n:,}" for n, _, _ in most)])
    wide = max((width - len(numbers[0]) - 4) // 2, _LEAST)
    columns = [
        _aligned(["gold", *(without_middle(_shown(g), wide) for _, g, _ in most)], left=True),
        _aligned(["predicted", *(without_middle(_shown(p), wide) for _, _, p in most)], left=True),
        numbers,
    ]
    return [*title, *map("  ".join, zip(*columns, strict=True))]


def _aligned(cells: Sequence[str], *, left: bool = False) -> list[str]:
    """Return the cells of a column, filled up with blanks to its width."""
    width = max(map(display_width, cells))
    return [padded(cell, width, right=not left) for cell in cells]


def _shown(label: object) -> str:
    return visible_name(str(label))
