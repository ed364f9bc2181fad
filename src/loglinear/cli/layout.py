"""A look at a file to label: do its lines hold what the model reads?"""

from __future__ import annotations

import os
import stat
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from .output import say

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..models.files.chain import ChainModel

__all__ = [
    "LOOKED_AT",
    "is_regular",
    "refuse_json_lines",
    "start_of",
    "warn_of_labels",
    "warn_of_missing_attributes",
    "warn_of_whole_sentences",
]

# Bytes to look at, and cells beyond those the model reads from which on a line looks like a sentence.
LOOKED_AT = 1 << 16
_CELLS = 4
# The first bytes of gzip and xz files.
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ")


def warn_of_whole_sentences(path: str, start: bytes, model: ChainModel, settings: dict[str, Any]) -> None:
    """Warn if a text of columns seems to hold a sentence a line, which the model would take for one token each.

    There is a warning if the model was trained on sentences of several tokens, and every sentence of the text is a
    single line with at least four cells more than the model reads.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
        model: a chain or a classifier.
        settings: of the model.
    """
    from ..data.formats import n_columns

    training = settings.get("training", {})
    if model.template is None or not training.get("n_tokens", 0) > training.get("n_sentences", 0):
        return
    columns = n_columns(model.template)
    if start.startswith(_COMPRESSED):
        return
    lines = start.splitlines()
    if len(start) >= LOOKED_AT:
        lines = lines[:-1]
    filled = [len(line.split()) for line in lines]
    several = any(cells and following for cells, following in pairwise(filled))
    if any(filled) and not several and min(cells for cells in filled if cells) >= columns + _CELLS:
        reads = "column 1" if columns == 1 else f"columns 1 to {columns}"
        say(
            f"warning: {'<stdin>' if path == '-' else path}: every sentence is a single line, of which the model reads "
            f"{reads}; put one token per line and a blank line between sentences"
        )


def refuse_json_lines(path: str, start: bytes) -> None:
    """Raise DataError if a text that is to be read as columns holds JSON lines.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
    """
    line = start.lstrip().partition(b"\n")[0].rstrip()
    if line.startswith(b"{") and b'"tokens"' in line:
        message = f"{'<stdin>' if path == '-' else path}: these are JSON lines, not columns; add --format jsonl"
        raise DataError(message)


def warn_of_missing_attributes(path: str, start: bytes) -> None:
    """Warn if the lines of an attribute file seem to hold no attributes, which makes all tokens alike.

    Args:
        path: the file, for the message; `-` is standard input.
        start: the first bytes of the text, or all of it.
    """
    if start.strip() and b"\t" not in start and not start.startswith(_COMPRESSED):
        say(
            f"warning: {'<stdin>' if path == '-' else path}: no token has an attribute; the model reads CRFsuite's "
            "format, a label and attributes between tabs"
        )


def warn_of_labels(name: str, texts: Sequence[str], labels: Collection[str]) -> None:
    """Warn if every text to label begins with a label and a tab, which the model takes for words.

    Args:
        name: what the message calls the file.
        texts: texts without labels.
        labels: of the model.
    """
    if all("\t" in text and text.partition("\t")[0] in labels for text in texts):
        say(
            f"warning: {name}: every line begins with a label, which is read as part of the text; use evaluate, or "
            "remove the labels"
        )


def is_regular(path: str) -> bool:
    """Whether a path is a regular file, not a pipe or a terminal. `-` is standard input."""
    try:
        return stat.S_ISREG(os.stat(0 if path == "-" else path).st_mode)
    except OSError:  # whoever reads the file says so
        return False


def start_of(path: str) -> bytes:
    """Return the first bytes of a regular file, without consuming them; `-` is standard input.

    Nothing is returned where that cannot be done.
    """
    try:
        if path == "-":
            return os.pread(0, LOOKED_AT, os.lseek(0, 0, os.SEEK_CUR)) if hasattr(os, "pread") else b""
        with open(path, "rb") as file:
            return file.read(LOOKED_AT)
    except OSError:  # whoever reads the file says so
        return b""
