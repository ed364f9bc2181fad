"""Models of choices among alternatives, of which no command reads data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...data.features import Feature
from ...models.conditional_logit import ConditionalLogit
from ...models.files.chain import open_model
from ...models.files.settings import version_of
from ...visible import counted
from .inspected import shown
from .kind import Kind

if TYPE_CHECKING:
    from ...models.explain.model_card import ModelCard

__all__ = ["Choices"]

# What a weight speaks for.
_LABEL = "chosen"


class Choices(Kind):
    """The model of a conditional logit."""

    called = "a model of choices"
    estimator = "ConditionalLogit"

    def __init__(self, path: str) -> None:
        """Open the file, which says whether it is damaged."""
        super().__init__(path)
        self.logit = ConditionalLogit.load(path)

    def inspect(self, *, top: int, as_json: bool) -> str:
        """Show the number of columns, the strongest weights, and how the model was trained."""
        logit = self.logit
        weights = ((logit.column_name(column), float(w)) for column, w in enumerate(logit.coef_) if w)
        features = [(Feature(name, (_LABEL,)), w) for name, w in weights]
        about = {"n_attributes": logit.n_features_in_, "labels": [_LABEL], "template": None}
        return shown(features, about, open_model(self.path, "choice")[1], top=top, as_json=as_json)

    def card(self) -> ModelCard:
        """Return the model card."""
        from ...models.explain.model_card import ModelCard
        from .carded import loaded, not_converged, own_settings

        training, rows = self.logit._training, self.logit._summary()
        n_groups = training.get("n_samples")
        return ModelCard(
            path=self.path,
            task="",
            tags=("conditional-logit", "discrete-choice", "ranking"),
            does="A conditional logit. It gives each alternative of a group its probability to be chosen.",
            label_noun="labels",
            labels={_LABEL: ()},
            data={} if n_groups is None else {"trained on": counted(n_groups, "group")},
            settings=own_settings(rows),
            status=not_converged(training),
            python=loaded(self.path, "ConditionalLogit", "model", "model.predict_proba(X, groups)"),
            version=version_of(self.path),
        )
