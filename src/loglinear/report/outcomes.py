"""What two models get right and wrong of the same tokens, chunks and sentences, and the sentences that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..schemes import chunk_set
from ..visible import shortened

__all__ = ["Change", "Changed", "Outcomes", "changed_sentences", "changes", "outcomes_of_chunks", "outcomes_of_labels"]

# Number of sentences to show, of kinds of changes, of tokens of a sentence, and of characters of a token.
_SENTENCES, _CHANGES, _TOKENS, _CHARACTERS = 50, 20, 60, 240

Labels = Sequence[Sequence[Any]]
Pair = tuple[Labels, Labels]


class Outcomes(NamedTuple):
    """Numbers of items by what two models get right: the table of McNemar (1947).

    Attributes:
        both_right: right with both models.
        fixed: wrong with the first model, right with the second one.
        broken: right with the first model, wrong with the second one.
        both_wrong: wrong with both models.
    """

    both_right: int
    fixed: int
    broken: int
    both_wrong: int

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> Outcomes:
        """Return the numbers of pairs: whether the first model is right, and whether the second one is."""
        counts = Counter(pairs)
        return cls(counts[True, True], counts[False, True], counts[True, False], counts[False, False])


class Change(NamedTuple):
    """Tokens with the same gold label and the same two different predicted labels.

    Attributes:
        gold: the true label.
        first: label that the first model predicts; None for no label.
        second: label that the second model predicts.
        n: number of tokens.
    """

    gold: object
    first: object
    second: object
    n: int


class Changed(NamedTuple):
    """A sentence that the models label differently, or 60 tokens of it with as many differences as possible.

    Attributes:
        sentence: number of the sentence, from 1.
        start: number of tokens before the first one that is shown.
        end: number of tokens of the sentence up to the last one that is shown.
        length: number of tokens of the sentence.
        words: what is shown of each token.
        gold: the true labels of these tokens.
        first: labels that the first model predicts.
        second: labels that the second model predicts.
        n_changed: number of tokens of the sentence whose labels differ.
        fixed: number of tokens of the sentence that only the second model labels correctly.
        broken: number of tokens of the sentence that only the first model labels correctly.
    """

    sentence: int
    start: int
    end: int
    length: int
    words: list[str]
    gold: list[Any]
    first: list[Any]
    second: list[Any]
    n_changed: int
    fixed: int
    broken: int


def outcomes_of_labels(gold: Labels, predicted: Pair) -> dict[Any, Outcomes]:
    """Return the outcomes of the tokens of each gold label."""
    pairs: dict[Any, list[tuple[bool, bool]]] = {}
    for true, first, second in zip(gold, *predicted, strict=True):
        for label, a, b in zip(true, first, second, strict=True):
            pairs.setdefault(label, []).append((a == label, b == label))
    return {label: Outcomes.of(of) for label, of in pairs.items()}


def outcomes_of_chunks(gold: Labels, predicted: Pair) -> dict[str, Outcomes]:
    """Return the outcomes of the gold chunks of each type: right are those that a model predicts exactly."""
    pairs: dict[str, list[tuple[bool, bool]]] = {}
    for true, first, second in zip(gold, *predicted, strict=True):
        a, b = chunk_set(first), chunk_set(second)
        for chunk in chunk_set(true):
            pairs.setdefault(chunk[0], []).append((chunk in a, chunk in b))
    return {type_: Outcomes.of(of) for type_, of in pairs.items()}


def changes(gold: Labels, predicted: Pair) -> tuple[list[Change], int]:
    """Return the 20 most frequent changes of labels, and the number of all kinds of changes."""
    counts: Counter[tuple[Any, Any, Any]] = Counter()
    for true, first, second in zip(gold, *predicted, strict=True):
        counts.update(labels for labels in zip(true, first, second, strict=True) if labels[1] != labels[2])
    most = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))[:_CHANGES]
    return [Change(*labels, n) for labels, n in most], len(counts)


def changed_sentences(gold: Labels, predicted: Pair, words: Sequence[Sequence[str]]) -> tuple[list[Changed], int]:
    """Return the 50 sentences with the most changed labels, and the number of sentences with a changed label.

    Sentences with equal numbers are in the order of the data.
    """
    sizes = [
        (-sum(a != b for a, b in zip(*pair, strict=True)), at) for at, pair in enumerate(zip(*predicted, strict=True))
    ]
    changed = sorted(size for size in sizes if size[0])
    shown = [_changed(at, words[at], gold[at], predicted[0][at], predicted[1][at]) for _, at in changed[:_SENTENCES]]
    return shown, len(changed)


def _changed(
    at: int, words: Sequence[str], gold: Sequence[Any], first: Sequence[Any], second: Sequence[Any]
) -> Changed:
    differ = [a != b for a, b in zip(first, second, strict=True)]
    outcomes = Outcomes.of((a == label, b == label) for label, a, b in zip(gold, first, second, strict=True))
    start = _window(differ)
    end = min(start + _TOKENS, len(gold))
    shown = [shortened(word, _CHARACTERS) for word in words[start:end]]
    true, a, b = (list(labels[start:end]) for labels in (gold, first, second))
    return Changed(at + 1, start, end, len(gold), shown, true, a, b, sum(differ), outcomes.fixed, outcomes.broken)


def _window(differ: Sequence[bool]) -> int:
    """Return the start of the first 60 tokens with as many differences as possible, centred on these."""
    if len(differ) <= _TOKENS:
        return 0
    n = best = sum(differ[:_TOKENS])
    start = 0
    for at in range(len(differ) - _TOKENS):
        n += differ[at + _TOKENS] - differ[at]
        if n > best:
            best, start = n, at + 1
    places = [at for at in range(start, start + _TOKENS) if differ[at]]
    middle = (places[0] + places[-1] + 1 - _TOKENS) // 2
    return min(max(middle, 0), len(differ) - _TOKENS)
