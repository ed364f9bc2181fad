"""Names from data and models as text for people: control characters are shown, not obeyed by the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["CONTROLS", "encodable", "listed", "shortened", "visible", "visible_json", "visible_name"]

# Python has bytes that are not UTF-8, in the name of a file, as halves of surrogate pairs.
_SURROGATES = re.compile("[\ud800-\udfff]")
# Unicode's control characters, such as the one that begins a command to a terminal, and ends of lines and paragraphs.
CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
_IN_NAMES = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in CONTROLS}
_IN_NAMES |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_IN_TEXT = {code: escape for code, escape in _IN_NAMES.items() if code not in (ord("\t"), ord("\n"))}
_IN_JSON = {code: f"\\u{code:04x}" for code in CONTROLS if code >= 0x7F}


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


def shortened(text: str, most: int = 40) -> str:
    """Return a text with … in place of what exceeds ``most`` characters.

    Example:
        >>> from loglinear.visible import shortened
        >>> shortened("a long text", 6)
        'a lon…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def visible_json(text: str) -> str:
    r"""Return JSON with escapes for the control characters in it that JSON need not escape.

    Example:
        >>> from loglinear.visible import visible_json
        >>> print(visible_json('["a\x85b"]'))
        ["a\u0085b"]
    """
    return text if text.isprintable() else text.translate(_IN_JSON)


def encodable(name: str) -> str:
    r"""Return a text with names of files as UTF-8 can hold it; bytes that are not UTF-8 become U+FFFD.

    Example:
        >>> from loglinear.visible import encodable
        >>> encodable("a\udcff.txt")
        'a\ufffd.txt'
    """
    return _SURROGATES.sub("\ufffd", name)
