"""Writing of files, whole or not at all, and a check before the work that a file can be written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from .. import _core
from ..errors import OptionError

__all__ = ["check_labels", "check_writable", "write_output", "write_text"]


def write_output(path: str, content: bytes) -> None:
    """Write a file, whole or not at all, or standard output for `-`.

    Raises:
        OSError: the file cannot be written.
    """
    _core.write_output(path, content)


def write_text(path: str, content: bytes) -> None:
    """Write a text like `write_output`, compressed if the name of the file ends in .gz, .xz, .bz2 or .zst.

    Equal content gives equal bytes.

    Raises:
        OSError: the file cannot be written.
    """
    _core.write_text(path, content)


def check_labels(
    labels: Sequence[str],
    remedy: str,
    *,
    place: Literal["quotes", "line", "text", "blanks"] = "line",
    what: str = "the model's label",
) -> None:
    """Raise DataError if a text cannot hold a label so that it is read again as it is.

    Args:
        labels: to write.
        remedy: what to do, for the message.
        place: where labels are written: in cells with quotes, as in CSV; between tabs; one on a line, or before a tab
            and a text; between blanks.
        what: what the message calls a label.
    """
    _core.check_labels(labels, place, what, remedy)


def check_writable(path: str) -> None:
    """Raise OptionError if a file with this name cannot be written."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return  # a device or a pipe: written to as it is
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        message = f"{path}: its folder does not exist; create it first"
        raise OptionError(message)
    if os.path.isdir(path):
        message = f"{path}: a folder, not a file; give the name of a file"
        raise OptionError(message)
    if not os.access(folder, os.W_OK):
        message = f"{path}: the folder is not writable; choose another one"
        raise OptionError(message)
