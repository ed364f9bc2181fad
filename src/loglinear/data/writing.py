"""Writing of files: whole or not at all, and nothing that is certain to fail."""

from __future__ import annotations

import os

from .. import _core
from ..errors import OptionError

__all__ = ["check_writable", "write_output"]


def write_output(path: str, content: bytes) -> None:
    """Write to a file, which is replaced whole or not at all, or to standard output for `-`.

    Raises:
        OSError: the file cannot be written.
    """
    _core.write_output(path, content)


def check_writable(path: str) -> None:
    """Raise OptionError if a file cannot be written to this place."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return  # a device or a pipe: written to as it is
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        message = f"{path}: its folder does not exist; make it first"
        raise OptionError(message)
    if os.path.isdir(path):
        message = f"{path}: is a folder; give the name of a file"
        raise OptionError(message)
    if not os.access(folder, os.W_OK):
        message = f"{path}: its folder cannot be written to"
        raise OptionError(message)
