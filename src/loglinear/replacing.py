"""Files that are replaced as a whole: a temporary file takes the place of the old one once it is on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["replacing"]


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file whose content takes the place of another's once the block has ended well.

    If the block fails, the other file is as it was. The temporary file has the name of the file plus .part, in all
    runs: the next run that writes the same file uses what a killed one has left. Runs that write the same file at
    the same time wait for each other.

    Args:
        path: the file to replace, or to make; a link stays a link.

    Raises:
        OSError: the file cannot be written; names the file, not the temporary one.
    """
    place = os.path.realpath(path)
    temporary = f"{place}.part"
    try:
        with _opened_alone(temporary) as file:
            try:
                try:
                    file.truncate(0)
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                finally:
                    if fcntl is None:  # an open file can be neither renamed nor deleted there
                        file.close()
                os.replace(temporary, place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
        if os.name == "posix":  # elsewhere folders cannot be opened
            folder = os.open(os.path.dirname(place), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from error


def _opened_alone(temporary: str) -> BinaryIO:
    """Open a file that no other run has open, where files can be locked."""
    while True:
        file = open(temporary, "ab")
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        if fcntl is None or _is_at(file, temporary):
            return file
        # The run that had it locked has given it the other file's name.
        file.close()


def _is_at(file: BinaryIO, path: str) -> bool:
    """Whether an open file is the one at a path."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
