"""The file of a checkpoint: NumPy's .npz, an array of JSON text and the arrays that the text refers to by number.

Nothing in a file is ever executed. A pickle names functions to call, and a list of harmless ones has to be kept; JSON
and arrays of numbers name only what this module makes itself: containers, numbers, and the dataclasses of solvers'
states, whose constructors are not called. The zip archive around the arrays has a checksum for each of them.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .. import solvers
from ..errors import DataError, OptionError
from ..result import Status

__all__ = ["is_checkpoint", "read", "write"]

FORMAT = "loglinear checkpoint 1"
# Name of the array that holds the text.
TEXT = "text"
# What NumPy and zipfile raise where a file is not as they expect.
_DAMAGED = (
    ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, TypeError, ValueError, struct.error,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip

Arrays = list[npt.NDArray[Any]]


def write(path: str, content: dict[str, Any]) -> None:
    """Write a file; it is on disk before it takes the place of an older one, which a failure leaves as it was.

    Args:
        path: the file.
        content: by name None, truth values, numbers, texts, lists, tuples, dicts, arrays, states of solvers.

    Raises:
        OptionError: a value is of another kind.
        OSError: the file cannot be written.
    """
    arrays: Arrays = []
    text = json.dumps([FORMAT, _encoded(content, arrays, {})]).encode()
    named = {str(number): array for number, array in enumerate(arrays)}
    with _replacing(os.path.realpath(path)) as file:
        np.savez(file, **{TEXT: np.frombuffer(text, np.uint8)}, **named)  # type: ignore[arg-type]


def is_checkpoint(path: str) -> bool:
    """Whether a file looks like a checkpoint, whatever its version."""
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{TEXT}.npy" in archive.namelist()
    except _DAMAGED:
        return False


def read(path: str) -> dict[str, Any]:
    """Return what was written to a file.

    Raises:
        DataError: the file is damaged, cut short, or no checkpoint of this version.
        OSError: the file cannot be read.
    """
    remedy = "give the name of a checkpoint, or delete the file to begin anew"
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            message = f"{path}: no checkpoint, or one that was cut short; {remedy}"
            raise DataError(message)
        try:
            with zipfile.ZipFile(file) as archive:
                damaged = archive.testzip()
            if damaged is not None:
                message = f"the checksum of {damaged} is wrong"
                raise ValueError(message)
            file.seek(0)
            with np.load(file, allow_pickle=False) as members:
                form, content = json.loads(members[TEXT].tobytes())
                if form != FORMAT:
                    message = f"its format is {form!r}, not {FORMAT!r}"
                    raise ValueError(message)
                arrays = [members[str(number)] for number in range(len(members.files) - 1)]
            found: dict[str, Any] = _decoded(content, arrays)
        except _DAMAGED as error:
            message = f"{path}: a damaged checkpoint, or one of another version ({error}); {remedy}"
            raise DataError(message) from error
    return found


@contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """Open a temporary file that takes the place of another once the block has ended well."""
    # One name for all attempts: a run that is killed leaves no more than one such file.
    temporary = f"{path}.part"
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename, error.filename2 = path, None
        raise
    if os.name == "posix":  # elsewhere folders cannot be opened
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@cache
def _state_classes() -> dict[str, type[Any]]:
    """Return the dataclasses that the modules of solvers define, by name: states are made of them."""
    inside = f"{solvers.__name__}."
    modules = [module for name, module in sys.modules.items() if name.startswith(inside)]
    found = [thing for module in modules for thing in vars(module).values() if isinstance(thing, type)]
    return {f"{each.__module__.removeprefix(inside)}.{each.__name__}": each for each in found if is_dataclass(each)}


def _encoded(value: Any, arrays: Arrays, places: dict[int, int]) -> Any:
    """Return a value as JSON, in which an object with one key, its kind, stands for all that JSON does not know.

    Args:
        value: the value.
        arrays: arrays met so far; the value's are added.
        places: of the arrays by their identity: an array that occurs twice is written once, and remains one.

    Raises:
        OptionError: the value is of a kind that no state of a solver has.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "biuf":
            message = f"an array of {value.dtype} cannot be kept in a checkpoint"
            raise OptionError(message)
        place = places.setdefault(id(value), len(arrays)) if isinstance(value, np.ndarray) else len(arrays)
        if place == len(arrays):
            arrays.append(np.asarray(value))
        return {"array" if isinstance(value, np.ndarray) else "number": place}
    if isinstance(value, Status):
        return {"status": value.name}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [_encoded(each, arrays, places) for each in value]
    if type(value) is tuple:
        return {"tuple": [_encoded(each, arrays, places) for each in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encoded(each, arrays, places) for key, each in value.items()}}
    for name, kind in _state_classes().items():
        if type(value) is kind:
            state = value.__reduce_ex__(2)[2]  # what pickle would keep of it
            return {name: {key: _encoded(each, arrays, places) for key, each in state.items()}}
    message = f"a {type(value).__name__} cannot be kept in a checkpoint"
    raise OptionError(message)


def _decoded(value: Any, arrays: Arrays) -> Any:
    """Return the value that `_encoded` has made JSON of.

    Raises:
        ValueError: a state has other attributes than its class, or is of no class of states.
        LookupError, TypeError: the JSON was not made by `_encoded`.
    """
    if isinstance(value, list):
        return [_decoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == "array":
        return arrays[content]
    if name == "number":
        return arrays[content][()]
    if name == "status":
        return Status[content]
    if name == "tuple":
        return tuple(_decoded(each, arrays) for each in content)
    parts = {key: _decoded(each, arrays) for key, each in content.items()}
    return parts if name == "dict" else _state(name, parts)


def _state(name: str, parts: dict[str, Any]) -> Any:
    """Return an object of a class of states, as pickle would make it."""
    kind = _state_classes().get(name)
    if kind is None or {each.name for each in fields(kind)} != parts.keys():
        message = f"{name} with {', '.join(parts)} is no state of a solver"
        raise ValueError(message)
    made = object.__new__(kind)
    if hasattr(kind, "__setstate__"):
        made.__setstate__(parts)
    else:
        made.__dict__.update(parts)
    return made
