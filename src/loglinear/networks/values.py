"""Values of columns: which of them are missing, and which are different."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.columns import is_absent
from ..data.inputs import Array

__all__ = ["distinct_of", "hashables", "is_hashable", "is_missing", "looked_up", "without_values"]


def is_missing(column: Array) -> npt.NDArray[np.bool_]:
    """Whether each value is missing: None, NaN, NaT or pandas.NA."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "biuUS":
        return np.zeros(column.size, np.bool_)
    return looked_up(column.tolist(), is_absent, np.bool_)


def looked_up(values: list[Any], answer: Callable[[Any], Any], dtype: Any) -> Array:
    """Return the answer for each value; it is computed once for each distinct value."""
    try:
        answers = {value: answer(value) for value in set(values)}
    except TypeError:  # a value that cannot be hashed
        return np.fromiter(map(answer, values), dtype, len(values))
    return np.fromiter(map(answers.__getitem__, values), dtype, len(values))


def without_values(columns: Sequence[Array]) -> npt.NDArray[np.bool_]:
    """Return whether all values of each sample are missing, shape (n_samples,)."""
    return np.asarray(np.logical_and.reduce([is_missing(column) for column in columns]))


def distinct_of(column: Array) -> list[Any]:
    """Return the different values of a column, apart from missing ones; those without a hash as texts."""
    present = column[~is_missing(column)]
    if column.dtype.kind == "M":  # NumPy lists times in nanoseconds as whole numbers
        return list(np.unique(present.astype("datetime64[us]")).tolist())
    if column.dtype.kind in "iufU":
        return list(np.unique(present).tolist())
    try:
        return list(dict.fromkeys(present.tolist()))
    except TypeError:
        return list(dict.fromkeys(hashables(present)))


def hashables(column: Array) -> list[Any]:
    """Return the values of a column; those without a hash as texts."""
    return [value if is_hashable(value) else repr(value) for value in column.tolist()]


def is_hashable(value: object) -> bool:
    """Whether a value can be in a set."""
    return getattr(value, "__hash__", None) is not None
