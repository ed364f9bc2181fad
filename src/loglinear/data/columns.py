"""Columns of lists, such as sentences and their labels, in pandas, polars, pyarrow, DuckDB and what else speaks Arrow.

The module imports none of these libraries before it has seen one of their objects, and no NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from numbers import Real
from typing import Any

from .. import _core
from ..errors import DataError
from ..extras import needed_by

__all__ = [
    "ListColumn",
    "as_items",
    "as_lists",
    "is_absent",
    "is_arrow",
    "is_column",
    "is_pandas",
    "is_series",
    "several_columns",
]


def is_arrow(X: object) -> bool:
    """Whether an object offers its data through Arrow's PyCapsule interface."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")


def is_pandas(X: object) -> bool:
    """Whether an object is a DataFrame of pandas, or of a library that imitates it, in memory."""
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "to_numpy") and not hasattr(X, "compute")


def is_column(X: object) -> bool:
    """Whether an object is a column, or a table that may have one column alone."""
    return is_arrow(X) or (hasattr(X, "iloc") and not hasattr(X, "compute"))


def is_series(X: object) -> bool:
    """Whether an object is a column and by its type no table."""
    return is_column(X) and not hasattr(X, "columns") and (hasattr(X, "dtype") or hasattr(X, "type"))


def several_columns(called: str, n_columns: int) -> DataError:
    """Return the error for a table where one column is expected, by the name of the argument."""
    return DataError(f"{called}: expected one column, found a table of {n_columns} columns; select one")


def as_lists(X: Any, called: str, *, tuples: bool = False) -> Any:
    """Return a column as a list of Python objects, and anything else unchanged.

    Args:
        X: sentences, labels or weights.
        called: name of the argument, for messages.
        tuples: whether structs become tuples of their fields, such as the columns of a token, rather than dicts.

    Raises:
        DataError: X is a table of several columns, or has values of an unknown type.
    """
    return ListColumn(X, called).lists(tuples=tuples) if is_column(X) else X


def as_items(X: Any, *, tuples: bool = False) -> Any:
    """Return one value of a column of lists, such as a sentence or its labels, as Python objects; others unchanged.

    Such a value is a scalar of pyarrow or a Series of polars. The scalars of a list become Python objects, too.

    Args:
        X: tokens or labels.
        tuples: see `as_lists`.
    """
    if type(X) is list or type(X) is tuple:
        return [_plain(item.as_py(), tuples=tuples) for item in X] if X and hasattr(X[0], "as_py") else X
    if hasattr(X, "as_py"):
        items = X.as_py()
    elif is_series(X) and not hasattr(X, "iloc") and (hasattr(X, "to_pylist") or hasattr(X, "to_list")):
        items = X.to_pylist() if hasattr(X, "to_pylist") else X.to_list()
    else:
        return X
    return [_plain(item, tuples=tuples) for item in items] if isinstance(items, list) else items


def _plain(item: Any, *, tuples: bool) -> Any:
    """Return a struct as `as_lists` does, and anything else unchanged."""
    if not isinstance(item, dict):
        return item
    return tuple(item.values()) if tuples else {name: value for name, value in item.items() if value is not None}


