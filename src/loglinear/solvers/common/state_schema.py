"""What the states of solvers hold: the annotations of their fields are declarations, which are checked at resumption.

A state comes from a file or from a caller, and has to fit the problem. Its annotations say:

| annotation | holds |
| --- | --- |
| ``Vector`` | finite numbers, shape (n_features,) |
| another ``NDArray`` | an array of this type, shape (n_features,); integers are numbers of features |
| ``int`` | a count, from 0 to 2^63 - 1 |
| ``float``, ``bool``, ``str``, `Status` | a value of this type; a float may be infinite or NaN |
| a dataclass of a solver | the fields that it declares |
| a protocol | an object with its members |
| ``X | Y``, ``tuple[X, ...]`` | one of several; several |
| another class | an object of this class, which is made again after loading |

``Annotated[..., Sizes(...)]`` gives another shape and other bounds, ``Annotated[..., Within(...)]`` another number of
features to a part. Other names than ``n_features`` and ``n_samples`` are sizes of one dataclass: the same name is the
same size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, Union, get_args, get_origin, get_type_hints, runtime_checkable

import numpy as np

from ...errors import OptionError
from ...options import fail, truth_value, whole_number
from ...problem import Problem
from ...protocols import satisfies
from ...result import Status
from ...schema import is_finite
from .solver import Solver

__all__ = ["Sizes", "Within", "check_declared", "check_state"]

_SOLVERS = __name__.rpartition(".common.")[0]
# The types of numbers -> what NumPy calls them.
_KINDS = {np.float64: "f", np.float32: "f", np.uint16: "u", np.uint8: "u", np.bool_: "b"}


@dataclass(frozen=True)
class Sizes:
    """The shape of an array, and the bounds of its values or of integers.

    Attributes:
        shape: a name or a number for each dimension; None for any size.
        below: name of the size that whole numbers stay below; None for counts.
        ascending: whether whole numbers ascend.
        distinct: whether whole numbers differ.
        finite: whether all numbers are finite.
        or_empty: whether the array may be empty instead.
        least: smallest whole number.
        equal: name of the size that a whole number is equal to.
        own: whether steps write to the array, which no other field may hold then.
    """

    shape: tuple[str | int | None, ...] = ("n_features",)
    below: str | None = None
    ascending: bool = False
    distinct: bool = False
    finite: bool = True
    or_empty: bool = False
    least: int = 0
    equal: str | None = None
    own: bool = False


@dataclass(frozen=True)
class Within:
    """A part of a state with a smaller problem.

    Attributes:
        n_features: name of the number of its features; None for any number.
    """

    n_features: str | None = None


@runtime_checkable
class Declared(Protocol):
    """A dataclass whose fields depend on each other."""

    def mistake(self) -> str:
        """Return what contradicts itself; empty if nothing does."""


def check_state(solver: Solver[Any], problem: Problem, state: object) -> None:
    """Raise OptionError if the state of a solver of the library does not fit a problem; names the field."""
    if type(solver).__module__.startswith(f"{_SOLVERS}."):
        declared = get_type_hints(type(solver).init)["return"]
        check_declared("state", state, declared, problem.n_features, int(problem.objective.n_samples))
        _check_owners(state)


def _check_owners(state: object) -> None:
    """Raise OptionError if a part of a state holds the array of a field that steps write to; names both."""
    holders: dict[int, tuple[str, bool]] = {}
    for name, array, own in _arrays("state", state, None):
        other, is_owned = holders.setdefault(id(array), (name, own))
        if other != name and (own or is_owned) and array.size:
            message = f"{name} is the same array as {other}, and steps write to it"
            raise OptionError(message)


def _arrays(name: str, value: object, declared: Any) -> Iterator[tuple[str, np.ndarray[Any, Any], bool]]:
    """Yield the arrays of a value with their names, and whether they belong to one field."""
    kind: Any
    if isinstance(value, np.ndarray):
        how = get_args(declared)[1] if get_origin(declared) is Annotated else None
        yield name, value, isinstance(how, Sizes) and how.own
    elif isinstance(value, tuple):
        for at, part in enumerate(value):
            yield from _arrays(f"{name}[{at}]", part, declared)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _arrays(f"{name}.{key}", part, declared)
    elif _is_of_solvers(kind := type(value)):
        for field, hint in _hints(kind).items():
            yield from _arrays(f"{name}.{field}", attrgetter(field)(value), hint)


def check_declared(name: str, value: object, declared: Any, n_features: int, n_samples: int) -> None:
    """Raise OptionError if a value is not what an annotation declares; names the field.

    Args:
        name: of the value.
        value: to be checked.
        declared: the annotation.
        n_features: of the problem.
        n_samples: of the problem.
    """
    _check(name, value, declared, Sizes(), {"n_features": n_features, "n_samples": n_samples})


def _check(name: str, value: object, declared: Any, sizes: Sizes, lengths: dict[str, int]) -> None:
    origin, arguments = get_origin(declared), get_args(declared)
    if origin is Annotated:
        _check_annotated(name, value, arguments[0], arguments[1], lengths)
    elif origin in (Union, UnionType):
        _check_one_of(name, value, arguments, sizes, lengths)
    elif origin is np.ndarray:
        _check_array(name, value, get_args(arguments[1])[0], sizes, lengths)
    elif origin is dict:
        if type(value) is not dict:
            fail(name, value, "is not a dict")
        for key, part in value.items():
            _check(f"{name}.{key}", part, arguments[1], sizes, lengths)
    elif origin is tuple:
        _check_tuple(name, value, arguments, sizes, lengths)
    elif _is_part(declared):
        _check_parts(name, value, declared, lengths)
    else:
        _check_scalar(name, value, declared, sizes, lengths)


def _check_annotated(name: str, value: object, declared: Any, how: Sizes | Within, lengths: dict[str, int]) -> None:
    if isinstance(how, Sizes):
        _check(name, value, declared, how, lengths)
        return
    inside = {"n_samples": lengths["n_samples"]}
    if how.n_features is not None:
        inside["n_features"] = lengths[how.n_features]
    _check(name, value, declared, Sizes(), inside)


def _check_one_of(name: str, value: object, choices: Sequence[Any], sizes: Sizes, lengths: dict[str, int]) -> None:
    if value is None and NoneType in choices:
        return
    choices = [choice for choice in choices if choice is not NoneType]
    chosen = next((choice for choice in choices if isinstance(choice, type) and type(value) is choice), choices[0])
    _check(name, value, chosen, sizes, lengths)


def _check_parts(name: str, value: object, declared: Any, lengths: Mapping[str, int]) -> None:
    """Check a dataclass, its arrays before its parts, whose sizes may depend on them."""
    if not (satisfies(value, declared) if _is_protocol(declared) else type(value) is declared):
        fail(name, value, f"is not a {declared.__name__}")
    if not _is_of_solvers(type(value)):  # made again after loading
        return
    lengths = {size: number for size, number in lengths.items() if size in ("n_features", "n_samples")}
    kind: Any = type(value)
    hints = _hints(kind)
    for field in sorted(hints, key=lambda field: _is_part(hints[field])):
        _check(f"{name}.{field}", attrgetter(field)(value), hints[field], Sizes(), lengths)
    if satisfies(value, Declared) and (mistake := value.mistake()):
        message = f"{name}: {mistake}"
        raise OptionError(message)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """Return the declarations of the fields of a dataclass by name."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _is_part(declared: Any) -> bool:
    """Whether a declaration is of a dataclass of the solvers or of a protocol, or may be."""
    if get_origin(declared) is Annotated:
        return _is_part(get_args(declared)[0])
    if isinstance(declared, type) and get_origin(declared) is None:
        return _is_of_solvers(declared) or _is_protocol(declared)
    return get_origin(declared) is not np.ndarray and any(map(_is_part, get_args(declared)))


