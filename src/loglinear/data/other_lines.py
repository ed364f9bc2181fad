"""Lines of column files that hold no token, such as a comment or a tag of XML, and labels in the first column."""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING

from .formats import FORMATS
from .lines import is_rereadable, sentence_lines

if TYPE_CHECKING:
    from .. import _core
    from .column_layout import ColumnLayout

__all__ = ["other_lines"]

# Sentences at the beginning of a file that show what its columns hold.
_SENTENCES = 100
_MARKUP = re.compile(r"</?[A-Za-z][^<>]*[ \t][^<>]*>")
_CHUNK = re.compile(r"[BIESLUM][-_]\w.*")


def other_lines(path: str, core: _core.Corpus, n_comments: int, columns: ColumnLayout) -> list[str]:
    """Return a message about each kind of lines in a labelled column file that are probably no tokens.

    Args:
        path: the file; standard input and pipes cannot be read again.
        core: its sentences.
        n_comments: number of sentences that begin with what looks like a comment.
        columns: layout of the file.
    """
    labels = core.labels
    if not labels or not is_rereadable(path):
        return []
    messages = []
    if n_comments == 1 or any(label.endswith(">") for label in labels):
        counts = dict(zip(labels, core.label_counts(), strict=True))
        messages += _odd_line(path, columns, counts, look_for_comment=n_comments == 1)
    if columns.label == -1 and not any(map(_CHUNK.fullmatch, labels)):
        messages += _first_column(path, columns, len(labels))
    if all("_" in label for label in labels):
        messages += _joined(path, columns)
    return messages


def _odd_line(path: str, columns: ColumnLayout, counts: dict[str, int], *, look_for_comment: bool) -> list[str]:
    """Return a message about the first line that is a comment with a label of its own, or a tag of XML."""
    for lines in sentence_lines(path, FORMATS["columns"], columns):
        number, first = lines[0]
        if look_for_comment and first.startswith("#") and counts.get(columns.cells(first)[-1]) == 1:
            where = f"line {number:,} looks like a comment ({first.strip()!r}), which is read as a token"
            return [f"{where}; skip such lines with skip_comments=True (--skip-comments)"]
        for number, line in lines:
            if _MARKUP.fullmatch(line.strip()):
                return [f"line {number:,} looks like markup ({line.strip()!r}), which is read as a token; remove it"]
    return []


def _first_column(path: str, columns: ColumnLayout, n_labels: int) -> list[str]:
    """Return a message if the first column has the labels of a tagging scheme, and the last one has other values."""
    values = {cells[0] for cells in _first_cells(path, columns)}
    if len(values) > n_labels or not all(cell == "O" or _CHUNK.fullmatch(cell) for cell in values):
        return []
    if "O" not in values and not any(cell.startswith("B") for cell in values):
        return []
    return ["column 0 looks like the labels, and the last column like words; add label_column=0 (--label-column 0)"]


def _joined(path: str, columns: ColumnLayout) -> list[str]:
    """Return a message if every cell of the first sentences is a word and a label with `_` between them."""
    cells = [cell for line in _first_cells(path, columns) for cell in line]
    if not all("_" in cell[1:-1] for cell in cells):
        return []
    return [f"every cell looks like {cells[0]!r}: put one token per line, in the columns token and label"]


def _first_cells(path: str, columns: ColumnLayout) -> list[list[str]]:
    """Return the cells of the lines of the first sentences."""
    sentences = islice(sentence_lines(path, FORMATS["columns"], columns), _SENTENCES)
    return [columns.cells(line) for _, line in chain.from_iterable(sentences)]
