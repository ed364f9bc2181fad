"""Other labels in the lines of a file, whose other bytes stay as they are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import DataError
from ..visible import visible_json, visible_name
from .column_layout import ColumnLayout
from .formats import file_name, named
from .lines import decoded, read_lines
from .writing import check_labels

__all__ = ["Change", "relabelled", "spelled"]

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


def spelled(path: str, format: str, columns: ColumnLayout, changes: Sequence[Change]) -> tuple[list[Change], list[str]]:
    """Return changes with labels as a file spells them, and the labels that no line of it has, each once.

    In a table, control characters are escaped, and there may be blanks around a label. See `relabelled` for the
    arguments.

    Raises:
        DataError: several labels of the file look like the label of a change.
    """
    labels: dict[str, None] = {}
    for number, raw in enumerate(read_lines(path), start=1):
        labels.update(dict.fromkeys(_labels(decoded(raw, file_name(path), number).rstrip("\r\n"), format, columns)))
    alike: dict[str, list[str]] = {}
    for label in labels:
        alike.setdefault(visible_name(label).strip(), []).append(label)
    values = {*map(_value, labels)}
    as_spelled: list[Change] = []
    new: dict[str, None] = {}
    for change in changes:
        candidates = alike.get(visible_name(change.label).strip(), [change.label.strip()])
        candidates = [label for label in candidates if visible_name(label) == change.label] or candidates
        if len(candidates) > 1:
            several = " and ".join(map(repr, candidates))
            message = f"{file_name(path)}: the label {change.label!r} of the table may be {several}; rename one of them"
            raise DataError(message)
        as_spelled.append(change._replace(label=candidates[0]))
        if _value(candidates[0]) not in values:
            new[candidates[0]] = None
    return as_spelled, [*new]


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
            if visible_name(str(labels[token])) != visible_name(change.given):
                return None
            labels[token] = change.label if isinstance(labels[token], str) else json.loads(change.label)
    except (ValueError, LookupError, TypeError):
        return None
    return visible_json(json.dumps(sentence, ensure_ascii=False))


def _in_cell(line: str, format: str, columns: ColumnLayout, changes: Mapping[int, Change]) -> str | None:
    """Return a line with another label; None if the label does not stand where the format has it.

    Raises:
        DataError: the format cannot hold the new label.
    """
    (change,) = changes.values()
    column = format.partition(":")[2]
    for start, end in named(format).labels(line, columns, column):
        if _value(visible_name(line[start:end])) != _value(visible_name(change.given)):
            continue
        check_labels([change.label], "choose another", what=f"line {change.line}: the label")
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
        change.word in ("", *_DAMAGED)
        or token >= len(words)
        or (word := words[token]) is None
        or visible_name(word) == visible_name(change.word)
        for token, change in changes.items()
    )
