"""What a network leaves out of its training data, and values that look wrong there; each with a warning."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..data.frames import Frame
from ..data.inputs import Array
from ..data.marks import Marks
from ..errors import DataError, DataWarning, warn
from ..vectors import Vector
from .binning import numbers
from .measures import advice_on
from .numbering import Numbers
from .oddities import columns_of, oddities, repeated_header
from .values import distinct_of, hashables, is_missing, without_values

__all__ = ["Samples", "cleaned", "with_missing"]

# A column of texts or whole numbers holds identifiers if it has another value in each of at least this many rows.
_LEAST_ROWS = 11


class Samples(NamedTuple):
    """Samples to train on.

    Attributes:
        frame: values of each variable; None in all rows of a column of identifiers.
        weights: weights of the samples, shape (n_samples,); None for 1.
        identifiers: numbers of the columns of identifiers.
    """

    frame: Frame
    weights: Vector | None
    identifiers: tuple[int, ...] = ()


def cleaned(
    frame: Frame,
    weights: Vector | None,
    *,
    bins: int | None = None,
    cuts: Mapping[Any, Sequence[float]] | None = None,
) -> Samples:
    """Return samples without empty rows and identifiers.

    Args:
        frame: all rows.
        weights: weights of the rows, shape (n_samples,); None for 1.
        bins: number of bins that columns of numbers will be cut into.
        cuts: edges of the bins of columns.

    Raises:
        DataError: no row has a value.

    Warns:
        DataWarning: rows or columns are left out, values look wrong (see `oddities`), or edges of bins are outside the
            values of their column.
    """
    empty = without_values(frame.columns)
    if empty.all():
        message = "no row has a value; give a table with values"
        raise DataError(message)
    if empty.any():
        n_empty = int(empty.sum() if frame.counts is None else frame.counts[empty].sum())
        warn(f"ignored {n_empty} row{'s' * (n_empty != 1)} without any value", DataWarning)
        frame, weights = frame.rows(~empty), None if weights is None else weights[~empty]
    names: Sequence[Any] = frame.names or range(len(frame.columns))
    edges_of = {i: (cuts or {})[name] for i, name in enumerate(names) if name in (cuts or {})}
    if (repeated := repeated_header(frame)) is not None:
        warn(repeated, DataWarning)
    identifiers = tuple(
        i
        for i, column in enumerate(frame.columns)
        if i not in edges_of and _is_identifier(column, frame.counts, binned=bins is not None)
    )
    if identifiers:
        warn(_ignored(frame, identifiers), DataWarning)
    columns = columns_of(frame, identifiers, lambda i: bins is not None or i in edges_of)
    for message in oddities(columns):
        warn(message, DataWarning)
    for i, edges in edges_of.items():
        _warn_of_edges(frame.columns[i], frame.called(i), edges)
    values = [_nothing(column) if i in identifiers else column for i, column in enumerate(frame.columns)]
    return Samples(replace(frame, columns=values), weights, identifiers)


def _ignored(frame: Frame, identifiers: Sequence[int]) -> str:
    """What is said of columns that are taken for identifiers, and what to do if they are something else."""
    message = "ignored, because every row has a different value, as identifiers do: "
    message += ", ".join(frame.called(i) for i in identifiers)
    advice = dict.fromkeys(advice_on(distinct_of(frame.columns[i])) for i in identifiers)
    return message + "".join(f"; {text}" for text in advice if text)


def with_missing(columns: Sequence[Array], marks: Collection[object]) -> list[Array]:
    """Return columns with None in place of values that mean missing.

    Args:
        columns: values, shape (n_samples,) each.
        marks: the values that mean missing; see `Marks`.
    """
    missing, cleaned_columns = Marks(marks), []
    for column in columns if missing else ():
        values = {value for value in distinct_of(column) if value in missing}
        if values:
            column = np.array(column, dtype=object)
            column[[value in values for value in hashables(column)]] = None
        cleaned_columns.append(column)
    return cleaned_columns if missing else list(columns)


def _is_identifier(column: Array, counts: Numbers | None, *, binned: bool) -> bool:
    """Whether each row has another value: a text, or a whole number that is one of a run or will not be binned."""
    values = column[~is_missing(column)]
    if values.size < _LEAST_ROWS or (counts is not None and (counts > 1).any()):
        return False
    distinct = distinct_of(values)
    if len(distinct) < values.size:
        return False
    parsed = numbers(distinct)
    if parsed is None:
        return all(isinstance(value, str | datetime.date) for value in distinct)
    if not (parsed == np.rint(parsed)).all():
        return False
    return not binned or bool(np.ptp(parsed) == values.size - 1)


def _warn_of_edges(column: Array, called: str, edges: Sequence[float]) -> None:
    """Warn of edges of bins that are outside the values of their column."""
    parsed = numbers(distinct_of(column))
    if parsed is None or not parsed.size:
        return
    low, high = parsed.min(), parsed.max()
    outside = [f"{edge:g}" for edge in edges if not low < edge <= high]
    if outside:
        warn(
            f"cuts (--cut): {', '.join(outside)} {'is' if len(outside) == 1 else 'are'} outside the values of "
            f"{called}, {low:g} to {high:g}, so that a bin has no values",
            DataWarning,
        )


def _nothing(column: Array) -> Array:
    return np.full(column.shape, None, dtype=object)
