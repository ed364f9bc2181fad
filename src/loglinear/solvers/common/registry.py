"""Names of solvers."""

from __future__ import annotations

from typing import Any

from ...penalty import Penalty

__all__ = ["SOLVERS", "default_solver", "solver_name"]

# Every solver's class by its name; ``solvers/__init__.py`` fills in the rows.
SOLVERS: dict[str, type[Any]] = {}


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
