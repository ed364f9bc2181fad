"""L-BFGS with a line search for the strong Wolfe conditions.

Symbols: d the direction, alpha the step, phi(alpha) = F(w + alpha d), c1 and c2 the constants of the Wolfe conditions.
"""

from __future__ import annotations

import math
from dataclasses import replace

from ..errors import OptionError
from ..problem import Problem
from ..vectors import Vector
from .history import EPSILON, LimitedMemory, QuasiNewtonState, Trial

__all__ = ["LBFGS"]

C1 = 1e-4
C2 = 0.9


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
        if problem.penalty.l1 > 0.0:
            message = f"lbfgs cannot minimise an L1 penalty (l1={problem.penalty.l1}); use the solver owlqn, or l1=0"
            raise OptionError(message)
        return super().init(problem, w0)

    def _line_search(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> tuple[Trial | None, float, int]:
        """Algorithms 3.5 and 3.6 in one loop: 3.5 is 3.6 with alpha_high at infinity, where it extrapolates.

        The point returned is the one evaluated last. alpha_low has sufficient decrease, or is 0.
        """
        trial = self._evaluate(problem, state, alpha)
        descent = trial.descent
        if not -math.inf < descent < 0.0:
            return None, descent, 0
        low = start = replace(trial, objective=state.objective, alpha=0.0, slope=descent)
        high: Trial | None = None
        evaluations = 1
        while True:
            before = low
            if trial.objective > start.objective + C1 * alpha * descent or trial.objective >= low.objective:
                high = trial
            elif abs(trial.slope) <= -C2 * descent:
                return trial, descent, evaluations
            else:
                towards_high = 1.0 if high is None else high.alpha - low.alpha
                if trial.slope * towards_high >= 0.0:
                    high = low
                low = trial
            if high is None:
                alpha = _extrapolate(before, trial)
            elif abs((high.alpha - low.alpha) * low.slope) <= EPSILON * abs(start.objective):
                break
            else:
                alpha = _interpolate(low, high)
            if evaluations == self.max_line_search:
                break
            trial = self._evaluate(problem, state, alpha)
            evaluations += 1
        if low is start:
            return None, descent, evaluations
        if low is not trial:
            low = self._evaluate(problem, state, low.alpha)
            evaluations += 1
        return low, descent, evaluations

    def _evaluate(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> Trial:
        return self._measure(problem, state, self._move(problem, state, alpha))


def _cubic(a: Trial, b: Trial) -> float:
    """Return the minimiser of the cubic through two points and their slopes (Eq. 3.59), NaN if there is none."""
    if not math.isfinite(a.objective + b.objective) or a.alpha == b.alpha:
        return math.nan
    d1 = a.slope + b.slope - 3.0 * (a.objective - b.objective) / (a.alpha - b.alpha)
    radicand = d1 * d1 - a.slope * b.slope
    if not radicand >= 0.0:
        return math.nan
    d2 = math.copysign(math.sqrt(radicand), b.alpha - a.alpha)
    divisor = b.slope - a.slope + 2.0 * d2
    return b.alpha - (b.alpha - a.alpha) * (b.slope + d2 - d1) / divisor if divisor else math.nan


def _interpolate(low: Trial, high: Trial) -> float:
    """Return a step between two points, a tenth of the interval away from each; the middle if the cubic is not."""
    width = high.alpha - low.alpha
    alpha = _cubic(low, high)
    return alpha if 0.1 <= (alpha - low.alpha) / width <= 0.9 else low.alpha + 0.5 * width


def _extrapolate(before: Trial, last: Trial) -> float:
    """Return a step 2 to 10 times as long as the last one, at the cubic's minimum if it lies there."""
    alpha = _cubic(before, last)
    if not alpha > last.alpha:
        return 4.0 * last.alpha
    return min(max(alpha, 2.0 * last.alpha), 10.0 * last.alpha)
