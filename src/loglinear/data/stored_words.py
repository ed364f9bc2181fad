"""The words of encoded sentences, as far as their attributes tell them: a corpus does not keep its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .. import _core

__all__ = ["has_words", "stored_words"]

# The line of a template whose attribute is the token's first column, and nothing else.
_WORD = re.compile(r"^([^#\n]*:)%x\[0,\s*0\][ \t\r]*$", re.MULTILINE)


def has_words(template: str | None) -> bool:
    """Whether the attributes that a template forms tell the first column of every token."""
    line = None if template is None else _WORD.search(template)
    return line is not None and sum(other.startswith(line[1]) for other in (template or "").splitlines()) == 1


def stored_words(core: _core.Corpus, template: str | None) -> list[list[str]]:
    """Return what stands for each token: its first column, if a template has made an attribute of it alone.

    Otherwise it is the first attribute of the token, and empty if it does not have one.
    """
    import numpy as np

    ends, ids, _ = core.rows()
    names = core.names()
    starts = np.append(0, ends)[:-1]
    words = [names[column] for column in ids[np.minimum(starts, max(len(ids) - 1, 0))].tolist()] if len(ids) else []
    words = [
        word if start < end else "" for word, start, end in zip(words, starts.tolist(), ends.tolist(), strict=True)
    ]
    line = None if template is None else _WORD.search(template)
    if line is not None:
        prefix = line[1]
        columns = [column for column in np.unique(ids).tolist() if names[column].startswith(prefix)]
        places = np.flatnonzero(np.isin(ids, columns))
        tokens = np.searchsorted(ends, places, side="right")
        for token, column in zip(tokens.tolist(), ids[places].tolist(), strict=True):
            words[token] = names[column].removeprefix(prefix)
    rest = iter(words)
    return [[next(rest, "") for _ in range(length)] for length in core.lengths()]
