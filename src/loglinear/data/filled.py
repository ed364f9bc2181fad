"""Tables of data-frame libraries whose missing cells are filled in; the other cells stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ..extras import needed_by
from .columns import is_arrow, is_pandas
from .inputs import Array

__all__ = ["as_fillable", "filled_in"]

Gaps = npt.NDArray[np.bool_]


def as_fillable(X: Any) -> Any:
    """Return a table of a library of data frames, once computed; None for arrays, lists and other tables.

    Tables of pandas and polars are themselves; others with Arrow's PyCapsule interface become tables of pyarrow.
    """
    if is_pandas(X):
        return X
    if not is_arrow(X) or hasattr(X, "iloc"):
        return None
    if _is_polars(X):
        return X
    with needed_by("a table with filled cells"):
        import pyarrow
    if isinstance(X, pyarrow.StructArray | pyarrow.ChunkedArray):
        return pyarrow.Table.from_struct_array(X)
    return pyarrow.table(X)


def filled_in(table: Any, gaps: Sequence[Gaps], columns: Sequence[Array]) -> Any:
    """Return a table with new values in its gaps, and with the same columns, types and index otherwise.

    A column whose type has no place for a new value, such as the name of a bin among numbers, becomes a column of
    objects in pandas, and a column of texts elsewhere.

    Args:
        table: as `as_fillable` returns it.
        gaps: whether each value of each column is replaced, shape (n_samples,) each.
        columns: the new values of each column, shape (n_samples,) each.
    """
    fill = _of_pandas if hasattr(table, "iloc") else _of_polars if _is_polars(table) else _of_pyarrow
    for i, (gap, values) in enumerate(zip(gaps, columns, strict=True)):
        if gap.any():
            table = fill(table, i, gap, values)
    return table


def _is_polars(X: object) -> bool:
    return type(X).__module__.startswith("polars.")


def _replaced(values: list[Any], gap: Gaps, new: Array) -> list[Any]:
    """Return Python objects with others in the gaps."""
    return [other if is_gap else value for value, is_gap, other in zip(values, gap.tolist(), new.tolist(), strict=True)]


def _of_pandas(table: Any, i: int, gap: Gaps, new: Array) -> Any:
    pandas = import_module("pandas")
    old = table.iloc[:, i]
    values = _replaced(old.tolist(), gap, new)
    is_categorical = type(old.dtype).__name__ == "CategoricalDtype"
    fits = not is_categorical or {*new[gap].tolist()} <= {*old.dtype.categories.tolist()}
    try:
        column = pandas.Series(values, index=old.index, dtype=old.dtype if fits else object)
    except (TypeError, ValueError):
        column = pandas.Series(values, index=old.index, dtype=object)
    table = table.copy()
    table.isetitem(i, column)
    return table


def _of_polars(table: Any, i: int, gap: Gaps, new: Array) -> Any:
    polars = import_module("polars")
    old = table.to_series(i)
    values = _replaced(old.to_list(), gap, new)
    try:
        column = polars.Series(old.name, values, dtype=old.dtype)
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
        column = polars.Series(old.name, _texts(values), dtype=polars.String)
    return table.with_columns(column)


def _of_pyarrow(table: Any, i: int, gap: Gaps, new: Array) -> Any:
    pa = import_module("pyarrow")
    field = table.schema.field(i)
    values = _replaced(table.column(i).to_pylist(), gap, new)
    try:
        column = pa.array(values, type=field.type)
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        column = pa.array(_texts(values), type=pa.string())
    return table.set_column(i, field.name, column)


def _texts(values: list[Any]) -> list[str | None]:
    return [None if value is None else str(value) for value in values]
