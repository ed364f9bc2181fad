"""The file of a checkpoint: JSON text and the arrays that it refers to by number, between a line and a checksum.

Nothing in a file is ever executed. A pickle names functions to call, and a list of harmless ones has to be kept; JSON
and arrays of numbers name only what this module makes itself: containers, numbers, and the dataclasses of solvers'
states, whose constructors are not called. The file contains text and arrays one after the other, in NumPy's format
.npy; the checksum is looked at before them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ... import solvers
from ...errors import DataError, OptionError
from ...replacing import replacing
from ...result import Status
from ...text_file import not_a

__all__ = ["is_checkpoint", "read", "write"]

# The first line of every version's files, with the version behind it.
NAME, VERSION = b"loglinear checkpoint ", b"1\n"
# Bytes of the checksum, the last ones of a file.
SIZE = 32
# Number of bytes that are hashed together.
_PIECE = 1 << 20
# What is wrong with a file that does not begin like a checkpoint.
_FOREIGN = "not a checkpoint"

Arrays = list[npt.NDArray[Any]]


class _Checked:
    """A file open for writing, and the checksum of the bytes written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.blake2b(digest_size=SIZE)

    def write(self, data: bytes) -> int:
        """Write to the file, as NumPy does."""
        self.digest.update(data)
        return self._file.write(data)


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
    text = json.dumps(_encoded(content, arrays, {})).encode()
    with replacing(path) as file:
        checked = _Checked(file)
        checked.write(NAME + VERSION)
        for array in (np.frombuffer(text, np.uint8), *arrays):
            np.lib.format.write_array(checked, array, allow_pickle=False)
        file.write(checked.digest.digest())


def is_checkpoint(path: str) -> bool:
    """Whether a file begins like a checkpoint, of whatever version."""
    with open(path, "rb") as file:
        return file.read(len(NAME)) == NAME


def read(path: str) -> dict[str, Any]:
    """Return what was written to a file.

    Raises:
        DataError: the file is damaged, cut short, or no checkpoint of this version.
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        if amiss := _amiss(file):
            remedy = "give the name of a checkpoint, or delete the file to start again"
            foreign = not_a("checkpoint", path, remedy) if amiss == _FOREIGN else None
            raise DataError(foreign or f"{path}: {amiss}; {remedy}")
        file.seek(len(NAME + VERSION))
        end = os.fstat(file.fileno()).st_size - SIZE
        arrays: Arrays = []
        try:
            while file.tell() < end:
                arrays.append(_array(file, end))
            content = _decoded(json.loads(arrays[0].tobytes()), arrays[1:])
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            MemoryError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            message = f"{path}: not a checkpoint of this version of loglinear ({error}); delete it to start again"
            raise DataError(message) from error
    checked: dict[str, Any] = content
    return checked


def _array(file: BinaryIO, end: int) -> npt.NDArray[Any]:
    """Return the next array of a file, of numbers, which has to end before the checksum.

    Raises:
        ValueError: there is no such array.
    """
    begin = file.tell()
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in "biuf" or math.prod(shape) * dtype.itemsize > end - file.tell() or min(shape, default=0) < 0:
        message = f"an array of {dtype} with shape {shape} is not in the file"
        raise ValueError(message)
    file.seek(begin)
    array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _amiss(file: BinaryIO) -> str:
    """Return what is wrong with a file as a whole; empty if it is intact."""
    line = file.read(len(NAME + VERSION))
    if not line.startswith(NAME):
        return _FOREIGN
    if line != NAME + VERSION:
        return "a checkpoint of another version of loglinear, or damaged"
    digest = hashlib.blake2b(line, digest_size=SIZE)
    left = os.fstat(file.fileno()).st_size - file.tell() - SIZE
    while left > 0 and (piece := file.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    return "" if left == 0 and file.read() == digest.digest() else "the checkpoint is damaged or truncated"


@cache
def _state_classes() -> dict[str, type[Any]]:
    """Return the dataclasses that the modules of solvers define, by name; they describe states."""
    inside = f"{solvers.__name__}."
    modules = [module for name, module in sys.modules.items() if name.startswith(inside)]
    classes = [thing for module in modules for thing in vars(module).values() if isinstance(thing, type)]
    return {f"{kind.__module__.removeprefix(inside)}.{kind.__name__}": kind for kind in classes if is_dataclass(kind)}


def _encoded(value: Any, arrays: Arrays, places: dict[int, int]) -> Any:
    """Return a value as JSON; an object with one key, its kind, represents a type that JSON does not have.

    Args:
        value: the value.
        arrays: arrays met so far; the value's are added.
        places: of the arrays by their identity: an array that occurs twice is written once, and read as one.

    Raises:
        OptionError: the value is of a kind that no state of a solver has.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "biuf":
            message = f"a checkpoint cannot contain an array of type {value.dtype}"
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
        return [_encoded(element, arrays, places) for element in value]
    if type(value) is tuple:
        return {"tuple": [_encoded(element, arrays, places) for element in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: _encoded(element, arrays, places) for key, element in value.items()}}
    for name, kind in _state_classes().items():
        if type(value) is kind:
            state = value.__reduce_ex__(2)[2]  # the state that pickle would store
            return {name: {key: _encoded(element, arrays, places) for key, element in state.items()}}
    message = f"a checkpoint cannot contain a {type(value).__name__}"
    raise OptionError(message)


def _decoded(value: Any, arrays: Arrays) -> Any:
    """Return the value from the JSON that `_encoded` returned.

    Raises:
        ValueError: a state has other attributes than its class, or is of no class of states.
        LookupError, TypeError: the JSON was not made by `_encoded`.
    """
    if isinstance(value, list):
        return [_decoded(element, arrays) for element in value]
    if not isinstance(value, dict):
        return value
    ((name, content),) = value.items()
    if name == "array":
        return arrays[content]
    if name == "number":
        return arrays[content].copy()[()]  # a view of an array that is not a number would share its memory
    if name == "status":
        return Status[content]
    if name == "tuple":
        return tuple(_decoded(element, arrays) for element in content)
    parts = {key: _decoded(element, arrays) for key, element in content.items()}
    return parts if name == "dict" else _state(name, parts)


def _state(name: str, parts: dict[str, Any]) -> Any:
    """Return an object of a class of states, as pickle would make it."""
    kind = _state_classes().get(name)
    if kind is None or {field.name for field in fields(kind)} != parts.keys():
        message = f"{name} with {', '.join(parts)} is not a state of a solver"
        raise ValueError(message)
    state = object.__new__(kind)
    if hasattr(kind, "__setstate__"):
        state.__setstate__(parts)
    else:
        state.__dict__.update(parts)
    return state
