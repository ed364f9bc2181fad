"""Labelled parts of texts."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["TextSpan"]


class TextSpan(NamedTuple):
    """A labelled part of a text, such as an entity.

    Attributes:
        start: number of characters (code points) before it.
        end: number of characters up to its end: it is `text[start:end]` of the whole text.
        label: type of the entity, "" if the labels have none; or the label of the token, if the labels of the model
            follow no tagging scheme.
        text: the part itself.
        probability: the probability that an entity of this type starts and ends here, or of the token's label; None if
            probabilities are not wanted.

    Example:
        >>> from loglinear import TextSpan
        >>> span = TextSpan(0, 12, "PER", "Ada Lovelace", 0.97)
        >>> "Ada Lovelace wrote"[span.start : span.end] == span.text
        True
    """

    start: int
    end: int
    label: Any
    text: str
    probability: float | None = None
