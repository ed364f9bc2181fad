"""Other labels in the lines of a file, whose other bytes stay as they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import DataError
from .column_layout import ColumnLayout
from .formats import file_name, named
from .lines import decoded, read_lines

__all__ = ["Change", "new_labels", "relabelled"]

# What spreadsheets make of words that they take for formulas.
_DAMAGED = ("#NAME?", "#VALUE!", "#REF!")


class Change(NamedTuple):
    """Another label for a token.

    Attributes:
        line: number of its line, from 1.
        token: number of the token in the line, from 0: 0 unless a line is a sentence.
        given: the label that the line has.
        label: the new one.
        word: the word that the token has; empty if it is not known.
    """

    line: int
    token: int
    given: str
    label: str
    word: str = ""


def relabelled(path: str, format: str, columns: ColumnLayout, changes: Sequence[Change]) -> Iterator[bytes]:
    """Yield the lines of a file with other labels.

    Args:
        path: of the file, compressed or not.
        format: of the file.
        columns: layout of a column file; without a separator, tabs or blanks are tried.
        changes: in any order.

    Raises:
        DataError: a line does not have the label that a change says it has, or there is no such line.
        OSError: the file cannot be read.
    """
    by_line: dict[int, dict[int, Change]] = {}
    for change in changes:
        others = by_line.setdefault(change.line, {})
        if others.setdefault(change.token, change) != change:
            labels = f"{others[change.token].label!r} and {change.label!r}"
            message = (
                f"{file_name(path)}, line {change.line}: two labels are accepted for one token, {labels}; accept one"
            )
            raise DataError(message)
    for number, raw in enumerate(read_lines(path), start=1):
        changes_here = by_line.pop(number, None)
        if changes_here is None:
            yield raw
            continue
        text = decoded(raw, file_name(path), number)
        start = "\ufeff" if number == 1 and raw.startswith("\ufeff".encode()) else ""
        end = text[len(text.rstrip("\r\n")) :]
        line = text[: len(text) - len(end)]
        changed = _in_json(line, changes_here) if format == "jsonl" else _in_cell(line, format, columns, changes_here)
        if changed is None or not _has_words(line, format, columns, changes_here):
            _fail(path, next(iter(changes_here.values())))
        yield f"{start}{changed}{end}".encode()
    if by_line:
        _fail(path, next(iter(next(iter(by_line.values())).values())))


def new_labels(path: str, format: str, columns: ColumnLayout, changes: Sequence[Change]) -> list[str]:
    """Return the labels of changes that no line of a file has, each once; see `relabelled` for the arguments."""
    new = {_value(change.label): change.label for change in changes}
    for number, raw in enumerate(read_lines(path), start=1):
        if not new:
            break
        line = decoded(raw, file_name(path), number).rstrip("\r\n")
        for label in _labels(line, format, columns):
            new.pop(_value(label), None)
    return [*new.values()]


def _labels(line: str, format: str, columns: ColumnLayout) -> list[str]:
    """Return what may be a label on a line."""
    if format == "jsonl":
        try:
            return [*map(str, json.loads(line)["labels"])]
        except (ValueError, LookupError, TypeError):
            return []
    return [line[start:end] for start, end in named(format).labels(line, columns, format.partition(":")[2])]


def _value(label: str) -> str | float:
    """Return a label, or the number that it is: 1 for +1."""
    try:
        number = float(label)
    except ValueError:
        return label
    return label if math.isnan(number) else number


def _fail(path: str, change: Change) -> None:
    word = f" of the word {change.word!r}" if change.word else ""
    message = f"{file_name(path)}, line {change.line}: no label {change.given!r}{word}, which the audit found there; "
    message += "give the file that was audited, or audit this one"
    raise DataError(message)


def _in_json(line: str, changes: Mapping[int, Change]) -> str | None:
    """Return a line of JSON with other labels; None if it has others than the changes say."""
    try:
        sentence = json.loads(line)
        labels = sentence["labels"]
        for token, change in changes.items():
            if str(labels[token]) != change.given:
                return None
            labels[token] = change.label if isinstance(labels[token], str) else json.loads(change.label)
    except (ValueError, LookupError, TypeError):
        return None
    return json.dumps(sentence, ensure_ascii=False)


def _in_cell(line: str, format: str, columns: ColumnLayout, changes: Mapping[int, Change]) -> str | None:
    """Return a line with another label; None if the label does not stand where the format has it.

    Raises:
        DataError: the format cannot hold the new label.
    """
    (change,) = changes.values()
    column = format.partition(":")[2]
    for start, end in named(format).labels(line, columns, column):
        if _value(line[start:end]) != _value(change.given):
            continue
        changed = line[:start] + change.label + line[end:]
        if (start, start + len(change.label)) not in named(format).labels(changed, columns, column):
            message = f"line {change.line}: the format {format} cannot hold the label {change.label!r}; choose another"
            raise DataError(message)
        return changed
    return None


def _has_words(line: str, format: str, columns: ColumnLayout, changes: Mapping[int, Change]) -> bool:
    """Whether a line has the words of the tokens with changes; true where either are not known."""
    words = named(format).words(line, columns)
    if format == "text":
        words = [line.partition("\t")[2]]
    return all(
        change.word in ("", *_DAMAGED) or token >= len(words) or words[token] in (None, change.word)
        for token, change in changes.items()
    )
