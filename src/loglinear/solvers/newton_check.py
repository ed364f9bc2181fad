"""A second look at where a minimisation has ended, by Newton steps, where columns of the data are much alike.

On near-copies of columns, or on columns far from 0 without an intercept, the objective is very flat along differences
of columns. Quasi-Newton methods gain little there in many steps in a row and stop as converged, and steps of conjugate
gradients (``loglinear.gain``) do not find much either. Newton steps whose subproblems are solved closely do, unless
the columns are so much alike that the Hessian, made of their products, loses the difference in rounding errors.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from ..gain import OF_START
from ..problem import Problem
from ..protocols import satisfies
from ..result import State, Status
from ..vectors import Vector, count_nonzero
from .common.needs import suits
from .prox_newton import ProxNewton, ProxNewtonState

__all__ = ["FEW_NUMBERS", "MOST_PRODUCTS", "has_alike_columns", "is_confirmed"]

# Columns are much alike if a combination of them varies by at most this share of what they vary themselves ...
ALIKE = 0.1
# ... and too much so for products of columns in double precision if by this share, or if steps solve their equations
# instead of making sweeps, as they do with an L2 penalty alone, by this one.
LOST, LOST_IF_SOLVED = 3e-6, 1e-7
# What the steps gain is too much from this share of the objective on, times what the tolerance is looser than its
# default.
SHARE = 1e-3
# Steps at most, each solved closely: along differences of columns that are much alike, sweeps bring little.
STEPS, PRECISION = 8, 1e-4
# Products of two weights and a sample in a step, at most.
MOST_PRODUCTS = 1e10
# With at most so many products of a weight and a sample data are small: a step takes so little time that one is made in
# any case.
FEW_NUMBERS = 2_000_000


@runtime_checkable
class Correlated(Protocol):
    """An objective that knows how independent the columns of its data are."""

    @property
    def independence(self) -> float:
        """How little a combination of columns varies, as a share of the columns' own; 1 if that is not looked at."""


def has_alike_columns(problem: Problem, share: float = ALIKE) -> bool:
    """Whether some combination of columns varies by at most this share of what the columns vary themselves."""
    return satisfies(problem.objective, Correlated) and problem.objective.independence <= share


def is_confirmed(
    problem: Problem, state: State, w: Vector, objective: float, gap: float | None, looseness: float
) -> bool:
    """Whether a minimisation that its solver calls converged is as good as at its optimum, as far as Newton steps see.

    Args:
        problem: objective and penalty.
        state: the solver's last.
        w: weights at the end, shape (n_features,).
        objective: penalised, at these weights, nats.
        gap: bound of the distance from the optimum, nats; None if unknown.
        looseness: how many times its default the solver's tolerance is.
    """
    little = SHARE * looseness * abs(objective)
    by_newton = isinstance(state, ProxNewtonState)
    if (gap is not None and gap <= little) or not suits(ProxNewton, problem):
        return True
    # With an intercept, columns of about the same size are near 0, and Newton steps are what a second look would take.
    if by_newton and problem.penalty.unpenalised and not problem.is_uneven:
        # Without a penalty, differences of columns that are lost in rounding errors may bring much.
        return bool(problem.penalty.l1 or problem.penalty.l2) or not has_alike_columns(problem, LOST)
    is_large = problem.n_features * problem.objective.n_samples > FEW_NUMBERS
    # Without one, columns far from 0 are much alike; of few rows, their independence does not show that.
    is_far = not (is_large or problem.penalty.unpenalised) and problem.is_uneven
    if (by_newton or is_large) and not is_far and not has_alike_columns(problem):
        return True
    is_solved = problem.penalty.l1 == 0.0 < problem.penalty.l2
    if has_alike_columns(problem, LOST_IF_SOLVED if is_solved else LOST):
        return False
    if problem.objective.n_samples * count_nonzero(w) ** 2 > MOST_PRODUCTS:
        return True
    start = abs(problem.evaluate(np.zeros_like(w), np.empty_like(w)))
    little = max(little, SHARE * looseness * OF_START * start)
    solver = ProxNewton(precision=PRECISION)
    ahead = solver.init(problem, w)
    for _ in range(STEPS):
        if ahead.status is not Status.RUNNING:
            break
        sweeps, ahead = ahead.sweeps, solver.step(problem, ahead)
        if objective - ahead.objective > little:
            return False
        # A last step whose sweeps ran out tells nothing.
        if ahead.status is Status.CONVERGED and ahead.sweeps - sweeps >= solver.max_sweeps:
            return False
    return True
