"""The processor: the instruction set that native code uses."""

from __future__ import annotations

from . import _core

__all__ = ["instruction_set", "limit_instruction_set"]


def instruction_set() -> str:
    """Return the name of the instruction set in use: AVX-512, AVX2 and FMA, NEON, or baseline."""
    return _core.instruction_set()


def limit_instruction_set(name: str) -> None:
    """Leave out instruction sets above the named one from now on, to have the results of another processor.

    AVX2 and AVX-512 give the same bits; the baseline and NEON agree with them up to rounding.

    Args:
        name: AVX-512, AVX2 and FMA, NEON, or baseline; what the processor lacks stays unused.

    Raises:
        OptionError: an unknown name.
    """
    _core.limit_instruction_set(name)
