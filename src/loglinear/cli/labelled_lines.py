"""Text with its labels for a terminal: spans are underlined with one label, other labels stand under their words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

from ..display_width import display_width, padded, without_middle
from ..report.labelled import UNKNOWN, Labelled, is_unspaced
from ..visible import visible_name
from .wrapping import columns_of

if TYPE_CHECKING:
    from ..report.labelled import Piece

__all__ = ["LabelledLines"]

# Codes of the terminal's colours that are readable on dark and on light, in the order in which types get them.
_COLOURS = (34, 35, 32, 36, 33, 31)
# Characters of a text that are shown, and fewest columns of a line.
_CHARACTERS, _LEAST = 480, 8


class _Block(NamedTuple):
    """Words in a row with their label.

    Attributes:
        words: the words.
        label: what stands below them; empty for no label.
        colour: code of their colour; None without one.
        continues: whether the first word is the rest of a word that a line has no room for.
    """

    words: str
    label: str = ""
    colour: int | None = None
    continues: bool = False

    @property
    def width(self) -> int:
        """Columns that words and label take."""
        return max(display_width(self.words), display_width(self.label))


class LabelledLines:
    """Writes labels under the words of sentences, in lines that a terminal has room for.

    Args:
        labels: of the model; they get the colours.
        stream: where the lines go: a terminal has colours unless the environment sets NO_COLOR.
        sequences: whether they label the tokens of sentences, which may form spans.
    """

    def __init__(self, labels: Iterable[str], stream: TextIO, *, sequences: bool = True) -> None:
        self._labels, self._width = Labelled(labels, sequences=sequences), max(columns_of(stream), _LEAST)
        environment = os.environ
        plain = environment.get("NO_COLOR") or environment.get("TERM") == "dumb"
        self._has_colours = stream.isatty() and not plain

    def sentence(self, words: Sequence[str], labels: Sequence[str | None]) -> str:
        """Return the lines of a sentence; None is a missing label."""
        names = [UNKNOWN if label is None else label for label in labels]
        shown = [visible_name(word) for word in words]
        blocks = [block for piece in self._labels.pieces(names) for block in self._blocks(piece, shown)]
        return "".join(self._lines(row) for row in self._rows(blocks))

    def text(self, text: str, label: str) -> str:
        """Return the lines of a text, which is cut if it is long, and its label below."""
        words = text[:_CHARACTERS].split() + (["…"] if len(text) > _CHARACTERS else [])
        blocks = [
            _Block(part, continues=at > 0)
            for word in words
            for at, part in enumerate(_parts(visible_name(word), self._width))
        ]
        name = without_middle(visible_name(label), self._width - 3)
        line = self._coloured(f"└─ {name}", self._colour(label))
        return "".join(self._lines(row) for row in self._rows(blocks)) + f"{line}\n"

    def _blocks(self, piece: Piece, words: Sequence[str]) -> Iterator[_Block]:
        """Yield a piece in blocks that fit a line; the labels of all but the last one end in "…"."""
        rows: list[tuple[str, bool]] = []
        for word in words[piece.start : piece.end]:
            for at, part in enumerate(_parts(word, self._width)):
                text, continues = rows[-1] if rows else ("", False)
                gap = "" if at or _are_close(text, part) else " "
                if rows and display_width(text + gap + part) <= self._width:
                    rows[-1] = (text + gap + part, continues)
                else:
                    rows.append((part, at > 0))
        colour = self._colour(piece.type)
        for number, (text, continues) in enumerate(rows, start=1):
            label = ""
            if piece.type is not None:
                more = "…" if piece.type and number < len(rows) else ""
                label = self._bracket(visible_name(piece.type) + more, display_width(text))
            yield _Block(text, label, colour, continues)

    def _bracket(self, name: str, width: int) -> str:
        """Return what stands under words of a width: a name, with a line on both sides if it is a span's."""
        name = without_middle(name, self._width)
        if self._labels.scheme is None:
            return name
        if not name:
            return "─" * width
        room = width - display_width(name) - 4
        if room < 0:
            return name
        return f"└{'─' * (room // 2)} {name} {'─' * (room - room // 2)}┘"

    def _colour(self, type_: str | None) -> int | None:
        at = self._labels.place(type_)
        return None if at is None else _COLOURS[at % len(_COLOURS)]

    def _rows(self, blocks: Iterable[_Block]) -> Iterator[list[_Block]]:
        """Yield the blocks of each line."""
        row: list[_Block] = []
        used = 0
        for block in blocks:
            gap = _gap(row[-1], block) if row else 0
            if row and used + gap + block.width > self._width:
                yield row
                row, used, gap = [], 0, 0
            row.append(block)
            used += gap + block.width
        if row:
            yield row

    def _lines(self, row: Sequence[_Block]) -> str:
        """Return a line of words and, if one of them has a label, a line of labels."""

        def line(text: Callable[[_Block], str]) -> str:
            parts = []
            for at, block in enumerate(row):
                gap = " " * _gap(row[at - 1], block) if at else ""
                content = text(block)
                blanks = padded("", block.width - display_width(content)) if at < len(row) - 1 else ""
                parts.append(gap + self._coloured(content, block.colour) + blanks)
            return "".join(parts).rstrip() + "\n"

        below = line(lambda block: block.label)
        return line(lambda block: block.words) + (below if below.strip() else "")

    def _coloured(self, text: str, colour: int | None) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._has_colours and colour is not None and text else text


def _gap(before: _Block, block: _Block) -> int:
    """Return the number of blanks between two blocks: none inside a word, and between words without them and labels."""
    is_close = not before.label and not block.label and _are_close(before.words, block.words)
    return 0 if block.continues or is_close else 1


def _are_close(before: str, word: str) -> bool:
    """Whether two words have no blank between them, as in Chinese."""
    return bool(before) and is_unspaced(before[-1]) and is_unspaced(word)


def _parts(word: str, width: int) -> list[str]:
    """Return a word in parts that fit a line."""
    if display_width(word) <= width:
        return [word]
    parts = [""]
    for character in word:
        if display_width(parts[-1] + character) > width:
            parts.append("")
        parts[-1] += character
    return parts
