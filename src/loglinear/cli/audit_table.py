"""The table of `loglinear audit`: its columns, and the labels that a person has accepted in it."""

from __future__ import annotations

import csv
import shlex
from argparse import ArgumentError, ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ..data.column_layout import ColumnLayout
from ..data.relabelling import Change
from ..errors import DataError, OptionError
from ..options import digits_of
from .options import add_columns, add_weight_column, column_layout, flag

__all__ = ["COLUMNS", "AcceptedLabels", "read_as"]

COLUMNS = (
    "accept",
    "finding",
    "line",
    "token",
    "word",
    "given",
    "suggested",
    "probability",
    "suggested_probability",
    "reason",
    "alike",
    "read_as",
    "context",
)
_NEEDED = ("accept", "line", "token", "word", "given", "suggested")
_ACCEPTED = ("x", "y", "yes", "1", "true")
_AGAIN = "audit again, or save the table again with all its cells"


def read_as(format: str, columns: ColumnLayout) -> str:
    """Return a cell that says how a file was read; spreadsheets would take a `-` at its beginning for a formula."""
    layout = columns._replace(separator=columns.separator or "blank").flags() if format == "columns" else []
    return shlex.join([format, *layout])


class AcceptedLabels(NamedTuple):
    """The accepted lines of a table.

    Attributes:
        path: of the table.
        changes: the labels to change.
        read_as: how the file was read that was audited; empty in tables that do not say so.
        in_part: for each finding of which only some tokens are accepted, the first line of these in the table.
    """

    path: str
    changes: list[Change]
    read_as: str
    in_part: list[int]

    @classmethod
    def read(cls, path: str) -> AcceptedLabels:
        """Return the accepted lines of a file.

        Raises:
            DataError: it is not the table of an audit, a line of it is incomplete, or no line is accepted.
        """
        rows = _rows(path)
        changes, layouts = [], set()
        accepted_lines: dict[str, list[int | None]] = defaultdict(list)
        for number, row in rows:
            accepted = row["accept"].strip().lower() in _ACCEPTED
            accepted_lines[row.get("finding", str(number))].append(number if accepted else None)
            if not accepted:
                continue
            line, token, label = digits_of(row["line"]), digits_of(row["token"]), row["suggested"]
            if line is None or token is None or not label.strip():
                message = f"{path}, line {number}: the line, the token or the suggested label is missing; {_AGAIN}"
                raise DataError(message)
            changes.append(Change(line, token, row["given"], label, row["word"]))
            layouts.add(row.get("read_as", ""))
        if not changes:
            message = f"{path}: no line is accepted; put x into the column accept"
            raise DataError(message)
        if len(layouts) > 1:
            first, second, *_ = sorted(layouts)
            message = f"{path}: lines of two audits, which have read the file as {first!r} and {second!r}; "
            message += "apply one table after the other"
            raise DataError(message)
        parts = ([*filter(None, lines)] for lines in accepted_lines.values() if None in lines)
        return cls(path, changes, layouts.pop(), [lines[0] for lines in parts if lines])

    def layout(self, arguments: Namespace, format: str) -> tuple[str, ColumnLayout]:
        """Return format and layout with which the file was audited, else those that the arguments ask for.

        Args:
            arguments: of the command.
            format: of the file, if the table does not say it.

        Raises:
            DataError: what the table says is not how a file is read.
            OptionError: the arguments ask for others than those of the audit.
        """
        if not self.read_as:
            return format, column_layout(arguments, ColumnLayout())
        parser = ArgumentParser(add_help=False, exit_on_error=False)
        add_columns(parser)
        add_weight_column(parser)
        try:
            audited_format, *flags = shlex.split(self.read_as)
            audited, others = parser.parse_known_args(flags)
        except (ArgumentError, ValueError):
            others = [self.read_as]
        if others:
            message = f"{self.path}: {self.read_as!r} in the column read_as is not how a file is read; {_AGAIN}"
            raise DataError(message)
        for name, value in {"format": audited_format, **vars(audited)}.items():
            asked = getattr(arguments, name)
            if asked is not None and asked != value and (asked, value) != (-1, None):  # -1 is the default
                shown = flag(name) if asked is True else f"{flag(name)} {asked}"
                message = f"{shown}: the audit has read the file as `{self.read_as}` (column read_as of {self.path}); "
                message += "leave the option out"
                raise OptionError(message)
        return audited_format, column_layout(audited, ColumnLayout())


def _rows(path: str) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a table with the numbers of their lines.

    Raises:
        DataError: the table lacks a column, or a row lacks cells.
    """
    columns, rows = _read(path)
    if lacking := [name for name in _NEEDED if name not in columns]:
        message = (
            f"{path}: no column {lacking[0]}; give a table that `loglinear audit` has written, with tabs between cells "
            "or as CSV"
        )
        raise DataError(message)
    complete = []
    for number, row in rows:
        cells = {name: cell for name, cell in row.items() if cell is not None}
        if len(cells) < len(row):
            message = f"{path}, line {number}: {len(cells)} cells instead of {len(row)}, as if the table were cut off; "
            message += _AGAIN
            raise DataError(message)
        complete.append((number, cells))
    return complete


def _read(path: str) -> tuple[Sequence[str], list[tuple[int, dict[str, str | None]]]]:
    """Return the columns of a table, and its rows with the numbers of their lines; cells may be between commas."""
    from ..data.lines import read_lines

    try:
        lines = [line.decode("utf-8-sig") for line in read_lines(path)]
    except UnicodeDecodeError as error:
        message = f"{path}: not UTF-8; save the table as text between tabs in UTF-8"
        raise DataError(message) from error
    first = lines[0] if lines else ""
    delimiter = next((mark for mark in "\t,;" if mark in first), "\t")
    if delimiter == "\t":
        table = csv.DictReader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        table = csv.DictReader(lines, delimiter=delimiter)
    try:
        return table.fieldnames or (), [(table.line_num, row) for row in table]
    except csv.Error as error:
        message = f"{path}, line {table.line_num}: not a line of a table ({error}); save the table again"
        raise DataError(message) from error
