"""Checkpoints taken apart and put together again with another content: the format of `models/files/checkpoint.py`."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from loglinear.models.files.checkpoint import NAME, SIZE, VERSION


@dataclass
class CheckpointFile:
    """The content of a file.

    Attributes:
        content: JSON, which refers to the arrays by number.
        arrays: of states.
    """

    content: Any
    arrays: list[npt.NDArray[Any]]

    @classmethod
    def of_bytes(cls, data: bytes) -> CheckpointFile:
        file = io.BytesIO(data[len(NAME + VERSION) : -SIZE])
        arrays = []
        while file.tell() < len(file.getvalue()):
            arrays.append(np.lib.format.read_array(file))
        return cls(json.loads(arrays[0].tobytes()), arrays[1:])

    def to_bytes(self) -> bytes:
        file = io.BytesIO()
        text = np.frombuffer(json.dumps(self.content).encode(), np.uint8)
        for array in (text, *self.arrays):
            np.lib.format.write_array(file, array)
        return sealed(file.getvalue())


def sealed(body: bytes) -> bytes:
    """A file with a right checksum."""
    content = NAME + VERSION + body
    return content + hashlib.blake2b(content, digest_size=SIZE).digest()
