"""The weights of a trained chain by the names of attributes and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .estimator import check_fitted

if TYPE_CHECKING:
    from .chain_file import ChainModel

__all__ = ["WeightsByName"]


class WeightsByName:
    """The part of a chain's estimator that shows the weights.

    Attributes:
        model_: the native model.
        classes_: the labels, in the order of the model's names.
    """

    model_: ChainModel
    classes_: Sequence[Any]

    @property
    def state_features_(self) -> dict[tuple[str, Any], float]:
        """{(attribute, label): weight} of the weights that are not 0."""
        label_of = self._label_of
        return {(name, label_of[label]): weight for name, label, weight in self.model_.state_features()}

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        """{(label from, label to): weight} of the weights that are not 0."""
        label_of = self._label_of
        return {(label_of[before], label_of[label]): w for before, label, w in self.model_.transition_features()}

    @property
    def triple_features_(self) -> dict[tuple[Any, Any, Any], float]:
        """{three labels in a row: weight} of the weights that are not 0; empty with order=1."""
        label_of = self._label_of
        return {(label_of[a], label_of[b], label_of[c]): weight for a, b, c, weight in self.model_.triple_features()}

    @property
    def bigram_features_(self) -> dict[tuple[str, Any, Any], float]:
        """{(attribute, label from, label to): weight} of the transitions with an attribute whose weights are not 0."""
        label_of = self._label_of
        features = self.model_.bigram_features()
        return {(name, label_of[before], label_of[label]): weight for name, before, label, weight in features}

    @property
    def _label_of(self) -> dict[str, Any]:
        """Name in the native model -> label."""
        check_fitted(self, "model_")
        return dict(zip(self.model_.labels, self.classes_, strict=True))
