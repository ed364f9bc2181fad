"""Columns of categories as states of variables, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.table import Table
from ..errors import DataError
from .numbering import Codes

__all__ = ["categories_of", "column_names", "columns_of", "decoded", "encoded"]

Array = npt.NDArray[Any]


def column_names(X: Any) -> list[str] | None:
    """Names of the columns of a table; None if it has no names, or if a name is not a string."""
    names = X.names if isinstance(X, Table) else getattr(X, "columns", None)
    found = None if names is None else list(names)
    return found if found and all(isinstance(name, str) for name in found) else None


def columns_of(X: Any) -> list[Array]:
    """Columns of a table or an array, shape (n_samples, n_variables).

    Raises:
        DataError: X is no table, has fewer than two columns, or has no rows.
    """
    if isinstance(X, Table):
        columns = X.columns
    elif hasattr(X, "iloc"):
        columns = [X.iloc[:, i].to_numpy() for i in range(X.shape[1])]
    else:
        array = X if isinstance(X, np.ndarray) else np.array(_rows(X), dtype=object)
        if array.ndim != 2:
            message = f"X has shape {array.shape}; give a table or an array of shape (n_samples, n_variables)"
            raise DataError(message)
        columns = list(array.T)
    if len(columns) < 2:
        message = f"X has {len(columns)} variables; a network needs at least two"
        raise DataError(message)
    if not len(columns[0]):
        message = "X has no rows; give at least one sample"
        raise DataError(message)
    return columns


def _rows(X: Any) -> list[list[Any]]:
    """Rows of a sequence of sequences, all of one length."""
    try:
        rows = [list(row) for row in X]
    except TypeError as error:
        message = f"X is no table: {error}; give an array or a DataFrame of shape (n_samples, n_variables)"
        raise DataError(message) from error
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            message = f"row {number} of X has {len(row)} values, the first one {len(rows[0])}"
            raise DataError(message)
    return rows


def _missing(column: Array) -> npt.NDArray[np.bool_]:
    """Whether each value is missing: None, NaN, NaT or pandas.NA."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "biuUS":
        return np.zeros(column.size, np.bool_)
    absent = ("NAType", "NaTType")
    flags = (
        value is None or type(value).__name__ in absent or (isinstance(value, (float, np.floating)) and value != value)
        for value in column
    )
    return np.fromiter(flags, np.bool_, column.size)


def categories_of(columns: Sequence[Array], names: Sequence[str] | None, max_states: int) -> list[Array]:
    """The different values of each column, sorted.

    Raises:
        DataError: a column has no value, a single one, more than ``max_states``, or values that cannot be compared.
    """
    return [_categories(column, _named(names, i), max_states) for i, column in enumerate(columns)]


def _named(names: Sequence[str] | None, i: int) -> str:
    """Column i, by name or by number, for messages."""
    return f"column {i}" if names is None else f"column {names[i]!r}"


def _categories(column: Array, name: str, max_states: int) -> Array:
    """The different values of a column, sorted."""
    values = column[~_missing(column)]
    try:
        found = np.unique(values) if values.dtype.kind != "O" else _distinct(values)
    except TypeError as error:
        message = f"{name} has values that cannot be compared ({error}); make them all strings"
        raise DataError(message) from error
    if not found.size:
        message = f"{name} has no values; leave it out"
    elif found.size == 1:
        message = f"{name} has only the value {found[0]!r}; a constant says nothing: leave it out"
    elif found.size > max_states:
        message = f"{name} has {found.size} different values, more than max_states={max_states}; "
        message += "bin it if it is a measurement, leave it out if it is an identifier, or raise max_states"
    else:
        return found
    raise DataError(message)


def _distinct(values: Array) -> Array:
    """The different values of an array of objects, sorted; of a type of their own if they share one."""
    distinct = sorted(set(values.tolist()))
    kinds = {type(value) for value in distinct}
    if kinds <= {bool} or kinds <= {int} or kinds <= {int, float} or kinds <= {str}:
        return np.array(distinct)
    found = np.empty(len(distinct), dtype=object)
    found[:] = distinct
    return found


def encoded(columns: Sequence[Array], categories: Sequence[Array], names: Sequence[str] | None) -> Codes:
    """States of samples, -1 where a value is missing, shape (n_samples, n_variables).

    Raises:
        DataError: the numbers of columns and categories differ, or a value is none of the categories.
    """
    if len(columns) != len(categories):
        message = f"X has {len(columns)} variables; the network has {len(categories)}"
        raise DataError(message)
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.int32)
    for i, (column, known) in enumerate(zip(columns, categories, strict=True)):
        codes[:, i] = _codes(column, known, _named(names, i))
    return codes


def _codes(column: Array, known: Array, name: str) -> Codes:
    """States of the values of a column whose categories are ``known``."""
    missing = _missing(column)
    if column.dtype.kind in "biufU" and known.dtype.kind == column.dtype.kind:
        at = np.minimum(np.searchsorted(known, column), known.size - 1)
        unknown = ~missing & (known[at] != column)
    else:
        place = {value: number for number, value in enumerate(known.tolist())}
        at = np.array([place.get(value, -1) if _hashable(value) else -1 for value in column.tolist()], dtype=np.int64)
        unknown = ~missing & (at < 0)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        value = column[row]
        message = f"row {row} has {value!r} in {name}, a value that the network does not know; "
        message += f"it knows {', '.join(repr(each) for each in known.tolist()[:8])}{', ...' if known.size > 8 else ''}"
        raise DataError(message)
    return np.where(missing, -1, at).astype(np.int32)


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None


def decoded(codes: Codes, categories: Sequence[Array]) -> Array:
    """The values of states, shape (n_samples, n_variables); objects unless all categories are of one type."""
    columns = [known[codes[:, i]] for i, known in enumerate(categories)]
    kinds = {known.dtype.kind for known in categories}
    if len(kinds) == 1 and "O" not in kinds:
        return np.stack(columns, axis=1)
    table = np.empty(codes.shape, dtype=object)
    for i, column in enumerate(columns):
        table[:, i] = column
    return table
