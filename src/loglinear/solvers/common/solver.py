"""Solvers by name, and their protocols: what every solver has, and what only some have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from ...penalty import Penalty, has_kinks
from ...problem import Problem
from ...protocols import missing
from ...result import State
from ...vectors import Vector

__all__ = [
    "FOR_RESEARCH",
    "SOLVERS",
    "Choice",
    "Choosing",
    "EndedByPasses",
    "Measuring",
    "Solver",
    "Tolerant",
    "default_solver",
    "is_solver",
    "looseness",
    "solver_name",
]

S = TypeVar("S", bound=State)
# Every solver's class by its name; ``solvers/__init__.py`` fills in the rows.
SOLVERS: dict[str, type[Any]] = {}
# The solvers among them that reproduce papers, for comparison.
FOR_RESEARCH: dict[str, type[Any]] = {}


class Solver(Protocol[S]):
    """A method of minimisation.

    A solver never loops to convergence, prints, measures time or uses files. It may declare ``needs``, a ``Needs``.

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
    """A solver whose steps do not compute objective, NLL and violation.

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
class Choice:
    """The solver that ``auto`` chose for a problem.

    Attributes:
        solver: the solver.
        name: its name.
        why: the reason, a clause.

    Example:
        >>> from loglinear import ClassifierObjective, ElasticNet, Problem
        >>> from loglinear.solvers import Auto
        >>> problem = Problem(ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2), ElasticNet(l2=1.0))
        >>> print(Auto().choice(problem))
        lbfgs (the objective is smooth)
    """

    solver: Solver[Any] = field(repr=False)
    name: str
    why: str

    def __str__(self) -> str:
        """Return name and reason."""
        return f"{self.name} ({self.why})"


@runtime_checkable
class Choosing(Protocol):
    """A solver that chooses another one for each problem.

    Example:
        >>> from loglinear.solvers import OWLQN, Auto, Choosing
        >>> isinstance(Auto(), Choosing), isinstance(OWLQN(), Choosing)
        (True, False)
    """

    def choice(self, problem: Problem) -> Choice:
        """Return the solver for a problem, and why."""


def is_solver(thing: object) -> bool:
    """Whether an object has the methods of ``Solver``.

    Example:
        >>> from loglinear.solvers import OWLQN, is_solver
        >>> is_solver(OWLQN()), is_solver("owlqn"), is_solver(OWLQN)
        (True, False, False)
    """
    return not isinstance(thing, type) and not missing(thing, Solver)


def solver_name(solver: object) -> str:
    """Return the name of a solver in SOLVERS, or the name of its class in small letters.

    Example:
        >>> from loglinear.solvers import SAG, solver_name
        >>> solver_name(SAG(saga=True))
        'sag'
    """
    return next((name for name, kind in SOLVERS.items() if type(solver) is kind), type(solver).__name__.lower())


def looseness(solver: object, problem: Problem) -> float:
    """Return how many times the default the tolerance of a solver is, at least 1.

    Example:
        >>> from loglinear import OWLQN, ClassifierObjective, Problem
        >>> from loglinear.solvers.common.solver import looseness
        >>> problem = Problem(ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2))
        >>> looseness(OWLQN(), problem), looseness(OWLQN(tolerance=1e-3), problem)
        (1.0, 100.0)
    """
    if isinstance(solver, Choosing):
        if not isinstance(solver, Tolerant) or solver.tolerance is None:
            return 1.0
        solver = solver.choice(problem).solver
    default = SOLVERS.get(solver_name(solver))
    if default is None or not isinstance(solver, Tolerant):
        return 1.0
    return max(1.0, float(solver.tolerance / default().tolerance))


def default_solver(penalty: Penalty) -> str:
    """Return the name of the solver to use by default: owlqn with L1 or signs, lbfgs without.

    Example:
        >>> from loglinear import ElasticNet
        >>> from loglinear.solvers import default_solver
        >>> default_solver(ElasticNet(l1=1.0)), default_solver(ElasticNet(l2=1.0))
        ('owlqn', 'lbfgs')
    """
    return "owlqn" if has_kinks(penalty) else "lbfgs"
