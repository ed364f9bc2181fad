"""Sentences of a file as they are written there, to be written to another file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import DataError
from .column_layout import ColumnLayout
from .formats import Format, file_name
from .lines import decoded, read_lines

__all__ = ["Excerpt", "byte_order_mark", "excerpts", "lines_numbered", "together"]

_BOM = "\ufeff".encode()


class Excerpt(NamedTuple):
    """A sentence of a file.

    Attributes:
        line: number of its first line, from 1.
        words: the word of each token; None for a token without a word.
        raw: the comments before it and its lines, byte by byte, each with its end.
    """

    line: int
    words: list[str | None]
    raw: bytes


def excerpts(
    path: str, format: Format, columns: ColumnLayout, wanted: Sequence[int], n_sentences: int
) -> list[Excerpt]:
    """Return some sentences of a file.

    Args:
        path: of the file, compressed or not.
        format: of the file.
        columns: layout of a column file.
        wanted: numbers of the sentences, from 0; sentences without tokens do not count.
        n_sentences: number of sentences that the file has for a reader of its format.

    Raises:
        DataError: the file has another number of sentences.
        OSError: the file cannot be read.
    """
    chosen: dict[int, Excerpt] = {}
    needed, n = {*wanted}, 0
    for comments, lines in _sentences(path, format, columns):
        if n in needed:
            texts = (decoded(raw, file_name(path), number) for number, raw in lines)
            words = [word for text in texts for word in format.words(text.rstrip("\r\n"), columns)]
            chosen[n] = Excerpt(lines[0][0], words, comments + b"".join(raw for _, raw in lines))
        n += 1
    if n != n_sentences:
        message = (
            f"{file_name(path)}: the lines of its {n_sentences:,} sentences cannot be told apart; put single blank "
        )
        message += "lines between sentences"
        raise DataError(message)
    return [chosen[number] for number in wanted]


def lines_numbered(path: str, numbers: Collection[int]) -> dict[int, bytes]:
    """Return the lines of a file with these numbers, from 1, with their ends."""
    return {number: raw for number, raw in _lines(path) if number in numbers}


def together(excerpts: Iterable[Excerpt], format: Format, mark: bytes = b"") -> bytes:
    """Return the text of a file with these sentences, whose blank lines end as the lines before them.

    Args:
        excerpts: the sentences.
        format: of the file.
        mark: what the file begins with; see `byte_order_mark`.
    """
    raw = [excerpt.raw for excerpt in excerpts]
    return mark + b"".join(raw if format.is_sentence else [text + end_of_line(text) for text in raw])


def byte_order_mark(path: str) -> bytes:
    """Return the byte order mark that a text begins with; nothing if there is none."""
    return _BOM if next(read_lines(path), b"").startswith(_BOM) else b""


def end_of_line(line: bytes) -> bytes:
    """Return what the last line of a text ends with; a line feed if nothing ends it."""
    return b"\r\n" if line.endswith(b"\r\n") else b"\n"


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield number, from 1, and bytes of each line; the last one has an end, and the first one no byte order mark."""
    end = b"\n"
    for number, raw in enumerate(read_lines(path), start=1):
        line = raw.removeprefix(_BOM) if number == 1 else raw
        yield number, line if line.endswith(b"\n") else line.removesuffix(b"\r") + end
        end = end_of_line(line)


def _sentences(path: str, format: Format, columns: ColumnLayout) -> Iterator[tuple[bytes, list[tuple[int, bytes]]]]:
    """Yield the comments before each sentence that has tokens, and numbers and bytes of its lines.

    The comments are the lines that a column file skips before the sentence, with the blank lines between them.
    """
    lines: list[tuple[int, bytes]] = []
    comments, has_tokens = b"", False
    for number, raw in _lines(path):
        is_blank = not raw.strip(b" \t\r\n")
        text = "" if is_blank else raw.decode(errors="replace").rstrip("\r\n")
        if not lines and (columns.is_comment(text) if not is_blank else comments):
            comments += raw
        elif not is_blank:
            lines.append((number, raw))
            has_tokens = has_tokens or bool(format.words(text, columns))
        if is_blank or format.is_sentence:
            if has_tokens:
                yield comments, lines
                comments = b""
            lines, has_tokens = [], False
    if has_tokens:
        yield comments, lines