def _is_protocol(declared: type) -> bool:
    """Whether a class is a protocol itself, and not one that has the methods of a protocol."""
    return Protocol in declared.__bases__


def _is_of_solvers(kind: type) -> bool:
    """Whether a class is a dataclass of the modules of solvers, whose fields are declarations."""
    return is_dataclass(kind) and kind.__module__.startswith(f"{_SOLVERS}.")


def _check_array(name: str, value: object, number: type, sizes: Sizes, lengths: dict[str, int]) -> None:
    kind = _KINDS.get(number, "i")
    if not isinstance(value, np.ndarray) or value.dtype.kind != kind or (kind != "i" and value.dtype != number):
        what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        message = f"{name} is {what}, not an array of {np.dtype(number)}"
        raise OptionError(message)
    if sizes.or_empty and not value.size:
        return
    _check_shape(name, value, sizes.shape, lengths)
    if not value.flags.c_contiguous or not value.flags.writeable:
        message = f"{name} is not an array in C order"
        raise OptionError(message)
    if kind == "f" and sizes.finite and not np.isfinite(value).all():
        message = f"{name} has numbers that are not finite"
        raise OptionError(message)
    if kind == "i":
        _check_whole(name, value, sizes, lengths)


def _check_shape(
    name: str, value: np.ndarray[Any, Any], shape: Sequence[str | int | None], lengths: dict[str, int]
) -> None:
    """Check a shape; a size that is not known yet is what it is here."""
    for size, dimension in zip(value.shape, shape, strict=False):
        if isinstance(dimension, str):
            lengths.setdefault(dimension, size)
    wanted = [lengths[size] if isinstance(size, str) and size in lengths else size for size in shape]
    if value.ndim != len(wanted) or any(n not in (None, size) for size, n in zip(value.shape, wanted, strict=True)):
        message = f"{name} has shape {value.shape}, not ({', '.join('any' if n is None else str(n) for n in wanted)})"
        raise OptionError(message)


