"""A text with labelled spans, and the checks that every reader and writer applies to spans."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite
from typing import NoReturn

from ...errors import DataError
from ...visible import shortened, visible_name
from ..labels import check_ordered
from ..text_span import TextSpan

__all__ = [
    "AnnotatedText",
    "Utf16Offsets",
    "by_position",
    "check_texts",
    "checked_span",
    "fail",
    "half_of_character",
    "quoted",
]

# Characters of a span's text that a message shows.
_SHOWN = 40
# The last character that one unit of UTF-16 holds.
_LAST_OF_ONE_UNIT = "\uffff"


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text with labelled spans.

    Attributes:
        text: the text. Each of its lines is a sentence.
        spans: labelled spans, in any order.
        id: identifier of the text in the annotation tool, such as the number of a task; empty without one.
        tokens: start and end of each token, if the file has tokens; None otherwise.
        place: where the text was read, for messages: file and line, or file and task.
        line: number of the line of the file, or of the text in the file, from 1; 0 if the text was not read.

    Example:
        >>> from loglinear import AnnotatedText, TextSpan
        >>> text = AnnotatedText("Ada wrote", (TextSpan(0, 3, "PER", "Ada"),))
        >>> [(text.text[span.start : span.end], span.label) for span in text.spans]
        [('Ada', 'PER')]
    """

    text: str
    spans: tuple[TextSpan, ...] = ()
    id: str = ""
    tokens: tuple[tuple[int, int], ...] | None = None
    place: str = field(default="", compare=False, repr=False)
    line: int = field(default=0, compare=False, repr=False)


class Utf16Offsets:
    """Conversion between offsets in code points, as Python counts, and in units of UTF-16, as Java and JavaScript do.

    Args:
        text: the text that the offsets belong to.

    Example:
        >>> from loglinear.data.annotations.annotated_text import Utf16Offsets
        >>> offsets = Utf16Offsets("a😊b")
        >>> offsets.of(2), offsets.code_point(3), offsets.code_point(2)
        (3, 2, None)
    """

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._starts: list[int] | None = None
        if text and max(text) > _LAST_OF_ONE_UNIT:
            self._starts = [0, *accumulate(1 + (character > _LAST_OF_ONE_UNIT) for character in text)]

    def of(self, code_point: int) -> int:
        """Return the offset in units of an offset in code points."""
        return code_point if self._starts is None else self._starts[code_point]

    def code_point(self, unit: int) -> int | None:
        """Return the offset in code points of an offset in units; None if it is outside the text or in a character."""
        if self._starts is None:
            return unit if 0 <= unit <= self._length else None
        at = bisect_left(self._starts, unit)
        return at if at < len(self._starts) and self._starts[at] == unit else None


def fail(place: str, problem: str) -> NoReturn:
    """Raise DataError, with the place before the problem, if it is known."""
    message = f"{place}: {problem}" if place else problem
    raise DataError(message)


def half_of_character(text: str) -> str:
    """Return what is wrong with a text that has half of a surrogate pair, which no file can hold; "" if nothing is."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return f"has half of a character, \\u{ord(text[error.start]):x}; repair the text"
    return ""


def quoted(text: str) -> str:
    """Return the text of a span for a message."""
    return f"'{visible_name(shortened(text, _SHOWN))}'"


def checked_span(
    text: str,
    start: int,
    end: int,
    label: str,
    place: str,
    *,
    recorded: str | None = None,
    probability: float | None = None,
) -> TextSpan:
    """Return a span of a text.

    Args:
        text: the text.
        start: first character.
        end: one past the last character.
        label: label of the span.
        place: of the span, for messages.
        recorded: text of the span as the file has it.
        probability: of the span.

    Raises:
        DataError: the span is not in the text, is empty, covers only blanks, or has another text than recorded; or the
            label is empty.
    """
    called = f"the span {start} to {end} ({visible_name(shortened(label))})"
    if not label.strip():
        fail(
            place,
            f"the span {start} to {end} has an empty label, or one of blanks; choose a label for it, or delete it",
        )
    if end == start:
        fail(place, f"{called} is empty; delete it in the annotation tool")
    if end < start:
        fail(place, f"{called} ends before it starts; delete it in the annotation tool and mark it again")
    if start < 0 or end > len(text):
        size = f"the text has {len(text):,} characters"
        fail(place, f"{called} is outside the text; {size}; export text and annotations again, together")
    if recorded is not None and _squeezed(recorded) != _squeezed(text[start:end]):
        covers = f"covers {quoted(text[start:end])}, but the file says {quoted(recorded)}"
        fail(place, f"{called} {covers}; export text and annotations together, and count offsets in code points")
    if not text[start:end].strip():
        fail(place, f"{called} covers only blanks; delete it in the annotation tool")
    return TextSpan(start, end, label, text[start:end], probability)


def _squeezed(text: str) -> str:
    """Return a text with single blanks in place of line ends and runs of blanks, which tools record in several ways."""
    return " ".join(text.replace("\\n", "\n").replace("\\r", "\r").split())


def check_texts(texts: Iterable[AnnotatedText]) -> list[AnnotatedText]:
    """Return texts as a list, after a check of their types, spans and tokens.

    Raises:
        DataError: an item is not an AnnotatedText, or one of its spans or tokens is not a part of its text.
    """
    check_ordered(texts, "texts", "give a list of AnnotatedText")
    listed = list(texts)
    for number, item in enumerate(listed):
        if not isinstance(item, AnnotatedText):
            fail("", f"text {number} is {item!r:.60}, not an AnnotatedText; give a list of AnnotatedText")
        place = item.place or f"text {number}"
        for name, value in (("text", item.text), ("id", item.id)):
            _check_whole(value, f"its {name}", place)
        for span in item.spans:
            _check_span(item.text, span, place)
        _check_tokens(item, place)
    return listed


def _check_whole(text: object, called: str, place: str) -> None:
    """Raise DataError if a value is not a text, or has half of a character."""
    if not isinstance(text, str):
        fail(place, f"{called} is {text!r:.60}, not a text; give a str")
    if problem := half_of_character(text):
        fail(place, f"{called} {problem}")


def _check_span(text: str, span: object, place: str) -> None:
    """Raise DataError if something is not a span of a text."""
    if not isinstance(span, TextSpan) or type(span.start) is not int or type(span.end) is not int:
        fail(place, f"{span!r:.80} is not a span; its start and end are whole numbers: give a TextSpan")
    _check_whole(span.label, f"the label of the span {span.start} to {span.end}", place)
    checked_span(text, span.start, span.end, span.label, place, recorded=span.text)
    if span.probability is not None and not isfinite(span.probability):
        called = f"the probability of the span {span.start} to {span.end}"
        fail(place, f"{called} is {span.probability!r}; give a probability, or None")


def _check_tokens(item: AnnotatedText, place: str) -> None:
    """Raise DataError if the tokens of a text are not parts of it from left to right."""
    before = 0
    for token in item.tokens or ():
        if not (isinstance(token, tuple) and len(token) == 2 and all(type(offset) is int for offset in token)):
            fail(place, f"{token!r:.60} is not a token; give a tuple of its start and its end")
        start, end = token
        if not before <= start <= end <= len(item.text):
            problem = f"the token {start} to {end} is outside the text, or begins before the end of the one before"
            fail(place, f"{problem}; give the tokens from left to right")
        before = end


def by_position(spans: Sequence[TextSpan]) -> tuple[TextSpan, ...]:
    """Return spans from left to right; longer ones first if several start at the same character."""
    return tuple(sorted(spans, key=lambda span: (span.start, -span.end, span.label)))
