"""The model file of a classifier or of choices: a chain of single tokens, with the intercept as an attribute."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import _core
from ...errors import DataError
from ...vectors import Vector
from .chain import NUMBER, open_model
from .schema import refuse, typed_array
from .settings import settings_text

__all__ = ["INTERCEPT", "Contents", "model_of", "read"]

# Name of the attribute that every sample has.
INTERCEPT = "(intercept)"
# The most weights of columns with numbers, 16 GiB of memory, of which the file has those that are not 0.
_MOST_WEIGHTS = 2**31


@dataclass(frozen=True)
class Contents:
    """The content of a classifier's file.

    Attributes:
        settings: how it was trained.
        template: text of the template with which samples were read; None without a template.
        classes: in the order of the weights.
        attributes: names of the columns; None for the columns of a matrix or table.
        column_names: names of the columns of a table; None for a matrix.
        coef: shape (1, n_columns) with two classes, else (n_classes, n_columns).
        intercept: shape (1,) or (n_classes,).
    """

    settings: dict[str, Any]
    template: str | None
    classes: npt.NDArray[Any]
    attributes: list[str] | None
    coef: Vector
    intercept: Vector
    column_names: list[str] | None = None


def model_of(contents: Contents, kind: str = "maxent") -> _core.ChainModel:
    """Return the native model of a classifier, or of another kind with the same weights: see `read`.

    Raises:
        DataError: the classes are neither numbers nor strings, two columns have the same name, or a name or class is
            not valid Unicode.
    """
    classes, coef, attributes = contents.classes.tolist(), contents.coef, contents.attributes
    if not all(isinstance(label, (str, int, float)) for label in classes):
        message = f"classes of type {type(classes[0]).__name__} cannot be saved; use strings or numbers"
        raise DataError(message)
    names = [str(column) for column in range(coef.shape[1])] if attributes is None else attributes
    settings = {
        **contents.settings,
        "classes": classes,
        "class_type": "U" if contents.classes.dtype == object else contents.classes.dtype.str,
        "n_columns": coef.shape[1] if attributes is None else None,
        "column_names": contents.column_names if attributes is None else None,
    }
    return _core.classifier_model(
        [*names, INTERCEPT],
        [str(label) for label in classes],
        np.vstack([coef.T, contents.intercept]).ravel(),
        settings_text(kind, settings),
        template=contents.template,
        intercept=INTERCEPT,
    )


def read(path: str, kind: str = "maxent") -> Contents:
    """Return what the file of a classifier holds, or of choices, whose classes are 0 and 1 (kind "choice").

    Cost: the weights that the file leaves out, which are 0, are written nowhere: untouched memory is 0.

    Raises:
        ModelFileError: the file is damaged, or of another kind of model.
        OSError: the file cannot be read.
    """
    model, settings = open_model(path, kind)
    features = model.state_features()
    n_columns, attributes = settings["n_columns"], None
    if n_columns is None:
        attributes = sorted({name for name, _, _ in features} - {INTERCEPT})
        n_columns, place = len(attributes), {name: column for column, name in enumerate(attributes)}
    else:
        names = {name for name, _, _ in features} - {INTERCEPT}
        place = {name: int(name) for name in names if re.fullmatch(NUMBER, name)}
    labels = model.labels[1:] if len(model.labels) == 2 else model.labels
    outputs = {label: k for k, label in enumerate(labels)}
    if n_columns * len(labels) > _MOST_WEIGHTS:
        wanted = f"a number that gives {len(labels)} classes at most {_MOST_WEIGHTS:,} weights"
        refuse(f"{path}: setting n_columns", n_columns, wanted)
    coef, intercept = np.zeros((len(labels), n_columns)), np.zeros(len(labels))
    for name, label, weight in features:
        column = -1 if name == INTERCEPT else place.get(name, n_columns)
        if column >= n_columns or label not in outputs or not math.isfinite(weight):
            refuse(f"{path}: a weight", (name, label, weight), "a finite weight of one of the columns and classes")
        if name == INTERCEPT:
            intercept[outputs[label]] = weight
        else:
            coef[outputs[label], column] = weight
    classes = typed_array(f"{path}: setting classes", settings["classes"], settings["class_type"])
    return Contents(settings, model.template, classes, attributes, coef, intercept, settings.get("column_names"))
