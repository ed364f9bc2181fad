"""Names that look the same or nearly so: probably one name that is written in two ways.

This module imports nothing that labelling text can do without.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

__all__ = ["by_case", "legible", "lookalikes", "visible"]

# Hyphens and dashes, and letters of other scripts that look like the Latin ones below.
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
_GREEK = "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
_CYRILLIC = (
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425"
    "\u0405\u0406\u0408\u0430\u0435\u043e\u0440\u0441\u0445\u0456"
)
_SAME = str.maketrans(_DASHES + _GREEK + _CYRILLIC, "-" * 6 + "ABEZHIKMNOPTYX" + "ABEKMHOPCTXSIJaeopcxi")


def legible(name: str) -> str:
    """Return a name with escapes in place of characters that cannot be seen."""
    return name if name.isprintable() else ascii(name)[1:-1]


def lookalikes(names: Iterable[str], others: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return pairs of different names that differ only by characters that cannot be seen or look like others.

    Args:
        names: the first names of the pairs.
        others: the second names; by default also `names`.
    """
    if others is not None:
        likeness = {_plain(other): other for other in others}
        pairs = ((name, likeness.get(_plain(name), name)) for name in names)
        return [(name, other) for name, other in pairs if name != other]
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_plain(name), []).append(name)
    return [pair for group in groups.values() for pair in combinations(group, 2)]


def by_case(names: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of names of several letters that differ only in case, in the order of the names."""
    groups: dict[str, list[str]] = {}
    for name in names:
        if len(name) > 2:
            groups.setdefault(name.casefold(), []).append(name)
    return [pair for group in groups.values() for pair in combinations(group, 2)]


def visible(text: str) -> str:
    """Return a text in one form of its characters (NFKC), without those that cannot be seen."""
    if text.isascii():
        return text
    import unicodedata

    return "".join(
        character for character in unicodedata.normalize("NFKC", text) if unicodedata.category(character) != "Cf"
    )


def _plain(name: str) -> str:
    """Return what a reader sees of a name."""
    return visible(name).translate(_SAME).strip()
