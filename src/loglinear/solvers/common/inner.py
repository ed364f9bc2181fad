"""Solvers within solvers: they are given as objects, and their options also by name, as options of the outer solver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from ...errors import OptionError

if TYPE_CHECKING:
    from typing_extensions import Unpack
else:  # Python 3.10 has none, and only type checkers look at it
    Unpack = dict

__all__ = ["LBFGSOptions", "MixingOptions", "OWLQNOptions", "StagesOptions", "Unpack", "inner_solver", "no_more"]

T = TypeVar("T", bound=Any)


class LBFGSOptions(TypedDict, total=False):
    """Options of L-BFGS, as options of the solver around it."""

    memory: int
    tolerance: float
    gradient_tolerance: float
    max_line_search: int


class OWLQNOptions(LBFGSOptions, total=False):
    """Options of OWL-QN, as options of the solver around it."""

    window: int


class MixingOptions(OWLQNOptions, total=False):
    """Options of passes over parts, and of OWL-QN after them."""

    learning_rate: float
    decay: float
    passes: int
    seed: int


class StagesOptions(OWLQNOptions, total=False):
    """Options of SGD-L1, and of OWL-QN after it."""

    penalty: str
    schedule: str
    learning_rate: float | None
    decay: float
    tail: float
    passes: int
    line_search: bool
    batch_size: int
    seed: int


def inner_solver(name: str, solver: T, kinds: type[T] | tuple[type[T], ...], options: Mapping[str, object]) -> T:
    """Return the inner solver with those of the options that belong to it.

    Args:
        name: of the outer solver's argument.
        solver: the value of the argument; a dataclass, or a solver whose options are not to be given here.
        kinds: classes that the inner solver may have.
        options: options of the outer solver, by name.

    Raises:
        OptionError: the inner solver is of another kind, or an option is out of its range.
    """
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(solver, kinds):
        message = f"{name}={solver!r} is not the solver {' or '.join(kind.__name__ for kind in kinds)}"
        raise OptionError(message)
    inner_options = {name: options[name] for name in _names(solver) if name in options}
    return replace(solver, **inner_options) if inner_options else solver


def no_more(solver: object, options: Mapping[str, object], *inner: T) -> None:
    """Raise TypeError, as Python does, if there are options that neither a solver nor its inner solvers have."""
    names = {name for each in inner for name in _names(each)}
    if name := next((name for name in options if name not in names), None):
        message = f"{type(solver).__name__}.__init__() got an unexpected keyword argument {name!r}"
        raise TypeError(message)


def _names(solver: object) -> list[str]:
    """Return the names of a solver's options, if it is a dataclass."""
    return [field.name for field in fields(solver)] if is_dataclass(solver) else []
