"""How many cases of a law are tried by day, and how many by night: cells of a table, and examples of Hypothesis."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

__all__ = ["NIGHT", "by_day", "examples"]

T = TypeVar("T")

NIGHT = 100
"""Examples of a law without settings of its own, under the profile `night`."""

_FEWEST = 4


def examples(night: int, **options: Any) -> settings:
    """Return the settings of a law: `night` tries this many examples of it, another profile its share of them."""
    share = settings.default.max_examples / NIGHT
    return settings(max_examples=max(min(night, _FEWEST), round(night * share)), **options)


def by_day(cells: Iterable[T], chosen: Callable[[T], bool]) -> list[Any]:
    """Return the cells of a table as parameters of a test; those that are not chosen are marked `slow`."""
    marks = {True: (), False: (pytest.mark.slow,)}
    return [pytest.param(*(cell if isinstance(cell, tuple) else (cell,)), marks=marks[chosen(cell)]) for cell in cells]
