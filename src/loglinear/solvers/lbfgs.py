"""L-BFGS with a line search for the strong Wolfe conditions.

The line search is in ``wolfe.py``, H in ``history.py``.
"""

from __future__ import annotations

from ..problem import Problem
from ..vectors import Vector
from .parts.history import LimitedMemory
from .parts.quasi_newton import QuasiNewtonState, Trial
from .parts.wolfe import refuse_l1, strong_wolfe

__all__ = ["LBFGS"]


class LBFGS(LimitedMemory):
    """Limited-memory BFGS for smooth objectives: L2 penalty or none.

    Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 7.5 with 7.4; line search of Algorithms
    3.5 and 3.6 with cubic interpolation (Eq. 3.59), c1 = 1e-4, c2 = 0.9, the first step scaled by 1 / |gradient|.
    Departures: a pair (s, y) without positive curvature is skipped; a trial point whose objective or gradient is not
    finite counts as +infinity; when the evaluations of a line search run out, its best point with sufficient decrease
    is taken; when it has none, the history is dropped and steepest descent is searched once.
    Cost: one gradient or more, and O(memory * n_features), per step.

    Converged when one of these holds (F penalised objective, k the step):

    - (F[k-5] - F[k]) / 5 <= tolerance * |F[k]|, the mean relative decrease over the last 5 steps (k >= 5);
    - violation <= gradient_tolerance * max(1, |w|), the max-norm of the gradient against the Euclidean norm of w;
    - the line searches fail, and the decrease -d.gradient that the quasi-Newton direction promised is at most
      2.3e-13 |F|, which the rounding errors of F can hide.

    Args:
        memory: stored (s, y) pairs, >= 1.
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1; one more may return to its best point.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the penalty has an L1 part.
    """

    def __init__(
        self,
        *,
        memory: int = 6,
        tolerance: float = 1e-5,
        gradient_tolerance: float = 1e-6,
        max_line_search: int = 20,
    ) -> None:
        super().__init__(memory, tolerance, gradient_tolerance, max_line_search)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the penalty has an L1 part.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        refuse_l1(problem, "lbfgs")
        return super().init(problem, w0)

    def _line_search(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> tuple[Trial | None, float, int]:
        return strong_wolfe(
            lambda alpha: self._measure(problem, state, self._move(problem, state, alpha)),
            state.objective,
            alpha,
            self.max_line_search,
        )
