"""ItemSequence: the attributes of a sequence's items, read once."""

from __future__ import annotations

from ..._core import ItemSequence as _ItemSequence

__all__ = ["ItemSequence"]


class ItemSequence(_ItemSequence):
    """A sequence of items, prepared: taggers and trainers take it at any place of a sequence, without reading it again.

    An item is one of these; texts are str, or bytes in UTF-8:

    - a collection of names, each an attribute with the value 1; a str is the collection of its characters;
    - a dict. A number or bool is the value of the attribute that the key names; a text makes the attribute
      ``key:text`` with the value 1; a dict, list or set is an item whose names come behind ``key:``.

    Args:
        pyseq: the items.

    Raises:
        TypeError: an item is no collection, a name is no text, a value is no number.
        DataError: a value is not finite, or a text is not valid Unicode.

    Example:
        >>> from loglinear.compat.pycrfsuite import ItemSequence
        >>> items = ItemSequence([["cap", "first"], {"w": "dog", "length": 3, "next": {"w": "barks"}}])
        >>> items
        <ItemSequence of size 2>
        >>> items.items()
        [{'cap': 1.0, 'first': 1.0}, {'w:dog': 1.0, 'length': 3.0, 'next:w:barks': 1.0}]
    """

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"
