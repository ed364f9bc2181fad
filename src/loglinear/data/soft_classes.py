"""Distributions over the classes of samples: each sample once for each of its classes, weighted by its probability.

The objective of a classifier is linear in the distribution of a sample's class, so these samples have the objective of
the distributions, and every solver minimises it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError
from .columns import is_pandas
from .corpus import Corpus
from .frames import Frame, as_frame
from .labels import check_types, numbers_by_label
from .sample_values import weights_of_samples
from .samples import rows_of

__all__ = ["RepeatedSamples", "are_soft", "repeated"]

# Types of columns that may have dicts: of NumPy and pandas, and of polars.
_OF_OBJECTS = ("object", "Struct")


class RepeatedSamples(NamedTuple):
    """Samples, each once for each class with a probability above 0.

    Attributes:
        X: the samples.
        y: their classes.
        weights: their weights.
        rows: number of the original sample, shape (n,).
    """

    X: Any
    y: list[Any]
    weights: npt.NDArray[np.float64]
    rows: npt.NDArray[np.int64]

    @property
    def firsts(self) -> npt.NDArray[np.bool_]:
        """Whether a sample is the first one of an original sample, shape (n,)."""
        return np.diff(self.rows, prepend=-1) > 0


def are_soft(y: Any) -> bool:
    """Whether y has distributions over classes: a list or column with dicts, or a matrix or table of several columns.

    A matrix or table has numbers that are not whole, or floats that add up to 1 in each row: other indicators are taken
    for several classes of a sample.
    """
    shape: tuple[int, ...] = getattr(y, "shape", ())
    is_column = len(shape) == 1 and str(getattr(y, "dtype", "")).startswith(_OF_OBJECTS)
    if is_column or isinstance(y, (list, tuple)):
        return any(isinstance(label, Mapping) for label in y)
    if len(shape) != 2 or shape[1] < 2 or hasattr(y, "tocsr"):
        return False
    frame = as_frame(y)
    try:
        table = np.asarray(y if frame is None else frame.matrix(), dtype=np.float64)
    except (TypeError, ValueError):
        return False
    if (table % 1.0 != 0.0).any():
        return True
    is_float = np.asarray(y).dtype.kind == "f"
    return is_float and len(table) > 0 and bool((table >= 0.0).all() and (table.sum(axis=1) == 1.0).all())


def repeated(X: Any, y: Any, sample_weight: Any) -> RepeatedSamples:
    """Return samples with distributions over classes as samples with classes and weights.

    Args:
        X: n samples.
        y: probabilities, shape (n, n_classes), whose classes are the names of a table's columns, or their numbers; or a
            list with a class or a dict of probabilities by class for each sample.
        sample_weight: weights of the samples, or None.

    Raises:
        DataError: probabilities are negative or do not add up to 1; names the row.
    """
    if isinstance(X, Corpus):
        message = "a Corpus already contains labels; give distributions as its labels, or samples and y"
        raise DataError(message)
    pairs = _of_table(y) if len(getattr(y, "shape", ())) == 2 else _of_list(y)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(pairs) != n:
        message = f"y has {len(pairs)} distributions, but X has {n} samples; give one for each sample"
        raise DataError(message)
    weights = weights_of_samples(1.0 if sample_weight is None else sample_weight, n)
    rows = np.array([row for row, shares in enumerate(pairs) for _ in shares], dtype=np.int64)
    shares = np.array([share for shares in pairs for _, share in shares])
    return RepeatedSamples(
        rows_of(X, rows), [name for shares in pairs for name, _ in shares], weights[rows] * shares, rows
    )


def _of_list(y: Iterable[Any]) -> list[list[tuple[Any, float]]]:
    return [
        _checked(numbers_by_label(label, f"y, row {row}"), row) if isinstance(label, Mapping) else [(label, 1.0)]
        for row, label in enumerate(y)
    ]


def _of_table(y: Any) -> list[list[tuple[Any, float]]]:
    frame = Frame.of(y) if is_pandas(y) else as_frame(y)
    table = np.asarray(y if frame is None else frame.matrix(), dtype=np.float64)
    names: Sequence[Any] = range(table.shape[1])
    if is_pandas(y):
        names = np.asarray(y.columns).tolist()  # Python's types; they may be whole numbers
    elif frame is not None and frame.names is not None:
        names = frame.names
    check_types(names, "the names of the columns of y have several types", "; name the columns after the classes")
    return [_checked(dict(zip(names, values, strict=True)), row) for row, values in enumerate(table.tolist())]


def _checked(shares: Mapping[Any, float], row: int) -> list[tuple[Any, float]]:
    """Return the classes with a probability above 0 and their probabilities, which add up to 1."""
    try:
        checked = _core.checked_probabilities([*shares.values()])
    except DataError as error:
        message = f"y, row {row}: {error}"
        raise DataError(message) from None
    return [(name, share) for name, share in zip(shares, checked, strict=True) if share]
