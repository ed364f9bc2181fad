"""Tables and columns of any library as NumPy arrays: pandas, polars, pyarrow, DuckDB, and others that speak Arrow.

pandas is read by its own methods, everything else that has Arrow's PyCapsule interface through the native module, so
that none of these libraries needs another one. What is neither of these, nor an array, nor a list of rows, is refused
by its type: iterating over an unknown object may give its columns or its names instead of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError
from .columns import is_arrow, is_pandas, several_columns
from .sparse_structure import check_structure
from .table import Table

if TYPE_CHECKING:
    from ..vectors import Vector
    from .inputs import Array

__all__ = [
    "Frame",
    "as_column",
    "as_frame",
    "as_matrix",
    "check_names",
    "columns_called",
    "dates_in",
    "missing_columns",
    "named_type",
    "not_numbers",
]

_REMEDY = "give a pandas or polars DataFrame, a pyarrow Table, a DuckDB relation, an array or a list of rows"
# Number of columns that a message lists.
_SHOWN = 8
# Methods that turn a table that is not in memory into one that is.
_COMPUTE = ("collect", "compute")


@dataclass(frozen=True)
class Frame:
    """A table of any library.

    Attributes:
        columns: values of each column, shape (n_samples,); None, NaN, NaT or pandas.NA where a value is missing.
        names: names of the columns; None if there are none, or if one is not a string.
        orders: values of each column in their declared order, as for an ordered `pandas.Categorical`, a polars or
            DuckDB enum, or an ordered dictionary of pyarrow; None for a column without such an order.
        counts: how many samples each row stands for, shape (n_samples,); None for 1 each.
        lines: number of the line, from 1, of each row in its file, shape (n_samples,); None if there is no such file.
        is_file: whether the table is of a file that a command reads, so that messages may advise flags.
        is_comma_separated: whether commas separate the cells in the file.
    """

    columns: list[Array]
    names: list[str] | None
    orders: list[list[Any] | None]
    counts: npt.NDArray[np.int64] | None = None
    lines: npt.NDArray[np.int64] | None = None
    is_file: bool = False
    is_comma_separated: bool = False

    def __post_init__(self) -> None:
        _check_distinct(self.names or [])

    @classmethod
    def of(cls, X: object) -> Frame:
        """Read a table: of a library of data frames, a `Table`, an array, a sparse matrix, or a list of rows.

        A row is a sequence of values or a dict of values by column.

        Raises:
            DataError: X is not a table, is of an unknown type, or has columns of an unknown type or of the same name.
        """
        if isinstance(X, Frame):
            return X
        if isinstance(X, Table):
            orders = [X.orders.get(name) for name in X.names]
            is_comma_separated = X.lines is not None and X.delimiter == ","
            return cls([*X.columns], X.names, orders, X.counts, X.lines, True, is_comma_separated)
        if is_pandas(X):
            return _of_pandas(X)
        if is_arrow(X):
            return _of_arrow(X)
        is_delayed = hasattr(X, "compute") and hasattr(type(X), "columns")  # a DataFrame of Dask
        if (hasattr(X, "__array__") and not is_delayed) or hasattr(X, "tocsr"):
            return _of_array(X)
        if isinstance(X, Sequence | Iterator) and not isinstance(X, str | bytes):
            return _of_rows([*X])
        raise _no_table(X)

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Frame:
        """Return some of the rows."""
        columns = [column[chosen] for column in self.columns]
        counts = None if self.counts is None else self.counts[chosen]
        return replace(self, columns=columns, counts=counts, lines=None if self.lines is None else self.lines[chosen])

    def matrix(self) -> Vector:
        """Return the columns as a matrix of numbers, shape (n_samples, n_columns); NaN for missing values.

        Raises:
            DataError: a column has values other than numbers; names the column.
        """
        columns = [_numbers(column, self.called(i)) for i, column in enumerate(self.columns)]
        return np.stack(columns).T if columns else np.empty((0, 0))

    def called(self, column: int) -> str:
        """Return a column's name, or its number, for messages."""
        return f"column {column}" if self.names is None else f"column {self.names[column]!r}"

    def place(self, row: int) -> str:
        """Return the number of a row's line in its file, or of the row, for messages."""
        return f"row {row}" if self.lines is None else f"line {self.lines[row]}"


