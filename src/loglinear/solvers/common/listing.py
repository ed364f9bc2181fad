"""The options of a solver, read from its class: signature, annotations, and the Args section of the docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any

__all__ = ["SolverOption", "option_names", "solver_options", "summary"]

# Annotations of options that can be given on the command line; solvers and functions cannot.
_PLAIN = {"bool", "float", "int", "str", "None"}
# What `_options` has read.
_OPTIONS: dict[type[Any], tuple[SolverOption, ...]] = {}


@dataclass(frozen=True)
class SolverOption:
    """An option of a solver, which `solver_options` of estimators and `-p` on the command line take.

    Attributes:
        name: of the option.
        type: its annotation, such as "int | None".
        default: its value if it is not given.
        meaning: its description in the docstring.
        inner: name of the class of the inner solver that has the option; None if the solver itself has it.

    Example:
        >>> from loglinear.solvers import OWLQN, solver_options
        >>> solver_options(OWLQN)[0].meaning
        'stored (s, y) pairs, >= 1; each takes 4 bytes a feature.'
    """

    name: str
    type: str
    default: object
    meaning: str
    inner: str | None = None


def solver_options(kind: type[Any]) -> list[SolverOption]:
    """Return the options of a solver's class, the options of its inner solvers included.

    Example:
        >>> from loglinear.solvers import OWLQN, solver_options
        >>> for option in solver_options(OWLQN):
        ...     print(option.name, option.type, option.default)
        memory int 20
        tolerance float 1e-05
        gradient_tolerance float 1e-06
        max_line_search int 20
        window int 6
    """
    return [*_options(kind)]


def option_names(kind: type[Any]) -> list[str]:
    """Return the names of the options of a solver's class, the options of its inner solvers included.

    Example:
        >>> from loglinear.solvers import ParameterMixing, option_names
        >>> option_names(ParameterMixing)[-4:]
        ['tolerance', 'gradient_tolerance', 'max_line_search', 'window']
    """
    return [option.name for option in _options(kind)]


def _options(kind: type[Any]) -> tuple[SolverOption, ...]:
    """Return the options of a class, which are read once."""
    if kind not in _OPTIONS:
        _OPTIONS[kind] = tuple(_read(kind))
    return _OPTIONS[kind]


def _read(kind: type[Any]) -> list[SolverOption]:
    meanings = _meanings(kind)
    listed: list[SolverOption] = []
    for parameter in _parameters(kind):
        inner = parameter.default
        if is_dataclass(inner):
            # The inner solver's defaults are the defaults of this one, not of its class.
            of_inner, values = type(inner), vars(inner)
            listed += [
                SolverOption(option.name, option.type, values[option.name], option.meaning, of_inner.__name__)
                for option in _options(of_inner)
            ]
        elif set(str(parameter.annotation).split(" | ")) <= _PLAIN:
            meaning = meanings.get(parameter.name, "")
            listed.append(SolverOption(parameter.name, str(parameter.annotation), inner, meaning))
    return listed


def summary(kind: type[Any]) -> str:
    """Return the first line of the docstring of a solver's class.

    Example:
        >>> from loglinear.solvers import LBFGS, summary
        >>> summary(LBFGS)
        'L-BFGS: limited-memory BFGS for smooth objectives (L2 penalty or none).'
    """
    return (kind.__doc__ or "").partition("\n")[0]


def _parameters(kind: type[Any]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a class, and the others of its bases as long as options are passed on as `**options`."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if base is object or "__init__" not in vars(base):
            continue
        parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
        named = [parameter for parameter in parameters if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
        yield from (parameter for parameter in named if parameter.name not in seen)
        seen |= {parameter.name for parameter in named}
        if len(named) == len(parameters):
            return


def _meanings(kind: type[Any]) -> dict[str, str]:
    """Return what the Args sections of a class and of its bases say, by name; the class goes first."""
    meanings: dict[str, str] = {}
    for base in kind.__mro__:
        section = re.search(r"\n\nArgs:\n(.*?)(?:\n\n|\Z)", inspect.cleandoc(base.__doc__ or ""), re.DOTALL)
        for name, text in re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", section[1] if section else "", re.MULTILINE):
            meanings.setdefault(name, " ".join(text.split()))
    return meanings
