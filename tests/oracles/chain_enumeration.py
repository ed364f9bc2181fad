"""The chain model by enumeration of every labelling: the oracle for all that dynamic programming computes.

A feature is named ("state", attribute, label), ("transition", from, to), ("triple", first, middle, last) or
("bigram", attribute, from, to).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

Labelling = tuple[str, ...]
Name = tuple[str, ...]


@dataclass
class Token:
    """(attribute, value) of a token, and the attributes that condition the transition into it; duplicates add."""

    states: list[tuple[str, float]]
    bigrams: list[str] = field(default_factory=list)


@dataclass
class Sentence:
    """Tokens, their labels, and how often the sentence counts."""

    tokens: list[Token]
    labels: Labelling
    weight: float = 1.0


def features(tokens: list[Token], labels: Labelling) -> dict[Name, float]:
    """f(x, y): every feature there could be, by name."""
    f: dict[Name, float] = defaultdict(float)
    for t, (token, label) in enumerate(zip(tokens, labels, strict=True)):
        for attribute, value in token.states:
            f["state", attribute, label] += value
        if t > 0:
            f["transition", labels[t - 1], label] += 1.0
            for attribute in token.bigrams:
                f["bigram", attribute, labels[t - 1], label] += 1.0
        if t > 1:
            f["triple", labels[t - 2], labels[t - 1], label] += 1.0
    return f


def named_features(model) -> dict[Name, float]:
    """The weights of a native model, by name."""
    weights = {("state", *name): weight for *name, weight in model.state_features()}
    weights |= {("transition", *name): weight for *name, weight in model.transition_features()}
    weights |= {("triple", *name): weight for *name, weight in model.triple_features()}
    return weights | {("bigram", *name): weight for *name, weight in model.bigram_features()}


@dataclass
class Chain:
    """p(y | x) = exp(w . f(x, y)) / Z(x), for the weights given.

    Labellings are numbered as in `labellings`; what is said of each of them is an array.
    """

    labels: list[str]
    weights: dict[Name, float]

    def labellings(self, length: int) -> list[Labelling]:
        """Every labelling of so many tokens."""
        return list(itertools.product(self.labels, repeat=length))

    def score(self, tokens: list[Token], labels: Labelling) -> float:
        """w . f(x, y), by its definition."""
        pairs = features(tokens, labels).items()
        return math.fsum(self.weights[name] * value for name, value in pairs if name in self.weights)

    def scores(self, tokens: list[Token]) -> np.ndarray:
        """The score of every labelling."""
        numbers = self._numbers(len(tokens))
        scores = np.zeros(len(numbers))
        for places, value, names in self._features(tokens):
            weights = np.array([self.weights.get(name, 0.0) for name in names])
            scores += value * weights[self._which(numbers, places)]
        return scores

    def log_partition(self, tokens: list[Token]) -> float:
        """Log Z(x)."""
        return log_sum_exp(self.scores(tokens))

    def probabilities(self, tokens: list[Token]) -> np.ndarray:
        """The probability p(y | x) of every labelling."""
        scores = self.scores(tokens)
        return np.exp(scores - log_sum_exp(scores))

    def marginals(self, tokens: list[Token], width: int = 1) -> np.ndarray:
        """Probabilities of the labels of each run of so many tokens, shape (runs, labels, ..., labels)."""
        numbers, p = self._numbers(len(tokens)), self.probabilities(tokens)
        runs = [range(t, t + width) for t in range(len(tokens) - width + 1)]
        n = len(self.labels)
        rows = [np.bincount(self._which(numbers, run), p, n**width) for run in runs]
        return np.reshape(rows, (len(runs), *[n] * width))

    def value_and_gradient(self, sentences: list[Sentence]) -> tuple[float, dict[Name, float]]:
        """Sum of weight * -log p(y | x), and its gradient by feature."""
        value, gradient = 0.0, dict.fromkeys(self.weights, 0.0)
        # A sentence that is there many times is enumerated once.
        times = Counter(id(sentence) for sentence in sentences)
        for sentence in {id(sentence): sentence for sentence in sentences}.values():
            tokens, weight = sentence.tokens, sentence.weight * times[id(sentence)]
            value += weight * (self.log_partition(tokens) - self.score(tokens, sentence.labels))
            expected = [self.marginals(tokens, width) for width in (1, 2, 3)]
            for places, amount, names in self._features(tokens):
                p = expected[len(places) - 1][places[0]].ravel()
                for name, probability in zip(names, p.tolist(), strict=True):
                    if name in gradient:
                        gradient[name] += weight * amount * probability
            for name, count in features(tokens, sentence.labels).items():
                if name in gradient:
                    gradient[name] -= weight * count
        return value, gradient

    def _numbers(self, length: int) -> np.ndarray:
        """Every labelling by the numbers of its labels, shape (labellings, tokens)."""
        n = len(self.labels)
        return np.indices((n,) * length).reshape(length, n**length).T

    def _which(self, numbers: np.ndarray, places: range) -> np.ndarray:
        """Which of all runs of labels each labelling has in these places."""
        return numbers[:, places] @ len(self.labels) ** np.arange(len(places))[::-1]

    def _features(self, tokens: list[Token]) -> Iterator[tuple[range, float, list[Name]]]:
        """Yield places, value and, for every run of labels in these places, the name of the feature that is there."""
        runs = [list(itertools.product(self.labels, repeat=width)) for width in (1, 2, 3)]
        for t, token in enumerate(tokens):
            for attribute, value in token.states:
                yield range(t, t + 1), value, [("state", attribute, *run) for run in runs[0]]
            if t > 0:
                yield range(t - 1, t + 1), 1.0, [("transition", *run) for run in runs[1]]
                for attribute in token.bigrams:
                    yield range(t - 1, t + 1), 1.0, [("bigram", attribute, *run) for run in runs[1]]
            if t > 1:
                yield range(t - 2, t + 1), 1.0, [("triple", *run) for run in runs[2]]


def log_sum_exp(scores: np.ndarray) -> float:
    """Log of the sum of exponentials."""
    most = scores.max()
    return float(most + np.log(np.exp(scores - most).sum()))


def selected_features(
    sentences: list[Sentence],
    *,
    transitions: bool = True,
    all_states: bool = False,
    all_transitions: bool = False,
    min_count: int = 1,
    order: int = 1,
) -> set[Name]:
    """The features that a model of these sentences has, by the options' definition."""
    labels = sorted({label for sentence in sentences for label in sentence.labels})
    pairs = list(itertools.product(labels, repeat=2))
    tokens = [token for sentence in sentences for token in sentence.tokens]
    later = [token for sentence in sentences for token in sentence.tokens[1:]]
    on_states = Counter(name for token in tokens for name in {name for name, _ in token.states})
    on_bigrams = Counter(name for token in later for name in set(token.bigrams))
    seen = {name for sentence in sentences for name in features(sentence.tokens, sentence.labels)}
    if all_states:
        seen |= {("state", attribute, label) for attribute in on_states for label in labels}
    if all_transitions:
        seen |= {("transition", *pair) for pair in pairs}
        seen |= {("triple", *triple) for triple in itertools.product(labels, repeat=3)}
        seen |= {("bigram", attribute, *pair) for attribute in on_bigrams for pair in pairs}
    frequent = {
        "state": lambda name: on_states[name[1]] >= min_count,
        "bigram": lambda name: on_bigrams[name[1]] >= min_count,
        "transition": lambda name: transitions,
        "triple": lambda name: transitions and order == 2,
    }
    return {name for name in seen if frequent[name[0]](name)}
