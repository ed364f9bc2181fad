"""Text with coloured labels as HTML, for pages and notebooks. It needs no JavaScript and no other package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..data.words import UNSPACED
from ..display import fragment
from ..display.fragment import shown
from ..schemes import Chunk, chunks, detect_scheme
from .style import style_sheet

__all__ = ["Labelled", "Piece", "in_notebook", "is_unspaced", "joined", "shown", "with_gaps"]

# The first hue, and the angle to the next one, degrees: hues in a row at the golden angle stay apart, however many.
_BLUE, _GOLDEN_ANGLE = 210.0, 137.508
# In place of a label that is not known.
UNKNOWN = "?"
# A character of a script without blanks between words, or of its punctuation.
_UNSPACED = re.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uff65]")


class Piece(NamedTuple):
    """Tokens in a row that share a label.

    Attributes:
        type: type of the chunk, or the label where labels follow no tagging scheme; None outside chunks.
        start: number of the first token, from 0.
        end: one past the last token.
    """

    type: str | None
    start: int
    end: int


class Labelled:
    """Colours of labels, and how they are read: chunk by chunk, or token by token.

    Args:
        labels: all labels that are shown together, in the order in which they get their colours; "?" gets none.
        sequences: whether they label tokens of sentences, which may form chunks.

    Attributes:
        scheme: the tagging scheme of the labels, or None.
        hues: of each type of chunks, or of each label that follows no scheme, in degrees.
    """

    def __init__(self, labels: Iterable[str], *, sequences: bool = True) -> None:
        labels = [label for label in dict.fromkeys(labels) if label != UNKNOWN]
        self.scheme = detect_scheme(labels) if sequences else None
        types = dict.fromkeys(type_ for label in labels if (type_ := self._type(label)) is not None)
        self.hues = {type_: (_BLUE + at * _GOLDEN_ANGLE) % 360.0 for at, type_ in enumerate(types)}

    def _type(self, label: str) -> str | None:
        """The type of a label's chunks, or the label itself; None outside chunks."""
        if label == UNKNOWN or (self.scheme is not None and label == "O"):
            return None
        return label if self.scheme is None else label.partition("-")[2]

    def is_outside(self, label: str) -> bool:
        """Whether a label means that a token belongs to no chunk."""
        return self._type(label) is None

    def place(self, type_: str | None) -> int | None:
        """Return the number of a type of chunks, or of a label that follows no scheme, in the order of the colours."""
        return next((at for at, name in enumerate(self.hues) if name == type_), None)

    def pieces(self, labels: Sequence[str]) -> Iterator[Piece]:
        """Yield the chunks of a sentence and the tokens between them, from left to right."""
        if self.scheme is None or UNKNOWN in labels:
            yield from (Piece(self._type(label), at, at + 1) for at, label in enumerate(labels))
            return
        yield from with_gaps(chunks(labels, self.scheme), len(labels))

    def text(self, pieces: Iterable[Piece], words: Sequence[str], parts: Sequence[str]) -> str:
        """Return a sentence as a paragraph of HTML, in which each piece has its colour and its type.

        Args:
            pieces: of the sentence, from left to right.
            words: the words.
            parts: their HTML.
        """
        texts, htmls = [], []
        for type_, start, end in pieces:
            texts.append("".join(words[start:end]))
            htmls.append(self.coloured(joined(words[start:end], parts[start:end]), type_, shown(type_ or "")))
        return f'<p class="text" lang="" dir="auto">{joined(texts, htmls)}</p>'

    def label(self, label: str) -> str:
        """Return a label as HTML in its colour, which labels outside chunks do not have."""
        return self.coloured(f"<b>{shown(label)}</b>", self._type(label))

    def types(self) -> list[str]:
        """Return the types of chunks, or the labels that follow no scheme, as HTML in their colours."""
        return [self.coloured(f"<b>{shown(type_)}</b>", type_) for type_ in self.hues if type_]

    def coloured(self, html: str, type_: str | None, note: str = "") -> str:
        """Return HTML in the colour of a type, if there is one, with a note after it."""
        if type_ is None:
            return html
        after = f'<small class="type">{note}</small>' if note else ""
        return f'<span class="label" style="--hue:{self.hues[type_]:.0f}">{html}{after}</span>'


def with_gaps(spans: Iterable[Chunk], n: int) -> Iterator[Piece]:
    """Yield the chunks of a sentence of n tokens and the tokens between them, from left to right."""
    end = 0
    for type_, start, stop in spans:
        yield from (Piece(None, at, at + 1) for at in range(end, start))
        yield Piece(type_, start, stop)
        end = stop
    yield from (Piece(None, at, at + 1) for at in range(end, n))


def is_unspaced(text: str) -> bool:
    """Whether a text begins with a character of a script without blanks between words."""
    return _UNSPACED.match(text) is not None


def joined(words: Sequence[str], parts: Sequence[str]) -> str:
    """Return the HTML of words with blanks between them, unless their script has none, such as Chinese.

    Args:
        words: the words.
        parts: their HTML.
    """
    html = "".join(parts[:1])
    for before, word, part in zip(words, words[1:], parts[1:], strict=False):
        close = is_unspaced(before[-1:]) and is_unspaced(word)
        html += ("<wbr>" if close else " ") + part
    return html


def in_notebook(html: str) -> str:
    """Return HTML with the style that it needs anywhere."""
    return fragment.in_notebook(html, style_sheet("labelled"))
