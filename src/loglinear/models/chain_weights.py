"""The weights of a trained chain by the names of attributes and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..data.templates import template_text
from ..errors import OptionError
from .estimator import check_fitted
from .files.chain import ChainModel
from .files.settings import settings_text
from .one_state import OneState

if TYPE_CHECKING:
    from ..result import Result

__all__ = ["WeightsByName"]

T = TypeVar("T", bound="WeightsByName")


class WeightsByName(OneState):
    """The part of a chain's estimator that shows the weights.

    Attributes:
        model_: the native model.
        classes_: the labels, in the order of the model's names.
    """

    model_: ChainModel
    classes_: Sequence[Any]

    if TYPE_CHECKING:

        def __init__(self, *, template: str | None) -> None: ...

        def _set_results(self, *results: Result) -> None: ...

    @classmethod
    def of_weights(
        cls: type[T],
        classes: Sequence[str],
        state_features: Mapping[tuple[str, str], float],
        transition_features: Mapping[tuple[str, str], float],
        *,
        template: str | None = None,
    ) -> T:
        """Return a model with weights that were not trained here: edited by hand, or another program's.

        Args:
            classes: the labels; of equal scores the first one wins.
            state_features: {(attribute, label): weight}.
            transition_features: {(label from, label to): weight}.
            template: name of a preset or text of a template, which forms the attributes of raw tokens.

        Raises:
            DataError: a weight is not finite; there are too many labels.
            OptionError: a feature names a label that is not among the classes.

        Example:
            >>> from loglinear import ChainCRF
            >>> states = {("w=the", "DET"): 2.0, ("w=dog", "NOUN"): 2.0}
            >>> crf = ChainCRF.of_weights(["NOUN", "DET"], states, {("DET", "NOUN"): 1.0})
            >>> crf.predict([[["w=the"], ["w=dog"]]])
            [['DET', 'NOUN']]
        """
        number = {label: at for at, label in enumerate(classes)}
        unknown = {label for key in (*state_features, *transition_features) for label in key[1:]} - number.keys()
        unknown |= {before for before, _ in transition_features} - number.keys()
        if unknown or len(number) != len(classes):
            remedy = (
                f"add the labels {sorted(unknown)} of the features" if unknown else "a label occurs twice; list it once"
            )
            message = f"classes={classes!r}: {remedy}"
            raise OptionError(message)
        states: dict[str, list[tuple[int, float]]] = {}
        for (attribute, label), weight in state_features.items():
            states.setdefault(attribute, []).append((number[label], weight))
        pairs = [((number[before], number[label]), weight) for (before, label), weight in transition_features.items()]
        text = template_text(template)
        settings = settings_text("chain", {"format": "python" if text is None else "columns"})
        crf = cls(template=template)
        crf.model_ = ChainModel.of_weights([*classes], [*states.items()], pairs, settings, text)
        crf.classes_ = [*classes]
        crf._set_results()
        return crf

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
