"""What the machine has to offer: the memory that solvers which need much of it ask for."""

from __future__ import annotations

import math
import os
from pathlib import Path

__all__ = ["memory_of_machine"]


def memory_of_machine() -> float:
    """Bytes of memory that this process may use; infinite where the system does not say."""
    bounds = [math.inf]
    try:
        bounds.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        pass
    try:
        bounds.append(int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    except (OSError, ValueError):
        pass
    return min(bounds)
