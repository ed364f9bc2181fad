"""Contingency tables: counts of all combinations of the levels of some variables, from whatever holds them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.columns import is_pandas
from ..data.frames import Frame, named_type
from ..errors import DataError, DataWarning, OptionError, warn
from ..networks.categories import categories_of, encoded, variables_of
from ..networks.cleaning import with_missing
from ..networks.oddities import columns_of, oddities, repeated_header
from ..networks.values import distinct_of, is_missing
from ..options import similar
from ..vectors import Vector
from ..visible import counted, listed

__all__ = ["ContingencyTable"]

Mask = npt.NDArray[np.bool_]

_MOST_CELLS = 10**8
_MOST_LEVELS = 1000
# More levels than this are probably a mistake if the mean number of samples per level is below the other number.
_MANY_LEVELS, _FEW_SAMPLES = 20, 5
_SHOWN = 12
_REMEDY = (
    "give a table of counts (a pandas crosstab or Series with a MultiIndex, an array, a dict of cells) or rows (a "
    "DataFrame or a dict of columns)"
)


@dataclass(frozen=True)
class ContingencyTable:
    """Counts of all combinations of levels.

    Attributes:
        counts: number of samples of each cell, >= 0; 0 in structural zeros.
        possible: whether each cell may have samples: False for a structural zero.
        names: names of the variables, one for each axis.
        levels: levels of each variable.
    """

    counts: Vector
    possible: Mask
    names: list[str]
    levels: list[list[Any]]

    @classmethod
    def of(
        cls,
        data: Any,
        *,
        counts: str | None = None,
        names: Sequence[str] | None = None,
        structural_zeros: npt.ArrayLike | None = None,
        missing: Sequence[str | float] | None = None,
        axes_of: Callable[[list[str]], Sequence[int]] | None = None,
    ) -> ContingencyTable:
        """Read a table of counts, or rows that are counted; see `LogLinear.fit` for the other arguments and errors.

        Args:
            data: the table or rows.
            counts: name of the column of counts.
            names: names of the variables.
            structural_zeros: mask of cells that cannot have samples.
            missing: values of rows that mean missing.
            axes_of: returns the numbers of the variables to use, given the names of all; the others are summed over.
        """
        if counts is not None and not isinstance(counts, str):
            message = f"counts={counts!r:.60} is not the name of a column; give, for example, counts='n'"
            raise OptionError(message)
        if isinstance(data, ContingencyTable):
            table = data
        elif (of_cells := None if counts is not None and is_pandas(data) else _cells_of(data)) is not None:
            for option, value in (("counts", counts), ("missing", missing)):
                if value is not None:
                    message = f"{option}={value!r} is for rows, but the data are a table of counts; leave out {option}"
                    raise OptionError(message)
            table = _of_cells(*of_cells, names)
        else:
            # A mask has an axis for each column; without one, columns that are not used need not be crossed.
            table = _of_rows(data, counts, names, missing, axes_of if structural_zeros is None else None)
            axes_of = axes_of if structural_zeros is not None else None
        table = table if structural_zeros is None else table._without(structural_zeros)
        return table if axes_of is None else table.over(axes_of(table.names))

    def _without(self, zeros: npt.ArrayLike) -> ContingencyTable:
        """Return the table with structural zeros where the mask is True."""
        mask = np.asarray(zeros)
        if mask.shape != self.counts.shape or mask.dtype.kind != "b":
            message = f"structural_zeros has shape {mask.shape} and type {mask.dtype}; give truth values of shape "
            message += f"{self.counts.shape}, the shape of the table ({', '.join(self.names)})"
            raise DataError(message)
        filled = np.flatnonzero((self.counts > 0) & mask)
        if filled.size:
            message = f"structural_zeros: the cell {self.called(int(filled[0]))} has {self.counts.flat[filled[0]]:g} "
            message += "samples, so it is not impossible; set the mask to False there"
            raise DataError(message)
        return replace(self, possible=self.possible & ~mask)

    @property
    def n_samples(self) -> float:
        """Number of samples."""
        return float(self.counts.sum())

    def called(self, cell: int) -> str:
        """Return the levels of a cell, by its flat number, for messages."""
        return self.place(tuple(range(self.counts.ndim)), np.unravel_index(cell, self.counts.shape))

    def place(self, axes: Sequence[int], at: Sequence[Any]) -> str:
        """Return levels of some variables for messages, such as ``sex=male, age=old``."""
        return ", ".join(f"{self.names[axis]}={self.levels[axis][int(k)]}" for axis, k in zip(axes, at, strict=True))

    def over(self, axes: Sequence[int]) -> ContingencyTable:
        """Return the table of some variables, summed over the others; a cell is possible if one of its cells is."""
        others = tuple(axis for axis in range(self.counts.ndim) if axis not in axes)
        if not others:
            return self
        return ContingencyTable(
            np.asarray(self.counts.sum(axis=others)),
            np.asarray(self.possible.any(axis=others)),
            [self.names[axis] for axis in axes],
            [self.levels[axis] for axis in axes],
        )


_Cells = tuple[Any, "Sequence[Any] | None", "Sequence[Sequence[Any]] | None"]


def _cells_of(data: Any) -> _Cells | None:
    """Return the counts of a table, with names and levels if it has them; None for rows."""
    if is_pandas(data):
        if None in data.columns.names and data.columns.nlevels == 1:
            return None
        return _of_series(data.to_numpy().ravel().tolist(), data.index, data.columns)
    if hasattr(data, "index") and hasattr(data, "to_numpy") and hasattr(data, "name") and not callable(data.index):
        return _of_series(data.to_numpy().tolist(), data.index)
    is_of_cells = isinstance(data, Mapping) and (
        all(isinstance(key, tuple) for key in data) or not any(_is_column(value) for value in data.values())
    )
    if is_of_cells and data:
        keys = [key if isinstance(key, tuple) else (key,) for key in data]
        return _of_pairs(keys, [*data.values()])
    if isinstance(data, np.ndarray):
        return data, None, None
    return None


def _is_column(value: object) -> bool:
    return hasattr(value, "__len__")


def _of_series(values: list[Any], *indexes: Any) -> _Cells:
    """Return the counts of a pandas object, whose cells are all combinations of its indexes."""
    tuples = [[key if isinstance(key, tuple) else (key,) for key in index] for index in indexes]
    keys = [sum(parts, ()) for parts in product(*tuples)]
    orders: list[Any] = []
    for index in indexes:
        for axis in range(index.nlevels):
            level = index.levels[axis] if index.nlevels > 1 else index
            orders.append(level.categories.tolist() if hasattr(level, "categories") else None)
    array, _, levels = _of_pairs(keys, values, orders)
    names = [name for index in indexes for name in index.names]
    return array, None if all(name is None for name in names) else names, levels


def _of_pairs(keys: list[tuple[Any, ...]], values: list[Any], orders: Sequence[Any] = ()) -> _Cells:
    """Return the counts of cells that are given by their levels; cells that are not given are 0."""
    n = len(keys[0]) if keys else 0
    if not n:
        message = f"the table has no cells; {_REMEDY}"
        raise DataError(message)
    for key in keys:
        if len(key) != n:
            message = f"cell {key!r} has {counted(len(key), 'level')}, but cell {keys[0]!r} has {n}; give each cell "
            message += "one level per variable"
            raise DataError(message)
    levels = [[*dict.fromkeys(key[axis] for key in keys)] for axis in range(n)]
    for axis, order in enumerate(orders):
        levels[axis] = [level for level in order if level in levels[axis]] if order is not None else levels[axis]
    numbers = [{level: at for at, level in enumerate(of_axis)} for of_axis in levels]
    _check_size([len(of_axis) for of_axis in levels])
    array = np.zeros([len(of_axis) for of_axis in levels], dtype=object)
    seen: set[tuple[int, ...]] = set()
    for key, value in zip(keys, values, strict=True):
        place = tuple(number[level] for number, level in zip(numbers, key, strict=True))
        if place in seen:
            message = f"cell {key!r} occurs twice; add up its counts, for example with groupby(...).sum()"
            raise DataError(message)
        seen.add(place)
        array[place] = value
    return array, None, levels


def _check_size(shape: Sequence[int]) -> None:
    if math.prod(shape) > _MOST_CELLS:
        sizes = " x ".join([*map(str, shape[:_SHOWN]), *(["..."] if len(shape) > _SHOWN else [])])
        message = f"the table of {counted(len(shape), 'variable')} would have more than {_MOST_CELLS:,} cells ({sizes})"
        message += "; leave out variables or merge levels (PairwiseMRF learns networks of many variables)"
        raise DataError(message)


def _of_cells(
    array: Any, own: Sequence[Any] | None, levels: Sequence[Sequence[Any]] | None, names: Sequence[str] | None
) -> ContingencyTable:
    _check_size(np.shape(array))
    try:
        if np.iscomplexobj(array):
            message = "complex numbers"
            raise TypeError(message)
        counts = np.array(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"the counts of the table are not all numbers ({error}); {_REMEDY}"
        raise DataError(message) from error
    if not counts.ndim or not counts.size:
        message = f"the table has shape {counts.shape}, which has no cells; {_REMEDY}"
        raise DataError(message)
    axes = [*(levels or [[*range(size)] for size in counts.shape])]
    if names is not None:
        _check_names(names, counts.ndim)
    called = own if names is None else names
    called = [f"x{axis}" for axis in range(1, counts.ndim + 1)] if called is None else [*map(str, called)]
    _check_names(called, counts.ndim)
    possible = ~np.isnan(counts)
    table = ContingencyTable(np.where(possible, counts, 0.0), possible, called, [[*axis] for axis in axes])
    bad = np.flatnonzero((table.counts < 0) | np.isinf(table.counts))
    if bad.size:
        cell = int(bad[0])
        message = f"cell {table.called(cell)} has the count {table.counts.flat[cell]:g}; counts are finite and >= 0, "
        message += "NaN for a structural zero"
        raise DataError(message)
    return _checked(table)


def _check_names(names: Sequence[str], n: int) -> None:
    if isinstance(names, str) or not isinstance(names, Collection) or len(names) != n:
        message = f"names={names!r}: the table has {counted(n, 'variable')}; give a list with a name for each"
        raise OptionError(message)
    if len(set(names)) < n:
        message = f"names={names!r}: two variables have the same name; give every variable its own name"
        raise OptionError(message)


def _checked(table: ContingencyTable) -> ContingencyTable:
    if not table.n_samples:
        message = "the table has no samples: all counts are 0; give a table with counts"
        raise DataError(message)
    if (table.counts % 1).any():
        message = "the table has counts that are not whole numbers; p-values and standard errors assume counts"
        warn(message, DataWarning)
    return table


def _of_rows(
    data: Any,
    counts: str | None,
    names: Sequence[str] | None,
    missing: Sequence[str | float] | None,
    axes_of: Callable[[list[str]], Sequence[int]] | None,
) -> ContingencyTable:
    """Count rows, each of which may have a count; warn of values that look wrong."""
    if isinstance(data, Mapping):
        lengths = {str(name): len(column) for name, column in data.items() if _is_column(column)}
        if len(set(lengths.values())) > 1 or len(lengths) < len(data):
            message = f"the columns of the dict have different lengths ({lengths}); give each column a value per row"
            raise DataError(message)
        columns = [np.fromiter(column, dtype=object, count=len(column)) for column in data.values()]
        data = Frame(columns, [str(name) for name in data], [None] * len(columns))
    try:
        frame = variables_of(data)
    except DataError as error:
        if "is not a table" not in str(error):
            raise
        message = f"the data have type {named_type(data)}, which is not a table; {_REMEDY}"
        raise DataError(message) from error
    if is_pandas(data):
        # Categories of pandas have an order even if it means nothing; a table keeps it.
        kinds = (getattr(kind, "categories", None) for kind in data.dtypes)
        frame = replace(
            frame,
            orders=[order if kind is None else kind.tolist() for order, kind in zip(frame.orders, kinds, strict=True)],
        )
    called = frame.names or [f"x{at}" for at in range(1, len(frame.columns) + 1)]
    if names is not None:
        _check_names(names, len(called))
        called = [*names]
    frame = replace(frame, columns=with_missing(frame.columns, missing or ()), names=called)
    if (repeated := repeated_header(frame)) is not None:
        warn(repeated, DataWarning)
    weights = np.ones(len(frame.columns[0])) if frame.counts is None else frame.counts.astype(np.float64)
    if counts is not None:
        frame, numbers = _counts_taken(frame, counts)
        weights = weights * numbers
    if axes_of is not None:
        frame = _selected(frame, axes_of(frame.names or []))
    used = weights > 0
    if not used.any():
        message = "no row has a count above 0; give a table with counts"
        raise DataError(message)
    frame = frame.rows(used)
    for message in oddities(columns_of(frame, (), lambda _: False)):
        warn(message, DataWarning)
    return _crossed(frame, weights[used])


def _counts_taken(frame: Frame, counts: str) -> tuple[Frame, Vector]:
    """Return the table without its column of counts, and the counts."""
    names = frame.names or []
    if counts not in names:
        message = f"counts={counts!r} is not a column{similar(counts, names)}; the columns are {listed(names, _SHOWN)}"
        raise OptionError(message)
    at = names.index(counts)
    try:
        numbers = Frame([frame.columns[at]], [counts], [None]).matrix()[:, 0].astype(np.float64)
    except DataError as error:
        message = f"counts={counts!r}: the column has values that are not numbers; give the column with the number of "
        message += "samples of each row"
        raise DataError(message) from error
    bad = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    if bad.size:
        count = frame.columns[at][bad[0]]
        problem = "the count is missing" if np.isnan(numbers[bad[0]]) else f"{count} is not a count"
        message = f"{frame.place(int(bad[0]))}, column {counts!r}: {problem}; give a finite number >= 0"
        raise DataError(message)
    left = [i for i in range(len(names)) if i != at]
    if not left:
        message = f"the table has only the column of counts {counts!r}; give a column for each variable"
        raise DataError(message)
    return _selected(frame, left), numbers


def _selected(frame: Frame, chosen: Iterable[int]) -> Frame:
    columns = [*chosen]
    return replace(
        frame,
        columns=[frame.columns[i] for i in columns],
        names=[(frame.names or [])[i] for i in columns],
        orders=[frame.orders[i] for i in columns],
    )


def _crossed(frame: Frame, weights: Vector) -> ContingencyTable:
    names = frame.names or []
    whole = ~np.logical_or.reduce([is_missing(column) for column in frame.columns])
    if not whole.all():
        message = f"ignored {counted(int(weights[~whole].sum()), 'sample')} with a missing value; fill it in, or leave "
        message += "out columns with many missing values"
        warn(message, DataWarning)
        if not whole.any():
            message = "every row has a missing value; leave out the columns that have most of them"
            raise DataError(message)
        frame, weights = frame.rows(whole), weights[whole]
    for name, column in zip(names, frame.columns, strict=True):
        # An identifier, or a measurement, would have a level for each sample.
        if len(column) <= _MANY_LEVELS or (n := len(distinct_of(column))) <= _MANY_LEVELS:
            continue
        message = f"column {name!r} has {n:,} different values"
        remedy = "leave it out of the formula, or cut its numbers into intervals"
        if n > _MOST_LEVELS:
            message += f", of which at most {_MOST_LEVELS:,} can be levels; {remedy}"
            raise DataError(message)
        if n * _FEW_SAMPLES > (total := weights.sum()):
            warn(f"{message} in {total:,.10g} samples, too many for levels; {remedy}", DataWarning)
    categories, _ = categories_of(frame, _MOST_LEVELS)
    _check_size([len(states) for states in categories])
    codes = encoded(frame, categories, [None] * len(categories))
    shape = [len(states) for states in categories]
    varying = [size for size in shape if size > 1]
    flat = np.ravel_multi_index(tuple(codes.T), varying) if varying else np.zeros(len(weights), np.int64)
    counts = np.bincount(flat, weights, minlength=int(np.prod(shape))).astype(np.float64).reshape(shape)
    levels = [states.tolist() for states in categories]
    return _checked(ContingencyTable(counts, np.ones(shape, np.bool_), names, levels))
