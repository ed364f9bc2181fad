"""The width of text on a terminal: East Asian characters take two columns, combining ones none.

Source: Unicode Standard Annex 11, East Asian Width.
"""

from __future__ import annotations

__all__ = ["display_width", "padded", "without_middle"]


def display_width(text: str) -> int:
    r"""Return the number of columns that a text without control characters takes.

    Example:
        >>> from loglinear.display_width import display_width
        >>> display_width("Peking"), display_width("北京"), display_width("e\u0301")
        (6, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def padded(text: str, width: int, *, right: bool = False) -> str:
    """Return a text filled up with blanks to a width, at its end or, with `right`, at its beginning."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks


def without_middle(text: str, width: int) -> str:
    """Return a text of at most this width, at least 1: what is too long has "…" in the middle.

    Example:
        >>> from loglinear.display_width import without_middle
        >>> without_middle("B-ORGANISATION", 9), without_middle("B-LOC", 9)
        ('B-OR…TION', 'B-LOC')
    """
    if display_width(text) <= width:
        return text
    start, end = "", ""
    for character in text:
        if display_width(start + character) > (width - 1) // 2:
            break
        start += character
    for character in reversed(text):
        if display_width(character + end) > width - 1 - display_width(start):
            break
        end = character + end
    while end and not display_width(end[0]):  # a mark that belongs to a character before it
        end = end[1:]
    return f"{start}…{end}"


def _width(character: str) -> int:
    import unicodedata  # here: most text is ASCII

    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