class ListColumn:
    """A column, and how its library makes columns of results.

    Args:
        column: an object for which `is_column` is true.
        called: name of the argument, for messages.

    Attributes:
        arrow: the column with Arrow's interface; None for a column of pandas that holds Python objects.

    Raises:
        DataError: the column is a table of several columns.
    """

    def __init__(self, column: Any, called: str) -> None:
        if hasattr(column, "columns") and len(column.columns) != 1:
            raise several_columns(called, len(column.columns))
        self._called = called
        self._column = column.iloc[:, 0] if hasattr(column, "columns") and hasattr(column, "iloc") else column
        column = self._column
        self._has_arrow_type = _is_series(column) and type(column.dtype).__name__ == "ArrowDtype"
        self.arrow: Any = column.array.__arrow_array__() if self._has_arrow_type else column
        if _is_series(column) and not self._has_arrow_type:
            self.arrow = None

    @property
    def is_null(self) -> bool:
        """Whether the type of the column says that all its values are missing."""
        column = self._column
        kind = column.dtypes[0] if hasattr(column, "columns") and hasattr(column, "dtypes") else _type_of(column)
        return str(kind).lower() in ("null", "null[pyarrow]")

    def lists(self, *, tuples: bool) -> list[Any]:
        """Return the values as Python objects, None where one is missing; see `as_lists`."""
        if self.arrow is not None:
            return _core.arrow_objects(self.arrow, self._called, tuples=tuples)
        return [None if is_absent(value) else value for value in self._column.tolist()]

    def mapped(self, function: Callable[[list[Any]], dict[str, list[Any]]], *, tuples: bool) -> Any:
        """Return results for all values, as the library of this column has them: a column, or several as a table.

        Args:
            function: returns the results by name of the column, for the values as Python objects. A list without items
                replaces a missing value, whose results are missing.
            tuples: see `as_lists`.
        """
        values = self.lists(tuples=tuples)
        columns = function([[] if value is None else value for value in values])
        for results in columns.values():
            results[:] = [None if value is None else result for value, result in zip(values, results, strict=True)]
        return self.of_lists(columns, is_table=len(columns) > 1)

    def of_arrow(self, result: _core.ArrowLabels, *, is_table: bool) -> Any:
        """Return a column of labels, or a table, as the library of this column has it.

        Raises:
            OptionError: the labels have to be returned with pyarrow, which is missing.
        """
        if _library(self._column) == "polars":
            polars = import_module("polars")
            return polars.DataFrame(result) if is_table else polars.Series(result).alias(self._name)
        pa = _pyarrow()
        if is_table:
            table = pa.Table.from_batches([pa.record_batch(result)])
            columns = {name: table[name] for name in table.column_names}
            return self._of_pandas(columns) if self._has_arrow_type else table
        array = pa.array(result)
        if self._has_arrow_type:
            return self._of_pandas({"": pa.chunked_array([array])})
        if isinstance(self._column, pa.Array):
            return array
        chunks, start = [], 0
        for length in map(len, self._column.chunks if isinstance(self._column, pa.ChunkedArray) else [array]):
            chunks.append(array.slice(start, length))
            start += length
        return pa.chunked_array(chunks, type=array.type)

    def of_lists(self, columns: Mapping[str, Sequence[Any]], *, is_table: bool) -> Any:
        """Return Python objects by name of the column as the library of this column has them; see `of_arrow`."""
        if _library(self._column) == "polars":
            polars = import_module("polars")
            return polars.DataFrame(columns) if is_table else polars.Series(self._name, next(iter(columns.values())))
        if self.arrow is None:
            return self._of_pandas(columns)
        pa = _pyarrow()
        if self._has_arrow_type:
            return self._of_pandas({name: pa.chunked_array([values]) for name, values in columns.items()})
        if is_table:
            return pa.table(dict(columns))
        (values,) = columns.values()
        return pa.array(values) if isinstance(self._column, pa.Array) else pa.chunked_array([values])

    @property
    def _name(self) -> Any:
        """The name of the column; of a table with one column, of that one."""
        return self._column.columns[0] if hasattr(self._column, "columns") else self._column.name

    def _of_pandas(self, columns: Mapping[str, Any]) -> Any:
        """Return a Series, or a DataFrame of several columns, with the index of the column."""
        pandas = import_module("pandas")
        series = {
            name: pandas.Series(
                pandas.arrays.ArrowExtensionArray(values) if self._has_arrow_type else list(values),
                index=self._column.index,
                dtype=None if self._has_arrow_type else object,
            )
            for name, values in columns.items()
        }
        if len(series) > 1:
            return pandas.DataFrame(series)
        return next(iter(series.values())).rename(self._name)


def _is_series(X: object) -> bool:
    return hasattr(X, "iloc") and hasattr(X, "dtype") and not hasattr(X, "columns") and not hasattr(X, "compute")


def _type_of(column: Any) -> object:
    """Return the type of a column: `dtype` for polars and pandas, `type` for pyarrow."""
    return column.dtype if hasattr(column, "dtype") else getattr(column, "type", None)


def is_absent(value: object) -> bool:
    """Whether a value is missing: None, NaN, or NaT or NA of pandas."""
    kind = type(value).__name__
    if kind == "Decimal":  # whose comparisons raise an error for a signalling NaN
        return str(value).lower().endswith("nan")
    return value is None or kind in ("NAType", "NaTType") or (isinstance(value, Real) and value != value)


def _library(column: object) -> str:
    return type(column).__module__.partition(".")[0]


def _pyarrow() -> Any:
    with needed_by("a column of labels"):
        import pyarrow

    return pyarrow
