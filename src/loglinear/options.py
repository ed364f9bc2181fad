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
    """Raise OptionError if the value of an option is not a truth value of Python or NumPy."""
    if not isinstance(value, (bool, np.bool_)):
        message = f"{name}={value!r} is neither True nor False"
        raise OptionError(message)


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """Return the value of an option, an integer of Python or NumPy, as an int.

    Raises:
        OptionError: the value is no integer, or out of its range.
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
    """Return the value of an option, a number of Python or NumPy, as a float.

    Args:
        name: name of the option.
        value: value of the option.
        range: the range in words, for the message.
        fits: whether a finite number is in the range.

    Raises:
        OptionError: the value is no finite number, or out of its range.
    """
    number = not isinstance(value, bool) and isinstance(value, (int, float, np.integer, np.floating))
    # Python's integers have no bound: an integer that no float can hold is refused here.
    if not number or not abs(value) <= sys.float_info.max or not fits(float(value)):
        message = f"{name}={value!r} is out of range; give {range}"
        raise OptionError(message)
    return float(value)
