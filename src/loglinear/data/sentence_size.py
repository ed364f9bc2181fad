"""The largest sentence that this process reads from a file."""

from __future__ import annotations

from .. import _core
from ..errors import DataError
from ..options import whole_number

__all__ = ["MAX_SENTENCE", "check_size", "set_max_sentence"]

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


def check_size(name: str, n_bytes: int, lines_before: int) -> None:
    """Raise DataError if text that belongs to one sentence or one line of a file is too large.

    Args:
        name: of the file.
        n_bytes: size of the text so far.
        lines_before: number of lines of the file before the text.
    """
    most = _core.max_sentence()
    if n_bytes > most << 20:
        message = f"{name}, line {lines_before + 1}: the text that begins here has more than {most} MiB without an end "
        message += "of line or sentence; check the file, or raise the limit with set_max_sentence in Python "
        message += "(--max-sentence where a command has it)"
        raise DataError(message)
