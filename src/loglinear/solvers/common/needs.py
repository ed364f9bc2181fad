"""The needs of a solver, the registry of the solvers, and the one check of a solver against a problem.

A solver declares ``needs: ClassVar[Needs]``; a solver without the declaration needs an ``Objective`` and a penalty of
single weights. ``check`` is called by ``minimize`` and by every ``init``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from ...errors import OptionError
from ...penalty import Penalty, Separable
from ...problem import PerSample, Problem, TwoClasses, missing
from ...result import State
from ...vectors import Vector

__all__ = [
    "SOLVERS",
    "EndedByPasses",
    "Measuring",
    "Needs",
    "Solver",
    "Tolerant",
    "check",
    "convex",
    "default_solver",
    "intercept_alone_is_spared",
    "is_solver",
    "no_l1",
    "prunable",
    "solver_name",
    "suits",
    "two_classes",
    "with_l1",
    "with_l2",
    "without_intercept",
]

S = TypeVar("S", bound=State)
# Returns the fault of a problem, as the end of a sentence that begins with the solver's name; empty if there is none.
Condition = Callable[[Problem], str]

# Missing names that a message lists.
MOST_NAMES = 3
# Every solver's class by its name; ``solvers/__init__.py`` fills in the rows.
SOLVERS: dict[str, type[Any]] = {}


class Solver(Protocol[S]):
    """A method of minimisation.

    A solver never loops to convergence, prints, counts time or touches files. It may declare ``needs``, a ``Needs``.

    Example:
        >>> from loglinear.solvers import OWLQN, Solver, is_solver
        >>> solver: Solver = OWLQN()
        >>> is_solver(solver)
        True
    """

    def init(self, problem: Problem, w0: Vector) -> S:
        """Return the state at w0, which is copied.

        Raises:
            OptionError: the solver cannot work on the problem; see ``check``.
        """

    def step(self, problem: Problem, state: S) -> S:
        """Return the state after one iteration of a batch method, or one pass of a stochastic one.

        The arrays of ``state`` may be recycled, but only once the step is complete: an exception, Ctrl-C included,
        leaves ``state`` as it was, or further on but whole.
        """


@runtime_checkable
class Measuring(Protocol):
    """A solver whose steps do without objective, NLL and violation.

    Example:
        >>> from loglinear.solvers import OWLQN, SAG, Measuring
        >>> isinstance(SAG(), Measuring), isinstance(OWLQN(), Measuring)
        (True, False)
    """

    def measure(self, problem: Problem, state: Any) -> Any:
        """Return the state with objective, nll and violation; called for the trace, and its time is not counted."""


@runtime_checkable
class Tolerant(Protocol):
    """A solver that has converged when the mean relative decrease of the objective is below its tolerance.

    Example:
        >>> from loglinear.solvers import OWLQN, SGDL1, Tolerant
        >>> isinstance(OWLQN(), Tolerant), isinstance(SGDL1(), Tolerant)
        (True, False)
    """

    tolerance: float


@runtime_checkable
class EndedByPasses(Protocol):
    """A solver that ends after a number of passes over the data.

    Example:
        >>> from loglinear.solvers import OWLQN, SGDL1, EndedByPasses
        >>> isinstance(SGDL1(), EndedByPasses), isinstance(OWLQN(), EndedByPasses)
        (True, False)
    """

    passes: int


@dataclass(frozen=True)
class Needs:
    """The needs of a solver, beside ``Objective``.

    Attributes:
        objective: protocols of ``problem.py`` that the objective has to satisfy.
        uses: protocols of which the solver makes use where the objective satisfies them.
        passes: protocols that ``objective.per_sample()`` has to satisfy.
        penalty: protocol that the penalty has to satisfy.
        conditions: further conditions, each of which may rely on the protocols.

    Example:
        >>> from loglinear.solvers import LBFGS, SAG
        >>> [condition.__name__ for condition in LBFGS.needs.conditions]
        ['no_l1']
        >>> [protocol.__name__ for protocol in SAG.needs.objective]
        ['PerSample']
    """

    objective: tuple[type, ...] = ()
    uses: tuple[type, ...] = ()
    passes: tuple[type, ...] = ()
    penalty: type = Separable
    conditions: tuple[Condition, ...] = ()

    def __or__(self, other: Needs) -> Needs:
        """Return the needs of a solver that is made of two others."""
        return Needs(
            _union(self.objective, other.objective),
            _union(self.uses, other.uses),
            _union(self.passes, other.passes),
            Separable if Separable in (self.penalty, other.penalty) else Penalty,
            _union(self.conditions, other.conditions),
        )

    def unmet(self, problem: Problem, *, passes: bool = True) -> str:
        """Return the first need that the problem does not meet, as the end of a sentence; empty if it meets all.

        Args:
            problem: to be looked at.
            passes: whether to look at ``objective.per_sample()``, which may have to be made first.
        """
        things: list[tuple[object, type]] = [(problem.objective, protocol) for protocol in self.objective]
        for thing, protocol in (*things, (problem.penalty, self.penalty)):
            if lacking := missing(thing, protocol):
                return _sentence(thing, protocol, lacking)
        if amiss := next((amiss for condition in self.conditions if (amiss := condition(problem))), ""):
            return amiss
        if passes and self.passes:
            made = cast(PerSample, problem.objective).per_sample()
            for protocol in self.passes:
                if lacking := missing(made, protocol):
                    return _sentence(made, protocol, lacking)
        return ""


def check(solver: object, problem: Problem) -> None:
    """Raise OptionError if the solver cannot work on the problem; it names what is missing, and solvers that can."""
    amiss = _needs(solver).unmet(problem)
    if not amiss:
        return
    others = [
        name
        for name, kind in SOLVERS.items()
        if kind is not type(solver) and name != "auto" and not _needs(kind).unmet(problem, passes=False)
    ]
    first = default_solver(problem.penalty)
    others.sort(key=lambda name: name != first)
    remedy = f"; use {', '.join(others)}" if others else ""
    message = f"{solver_name(solver)} {amiss}{remedy}"
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


def is_solver(thing: object) -> bool:
    """Whether an object has the methods of ``Solver``.

    Example:
        >>> from loglinear.solvers import OWLQN, is_solver
        >>> is_solver(OWLQN()), is_solver("owlqn")
        (True, False)
    """
    return not missing(thing, Solver)


def solver_name(solver: object) -> str:
    """Return the name of a solver in SOLVERS, or the name of its class in small letters.

    Example:
        >>> from loglinear.solvers import SAG, solver_name
        >>> solver_name(SAG(saga=True))
        'sag'
    """
    return next((name for name, kind in SOLVERS.items() if type(solver) is kind), type(solver).__name__.lower())


def default_solver(penalty: Penalty) -> str:
    """Return the name of the solver to use when none is asked for: owlqn with L1, lbfgs without.

    Example:
        >>> from loglinear import ElasticNet
        >>> from loglinear.solvers import default_solver
        >>> default_solver(ElasticNet(l1=1.0)), default_solver(ElasticNet(l2=1.0))
        ('owlqn', 'lbfgs')
    """
    return "owlqn" if penalty.l1 > 0.0 else "lbfgs"


def no_l1(problem: Problem) -> str:
    """The penalty has no L1 part."""
    return f"cannot minimise an L1 penalty (l1={problem.penalty.l1:g})" if problem.penalty.l1 else ""


def with_l1(problem: Problem) -> str:
    """The penalty has an L1 part."""
    return "" if problem.penalty.l1 else "selects weights by an L1 penalty, and l1=0: give an l1 > 0"


def with_l2(problem: Problem) -> str:
    """The penalty has an L2 part."""
    return "" if problem.penalty.l2 else "divides by the strength of the L2 penalty, and l2=0: give an l2 > 0"


def intercept_alone_is_spared(problem: Problem) -> str:
    """The weights without penalty are the weights of the objective's intercept."""
    spared, intercept = problem.penalty.unpenalised, cast(PerSample, problem.objective).n_unpenalised
    if spared == intercept:
        return ""
    return f"can spare the {intercept} weights of the intercept only, and unpenalised={spared}"


