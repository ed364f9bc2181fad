"""Features of a chain model by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import ChainModel, ChainObjective

__all__ = ["Feature", "feature_names", "weighted_features"]


class Feature(NamedTuple):
    """What a weight of a chain model is for.

    Attributes:
        attribute: the attribute that has to be there; None for a transition.
        labels: one, or two or three in a row, the last that of the token.
    """

    attribute: str | None
    labels: tuple[str, ...]

    def __str__(self) -> str:
        """For people: `w=dog  -> NOUN`, `DET -> NOUN`, `w=dog  DET -> NOUN`."""
        to = " -> ".join(self.labels) if len(self.labels) > 1 else f"-> {self.labels[0]}"
        return to if self.attribute is None else f"{self.attribute}  {to}"


def weighted_features(model: ChainModel) -> Iterator[tuple[Feature, float]]:
    """The features of a model with their weights: states, transitions, those with an attribute, triples."""
    for attribute, label, weight in model.state_features():
        yield Feature(attribute, (label,)), weight
    for before, label, weight in model.transition_features():
        yield Feature(None, (before, label)), weight
    for attribute, before, label, weight in model.bigram_features():
        yield Feature(attribute, (before, label)), weight
    for first, middle, last, weight in model.triple_features():
        yield Feature(None, (first, middle, last)), weight


def feature_names(objective: ChainObjective, numbers: npt.ArrayLike) -> list[Feature]:
    """Names of features by their numbers in an objective, which differ.

    Cost: a pass over the weights; strings are made for the features asked for alone.
    """
    import numpy as np

    # A model has the names of the features whose weights are not 0: the weights say which is which.
    wanted = np.asarray(numbers, dtype=np.int64)
    places = np.zeros(objective.n_features)
    places[wanted] = np.arange(1, wanted.size + 1)
    found = {int(place): feature for feature, place in weighted_features(objective.model(places, "{}"))}
    return [found[place] for place in range(1, wanted.size + 1)]
