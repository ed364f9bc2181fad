"""A model's answers to labelled data, as evaluations and reports take them.

This module imports neither NumPy nor scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import DataError
from ..files.tagging import Tagging

if TYPE_CHECKING:
    from ...calibration import Calibration
    from ...data.corpus import Corpus

__all__ = ["Answers"]

Labels = Sequence[Sequence[Any]]


class Answers(NamedTuple):
    """Labels of sentences, gold and predicted, and how sure the model is of them.

    Attributes:
        gold: the true label sequences.
        predicted: the predicted ones.
        taggings: the predicted labels with their probabilities; None if the model has none, or they are not wanted.
        words: what is shown of each token; empty if nobody looks at it.
        corpus: the sentences; None if they are texts or rows of a matrix.
        notes: remarks on which sentences these are, for people who look at the figures.
    """

    gold: Labels
    predicted: Labels
    taggings: list[Tagging] | None
    words: Sequence[Sequence[str]] = ()
    corpus: Corpus | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of_rows(
        cls, gold: Labels, predicted: Labels, probabilities: Sequence[Sequence[float]], words: Sequence[Sequence[str]]
    ) -> Answers:
        """Return answers whose labels are independent given the data, with the probability of each label."""
        sure = [[min(p, 1.0) for p in row] for row in probabilities]
        taggings = [
            Tagging(list(labels), row, [], sum(math.log(p) if p else -math.inf for p in row))
            for labels, row in zip(predicted, sure, strict=True)
        ]
        return cls(gold, predicted, taggings, words)

    @classmethod
    def of_samples(
        cls, gold: Sequence[Any], predicted: Sequence[Any], sure: Sequence[float] | None, words: Sequence[str]
    ) -> Answers:
        """Return a classifier's answers, each sample by itself; `sure` are the probabilities of its predictions.

        Raises:
            DataError: there are not as many true classes as samples.
        """
        if len(gold) != len(predicted):
            message = f"{len(gold)} gold labels for {len(predicted)} samples; give one label per sample"
            raise DataError(message)
        true, labels, shown = ([[value] for value in values] for values in (gold, predicted, words))
        if sure is None:
            return cls(true, labels, None, shown)
        return cls.of_rows(true, labels, [[p] for p in sure], shown)

    @property
    def gold_labels(self) -> set[Any]:
        """The distinct gold labels."""
        return {label for labels in self.gold for label in labels}

    def of_labelled_tokens(self) -> Answers:
        """Return the gold and predicted labels of the tokens whose gold label is not None, without other parts."""
        from ...metrics import labelled_tokens

        return Answers(*labelled_tokens(self.gold, self.predicted), None, corpus=self.corpus)

    def calibrations(self, items: str) -> dict[str, Calibration]:
        """Return the calibration of each kind of answers by name, such as `items`; nothing without probabilities."""
        if self.taggings is None:
            return {}
        from ...metrics import tagging_calibration

        by_item = tagging_calibration(self.gold, self.taggings)
        by_kind = {items: by_item.tokens}
        if by_item.spans is not None:
            by_kind["spans"] = by_item.spans
        return by_kind | {"sequences": by_item.sequences} if items == "tokens" else by_kind