def convex(problem: Problem) -> str:
    """The objective does not state that it is not convex."""
    if problem.is_convex is not False:
        return ""
    return "needs a convex objective, and partial labels or approximate inference make this one not convex"


def prunable(problem: Problem) -> str:
    """The labels of the objective can be pruned."""
    if getattr(problem.objective, "is_prunable", False):
        return ""
    return "cannot prune labels under attributes of bigrams"


def two_classes(problem: Problem) -> str:
    """The classifier has two classes."""
    outputs = cast(TwoClasses, problem.objective).n_outputs
    return "" if outputs == 1 else f"is for two classes, or one against the rest, and there are {outputs}"


def without_intercept(problem: Problem) -> str:
    """The classifier has no intercept."""
    intercept = cast(TwoClasses, problem.objective).intercept
    return "knows no intercept without penalty: give fit_intercept=False" if intercept else ""


def _needs(solver: Any) -> Needs:
    needs: Needs = getattr(solver, "needs", Needs())
    return needs


def _union(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*one, *(each for each in other if each not in one))


def _sentence(thing: object, protocol: type, lacking: list[str]) -> str:
    what = (protocol.__doc__ or protocol.__name__).partition("\n")[0].rstrip(".")
    names = ", ".join(lacking[:MOST_NAMES])
    if len(lacking) > MOST_NAMES:
        names += f" and {len(lacking) - MOST_NAMES} more names of {protocol.__name__}"
    return f"needs {what[0].lower()}{what[1:]}, and {type(thing).__name__} has no {names}"
