"""The strongest features of each label, and the weights of transitions, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import nlargest, nsmallest
from typing import NamedTuple, TypeVar

from ..data.features import Feature

__all__ = ["Strongest", "Transitions", "strongest", "strongest_of", "transitions"]

# Number of features shown for a label, and of features against it.
_TOP = 10
# Number of labels whose transitions are shown.
_LABELS = 30

Weighted = Sequence[tuple[Feature, float]]
_Named = TypeVar("_Named")


class Strongest(NamedTuple):
    """The features with the largest weights of a label: names and weights, the strongest first.

    Attributes:
        up: features that speak for the label.
        down: features that speak against it.
    """

    up: list[tuple[str, float]]
    down: list[tuple[str, float]]


class Transitions(NamedTuple):
    """Weights of transitions.

    Attributes:
        labels: labels of rows (from) and columns (to), in the order of the model.
        weights: a list of weights for each row; None where the model has no such feature, or weight 0.
        n_hidden: number of the model's labels, the rarest, that are left out.
    """

    labels: list[str]
    weights: list[list[float | None]]
    n_hidden: int


def strongest(
    features: Weighted, labels: Iterable[str], called: Callable[[Iterable[str | None]], Mapping[str, str]]
) -> dict[str, Strongest]:
    """Return, for each label that has any, the 10 strongest features for and against it.

    Transitions are left out; a feature with several labels belongs to the last one.

    Args:
        features: features with their weights.
        labels: labels of the model.
        called: returns what people call some attributes.
    """
    by_label: dict[str, list[tuple[Feature, float]]] = {label: [] for label in labels}
    for feature, weight in features:
        if feature.attribute is not None or len(feature.labels) != 2:
            by_label[feature.labels[-1]].append((feature, weight))
    shown = {label: _both_ends(weights) for label, weights in by_label.items() if weights}
    called_by = called([feature.attribute for ends in shown.values() for end in ends for feature, _ in end])
    return {
        label: Strongest(*([(_name(feature, called_by), weight) for feature, weight in end] for end in ends))
        for label, ends in shown.items()
    }


def strongest_of(weights: Iterable[tuple[str, float]]) -> Strongest:
    """Return the 10 strongest of a label's features for it and against it, from names and weights."""
    return Strongest(*_both_ends(list(weights)))


def _both_ends(weights: list[tuple[_Named, float]]) -> tuple[list[tuple[_Named, float]], list[tuple[_Named, float]]]:
    """Return the 10 largest weights above 0, and the 10 smallest below 0."""
    return (
        nlargest(_TOP, (pair for pair in weights if pair[1] > 0.0), key=lambda pair: pair[1]),
        nsmallest(_TOP, (pair for pair in weights if pair[1] < 0.0), key=lambda pair: pair[1]),
    )


def _name(feature: Feature, called_by: Mapping[str, str]) -> str:
    """Return the name of a feature among those of its last label."""
    before = [f"after {' -> '.join(feature.labels[:-1])}"] if len(feature.labels) > 1 else []
    return "  ".join([*([] if feature.attribute is None else [called_by[feature.attribute]]), *before])


def transitions(features: Weighted, labels: Sequence[str]) -> Transitions | None:
    """Return the weights of transitions between the first 30 labels; None if there are no transitions."""
    pairs = {
        feature.labels: weight for feature, weight in features if feature.attribute is None and len(feature.labels) == 2
    }
    if not pairs:
        return None
    shown = list(labels[:_LABELS])
    weights = [[pairs.get((row, column)) for column in shown] for row in shown]
    return Transitions(shown, weights, len(labels) - len(shown))
