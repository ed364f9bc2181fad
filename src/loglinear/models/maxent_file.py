"""The model file of a classifier: the file of a chain of single tokens, with the intercept as an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError, ModelFileError
from ..vectors import Vector
from .chain_file import open_model
from .settings import check_kind, settings_text

__all__ = ["INTERCEPT", "Contents", "model_of", "read"]

# The attribute that every sample has.
INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Contents:
    """The content of a classifier's file.

    Attributes:
        settings: how it was trained.
        template: text of the template with which samples were read; None without a template.
        classes: in the order of the weights.
        attributes: names of the columns; None for columns that have numbers.
        coef: shape (1, n_columns) with two classes, else (n_classes, n_columns).
        intercept: shape (1,) or (n_classes,).
    """

    settings: dict[str, Any]
    template: str | None
    classes: npt.NDArray[Any]
    attributes: list[str] | None
    coef: Vector
    intercept: Vector


def model_of(contents: Contents) -> _core.ChainModel:
    """Return the native model of a classifier.

    Raises:
        DataError: the classes are neither numbers nor strings, or two columns have the same name.
    """
    classes, coef, attributes = contents.classes.tolist(), contents.coef, contents.attributes
    if not all(isinstance(each, (str, int, float)) for each in classes):
        message = f"classes of type {type(classes[0]).__name__} cannot be saved; use strings or numbers"
        raise DataError(message)
    names = [str(column) for column in range(coef.shape[1])] if attributes is None else attributes
    settings = {
        **contents.settings,
        "classes": classes,
        "class_type": "U" if contents.classes.dtype == object else contents.classes.dtype.str,
        "n_columns": coef.shape[1] if attributes is None else None,
    }
    return _core.classifier_model(
        [*names, INTERCEPT],
        [str(each) for each in classes],
        np.vstack([coef.T, contents.intercept]).ravel(),
        settings_text("maxent", settings),
        template=contents.template,
        intercept=INTERCEPT,
    )


def read(path: str) -> Contents:
    """Return what the file of a classifier holds.

    Raises:
        ModelFileError: the file is damaged, or of another kind of model.
        OSError: the file cannot be read.
    """
    model, settings = open_model(path)
    check_kind("maxent", settings, path)
    features = model.state_features()
    n_columns = settings["n_columns"]
    if n_columns is None:
        attributes = sorted({name for name, _, _ in features} - {INTERCEPT})
        place = {name: column for column, name in enumerate(attributes)}
    else:
        attributes, place = None, {str(column): column for column in range(n_columns)}
    place[INTERCEPT] = n = len(place)
    outputs = {label: k for k, label in enumerate(model.labels)}
    if len(outputs) == 2:
        outputs = {model.labels[1]: 0}
    weights = np.zeros((n + 1, len(outputs)))
    try:
        for name, label, weight in features:
            weights[place[name], outputs[label]] = weight
        classes = np.array(settings["classes"], dtype=settings["class_type"])
    except (KeyError, TypeError, ValueError) as error:
        message = f"{path}: damaged: its settings do not fit its weights"
        raise ModelFileError(message) from error
    return Contents(settings, model.template, classes, attributes, np.ascontiguousarray(weights[:n].T), weights[n])
