"""The first sentences of a corpus, for people: words and labels, on a screen and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..display.fragment import shown
from ..visible import counted, shortened, visible_name
from .stored_words import stored_words

if TYPE_CHECKING:
    from .. import _core

__all__ = ["First", "sizes_of"]

# Sentences that are shown, and tokens of each; columns of a line.
_SENTENCES, _TOKENS, _WIDTH = 3, 20, 80
# Characters of a word or label.
_CHARACTERS = 36
# Attributes of a corpus whose names are looked at in a moment; the words of a larger one are not shown.
_ATTRIBUTES = 2_000_000


def sizes_of(core: _core.Corpus) -> list[str]:
    """Return the number of sentences, tokens, attributes and labels of a corpus, for people."""
    sizes = {"sentence": len(core), "token": core.n_tokens, "attribute": core.n_attributes, "label": len(core.labels)}
    return [counted(n, noun) for noun, n in sizes.items()]


class First:
    """The first sentences of a corpus.

    Args:
        core: the corpus.
        template: that formed its attributes, if there is one.

    Attributes:
        sentences: pairs of a word and its label for each token of the sentences; empty labels without labels.
    """

    def __init__(self, core: _core.Corpus, template: str | None) -> None:
        first = core.select(range(min(len(core), _SENTENCES)))
        gold: list[list[Any]] = first.gold() or [[""] * n for n in first.lengths()]
        has_words = core.n_attributes <= _ATTRIBUTES
        words = stored_words(first, template) if has_words else [["…"] * len(labels) for labels in gold]
        self._lengths = core.lengths() if len(core) <= _SENTENCES else first.lengths()
        self._n = len(core)
        self.sentences = [
            [
                (_short(word), _short(label_text(label)))
                for word, label in zip(row[:_TOKENS], labels[:_TOKENS], strict=True)
            ]
            for row, labels in zip(words, gold, strict=True)
        ]

    def text(self) -> str:
        """Return a line for each sentence; of a single sentence a line for each token."""
        if self._n == 1:
            width = max((len(word) for word, _ in self.sentences[0]), default=0)
            lines = [f"  {word:{width}}  {label}".rstrip() for word, label in self.sentences[0]]
            rest = self._lengths[0] - len(lines)
            return "\n".join(lines + ([f"  … and {counted(rest, 'more token')}"] if rest else []))
        lines = [" ".join("/".join(filter(None, pair)) for pair in sentence) for sentence in self.sentences]
        lines = [f"  {shortened(line, _WIDTH - 2)}" for line in lines]
        rest = self._n - len(lines)
        return "\n".join(lines + ([f"  … and {counted(rest, 'more sentence')}"] if rest else []))

    def html(self) -> str:
        """Return a paragraph for each sentence, each word above its label, as HTML."""
        parts = []
        for sentence, length in zip(self.sentences, self._lengths, strict=True):
            tokens = [
                f'<span class="token">{shown(word)}<small>{shown(label)}</small></span>' for word, label in sentence
            ]
            rest = f' <span class="soft">… and {counted(length - len(tokens), "more token")}</span>'
            parts.append(f'<p lang="" dir="auto">{" ".join(tokens)}{rest if length > len(tokens) else ""}</p>')
        rest = counted(self._n - len(parts), "more sentence")
        return "".join(parts) + (f'<p class="soft">… and {rest}</p>' if self._n > len(parts) else "")


def label_text(label: object) -> str:
    """Return a label for people: an unknown one as ?, one of several as A|B, a soft one as A:0.7|B:0.3."""
    if label is None:
        return "?"
    if isinstance(label, dict):
        return _either(f"{name}:{share:.3g}" for name, share in label.items())
    return _either(label) if isinstance(label, frozenset) else str(label)


def _either(labels: Iterable[str]) -> str:
    return "|".join(sorted(labels))


def _short(text: str) -> str:
    return shortened(visible_name(text), _CHARACTERS)