def as_frame(X: Any) -> Frame | None:
    """Read a `Table` or a table of Arrow's; None for anything else, which NumPy and scikit-learn read themselves.

    Raises:
        DataError: X is not a table, or is one of pandas with two columns of the same name, or with dates or times.
    """
    if is_pandas(X):
        _check_distinct([*X.columns])
        dates = next((name for name, kind in zip(X.columns, X.dtypes, strict=True) if _is_date(kind)), None)
        if dates is not None:
            called = f"column {dates!r}"
            raise dates_in(called)
    if isinstance(X, Table | Frame) or (is_arrow(X) and not hasattr(X, "iloc")):
        return Frame.of(X)
    is_array = hasattr(X, "__array__") or hasattr(X, "__array_interface__") or hasattr(X, "tocsr")
    if not is_array and (not isinstance(X, Sequence) or isinstance(X, str | bytes)):
        raise _no_table(X)
    _check_plain(X)
    check_structure(X)
    return None


def _no_table(X: object) -> DataError:
    """Return the error about an object that is not a table, by its type."""
    return DataError(f"X has type {named_type(X)}, which is not a table; {_remedy(X)}")


def _check_plain(X: object) -> None:
    """Raise DataError if X is an array of records."""
    if isinstance(X, np.ndarray) and X.dtype.names is not None:
        message = "X is an array of records; convert it to a table first: pandas.DataFrame(X)"
        raise DataError(message)


def dates_in(called: str) -> DataError:
    """Return the error about a column of dates where numbers are expected."""
    return DataError(f"{called} has dates or times, which are not numbers; convert it to numbers, or leave it out")


def _is_date(kind: Any) -> bool:
    """Whether a type of pandas is one of dates or times: of NumPy's, with a time zone, or of Arrow's."""
    return kind.kind in ("m", "M")


def _check_distinct(names: Sequence[object]) -> None:
    """Raise DataError if two columns have the same name."""
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        message = f"X has two columns called {twice!r}; give every column its own name"
        raise DataError(message)


def as_matrix(X: Any) -> Any:
    """Return a `Table` or a table of Arrow's as a matrix of numbers, and anything else unchanged.

    Raises:
        DataError: a column has values other than numbers; names the column.
    """
    frame = as_frame(X)
    return X if frame is None else frame.matrix()


def as_column(values: Any, called: str) -> Any:
    """Return one column of Arrow's, such as a polars Series or a DuckDB relation, as an array; else values unchanged.

    A DataFrame of pandas with one column becomes a Series.

    Args:
        values: classes, weights or lengths.
        called: name of the argument, for messages.

    Raises:
        DataError: the values are a table of several columns, or of a type that cannot be read.
    """
    if is_pandas(values):
        if values.shape[1] != 1:
            raise several_columns(called, values.shape[1])
        return values.iloc[:, 0]
    if not is_arrow(values) or hasattr(values, "iloc"):
        return values
    _, columns = _core.arrow_columns(values)
    if len(columns) != 1:
        raise several_columns(called, len(columns))
    return _values(columns[0], called)


def check_names(names: Sequence[str] | None, expected: Sequence[str] | None) -> None:
    """Raise DataError if a table has other columns than a model, or another order; a table without names passes."""
    if names is None or expected is None or [*names] == [*expected]:
        return
    missing, unknown = (
        [name for name in some if name not in others] for some, others in ((expected, names), (names, expected))
    )
    parts = [f"{columns_called(missing)} of the model {_is(missing)} missing"] if missing else []
    parts += [f"the model has no {columns_called(unknown)}"] if unknown else []
    remedies = [f"add {_them(missing)}"] if missing else []
    remedies += [f"leave out {', '.join(map(repr, unknown[:_SHOWN]))}"] if unknown else []
    if not parts:
        parts, remedies = ["the columns are in another order than in the model"], [f"select {[*expected][:_SHOWN]}"]
    message = f"X: {', and '.join(parts)}; {' and '.join(remedies)}"
    raise DataError(message)


def missing_columns(missing: Sequence[str]) -> str:
    """Return the message about columns of a model that a table lacks, which may be added without values."""
    what = f"{columns_called(missing)} of the model {_is(missing)} missing"
    return f"{what}; add {_them(missing)} (leave cells empty if unknown)"


def columns_called(names: Sequence[object]) -> str:
    """Return the names of columns for messages, such as "columns 'a', 'b'"."""
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:_SHOWN]))}{more}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def named_type(X: object) -> str:
    """Return what messages call the type of an object, such as "polars Series"."""
    kind = type(X)
    module = kind.__module__.partition(".")[0]
    return kind.__qualname__ if module == "builtins" else f"{module} {kind.__qualname__}"


def _remedy(X: object) -> str:
    methods = [method for method in _COMPUTE if hasattr(X, method)]
    return f"call its method {methods[0]}() first" if methods else _REMEDY


def _names(names: Sequence[object]) -> list[str] | None:
    """Return names that are all strings; else None."""
    texts = [name for name in names if isinstance(name, str)]
    return texts if texts and len(texts) == len(names) else None


