"""Lines of a file, compressed or not, or of standard input."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..errors import DataError
from .formats import Format

__all__ = ["arriving_lines", "decoded", "file_name", "line_of", "read_lines", "token_lines"]

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
# Approximate maximum of bytes of lines that are yielded together.
_TOGETHER = 1 << 20


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


def arriving_lines(path: str) -> Iterator[list[bytes]]:
    """Yield the lines of a pipe or terminal as soon as they come, without their ends, all that are there together.

    Compressed data are read to their end first.

    Args:
        path: of the file; `-` is standard input.

    Raises:
        DataError: compressed data are damaged or cut short.
        OSError: the file cannot be read.
    """
    with open(0 if path == "-" else path, "rb", buffering=0, closefd=path != "-") as file:
        unread = b""
        while any(magic.startswith(unread) for magic in (_GZIP, _XZ)) and (part := file.read(_TOGETHER)):
            unread += part
        if unread.startswith((_GZIP, _XZ)):
            yield list(_lines(io.BufferedReader(io.BytesIO(unread + file.read())), file_name(path)))
            return
        part = unread
        while part:
            while len(unread) < _TOGETHER and _is_ready(file) and (part := file.read(_TOGETHER)):
                unread += part
            *lines, unread = unread.split(b"\n")
            if lines:
                yield lines
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


def decoded(line: bytes, name: str, number: int) -> str:
    """Return the text of a line with this number, from 1, of a file; without a byte order mark.

    Raises:
        DataError: the line is not UTF-8; names file and line.
    """
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        message = f"{name}, line {number}: invalid UTF-8; convert the file to UTF-8 (for example with iconv)"
        raise DataError(message) from error


def token_lines(path: str, format: Format) -> Iterator[list[tuple[int, str | None]]]:
    """Yield the number of the line, from 1, and the word of each token of a file, sentence by sentence."""
    tokens: list[tuple[int, str | None]] = []
    for number, raw in enumerate(read_lines(path), start=1):
        line = raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="replace").rstrip("\r\n")
        is_blank = not line.strip(" \t")
        tokens += [] if is_blank else [(number, word) for word in format.words(line)]
        if tokens and (is_blank or format.is_sentence):
            yield tokens
            tokens = []
    if tokens:
        yield tokens


def line_of(path: str, format: Format, sentence: int, token: int) -> int | None:
    """Return the number, from 1, of the line of a token in a file of sentences; None if it cannot be told.

    Args:
        path: the file; standard input cannot be read again.
        format: of the file.
        sentence: number of the sentence, from 0.
        token: number of the token, from 0; a token after the last one stands for the last one.
    """
    sentences = token_lines(path, format) if path != "-" else iter(())
    lines = next(islice(sentences, sentence, None), None)
    return None if lines is None else lines[min(token, len(lines) - 1)][0]


def _lines(file: Any, name: str) -> Iterator[bytes]:
    """Yield the lines of an open file, decompressed if need be."""
    start = file.peek(6)
    if start.startswith(_GZIP):
        file = gzip.open(file)
    elif start.startswith(_XZ):
        file = lzma.open(file)
    try:
        yield from file
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        message = f"{name}: the compressed data is damaged or cut short ({error})"
        raise DataError(message) from error
