"""A model's answers to labelled data, as evaluations and reports take them.

This module imports neither NumPy nor scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ...calibration import Calibration
    from ...data.corpus import Corpus
    from ..files.tagging import Tagging

__all__ = ["Answers"]


class Answers(NamedTuple):
    """Labels of sentences, gold and predicted, and how sure the model is of them.

    Attributes:
        gold: the true label sequences.
        predicted: the predicted ones.
        taggings: the predicted labels with their probabilities; None if the model has none, or they are not wanted.
        corpus: the sentences; None if they are texts or rows of a matrix.
    """

    gold: Sequence[Sequence[Any]]
    predicted: Sequence[Sequence[Any]]
    taggings: list[Tagging] | None
    corpus: Corpus | None = None

    def calibrations(self, *, samples: bool) -> dict[str, Calibration]:
        """Return the calibration of each kind of answers, by name; nothing without probabilities."""
        if self.taggings is None:
            return {}
        from ...metrics import tagging_calibration

        found = tagging_calibration(self.gold, self.taggings)
        tokens = {"samples" if samples else "tokens": found.tokens}
        return tokens if found.spans is None else tokens | {"spans": found.spans}
