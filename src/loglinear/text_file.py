"""Whole small texts, such as templates and traces, and files of another kind than expected."""

from __future__ import annotations

import os
from typing import Protocol

from . import _core
from .errors import DataError
from .visible import encodable

__all__ = ["ReadsOnce", "not_a", "read_text"]

# Number of bytes that are read together.
_TOGETHER = 1 << 20
# Number of first bytes that tell what a file is.
_LOOKED_AT = 4096


class ReadsOnce(Protocol):
    """An open file of bytes."""

    def read1(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes, as soon as there are some; none at the end of the file."""


def read_text(path: str | os.PathLike[str]) -> bytes:
    """Return the text of a file as bytes, decompressed if need be.

    Raises:
        DataError: the file is not text; its compressed data are damaged, or have more text than a sentence may have.
        OSError: the file cannot be read.
    """
    name, most = encodable(os.fspath(path)), _core.max_sentence()
    parts, size = list[bytes](), 0
    with open(path, "rb") as file:
        reader = _core.TextReader(file, name)
        while part := reader.read1(_TOGETHER):
            parts.append(part)
            size += len(part)
            if size > most << 20:
                message = f"{name}: the file has more than {most} MiB of text; give a smaller file"
                raise DataError(message)
    return b"".join(parts)


def not_a(wanted: str, path: str, remedy: str) -> str | None:
    """Return a message that says what a file is; None if it is not a file, or its first bytes do not tell.

    Args:
        wanted: what the file was expected to be.
        path: the file.
        remedy: what to do, unless the file can be unpacked.

    Raises:
        OSError: the file cannot be read.
    """
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return _core.not_a(wanted, encodable(path), file.read(_LOOKED_AT), remedy)
