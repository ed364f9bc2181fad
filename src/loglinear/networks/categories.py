"""Columns of categories as states of variables, and back."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ..data.frames import Frame
from ..data.inputs import Array, Observations
from ..data.number import as_number
from ..data.table import Table, join_names
from ..errors import DataError
from ..vectors import Vector
from ..visible import listed
from .binning import bin_edges, bin_labels, bins_of, numbers, strays
from .measures import advice_on
from .numbering import Codes
from .values import distinct_of, is_hashable, is_missing, looked_up

__all__ = ["categories_of", "completed", "decoded", "encoded", "matrix_of", "variables_of"]

# Number of columns that a message lists.
_SHOWN = 3
# Number of bins that a message advises.
_BINS = 4
# A state on fewer rows than this, on average, teaches nothing: the number of states is not to be raised.
_ROWS_PER_STATE = 5


def variables_of(X: Table | Observations | Frame) -> Frame:
    """Read samples, shape (n_samples, n_variables).

    Raises:
        DataError: X is not a table, or has no columns or no rows.
    """
    frame = Frame.of(X)
    if not frame.columns:
        message = "X has no columns; give at least one variable"
        raise DataError(message)
    if not len(frame.columns[0]):
        message = "X has no rows; give at least one sample"
        raise DataError(message)
    return frame


def categories_of(
    frame: Frame,
    max_states: int,
    bins: int | None = None,
    cuts: Mapping[Any, Sequence[float]] | None = None,
    reference: Mapping[Any, Any] | None = None,
) -> tuple[list[Array], list[Vector | None]]:
    """The states of each column: its different values, in their declared order or sorted; or bins of its numbers.

    With ``bins``, a column is binned if all its values are numbers, more than ``bins`` different ones, and have no
    declared order. ``cuts`` are the edges between the bins of columns by name, or by number if columns have no names.
    ``reference`` names the first state of columns in the same way.

    Returns:
        The states of each column, one for a constant column and none for a column without values; and the edges of its
        bins, None for a column that has none.

    Raises:
        DataError: columns have more than ``max_states`` different values, or values that cannot be compared;
            ``cuts`` name no column, or one whose values are not all numbers; or ``reference`` names no column, a binned
            one, or a value that the column does not have.
    """
    columns, counts = frame.columns, frame.counts
    categories = [_different(column, frame.called(i)) for i, column in enumerate(columns)]
    edges: list[Vector | None] = [None] * len(categories)
    told = {i: np.array(between, dtype=np.float64) for i, between in _by_column("cuts", cuts, frame).items()}
    for i, (column, values) in enumerate(zip(columns, categories, strict=True)):
        if i in told:
            if values.size and numbers(distinct_of(values)) is None:
                message = f"{frame.called(i)} has values that are not numbers; "
                if marks := strays(distinct_of(values)):
                    message += f"{_marks_named(marks)}, or "
                message += "leave it out of cuts"
                raise DataError(message)
            edges[i], categories[i] = told[i], bin_labels(told[i])
        elif (order := frame.orders[i]) is not None:
            categories[i] = _arranged(values, order)
        elif bins is not None and values.size > bins and numbers(distinct_of(values)) is not None:
            whole = column if counts is None else np.repeat(column, counts)
            between = bin_edges(_floats(whole[~is_missing(whole)]), bins)
            edges[i], categories[i] = between, bin_labels(between)
    many = [i for i, values in enumerate(categories) if values.size > max_states]
    if many:
        n_samples = len(columns[0]) if counts is None else int(counts.sum())
        raise DataError(_refused(many, categories, frame, max_states, n_samples))
    for i, state in _by_column("reference", reference, frame).items():
        categories[i] = _with_reference(categories[i], state, edges[i], frame.called(i))
    return categories, edges


def _by_column(option: str, values: Mapping[Any, Any] | None, frame: Frame) -> dict[int, Any]:
    """Return the values of an option by number of the column."""
    names: Sequence[Any] = range(len(frame.columns)) if frame.names is None else frame.names
    numbers_by_name = {name: number for number, name in enumerate(names)}
    for name in values or {}:
        if name not in numbers_by_name:
            message = f"{option}: no column {name!r}; the columns are {', '.join(map(str, names[:20]))}"
            raise DataError(message)
    return {numbers_by_name[name]: value for name, value in (values or {}).items()}


def _arranged(values: Array, order: Sequence[Any]) -> Array:
    """Return different values, which are sorted, in another order; objects if the order is not theirs."""
    place = {value: number for number, value in enumerate(order)}
    arranged = sorted(values.tolist(), key=lambda value: place.get(value, len(place)))
    return values if arranged == values.tolist() else np.fromiter(arranged, dtype=object, count=len(arranged))


def _with_reference(states: Array, state: object, edges: Vector | None, name: str) -> Array:
    """Return the states of a column with a given one first."""
    if edges is not None:
        message = f"reference: {name} has bins, whose reference is the lowest bin; leave it out of reference"
        raise DataError(message)
    values = states.tolist()
    # The command line has the text of a state alone.
    state = next((value for value in values if value == state or str(value) == state), state)
    if state not in values:
        message = f"reference: {name} does not have the value {state!r}; choose one of "
        message += listed([*map(repr, values)], 8)
        raise DataError(message)
    return _arranged(states, [state, *(value for value in values if value != state)])


def _floats(values: Array) -> Vector:
    """Values that are numbers, or texts of numbers, as floats."""
    return (
        values.astype(np.float64) if values.dtype.kind in "biuf" else looked_up(values.tolist(), as_number, np.float64)
    )


def _refused(many: list[int], categories: list[Array], frame: Frame, max_states: int, n_samples: int) -> str:
    """What is wrong with columns of too many values, and what to do about each kind of values."""
    shown = ", ".join(f"{frame.called(i)} has {categories[i].size:,} different values" for i in many[:_SHOWN])
    if len(many) > _SHOWN:
        shown += f", and {len(many) - _SHOWN} more columns have too many"
    remedies: list[str] = []
    texts: list[int] = []
    for i in many:
        values = distinct_of(categories[i])
        if numbers(values) is not None:
            remedies.append(_bins_advised(many, categories, frame))
        elif marks := strays(values):
            remedies.append(_marks_named(marks))
        elif advice := advice_on(values):
            remedies.append(advice)
        else:
            texts.append(i)
    if texts:
        names = [frame.names[i] for i in texts] if frame.names and frame.is_file else []
        flag = f" (--ignore {shlex.quote(join_names(names))})" if names else ""
        remedies.append(f"leave out identifiers or free text{flag}")
    remedy = " and ".join(dict.fromkeys(remedies))
    if (most := max(categories[i].size for i in many)) * _ROWS_PER_STATE <= n_samples:
        remedy += f"{', or ' if remedy else ''}raise max_states (--max-states {most})"
    limit = f"--max-states {max_states}" if frame.is_file else f"max_states={max_states}"
    return f"{shown}, more than {limit}; {remedy}"


def _bins_advised(many: Sequence[int], categories: Sequence[Array], frame: Frame) -> str:
    """What to do about numeric columns of too many values: bins for all columns, unless other columns would get them.

    Args:
        many: numbers of the columns of too many values, some of them numeric.
        categories: the different values of each column.
        frame: the table.
    """
    numeric = [
        i for i, values in enumerate(categories) if values.size > _BINS and numbers(distinct_of(values)) is not None
    ]
    refused = [i for i in numeric if i in many]
    if len(refused) == len(numeric) or len(refused) > _SHOWN:
        return f"bin them with bins={_BINS} (--bins {_BINS})"
    cuts = {i: [repr(edge).removesuffix(".0") for edge in _quartiles(frame, i).tolist()] for i in refused}
    if frame.is_file:
        flags = (f"{frame.names[i] if frame.names else i}={','.join(edges)}" for i, edges in cuts.items())
        advice = " ".join(f"--cut {shlex.quote(flag)}" for flag in flags)
    else:
        names = {i: repr(frame.names[i] if frame.names else i) for i in refused}
        advice = "cuts={" + ", ".join(f"{names[i]}: [{', '.join(edges)}]" for i, edges in cuts.items()) + "}"
    return f"cut {'it at its' if len(refused) == 1 else 'them at their'} quartiles with {advice}"


def _quartiles(frame: Frame, i: int) -> Vector:
    """Return the edges between the bins of column i, of about equally many samples."""
    column = frame.columns[i] if frame.counts is None else np.repeat(frame.columns[i], frame.counts)
    return bin_edges(_floats(column[~is_missing(column)]), _BINS)


def _marks_named(marks: list[str]) -> str:
    """What to do about texts among the numbers of a column."""
    flag = f"--missing={shlex.quote(join_names(marks))}"
    return f"pass missing={marks!r} ({flag}) if missing values are written as {' and '.join(map(repr, marks))}"


def _different(column: Array, name: str) -> Array:
    """The different values of a column, sorted."""
    values = column[~is_missing(column)]
    if values.dtype.kind not in "biufUSOmM":
        message = f"{name} has values of type {values.dtype}; give strings, numbers or truth values, or leave it out"
        raise DataError(message)
    try:
        return np.unique(values) if values.dtype.kind != "O" else _distinct(values)
    except TypeError as error:
        firsts = {type(value): value for value in reversed(values.tolist())}
        unhashable = [value for value in firsts.values() if not isinstance(value, Hashable)]
        if unhashable:
            message = f"{name} has values that are a {type(unhashable[0]).__name__}, such as {unhashable[0]!r:.60}; "
            message += "give strings, numbers or truth values, or leave it out"
        else:
            mixed = " and ".join(f"{value!r:.60} ({kind.__name__})" for kind, value in [*firsts.items()][::-1][:2])
            message = f"{name} has values of several types, such as {mixed}; convert them to strings"
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


def encoded(frame: Frame, categories: Sequence[Array], edges: Sequence[Vector | None]) -> Codes:
    """States of samples, -1 where a value is missing, shape (n_samples, number of columns of several states).

    Columns that have one state or none are left out, whatever they hold.

    Raises:
        DataError: the numbers of columns and categories differ, or a value is none of the categories.
    """
    columns = frame.columns
    if len(columns) != len(categories):
        message = f"X has {len(columns)} column{'s' * (len(columns) != 1)}, "
        message += f"but the model has {len(categories)} variables"
        raise DataError(message)
    varying = [i for i, values in enumerate(categories) if values.size > 1]
    codes = np.empty((len(columns[0]), len(varying)), dtype=np.int32)
    for k, i in enumerate(varying):
        codes[:, k] = _codes(frame, i, categories[i], edges[i])
    return codes


def _codes(frame: Frame, i: int, values: Array, edges: Vector | None) -> Codes:
    """States of the values of column i with these categories, which are bins if there are edges between bins."""
    column = frame.columns[i]
    missing = is_missing(column)
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
        at = looked_up(column.tolist(), lambda value: place.get(value, -1) if is_hashable(value) else -1, np.int64)
        unknown = ~missing & (at < 0)
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        value = column[row].item() if isinstance(column[row], np.generic) else column[row]
        message = f"{frame.place(row)}, {frame.called(i)}: the model does not know the value {value!r}; "
        message += "leave the cell empty, or use "
        message += "a number, " if edges is not None else ""
        message += listed([*map(repr, values.tolist())], 8)
        raise DataError(message)
    return np.where(missing, -1, at).astype(np.int32)


def _places_of_numbers(values: Array, edges: Vector) -> dict[Any, int]:
    """The bin of each value that is a number or the text of a number."""
    distinct = [value for value in set(filter(is_hashable, values.tolist())) if numbers([value]) is not None]
    return dict(zip(distinct, bins_of(_floats(np.array(distinct, dtype=object)), edges).tolist(), strict=True))


def decoded(codes: Codes, categories: Sequence[Array]) -> list[Array]:
    """The values of states of each variable, shape (n_samples,) each; columns of one state have it, of none None.

    Args:
        codes: states of the columns that have several.
        categories: the states of each column.
    """
    places = iter(codes.T)
    nothing = np.full(len(codes), None, dtype=object)
    return [
        values[next(places)] if values.size > 1 else np.repeat(values, len(codes)) if values.size else nothing
        for values in categories
    ]


def completed(
    frame: Frame, columns: Sequence[Array], categories: Sequence[Array], edges: Sequence[Vector | None]
) -> list[Array]:
    """Return the columns of a table with values in place of the missing ones.

    Args:
        frame: the table.
        columns: states of all samples by variable, shape (n_samples,) each.
        categories: the states of each column.
        edges: between the bins of each variable; None for a variable without bins.
    """
    whole = []
    for old, states, values, between in zip(frame.columns, columns, categories, edges, strict=True):
        gaps = is_missing(old)
        if gaps.all() or (between is None and values.size > 1):
            whole.append(states)
        elif gaps.any():
            mixed = old.astype(object)
            mixed[gaps] = states[gaps]
            whole.append(mixed)
        else:
            whole.append(old)
    return whole


def matrix_of(columns: Sequence[Array]) -> Array:
    """The columns as a matrix, shape (n_samples, n_variables); objects unless all have one type of values."""
    if len({column.dtype.kind for column in columns}) == 1 and columns[0].dtype.kind != "O":
        return np.stack(columns, axis=1)
    whole = np.empty((len(columns[0]), len(columns)), dtype=object)
    for i, column in enumerate(columns):
        whole[:, i] = column
    return whole
