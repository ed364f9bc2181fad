r"""INCEpTION's and WebAnno's TSV 3: a document with tokens, and annotations in columns.

The header declares layers (`#T_SP=...NamedEntity|identifier|value`). Each sentence begins with its text in `#Text=`
lines. A line such as `1-2<TAB>4-8<TAB>Haag<TAB>PER[1]<TAB>` is a token: its number, its place, the word, and a cell for
each feature of each layer. `_` means that there is no annotation, `*` is an annotation without a value, and `A[1]|B[2]`
are two annotations. Lines with the same number in brackets belong to one annotation. Lines such as `1-2.1` are parts of
a token. Reserved characters have a backslash before them. Offsets count units of UTF-16.

The labels are the values of the layer NamedEntity; of a file without it, the values of its only layer made by a user.
The text between sentences is not in the file: each sentence becomes a line.

Source: INCEpTION's user guide, "WebAnno TSV 3.3 File format"; INCEpTION, inception-io-webanno-tsv.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from ...errors import DataWarning, warn
from ...visible import counted, listed
from ..formats import file_name, uncompressed
from ..lines import decoded, read_lines
from ..text_span import TextSpan
from .alignment import tokens_by_line
from .annotated_text import AnnotatedText, Utf16Offsets, by_position, checked_span, fail, quoted

__all__ = ["HEADER", "read", "written"]

HEADER = "#FORMAT=WebAnno TSV 3"
"""Beginning of a file of version 3."""

_ENTITIES = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
# Layers with this prefix describe tokens or syntax.
_BUILT_IN = "de.tudarmstadt.ukp.dkpro.core.api."
_ROW = re.compile(
    r"\d+-\d+(?P<part>\.\d+)?\t(?P<start>[0-9]{1,18})-(?P<end>[0-9]{1,18})\t(?P<word>[^\t]*)(?:\t(?P<cells>.*))?"
)
_ESCAPED = re.compile(r"\\(->|.)", re.DOTALL)
_RESERVED = re.compile(r"->|[\\\[\]|_;*\t\n\r]")
_LETTERS = {"t": "\t", "n": "\n", "r": "\r"}
# An annotation in a cell: a value, in which reserved characters are escaped, and perhaps a number in brackets.
_ANNOTATION = re.compile(r"(?P<value>(?:\\.|[^\\|\[])*)(?:\[(?P<number>[0-9]{1,18})\])?(?:\||$)")
# Characters between two sentences at most: blanks, which the file leaves out.
_MOST_BETWEEN = 1 << 20


class _Token(NamedTuple):
    """A line of a token, or of a part of one; offsets in units of UTF-16."""

    start: int
    end: int
    word: str
    is_part: bool
    cell: str
    line: int


class _Sentence(NamedTuple):
    """A sentence: its text and the lines of its tokens."""

    text: str
    tokens: list[_Token]


def read(path: str) -> list[AnnotatedText]:
    """Return the document of a file, as a list of one text.

    Raises:
        DataError: the file is not of version 3, or a line or a span is wrong; names file and line.

    Warns:
        DataWarning: relations and chains are left out.
    """
    name = file_name(path)
    lines: Iterator[tuple[int, str]] = (
        (number, decoded(raw, name, number).rstrip("\r\n")) for number, raw in enumerate(read_lines(path), 1)
    )
    number, first = next(lines, (1, ""))
    if not first.startswith(HEADER):
        problem = f"the first line is {quoted(first)}, not {HEADER}.x; export as WebAnno TSV v3.x"
        fail(f"{name}, line {number}", problem)
    header: list[str] = []
    for number, line in lines:
        if not line.startswith("#T_"):
            lines = chain([(number, line)], lines)
            break
        header.append(line)
    column, layer = _labelled_column(header, name)
    others = sum(line.startswith(("#T_RL=", "#T_CH=")) for line in header)
    if others:
        warn(f"{name}: {counted(others, 'layer')} of relations or chains left out; only spans are read", DataWarning)
    return [_document([*_sentences(lines, column, name)], layer, name)]


def _labelled_column(header: list[str], name: str) -> tuple[int, str]:
    """Return the number of the cell that holds the labels, and the name of its layer.

    Raises:
        DataError: no layer holds labels of spans, or several do.
    """
    columns: dict[str, tuple[int, list[str]]] = {}
    n = 0
    for line in header:
        kind, _, declared = line.partition("=")
        layer, *features = declared.split("|")
        if kind == "#T_SP":
            columns[layer] = (n, features)
        n += max(1, len(features))
    own = [layer for layer in columns if not layer.startswith(_BUILT_IN)]
    if _ENTITIES not in columns and len(own) != 1:
        problem = f"several layers have spans ({listed(own, 5)})" if own else "no layer has labelled spans"
        fail(name, f"{problem}; export the layer Named entity, or a document with a single layer of your own")
    layer = _ENTITIES if _ENTITIES in columns else own[0]
    first, features = columns[layer]
    simple = [at for at, feature in enumerate(features) if feature and "." not in feature] or [0]
    at = features.index("value") if "value" in features else simple[0]
    return first + at, layer.rpartition(".")[2] if not any(features) else ""


def _sentences(lines: Iterator[tuple[int, str]], column: int, name: str) -> Iterator[_Sentence]:
    """Yield the sentences of the lines after the header."""
    texts: list[str] = []
    tokens: list[_Token] = []
    for number, line in lines:
        if line.startswith("#") and not tokens:
            texts += [_unescaped(line.removeprefix("#Text="))] if line.startswith("#Text=") else []
        elif line:
            tokens.append(_token(line, column, f"{name}, line {number}", number))
        elif tokens:
            yield _Sentence("\n".join(texts), tokens)
            texts, tokens = [], []
    if tokens:
        yield _Sentence("\n".join(texts), tokens)


def _token(line: str, column: int, place: str, number: int) -> _Token:
    """Return the token of a line."""
    row = _ROW.fullmatch(line)
    if row is None:
        fail(place, f"{quoted(line)} is not a token such as `1-1<TAB>0-3<TAB>Ada<TAB>PER<TAB>`; export the file again")
    cells = (row["cells"] or "").split("\t")
    if column >= len(cells):
        fail(
            place, f"{counted(len(cells), 'cell')} of annotations, but the header declares more; export the file again"
        )
    is_part = row["part"] is not None
    return _Token(int(row["start"]), int(row["end"]), _unescaped(row["word"]), is_part, cells[column], number)


def _document(sentences: list[_Sentence], layer: str, name: str) -> AnnotatedText:
    """Return the text whose lines are sentences, with its tokens and spans."""
    text, tokens, spans = "", list[tuple[int, int]](), list[TextSpan]()
    # Number in brackets, label -> first and last character, line.
    numbered: dict[tuple[int, str], tuple[int, int, int]] = {}
    end = 0
    for at, sentence in enumerate(sentences):
        start = sentence.tokens[0].start
        if start - end > _MOST_BETWEEN:
            problem = f"the sentence begins {start - end:,} characters after the one before; export the file again"
            fail(f"{name}, line {sentence.tokens[0].line}", problem)
        text += "\n" * max(start - end, 1) if at else ""
        offsets, base = Utf16Offsets(sentence.text), len(text)
        text += sentence.text
        end = start + offsets.of(len(sentence.text))
        for token in sentence.tokens:
            place = f"{name}, line {token.line}"
            first, last = offsets.code_point(token.start - start), offsets.code_point(token.end - start)
            if first is None or last is None or sentence.text[first:last] != token.word:
                fail(place, f"{quoted(token.word)} is not at {token.start}-{token.end} of the text; export again")
            if not token.is_part:
                tokens.append((base + first, base + last))
            for value, number in _annotations(token.cell, place):
                label = layer or value
                if not label:
                    fail(place, f"the span of {quoted(token.word)} has no value; choose one, or delete the span")
                if number is None:
                    spans.append(checked_span(text, base + first, base + last, label, place))
                else:
                    begin, _, line = numbered.get((number, label), (base + first, 0, token.line))
                    numbered[number, label] = (begin, base + last, line)
    spans += [
        checked_span(text, first, last, label, f"{name}, line {line}")
        for (_, label), (first, last, line) in numbered.items()
    ]
    stem = os.path.splitext(os.path.basename(uncompressed(name)))[0]
    return AnnotatedText(text, by_position(spans), stem, tuple(tokens), name, 1)


def _annotations(cell: str, place: str) -> Iterator[tuple[str, int | None]]:
    """Yield value and number of each annotation in a cell; raise DataError if it has something else."""
    at = len(cell) if cell == "_" else 0
    while at < len(cell):
        match = _ANNOTATION.match(cell, at)
        if match is None:
            fail(place, f"{quoted(cell)} has no annotations such as PER or PER[1]; export the file again")
        value, number, at = match["value"], match["number"], match.end()
        yield ("" if value == "*" else _unescaped(value)), None if number is None else int(number)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: _LETTERS.get(match[1], match[1]), text)


def _escaped(text: str) -> str:
    """Return a value with a backslash before reserved characters."""
    letters = {control: letter for letter, control in _LETTERS.items()}
    return _RESERVED.sub(lambda match: "\\" + letters.get(match[0], match[0]), text)


def _escaped_text(text: str) -> str:
    """Return a word or a text of a sentence, in which only backslashes and control characters are escaped."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def written(text: AnnotatedText, cut: Callable[[str], list[tuple[int, int]]], place: str) -> str:
    """Return the content of a file, in which each line of the text is a sentence.

    Args:
        text: the text.
        cut: returns start and end of the tokens of a line; used if the text has no tokens.
        place: of the text, for messages.

    Raises:
        DataError: a span contains no token.
    """
    offsets = Utf16Offsets(text.text)
    lines = [f"{HEADER}.3", f"#T_SP={_ENTITIES}|value", "", ""]
    shown = set[int]()
    n = 0
    for tokens in tokens_by_line(text, cut):
        n += 1
        start, end = tokens[0][0], tokens[-1][1]
        lines.append(f"#Text={_escaped_text(text.text[start:end])}")
        for number, (first, last) in enumerate(tokens, start=1):
            inside = [at for at, span in enumerate(text.spans) if span.start < last and span.end > first]
            shown.update(inside)
            whole = [at for at in inside if text.spans[at].start <= first and text.spans[at].end >= last]
            lines.append(_row(f"{n}-{number}", first, last, whole, text, offsets))
            for part, at in enumerate((at for at in inside if at not in whole), start=1):
                span = text.spans[at]
                bounds = max(first, span.start), min(last, span.end)
                lines.append(_row(f"{n}-{number}.{part}", *bounds, [at], text, offsets))
        lines.append("")
    for at, span in enumerate(text.spans):
        if at not in shown:
            fail(place, f"the span {quoted(text.text[span.start : span.end])} contains no token; choose a tokenizer")
    return "\n".join(lines)


def _row(number: str, start: int, end: int, spans: list[int], text: AnnotatedText, offsets: Utf16Offsets) -> str:
    """Return the line of a token, or of a part of one, with the numbers of the spans that cover it."""
    cell = "|".join(f"{_escaped(text.spans[at].label)}[{at + 1}]" for at in spans) or "_"
    place = f"{offsets.of(start)}-{offsets.of(end)}"
    return f"{number}\t{place}\t{_escaped_text(text.text[start:end])}\t{cell}\t"
