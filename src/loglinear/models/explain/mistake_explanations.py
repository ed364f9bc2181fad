"""Explanations of the mistakes that a report lists, as HTML for its page, with the parts of explanation pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from ...report.entities import Entities
from ...report.labelled import Labelled
from ...report.mistakes import Mistake, short
from ...report.page import Reasons
from .explanation import Explanation
from .explanation_page import INTRODUCTIONS
from .fragment import Fragment
from .token_explanation import called

__all__ = ["Explain", "reasons_of"]

# Returns explanations of sentences, given their numbers from 0 and the tokens of each that need one.
Explain = Callable[[Sequence[int], Sequence[Collection[int]]], Sequence[Explanation]]
# Number of sentences that a report explains, and of contributions that it shows of a token.
_SENTENCES, _TOP = 45, 6
# Number of tokens up to which a sentence is explained, and of tokens times the square of the number of labels.
_TOKENS, _LARGEST = 400, 10_000_000
# Characters of a text that an explanation shows.
_CHARACTERS = 2_000


def reasons_of(
    entities: Entities | None,
    mistakes: Sequence[Mistake],
    explain: Explain,
    labels: Iterable[str],
    lengths: Sequence[int],
) -> Reasons | None:
    """Return why a model made the mistakes that are listed as examples; None without any.

    Args:
        entities: mistakes by entity, which come first; None if there are none.
        mistakes: mistakes by label.
        explain: explains sentences.
        labels: of the data, in the order of their colours.
        lengths: number of tokens of each sentence.
    """
    labels = [*labels]
    places: dict[int, set[int]] = {}
    for sentence, tokens in [*_of_entities(entities), *_of_labels(mistakes)]:
        is_small = lengths[sentence] <= min(_TOKENS, _LARGEST // len(labels) ** 2)
        if is_small and (sentence in places or len(places) < _SENTENCES):
            places.setdefault(sentence, set()).update(tokens)
    if not places:
        return None
    explanations = dict(zip(places, explain([*places], [*places.values()]), strict=True))
    explained = next(iter(explanations.values())).explained
    every = [token for explanation in explanations.values() for token in explanation]
    others = [label for token in every for label in (token.label, token.other) if label is not None]
    colours = Labelled([*labels, *others], sequences=explained == "tokens")
    parts = {}
    for sentence, explanation in sorted(explanations.items()):
        cut = _cut if explained == "texts" else short
        entries = [replace(token, text=cut(token.text)) for token in explanation]
        fragment = Fragment(entries, explained, _TOP, colours, f"s{sentence + 1}-", chosen=places[sentence])
        words = ", ".join(explanation[at].text for at in sorted(places[sentence]))
        parts[sentence + 1] = called(words), fragment.html()
    return Reasons(INTRODUCTIONS[explained], parts)


def _of_entities(entities: Entities | None) -> Iterable[tuple[int, list[int]]]:
    """Yield the sentence and the wrong tokens of each example, counted from 0."""
    for mistake in () if entities is None else entities.mistakes:
        for example in mistake.examples:
            yield example.sentence - 1, [token - 1 for token in example.tokens]


def _of_labels(mistakes: Sequence[Mistake]) -> Iterable[tuple[int, list[int]]]:
    for mistake in mistakes:
        for example in mistake.examples:
            yield example.sentence - 1, [example.token - 1]


def _cut(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
