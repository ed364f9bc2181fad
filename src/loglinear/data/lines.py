"""Lines of a file, compressed or not, or of standard input."""

from __future__ import annotations

import gzip
import lzma
import sys
import zlib
from collections.abc import Iterator
from typing import Any

from ..errors import DataError

__all__ = ["file_name", "read_lines"]


def file_name(path: str) -> str:
    """Return the name of a file for messages."""
    return "<stdin>" if path == "-" else path


def read_lines(path: str) -> Iterator[bytes]:
    r"""Yield lines with their ends, b"\n"; gzip and xz are recognised by their first bytes, `-` is standard input.

    Raises:
        DataError: compressed data are damaged or cut short.
        OSError: the file cannot be read.
    """
    if path == "-":
        yield from _lines(sys.stdin.buffer, "<stdin>")
        return
    with open(path, "rb") as file:
        yield from _lines(file, path)


def _lines(file: Any, name: str) -> Iterator[bytes]:
    """Yield the lines of an open file, decompressed if need be."""
    start = file.peek(6)
    if start.startswith(b"\x1f\x8b"):
        file = gzip.open(file)
    elif start.startswith(b"\xfd7zXZ\x00"):
        file = lzma.open(file)
    try:
        yield from file
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        message = f"{name}: the compressed data is damaged or cut short ({error})"
        raise DataError(message) from error
