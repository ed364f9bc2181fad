"""What a network leaves out of its training data, and values that look wrong there; each with a warning."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.inputs import Array
from ..data.table import join_names
from ..errors import DataError, DataWarning, warn
from ..vectors import Vector
from .binning import as_number, numbers, strays
from .categories import without_values
from .numbering import Numbers

__all__ = ["Samples", "cleaned", "with_missing"]

# A column of texts or whole numbers holds identifiers if it has another value in each of at least this many rows.
_LEAST_ROWS = 11
# Texts that often mark a missing value, in any column.
_MARKS = ("?", "-", "--", ".", "..", "N.A.", "n.a.", "#N/A", "missing")
# Numbers that often mark a missing value where all others are at least ten times smaller.
_SENTINELS = (-99, -999, -9999, -99999, 99, 999, 9999, 99999)


class Samples(NamedTuple):
    """Samples to train on.

    Attributes:
        columns: values of each variable, shape (n_samples,) each; None in all rows of a column of identifiers.
        weights: weights of the samples, shape (n_samples,); None for 1.
        counts: how many rows each sample stands for, shape (n_samples,); None for 1.
        identifiers: numbers of the columns of identifiers.
    """

    columns: list[Array]
    weights: Vector | None
    counts: Numbers | None
    identifiers: tuple[int, ...] = ()


def cleaned(
    samples: Samples,
    names: Sequence[str] | None,
    *,
    bins: int | None = None,
    cuts: Mapping[Any, Sequence[float]] | None = None,
) -> Samples:
    """Return samples without empty rows and identifiers.

    Args:
        samples: all rows.
        names: names of the columns; None if they go by their number.
        bins: number of bins that columns of numbers will be cut into.
        cuts: edges of the bins of columns.

    Raises:
        DataError: no row has a value.

    Warns:
        DataWarning: rows or columns are left out, a value seems to mean that the value is missing, or edges of bins are
            outside the values of their column.
    """
    columns, weights, counts, _ = samples
    empty = without_values(columns)
    if empty.all():
        message = "no row has a value; give a table with values"
        raise DataError(message)
    if empty.any():
        n_empty = int(empty.sum() if counts is None else counts[empty].sum())
        warn(f"ignored {n_empty} row{'s' * (n_empty != 1)} without any value", DataWarning)
        columns = [column[~empty] for column in columns]
        weights = None if weights is None else weights[~empty]
        counts = None if counts is None else counts[~empty]
    called: list[Any] = list(range(len(columns)) if names is None else names)
    cut = {called.index(name) for name in cuts or {} if name in called}
    identifiers = tuple(
        i
        for i, column in enumerate(columns)
        if i not in cut and _is_identifier(column, counts, binned=bins is not None)
    )
    if identifiers:
        message = "ignored, because every row has a different value, as identifiers do: "
        message += ", ".join(_named(called[i]) for i in identifiers)
        if any(numbers(_distinct(columns[i])) is not None for i in identifiers):
            message += "; if numbers are measurements, bin them with bins=4 (--bins 4)"
        warn(message, DataWarning)
    for i, column in enumerate(columns):
        if i not in identifiers:
            _warn_of_marks(column, called[i], counts)
    for name, edges in (cuts or {}).items():
        if name in called:
            _warn_of_edges(columns[called.index(name)], name, edges)
    columns = [_nothing(column) if i in identifiers else column for i, column in enumerate(columns)]
    return Samples(columns, weights, counts, identifiers)


def with_missing(columns: Sequence[Array], marks: Collection[object]) -> list[Array]:
    """Return columns with None in place of values that mean missing.

    Args:
        columns: values, shape (n_samples,) each.
        marks: the values, as such or as texts: "-999" is the number -999 too.
    """
    if not marks:
        return list(columns)
    texts = {str(mark).strip() for mark in marks}
    floats = {parsed for mark in marks if (parsed := as_number(mark)) is not None}
    cleaned_columns = []
    for column in columns:
        values = {value for value in _distinct(column) if _is_mark(value, texts, floats)}
        if values:
            column = np.array(column, dtype=object)
            column[[value in values for value in _hashables(column)]] = None
        cleaned_columns.append(column)
    return cleaned_columns


def _is_mark(value: object, texts: Collection[str], floats: Collection[float]) -> bool:
    if isinstance(value, str):
        return value.strip() in texts
    return as_number(value) in floats if floats else False


def _is_identifier(column: Array, counts: Numbers | None, *, binned: bool) -> bool:
    """Whether each row has another value: a text, or a whole number that is one of a run or will not be binned."""
    values = _present(column)
    if values.size < _LEAST_ROWS or (counts is not None and (counts > 1).any()):
        return False
    distinct = _distinct(values)
    if len(distinct) < values.size:
        return False
    parsed = numbers(distinct)
    if parsed is None:
        return all(isinstance(value, str) for value in distinct)
    if not (parsed == np.rint(parsed)).all():
        return False
    return not binned or bool(np.ptp(parsed) == values.size - 1)


def _warn_of_marks(column: Array, name: object, counts: Numbers | None) -> None:
    """Warn of a value that often means missing: a text among numbers, or one that is far from all other numbers."""
    if column.dtype.kind not in "iufUO":
        return
    distinct = _distinct(_present(column))
    texts = [value for value in distinct if isinstance(value, str) and as_number(value) is None]
    parsed = [parsed for value in distinct if (parsed := as_number(value)) is not None]
    marks: list[Any] = strays(distinct)
    if not marks and len(distinct) > 2:
        marks = [value for value in texts if value.strip() in _MARKS]
    largest = max(parsed, key=abs, default=0.0)
    if not texts and len(parsed) > 2 and largest in _SENTINELS and sorted(map(abs, parsed))[-2] <= abs(largest) / 10.0:
        marks = [int(largest)]
    for mark in marks:
        chosen = np.array([str(value) == str(mark) or value == mark for value in column.tolist()])
        share = float(chosen.mean() if counts is None else counts[chosen].sum() / counts.sum())
        flag = f"--missing{'=' if str(mark).startswith('-') else ' '}{shlex.quote(join_names([str(mark)]))}"
        warn(
            f"{_named(name)}: {mark!r} in {100.0 * share:.2g} % of the rows is treated as a value; if it marks missing "
            f"values, pass missing=[{mark!r}] ({flag})",
            DataWarning,
        )


def _warn_of_edges(column: Array, name: object, edges: Sequence[float]) -> None:
    """Warn of edges of bins that are outside the values of their column."""
    parsed = numbers(_distinct(_present(column)))
    if parsed is None or not parsed.size:
        return
    low, high = parsed.min(), parsed.max()
    outside = [f"{edge:g}" for edge in edges if not low < edge <= high]
    if outside:
        warn(
            f"cuts (--cut): {', '.join(outside)} {'is' if len(outside) == 1 else 'are'} outside the values of "
            f"{_named(name)}, {low:g} to {high:g}, so that a bin has no values",
            DataWarning,
        )


def _present(column: Array) -> Array:
    return column[~without_values([column])]


def _nothing(column: Array) -> Array:
    return np.full(column.shape, None, dtype=object)


def _distinct(column: Array) -> list[Any]:
    """The different values of a column that can be compared with one another by being hashed."""
    return list(np.unique(column).tolist() if column.dtype.kind in "iufU" else dict.fromkeys(_hashables(column)))


def _hashables(column: Array) -> list[Any]:
    return [value if getattr(value, "__hash__", None) is not None else repr(value) for value in column.tolist()]


def _named(name: object) -> str:
    return f"column {name!r}"
