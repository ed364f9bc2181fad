"""What looks wrong in a table that a network is trained on: properties of well-formed data that suggest a mistake."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.alike import visible
from ..data.frames import Frame, columns_called
from ..data.inputs import Array
from ..data.number import as_number
from ..data.table import join_names
from ..visible import listed
from .binning import is_error, numbers, strays
from .numbering import Codes, Numbers
from .values import distinct_of

__all__ = ["Column", "columns_of", "copied", "oddities", "repeated_header"]

# Texts that often mark a missing value, in any column; in lower case.
_MARKS = frozenset(
    "? ?? ??? - -- --- – — . .. ... n.a. n.a n/a na nan nat null <na> <null> <none> (null) (blank) (empty) (missing) "
    "missing \\n".split()
)
# Numbers that often mark a missing value.
_CODES = frozenset(
    float(sign * int(digits * repeated))
    for digits in "789"
    for repeated in range(1, 6)
    for sign in (-1, 1)
    if sign < 0 or repeated > 1
) | frozenset(float(sign * code) for code in (97, 98, 997, 998, 9997, 9998) for sign in (-1, 1))
# What the row of a sum is called.
_SUMS = frozenset(
    "total totals subtotal sum summe gesamt somme totale totaal suma итого всего 合计 合計 总计 總計".split()
)
# Fewest rows outside the most frequent state of a column for which equal columns are no coincidence.
_EVIDENCE = 11
# Most columns or pairs of columns that a message names.
_SHOWN = 3
# Kinds of quotes and dashes that are easily taken for one another.
_ALIKE = str.maketrans(dict.fromkeys("‘’ʼ`´", "'") | dict.fromkeys("“”„", '"') | dict.fromkeys("‐‑‒–—−", "-"))


@dataclass(frozen=True)
class Column:
    """A column by its different values.

    Attributes:
        name: its name, or its number.
        values: its values, shape (n_samples,).
        distinct: its different values, apart from missing ones.
        counts: how many samples each row stands for, shape (n_samples,); None for 1 each.
        binned: whether its numbers will be cut into bins.
        is_comma_separated: whether commas separate the cells in its file, so that those in numbers separate thousands.
    """

    name: object
    values: Array
    distinct: list[Any]
    counts: Numbers | None = None
    binned: bool = False
    is_comma_separated: bool = False

    def share(self, value: object) -> float:
        """Return the share of the samples that have a value."""
        chosen = np.array([isinstance(other, type(value)) and other == value for other in self.values.tolist()])
        return float(chosen.mean() if self.counts is None else self.counts[chosen].sum() / self.counts.sum())


def columns_of(frame: Frame, left_out: Sequence[int], is_binned: Callable[[int], bool]) -> list[Column]:
    """Return the columns of a table that hold texts, numbers or other objects, apart from some."""
    return [
        Column(
            frame.names[i] if frame.names else i,
            column,
            distinct_of(column),
            frame.counts,
            is_binned(i),
            frame.is_comma_separated,
        )
        for i, column in enumerate(frame.columns)
        if i not in left_out and column.dtype.kind in "iufUO"
    ]


def oddities(columns: Sequence[Column]) -> Iterator[str]:
    """Yield a message about each kind of mistake that the values suggest. Cost: a pass over different values."""
    for check in (_marks, _sums, _alike, _grouped_digits):
        message = check(columns)
        if message is not None:
            yield message


def repeated_header(frame: Frame) -> str | None:
    """Return a message about rows whose values are the names of their columns; None if there are no such rows."""
    if frame.names is None:
        return None
    rows = np.ones(len(frame.columns[0]), dtype=np.bool_)
    for name, column in zip(frame.names, frame.columns, strict=True):
        if column.dtype.kind not in "UO" or not rows.any():
            return None
        rows &= [isinstance(value, str) and value == name for value in column.tolist()]
    at = np.flatnonzero(rows)
    if not at.size:
        return None
    n_rows = int(at.size if frame.counts is None else frame.counts[at].sum())
    more = f", and in {n_rows - 1:,} more row{'s' * (n_rows > 2)}" if n_rows > 1 else ""
    remedy = "delete the row" if n_rows == 1 else "delete the rows"
    if frame.is_file:
        remedy += ", or add --no-header if the first line is not a header"
    return f"{frame.place(int(at[0]))}: the header is repeated and read as data{more}; {remedy}"


def copied(codes: Codes, names: Sequence[object], counts: Numbers | None, *, is_file: bool) -> str | None:
    """Return a message about columns whose states correspond one to one; None if there are no such columns.

    Args:
        codes: states of samples, -1 where a value is missing, shape (n_samples, n_variables).
        names: of the variables, or their numbers.
        counts: how many samples each row stands for; None for 1 each.
        is_file: whether the message may name flags.
    """
    groups: dict[bytes, list[object]] = defaultdict(list)
    for name, column in zip(names, codes.T, strict=True):
        in_order = _by_appearance(column)
        rows = np.bincount(in_order, weights=counts)
        if rows.sum() - rows.max() >= _EVIDENCE:
            groups[in_order.tobytes()].append(name)
    twins = [group for group in groups.values() if len(group) > 1]
    if not twins:
        return None
    surplus = [name for group in twins for name in group[1:]]
    shown = ", and ".join(columns_called(group) for group in twins[:_SHOWN])
    more = f", and {len(twins) - _SHOWN:,} more groups of columns" if len(twins) > _SHOWN else ""
    flag = f" (--ignore {shlex.quote(join_names(map(str, surplus)))})" if is_file else ""
    each = "" if len(twins) == 1 else " of each group"
    return f"{shown}{more} determine each other, as a column and its copy do; keep one{each}{flag}"


def _by_appearance(codes: npt.NDArray[np.int32]) -> npt.NDArray[np.uint16]:
    """Return states numbered from 1 in the order of their first rows, and 0 for missing values."""
    first = np.full(int(codes.max()) + 2, codes.size)
    first[codes[::-1] + 1] = np.arange(codes.size)[::-1]  # of several assignments the last one counts
    first[0] = -1
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(first.size)
    return place[codes + 1].astype(np.uint16)


def _marks(columns: Sequence[Column]) -> str | None:
    """Values that often mean missing: texts among numbers, usual marks, and numbers that are far from all others."""
    marked: dict[Any, list[Column]] = defaultdict(list)
    for column in columns:
        for mark in _marks_of(column.distinct):
            if mark != column.name and not _is_sum(column, mark):  # in a repeated header, in the row of a sum
                marked[mark].append(column)
    if not marked:
        return None
    described = ", ".join(f"{_plain(mark)!r} in {_places(mark, having)}" for mark, having in marked.items())
    marks = [_plain(mark) for mark in marked]
    listed = join_names(map(str, marks))
    flag = f"--missing{'=' if listed.startswith('-') else ' '}{shlex.quote(listed)}"
    read, they = ("read as a value", "it marks") if len(marks) == 1 else ("read as values", "they mark")
    return f"{read}: {described}; if {they} missing values, pass missing={marks!r} ({flag})"


def _sums(columns: Sequence[Column]) -> str | None:
    """A last row that is called the sum of the others."""
    named = [column for column in columns if column.values.size and _is_sum(column, column.values[-1])]
    if not named:
        return None
    what = f"{named[0].values[-1]!r} in {columns_called([column.name for column in named])}"
    return f"the last row seems to be the sum of the others ({what}); remove it"


def _is_sum(column: Column, value: object) -> bool:
    """Whether a value is what the last row of a table alone has, and means a sum."""
    if not isinstance(value, str) or value.strip(" :").casefold() not in _SUMS or column.values[-1] != value:
        return False
    return int((column.values == value).sum()) == 1 and (column.counts is None or column.counts[-1] == 1)


def _places(mark: object, having: Sequence[Column]) -> str:
    """Return the columns that have a mark, and in how many of their rows."""
    share = max(column.share(mark) for column in having)
    most = "up to " if len(having) > 1 else ""
    return f"{columns_called([column.name for column in having])} ({most}{100.0 * share:.2g} % of the rows)"


def _plain(mark: Any) -> Any:
    return int(mark) if isinstance(mark, float) and mark.is_integer() else mark


def _marks_of(distinct: Sequence[Any]) -> list[Any]:
    """Return the values of a column that seem to mean missing."""
    numbers_of = {value: number for value in distinct if (number := as_number(value)) is not None}
    marks = strays(distinct)
    if len(distinct) > 2:
        texts = [value for value in distinct if isinstance(value, str) and value not in numbers_of]
        marks += [text for text in texts if text not in marks and (is_error(text) or text.strip().lower() in _MARKS)]
    if len(numbers_of) + len(marks) < len(distinct):
        return marks
    infinite = [value for value, number in numbers_of.items() if np.isinf(number)]
    finite = {value: number for value, number in numbers_of.items() if np.isfinite(number)}
    codes = _codes_among(set(finite.values()))
    return marks + (infinite if finite else []) + [value for value, number in finite.items() if number in codes]


def _codes_among(values: set[float]) -> set[float]:
    """Return numbers that seem to be codes of missing values, which are apart from all other numbers.

    Codes are negative where all other numbers are not, or have more digits than all others.
    """
    below, others = {value for value in values if value < 0.0}, sorted(value for value in values if value >= 0.0)
    if below and below <= _CODES and len(others) > 2:
        gap, widest = others[0] - max(below), max(high - low for low, high in pairwise(others))
        return below if min(below) <= -10.0 or gap > 1.5 * widest else set()
    largest = max(map(abs, values), default=0.0)
    scale = 10.0 ** (len(f"{largest:.0f}") - 1)
    above = {value for value in values if abs(value) > scale}
    return above if scale > 1.0 and above <= _CODES and len(values - above) > 1 else set()


def _alike(columns: Sequence[Column]) -> str | None:
    """States that people would take for the same."""
    named: dict[str, list[object]] = defaultdict(list)
    for column in columns:
        pairs = [f"{one!r} and {other!r}" for one, other in _pairs_of(column)]
        if pairs:
            named[listed(pairs, _SHOWN)].append(column.name)
    if not named:
        return None
    parts = [f"{columns_called(names)}: {pairs}" for pairs, names in named.items()]
    more = f", and in {len(parts) - _SHOWN:,} more columns others" if len(parts) > _SHOWN else ""
    return f"{', '.join(parts[:_SHOWN])}{more} differ only in case, blanks or other details; write them alike"


def _pairs_of(column: Column) -> Iterator[tuple[Any, Any]]:
    """Yield the first two of values that are written in different ways."""
    if column.values.dtype.kind in "iuf" or (column.binned and numbers(column.distinct) is not None):
        return
    groups: dict[object, list[Any]] = defaultdict(list)
    for value in column.distinct:
        groups[_written_alike(value)].append(value)
    for key, values in groups.items():
        # Genotypes such as AA, Aa, aa are told from each other by their case alone.
        if len(values) > 1 and (len(groups) > 1 or len(str(key)) > 2):
            yield values[0], values[1]


def _written_alike(value: object) -> object:
    """Return what is the same for all values that differ in case, blanks, quotes, dashes or form of a number."""
    number = None if isinstance(value, bool) else as_number(value)
    if number is not None:
        return number
    return " ".join(visible(str(value)).casefold().translate(_ALIKE).split())


def _grouped_digits(columns: Sequence[Column]) -> str | None:
    """Commas that seem to separate thousands but are read as decimal commas.

    Some numbers have none, or commas separate the cells of the file, too.
    """
    names = []
    for column in columns:
        texts = [value.strip() for value in column.distinct if isinstance(value, str)]
        commas = [text for text in texts if "," in text]
        if (
            len(commas) > 2
            and column.binned
            and all(re.fullmatch(r"[1-9]\d{0,2},\d{3}", text) for text in commas)
            and (column.is_comma_separated or any(re.fullmatch(r"[1-9]\d\d", text) for text in texts))
        ):
            names.append(column.name)
    if not names:
        return None
    return f"{columns_called(names)}: 1,000 is read as 1.000, with a decimal comma; remove commas between thousands"
