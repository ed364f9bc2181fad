"""Keys of JSON lines that nothing reads, although they look like those that are read."""

from __future__ import annotations

from itertools import islice

from ..options import similar
from .lines import is_rereadable, read_lines

__all__ = ["odd_keys"]

# What the native half reads of a sentence.
KEYS = ("tokens", "labels", "weight", "token_weights")
# First lines that are looked at.
_LINES = 100


def odd_keys(path: str) -> list[str]:
    """Return a message about each key in the first lines of a file of JSON lines that is nearly one of those read.

    Args:
        path: the file; standard input and pipes cannot be read again.
    """
    import json

    if not is_rereadable(path):
        return []
    keys: dict[str, None] = {}
    for line in islice(read_lines(path), _LINES):
        if line.strip():
            keys |= dict.fromkeys(json.loads(line))
    hints = {key: similar(key, KEYS) for key in keys if key not in KEYS}
    return [f"the key {key!r} is not read{hint}" for key, hint in hints.items() if hint]
