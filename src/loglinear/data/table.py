"""Tables of categories: a column for each variable, a line for each sample."""

from __future__ import annotations

import csv
import io
import re
import shlex
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, DataWarning, OptionError, warn
from ..extras import needed_by
from ..options import fail
from ..visible import listed
from .formats import file_name
from .lines import decoded, read_lines
from .marks import Marks

__all__ = ["MISSING", "Table", "join_names", "read_table", "split_names"]

# Cells that mean a missing value.
MISSING = frozenset(("", "NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "None"))

# Delimiters that are tried, with their names for messages.
_DELIMITERS = {",": "a comma", "\t": "a tab", ";": "a semicolon", "|": "a vertical bar"}
# Further characters that may separate cells: messages suggest them.
_SUGGESTED = (" ", ":", "^", "~", "\x1f", "\xa7")
_LINES_AT_ONCE = 4096
# Most columns of samples that are counted, and samples after which it is known whether they repeat each other.
_WIDEST, _TRIED = 32, 2**16
# What pyarrow raises for damaged text, for times that Python cannot hold, and for unknown time zones.
_UNREADABLE = (ArithmeticError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Table:
    """Columns of a table.

    Attributes:
        names: names of the columns.
        columns: an array of objects for each column, shape (n_samples,): str, int, float or bool, or None for a missing
            value.
        delimiter: what separates cells in the file.
        header: whether the file's first line holds the names.
        counts: how many samples of the file each sample stands for, shape (n_rows,); None for 1 each.
        orders: values of columns in the order that the file declares, by name of the column.
        texts: the cells of each column as the file has them, spaces included; None if they were not asked for.
        lines: number of the last line, from 1, of each sample in the file, shape (n_rows,); of equal samples, the first
            one's. None for data that have no lines.
        newline: end of the file's lines.
    """

    names: list[str]
    columns: list[npt.NDArray[np.object_]]
    delimiter: str = ","
    header: bool = True
    counts: npt.NDArray[np.int64] | None = None
    orders: Mapping[str, list[Any]] = field(default_factory=dict)
    texts: list[list[str]] | None = None
    lines: npt.NDArray[np.int64] | None = None
    newline: str = "\n"

    @property
    def n_samples(self) -> int:
        """Number of samples of the file."""
        return len(self.columns[0]) if self.counts is None else int(self.counts.sum())

    @property
    def n_missing(self) -> int:
        """Number of cells of the file without a value."""
        if self.counts is None:
            return sum(column.tolist().count(None) for column in self.columns)
        return int(sum(self.counts[column == None].sum() for column in self.columns))  # noqa: E711

    def without_empty_samples(self) -> Table:
        """Return the table without samples all of whose values are missing."""
        # For every type of value that a table can hold, != None is the same as "is not None".
        filled = np.logical_or.reduce([column != None for column in self.columns])  # noqa: E711
        if filled.all():
            return self
        counts = None if self.counts is None else self.counts[filled]
        lines = None if self.lines is None else self.lines[filled]
        return replace(self, columns=[column[filled] for column in self.columns], counts=counts, lines=lines)

    def matrix(self) -> npt.NDArray[np.object_]:
        """Return the samples, shape (n_samples, n_columns)."""
        return np.stack(self.columns, axis=1)

    def text(self) -> str:
        """Return the table as delimited text; missing values are empty cells."""
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator=self.newline)
        # csv writes None as an empty cell.
        writer.writerows([*([self.names] if self.header else []), *zip(*self.columns, strict=True)])
        return text.getvalue()


def read_table(
    path: str,
    *,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    delimiter: str | None = None,
    header: bool | Collection[str] = True,
    flags: bool = True,
    distinct: bool = False,
    missing: Collection[object] = (),
    with_texts: bool = False,
) -> Table:
    """Read a table of categories: delimited text such as CSV, compressed or not, or Parquet.

    Text is UTF-8, with quotes as the standard library's csv reads them. Blank lines are skipped, and blanks around a
    cell are removed. Empty cells and NA, N/A, n/a, <NA>, NaN, nan, NULL, null, None are missing values. A column whose
    values are all whole numbers, written without leading zeros, becomes int; other columns become str. A first column
    without a name that has another value on every line is an index, such as pandas writes, and is left out.

    Cost: the file is read once; memory for a reference a cell, of different samples with ``distinct``.

    Args:
        path: name of the file; `-` is standard input; `.parquet` and `.pq` are Parquet, which needs pyarrow.
        columns: names of the columns to read, in the sequence of the result; None for all.
        ignore: columns to leave out, by name or, where no column has that name, by number from 1.
        delimiter: character between cells; by default a tab in .tsv and .tab files, and otherwise the one of comma,
            tab, semicolon and vertical bar that gives the first line most fields.
        header: whether the first line holds the names of the columns; otherwise they are x1, x2, .... Or names of
            columns: the first line holds names unless all of these are such names, and the first line has other ones.
        flags: whether messages may advise --delimiter and --no-header, which one command has.
        distinct: whether samples of a text that repeat others are only counted, where that saves much.
        missing: further values, such as "?" and -999, that stand for a missing value; see `Marks`.
        with_texts: whether to keep the cells of delimited text as the file has them, too.

    Raises:
        DataError: the file is not a table; names file, line or column, and remedy.
        OptionError: an option is out of its range or names no column.
        MissingPackageError: pyarrow, which reads Parquet files, is not installed.
        OSError: the file cannot be read.

    Warns:
        DataWarning: an index column was left out.
    """
    marks = Marks(missing)
    if path != "-" and PurePath(path).suffix.lower() in (".parquet", ".pq"):
        return _parquet(path, columns, ignore, marks)
    lines = _Lines(path, _separator(path, delimiter), flags)
    return _text(lines, columns, ignore, header, distinct, marks, with_texts=with_texts)


def join_names(names: Iterable[str]) -> str:
    """Return names of columns between commas; a name that holds a comma or a quote is quoted as in CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def split_names(text: str) -> list[str]:
    """Return the names that `join_names` has joined."""
    return next(csv.reader([text], skipinitialspace=True), [])


def _chosen(path: str, names: list[str], columns: Sequence[str] | None, ignore: Sequence[str]) -> list[int]:
    """Return the numbers of the columns to read."""
    at = {name: number for number, name in enumerate(names)}
    by_number = {str(number): name for number, name in enumerate(names, start=1) if str(number) not in at}
    ignore = [by_number.get(name, name) for name in ignore]
    for name in (*(columns or ()), *ignore):
        if name not in at:
            message = f"{file_name(path)}: no column {name!r}; the columns are {listed(names, 20)}"
            raise OptionError(message)
    chosen = [at[name] for name in (names if columns is None else columns) if name not in ignore]
    if not chosen or len(set(chosen)) < len(chosen):
        problem = "a column is selected twice" if chosen else "no column is left"
        message = f"{file_name(path)}: {problem}; select other columns"
        raise OptionError(message)
    return chosen


def _separator(path: str, delimiter: str | None) -> str | None:
    """Return the delimiter, or None if it must be detected from the first line."""
    if delimiter is None:
        suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
        return "\t" if {".tsv", ".tab"} & set(suffixes[-2:]) else None
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        fail("delimiter", delimiter, "is not a delimiter; give one character, such as ';' or tab")
    return delimiter


def _sniffed(line: str) -> str:
    """Return the delimiter that splits a line into most fields; of several, the first of `_DELIMITERS`."""
    return max(_DELIMITERS, key=lambda delimiter: len(_split(line, delimiter)))


def _split(line: str, delimiter: str) -> list[str]:
    """Return the fields of a line between delimiters; none if its quotes do not fit."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _delimiter_advice(line: str) -> str:
    """Return how to read a line as several columns; what a table is, if no character seems to separate them."""
    line = line.strip()
    fields = {delimiter: _split(line, delimiter) for delimiter in (*_DELIMITERS, *_SUGGESTED)}
    best = max(fields, key=lambda delimiter: len(fields[delimiter]))
    if len(fields[best]) < 2:
        return "separate the columns by commas, tabs, semicolons or vertical bars, or set --delimiter"
    if not all(map(str.strip, fields[best])):
        return "separate the columns by commas or tabs"
    return f"try --delimiter {'tab' if best == chr(9) else shlex.quote(best)}, which gives {len(fields[best])} columns"


class _Lines:
    """The fields of all lines that are not blank; keeps the number of the line read last."""

    def __init__(self, path: str, delimiter: str | None, flags: bool) -> None:
        self.path, self.name, self.flags = path, file_name(path), flags
        lines = enumerate(read_lines(path), start=1)
        text = (decoded(line, self.name, number) for number, line in lines)
        blank = 0
        for first in text:
            if first.strip():
                break
            blank += 1
        else:
            message = f"{self.name}: no rows found; the file is empty or has only blank lines"
            raise DataError(message)
        self.first, self.delimiter = first, delimiter or _sniffed(first)
        self.newline = "\r\n" if first.endswith("\r\n") else "\n"
        self._blank = blank
        self._reader = csv.reader(chain([first], text), delimiter=self.delimiter, strict=True)

    def remedy(self, flag: str, other: str) -> str:
        """Return the advice that names a flag where the command has it, else the other one."""
        return flag if self.flags else other

    @property
    def number(self) -> int:
        """Number, from 1, of the line read last."""
        return self._blank + self._reader.line_num

    def place(self) -> str:
        """Return file and line number of the line read last."""
        return f"{self.name}, line {self.number}"

    def __iter__(self) -> Iterator[list[str]]:
        try:
            # csv.reader returns empty lists for blank lines.
            yield from filter(None, self._reader)
        except csv.Error as error:
            remedy = "close every quote, and double a quote inside a quoted cell"
            if self.flags and len(_split(self.first, self.delimiter)) < 2 and self.first.count('"') % 2 == 0:
                remedy = _delimiter_advice(self.first)
            message = f"{self.place()}: {error}; {remedy}"
            raise DataError(message) from error


class _Cells(dict[str, str | None]):
    """Cell -> value, None if it is missing; equal values share one string.

    Args:
        marks: values that mean missing, in addition to `MISSING`.
    """

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self._marks = marks

    def __missing__(self, cell: str) -> str | None:
        value = cell.strip()
        self[cell] = None if value in MISSING or value in self._marks else self.setdefault(value, value)
        return self[cell]


def _text(
    lines: _Lines,
    columns: Sequence[str] | None,
    ignore: Sequence[str],
    header: bool | Collection[str],
    distinct: bool,
    marks: Marks,
    *,
    with_texts: bool,
) -> Table:
    """Read delimited text."""
    rows = iter(lines)
    first = next(rows)
    if not isinstance(header, bool):
        numbered = all(re.fullmatch(r"x[1-9]\d*", name) for name in header)
        header = not numbered or set(header) <= {*map(str.strip, first)}
    place = lines.place()
    names = _names(lines, first, ignore) if header else [f"x{number}" for number in range(1, len(first) + 1)]
    if len(names) == 1:
        raise DataError(_one_column(lines, place, len(next(rows, []))))
    chosen = _chosen(lines.path, names, columns, ignore)
    cells = [_Cells(marks) for _ in chosen]
    rows_read = _Counted(len(chosen)) if distinct and len(chosen) <= _WIDEST else _Whole(len(chosen))
    texts: list[list[str]] | None = [[] for _ in chosen] if with_texts else None
    numbers = array("q")
    rows = _of_width(lines, rows if header else chain([first], rows), len(names), numbers)
    while part := list(islice(rows, _LINES_AT_ONCE)):
        across = list(zip(*part, strict=True))
        values = [map(value_of.__getitem__, across[k]) for value_of, k in zip(cells, chosen, strict=True)]
        rows_read.add(values, numbers)
        del numbers[:]
        for column, k in zip(texts or (), chosen, strict=False):
            column.extend(across[k])
    if not rows_read.columns[0]:
        hint = lines.remedy("; add --no-header if the file has no header", "")
        message = f"{lines.name}: no rows after the header{hint}"
        raise DataError(message)
    table = Table(
        [names[k] for k in chosen],
        [_column(values) for values in rows_read.columns],
        lines.delimiter,
        header,
        rows_read.counts,
        texts=texts,
        lines=np.array(rows_read.lines, dtype=np.int64),
        newline=lines.newline,
    )
    return table if table.names[0] or not lines.flags else _without_index(lines, place, table)


def _one_column(lines: _Lines, place: str, n_below: int) -> str:
    """Return the message about a first line with one field; n_below is the number of fields in the line below it."""
    if n_below > 1:
        return (
            f"{place}: one field, but line {lines.number} has {n_below}; if this is a title above the header, remove it"
        )
    separator = _DELIMITERS.get(lines.delimiter, repr(lines.delimiter))
    remedy = lines.remedy(
        _delimiter_advice(lines.first), "give a table with a comma, tab, semicolon or vertical bar between columns"
    )
    return f"{place}: only one column found (separator: {separator}); {remedy}"


def _without_index(lines: _Lines, place: str, table: Table) -> Table:
    """Return the table without its first column, which has no name.

    Raises:
        DataError: the column is not an index: some of its values are missing or equal.
    """
    values = table.columns[0].tolist()
    if None in values or len(set(values)) < table.n_samples:
        raise DataError(_unnamed(lines, place, 1))
    warn(
        f"{lines.name}: left out the first column, which has no name and a different value on every line; pandas "
        "writes such an index unless it is told to_csv(..., index=False)",
        DataWarning,
    )
    texts = None if table.texts is None else table.texts[1:]
    return replace(table, names=table.names[1:], columns=table.columns[1:], texts=texts)


class _Whole:
    """The values of all samples."""

    def __init__(self, width: int) -> None:
        self.columns: list[list[str | None]] = [[] for _ in range(width)]
        self.lines = array("q")

    def add(self, columns: Sequence[Iterable[str | None]], lines: Sequence[int]) -> None:
        """Add samples, by columns, and the number of the line of each."""
        for values, more in zip(self.columns, columns, strict=True):
            values.extend(more)
        self.lines.extend(lines)

    @property
    def counts(self) -> npt.NDArray[np.int64] | None:
        """Samples of the file for each sample; None if each stands for itself."""
        return None


class _Counted(_Whole):
    """The values of different samples, and how many samples each stands for.

    If more than two thirds of the first samples differ, later samples are no longer counted together.
    """

    def __init__(self, width: int) -> None:
        super().__init__(width)
        self._place: dict[tuple[str | None, ...], int] | None = {}
        self._counts: list[int] = []
        self._read = 0

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Samples of the file for each sample."""
        return np.array(self._counts, dtype=np.int64)

    def add(self, columns: Sequence[Iterable[str | None]], lines: Sequence[int]) -> None:
        """Add samples, by columns, and the number of the line of each."""
        if self._place is None:
            before = len(self.columns[0])
            super().add(columns, lines)
            self._counts += [1] * (len(self.columns[0]) - before)
            return
        place, counts, new, new_lines = self._place, self._counts, [], []
        for row, line in zip(zip(*columns, strict=True), lines, strict=True):
            at = place.setdefault(row, len(counts))
            if at == len(counts):
                counts.append(0)
                new.append(row)
                new_lines.append(line)
            counts[at] += 1
            self._read += 1
        if new:
            super().add(list(zip(*new, strict=True)), new_lines)
        if self._read >= _TRIED and len(counts) > self._read * 2 / 3:
            self._place = None


def _unnamed(lines: _Lines, place: str, number: int) -> str:
    """Return the message about a column without a name."""
    remedy = lines.remedy(
        f"; give every column its own name, leave this one out with --ignore {number}, or add --no-header if this line "
        "is not a header",
        "; give every column its own name",
    )
    return f"{place}: column {number} has no name{remedy}"


def _names(lines: _Lines, cells: list[str], ignore: Sequence[str]) -> list[str]:
    """Return the names of the columns, which the first line holds.

    A first column without a name is called "", and other columns without a name, which are ignored, by their number.
    """
    names = [cell.strip() for cell in cells]
    if names[0] and len(names) > 1 and not any(names[1:]) and not ignore:
        message = (
            f"{lines.place()}: only the first field is filled; if this line is a title above the header, remove it"
        )
        raise DataError(message)
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        if not name and number > 1:
            if str(number) not in ignore:
                raise DataError(_unnamed(lines, lines.place(), number))
            names[number - 1] = f"column {number}"
        elif name in seen:
            hint = lines.remedy(", or add --no-header if this line is not a header", "")
            message = f"{lines.place()}: two columns are called {name!r}; give every column its own name{hint}"
            raise DataError(message)
        seen.add(name)
    return names


def _of_width(lines: _Lines, rows: Iterator[list[str]], width: int, numbers: array[int]) -> Iterator[list[str]]:
    """Yield the rows, add the numbers of their lines, and raise DataError at the first row of another width."""
    for number, row in enumerate(rows):
        if len(row) != width:
            remedy = "leave cells empty, not out" if len(row) < width else "quote cells that contain the separator"
            if number == 0 and len(row) == width + 1:
                remedy = "if the first column has the names of the rows, as R writes it, name it in the header, too"
            message = f"{lines.place()}: expected {width} fields, found {len(row)}; {remedy}"
            raise DataError(message)
        numbers.append(lines.number)
        yield row


def _column(values: list[str | None]) -> npt.NDArray[np.object_]:
    """Return values as int if all are whole numbers of fewer than 19 characters in plain form, else as str."""
    distinct = set(values) - {None}
    if all(value is not None and len(value) < 19 and _is_plain(value) for value in distinct):
        numbers = {value: None if value is None else int(value) for value in {*distinct, None}}
        return np.array([numbers[value] for value in values], dtype=object)
    return np.array(values, dtype=object)


def _is_plain(value: str) -> bool:
    """Whether a string is a whole number without leading zeros or a plus sign."""
    digits = value.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(value)) == value


def _parquet(path: str, columns: Sequence[str] | None, ignore: Sequence[str], marks: Marks) -> Table:
    """Read a Parquet file."""
    with needed_by(f"{path}: a Parquet file"):
        import pyarrow
        import pyarrow.parquet
    try:
        with open(path, "rb") as file:
            opened = pyarrow.parquet.ParquetFile(file)
            names = [str(name) for name in opened.schema_arrow.names]
            if len(set(names)) < len(names):
                message = f"{path}: two columns have the same name; give every column its own name"
                raise DataError(message)
            wanted = [names[k] for k in _chosen(path, names, columns, ignore)]
            table = opened.read(columns=wanted)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system: pyarrow's own have no number
            raise
        message = f"{path}: not a Parquet file, or damaged ({error})"
        raise DataError(message) from error
    if not table.num_rows:
        message = f"{path}: the table has no rows; give a table with data"
        raise DataError(message)
    arrays = [_values(path, name, table.column(name), marks) for name in wanted]
    ordered = [
        name for name in wanted if pyarrow.types.is_dictionary(kind := table.schema.field(name).type) and kind.ordered
    ]
    orders = {name: table.column(name).unify_dictionaries().chunk(0).dictionary.to_pylist() for name in ordered}
    return Table(wanted, arrays, orders=orders)


def _values(path: str, name: str, column: Any, marks: Marks) -> npt.NDArray[np.object_]:
    """Return the values of a column as Python objects; values other than strings, numbers and bools as str."""
    import pyarrow

    place, ignored = f"{path}, column {name!r}", shlex.quote(join_names([name]))
    kind = column.type.value_type if pyarrow.types.is_dictionary(column.type) else column.type
    if pyarrow.types.is_nested(kind):
        message = f"{place}: type {column.type} is not supported; leave out the column with --ignore {ignored}"
        raise DataError(message)
    try:
        values = column.to_pylist()
        plain_values = {value: value if isinstance(value, (str, int, float)) else str(value) for value in values} | {
            None: None
        }
        plain_values |= {value: None for value in plain_values if value in marks}
    except _UNREADABLE as error:
        row, reason = _first_unreadable(column, error)
        message = f"{place}, row {row}: invalid {column.type} ({reason}); correct it, or leave out the column "
        message += f"with --ignore {ignored}"
        raise DataError(message) from error
    # NaN, a missing value, is the only value that differs from itself.
    return np.array([plain_values[value] if value == value else None for value in values], dtype=object)


def _first_unreadable(column: Any, error: Exception) -> tuple[int, Exception]:
    """Return the number of the first row, from 0, whose value cannot be held by a table, and why."""
    for row, value in enumerate(column):
        try:
            hash(value.as_py())
        except _UNREADABLE as reason:
            return row, reason
    return 0, error
