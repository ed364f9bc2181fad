"""Confusions of labels as a table, and the most frequent mistakes with examples in context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..metrics import Evaluation

__all__ = ["EXAMPLES", "MISTAKES", "Confusions", "Example", "Mistake", "confusions", "context", "mistakes", "short"]

# Number of labels with their own row and column.
_LABELS = 20
# Number of kinds of mistakes to show, and of examples of each.
MISTAKES, EXAMPLES = 15, 3
# Tokens of context on either side, and characters of a token.
_CONTEXT, _CHARACTERS = 7, 240

Labels = Sequence[Sequence[Any]]


class Confusions(NamedTuple):
    """Numbers of tokens by gold and predicted label.

    Attributes:
        rows: names of the gold labels, the most frequent first; the last one may stand for all others together.
        columns: names of the predicted labels: the names of the rows, and "(no label)" if a token was given none.
        counts: a list of numbers for each row.
        n_others: number of labels that stand together.
    """

    rows: list[str]
    columns: list[str]
    counts: list[list[int]]
    n_others: int


class Example(NamedTuple):
    """A token with a wrong label, in its sentence.

    Attributes:
        sentence: number of the sentence, from 1.
        token: number of the token in the sentence, from 1.
        before: words before the token, at most 7; "…" stands for more of them.
        word: the token.
        after: words after the token, at most 7; "…" stands for more of them.
        confidence: the probability that the model gives the wrong label; None if it has no probabilities.
    """

    sentence: int
    token: int
    before: list[str]
    word: str
    after: list[str]
    confidence: float | None


class Mistake(NamedTuple):
    """A gold label in whose place another label is predicted.

    Attributes:
        gold: the true label.
        predicted: the predicted label; None for no label.
        n: number of such tokens.
        examples: at most 3 of them: the ones of which the model is most certain, else the first ones.
    """

    gold: object
    predicted: object
    n: int
    examples: list[Example]


def confusions(scores: Evaluation) -> Confusions:
    """Return the confusions of the 20 most frequent labels, and of all others together."""
    by_number = sorted(scores.per_label, key=lambda label: -scores.per_label[label]["support"])
    # A single label is not worth hiding behind "others".
    shown = by_number if len(by_number) <= _LABELS + 1 else by_number[:_LABELS]
    n_others = len(by_number) - len(shown)
    place = {label: at for at, label in enumerate(shown)}
    names = [str(label) for label in shown] + ([f"{n_others} others"] if n_others else [])
    counts = [[0] * (len(names) + 1) for _ in names]
    for gold in by_number:
        row, confused = counts[place.get(gold, len(shown))], scores.confusion.get(gold, {})
        for predicted, n in confused.items():
            row[place.get(predicted, len(shown))] += n
        row[-1] += scores.per_label[gold]["support"] - sum(confused.values())
    if any(row[-1] for row in counts):
        return Confusions(names, [*names, "(no label)"], counts, n_others)
    return Confusions(names, names, [row[:-1] for row in counts], n_others)


def mistakes(
    gold: Labels,
    predicted: Labels,
    words: Sequence[Sequence[str]],
    confidences: Sequence[Sequence[float]] | None = None,
) -> list[Mistake]:
    """Return the 15 most frequent pairs of a gold and another predicted label, with examples.

    Args:
        gold: the true label sequences.
        predicted: the predicted label sequences.
        words: what is shown of each token.
        confidences: the probability of each predicted label; None if the model has none.
    """
    places: dict[tuple[Any, Any], list[tuple[float, int, int]]] = {}
    for i, (true, guess) in enumerate(zip(gold, predicted, strict=True)):
        for t, pair in enumerate(zip(true, guess, strict=True)):
            if pair[0] != pair[1]:
                p = 0.0 if confidences is None else confidences[i][t]
                places.setdefault(pair, []).append((-p, i, t))
    most = sorted(places.items(), key=lambda item: (-len(item[1]), str(item[0])))[:MISTAKES]

    def shown(occurrences: list[tuple[float, int, int]]) -> list[Example]:
        return [
            _example(words[i], i, t, None if confidences is None else -p) for p, i, t in sorted(occurrences)[:EXAMPLES]
        ]

    return [Mistake(*pair, len(occurrences), shown(occurrences)) for pair, occurrences in most]


def _example(words: Sequence[str], sentence: int, token: int, confidence: float | None) -> Example:
    around = context(token, token + 1, len(words))
    before = ["…"] * (around.start > 0) + [short(words[at]) for at in range(around.start, token)]
    after = [short(words[at]) for at in range(token + 1, around.stop)] + ["…"] * (around.stop < len(words))
    return Example(sentence + 1, token + 1, before, short(words[token]), after, confidence)


def context(start: int, end: int, n: int) -> range:
    """Return the tokens of an example in a sentence of n tokens: from start to end, and up to 7 on either side."""
    return range(max(start - _CONTEXT, 0), min(end + _CONTEXT, n))


def short(word: str) -> str:
    """Return a word as an example shows it, which is the beginning of a long one."""
    return word if len(word) <= _CHARACTERS else f"{word[: _CHARACTERS - 1]}…"
