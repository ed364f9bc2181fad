"""Objects of JSON files, whose fields are read with a check of their type."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any

from ...visible import listed, shortened
from ..formats import file_name
from ..lines import decoded, read_lines
from .annotated_text import fail, half_of_character

__all__ = ["Record", "id_fields", "json_lines", "json_list", "json_text"]

# Characters of a value that a message shows.
_SHOWN = 60
_KINDS = {str: "a text", int: "a whole number", list: "a list", dict: "an object", float: "a number"}


class Record:
    """An object of a JSON file.

    Args:
        value: the decoded object.
        place: where it is, for messages.
        line: number of the line, or of the object in the file, from 1.
    """

    def __init__(self, value: dict[str, Any], place: str, line: int = 0) -> None:
        self.value = value
        self.place = place
        self.line = line

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def fail(self, problem: str) -> Any:
        """Raise DataError that names the place."""
        fail(self.place, problem)

    def field(self, name: str, kind: type) -> Any:
        """Return a field of a type; whole numbers may be written as 3.0.

        Raises:
            DataError: the field is missing, or of another type.
        """
        value = self.value.get(name)
        if value is None:
            self.fail(f"the field {name!r} is missing; {self._fields()}")
        if kind in (int, float) and isinstance(value, (int, float)) and type(value) is not bool:
            try:
                number = kind(value)
                if number == value if kind is int else isfinite(number):
                    return number
            except (OverflowError, ValueError):  # infinite, or too large for a float
                pass
        elif type(value) is kind:
            return value
        return self.fail(f"the field {name!r} is {_shown(value)}, not {_KINDS[kind]}")

    def text(self, name: str) -> str:
        """Return a field that is a text without halves of surrogate pairs."""
        return self.whole(self.field(name, str), f"the field {name!r}")

    def whole(self, text: str, called: str) -> str:
        """Return a text that has no half of a surrogate pair; raise DataError if it has one."""
        if problem := half_of_character(text):
            self.fail(f"{called} {problem}")
        return text

    def id(self, name: str) -> str:
        """Return the identifier of the text in a field; empty without one."""
        value = self.value.get(name)
        return "" if value is None else self.whole(str(value), f"the field {name!r}")

    def records(self, name: str, called: str = "") -> list[Record]:
        """Return the objects in a list; no objects if the field is missing or null."""
        if name not in self:
            return []
        return [self.inside(item, f"{called or name} {at}") for at, item in enumerate(self.field(name, list))]

    def record(self, name: str) -> Record:
        """Return the object in a field."""
        return Record(self.field(name, dict), self.place, self.line)

    def inside(self, value: Any, called: str) -> Record:
        """Return an object inside this one.

        Raises:
            DataError: the value is not an object.
        """
        if type(value) is not dict:
            self.fail(f"{called} is {_shown(value)}, not an object")
        return Record(value, self.place, self.line)

    def _fields(self) -> str:
        """Return the names of the fields, for a message."""
        names = listed([*map(repr, self.value)], 8)
        return f"the object has {names}" if names else "the object is empty"


def _shown(value: object) -> str:
    """Return a value for a message."""
    return shortened(json_text(value), _SHOWN)


def json_lines(path: str) -> Iterator[Record]:
    """Yield the object in each line of a file of JSON lines; blank lines are skipped.

    Raises:
        DataError: a line is not a JSON object.
        OSError: the file cannot be read.
    """
    name = file_name(path)
    for number, raw in enumerate(read_lines(path), start=1):
        line, place = decoded(raw, name, number).strip(), f"{name}, line {number}"
        if line:
            value = _parsed(line, place, 'each line must be an object such as {"text": ...}; check --format')
            if type(value) is not dict:
                wanted = 'an object such as {"text": ...}'
                fail(place, f"expected {wanted} in a line of JSON, found {_shown(value)}; check the format")
            yield Record(value, place, number)


def json_list(path: str) -> list[Record]:
    """Return the objects in the list that a JSON file consists of.

    Raises:
        DataError: the file is something else.
        OSError: the file cannot be read.
    """
    name = file_name(path)
    content = "".join(decoded(raw, name, number) for number, raw in enumerate(read_lines(path), start=1))
    value = _parsed(content, name, "export the annotations as JSON again")
    if type(value) is not list:
        fail(name, f"expected a list of tasks, found {_shown(value)}; export as JSON or JSON-MIN")
    whole = Record({}, name)
    records = []
    for number, item in enumerate(value, start=1):
        record = whole.inside(item, f"task {number}")
        id_ = item.get("id")
        records.append(Record(record.value, f"{name}, task {number if id_ is None else id_}", number))
    return records


def _parsed(text: str, place: str, remedy: str) -> Any:
    """Return decoded JSON; raise DataError if the text is something else."""
    try:
        return json.loads(text)
    except RecursionError:
        return fail(place, f"the JSON is nested too deeply; {remedy}")
    except ValueError as error:
        return fail(place, f"invalid JSON: {error}; {remedy}")


def id_fields(name: str, id: str) -> dict[str, int | str]:
    """Return the field with the identifier of a text, which is a number if it is written as one; none without it."""
    if not id:
        return {}
    return {name: int(id) if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,17})", id) else id}


def json_text(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)
