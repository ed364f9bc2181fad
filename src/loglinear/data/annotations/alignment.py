"""Labels of tokens from labelled spans of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ...errors import DataWarning, warn
from ...options import one_of
from ...visible import counted, visible_name
from ..column_layout import SpanReading
from ..text_span import TextSpan
from ..tokenizer import Tokenizer
from .annotated_text import AnnotatedText, by_position, fail, quoted

__all__ = ["DEFAULT_TOKENIZER", "OVERLAPS", "AlignedSentence", "aligned", "tokens_by_line"]

OVERLAPS = ("refuse", "longest", "first")
"""What becomes of spans that overlap: an error, or the longest of them is kept, or the first."""

DEFAULT_TOKENIZER = "words"
"""Tokenizer of texts without tokens, if none is chosen."""

_LINE = re.compile(r"[^\r\n]+")
_Cut = Callable[[str], list[tuple[int, int]]]


class AlignedSentence(NamedTuple):
    """A line of a text: its tokens with their labels.

    Attributes:
        words: the tokens.
        chunks: label, first token, and one past the last token of each span, from left to right.
        text: the text.
    """

    words: list[str]
    chunks: list[tuple[str, int, int]]
    text: AnnotatedText


class _TokenSpan(NamedTuple):
    """A span of tokens: the first one, one past the last, and the label."""

    start: int
    end: int
    label: str


class _Changed:
    """Numbers of spans that were changed or left out, for a warning at the end."""

    def __init__(self) -> None:
        self.widened = self.overlapping = 0


def aligned(texts: Iterable[AnnotatedText], reading: SpanReading, name: str = "") -> list[AlignedSentence]:
    """Return the sentences of texts: their lines that have tokens.

    Args:
        texts: with checked spans.
        reading: how spans become labels.
        name: what the warning calls the texts.

    Raises:
        DataError: spans overlap, end within a token or cross a line end; names the place of the text.
        OptionError: an option is wrong.

    Warns:
        DataWarning: spans were widened, or left out because they overlap others.
    """
    one_of("overlaps", reading.overlaps, OVERLAPS)
    changed = _Changed()
    cut = Tokenizer(reading.tokenizer or DEFAULT_TOKENIZER).offsets
    sentences = list[AlignedSentence]()
    for text in texts:
        tokens = text if reading.tokenizer is None else AnnotatedText(text.text)
        rows = [*tokens_by_line(tokens, cut)]
        spans = _on_tokens(text, [token for row in rows for token in row], reading, changed)
        spans = _disjoint(text, spans, reading, changed)
        sentences += _sentences(text, rows, spans)
    before = f"{name}: " if name else ""
    if changed.widened:
        warn(f"{before}{counted(changed.widened, 'span')} widened to whole tokens", DataWarning)
    if changed.overlapping:
        left_out = counted(changed.overlapping, "overlapping span")
        warn(f"{before}{left_out} left out; the {reading.overlaps} ones are kept", DataWarning)
    return sentences


def tokens_by_line(text: AnnotatedText, cut: _Cut) -> Iterator[list[tuple[int, int]]]:
    """Yield start and end of the tokens of each line that has any: the text's own tokens, or what `cut` returns."""
    own = None
    if text.tokens is not None:
        own = [token for token in text.tokens if text.text[slice(*token)].strip()]
    at = 0
    for line in _LINE.finditer(text.text):
        if own is None:
            tokens = [(line.start() + start, line.start() + end) for start, end in cut(line[0])]
        else:
            first = at
            while at < len(own) and own[at][0] < line.end():
                at += 1
            tokens = own[first:at]
        if tokens:
            yield tokens


def _on_tokens(
    text: AnnotatedText, tokens: list[tuple[int, int]], reading: SpanReading, changed: _Changed
) -> list[_TokenSpan]:
    """Return the spans with offsets in tokens, from left to right; equal ones once."""
    spans: dict[_TokenSpan, None] = {}
    first = 0
    for span in by_position(text.spans):
        while first < len(tokens) and tokens[first][1] <= span.start:
            first += 1
        last = first
        while last < len(tokens) and tokens[last][0] < span.end:
            last += 1
        if first == last:
            fail(text.place, f"{_called(text, span)} contains no token; choose another tokenizer")
        if tokens[first][0] < span.start or tokens[last - 1][1] > span.end:
            at = first if tokens[first][0] < span.start else last - 1
            if not reading.widen:
                token = quoted(text.text[slice(*tokens[at])])
                side = "starts" if at == first and tokens[first][0] < span.start else "ends"
                remedy = "choose another tokenizer (--tokenizer), or widen spans to whole tokens (--widen)"
                fail(text.place, f"{_called(text, span)} {side} within the token {token}; {remedy}")
            changed.widened += 1
        spans[_TokenSpan(first, last, span.label)] = None
    return [*spans]


def _called(text: AnnotatedText, span: TextSpan) -> str:
    covered = text.text[span.start : span.end]
    return f"the span {span.start} to {span.end}, {quoted(covered)} ({visible_name(span.label)}),"


def _disjoint(
    text: AnnotatedText, spans: list[_TokenSpan], reading: SpanReading, changed: _Changed
) -> list[_TokenSpan]:
    """Return spans of tokens that do not overlap, from left to right."""
    order = spans
    if reading.overlaps == "longest":
        order = sorted(spans, key=lambda span: (span.start - span.end, span.start))
    taken: dict[int, _TokenSpan] = {}
    disjoint = []
    for span in order:
        covered = range(span.start, span.end)
        other = next((taken[at] for at in covered if at in taken), None)
        if other is None:
            disjoint.append(span)
            taken.update(dict.fromkeys(covered, span))
        elif reading.overlaps == "refuse":
            both = f"spans labelled {visible_name(other.label)} and {visible_name(span.label)} share a token"
            remedy = "a token has one label: keep the longest or the first span (--overlaps longest, --overlaps first)"
            fail(text.place, f"{both}; {remedy}")
        else:
            changed.overlapping += 1
    return sorted(disjoint, key=lambda span: span.start)


def _sentences(
    text: AnnotatedText, rows: list[list[tuple[int, int]]], spans: list[_TokenSpan]
) -> Iterator[AlignedSentence]:
    """Yield the lines of a text with the spans of their tokens."""
    begin, at = 0, 0
    for row in rows:
        end, chunks = begin + len(row), []
        while at < len(spans) and spans[at].start < end:
            span = spans[at]
            if span.end > end:
                covered = quoted(text.text[row[span.start - begin][0] : row[-1][1]])
                remedy = "each line is a sentence: mark the parts of the span line by line, or remove the line end"
                fail(text.place, f"the span that starts with {covered} crosses a line end; {remedy}")
            chunks.append((span.label, span.start - begin, span.end - begin))
            at += 1
        yield AlignedSentence([text.text[start:stop] for start, stop in row], chunks, text)
        begin = end
