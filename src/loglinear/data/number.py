"""Cells as numbers: what a value or a text of a table is as a number."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["as_number"]


def as_number(value: object) -> float | None:
    """Return a value as a float; None if it is neither a number nor the text of one.

    A text may have a decimal comma. A text with a leading zero, such as 007, is a code and not a number.
    """
    if isinstance(value, str):
        if re.match(r"\s*[+-]?0\d", value):
            return None
        value = value.replace(",", ".") if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", value) else value
    elif isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return None
    try:
        parsed = float(value)
    except (ValueError, OverflowError):
        return None
    return None if parsed != parsed else parsed  # NAN and -nan are texts: a missing value is not among the values
