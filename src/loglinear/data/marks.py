"""Marks of missing values: what people write into a cell that has no value, such as ? and -999."""

from __future__ import annotations

from collections.abc import Iterable

from .number import as_number

__all__ = ["Marks"]


class Marks:
    """Values that mean missing; a value is among them if it is the same text, or the same number in any form.

    Args:
        marks: the values, as such or as texts.

    Example:
        >>> from loglinear.data.marks import Marks
        >>> [value in Marks(["?", 999]) for value in ("?", "999.0", 999, "998")]
        [True, True, True, False]
    """

    def __init__(self, marks: Iterable[object]) -> None:
        marks = list(marks)
        self._texts = {str(mark).strip() for mark in marks}
        self._numbers = {number for mark in marks if (number := as_number(mark)) is not None}

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __contains__(self, value: object) -> bool:
        if str(value).strip() in self._texts:
            return True
        return bool(self._numbers) and as_number(value) in self._numbers
