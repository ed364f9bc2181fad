"""L-BFGS with a line search for the strong Wolfe conditions.

H is in ``common/history.py``, the line search in ``common/wolfe.py``.

Symbols: H the approximation of the inverse Hessian, v the gradient of the penalised objective, d = -H v the direction,
alpha the step, s and y the pair of a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..options import whole_number
from ..problem import Problem
from ..vectors import Vector
from .common.conditions import no_l1, no_signs
from .common.history import empty_history
from .common.needs import Needs, check
from .common.quasi_newton import (
    MOST,
    Line,
    QuasiNewtonState,
    attempts,
    check_tolerances,
    first_step,
    moved,
    starting_state,
    stuck,
)
from .common.wolfe import strong_wolfe

__all__ = ["LBFGS"]


@dataclass(frozen=True, kw_only=True)
class LBFGS:
    """L-BFGS: limited-memory BFGS for smooth objectives (L2 penalty or none).

    Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 7.5 with 7.4; line search of Algorithms
    3.5 and 3.6 with cubic interpolation (Eq. 3.59), c1 = 1e-4, c2 = 0.9, the first step scaled by 1 / |gradient|.

    Departures:

    - A pair (s, y) without positive curvature is skipped.
    - A trial point whose objective or gradient is not finite counts as +infinity.
    - When a line search reaches its maximum of evaluations, it returns its best point with sufficient decrease.
    - When a line search has no such point, the history is dropped and steepest descent is searched once.
    - Where columns of the data are uneven, far larger or smaller than others, the directions are found in units
      (``common/curvature.py``): as if the columns were scaled, while objective and penalty do not change.

    Cost per step: one or more gradients, and O(memory * n_features).

    Converged when one of these holds (F penalised objective, k the step):

    - (F[k-5] - F[k]) / 5 <= tolerance * |F[k]|, the mean relative decrease over the last 5 steps (k >= 5);
    - violation <= gradient_tolerance * max(1, |w|), and 1e-4 |F| / |w|, the max-norm of the gradient against the
      Euclidean norm of w; in units, the Euclidean norm of the gradient in them <= gradient_tolerance;
    - the line searches fail, and the decrease -d.v that the quasi-Newton direction promised is at most 2.3e-13 |F|,
      which the rounding errors of F can hide.

    Args:
        memory: stored (s, y) pairs, >= 1.
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1; one more may return to its best point.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the penalty has an L1 part.

    Example:
        >>> from loglinear import LBFGS, MaxEnt
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=LBFGS(memory=10)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    memory: int = 6
    tolerance: float = 1e-5
    gradient_tolerance: float = 1e-6
    max_line_search: int = 20

    needs: ClassVar[Needs] = Needs(conditions=(no_l1, no_signs), varied=True)

    def __post_init__(self) -> None:
        whole_number("memory", self.memory, 1, MOST)
        check_tolerances(self.tolerance, self.gradient_tolerance)
        whole_number("max_line_search", self.max_line_search, 1, MOST)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the penalty has an L1 part, or is not one of single weights.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        w = np.array(w0, dtype=np.float64)
        gradient = np.zeros_like(w)
        nll = problem.evaluate(w, gradient)
        return starting_state(self, problem, w, nll, gradient, empty_history(self.memory, problem, w))

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Make one round of the loop of Algorithm 7.5. ``state`` is used up, unless an exception comes out."""
        evaluations, promised = 0, []
        for history in attempts(state.history):
            line = Line(problem, state, history)  # d = -H v, Algorithm 7.4
            search = strong_wolfe(line, first_step(state, history), self.max_line_search)  # w_new = w + alpha d
            evaluations += search.evaluations
            promised.append(search.descent)
            if search.trial is not None:
                return moved(self, problem, state, search.trial, evaluations)  # s and y replace the oldest pair
        return stuck(state, promised[0], evaluations)
