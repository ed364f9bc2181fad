"""Header lines of tables, which a column file does not have: names of columns in place of words and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .formats import FORMATS
from .lines import is_rereadable, sentence_lines

if TYPE_CHECKING:
    from .. import _core
    from .column_layout import ColumnLayout

__all__ = ["is_header", "odd_headers"]

_LABELS = frozenset(
    "label labels tag tags ne ner ner_tag ner_tags ner-tag bio_tag pos pos_tag pos_tags pos-tag upos xpos chunk entity "
    "entities class iob iob2 iobes bio bioes biluo bilou gold output target "
    "etiqueta etichetta etikett klasse classe clase categoria \u00e9tiquette \u6807\u7b7e \u6807\u6ce8 "
    "\u30e9\u30d9\u30eb \u043c\u0435\u0442\u043a\u0430 \u0442\u0435\u0433".split()
)
_WORDS = frozenset("word words token tokens form forms".split())
# Names of columns that are tags as well, such as a name in German treebanks: only a first line with them is a header.
_TAGS = frozenset(["ne"])
# Most tokens with such a label for which a file is read again: more are no headers.
_MOST = 50
# Lines that a message names.
_NAMED = 3


def is_header(line: str, columns: ColumnLayout) -> bool:
    """Whether a line has the names of columns in place of a word and its label, if it has one."""
    cells = columns.cells(line)
    names = {cell.lower() for cell in cells}
    return names in ({"token"}, {"tokens"}) or bool(names & _WORDS and names & _LABELS)


def odd_headers(path: str, core: _core.Corpus, columns: ColumnLayout) -> list[str]:
    """Return a message about the lines of a column file that look like a header, if there are any.

    Args:
        path: the file; of standard input or a pipe, only the first line is looked at.
        core: its sentences.
        columns: layout of the file.
    """
    labels = core.labels
    if not any(label.lower() in _LABELS for label in labels):
        return []
    counts = dict(zip(labels, core.label_counts(), strict=True))
    if not 0 < sum(counts[label] for label in labels if label.lower() in _LABELS) <= _MOST:
        return []
    if not is_rereadable(path):
        gold = core.select([0]).gold()
        label = gold[0][0] if gold else None
        lines = [1] if isinstance(label, str) and label.lower() in _LABELS - _TAGS and counts[label] == 1 else []
    else:
        lines, label = _header_lines(path, columns, counts)
    if not lines:
        return []
    if len(lines) == 1:
        where = "the first line has" if lines == [1] else f"line {lines[0]:,} has"
        return [f"{where} the label {label!r}: is it a header? remove it"]
    more = f"and {len(lines) - _NAMED:,} more" if len(lines) > _NAMED + 1 else ""
    numbers = [f"{number:,}" for number in (lines[:_NAMED] if more else lines)]
    listed = f"{', '.join(numbers)} {more}" if more else f"{', '.join(numbers[:-1])} and {numbers[-1]}"
    return [f"lines {listed} have the label {label!r}: are they headers? remove them"]


def _header_lines(path: str, columns: ColumnLayout, counts: dict[str, int]) -> tuple[list[int], str]:
    """Return the numbers of the lines that look like a header, from 1, and the label of the last one."""
    first, label = "", ""
    alike: list[int] = []
    named: list[int] = []
    for lines in sentence_lines(path, FORMATS["columns"], columns):
        for number, line in lines:
            first = first or line
            if line == first:
                alike.append(number)
            elif is_header(line, columns) and _label(line, columns).lower() not in _TAGS:
                named.append(number)
                label = _label(line, columns)
    name = _label(first, columns)
    is_name = name.lower() in _LABELS and (name.lower() not in _TAGS or is_header(first, columns))
    if is_name and counts.get(name) == len(alike):
        named, label = sorted(alike + named), name
    return named, label


def _label(line: str, columns: ColumnLayout) -> str:
    cells = columns.cells(line)
    at = columns.label_of(cells)
    return "" if at is None else cells[at]
