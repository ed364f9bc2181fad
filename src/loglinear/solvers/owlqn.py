"""OWL-QN: L-BFGS within orthants.

Symbols: w is the paper's x, v the pseudo-gradient (the paper's v is its negative), d the direction, p its projection,
alpha the step, gamma the constant of sufficient decrease.
"""

from __future__ import annotations

import math

from .. import vectors
from ..problem import Problem
from .history import LimitedMemory, QuasiNewtonState, Trial

__all__ = ["OWLQN"]

GAMMA = 1e-4
BACKTRACK = 0.5


class OWLQN(LimitedMemory):
    """Orthant-wise limited-memory quasi-Newton for L1 and elastic-net problems.

    Source: Andrew & Gao (2007), Algorithm 1, with backtracking factor 0.5 and gamma = 1e-4. The L2 part of the
    penalty belongs to the smooth part: to y and to the pseudo-gradient.
    Departures: without L1 there are no orthants, so nothing is projected; a trial point whose objective or gradient is
    not finite is backed away from; when a line search fails, the history is dropped and the steepest descent
    direction -v is searched once.
    Cost: one gradient or more, and O(memory * n_features), per step.

    Converged when one of these holds (F penalised objective, k the step):

    - (F[k-5] - F[k]) / 5 <= tolerance * |F[k]|, the mean relative decrease over the last 5 steps (k >= 5);
    - violation <= gradient_tolerance * max(1, |w|), the max-norm of v against the Euclidean norm of w;
    - the line searches fail, and the decrease -p.v that the quasi-Newton direction promised is at most 2.3e-13 |F|,
      which the rounding errors of F can hide.

    Args:
        memory: stored (s, y) pairs, >= 1.
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1.

    Raises:
        OptionError: an option is out of its range.
    """

    def __init__(
        self,
        *,
        memory: int = 10,
        tolerance: float = 1e-5,
        gradient_tolerance: float = 1e-6,
        max_line_search: int = 20,
    ) -> None:
        super().__init__(memory, tolerance, gradient_tolerance, max_line_search)

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Take one iteration of Algorithm 1; ``state`` is used up, unless an exception comes out."""
        aligned = problem.penalty.l1 > 0.0
        slope = state.history.product(state.pseudo_gradient, out=state.direction, factor=-1.0, aligned=aligned)
        return self._advance(problem, state, slope)

    def _line_search(
        self, problem: Problem, state: QuasiNewtonState, alpha: float, slope: float
    ) -> tuple[Trial | None, int]:
        """Backtrack from alpha until F(w_new) <= F(w) + gamma v . (w_new - w); returns trial and evaluations."""
        if not -math.inf < slope < 0.0:
            return None, 0
        penalty = problem.penalty
        w, v, p, w_new, g_new = state.w, state.pseudo_gradient, state.direction, state.spare_w, state.spare_gradient
        for evaluations in range(1, self.max_line_search + 1):
            if penalty.l1:
                l1_norm, squared, change = vectors.orthant_step(w, alpha, p, v, out=w_new)
            else:
                l1_norm, squared, change = 0.0, vectors.step_along(w, alpha, p, out=w_new), alpha * slope
            nll = problem.evaluate(w_new, g_new)
            objective = nll + penalty.value_from_norms(l1_norm, squared)
            if math.isfinite(objective) and objective <= state.objective + GAMMA * change:
                violation, norm2 = vectors.pseudo_gradient(
                    w_new, g_new, penalty.l1, penalty.l2, out=state.spare_pseudo_gradient
                )
                if math.isfinite(norm2):
                    return Trial(objective, nll, violation, math.sqrt(norm2), math.sqrt(squared)), evaluations
            alpha *= BACKTRACK
        return None, self.max_line_search
