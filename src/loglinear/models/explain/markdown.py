"""Text from models as Markdown (CommonMark, with the tables of GitHub), in which none of its characters is markup."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...visible import visible, visible_name

__all__ = ["code", "code_block", "plain", "table"]

# What could be markup or an address; an underscore inside a word is neither.
_MARKUP = re.compile(r"[\\`*\[\]<>|~&$@#]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_TICKS = re.compile(r"`+")


def plain(text: str) -> str:
    r"""Return a text of one line with escapes where its characters could be markup or an address.

    Example:
        >>> from loglinear.models.explain.markdown import plain
        >>> print(plain("<b> *label_sets*"))
        \<b\> \*label_sets\*
    """
    return _MARKUP.sub(r"\\\g<0>", text)


def code(name: str) -> str:
    """Return a name, such as a label, as code.

    Example:
        >>> from loglinear.models.explain.markdown import code
        >>> code("B-PER"), code("a`b")
        ('`B-PER`', '``a`b``')
    """
    name = visible_name(name)
    if not name.strip():
        return f'"{name}"'
    ticks = _fence(name, 1)
    pad = " " if name[0] in "` " or name[-1] in "` " else ""
    return f"{ticks}{pad}{name}{pad}{ticks}"


def code_block(text: str, language: str = "") -> str:
    """Return lines as a block of code, whatever is in them."""
    ticks = _fence(text, 3)
    return f"{ticks}{language}\n{visible(text).rstrip()}\n{ticks}"


def table(first: str, second: str, rows: Mapping[str, object]) -> str:
    """Return a table with two columns, whose heads are given."""
    cells = [(plain(visible_name(name)), plain(visible_name(str(value)))) for name, value in rows.items()]
    return "\n".join(f"| {name} | {value} |" for name, value in [(first, second), ("---", "---"), *cells])


def _fence(text: str, least: int) -> str:
    """Return more backticks than the text has in a row."""
    return "`" * max(least, 1 + max(map(len, _TICKS.findall(text)), default=0))
