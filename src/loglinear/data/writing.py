"""Writing of files, whole or not at all, and a check before the work that a file can be written."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from .. import _core
from ..errors import OptionError

__all__ = ["check_labels", "check_writable", "is_named_pipe", "read_by_another", "write_output", "write_text"]

# Seconds between two looks at a pipe.
_PERIOD = 0.05


def write_output(path: str, content: bytes) -> None:
    """Write a file, whole or not at all, or standard output for `-`.

    Raises:
        OSError: the file cannot be written.
    """
    with read_by_another(path):
        _core.write_output(path, content)


def write_text(path: str, content: bytes) -> None:
    """Write a text like `write_output`, compressed if the name of the file ends in .gz, .xz, .bz2 or .zst.

    Equal content gives equal bytes.

    Raises:
        OSError: the file cannot be written.
    """
    with read_by_another(path):
        _core.write_text(path, content)


@contextmanager
def read_by_another(path: str) -> Iterator[None]:
    """A block that begins once a named pipe has a reader, at once for another file.

    Opening a pipe to write waits for a reader. Here a signal ends the wait; in native code it could not.

    Args:
        path: of the file that the block writes; `-` is standard output.
    """
    descriptor: int | None = None
    while descriptor is None and is_named_pipe(path):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(_PERIOD)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def is_named_pipe(path: str) -> bool:
    """Whether a path is a named pipe. A pipe that is already open, such as /dev/stdout, has no name here."""
    try:
        is_pipe = stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False
    return is_pipe and not os.path.realpath(path).startswith(("/proc/", "/dev/"))


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
