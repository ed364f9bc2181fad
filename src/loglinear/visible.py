"""Names from data and models as text for people: control characters are shown, not obeyed by the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["encodable", "listed", "visible", "visible_name"]

# Python has bytes that are not UTF-8, in the name of a file, as halves of surrogate pairs.
_SURROGATES = re.compile("[\ud800-\udfff]")
# Unicode's control characters, such as the one that begins a command to a terminal.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_CONTROLS |= {0x2028: "\\u2028", 0x2029: "\\u2029"}  # ends of lines and paragraphs
_IN_NAMES = {**_CONTROLS, ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_IN_TEXT = {code: escape for code, escape in _IN_NAMES.items() if code not in (ord("\t"), ord("\n"))}


def visible(text: str) -> str:
    r"""Return a text with control characters escaped, except tabs and ends of lines.

    Example:
        >>> from loglinear.visible import visible
        >>> print(visible("a\x1b[31mb"))
        a\x1b[31mb
    """
    return text if text.isprintable() else text.translate(_IN_TEXT)


def visible_name(name: str) -> str:
    r"""Return a name, of a label for example, with all control characters escaped, so that it stays on one line.

    Example:
        >>> from loglinear.visible import visible_name
        >>> print(visible_name("a\nb"))
        a\nb
    """
    return name if name.isprintable() else name.translate(_IN_NAMES)


def listed(names: Sequence[str], most: int) -> str:
    """Return the first names for a message, with "..." in place of the others.

    Example:
        >>> from loglinear.visible import listed
        >>> listed(["a", "b", "c"], 2), listed(["a", "b"], 2)
        ('a, b, ...', 'a, b')
    """
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])


def encodable(name: str) -> str:
    r"""Return a text with names of files as UTF-8 can hold it; bytes that are not UTF-8 become U+FFFD.

    Example:
        >>> from loglinear.visible import encodable
        >>> encodable("a\udcff.txt")
        'a\ufffd.txt'
    """
    return _SURROGATES.sub("\ufffd", name)
