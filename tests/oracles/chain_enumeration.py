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
    """p(y | x) = exp(w . f(x, y)) / Z(x), for the weights given."""

    labels: list[str]
    weights: dict[Name, float]

    def score(self, tokens: list[Token], labels: Labelling) -> float:
        """w . f(x, y)."""
        pairs = features(tokens, labels).items()
        return math.fsum(self.weights[name] * value for name, value in pairs if name in self.weights)

    def scores(self, tokens: list[Token]) -> dict[Labelling, float]:
        """The score of every labelling."""
        return {labels: self.score(tokens, labels) for labels in itertools.product(self.labels, repeat=len(tokens))}

    def log_partition(self, tokens: list[Token]) -> float:
        """Log Z(x)."""
        return log_sum_exp(self.scores(tokens).values())

    def probabilities(self, tokens: list[Token]) -> Iterator[tuple[Labelling, float]]:
        """Every labelling with p(y | x)."""
        scores = self.scores(tokens)
        log_z = log_sum_exp(scores.values())
        return ((labels, math.exp(score - log_z)) for labels, score in scores.items())

    def value_and_gradient(self, sentences: list[Sentence]) -> tuple[float, dict[Name, float]]:
        """Sum of weight * -log p(y | x), and its gradient by feature."""
        value, gradient = 0.0, dict.fromkeys(self.weights, 0.0)
        for sentence in sentences:
            tokens, weight = sentence.tokens, sentence.weight
            value += weight * (self.log_partition(tokens) - self.score(tokens, sentence.labels))
            expected: Counter[Name] = Counter()
            for labels, p in self.probabilities(tokens):
                for name, count in features(tokens, labels).items():
                    expected[name] += p * count
            for name, count in features(tokens, sentence.labels).items():
                expected[name] -= count
            for name in gradient.keys() & expected.keys():
                gradient[name] += weight * expected[name]
        return value, gradient


def log_sum_exp(scores) -> float:
    """Log of the sum of exponentials."""
    scores = list(scores)
    most = max(scores)
    return most + math.log(math.fsum(math.exp(score - most) for score in scores))


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
