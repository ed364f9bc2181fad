"""The file of a chain model, which is a classifier's file too, and the features in it by name.

This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._core import ChainModel

if TYPE_CHECKING:
    from ..data.features import Feature

__all__ = ["ChainModel", "open_model", "weighted_features"]


def open_model(path: str) -> tuple[ChainModel, dict[str, Any]]:
    """Map the file of a chain or of a classifier; return the model and its settings.

    Raises:
        ModelFileError: the file is damaged or of another kind.
        OSError: the file cannot be read.
    """
    model = ChainModel.open(path)
    return model, json.loads(model.settings)


def weighted_features(model: ChainModel) -> Iterator[tuple[Feature, float]]:
    """Yield the features of a model with their weights: states, transitions, bigrams, triples."""
    from ..data.features import Feature

    for attribute, label, weight in model.state_features():
        yield Feature(attribute, (label,)), weight
    for before, label, weight in model.transition_features():
        yield Feature(None, (before, label)), weight
    for attribute, before, label, weight in model.bigram_features():
        yield Feature(attribute, (before, label)), weight
    for first, middle, last, weight in model.triple_features():
        yield Feature(None, (first, middle, last)), weight
