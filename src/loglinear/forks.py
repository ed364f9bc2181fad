"""Forks of the process while another thread imports modules.

Methods import some modules when they are first called, and native code computes some values once. The child of a fork
inherits the lock of an import or a computation that another thread had begun, but not the thread that would release it.
So a fork waits until these are finished.
"""

from __future__ import annotations

import _imp
import _thread
import importlib
import os
import sys
import time

__all__ = ["wait_at_forks"]

_PAUSE = 0.001  # seconds
_MOST_PAUSES = 10_000  # for an import that waits for the forking thread itself


def wait_at_forks() -> None:
    """Let every fork of this process, from now on, wait for imports of other threads."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_prepare)


def _prepare() -> None:
    """Wait for imports, and for the values that native code computes once."""
    _wait_for_imports()
    # None before the native module is imported, or if its import has failed.
    prepare = getattr(sys.modules.get(f"{__package__}._core"), "prepare_fork", None)
    if prepare is not None:
        prepare()


def _wait_for_imports() -> None:
    """Wait until no other thread imports a module.

    A thread that itself forks while it imports does not wait, as the imports of other threads may depend on its own.
    """
    for _ in range(_MOST_PAUSES):
        owners = _importers()
        if not owners or _thread.get_ident() in owners:
            return
        time.sleep(_PAUSE)


def _importers() -> set[int | None]:
    """Return the threads that own the lock of a module, and None if a thread is about to take one.

    importlib has no public name for these locks. It creates and deletes them under the lock of `_imp`.
    """
    _imp.acquire_lock()
    try:
        locks = getattr(importlib._bootstrap, "_module_locks", {})
        return {lock.owner for reference in locks.values() if (lock := reference()) is not None}
    finally:
        _imp.release_lock()
