"""OWL-QN: L-BFGS within orthants.

Symbols: w is the paper's x, v the pseudo-gradient (the paper's v is its negative), d the direction, p its projection,
alpha the step, gamma the constant of sufficient decrease.
"""

from __future__ import annotations

import math

from ..problem import Problem
from .parts.history import LimitedMemory
from .parts.quasi_newton import ROUNDING, QuasiNewtonState, Trial

__all__ = ["OWLQN"]

GAMMA = 1e-4
BACKTRACK = 0.5


class OWLQN(LimitedMemory):
    """Orthant-wise limited-memory quasi-Newton for L1 and elastic-net problems.

    Source: Andrew & Gao (2007), Algorithm 1, with backtracking factor 0.5 and gamma = 1e-4. The L2 part of the
    penalty belongs to the smooth part: to y and to the pseudo-gradient.
    Departures: the decrease is asked for from the largest objective of the last 6 points instead of the last one
    (Grippo, Lampariello & Lucidi 1986), so the objective may rise for a step or two: the projection often spoils a
    step a little, and to shorten it spoils the history, the more so the more pairs there are (docs/benchmarks.md).
    Where the decrease that the direction promises could hide in rounding errors it is asked for from the last point.
    Without L1 there are no orthants, so nothing is projected; a trial point whose objective or gradient is not finite
    is backed away from; when a line search fails, the history is dropped and the steepest descent direction -v is
    searched once.
    Cost: one gradient or more, and O(memory * n_features), per step.

    Converged when one of these holds (F penalised objective, k the step):

    - (max - min) / 5 <= tolerance * |F[k]|, with the largest and the smallest of F[k-5], ..., F[k] (k >= 5): the mean
      relative decrease over the last 5 steps, if all of them descended;
    - violation <= gradient_tolerance * max(1, |w|), the max-norm of v against the Euclidean norm of w;
    - the line searches fail, and the decrease -p.v that the quasi-Newton direction promised is at most 2.3e-13 |F|,
      which the rounding errors of F can hide.

    Args:
        memory: stored (s, y) pairs, >= 1; each takes 4 bytes a feature.
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1.

    Raises:
        OptionError: an option is out of its range.
    """

    def __init__(
        self,
        *,
        memory: int = 20,
        tolerance: float = 1e-5,
        gradient_tolerance: float = 1e-6,
        max_line_search: int = 20,
    ) -> None:
        super().__init__(memory, tolerance, gradient_tolerance, max_line_search)

    def _line_search(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> tuple[Trial | None, float, int]:
        """Backtrack from alpha until F(w_new) <= the largest F of the last points + gamma v . (w_new - w)."""
        descent = math.nan
        largest = max(state.recent)
        for evaluations in range(1, self.max_line_search + 1):
            trial = self._move(problem, state, alpha)
            descent = trial.descent
            if not -math.inf < descent < 0.0:
                return None, descent, evaluations - 1
            bound = largest if -descent > ROUNDING * abs(state.objective) else state.objective
            if trial.objective <= bound + GAMMA * trial.change:
                trial = self._measure(problem, state, trial)
                if trial.objective < math.inf:
                    return trial, descent, evaluations
            alpha *= BACKTRACK
        return None, descent, self.max_line_search
