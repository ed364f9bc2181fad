"""Checks of what Python reads back from files: JSON of limited depth, and a check for each of its fields.

A file with the right checksum can hold wrong values all the same: it was made by hand, or by another version. Settings
of models and corpora, records of traces and states in checkpoints go through this module before anything uses them.
Checks are called with the name of a field and its value, and raise OptionError, which `reading` turns into the error of
the file.

The module imports the standard library alone, to load fast.
"""

from __future__ import annotations

import json
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from .errors import LogLinearError, OptionError
from .options import Check, fail, real_number, whole_number

__all__ = [
    "check_fields",
    "count",
    "is_a",
    "is_finite",
    "is_number",
    "json_object",
    "list_of",
    "number",
    "object_fields",
    "object_of",
    "reading",
    "texts",
]

# Maximum depth of nested lists and objects.
_DEEPEST = 16


@contextmanager
def reading(path: str, error: type[LogLinearError], remedy: str, *others: type[Exception]) -> Iterator[None]:
    """Turn what a check finds wrong with a file into the error of such files, with the file's name and the remedy.

    Args:
        path: of the file.
        error: type of the error.
        remedy: what to do about the file.
        others: other exceptions that a wrong file raises.
    """
    wrongs: tuple[type[Exception], ...] = (OptionError, *others)
    try:
        yield
    except wrongs as wrong:
        message = f"{path}: {wrong or type(wrong).__name__}; {remedy}"
        raise error(message) from wrong


def json_object(name: str, text: str | bytes) -> dict[str, Any]:
    """Return parsed JSON: an object of limited depth, all of whose texts are valid Unicode.

    Args:
        name: what the message calls the text.
        text: UTF-8.

    Raises:
        OptionError: the text is something else.
    """
    try:
        value = json.loads(text)
        if (b"\\ud" if isinstance(text, bytes) else "\\ud") in text.lower():  # type: ignore[operator]
            json.dumps(value, ensure_ascii=False).encode()  # halves of surrogate pairs are not text by themselves
    except (ValueError, RecursionError):
        _refuse(name, text, "JSON")
    if type(value) is not dict:
        _refuse(name, text, "a JSON object")
    level: list[Any] = [value]
    for _ in range(_DEEPEST):
        inside = [inner for value in level for inner in (value.values() if type(value) is dict else value)]
        level = [inner for inner in inside if type(inner) in (dict, list)]
    if level:
        _refuse(name, text, f"a JSON object at most {_DEEPEST} levels deep")
    checked: dict[str, Any] = value
    return checked


def _refuse(name: str, text: str | bytes, wanted: str) -> None:
    message = f"{name} is {reprlib.repr(text)}, not {wanted}"
    raise OptionError(message) from None


def check_fields(
    before: str, values: Mapping[str, Any], checks: Mapping[str, Check], needed: Sequence[str] = ()
) -> None:
    """Check the fields of an object.

    Args:
        before: what messages have before the name of a field.
        values: the fields.
        checks: of fields by name; fields without one are notes, which nothing reads.
        needed: names of the fields that may not be missing.

    Raises:
        OptionError: a field is missing, or not what it has to be.
    """
    for name in needed:
        if name not in values:
            message = f"{before}{name} is missing"
            raise OptionError(message)
    for name, check in checks.items():
        if name in values:
            check(before + name, values[name])


def is_a(wanted: str, fits: Callable[[Any], object]) -> Check:
    """Return a check of a value, with a description in words."""

    def check(name: str, value: object) -> None:
        if not fits(value):
            fail(name, value, f"is not {wanted}")

    return check


def list_of(*kinds: type) -> Callable[[Any], bool]:
    """Return a function that tests whether a value is a list of values of these types."""
    return lambda value: type(value) is list and {*map(type, value)} <= {*kinds}


def object_of(checks: Mapping[str, Check], needed: Sequence[str] = ()) -> Check:
    """Return the check of a JSON object by the checks of its fields, some of which are required."""
    return lambda name, value: object_fields(name, value, checks, needed)


def object_fields(
    name: str, value: object, checks: Mapping[str, Check], needed: Sequence[str] = ()
) -> Mapping[str, Any]:
    """Return a JSON object after a check of its fields."""
    if not isinstance(value, dict):
        fail(name, value, "is not a JSON object")
    check_fields(f"{name}.", value, checks, needed)
    return value


def is_finite(value: object) -> bool:
    """Whether a value is a number that a float can hold."""
    return (type(value) is int or type(value) is float) and abs(value) <= sys.float_info.max


def is_number(value: object) -> bool:
    """Whether a value is a number that can be printed as one; NaN and infinity can."""
    return type(value) is float or is_finite(value)


count = partial(whole_number, least=0, most=2**63 - 1)
"""The check of a count."""
number = partial(real_number, range="a finite number", fits=lambda _: True)
"""The check of a finite number."""
texts = is_a("a list of texts", list_of(str))
"""The check of a list of texts."""
