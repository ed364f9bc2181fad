"""The line search of smooth quasi-Newton methods, for the strong Wolfe conditions.

Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithms 3.5 and 3.6 with cubic interpolation
(Eq. 3.59), c1 = 1e-4, c2 = 0.9.

Symbols: d the direction, alpha the step, phi(alpha) = F(w + alpha d), c1 and c2 the constants of the Wolfe conditions.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from .quasi_newton import EPSILON, Found, Line, Trial

__all__ = ["Point", "cubic_minimum", "strong_wolfe"]

C1 = 1e-4
C2 = 0.9


class Point(NamedTuple):
    """A point on a line.

    Attributes:
        alpha: step.
        objective: phi(alpha), nats.
        slope: the derivative of phi.
    """

    alpha: float
    objective: float
    slope: float


def strong_wolfe(line: Line, alpha: float, most: int) -> Found:
    """Run Algorithms 3.5 and 3.6 in one loop: 3.5 is 3.6 with alpha_high at infinity, where it extrapolates.

    alpha_low has sufficient decrease, or is 0.

    Args:
        line: the objective along the direction.
        alpha: the first step.
        most: evaluations, >= 1; one more may return to the best point.
    """
    trial = line.measure(line.look(alpha))
    descent = trial.descent
    if not -math.inf < descent < 0.0:
        return Found(None, descent, 0)
    low = start = replace(trial, objective=line.state.objective, alpha=0.0, slope=descent)
    high: Trial | None = None
    evaluations = 1
    while True:
        before = low
        if trial.objective > start.objective + C1 * alpha * descent or trial.objective >= low.objective:
            high = trial
        elif abs(trial.slope) <= -C2 * descent:
            return Found(trial, descent, evaluations)
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
        if evaluations == most:
            break
        trial = line.measure(line.look(alpha))
        evaluations += 1
    if low is start:
        return Found(None, descent, evaluations)
    if low is not trial:
        low = line.measure(line.look(low.alpha))
        evaluations += 1
    return Found(low, descent, evaluations)


def cubic_minimum(a: Point | Trial, b: Point | Trial) -> float:
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
    """Return a step between two points, at the cubic's minimum if a tenth of the interval away; else midway."""
    width = high.alpha - low.alpha
    alpha = cubic_minimum(low, high)
    return alpha if 0.1 <= (alpha - low.alpha) / width <= 0.9 else low.alpha + 0.5 * width


def _extrapolate(before: Trial, last: Trial) -> float:
    """Return a step 2 to 10 times as long as the last one, at the cubic's minimum if it is in this range."""
    alpha = cubic_minimum(before, last)
    if not alpha > last.alpha:
        return 4.0 * last.alpha
    return min(max(alpha, 2.0 * last.alpha), 10.0 * last.alpha)
