"""Mistakes by whole entities, which are the chunks of a tagging scheme: missed, invented, of a wrong type, wrongly cut.

Source: Chinchor & Sundheim, MUC-5 evaluation metrics (1993): an entity of either side is counted once, in one pair or
alone; Segura-Bedmar, Martínez & Herrero-Zazo, SemEval-2013 task 9: the measures "strict", "exact", "partial", "type".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..schemes import Chunk, chunk_set
from .labelled import Labelled, shown, with_gaps
from .mistakes import EXAMPLES, MISTAKES, context, short

__all__ = ["KINDS", "Entities", "EntityExample", "EntityMistake", "Measure", "Pair", "drawn", "entities", "paired"]

# What a pair of a gold and a predicted entity may be, the pairs made first coming first; then entities without a pair.
KINDS = ("correct", "wrong type", "wrong boundary", "wrong type and boundary", "missed", "invented")
# Number of tokens of an entity that an example shows, and of its wrong tokens that it names.
_LONGEST, _WRONG = 30, 3

Labels = Sequence[Sequence[Any]]


class Pair(NamedTuple):
    """A gold entity and the predicted entity that stands for it; one of them is None if the other has no partner."""

    gold: Chunk | None
    predicted: Chunk | None

    @property
    def kind(self) -> str:
        """What the pair is, one of `KINDS`."""
        if self.gold is None or self.predicted is None:
            return "invented" if self.gold is None else "missed"
        is_type, is_boundary = self.gold[0] == self.predicted[0], self.gold[1:] == self.predicted[1:]
        return KINDS[2 * (not is_boundary) + (not is_type)]

    @property
    def tokens(self) -> range:
        """The tokens from the first to the last of both entities."""
        chunks = [chunk for chunk in self if chunk is not None]
        return range(min(start for _, start, _ in chunks), max(end for _, _, end in chunks))

    def rank(self) -> tuple[int, int, int]:
        """Return by what pairs are made: better kinds first, then more tokens in common, then from left to right."""
        assert self.gold is not None
        assert self.predicted is not None
        (_, start, end), (_, first, last) = self.gold, self.predicted
        return KINDS.index(self.kind), max(start, first) - min(end, last), start + first


class EntityExample(NamedTuple):
    """A mistake in its sentence.

    Attributes:
        sentence: number of the sentence, from 1.
        tokens: numbers of at most 3 tokens with a wrong label, from 1; the tokens are in the entities or next to them.
        words: the words of the entities, at most 30, and at most 7 on either side.
        is_cut: whether the sentence has more words before them, and after them.
        pair: the mistake; tokens are counted in `words`.
        gold: all gold entities among the words, cut at their ends.
        predicted: likewise all predicted ones.
        confidence: the smallest probability of a predicted label in the entities; None without probabilities.
    """

    sentence: int
    tokens: list[int]
    words: list[str]
    is_cut: tuple[bool, bool]
    pair: Pair
    gold: list[Chunk]
    predicted: list[Chunk]
    confidence: float | None


class EntityMistake(NamedTuple):
    """Mistakes of one kind and the same types.

    Attributes:
        kind: one of `KINDS`.
        gold: type of the gold entities; None if there are none.
        predicted: type of the predicted entities; None if there are none.
        n: number of such mistakes.
        examples: at most 3 of them: the ones of which the model is most certain, else the first ones.
    """

    kind: str
    gold: str | None
    predicted: str | None
    n: int
    examples: list[EntityExample]


class Measure(NamedTuple):
    """Precision, recall and F1 where pairs that are not correct have some credit; 0 where undefined."""

    precision: float
    recall: float
    f1: float


class Entities(NamedTuple):
    """Entities by what the model makes of them.

    Attributes:
        counts: type -> kind -> number of entities; of an invented entity the type is the predicted one.
        mistakes: the 15 most frequent mistakes, with examples.
    """

    counts: dict[str, dict[str, int]]
    mistakes: list[EntityMistake]

    @property
    def total(self) -> dict[str, int]:
        """Kind -> number of entities of all types."""
        return {kind: sum(counts[kind] for counts in self.counts.values()) for kind in KINDS}

    @property
    def measures(self) -> dict[str, Measure]:
        """The four measures of SemEval-2013, by name: what each takes for correct.

        "strict" takes correct entities alone, "exact" all with the right boundaries, "type" all of the right type that
        overlap, "partial" all with the right boundaries and half of the others that overlap.
        """
        n = self.total
        without_partner = n["missed"], n["invented"]
        correct, wrong_type, wrong_boundary, both_wrong = (n[kind] for kind in KINDS[:4])
        pairs = correct + wrong_type + wrong_boundary + both_wrong
        gold, predicted = (pairs + alone for alone in without_partner)
        credits = {
            "strict": correct,
            "exact": correct + wrong_type,
            "partial": correct + wrong_type + 0.5 * (wrong_boundary + both_wrong),
            "type": correct + wrong_boundary,
        }
        return {
            name: Measure(
                credit / predicted if predicted else 0.0,
                credit / gold if gold else 0.0,
                2.0 * credit / (gold + predicted) if gold + predicted else 0.0,
            )
            for name, credit in credits.items()
        }


def paired(gold: Sequence[Chunk], predicted: Sequence[Chunk]) -> list[Pair]:
    """Return each entity of a sentence once, in a pair or alone, from left to right.

    The entities of a pair overlap. Equal entities form pairs first, then entities with the same boundaries, then
    entities of the same type, then all others. Among pairs of a kind, more tokens in common come first, then the place
    further left.

    Args:
        gold: the true entities, from left to right.
        predicted: the predicted ones, from left to right.
    """
    if gold == predicted:
        return [Pair(chunk, chunk) for chunk in gold]
    alone = {*gold}, {*predicted}
    pairs = []
    for pair in sorted(_overlapping(gold, predicted), key=Pair.rank):
        if pair.gold in alone[0] and pair.predicted in alone[1]:
            pairs.append(pair)
            alone[0].discard(pair.gold)
            alone[1].discard(pair.predicted)
    pairs += [Pair(chunk, None) for chunk in alone[0]] + [Pair(None, chunk) for chunk in alone[1]]
    return sorted(pairs, key=lambda pair: (pair.tokens.start, pair.tokens.stop, pair.gold is None))


def _overlapping(gold: Sequence[Chunk], predicted: Sequence[Chunk]) -> Iterator[Pair]:
    """Yield the pairs of entities with a common token."""
    i = j = 0
    while i < len(gold) and j < len(predicted):
        (_, start, end), (_, first, last) = gold[i], predicted[j]
        if max(start, first) < min(end, last):
            yield Pair(gold[i], predicted[j])
        i, j = (i + 1, j) if end < last else (i, j + 1)


def drawn(example: EntityExample, colours: Labelled) -> list[tuple[str, str]]:
    """Return the gold and the predicted entities of a mistake as HTML, after "gold" and "predicted"."""
    before, after = (["…"] * is_cut for is_cut in example.is_cut)
    words, shift = [*before, *example.words, *after], len(before)
    lines = []
    for name, spans, of_pair in zip(
        ("gold", "predicted"), (example.gold, example.predicted), example.pair, strict=True
    ):
        inside = range(0) if of_pair is None else range(of_pair[1] + shift, of_pair[2] + shift)
        parts = [f"<b>{shown(word)}</b>" if at in inside else shown(word) for at, word in enumerate(words)]
        moved = [(type_, start + shift, end + shift) for type_, start, end in spans]
        lines.append((name, colours.text(with_gaps(moved, len(words)), words, parts)))
    return lines


def entities(
    gold: Labels,
    predicted: Labels,
    words: Sequence[Sequence[str]],
    confidences: Sequence[Sequence[float]] | None = None,
) -> Entities:
    """Return the entities of label sequences by what the predicted ones make of them; chunks as in mode "conlleval".

    Args:
        gold: the true label sequences.
        predicted: the predicted label sequences.
        words: what is shown of each token.
        confidences: the probability of each predicted label; None if the model has none.
    """
    counts: dict[str, dict[str, int]] = {}
    places: dict[tuple[str, str | None, str | None], list[tuple[float, int, Pair]]] = {}
    for i, (true, guess) in enumerate(zip(gold, predicted, strict=True)):
        spans = _chunks(true)
        for pair in paired(spans, spans if list(true) == list(guess) else _chunks(guess)):
            of_gold, of_guess = (None if chunk is None else chunk[0] for chunk in pair)
            row = counts.setdefault(of_gold if of_gold is not None else str(of_guess), dict.fromkeys(KINDS, 0))
            row[pair.kind] += 1
            if pair.kind != "correct":
                p = 0.0 if confidences is None else min(confidences[i][t] for t in pair.tokens)
                places.setdefault((pair.kind, of_gold, of_guess), []).append((-p, i, pair))

    def shown(occurrences: list[tuple[float, int, Pair]]) -> list[EntityExample]:
        first = sorted(occurrences, key=lambda each: (*each[:2], each[2].tokens.start))[:EXAMPLES]
        return [
            _example(i, gold[i], predicted[i], words[i], pair, None if confidences is None else -p)
            for p, i, pair in first
        ]

    most = sorted(places.items(), key=lambda item: (-len(item[1]), str(item[0])))[:MISTAKES]
    mistakes = [EntityMistake(*key, len(occurrences), shown(occurrences)) for key, occurrences in most]
    return Entities({type_: counts[type_] for type_ in sorted(counts)}, mistakes)


def _chunks(labels: Sequence[Any]) -> list[Chunk]:
    return sorted(chunk_set(labels), key=lambda chunk: chunk[1])


def _example(
    number: int, true: Sequence[Any], guess: Sequence[Any], words: Sequence[str], pair: Pair, confidence: float | None
) -> EntityExample:
    """Return a mistake in the sentence with this number, from 0."""
    tokens = pair.tokens
    around = context(tokens.start, min(tokens.stop, tokens.start + _LONGEST), len(words))
    # A chunk whose labels are right can be alone because a wrong label next to it joins it to another one.
    beside = (tokens.start - 1, tokens.stop)
    wrong = [t for t in tokens if true[t] != guess[t]]
    wrong = wrong or [t for t in beside if 0 <= t < len(true) and true[t] != guess[t]]

    def cut(chunk: Chunk) -> Chunk:
        """Return the part of an entity in the words, whose tokens are counted from the first of them."""
        type_, start, end = chunk
        return type_, max(start, around.start) - around.start, min(end, around.stop) - around.start

    def inside(labels: Sequence[Any]) -> list[Chunk]:
        return [chunk for chunk in map(cut, _chunks(labels)) if chunk[1] < chunk[2]]

    return EntityExample(
        sentence=number + 1,
        tokens=[t + 1 for t in wrong[:_WRONG]],
        words=[short(words[t]) for t in around],
        is_cut=(around.start > 0, around.stop < len(words)),
        pair=Pair(*(None if chunk is None else cut(chunk) for chunk in pair)),
        gold=inside(true),
        predicted=inside(guess),
        confidence=confidence,
    )
