"""Dataclasses of options, and checks of options: names among choices, truth values, numbers within ranges.

A dataclass of options states each option once: its name, its default, its check and its help text. The parameters of
estimators, the flags of the command line and the settings in model files derive from its fields.

The module is loaded to label text, which needs no dataclasses: they cost some milliseconds.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn, SupportsFloat, SupportsIndex, TypeGuard, TypeVar

from .errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:  # Python 3.10 has none, and only type checkers look at it

    def dataclass_transform(**_):
        return lambda kind: kind


__all__ = [
    "COSTS",
    "MOST_COST",
    "USEFUL",
    "Check",
    "Options",
    "check_class_weight",
    "check_costs",
    "check_label_bias",
    "checks_of",
    "digits_of",
    "fail",
    "limit",
    "mapping",
    "one_of",
    "option",
    "option_class",
    "optional",
    "real_number",
    "seed_number",
    "similar",
    "strength",
    "text",
    "thread_limit",
    "truth_types",
    "truth_value",
    "whole_number",
]

T = TypeVar("T")
# Numbers below 2**63 have no more digits.
_MOST_DIGITS = 18
Check = Callable[[str, object], object]
"""Called with the name and the value of an option; raises OptionError."""

USEFUL = 0.1
"""Bound of the distance from the optimum, as a share of the objective, that still says something; with l1 alone a bound
is far above the distance."""

# Number of characters of a value that a message shows.
_SHOWN = 200
# What `checks_of` has returned, by class.
_CHECKS: dict[type, Mapping[str, Check]] = {}


def option(*, default: T, help: str, check: Check | None = None, choices: Sequence[str] = ()) -> T:
    """Return a field of a class of options.

    Args:
        default: value of an option that is not given.
        help: description in docstrings; its first clause, up to a semicolon or a full stop, is the help of the flag.
        check: called with the name and the value of the option; raises OptionError.
        choices: values of an option that is a name; they make the check if there is none, and shells complete them.
    """
    from dataclasses import field

    if choices and check is None:
        check = partial(one_of, choices=choices)
        check = optional(check) if default is None else check
    return field(default=default, metadata={"help": help, "check": check, "choices": tuple(choices)})


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(option,))
class Options:
    """Base of the classes of options, and so of the estimators, which have the fields of several of them.

    Editors and type checkers read constructors and attributes from the fields. An object of a class of options has
    passed the checks of its fields.

    Raises:
        OptionError: a value is out of its range.
    """

    def __post_init__(self) -> None:
        for name, check in checks_of(self).items():
            check(name, getattr(self, name))


def option_class(kind: type[T]) -> type[T]:
    """Decorate a class of options: its values are compared by their fields and cannot be changed."""
    from dataclasses import dataclass

    return dataclass(frozen=True, kw_only=True)(kind)


def checks_of(options: Any) -> Mapping[str, Check]:
    """Return the checks of a dataclass of options, or of an object of one, by the names of the fields."""
    kind = options if isinstance(options, type) else type(options)
    if kind not in _CHECKS:
        from dataclasses import fields

        checks = {option_field.name: option_field.metadata.get("check") for option_field in fields(kind)}
        _CHECKS[kind] = {name: check for name, check in checks.items() if check is not None}
    return _CHECKS[kind]


def fail(name: str, value: object, problem: str) -> NoReturn:
    """Raise OptionError: an option has a value, which may be large, with a problem."""
    text = repr(value)
    message = f"{name}={text if len(text) <= _SHOWN else f'{text[: _SHOWN - 3]}...'} {problem}"
    raise OptionError(message)


def optional(check: Check) -> Check:
    """Return the check of an option that may also be None."""
    return lambda name, value: None if value is None else check(name, value)


def one_of(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise OptionError if the value of an option is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        fail(name, value, f"is not one of {', '.join(choices)}{similar(str(value), choices)}")


def similar(word: str, choices: Iterable[str]) -> str:
    """Return the choice that an unknown word may stand for, as the end of a message; empty if none is similar.

    Example:
        >>> from loglinear.options import similar
        >>> similar("trian", ["train", "tag"]), similar("xyz", ["train", "tag"])
        (' (did you mean train?)', '')
    """
    from difflib import get_close_matches

    spelt = {choice.lower(): choice for choice in choices}
    close = get_close_matches(word.lower(), spelt, n=1)
    return f" (did you mean {spelt[close[0]]}?)" if close else ""


def text(name: str, value: object) -> None:
    """Raise OptionError if the value of an option is not a str."""
    if not isinstance(value, str):
        fail(name, value, "is not a string")


def mapping(name: str, value: object) -> None:
    """Raise OptionError if the value of an option is not a mapping."""
    if not isinstance(value, Mapping):
        fail(name, value, "is not a mapping of names to values")


def keywords(name: str, value: object) -> None:
    """Raise OptionError if the value of an option is not a mapping of names, which are strings."""
    mapping(name, value)
    for key in value if isinstance(value, Mapping) else ():
        if not isinstance(key, str):
            fail(name, value, f"has the name {key!r}, which is not a string")


def truth_types() -> tuple[type, ...]:
    """Return the types of truth values: Python's, and NumPy's, of which no value exists before NumPy is imported."""
    numpy = sys.modules.get("numpy")
    return (bool,) if numpy is None else (bool, numpy.bool_)


def truth_value(name: str, value: object) -> None:
    """Raise OptionError if the value of an option is not a truth value of Python or NumPy."""
    if not isinstance(value, truth_types()):
        fail(name, value, "is neither True nor False")


def digits_of(text: str) -> int | None:
    """Return the number that ASCII digits write; None for another text, and for more digits than a place in data has.

    `int` takes digits of all scripts, underscores and blanks, and raises ValueError beyond 4,300 digits.

    Example:
        >>> from loglinear.options import digits_of
        >>> digits_of("12"), digits_of("1_2"), digits_of("9" * 5000)
        (12, None, None)
    """
    return int(text) if len(text) <= _MOST_DIGITS and text.isascii() and text.isdecimal() else None


def whole_number(name: str, value: object, least: int, most: int, remedy: str = "") -> int:
    """Return the value of an option, an integer of Python or NumPy, as an int.

    Args:
        name: name of the option.
        value: value of the option.
        least: the smallest that it may be.
        most: the largest that it may be.
        remedy: more advice, for the message.

    Raises:
        OptionError: the value is not an integer, or out of range.
    """
    try:
        number = operator.index(value) if isinstance(value, (int, SupportsIndex)) else least - 1
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        advice = f"; {remedy}" if remedy else ""
        range = f"of at least {least}" if most >= 10**6 >= number else f"from {least} to {most}"
        fail(name, value, f"is not a whole number {range}{advice}")
    return number


def thread_limit(threads: object) -> int:
    """Return a number of threads, 0 for all cores; OptionError if it is something else."""
    return whole_number("threads", threads, 0, 2**16, remedy="0 is all cores")


def seed_number(name: str, value: object) -> int:
    """Return the seed of random numbers, an integer of 64 bits; OptionError if it is something else."""
    return whole_number(name, value, 0, 2**64 - 1)


def real_number(name: str, value: object, range: str, fits: Callable[[float], bool]) -> float:
    """Return the value of an option, a number of Python or NumPy, as a float.

    Args:
        name: name of the option.
        value: value of the option.
        range: the range in words, for the message.
        fits: whether a finite number is in the range.

    Raises:
        OptionError: the value is not a finite number, or out of range.
    """
    try:
        number = float(value) if _is_number(value) else math.nan
    except OverflowError:  # an integer of Python that no float can hold
        number = math.nan
    if not math.isfinite(number) or not fits(number):
        fail(name, value, f"is out of range; give {range}")
    return number


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool)


def strength(name: str, value: object) -> float:
    """Return the strength of a penalty as a float.

    Raises:
        OptionError: it is not a finite number >= 0.
    """
    number = -1.0
    # The protocols come last, because asking for them takes ten times as long.
    if isinstance(value, (float, int, SupportsFloat, SupportsIndex)) and not isinstance(value, truth_types()):
        with suppress(TypeError, ValueError, OverflowError):
            number = float(value)
    if not 0.0 <= number <= sys.float_info.max:
        fail(name, value, "is not a valid penalty; give a finite number >= 0 (0 for no penalty)")
    return number


def limit(name: str, value: object, most: float | None = None, *, whole: bool = False) -> None:
    """Raise OptionError if the value of an option is neither None, for no limit, nor a number >= 0.

    Args:
        name: name of the option.
        value: value of the option.
        most: the largest share of the objective that it may be, if it is one.
        whole: whether it must be a whole number, which may have type float.
    """
    if value is None:
        return
    if not _is_number(value) or not value >= 0:
        fail(name, value, "is not a valid limit; give a number >= 0, or None for no limit")
    if whole and value != int(min(value, 2**62)):
        fail(name, value, "is not a whole number; give a whole number, or None for no limit")
    if most is not None and value > most:
        fail(name, value, f"is out of range; give a share of the objective from 0 to {most}, such as 0.001")


def check_class_weight(name: str, value: object) -> None:
    """Raise OptionError if a value is neither None, "balanced" nor a mapping of classes to weights >= 0."""
    if isinstance(value, Mapping):
        for label, weight in value.items():
            real_number(f"{name}[{label!r}]", weight, "a finite number >= 0", lambda x: x >= 0.0)
    elif value is not None and not (isinstance(value, str) and value == "balanced"):
        fail(name, value, "is neither None, 'balanced' nor a dict of classes and their weights")


MOST_COST = 1e6
"""The largest cost of a wrong label, in nats: no margin comes near it, and sums over many tokens stay exact enough."""
COSTS = f"a number from 0 to {MOST_COST:g}"
"""The range of costs in words."""


def check_costs(name: str, value: object) -> None:
    """Raise OptionError if a value is neither None, "balanced" nor a mapping of labels to costs of wrong labels."""
    check_class_weight(name, value)
    if isinstance(value, Mapping):
        for label, cost in value.items():
            real_number(f"{name}[{label!r}]", cost, COSTS, lambda x: x <= MOST_COST)


# The largest bias of a label, in nats: sums of a long sentence's scores stay finite and exact enough.
_MOST_BIAS = 1e6


def check_label_bias(name: str, value: object) -> None:
    """Raise OptionError if a value is neither None nor a mapping of labels to numbers of a size that scores have."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        fail(name, value, "is neither None nor a dict of labels and numbers, such as {'O': -0.5}")
    for label, bias in value.items():
        real_number(f"{name}[{label!r}]", bias, "a number from -1e6 to 1e6", lambda x: abs(x) <= _MOST_BIAS)