def _check_whole(name: str, values: np.ndarray[Any, Any], sizes: Sizes, lengths: dict[str, int]) -> None:
    """Check whole numbers: their range, and whether they ascend or differ."""
    most = lengths.get(sizes.below, 2**63) if sizes.below is not None else 2**63
    if values.size and not (sizes.least <= int(values.min()) and int(values.max()) < most):
        message = f"{name} has numbers that are not from {sizes.least} to {most - 1}"
        raise OptionError(message)
    if (sizes.ascending and (np.diff(values) <= 0).any()) or (sizes.distinct and np.unique(values).size < values.size):
        message = f"{name} has a number twice, or in the wrong place"
        raise OptionError(message)


def _check_tuple(name: str, value: object, declared: Sequence[Any], sizes: Sizes, lengths: dict[str, int]) -> None:
    if not isinstance(value, tuple):
        fail(name, value, "is not a tuple")
    repeated = len(declared) == 2 and declared[1] is ...
    kinds = [declared[0]] * len(value) if repeated else declared
    if len(kinds) != len(value):
        fail(name, value, f"does not have {len(kinds)} entries")
    for at, (each, kind) in enumerate(zip(value, kinds, strict=True)):
        _check(f"{name}[{at}]", each, kind, sizes, lengths)
    if repeated and declared[0] is int and sizes.distinct and len({*value}) < len(value):
        fail(name, value, "has a number twice")


def _check_scalar(name: str, value: object, declared: Any, sizes: Sizes, lengths: dict[str, int]) -> None:
    if declared is int:
        most = lengths[sizes.below] - 1 if sizes.below is not None else 2**63 - 1
        if partial(whole_number, least=sizes.least, most=most)(name, value) != lengths.get(sizes.equal or "", value):
            fail(name, value, f"is not {lengths[sizes.equal or '']}")
    elif declared is float:
        if not isinstance(value, (float, np.floating)) and not is_finite(value):
            fail(name, value, "is not a number")
    elif declared is bool:
        truth_value(name, value)
    elif declared is str or declared is Status:
        if not isinstance(value, declared):
            fail(name, value, f"is not a {declared.__name__}")
    elif isinstance(declared, type) and not isinstance(value, declared):
        fail(name, value, "is not to be saved")
