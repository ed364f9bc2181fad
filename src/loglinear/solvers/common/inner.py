"""Solvers within solvers: they are given as objects, and their options also by name, as options of the outer solver."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

from ...errors import OptionError

__all__ = ["inner_solver", "no_more"]

T = TypeVar("T", bound=Any)


def inner_solver(name: str, given: T, kinds: type[Any] | tuple[type[Any], ...], options: dict[str, Any]) -> T:
    """Return the inner solver with its own among the options, which are taken out of ``options``.

    Args:
        name: of the outer solver's argument.
        given: its value, a dataclass.
        kinds: classes that the inner solver may have.
        options: by name, given to the outer solver.

    Raises:
        OptionError: the inner solver is of another kind, or an option is out of its range.
    """
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if not isinstance(given, kinds):
        message = f"{name}={given!r} is not the solver {' or '.join(kind.__name__ for kind in kinds)}"
        raise OptionError(message)
    own = [field.name for field in fields(given) if field.name in options]
    return replace(given, **{option: options.pop(option) for option in own}) if own else given


def no_more(solver: object, options: dict[str, Any]) -> None:
    """Raise TypeError, as Python does, if there are options that neither a solver nor its inner solvers have."""
    for name in options:
        message = f"{type(solver).__name__}.__init__() got an unexpected keyword argument {name!r}"
        raise TypeError(message)
