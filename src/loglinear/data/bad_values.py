"""The column of a matrix that has a value which is not a finite number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from ..errors import DataError
from .frames import Frame, dates_in, not_numbers
from .inputs import Array

__all__ = ["bad_value"]

_IMPUTE = "fill in missing values, for example with scikit-learn's SimpleImputer, or leave them out"


def bad_value(X: Any) -> Exception | None:
    """Return an error that names the first column with a value other than a finite number; None if there is none.

    Cost: it looks at every value; for data that scikit-learn has refused without naming the column.

    Args:
        X: a matrix, dense or sparse, a table of any library, or a list of rows.

    Returns:
        A DataError, or a TypeError for an object that has no numeric value, as scikit-learn's estimators raise it.

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


def _of_sparse(X: Any) -> Exception | None:
    triples = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(triples.data))
    if not bad.size:
        return None
    place = bad[np.lexsort((triples.row[bad], triples.col[bad]))[0]]
    return _not_finite(f"column {triples.col[place]} of X", int(triples.row[place]), float(triples.data[place]))


def _of_column(values: Array, called: str) -> Exception | None:
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


def _of_objects(values: Array, called: str) -> Iterator[Exception]:
    for row, value in enumerate(values.tolist()):
        is_missing = type(value).__name__ in ("NAType", "NaTType")  # of pandas; NA has no float, and NaT is a date
        if isinstance(value, date | time | timedelta) and not is_missing:
            yield dates_in(called)
        try:
            number = math.nan if value is None else float(value)
        except OverflowError:
            yield DataError(f"{called} is too large for a float in row {row}; divide the column by a power of 10")
        except ValueError:
            yield not_numbers(called, value, f" in row {row}")
        except TypeError as error:
            yield _not_finite(called, row, math.nan) if is_missing else TypeError(f"{called}, row {row}: {error}")
        else:
            if not math.isfinite(number):
                yield _not_finite(called, row, number)


def _not_finite(called: str, row: int, value: float) -> DataError:
    if math.isnan(value):
        return DataError(f"{called} is NaN in row {row}; {_IMPUTE}")
    return DataError(f"{called} is {value} in row {row}; give finite numbers")
