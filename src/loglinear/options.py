"""Checks of options: names among their choices, truth values, numbers within their ranges."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import OptionError

__all__ = ["one_of", "real_number", "truth_value", "whole_number"]


def one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise OptionError if the value of an option is none of the choices."""
    if value not in choices:
        message = f"{name}={value!r} is none of {', '.join(choices)}"
        raise OptionError(message)


def truth_value(name: str, value: Any) -> None:
    """Raise OptionError if the value of an option is neither True nor False, NumPy's included."""
    if not isinstance(value, (bool, np.bool_)):
        message = f"{name}={value!r} is neither True nor False"
        raise OptionError(message)


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """The value of an option as an int, NumPy's integers included.

    Raises:
        OptionError: it is none, or out of its range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        message = f"{name}={value!r} is not a whole number of at least {least} and at most {most}"
        raise OptionError(message)
    return number


def real_number(name: str, value: Any, range: str, fits: Callable[[float], bool]) -> float:
    """The value of an option as a float, NumPy's numbers included.

    Args:
        name: of the option.
        value: of the option.
        range: what the message asks for.
        fits: whether a finite number is in the range.

    Raises:
        OptionError: it is no finite number, or out of its range.
    """
    number = not isinstance(value, bool) and isinstance(value, (int, float, np.integer, np.floating))
    # Python's whole numbers know no bound: those beyond a float's are refused here, not where they are used.
    if not number or not abs(value) <= sys.float_info.max or not fits(float(value)):
        message = f"{name}={value!r} is out of range; give {range}"
        raise OptionError(message)
    return float(value)
