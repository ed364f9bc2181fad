"""Columns of categories as states of variables, and back."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.inputs import Array, Observations
from ..data.table import Table, join_names
from ..errors import DataError
from ..vectors import Vector
from .binning import as_number, bin_edges, bin_labels, bins_of, numbers, strays
from .numbering import Codes, Numbers

__all__ = ["categories_of", "column_names", "columns_of", "decoded", "encoded", "without_values"]

# Number of columns that a message lists.
_SHOWN = 3
# A state on fewer rows than this, on average, teaches nothing: the number of states is not to be raised.
_ROWS_PER_STATE = 5


def column_names(X: object) -> list[str] | None:
    """Names of the columns of a table; None if it has no names, or if a name is not a string."""
    names = X.names if isinstance(X, Table) else getattr(X, "columns", None)
    as_list = None if names is None else list(names)
    return as_list if as_list and all(isinstance(name, str) for name in as_list) else None


def columns_of(X: Table | Observations) -> list[Array]:
    """Columns of a table or an array, shape (n_samples, n_variables).

    Raises:
        DataError: X is not a table, has fewer than two columns, or has no rows.
    """
    if isinstance(X, Table):
        columns = X.columns
    elif hasattr(X, "iloc") and hasattr(X, "shape"):
        columns = [X.iloc[:, i].to_numpy() for i in range(X.shape[1])]
    else:
        array = X if isinstance(X, np.ndarray) else np.array(_rows(X), dtype=object)
        if array.ndim != 2:
            message = f"X has shape {array.shape}; give a table or an array of shape (n_samples, n_variables)"
            raise DataError(message)
        columns = list(array.T)
    if len(columns) < 2:
        message = f"X has {len(columns)} variable{'s' * (len(columns) != 1)}; a network needs two or more"
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
        message = f"X is not a table ({error}); give an array or a DataFrame of shape (n_samples, n_variables)"
        raise DataError(message) from error
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            message = f"row {number} of X: expected {len(rows[0])} values, found {len(row)}"
            raise DataError(message)
    return rows


def _missing(column: Array) -> npt.NDArray[np.bool_]:
    """Whether each value is missing: None, NaN, NaT or pandas.NA."""
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    if column.dtype.kind in "biuUS":
        return np.zeros(column.size, np.bool_)
    return _looked_up(column.tolist(), _is_absent, np.bool_)


def _is_absent(value: object) -> bool:
    kind = type(value).__name__
    return (
        value is None or kind in ("NAType", "NaTType") or (isinstance(value, (float, np.floating)) and value != value)
    )


def _looked_up(values: list[Any], answer: Callable[[Any], Any], dtype: Any) -> Array:
    """Return the answer for each value; it is computed once for each distinct value."""
    try:
        answers = {value: answer(value) for value in set(values)}
    except TypeError:  # a value that cannot be hashed
        return np.fromiter(map(answer, values), dtype, len(values))
    return np.fromiter(map(answers.__getitem__, values), dtype, len(values))


def without_values(columns: Sequence[Array]) -> npt.NDArray[np.bool_]:
    """Return whether all values of each sample are missing, shape (n_samples,)."""
    return np.asarray(np.logical_and.reduce([_missing(column) for column in columns]))


def categories_of(
    columns: Sequence[Array],
    names: Sequence[str] | None,
    max_states: int,
    bins: int | None = None,
    cuts: Mapping[Any, Sequence[float]] | None = None,
    counts: Numbers | None = None,
) -> tuple[list[Array], list[Vector | None]]:
    """The states of each column: its different values, sorted, or bins of its numbers.

    With ``bins``, a column is binned if all its values are numbers, more than ``bins`` different ones. ``cuts`` are the
    edges between the bins of columns by name, or by number if columns have no names. ``counts`` say how many samples
    each sample stands for.

    Returns:
        The states of each column, one for a constant column and none for a column without values; and the edges of its
        bins, None for a column that has none.

    Raises:
        DataError: columns have more than ``max_states`` different values, or values that cannot be compared; or
            ``cuts`` name no column, or one whose values are not all numbers.
    """
    categories = [_different(column, _named(names, i)) for i, column in enumerate(columns)]
    edges: list[Vector | None] = [None] * len(categories)
    told = _told(cuts or {}, range(len(columns)) if names is None else names)
    for i, (column, values) in enumerate(zip(columns, categories, strict=True)):
        if i in told:
            if values.size and numbers(values.tolist()) is None:
                message = f"{_named(names, i)} has values that are not numbers; "
                if marks := strays(values.tolist()):
                    message += f"{_marks_named(marks)}, or "
                message += "leave it out of cuts"
                raise DataError(message)
            edges[i], categories[i] = told[i], bin_labels(told[i])
        elif bins is not None and values.size > bins and numbers(values.tolist()) is not None:
            whole = column if counts is None else np.repeat(column, counts)
            between = bin_edges(_floats(whole[~_missing(whole)]), bins)
            edges[i], categories[i] = between, bin_labels(between)
    many = [i for i, values in enumerate(categories) if values.size > max_states]
    if many:
        n_samples = len(columns[0]) if counts is None else int(counts.sum())
        raise DataError(_refused(many, categories, names, max_states, n_samples))
    return categories, edges


def _told(cuts: Mapping[Any, Sequence[float]], names: Sequence[Any]) -> dict[int, Vector]:
    """Edges of bins by number of the column."""
    number = {name: k for k, name in enumerate(names)}
    edges_by_column = {}
    for name, edges in cuts.items():
        if name not in number:
            message = f"cuts: no column {name!r}; the columns are {', '.join(map(str, list(names)[:20]))}"
            raise DataError(message)
        edges_by_column[number[name]] = np.array(edges, dtype=np.float64)
    return edges_by_column


def _floats(values: Array) -> Vector:
    """Values that are numbers, or texts of numbers, as floats."""
    return (
        values.astype(np.float64) if values.dtype.kind in "biuf" else _looked_up(values.tolist(), as_number, np.float64)
    )


def _refused(
    many: list[int], categories: list[Array], names: Sequence[str] | None, max_states: int, n_samples: int
) -> str:
    """What is wrong with columns of too many values, and what to do about numbers and about texts."""
    shown = ", ".join(f"{_named(names, i)} has {categories[i].size:,} different values" for i in many[:_SHOWN])
    if len(many) > _SHOWN:
        shown += f", and {len(many) - _SHOWN} more columns have too many"
    numeric = [i for i in many if numbers(categories[i].tolist()) is not None]
    marked = [i for i in many if i not in numeric and strays(categories[i].tolist())]
    texts = [i for i in many if i not in numeric and i not in marked]
    remedies = ["bin them with bins=4 (--bins 4)"] if numeric else []
    if marked:
        remedies.append(_marks_named(strays(categories[marked[0]].tolist())))
    if texts:
        left_out = "" if names is None else f" (--ignore {shlex.quote(join_names([names[i] for i in texts]))})"
        remedies.append(f"leave out identifiers{left_out}")
    if (most := max(categories[i].size for i in many)) * _ROWS_PER_STATE <= n_samples:
        remedies.append(f"raise max_states (--max-states {most})")
    return f"{shown}, more than max_states={max_states}; {', or '.join(remedies)}"


def _marks_named(marks: list[str]) -> str:
    """What to do about texts among the numbers of a column."""
    flag = f"--missing={shlex.quote(join_names(marks))}"
    return f"pass missing={marks!r} ({flag}) if missing values are written as {' and '.join(map(repr, marks))}"


def _named(names: Sequence[str] | None, i: int) -> str:
    """Column i, by name or by number, for messages."""
    return f"column {i}" if names is None else f"column {names[i]!r}"


def _different(column: Array, name: str) -> Array:
    """The different values of a column, sorted."""
    values = column[~_missing(column)]
    try:
        return np.unique(values) if values.dtype.kind != "O" else _distinct(values)
    except TypeError as error:
        message = f"{name} has values that cannot be compared ({error}); convert them to strings"
        raise DataError(message) from error


def _distinct(values: Array) -> Array:
    """The different values of an array of objects, sorted; of a type of their own if they share one."""
    distinct = sorted(set(values.tolist()))
    kinds = {type(value) for value in distinct}
    if kinds <= {bool} or kinds <= {int} or kinds <= {int, float} or kinds <= {str}:
        shared = np.array(distinct)
        # NumPy has no type for some: whole numbers of more than 64 bits, texts that end in a null character.
        if shared.tolist() == distinct:
            return shared
    objects = np.empty(len(distinct), dtype=object)
    objects[:] = distinct
    return objects


def encoded(
    columns: Sequence[Array],
    categories: Sequence[Array],
    edges: Sequence[Vector | None],
    names: Sequence[str] | None,
) -> Codes:
    """States of samples, -1 where a value is missing, shape (n_samples, number of columns of several states).

    Columns that have one state or none are left out, whatever they hold.

    Raises:
        DataError: the numbers of columns and categories differ, or a value is none of the categories.
    """
    if len(columns) != len(categories):
        message = f"X has {len(columns)} columns, but the model has {len(categories)} variables"
        raise DataError(message)
    varying = [i for i, values in enumerate(categories) if values.size > 1]
    codes = np.empty((len(columns[0]), len(varying)), dtype=np.int32)
    for k, i in enumerate(varying):
        codes[:, k] = _codes(columns[i], categories[i], edges[i], _named(names, i))
    return codes


def _codes(column: Array, values: Array, edges: Vector | None, name: str) -> Codes:
    """States of the values of a column with these categories, which are bins if there are edges between bins."""
    missing = _missing(column)
    if edges is not None and column.dtype.kind in "iuf":
        at = bins_of(column.astype(np.float64), edges)
        unknown = np.zeros(column.size, np.bool_)
    elif column.dtype.kind in "biufU" and values.dtype.kind == column.dtype.kind and edges is None:
        at = np.minimum(np.searchsorted(values, column), values.size - 1)
        unknown = ~missing & (values[at] != column)
    else:
        place = {value: number for number, value in enumerate(values.tolist())}
        if edges is not None:
            place = _places_of_numbers(column[~missing], edges) | place
        at = _looked_up(column.tolist(), lambda value: place.get(value, -1) if _hashable(value) else -1, np.int64)
        unknown = ~missing & (at < 0)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        value = column[row].item() if isinstance(column[row], np.generic) else column[row]
        message = f"row {row}, {name}: the model does not know the value {value!r}; leave the cell empty, or use "
        message += "a number, " if edges is not None else ""
        message += f"{', '.join(repr(example) for example in values.tolist()[:8])}{', ...' if values.size > 8 else ''}"
        raise DataError(message)
    return np.where(missing, -1, at).astype(np.int32)


def _places_of_numbers(values: Array, edges: Vector) -> dict[Any, int]:
    """The bin of each value that is a number or the text of a number."""
    distinct = [value for value in set(filter(_hashable, values.tolist())) if numbers([value]) is not None]
    return dict(zip(distinct, bins_of(_floats(np.array(distinct, dtype=object)), edges).tolist(), strict=True))


def _hashable(value: object) -> bool:
    return getattr(value, "__hash__", None) is not None


def decoded(codes: Codes, categories: Sequence[Array], columns: Sequence[Array] | None = None) -> Array:
    """The values of states, shape (n_samples, n_variables); objects unless all categories are of one type.

    Args:
        codes: states of the columns that have several.
        categories: the states of each column.
        columns: what the samples have in the columns of one state or none; without it they have that state, or None.
    """
    places, table = iter(codes.T), []
    for i, values in enumerate(categories):
        if values.size > 1:
            table.append(values[next(places)])
        else:
            state = values[0] if values.size else None
            constant = np.full(len(codes), state, dtype=values.dtype if values.size else object)
            table.append(constant if columns is None else np.where(_missing(columns[i]), constant, columns[i]))
    if len({column.dtype.kind for column in table}) == 1 and table[0].dtype.kind != "O":
        return np.stack(table, axis=1)
    whole = np.empty((len(codes), len(table)), dtype=object)
    for i, column in enumerate(table):
        whole[:, i] = column
    return whole
