"""Bins: ranges of numbers as the states of a variable."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.number import as_number
from ..vectors import Vector

__all__ = ["bin_edges", "bin_labels", "bins_of", "is_error", "numbers", "strays"]

# Share of the values that rounded edges may put into another bin than exact quantiles do.
_MOVED = 0.01
# Most texts among numbers that are taken for marks of missing values.
_STRAYS = 3


def numbers(values: Iterable[Any]) -> Vector | None:
    """Return values as floats, None unless all are numbers or texts of numbers."""
    parsed = [as_number(value) for value in values]
    return None if None in parsed else np.array(parsed, dtype=np.float64)


def strays(values: Iterable[Any]) -> list[str]:
    """Return the texts among values that are numbers otherwise, if they are few: marks of missing values, as a rule."""
    distinct = list(values)
    texts = [value for value in distinct if as_number(value) is None]
    if len(texts) > _STRAYS or 2 * len(texts) >= len(distinct):
        return []
    plain = [
        value for value in texts if isinstance(value, str) and (is_error(value) or not any(map(str.isdigit, value)))
    ]
    return plain if len(plain) == len(texts) else []


def is_error(text: str) -> bool:
    """Whether a text is what a spreadsheet writes for a cell that it cannot compute, such as #DIV/0! and Err:502."""
    return re.fullmatch(r"\s*(#[A-Z][A-Z0-9/_]*[!?]|#N/?A|#{3,}|Err:\d{3})\s*", text) is not None


def bin_edges(values: Vector, bins: int) -> Vector:
    """Return the edges between at most ``n`` bins of about equally many values, ascending.

    An edge belongs to the bin above it. The edges are quantiles, rounded to as few digits as keep nearly all values in
    their bins. Quantiles that coincide, because a value is frequent, give fewer bins.

    Args:
        values: numbers, at least two different ones.
        bins: number of bins, at least 2.
    """
    quantiles = np.quantile(values, np.arange(1, bins) / bins, method="higher")
    exact = np.unique(quantiles[quantiles > values.min()])
    if not exact.size:  # the smallest value is so frequent that it gets its own bin
        return np.array([values[values > values.min()].min()])
    place = bins_of(values, exact)
    for digits in range(2, 17):
        rounded = np.array([float(f"{edge:.{digits}g}") for edge in exact.tolist()])
        moved = (bins_of(values, rounded) != place).mean()
        if moved <= _MOVED and np.unique(bins_of(values, rounded)).size == exact.size + 1:
            return rounded
    return exact


def bins_of(values: Vector, edges: Vector) -> npt.NDArray[np.int64]:
    """Return the number of each value's bin, from 0."""
    return np.asarray(np.searchsorted(edges, values, side="right"), dtype=np.int64)


def bin_labels(edges: Vector) -> npt.NDArray[np.str_]:
    """Return the names of all bins, such as `< 1.2`, `[1.2, 3.4)`, `>= 3.4`."""
    texts = [repr(edge).removesuffix(".0") for edge in edges.tolist()]
    inner = [f"[{low}, {high})" for low, high in pairwise(texts)]
    return np.array([f"< {texts[0]}", *inner, f">= {texts[-1]}"])
