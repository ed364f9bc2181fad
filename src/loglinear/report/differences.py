"""Differences between the scores of two models on the same data, with confidence intervals by the paired bootstrap.

Source: Koehn (2004), Statistical significance tests for machine translation evaluation, EMNLP, section 4.2: both models
are scored on each draw of sentences. Efron & Tibshirani (1993), chapter 13: the interval has the percentiles of the
differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..bootstrap import Table, ends
from ..metrics import Evaluation
from .intervals import DrawnScores

__all__ = ["Difference", "Differences", "differences"]

_NAMES = ("precision", "recall", "f1")


class Difference(NamedTuple):
    """By how much a score of the second model is above the score of the first one, as a fraction.

    Attributes:
        value: the difference; negative where the second model is worse.
        low: lower end of the 95 % interval.
        high: upper end of the interval.
    """

    value: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval does not contain 0."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True)
class Differences:
    """Differences between the scores in two `Evaluation`, under the same names; see `Difference`.

    Attributes:
        overall: accuracy and sentence_accuracy; with a tagging scheme also precision, recall and f1 of all chunks.
        per_type: chunk type -> precision, recall, f1; types of either evaluation.
        per_label: label -> precision, recall, f1; labels of either evaluation.
        draws: number of draws.
        seed: of the draws.
    """

    overall: dict[str, Difference]
    per_type: dict[str, dict[str, Difference]]
    per_label: dict[Any, dict[str, Difference]]
    draws: int
    seed: int


def differences(drawn: tuple[DrawnScores, DrawnScores], scores: tuple[Evaluation, Evaluation]) -> Differences:
    """Return the differences between two models' scores.

    Args:
        drawn: the scores of each model in the same draws of sentences.
        scores: what `evaluate` says of each model, with one scheme and in mode "conlleval".
    """
    first, second = drawn

    def between(a: dict[str, Table], b: dict[str, Table], *values: dict[str, Any]) -> dict[str, Difference]:
        between_scores: dict[str, Difference] = {}
        for name in a:
            low, high = ends(b[name] - a[name])
            between_scores[name] = Difference(values[1][name] - values[0][name], low, high)
        return between_scores

    def of(kind: str, name: Any) -> dict[str, Difference]:
        rows = [getattr(each, f"per_{kind}").get(name, dict.fromkeys(_NAMES, 0.0)) for each in scores]
        return between(first.of(kind, [name]), second.of(kind, [name]), *rows)

    types, labels = (sorted({*getattr(scores[0], per), *getattr(scores[1], per)}) for per in ("per_type", "per_label"))
    return Differences(
        overall=between(first.overall(), second.overall(), *(each._asdict() for each in scores)),
        per_type={name: of("type", name) for name in types},
        per_label={label: of("label", label) for label in labels},
        draws=first.draws,
        seed=first.seed,
    )
