"""Explaining labels: the best labelling and the best one in which a token has another label; see `explanation`."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...constraints import warn_of_no_labelling
from ...options import thread_limit
from ..files.chain import attributes_called
from .explanation import Explanation
from .token_explanation import Contribution, TokenExplanation

if TYPE_CHECKING:
    from ...data.corpus import Corpus
    from ..files.chain import ChainModel

__all__ = ["Explainer"]

Scores = npt.NDArray[np.float64]
# Stands for the bias of labels among the attributes of tokens, none of which begins with this character.
BIAS = "\0label bias"


class Explainer:
    """Explains labels of a chain or a classifier.

    Args:
        model: as trained; its weights are read once.
    """

    def __init__(self, model: ChainModel) -> None:
        self.model, self.labels = model, model.labels
        self._number = number = {label: at for at, label in enumerate(self.labels)}
        n = len(number)
        self._states: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for attribute, label, weight in model.state_features():
            self._states[attribute].append((number[label], weight))
        self._has_bias = bool(bias := json.loads(model.settings).get("label_bias"))
        if self._has_bias:
            self._states[BIAS] = [(number[label], score) for label, score in bias.items()]
        self._bigrams: dict[str, list[tuple[int, int, float]]] = defaultdict(list)
        for attribute, before, label, weight in model.bigram_features():
            self._bigrams[attribute].append((number[before], number[label], weight))
        self._transitions = np.zeros((n, n))
        for before, label, weight in model.transition_features():
            self._transitions[number[before], number[label]] = weight
        triples = model.triple_features()
        self._triples = np.zeros((n, n, n)) if triples else None
        for before, middle, label, weight in triples:
            self._triples[number[before], number[middle], number[label]] = weight  # type: ignore[index]
        self._allowed, self._first, self._last = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        for first, second in model.forbidden:
            if first is not None and second is not None:
                self._allowed[first, second] = -np.inf
            elif second is not None:
                self._first[second] = -np.inf
            elif first is not None:
                self._last[first] = -np.inf

    def explain(
        self,
        corpus: Corpus,
        texts: Sequence[Sequence[str]] | None = None,
        threads: int = 0,
        *,
        explained: str = "tokens",
        chosen: Sequence[Collection[int]] | None = None,
    ) -> list[Explanation]:
        """Explain the labels of all sentences.

        Args:
            corpus: sentences; labels do not matter.
            texts: what the tokens of each sentence are called.
            threads: 0 for all cores.
            explained: what has labels: tokens, samples or texts.
            chosen: the tokens of each sentence to explain; the others have their labels only. By default all.

        Warns:
            DataWarning: the constraints allow no labelling of a sentence, whose tokens then have the label `?`.
        """
        thread_limit(threads)
        names, marginals = corpus.core.names(), self.model.marginals(corpus.core, threads=threads)
        predicted, number = self.model.predict(corpus.core, threads=threads), self._number
        weighted = [name for name in names if name in self._states or name in self._bigrams]
        called_by = {**attributes_called(self.model, weighted), BIAS: "label bias"}
        states, bigrams = (_rows(corpus, names, bigrams=bigrams) for bigrams in (False, True))
        explanations, forbidden = [], []
        for at, length in enumerate(corpus.core.lengths()):
            attributes = [next(states) for _ in range(length)]
            pairs = [next(bigrams, []) for _ in range(length)]
            if self.model.intercept is not None:
                attributes = [[*token_attributes, (self.model.intercept, 1.0)] for token_attributes in attributes]
            if self._has_bias:
                attributes = [[*token_attributes, (BIAS, 1.0)] for token_attributes in attributes]
            called = texts[at] if texts is not None else [""] * length
            probabilities = np.array(marginals[at]).reshape(length, len(self.labels))
            if length and not probabilities.any():
                forbidden.append(at)
                nothing = [TokenExplanation(token, text, "?", 0.0) for token, text in enumerate(called)]
                explanations.append(Explanation(nothing, explained))
                continue
            sentence, best = _Sentence(self, attributes, pairs, called_by), [number[label] for label in predicted[at]]
            wanted = range(length) if chosen is None else chosen[at]
            explanations.append(Explanation(sentence.explained(best, called, probabilities, wanted), explained))
        warn_of_no_labelling(forbidden)
        return explanations


class _Sentence:
    """Scores of a sentence under an explainer's weights.

    Attributes:
        scores: of the states, shape (tokens, labels).
        edges: of the transitions into each token, shape (tokens, labels, labels); unused for the first token.
    """

    def __init__(
        self,
        explainer: Explainer,
        attributes: list[list[tuple[str, float]]],
        bigrams: list[list[tuple[str, float]]],
        called_by: dict[str, str],
    ) -> None:
        self.explainer, self.attributes, self.bigrams, self.called_by = explainer, attributes, bigrams, called_by
        n, length = len(explainer.labels), len(attributes)
        self.scores = np.zeros((length, n))
        self.edges = np.broadcast_to(explainer._transitions + explainer._allowed, (length, n, n)).copy()
        for token, (row, pairs) in enumerate(zip(attributes, bigrams, strict=True)):
            for name, value in row:
                for label, weight in explainer._states.get(name, ()):
                    self.scores[token, label] += value * weight
            for name, _ in pairs:
                for before, label, weight in explainer._bigrams.get(name, ()):
                    self.edges[token, before, label] += weight
        self.scores[:1] += explainer._first
        self.scores[-1:] += explainer._last

    def explained(
        self, best: list[int], texts: Sequence[str], probabilities: Scores, chosen: Collection[int]
    ) -> list[TokenExplanation]:
        """Return the explanation of each token of the best labelling; only chosen tokens have a runner-up."""
        labels, explanations = self.explainer.labels, []
        for token, label in enumerate(best):
            name, sure = labels[label], float(probabilities[token, label])
            scores = self.scores.copy()
            scores[token, label] = -np.inf
            other = self.best(scores) if token in chosen else None
            if other is None:
                explanations.append(TokenExplanation(token, texts[token], name, sure))
                continue
            contributions = list(self.contributions(best, other))
            contributions.sort(key=lambda contribution: -abs(contribution.weight))
            explanations.append(
                TokenExplanation(
                    token,
                    texts[token],
                    name,
                    sure,
                    labels[other[token]],
                    float(probabilities[token, other[token]]),
                    [labels[rival] for rival in other],
                    # Rounding must not make the runner-up better.
                    max(0.0, float(sum(contribution.weight for contribution in contributions))),
                    contributions,
                )
            )
        return explanations

    def best(self, scores: Scores) -> list[int] | None:
        """Return the best labelling with these scores of states (Viterbi); of second order over pairs of labels.

        In a tie, the labelling whose label comes first at the last token where they differ wins, as in `predict`. None
        if every labelling is forbidden.
        """
        triples = self.explainer._triples
        back: list[npt.NDArray[np.intp]] = []
        if triples is None or len(scores) < 3:
            value = scores[0]
            for token in range(1, len(scores)):
                sums = value[:, None] + self.edges[token]
                back.append(sums.argmax(axis=0))
                value = sums.max(axis=0) + scores[token]
            path = [int(value.argmax())]
            for pointers in reversed(back):
                path.append(int(pointers[path[-1]]))
        else:
            value = scores[0][:, None] + self.edges[1] + scores[1]
            for token in range(2, len(scores)):
                sums = value[:, :, None] + triples
                back.append(sums.argmax(axis=0))
                value = sums.max(axis=0) + self.edges[token] + scores[token]
            # The last label is the row: it decides ties before the label in the middle.
            path = [int(place) for place in np.unravel_index(value.T.argmax(), value.shape)]
            for pointers in reversed(back):
                path.append(int(pointers[path[-1], path[-2]]))
        return path[::-1] if np.isfinite(value.max()) else None

    def contributions(self, best: list[int], other: list[int]) -> Iterator[Contribution]:
        """Yield the features whose weights differ between two labellings."""
        explainer = self.explainer
        for token, (row, pairs) in enumerate(zip(self.attributes, self.bigrams, strict=True)):
            if best[token] != other[token]:
                for name, value in row:
                    weights = dict(explainer._states.get(name, ()))
                    yield from self._difference(
                        token, name, value * (weights.get(best[token], 0.0) - weights.get(other[token], 0.0))
                    )
            if token and best[token - 1 : token + 1] != other[token - 1 : token + 1]:
                moves = [(labels[token - 1], labels[token]) for labels in (best, other)]
                for name, _ in pairs:
                    by_move = {(before, label): weight for before, label, weight in explainer._bigrams.get(name, ())}
                    yield from self._difference(token, name, by_move.get(moves[0], 0.0) - by_move.get(moves[1], 0.0))
                weight = explainer._transitions[moves[0]] - explainer._transitions[moves[1]]
                yield from self._moves(token, moves, weight)
            if explainer._triples is not None and token > 1:
                threes = [tuple(labels[token - 2 : token + 1]) for labels in (best, other)]
                weight = explainer._triples[threes[0]] - explainer._triples[threes[1]]
                yield from self._moves(token, threes, weight)

    def _moves(self, token: int, moves: Sequence[tuple[int, ...]], weight: float) -> Iterator[Contribution]:
        """Yield the difference of the weights of labels in a row in two labellings, unless it is 0."""
        first, second = ([self.explainer.labels[label] for label in move] for move in moves)
        if weight != 0.0:
            feature, name = (f"{by.join(first)}, not {by.join(second)}" for by in (" > ", " then "))
            yield Contribution(token, feature, float(weight), name)

    def _difference(self, token: int, feature: str, weight: float) -> Iterator[Contribution]:
        if weight != 0.0:
            yield Contribution(token, feature, weight, self.called_by.get(feature, feature))


def _rows(corpus: Corpus, names: list[str], *, bigrams: bool) -> Iterator[list[tuple[str, float]]]:
    ends, ids, values = corpus.core.rows(bigrams=bigrams)
    begin = 0
    for end in ends.tolist():
        yield [(names[i], v) for i, v in zip(ids[begin:end].tolist(), values[begin:end].tolist(), strict=True)]
        begin = end
