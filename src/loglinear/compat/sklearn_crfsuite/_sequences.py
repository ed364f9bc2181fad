"""Sequences of labels: joined, and as `CRF.predict` returns them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeVar

import numpy as np

from ...data.per_sentence import PerSentence

__all__ = ["Sequences", "flatten"]

T = TypeVar("T")


def flatten(y: Iterable[Iterable[T]]) -> list[T]:
    """Return the items of all sequences in one list.

    Example:
        >>> from loglinear.compat.sklearn_crfsuite.metrics import flatten
        >>> flatten([["DET", "NOUN"], ["VERB"]])
        ['DET', 'NOUN', 'VERB']
    """
    return list(chain.from_iterable(y))


class Sequences(PerSentence[list[Any]]):
    """A list with the labels of each sequence, which == compares as NumPy compares an array.

    sklearn-crfsuite returned lists up to version 0.3.6, and returns arrays of objects since 0.5: of these programs ask
    `(y_pred == y).all()`, where y is the labels of all sequences, or of the only one.
    """

    def __eq__(self, other: object) -> bool:
        """Return NumPy's truth value, which has `all` and `any`."""
        only = len(self) == 1 and list.__eq__(self[0], other) is True
        return np.bool_(only or list.__eq__(self, other) is True)  # type: ignore[return-value]

    def __ne__(self, other: object) -> bool:
        """Return NumPy's truth value."""
        return np.bool_(not self == other)  # type: ignore[return-value]

    __hash__ = None  # type: ignore[assignment]
