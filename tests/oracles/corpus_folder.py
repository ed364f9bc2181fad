"""Corpora on disk taken apart and put together again with another content; see `native/src/corpus/folder`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from oracles.model_file import checksum

TYPES = {"u64": np.uint64, "u32": np.uint32, "u8": np.uint8, "f64": np.float64}


@dataclass
class CorpusFolder:
    """The content of a folder.

    Attributes:
        summary: what corpus.json has.
        arrays: by the names of their files.
    """

    summary: dict[str, object]
    arrays: dict[str, npt.NDArray[np.generic]]

    @classmethod
    def of(cls, path: Path) -> CorpusFolder:
        text = (path / "corpus.json").read_text()
        arrays = {file.name: np.fromfile(file, TYPES[file.suffix[1:]]) for file in path.glob("*.[uf]*")}
        return cls(json.loads(text[: text.rindex("\n", 0, -1)]), arrays)

    def changed(self, file: str, array: npt.NDArray[np.generic]) -> CorpusFolder:
        """The content with another array, with its length and checksum; an array has no bytes or more than 240."""
        content = array.astype(self.arrays[file].dtype).tobytes()
        stored = {"file": file, "bytes": len(content), "xxh3": [_hex(content)] if content else []}
        name = next(name for name, entry in self.summary["arrays"].items() if entry["file"] == file)
        summary = self.summary | {"arrays": self.summary["arrays"] | {name: stored}}
        return CorpusFolder(summary, self.arrays | {file: array.astype(self.arrays[file].dtype)})

    def write(self, path: Path, text: str | bytes | None = None) -> None:
        """Write the folder.

        Args:
            path: the folder.
            text: what to write in place of the summary as JSON.
        """
        path.mkdir(exist_ok=True)
        for file, array in self.arrays.items():
            array.tofile(path / file)
        text = json.dumps(self.summary, indent=1) if text is None else text
        content = (text if isinstance(text, bytes) else text.encode()).ljust(241) + b"\n"
        (path / "corpus.json").write_bytes(content + _hex(content).encode() + b"\n")


def _hex(content: bytes) -> str:
    return f"{int.from_bytes(checksum(content), 'little'):016x}"
