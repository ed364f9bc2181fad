"""Names from data and models as text for people: characters that a terminal obeys or hides are shown as escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "CONTROLS",
    "HIDDEN",
    "counted",
    "encodable",
    "listed",
    "shortened",
    "visible",
    "visible_json",
    "visible_name",
]

# Python has bytes that are not UTF-8, in the name of a file, as halves of surrogate pairs.
_SURROGATES = re.compile("[\ud800-\udfff]")
# Unicode's control characters, such as the one that begins a command to a terminal, and ends of lines and paragraphs.
CONTROLS = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
# Characters without a shape: marks, embeddings, overrides and isolates that reorder a text, blanks without a width,
# operators, tags. Joiners (U+200C, U+200D) belong to words of Persian and of Indic languages.
_MARKS = (0x061C, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A))
HIDDEN = (*_MARKS, 0xFEFF, *range(0xE0000, 0xE0080))


def _escape(code: int) -> str:
    """Return the escape of a character in Python."""
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_IN_NAMES = {code: _escape(code) for code in (*CONTROLS, *HIDDEN)}
_IN_NAMES |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_IN_TEXT = {code: escape for code, escape in _IN_NAMES.items() if code not in (ord("\t"), ord("\n"))}
# JSON has escapes of 16 bits, two of them for a character beyond.
_IN_JSON = {
    code: "".join(f"\\u{unit:04x}" for unit in memoryview(chr(code).encode("utf-16-le")).cast("H"))
    for code in (*CONTROLS, *HIDDEN)
    if code >= 0x7F
}


def visible(text: str) -> str:
    r"""Return a text with control characters and hidden ones escaped, except tabs and ends of lines.

    Example:
        >>> from loglinear.visible import visible
        >>> print(visible("a\x1b[31mb"))
        a\x1b[31mb
    """
    return text if text.isprintable() else text.translate(_IN_TEXT)


def visible_name(name: str) -> str:
    r"""Return a name, of a label for example, with control and hidden characters escaped; it stays on one line.

    Example:
        >>> from loglinear.visible import visible_name
        >>> print(visible_name("a\nb"))
        a\nb
    """
    return name if name.isprintable() else name.translate(_IN_NAMES)


def counted(n: int, noun: str) -> str:
    """Return a number of things.

    Example:
        >>> from loglinear.visible import counted
        >>> counted(1, "sentence"), counted(1200, "sentence"), counted(2, "class")
        ('1 sentence', '1,200 sentences', '2 classes')
    """
    return f"{n:,} {noun}{'' if n == 1 else 'es' if noun.endswith('s') else 's'}"


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
    r"""Return JSON with escapes for the control and hidden characters in it that JSON need not escape.

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
