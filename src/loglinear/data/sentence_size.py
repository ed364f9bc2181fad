"""The largest sentence that this process reads from a file."""

from __future__ import annotations

from .. import _core
from ..options import whole_number

__all__ = ["MAX_SENTENCE", "set_max_sentence"]

# The most MiB of text of a sentence, unless `set_max_sentence` says otherwise.
MAX_SENTENCE = _core.MAX_SENTENCE


def set_max_sentence(mib: int = MAX_SENTENCE) -> None:
    """Set the size of the largest sentence that this process reads from a file, in MiB of text.

    A compressed file of some kilobytes can contain a sentence of gigabytes. Reading ends with a DataError before it
    uses much more memory than this limit.

    Args:
        mib: size of the text, at least 1.

    Raises:
        OptionError: the size is out of range.
    """
    _core.set_max_sentence(whole_number("max_sentence", mib, 1, 2**40))
