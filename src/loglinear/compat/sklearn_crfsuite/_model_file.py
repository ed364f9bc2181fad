"""The file of an estimator's model: one of the caller's, or a temporary one that goes with the estimator."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["ModelFile"]


class ModelFile:
    """A model's file. Without a name it is a temporary file, removed with the object, whose content a pickle holds.

    Args:
        filename: the caller's file, which is never removed; None for a temporary file.
        keep_tempfiles: whether temporary files stay.

    Attributes:
        name: the file's name; None while there is no temporary file.
    """

    def __init__(self, filename: str | None = None, keep_tempfiles: bool = False) -> None:
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles

    def ensure_name(self) -> str:
        """Return the name of the file; make a temporary one unless there is a file."""
        if self.name is None:
            number, self.name = tempfile.mkstemp(prefix="model", suffix=".crfsuite")
            os.close(number)
        return self.name

    def cleanup(self) -> None:
        """Remove the temporary file, if there is one."""
        if self.auto and not self.keep_tempfiles and self.name is not None:
            with suppress(OSError):
                os.unlink(self.name)
            self.name = None

    def refresh(self) -> None:
        """Make a new temporary file in place of the old one; a caller's file stays."""
        self.cleanup()
        self.ensure_name()

    def __del__(self) -> None:
        with suppress(Exception):
            self.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self.auto:
            state["name"] = None
            with suppress(OSError):
                state["content"] = None if self.name is None else Path(self.name).read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        content = state.pop("content", None)
        self.__dict__.update(state)
        if content is not None:
            Path(self.ensure_name()).write_bytes(content)
