"""The terms of a training, which determine its weights, and what has changed between two of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

from ...solvers import is_solver, solver_class, solver_options
from ...version import __version__
from ..files.settings import plain

__all__ = ["Terms", "changes", "is_terms", "of_solver"]

# The longest text of an option's value in a message.
_LONGEST = 60


@dataclass(frozen=True)
class Terms:
    """What determines the weights of a training; two runs with the same terms are parts of one training.

    Attributes:
        options: by name.
        solver: its name.
        solver_options: by name.
        data: fingerprints by name, see `loglinear.data.fingerprint`; None for what is missing.
    """

    options: Mapping[str, Any]
    solver: str
    solver_options: Mapping[str, Any]
    data: Mapping[str, Mapping[str, Any] | None]

    def as_json(self) -> Any:
        """Return the terms as JSON gives them back, with the version of the library among the options."""
        options = {"loglinear": __version__, **self.options}
        return json.loads(json.dumps([options, self.solver, self.solver_options, self.data], default=plain))


def of_solver(solver: object) -> dict[str, object]:
    """Return the options of a solver by name; an option of an inner solver has the names of both, with a dot between.

    Example:
        >>> from loglinear.models.training.terms import of_solver
        >>> from loglinear.solvers import OWLQN, TwoStage
        >>> of_solver(OWLQN(memory=5))["memory"], of_solver(TwoStage(memory=7))["second.memory"]
        (5, 7)
    """
    options: dict[str, object] = {}
    for name, value in vars(solver).items():
        inner = of_solver(value) if is_dataclass(value) or is_solver(value) else None
        options |= (
            {name: value} if inner is None else {f"{name}.{inner_name}": option for inner_name, option in inner.items()}
        )
    return options


def is_terms(value: Any) -> bool:
    """Whether the decoded JSON value is a valid list of terms."""
    if type(value) is not list or [*map(type, value)] != [dict, str, dict, dict]:
        return False
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    fingerprints = [fingerprint for fingerprint in value[3].values() if fingerprint is not None]
    return all(
        type(fingerprint) is dict
        and len(fingerprint) > 1
        and all(type(fingerprint[name]) is int for name in fingerprint if name != "checksum")
        for fingerprint in fingerprints
    )


def changes(before: Any, now: Any) -> list[str]:
    """Return what has changed, a clause for each change, between two terms as JSON."""
    (old, old_solver, old_its, old_data), (new, new_solver, new_its, new_data) = before, now
    clauses = _changed_options(old, new)
    if old_solver != new_solver:
        clauses.append(f"solver changed from {old_solver} to {new_solver}")
    else:
        clauses += _changed_options(_with_later_options(new_solver, old_its, new_its), new_its)
    names = [name for name in {**new_data, **old_data} if old_data.get(name) != new_data.get(name)]
    return clauses + [f"the {name} have changed ({_sizes(old_data.get(name), new_data.get(name))})" for name in names]


def _with_later_options(solver: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Return a solver's earlier options, plus the defaults of options added to the library since.

    The default of such an option is the earlier behaviour. An inner solver's option has its name after a dot.
    """
    defaults = {solver_option.name: solver_option.default for solver_option in solver_options(solver_class(solver))}
    names = {name: name.rpartition(".")[2] for name in new if name not in old}
    return {**old, **{name: defaults[option] for name, option in names.items() if option in defaults}}


def _changed_options(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    names = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    return [f"{name} changed from {_shown(old.get(name))} to {_shown(new.get(name))}" for name in names]


def _shown(value: object) -> str:
    text = str(value).removesuffix(".0")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _sizes(old: dict[str, Any] | None, new: dict[str, Any] | None) -> str:
    """Return the first size in which two fingerprints differ, before and now."""
    if old is not None and new is not None and old.keys() != new.keys():
        return "another kind of data"
    either = new or old or {}
    names = [name for name in either if name != "checksum"]
    name = next(
        (size_name for size_name in names if (old or {}).get(size_name) != (new or {}).get(size_name)), names[0]
    )
    if old is None or new is None:
        size = f"{either[name]:,} {name}"
        return f"none in the checkpoint, {size} now" if old is None else f"{size} in the checkpoint, none now"
    if old[name] == new[name]:
        return f"{old[name]:,} {name} as before, different content"
    return f"{old[name]:,} {name} in the checkpoint, {new[name]:,} now"
