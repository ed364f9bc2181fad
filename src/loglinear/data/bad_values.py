"""What is wrong with a matrix that cannot be used: its shape, or the column that has a value other than a number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import date, time, timedelta
from numbers import Complex, Real
from typing import Any

import numpy as np

from ..errors import DataError
from .columns import is_pandas, is_series
from .frames import Frame, check_names, dates_in, named_type, not_numbers
from .inputs import Array

__all__ = ["WrongTypeError", "bad_value", "check_scores", "checked", "named"]

# Kinds of arrays that hold numbers, as NumPy calls them.
_NUMBERS = "biuf"
# Bytes of a float64.
_DOUBLE = 8
# Scores up to this size may be scaled by a temperature, subtracted and added up.
_LARGEST = 1e300

_IMPUTE = "fill in missing values, for example with scikit-learn's SimpleImputer, or leave them out"
_CONVERT = "convert the column to numbers, or leave it out"


class WrongTypeError(DataError, TypeError):
    """A value of a type that has no number; scikit-learn's estimators raise a TypeError for it."""


def checked(X: Any) -> Any:
    """Return a matrix whose values are numbers; a list of rows becomes an array if it holds nothing else.

    NumPy and pandas would turn some values into numbers that are none, such as bytes, dates and complex numbers.

    Raises:
        DataError: a value is not a finite number; names the column.
    """
    if type(X) is np.ndarray and X.dtype.kind in _NUMBERS:
        return _as_doubles(X)
    kinds = [getattr(getattr(X, "dtype", None), "kind", "f")]
    if is_pandas(X):
        kinds = [getattr(kind, "kind", "O") for kind in X.dtypes]
    elif isinstance(X, list | tuple):
        array = np.asarray(X)
        if array.ndim == 2 and array.dtype.kind in _NUMBERS:
            return _as_doubles(array)
        kinds = [array.dtype.kind]
    error = None if all(kind in _NUMBERS for kind in kinds) else bad_value(X)
    if error is not None:
        raise error
    if hasattr(X, "tocoo") and X.dtype.itemsize > _DOUBLE:
        triples = X.tocoo()
        _check_range(triples.data, lambda place: (triples.row[place], triples.col[place]))
    return X


def _as_doubles(array: Array) -> Array:
    """Return an array of longer numbers as doubles, and any other unchanged."""
    if array.dtype.itemsize <= _DOUBLE:
        return array
    if array.ndim == 2:
        _check_range(array.ravel(), lambda place: divmod(place, array.shape[1]))
    with np.errstate(over="ignore"):
        return array.astype(np.float64)


def _check_range(values: Array, place: Callable[[int], tuple[int, int]]) -> None:
    """Raise DataError if a finite number is too large for a double; names the column and row that ``place`` returns."""
    with np.errstate(over="ignore", under="ignore"):
        bad = np.flatnonzero(np.isinf(values.astype(np.float64)) & np.isfinite(values))
    if bad.size:
        row, column = place(int(bad[0]))
        called = f"column {column} of X"
        raise _too_large(called, row)


def check_scores(scores: Array) -> None:
    """Raise DataError if sums of values times weights are too large to be exponents of probabilities.

    Args:
        scores: shape (n_samples, n_outputs); not finite where a sum or a part of it has overflowed.
    """
    if not (-_LARGEST <= scores.min(initial=0.0) and scores.max(initial=0.0) <= _LARGEST):  # NaN fails, too
        row = int(np.argmin((np.abs(scores) <= _LARGEST).all(axis=1)))
        message = f"values in row {row} of X times their weights exceed the range of numbers; scale the columns"
        raise DataError(message)


def _too_large(called: str, row: int) -> DataError:
    return DataError(f"{called} is too large for a float in row {row}; divide the column by a power of 10")


def named(X: Any, error: Exception, columns: tuple[int, Sequence[str] | None] | None = None) -> DataError:
    """Return an error of NumPy, pandas or scikit-learn about a matrix as a DataError: by column and row if possible.

    Cost: it may look at every value.

    Args:
        X: a matrix, dense or sparse, a table of any library, or a list of rows.
        error: what they have raised.
        columns: number and names of the columns that are expected; None for any.
    """
    if isinstance(error, DataError):
        return error
    better = _bad_shape(X) or bad_value(X) or _bad_fill(X, error) or _bad_columns(X, error, columns)
    return better or DataError(str(error).strip())


def _unread(X: Any) -> DataError | None:
    """Return the error about rows or columns that cannot be read; None if all can be."""
    try:
        Frame.of(X)
    except DataError as error:
        return error
    return None


def _bad_columns(X: Any, error: Exception, columns: tuple[int, Sequence[str] | None] | None) -> DataError | None:
    """Return the error about columns that are not those expected, or about their names.

    Its words begin with scikit-learn's, which scikit-learn's checks look for.
    """
    named = [*X.columns] if is_pandas(X) else []
    if 0 < sum(isinstance(name, str) for name in named) < len(named):
        kinds = ", ".join(sorted({type(name).__name__ for name in named}))
        remedy = "give strings: X.columns = X.columns.astype(str)"
        return WrongTypeError(f"the names of the columns of X have several types: {kinds}; {remedy}")
    if is_pandas(X) and (unread := _unread(X)) is not None:
        return unread
    if columns is None:
        return None
    try:
        check_names([*map(str, named)] or None, columns[1])
    except DataError as names:
        return DataError(f"{error}{names}")
    remedy = "give the columns of the training data"
    return DataError(f"{str(error).rstrip('.')}; {remedy}") if _shape(X)[1] != columns[0] else None


