"""Accelerated proximal gradient on a working set, for penalties of single weights and of groups.

Symbols: x the iterate, y the extrapolated point, L the bound on the curvature, t the weight of momentum, M the select
unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..options import whole_number
from ..penalty import Penalty
from ..problem import Problem, Restrictable
from ..result import Status
from ..vectors import Vector, dot
from .common.needs import Needs, check
from .common.quasi_newton import ROUNDING, WINDOW, BatchState, check_numbers, check_tolerances, least_violation
from .common.working_set import Block, Features, compact, penalty_on

__all__ = ["ProxGradient", "ProxGradientState"]

GROWTH, DECAY = 2.0, 0.9


@dataclass(frozen=True, kw_only=True)
class ProxGradientState(BatchState):
    """State of the proximal gradient method; ``gradient_evaluations`` counts evaluations by all weights and by some.

    Attributes:
        curvature: L.
        recent: objectives of the last steps, the newest last.
        working_set: number of weights in the working set of the last step.
    """

    curvature: float = 1.0
    recent: tuple[float, ...] = ()
    working_set: int = 0


class ProxGradient:
    """Accelerated proximal gradient (FISTA) on a working set of features that is re-selected at every step.

    A step selects the weights, or groups, that are not 0 and the M others that violate optimality most, makes some
    iterations on these alone, and evaluates the whole gradient.

    Source: Beck & Teboulle (2009), FISTA with backtracking; O'Donoghue & Candes (2015): momentum is dropped when the
    objective rises. The working set is chosen as in Zhu, Lao & Xing (2010), by groups.

    Departures:

    - L may fall between iterations.
    - On objectives that are not convex, such as the Bethe approximation, it is a descent method without FISTA's rate.

    Cost: a step takes one evaluation by all weights and some by the weights in the working set.

    Converged when the mean relative decrease over the last 5 steps is at most ``tolerance`` and no more weights are
    selected, or when the violation is at most ``gradient_tolerance`` * max(1, |w|).

    Args:
        select: M, most weights or groups added to the working set at a time, >= 1.
        iterations: on a working set, >= 1.
        tolerance: bound on the mean relative decrease of a step; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.

    Raises:
        OptionError: an option is out of its range.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import ProxGradient
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=ProxGradient(select=10)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    needs: ClassVar[Needs] = Needs(uses=(Restrictable,), penalty=Penalty, varied=True)

    def __init__(
        self,
        *,
        select: int = 1000,
        iterations: int = 20,
        tolerance: float = 1e-6,
        gradient_tolerance: float = 1e-6,
    ) -> None:
        self.select = whole_number("select", select, 1, 2**62)
        self.iterations = whole_number("iterations", iterations, 1, 2**31)
        check_tolerances(tolerance, gradient_tolerance)
        self.tolerance, self.gradient_tolerance = tolerance, gradient_tolerance

    def init(self, problem: Problem, w0: Vector) -> ProxGradientState:
        """Evaluate the objective at w0 (one gradient evaluation); w0 is copied.

        Raises:
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        state = _evaluated(problem, w0.copy(), ())
        check_numbers(state.objective, state.violation)
        return replace(state, status=self._status(problem, state, np.empty(0, np.int64)))

    def step(self, problem: Problem, state: ProxGradientState) -> ProxGradientState:
        """Iterate on a working set, then evaluate the whole gradient."""
        features = self._features(problem, state)
        small = compact(problem, features) or Problem(Block(problem, features, state.w), penalty_on(problem, features))
        x, curvature, evaluations = self._descend(small, state, features)
        w = state.w.copy()
        w[features] = x
        following = _evaluated(problem, w, state.recent)
        # Apart from rounding errors the objective never rises; if it does, no further decrease is possible.
        if not following.objective <= state.objective + ROUNDING * abs(state.objective):
            return replace(state, status=Status.LINE_SEARCH_FAILED, iteration=state.iteration + 1)
        following = replace(
            following,
            curvature=curvature,
            gradient_evaluations=state.gradient_evaluations + evaluations + 1,
            iteration=state.iteration + 1,
            working_set=int(features.size),
        )
        return replace(following, status=self._status(problem, following, features))

    def _features(self, problem: Problem, state: ProxGradientState) -> Features:
        """Return the weights to work on, ascending: all that are not 0 or bear no penalty, and the worst M others."""
        penalty, size = problem.penalty, problem.n_features - problem.penalty.unpenalised
        slope = penalty.pseudo_gradient(state.w, state.gradient)[:size]
        groups = penalty.units(problem.n_features)
        off = np.bincount(groups, state.w[:size] != 0.0) == 0.0
        steepness = np.where(off, np.bincount(groups, slope**2), 0.0)
        at_work = ~off
        if np.count_nonzero(steepness) > self.select:
            at_work[np.argpartition(-steepness, self.select - 1)[: self.select]] = True
        else:
            at_work |= steepness > 0.0
        chosen = np.flatnonzero(at_work[groups])
        return np.concatenate([chosen, np.arange(size, problem.n_features)]).astype(np.int64)

    def _descend(self, small: Problem, state: ProxGradientState, features: Features) -> tuple[Vector, float, int]:
        """Run FISTA with restarts; return the weights, L, and the number of evaluations."""
        penalty, l2 = small.penalty.split()
        x = y = state.w[features]
        value, t, curvature, evaluations = state.objective, 1.0, state.curvature, 0
        gradient, trial_gradient = np.empty_like(x), np.empty_like(x)
        for _ in range(self.iterations):
            at_y = small.evaluate(y, gradient)
            evaluations += 1
            smooth = at_y + l2.smooth_value(y)
            slope = l2.smooth_gradient(y, gradient)
            while True:
                trial = penalty.prox(y - slope / curvature, 1.0 / curvature)
                moved = trial - y
                smooth_trial = small.evaluate(trial, trial_gradient) + l2.smooth_value(trial)
                evaluations += 1
                bound = smooth + dot(slope, moved) + curvature / 2.0 * dot(moved, moved)
                if smooth_trial <= bound + ROUNDING * abs(smooth) or curvature > 1e300:
                    break
                curvature *= GROWTH
            reached = smooth_trial + penalty.value(trial)
            if reached > value:
                if y is x:
                    break
                y, t = x, 1.0
                continue
            following = (1.0 + math.sqrt(1.0 + 4.0 * t * t)) / 2.0
            y = trial + (t - 1.0) / following * (trial - x)
            x, t, value, curvature = trial, following, reached, curvature * DECAY
        return x, curvature, evaluations

    def _status(self, problem: Problem, state: ProxGradientState, features: Features) -> Status:
        norm = math.sqrt(problem.penalty.norms(state.w)[1])
        size = problem.size_of(state.objective)
        if state.violation <= least_violation(size, norm, self.gradient_tolerance):
            return Status.CONVERGED
        decrease = (state.recent[0] - state.objective) / WINDOW
        flat = len(state.recent) > WINDOW and decrease <= self.tolerance * size
        nothing_new = np.isin(self._features(problem, state), features).all()
        return Status.CONVERGED if flat and nothing_new else Status.RUNNING


def _evaluated(problem: Problem, w: Vector, recent: tuple[float, ...]) -> ProxGradientState:
    """Return the state at w after steps with these objectives, as if no step had been made: a gradient evaluation."""
    gradient = np.empty_like(w)
    nll = problem.evaluate(w, gradient)
    objective, violation = problem.penalised(w, nll, gradient)
    return ProxGradientState(
        w=w,
        gradient=gradient,
        objective=objective,
        nll=nll,
        violation=violation,
        curvature=max(float(np.abs(gradient).max(initial=0.0)), 1.0),
        recent=(*recent[-WINDOW:], objective),
    )
