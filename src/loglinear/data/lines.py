"""Lines of a file, compressed or not, or of standard input."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from typing import Any

from .. import _core
from ..errors import DataError
from ..text_file import ReadsOnce
from ..visible import encodable
from .column_layout import ColumnLayout
from .formats import Format, file_name
from .sentence_size import check_size

__all__ = [
    "arriving_lines",
    "decoded",
    "first_bytes",
    "is_rereadable",
    "read_lines",
    "sentence_lines",
]

# Approximate maximum of bytes of lines that are yielded together.
_TOGETHER = 1 << 20


def read_lines(path: str) -> Iterator[bytes]:
    r"""Yield lines with their ends, b"\n", decompressed if need be; `-` is standard input.

    Raises:
        DataError: the file is not text; compressed data are damaged or cut short; a line is too long.
        OSError: the file cannot be read.
    """
    if path == "-":
        yield from _lines(sys.stdin.buffer, path)
        return
    with open(path, "rb") as file:
        yield from _lines(file, path)


def arriving_lines(path: str) -> Iterator[list[bytes]]:
    """Yield the lines of a pipe or terminal as soon as they come, without their ends, all that are there together.

    Compressed data are read to their end first.

    Args:
        path: of the file; `-` is standard input.

    Raises:
        DataError: compressed data are damaged or cut short; a line is too long.
        OSError: the file cannot be read.
    """
    with open(0 if path == "-" else path, "rb", buffering=0, closefd=path != "-") as file:
        unread = b""
        while _core.is_compressed(unread) is None and (part := file.read(_TOGETHER)):
            unread += part
        if _core.is_compressed(unread):
            yield list(_lines(io.BytesIO(unread + file.read()), path))
            return
        part, n_lines = unread, 0
        while part:
            while len(unread) < _TOGETHER and _is_ready(file) and (part := file.read(_TOGETHER)):
                unread += part
            if not n_lines:
                _core.check_text(encodable(file_name(path)), unread)
            *lines, unread = unread.split(b"\n")
            if lines:
                yield lines
            n_lines += len(lines)
            check_size(file_name(path), len(unread), n_lines)
            part = file.read(_TOGETHER)
            unread += part
        if unread:
            yield [unread]


def _is_ready(file: io.FileIO) -> bool:
    """Whether bytes, or the end, can be read without waiting; False where the system cannot tell."""
    if os.name != "posix":
        return False
    import select

    return bool(select.select([file], [], [], 0)[0])


def first_bytes(file: ReadsOnce, path: str, size: int) -> bytes:
    """Return the first bytes of the text in an open file, decompressed if need be.

    Raises:
        DataError: the file is not text; its compressed data are damaged.
    """
    text, start = _core.TextReader(file, encodable(file_name(path))), b""
    while len(start) < size and (part := text.read1(size - len(start))):
        start += part
    return start


def is_rereadable(path: str) -> bool:
    """Whether a path is a file, which can be read more than once, unlike standard input or a pipe."""
    return path != "-" and os.path.isfile(path)


def decoded(line: bytes, name: str, number: int) -> str:
    """Return the text of a line with this number, from 1, of a file; without a byte order mark.

    Raises:
        DataError: the line is not UTF-8; names file and line.
    """
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = line[error.start]
        latin = f" ({chr(byte)} in Latin-1)" if chr(byte).isalnum() else ""
        remedy = "convert the file to UTF-8, for example with: iconv -f latin1 -t utf-8 FILE > NEW"
        message = f"{name}, line {number}: invalid UTF-8, byte 0x{byte:02x}{latin}; {remedy}"
        raise DataError(message) from error


def sentence_lines(path: str, format: Format, columns: ColumnLayout) -> Iterator[list[tuple[int, str]]]:
    """Yield the number, from 1, and the text of the lines of a file that may hold tokens, sentence by sentence."""
    lines: list[tuple[int, str]] = []
    n_bytes = 0
    for number, raw in enumerate(read_lines(path), start=1):
        line = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace").rstrip("\r\n")
        is_blank = not line.strip(" \t")
        lines += [] if is_blank or (not lines and columns.is_comment(line)) else [(number, line)]
        n_bytes = n_bytes + len(raw) if lines else 0
        check_size(file_name(path), n_bytes, lines[0][0] - 1 if lines else 0)
        if lines and (is_blank or format.is_sentence):
            yield lines
            lines = []
    if lines:
        yield lines


def _lines(file: Any, path: str) -> Iterator[bytes]:
    """Yield the lines of an open file. A line that is too long is refused before it is read to its end."""
    name = file_name(path)
    text = _core.TextReader(file, encodable(name))
    n_lines, start, size = 0, list[bytes](), 0
    while part := text.read1(_TOGETHER):
        end = part.rfind(b"\n") + 1
        if end:
            whole = b"".join([*start, part[:end]])
            yield from io.BytesIO(whole)
            n_lines, start, size = n_lines + whole.count(b"\n"), [], 0
        if end < len(part):
            start.append(part[end:])
            size += len(part) - end
            check_size(name, size, n_lines)
    if start:
        yield b"".join(start)
