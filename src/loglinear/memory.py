"""What the command line does when memory runs out."""

from . import _core

__all__ = ["REMEDY", "end_when_exhausted"]

# What to do where memory does not suffice.
REMEDY = _core.MEMORY_REMEDY


def end_when_exhausted() -> None:
    """Let native allocations that fail end the process with a message and exit code 1, from now on.

    Otherwise a failed allocation is a MemoryError where a large table was asked for, and ends the process with SIGABRT
    elsewhere.
    """
    _core.end_when_exhausted()
