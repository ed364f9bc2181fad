"""Dataclasses of options, and checks of options: names among choices, truth values, numbers within ranges.

A dataclass of options states each option once: its name, its default, its check and its help text. The parameters of
estimators, the flags of the command line and the settings in model files derive from its fields.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import field, fields
from numbers import Real
from typing import Any

from .errors import OptionError

__all__ = ["check_options", "one_of", "option", "real_number", "truth_types", "truth_value", "whole_number"]


def option(default: Any, help: str, check: Callable[[str, Any], object] | None = None) -> Any:
    """Return a field of a dataclass of options.

    Args:
        default: value of an option that is not given.
        help: description in docstrings; its first clause, up to a semicolon or a full stop, is the help of the flag.
        check: called with the name and the value of the option; raises OptionError.
    """
    return field(default=default, metadata={"help": help, "check": check})


def check_options(options: Any) -> None:
    """Check every field of a dataclass of options.

    Raises:
        OptionError: a value is out of its range.
    """
    for each in fields(options):
        if (check := each.metadata.get("check")) is not None:
            check(each.name, getattr(options, each.name))


def one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise OptionError if the value of an option is none of the choices."""
    if value not in choices:
        message = f"{name}={value!r} is none of {', '.join(choices)}"
        raise OptionError(message)


def truth_types() -> tuple[type, ...]:
    """Return the types of truth values: Python's, and NumPy's, of which no value exists before NumPy is imported."""
    numpy = sys.modules.get("numpy")
    return (bool,) if numpy is None else (bool, numpy.bool_)


def truth_value(name: str, value: Any) -> None:
    """Raise OptionError if the value of an option is not a truth value of Python or NumPy."""
    if not isinstance(value, truth_types()):
        message = f"{name}={value!r} is neither True nor False"
        raise OptionError(message)


def whole_number(name: str, value: Any, least: int, most: int, remedy: str = "") -> int:
    """Return the value of an option, an integer of Python or NumPy, as an int.

    Args:
        name: name of the option.
        value: value of the option.
        least: the smallest that it may be.
        most: the largest that it may be.
        remedy: more advice, for the message.

    Raises:
        OptionError: the value is no integer, or out of its range.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        message = f"{name}={value!r} is not a whole number of at least {least} and at most {most}"
        message += f"; {remedy}" if remedy else ""
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
    number = not isinstance(value, bool) and isinstance(value, Real)
    # Python's integers have no bound: an integer that no float can hold is refused here.
    if not number or not abs(value) <= sys.float_info.max or not fits(float(value)):
        message = f"{name}={value!r} is out of range; give {range}"
        raise OptionError(message)
    return float(value)
