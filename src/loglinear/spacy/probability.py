"""The probabilities of spans: in a group of spans of a doc, and as an attribute of each span."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from spacy.tokens import Span, SpanGroup

from ..models.files.tagging import Span as Chunk

if TYPE_CHECKING:
    from spacy.tokens import Doc

__all__ = ["add_extension", "group_of", "probability"]

# Marks the groups whose spans are sorted by their first token.
_SOURCE = "loglinear"


def group_of(doc: Doc, name: str, chunks: Iterable[Chunk]) -> SpanGroup:
    """Return chunks as a group of spans of a doc, with their probabilities in ``group.attrs["scores"]``."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.start, chunk.end))
    spans = [Span(doc, chunk.start, chunk.end, label=chunk.type) for chunk in ordered]
    scores = np.array([chunk.probability for chunk in ordered])
    return SpanGroup(doc, name=name, attrs={"scores": scores, "source": _SOURCE}, spans=spans)


def probability(span: Span) -> float | None:
    """Return the probability that a model of this library has given to a span; None if no model has.

    The first group of spans with a span of the same tokens and label has it.
    """
    for group in span.doc.spans.values():
        if group.attrs.get("source") == _SOURCE:
            at = _first(group, span.start)
            while at < len(group) and group[at].start == span.start:
                if group[at].end == span.end and group[at].label == span.label:
                    return float(group.attrs["scores"][at])
                at += 1
    return None


def _first(group: SpanGroup, start: int) -> int:
    """Return the number of the first span of a sorted group that does not begin before a token."""
    low, high = 0, len(group)
    while low < high:
        middle = (low + high) // 2
        if group[middle].start < start:
            low = middle + 1
        else:
            high = middle
    return low


def add_extension() -> None:
    """Add ``span._.probability``, unless the program has an attribute of this name."""
    if not Span.has_extension("probability"):
        Span.set_extension("probability", getter=probability)
