"""The needs of a solver, and the one check of a solver against a problem.

A solver declares ``needs: ClassVar[Needs]``; a solver without the declaration needs an ``Objective`` and a penalty of
single weights. ``check`` is called by ``minimize`` and by every ``init``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ...errors import DataError, OptionError
from ...penalty import Penalty, Separable, varies
from ...problem import PerSample, Problem
from ...protocols import missing, satisfies
from .solver import FOR_RESEARCH, SOLVERS, Choosing, default_solver, solver_name

__all__ = ["Needs", "check", "suits"]

# Returns the fault of a problem, as the end of a sentence that begins with the solver's name; empty if there is none.
Condition = Callable[[Problem], str]


@dataclass(frozen=True)
class Needs:
    """The needs of a solver, in addition to ``Objective``.

    Attributes:
        objective: protocols that the objective has to satisfy.
        uses: protocols of which the solver makes use where the objective satisfies them.
        passes: protocols that ``objective.per_sample()`` has to satisfy.
        penalty: protocol that the penalty has to satisfy.
        varied: whether the penalty may have factors and signs of single weights.
        conditions: further conditions, each of which may rely on the protocols.

    Example:
        >>> from loglinear.solvers import LBFGS, SAG
        >>> [condition.__name__ for condition in LBFGS.needs.conditions]
        ['no_l1', 'no_signs']
        >>> [protocol.__name__ for protocol in SAG.needs.objective]
        ['PerSample']
    """

    objective: tuple[type, ...] = ()
    uses: tuple[type, ...] = ()
    passes: tuple[type, ...] = ()
    penalty: type = Separable
    conditions: tuple[Condition, ...] = ()
    varied: bool = False

    def __or__(self, other: Needs) -> Needs:
        """Return the needs of a solver that is made of two others."""
        return Needs(
            _union(self.objective, other.objective),
            _union(self.uses, other.uses),
            _union(self.passes, other.passes),
            Separable if Separable in (self.penalty, other.penalty) else Penalty,
            _union(self.conditions, other.conditions),
            self.varied and other.varied,
        )

    def unmet(self, problem: Problem) -> str:
        """Return the first need that the problem does not meet, as the end of a sentence; empty if it meets all.

        Cost: for passes, the objective on one sample.
        """
        for protocol in self.objective:
            if missing(problem.objective, protocol):
                return _lacks(protocol)
        if missing(problem.penalty, self.penalty):
            return _lacks(self.penalty, "penalty")
        if varies(problem.penalty) and not self.varied:
            return "does not support penalty_factor and signs"
        unmet = next((fault for condition in self.conditions if (fault := condition(problem))), "")
        return unmet or _unmet_passes(problem.objective, self.passes)


@runtime_checkable
class Declaring(Protocol):
    """A solver that declares its needs."""

    needs: Needs


def check(solver: object, problem: Problem) -> None:
    """Raise OptionError if the solver cannot work on the problem; it names what is missing, and solvers to use."""
    _check_lengths(problem)
    unmet = _needs(solver).unmet(problem)
    if not unmet:
        return
    if _needs(solver).passes and not missing(problem.objective, PerSample):
        _check_one_sample(problem.objective)
    able = [name for name, kind in SOLVERS.items() if not issubclass(kind, Choosing) and suits(kind, problem)]
    others = [name for name in able if name not in FOR_RESEARCH] or able
    first = default_solver(problem.penalty)
    others.sort(key=lambda name: name != first)
    remedy = f"; use {', '.join(others)}, or auto, the default" if others else ""
    message = f"{solver_name(solver)} {unmet}{remedy}"
    raise OptionError(message)


def _check_lengths(problem: Problem) -> None:
    """Raise OptionError unless there are as many factors and signs as penalised weights."""
    penalty = problem.penalty
    if not varies(penalty):
        return
    n_penalised = max(problem.n_features - penalty.unpenalised, 0)
    sizes = {
        "factors": n_penalised if penalty.factors is None else penalty.factors.size,
        "signs": n_penalised if penalty.signs is None else penalty.signs.size,
    }
    for name, size in sizes.items():
        if size != n_penalised:
            message = f"{size} {name} for {n_penalised} penalised weights; give one per weight"
            raise OptionError(message)


def suits(kind: type[Any], problem: Problem) -> bool:
    """Whether the solvers of a class can work on the problem.

    Example:
        >>> from loglinear import ClassifierObjective, ElasticNet, Problem
        >>> from loglinear.solvers import LBFGS, OWLQN, suits
        >>> problem = Problem(ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2), ElasticNet(l1=0.1))
        >>> suits(OWLQN, problem), suits(LBFGS, problem)
        (True, False)
    """
    return not _needs(kind).unmet(problem)


def _needs(solver: object) -> Needs:
    return solver.needs if satisfies(solver, Declaring) else Needs()


def _unmet_passes(objective: object, protocols: tuple[type, ...]) -> str:
    """Return the first protocol that passes over the samples do not satisfy, told by the passes over one sample."""
    if not protocols:
        return ""
    try:
        passes = _passes(cast(PerSample, objective))
    except OptionError as error:
        return f"cannot be used: {str(error).partition(';')[0]}"  # its remedy may not suit the penalty
    return next((_lacks(protocol) for protocol in protocols if missing(passes, protocol)), "")


def _passes(objective: PerSample) -> object:
    """Return the passes over one sample, or over all if the labels of the first one are unknown."""
    try:
        return objective.sample(np.zeros(1, np.int64)).per_sample()
    except DataError:
        return objective.per_sample()


def _check_one_sample(objective: Any) -> None:
    """Raise the objective's own error, with its remedy, if no solver can evaluate its first sample."""
    try:
        sample = objective.sample(np.zeros(1, np.int64))
    except DataError:
        return
    sample.value_and_gradient(np.zeros(sample.n_features))


def _union(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*one, *(need for need in other if need not in one))


def _lacks(protocol: type, thing: str = "objective") -> str:
    what = (protocol.__doc__ or protocol.__name__).partition("\n")[0].rstrip(".")
    return f"needs {what[0].lower()}{what[1:]}, but this {thing} is not one"