def _of_pandas(X: Any) -> Frame:
    columns: list[Array] = []
    orders: list[list[Any] | None] = []
    for i, kind in enumerate(X.dtypes):
        series = X.iloc[:, i]
        if type(kind).__name__ == "ArrowDtype":
            _, (column,) = _core.arrow_columns(series.array.__arrow_array__())
            columns.append(_values(column, f"column {X.columns[i]!r}"))
            orders.append(column.dictionary if column.is_ordered else None)
        else:
            is_ordered = type(kind).__name__ == "CategoricalDtype" and kind.ordered
            columns.append(series.to_numpy())
            orders.append(kind.categories.tolist() if is_ordered else None)
    return Frame(columns, _names([*X.columns]), orders)


def _of_arrow(X: Any) -> Frame:
    is_table, columns = _core.arrow_columns(X)
    if not is_table:
        message = f"X is a single column ({named_type(X)}), not a table; {_REMEDY}"
        raise DataError(message)
    orders = [column.dictionary if column.is_ordered or _is_enum(X, i) else None for i, column in enumerate(columns)]
    values = [_values(column, f"column {column.name!r}") for column in columns]
    return Frame(values, _names([column.name for column in columns]), orders)


def _is_enum(X: Any, column: int) -> bool:
    """Whether a column is an enum, whose order DuckDB and older versions of polars do not declare to others."""
    if type(X).__name__ == "DuckDBPyRelation":
        return bool(X.types[column].id == "enum")
    return type(X).__module__.startswith("polars.") and type(X.dtypes[column]).__name__ == "Enum"


def _values(column: _core.ArrowColumn, called: str) -> Array:
    """Return the values of a column; objects if they are not numbers, or if whole numbers are missing."""
    if column.unread is not None:
        message = f"{called}: values of this type ({column.unread}) cannot be read; leave it out, or convert it"
        raise DataError(message)
    values, missing = column.values, column.missing
    if column.dictionary is not None:
        objects = _objects([*column.dictionary, None])
        if missing is not None:
            values[missing] = -1
        return np.asarray(objects[values])
    values = values.view(column.dtype) if column.dtype else values
    if missing is None:
        return values
    if values.dtype.kind in "fmM":
        values[missing] = np.nan if values.dtype.kind == "f" else "NaT"
        return values
    values = values.astype(object)
    values[missing] = None
    return values


def _of_array(X: Any) -> Frame:
    _check_plain(X)
    check_structure(X)
    array = X.toarray() if hasattr(X, "tocsr") else np.ma.asanyarray(X) if np.ma.isMaskedArray(X) else np.asarray(X)
    if array.ndim != 2:
        message = f"X has shape {array.shape}; give a table or an array of shape (n_samples, n_variables)"
        raise DataError(message)
    if np.ma.isMaskedArray(array):
        objects = np.array(array.data, dtype=object)
        objects[np.ma.getmaskarray(array)] = None
        array = objects
    return Frame([*array.T], None, [None] * array.shape[1])


def _of_rows(rows: list[Any]) -> Frame:
    """Read rows, each a sequence of values, or each a dict of values by column."""
    if rows and all(isinstance(row, Mapping) for row in rows):
        names = [*dict.fromkeys(name for row in rows for name in row)]
        columns = [_objects([row.get(name) for row in rows]) for name in names]
        return Frame(columns, _names(names), [None] * len(names))
    for number, row in enumerate(rows):
        if not isinstance(row, Sequence | np.ndarray) or isinstance(row, str | bytes):
            message = f"row {number} of X has type {named_type(row)}, not a sequence of values; {_REMEDY}"
            raise DataError(message)
        if len(row) != len(rows[0]):
            message = f"row {number} of X: expected {len(rows[0])} values, found {len(row)}"
            raise DataError(message)
    columns = [_objects(values) for values in zip(*rows, strict=True)]
    return Frame(columns, None, [None] * len(columns))


def _objects(values: Sequence[Any]) -> Array:
    """Return values as an array of objects, even if they are sequences."""
    return np.fromiter(values, dtype=object, count=len(values))


def _numbers(column: Array, called: str) -> Array:
    """Return numbers, texts of digits and truth values as numbers, NaN for None."""
    if column.dtype.kind in "biuf":
        return column
    numbers = np.full(column.size, np.nan)
    for row, value in enumerate(column.tolist()):
        if isinstance(value, date | time | timedelta):
            raise dates_in(called)
        try:
            numbers[row] = np.nan if value is None else float(value)
        except (TypeError, ValueError) as error:
            raise not_numbers(called, value) from error
    return numbers


def not_numbers(called: str, value: object, place: str = "") -> DataError:
    """Return the error for a column with a value that is not a number, perhaps with its place."""
    remedy = "encode it, for example with scikit-learn's OneHotEncoder, or leave it out"
    return DataError(f"{called} has values that are not numbers, such as {value!r:.60}{place}; {remedy}")
