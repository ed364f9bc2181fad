"""A look at the first lines of a file to label: whether whole sentences stand in lines, in place of tokens."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .output import say

if TYPE_CHECKING:
    from ..models.chain_file import ChainModel

__all__ = ["warn_of_whole_sentences"]

# Bytes to look at, and cells beyond those the model reads from which on a line looks like a sentence.
_LOOKED_AT = 1 << 16
_CELLS = 4
# The first bytes of gzip and xz files.
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ")


def warn_of_whole_sentences(path: str, model: ChainModel, settings: dict[str, Any]) -> None:
    """Warn if a file of columns seems to hold a sentence a line, which the model would take for one token each.

    There is a warning if the model was trained on sentences of several tokens, and every sentence of the file is a
    single line with at least four cells more than the model reads.

    Args:
        path: the file; `-` is standard input.
        model: a chain or a classifier.
        settings: of the model.
    """
    from ..data.formats import n_columns

    training = settings.get("training", {})
    if model.template is None or not training.get("n_tokens", 0) > training.get("n_sentences", 0):
        return
    columns = n_columns(model.template)
    start = _start_of_stdin() if path == "-" else _start_of(path)
    if start.startswith(_COMPRESSED):
        return
    lines = start.splitlines()
    if len(start) >= _LOOKED_AT:
        lines = lines[:-1]
    filled = [len(line.split()) for line in lines]
    several = any(cells and following for cells, following in pairwise(filled))
    if any(filled) and not several and min(cells for cells in filled if cells) >= columns + _CELLS:
        reads = "the first" if columns == 1 else f"the first {columns}"
        say(
            f"warning: every sentence of {'standard input' if path == '-' else path} is one line, of whose cells the "
            f"model reads {reads}: put a token on each line, and a blank line between sentences"
        )


def _start_of(path: str) -> bytes:
    """Return the first bytes of a file; none of a pipe, which can be read but once, or of a file that is not there."""
    if not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(_LOOKED_AT)
    except OSError:  # whoever reads the file says so
        return b""


def _start_of_stdin() -> bytes:
    """Return the first bytes of standard input, which is then a pipe with the same content."""
    if os.name != "posix":
        return b""
    import threading

    start = b""
    try:
        while len(start) < _LOOKED_AT and (part := os.read(0, _LOOKED_AT - len(start))):
            start += part
        source = os.dup(0)
    except OSError:  # closed: whoever reads it says so
        return b""
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    threading.Thread(target=_pass_on, args=(start, source, writing), daemon=True).start()
    return start


def _pass_on(start: bytes, source: int, target: int) -> None:
    """Write bytes to a pipe, and the rest of a file or pipe behind them."""
    with open(target, "wb", buffering=0) as out, open(source, "rb", buffering=0) as rest:
        try:
            out.write(start)
            while len(start) >= _LOOKED_AT and (part := rest.read(_LOOKED_AT)):
                out.write(part)
        except OSError:  # the reader has gone
            return
