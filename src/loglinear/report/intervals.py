"""Confidence intervals of the scores of an evaluation by the bootstrap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..bootstrap import DRAWS, Interval, Table, ends, quotients, resamples
from ..metrics import Evaluation
from ..schemes import chunk_set

__all__ = ["DrawnScores", "Intervals", "bootstrap", "intervals_of"]

# Numbers (one per count of a sentence and draw) held in memory at a time.
_TOGETHER = 1 << 21

Labels = Sequence[Sequence[Any]]
Key = tuple[str, Any, str]


@dataclass(frozen=True)
class Intervals:
    """Percentile intervals of 95 % of the scores in an `Evaluation`, under the same names.

    Attributes:
        overall: accuracy and sentence_accuracy; with a tagging scheme also precision, recall and f1 of all chunks.
        per_type: chunk type -> precision, recall, f1.
        per_label: label -> precision, recall, f1.
        draws: number of draws.
        seed: of the draws.
    """

    overall: dict[str, Interval]
    per_type: dict[str, dict[str, Interval]]
    per_label: dict[Any, dict[str, Interval]]
    draws: int
    seed: int


def bootstrap(
    gold: Labels,
    predicted: Labels,
    scores: Evaluation,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Intervals:
    """Return confidence intervals of scores.

    Every score is a quotient of numbers that add up over sentences, so a draw is a weighted sum of the counts of
    single sentences. Source: Efron & Tibshirani (1993), chapter 13, percentile intervals.
    Cost: O(draws) times the number of different labels and chunk types in each sentence.

    Args:
        gold: the true label sequences; at least one.
        predicted: the predicted label sequences.
        scores: what `evaluate` says of both, in mode "conlleval".
        draws: number of draws, >= 1.
        seed: of the draws.
    """
    drawn = DrawnScores(gold, predicted, chunks=scores.scheme is not None, draws=draws, seed=seed)
    return intervals_of(drawn, scores)


def intervals_of(drawn: DrawnScores, scores: Evaluation) -> Intervals:
    """Return confidence intervals of scores from their values in each draw; see `bootstrap`."""

    def of(values: dict[str, Table]) -> dict[str, Interval]:
        return {name: ends(value) for name, value in values.items()}

    return Intervals(
        overall=of(drawn.overall()),
        per_type={name: of(drawn.of("type", [name])) for name in scores.per_type},
        per_label={label: of(drawn.of("label", [label])) for label in scores.per_label},
        draws=drawn.draws,
        seed=drawn.seed,
    )


class _Counts(NamedTuple):
    """The counts of sentences that are not 0, column by column.

    Attributes:
        values: shape (counts,).
        sentences: number of the sentence of each.
        starts: where each column begins; no column is empty.
    """

    values: npt.NDArray[np.float64]
    sentences: npt.NDArray[np.intp]
    starts: npt.NDArray[np.intp]

    @classmethod
    def of(cls, counted: Sequence[Counter[Key]], column: dict[Key, int]) -> _Counts:
        """Return the counts of some sentences; ``column`` numbers their keys."""
        columns = np.array([column[key] for sentence in counted for key in sentence], dtype=np.intp)
        order = np.argsort(columns, kind="stable")
        values = np.array([n for sentence in counted for n in sentence.values()], dtype=np.float64)
        sentences = np.repeat(np.arange(len(counted)), [len(sentence) for sentence in counted])
        starts = np.searchsorted(columns[order], np.arange(len(column)))
        return cls(values[order], sentences[order], starts)


def _drawn(counts: _Counts, n: int, draws: int, seed: int) -> Table:
    """Return the sums of the counts of n sentences in each draw, shape (draws, columns)."""
    drawn = resamples(n, draws, seed)
    parts = []
    step = max(_TOGETHER // counts.values.size, 1)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        times = np.array([np.bincount(next(drawn), minlength=n) for _ in range(size)], dtype=np.float64)
        parts.append(np.add.reduceat(counts.values * times[:, counts.sentences], counts.starts, axis=1))
    return np.concatenate(parts)


class DrawnScores:
    """Scores in each draw of sentences. Equal numbers of sentences and equal seeds give the same draws.

    Attributes:
        draws: number of draws.
        seed: of the draws.

    Args:
        gold: the true label sequences; at least one.
        predicted: the predicted label sequences.
        chunks: whether the labels encode chunks.
        draws: number of draws, >= 1.
        seed: of the draws.
    """

    def __init__(self, gold: Labels, predicted: Labels, *, chunks: bool, draws: int = DRAWS, seed: int = 0) -> None:
        counted = [_sentence_counts(*pair, chunks=chunks) for pair in zip(gold, predicted, strict=True)]
        column = {key: at for at, key in enumerate(dict.fromkeys(key for sentence in counted for key in sentence))}
        self._table, self._column = _drawn(_Counts.of(counted, column), len(counted), draws, seed), column
        self.draws, self.seed = draws, seed
        self._types = {name for kind, name, _ in column if kind == "type"} if chunks else None

    def _sums(self, kind: str, name: object, what: str) -> Table | float:
        """Return the sum of a count in each draw; 0 for what does not occur."""
        at = self._column.get((kind, name, what))
        return 0.0 if at is None else self._table[:, at]

    def overall(self) -> dict[str, Table]:
        """Return the accuracies, and with chunks precision, recall and F1 of all chunks, each of shape (draws,)."""
        of = partial(self._sums, "all", "")
        pairs = {"accuracy": ("right", "tokens"), "sentence_accuracy": ("right sentence", "sentence")}
        values = {name: self._quotients(of(right), of(number)) for name, (right, number) in pairs.items()}
        return values if self._types is None else values | self.of("type", self._types)

    def of(self, kind: str, names: Iterable[Any]) -> dict[str, Table]:
        """Return precision, recall and F1 of some labels or chunk types together, each of shape (draws,)."""
        gold: Table | float = 0.0
        predicted, correct = gold, gold
        for name in names:
            gold = gold + self._sums(kind, name, "gold")
            predicted = predicted + self._sums(kind, name, "predicted")
            correct = correct + self._sums(kind, name, "correct")
        return {
            "precision": self._quotients(correct, predicted),
            "recall": self._quotients(correct, gold),
            "f1": self._quotients(2.0 * correct, gold + predicted),
        }

    def _quotients(self, numerators: Table | float, denominators: Table | float) -> Table:
        nothing = np.zeros(len(self._table))
        return quotients(nothing + numerators, nothing + denominators)


def _sentence_counts(true: Sequence[Any], guess: Sequence[Any], *, chunks: bool) -> Counter[Key]:
    """Return the counts of a sentence; scores are quotients of sums of counts."""
    counts: Counter[Key] = Counter()
    counts["all", "", "sentence"] = 1
    counts["all", "", "tokens"] = len(true)
    counts["all", "", "right sentence"] = int(list(true) == list(guess))
    counts["all", "", "right"] = sum(a == b for a, b in zip(true, guess, strict=True))
    counts.update(("label", label, "gold") for label in true)
    counts.update(("label", label, "predicted") for label in guess if label is not None)
    counts.update(("label", a, "correct") for a, b in zip(true, guess, strict=True) if a == b)
    if chunks:
        gold, guessed = chunk_set(true), chunk_set(guess)
        for what, spans in (("gold", gold), ("predicted", guessed), ("correct", gold & guessed)):
            counts.update(("type", type_, what) for type_, _, _ in spans)
    return counts