def _bad_fill(X: Any, error: Exception) -> DataError | None:
    """Return the error about a sparse column of pandas that leaves out another value than 0, which pandas refused."""
    if not is_pandas(X) or "fill value" not in str(error):
        return None
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        fill = getattr(kind, "fill_value", 0)
        if fill != 0:  # NaN is not
            what = f"column {name!r} of X is sparse with fill value {fill}, but only fill value 0 is supported"
            return DataError(f"{what}; give X.sparse.to_dense()")
    return None


def _bad_shape(X: Any) -> DataError | None:
    """Return the error about something that is not a matrix, or one without rows or columns; None if X is one."""
    if isinstance(X, np.matrix):
        return WrongTypeError("X is a numpy.matrix, which is not supported; give numpy.asarray(X)")
    if is_series(X) and hasattr(X, "to_frame"):
        return DataError(f"X is a single column ({named_type(X)}), not a table; give X.to_frame()")
    try:
        shape = _shape(X)
    except ValueError:  # rows of several lengths
        return _unread(X)
    if len(shape) != 2:
        what = f"X has shape {shape}, but a matrix of shape (n_samples, n_columns) is expected"
        return DataError(f"{what}. Reshape your data: X.reshape(-1, 1) if it is a column, X.reshape(1, -1) if a sample")
    for number, unit in zip(shape, ("sample", "feature"), strict=True):
        if number == 0:
            what = f"X has 0 {unit}(s) (shape={shape}) while a minimum of 1 is required"
            return DataError(f"{what}; give one or more {'rows' if unit == 'sample' else 'columns'}")
    return None


def _shape(X: Any) -> tuple[int, ...]:
    if isinstance(X, Frame):
        return (len(X.columns[0]) if X.columns else 0, len(X.columns))
    return tuple(X.shape) if hasattr(X, "shape") else np.shape(X)


def bad_value(X: Any) -> DataError | None:
    """Return an error that names the first column with a value other than a finite number; None if there is none.

    Cost: it looks at every value; for data that scikit-learn has refused without naming the column.

    Args:
        X: a matrix, dense or sparse, a table of any library, or a list of rows.

    Returns:
        A DataError; for an object that has no numeric value, one that is a TypeError as well.

    Example:
        >>> from loglinear.data.bad_values import bad_value
        >>> bad_value([[1.0, 2.0], [1.0, float("nan")]])
        DataError("column 1 of X is NaN in row 1; fill in missing values, ...")
    """
    if hasattr(X, "tocoo"):
        return _of_sparse(X)
    try:
        frame = Frame.of(X)
    except DataError:  # it is not a table at all
        return None
    errors = (_of_column(values, f"{frame.called(i)} of X") for i, values in enumerate(frame.columns))
    return next((error for error in errors if error is not None), None)


def _of_sparse(X: Any) -> DataError | None:
    if X.dtype.kind not in _NUMBERS:
        return DataError(f"X is a sparse matrix of type {X.dtype}; give one of numbers: X.astype(float)")
    triples = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(triples.data))
    if not bad.size or triples.ndim != 2:
        return None
    place = bad[np.lexsort((triples.row[bad], triples.col[bad]))[0]]
    return _not_finite(f"column {triples.col[place]} of X", int(triples.row[place]), float(triples.data[place]))


def _of_column(values: Array, called: str) -> DataError | None:
    if values.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(values))
        return _not_finite(called, int(bad[0]), float(values[bad[0]])) if bad.size else None
    if values.dtype.kind in "mM":
        return dates_in(called)
    if values.dtype.kind == "c":
        return DataError(f"Complex data not supported: {called} has type {values.dtype}; give numbers")
    if values.dtype.kind not in "OUST":
        return None
    return next(_of_objects(values, called), None)


def _of_objects(values: Array, called: str) -> Iterator[DataError]:
    for row, value in enumerate(values.tolist()):
        is_missing = type(value).__name__ in ("NAType", "NaTType")  # of pandas; NA has no float, and NaT is a date
        if is_missing or value is None:
            yield _not_finite(called, row, math.nan)
        elif isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64):
            yield dates_in(called)
        elif isinstance(value, Complex) and not isinstance(value, Real):
            yield DataError(f"Complex data not supported: {called} is {value!r} in row {row}; give numbers")
        elif isinstance(value, bytes | bytearray | memoryview):
            yield not_numbers(called, value, f" in row {row}")
        elif isinstance(value, np.ndarray) and value.ndim:
            yield _no_number(called, row, value)
        else:
            yield from _of_number(value, called, row)


def _of_number(value: Any, called: str, row: int) -> Iterator[DataError]:
    try:
        number = float(value)
    except OverflowError:
        yield _too_large(called, row)
    except ValueError:
        yield not_numbers(called, value, f" in row {row}")
    except TypeError:
        yield _no_number(called, row, value)
    else:
        if not math.isfinite(number):
            yield _not_finite(called, row, number)


def _no_number(called: str, row: int, value: object) -> DataError:
    # The words are Python's, which scikit-learn's checks look for.
    what = f"float() argument must be a string or a real number, not {type(value).__name__!r}"
    return WrongTypeError(f"{called}, row {row}: {what}; {_CONVERT}")


def _not_finite(called: str, row: int, value: float) -> DataError:
    if math.isnan(value):
        return DataError(f"{called} is NaN in row {row}; {_IMPUTE}")
    return DataError(f"{called} is {value} in row {row}; give finite numbers")
