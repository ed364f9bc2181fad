"""Training from a model: a trained chain gives the weights that a training on other data starts at."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...data.templates import TemplateText
from ...errors import warn
from ...objectives.older import check_label_type, other_template
from ...options import fail
from ...result import WarmStart
from ..files.chain import ChainModel, open_model

if TYPE_CHECKING:
    from ...objectives.chain import ChainData
    from ...vectors import Vector

__all__ = ["Start", "start_path", "warn_of_lost", "warn_of_template"]


class Start:
    """A trained chain, at whose weights the training of another one starts.

    Features of the same names, which are an attribute and labels, start at the trained chain's weights; all others
    start at 0.

    Args:
        model: the trained chain.
        label_type: type of its labels: "str", "int" or "bool".
        name: what messages and settings call it.
    """

    def __init__(self, model: ChainModel, label_type: str, name: str) -> None:
        self.model, self.label_type, self.name = model, label_type, name

    @property
    def template(self) -> TemplateText | None:
        """The template of the trained chain, if it has one."""
        return None if self.model.template is None else TemplateText(self.model.template)

    @property
    def tokenizer(self) -> str | None:
        """How the trained chain cuts raw text."""
        tokenizer: str | None = json.loads(self.model.settings).get("tokenizer")
        return tokenizer

    @classmethod
    def open(cls, path: str | os.PathLike[str], argument: str = "start") -> Start:
        """Open the file of a model, which messages about the path call by the name of the argument.

        Raises:
            OptionError: the argument is not a path.
            ModelFileError: the file is damaged or of another kind.
            OSError: the file cannot be read.
        """
        name = start_path(path, "ChainCRF", argument)
        model, settings = open_model(name, "chain")
        return cls(model, settings.get("label_type", "str"), name)

    def warn_of_lost(self, *, has_bias: bool = False) -> None:
        """Warn of what was decided about the trained chain after its training; see the function of this name."""
        warn_of_lost(self.name, json.loads(self.model.settings), has_bias=has_bias, argument="start")

    def weights(self, data: ChainData) -> tuple[Vector, WarmStart]:
        """Return the weights to start at, shape (n_features,), and an account of them.

        Args:
            data: the data to train on.

        Raises:
            DataError: the model has labels of another type.

        Warns:
            UserWarning: the template is another one.
        """
        check_label_type(self.name, self.label_type, data.label_type)
        warn_of_template(self.name, self.model.template, data.template)
        return self.shared(data)

    def shared(self, data: ChainData) -> tuple[Vector, WarmStart]:
        """Return the weights for data that are known to go together with the model; see `weights`."""
        w, n_shared = data.start_weights(self.model)
        old_labels = {*self.model.labels}
        new_labels = [label for label in data.label_names if label not in old_labels]
        return w, WarmStart(self.name, n_shared, data.n_features, new_labels)


def start_path(start: object, estimator: str, argument: str = "start") -> str:
    """Return the path of an older model; raise OptionError if it is neither a path nor, before, an estimator."""
    if not isinstance(start, (str, os.PathLike)):
        fail(argument, start, f"is neither a {estimator} nor the path of a model file")
    path = os.fspath(start)
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        fail(argument, start, "is not a valid path; give the path of a model file")
    return path


def warn_of_template(name: str, older: str | None, template: str | None) -> None:
    """Warn if the data to train on have another template than the older model, which is called ``name``."""
    if difference := other_template(name, older, template):
        remedy = " (leave out the new one to use it)" if older is not None and template is not None else ""
        warn(f"{difference}{remedy}; only attributes with the same names start from its weights")


def warn_of_lost(name: str, settings: Mapping[str, Any], *, has_bias: bool = False, argument: str = "prior") -> None:
    """Warn of what was decided about an older model after its training, and does not hold for a model trained from it.

    Args:
        name: what messages call the older model.
        settings: of the older model.
        has_bias: whether the new model has biases of labels as well.
        argument: "prior" or "start", for messages.
    """
    if (bias := settings.get("label_bias")) and not has_bias:
        shown = [f"--label-bias {label}={score:g}" for label, score in bias.items()]
        warn(
            f"{argument}: {name} has biases of labels, which suit its own weights, and the new model has none; choose "
            f"new ones with `tune_bias`, or repeat them (label_bias={bias} in Python, {' '.join(shown)} of `loglinear "
            "tag`)"
        )
    if (temperature := settings.get("temperature", 1.0)) != 1.0:
        warn(
            f"{argument}: {name} is calibrated, its weights divided by {temperature:.4g}, and the new model is not; "
            "calibrate the new one on development data, too"
        )
