"""Seconds that tests wait for other processes: multiples of what a process takes to start, on this machine and now."""

from __future__ import annotations

import functools
import subprocess
import sys
import time

__all__ = ["patience"]

# Seconds that a start takes on an idle machine.
_USUAL = 0.3


@functools.cache
def _slowness() -> float:
    """Return how many times as long as usual a process takes to start."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import loglinear.cli.main, numpy"], check=True)
    return max(1.0, (time.perf_counter() - began) / _USUAL)


def patience(seconds: float) -> float:
    """Return the seconds to wait for what takes at most this many on an idle machine."""
    return seconds * _slowness()
