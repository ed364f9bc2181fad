"""State, step and stopping rule of quasi-Newton methods, whatever their approximation H and their line search.

Symbols: s = w_new - w, y = the change of the gradient of the smooth part, v the pseudo-gradient, d = -H v the
direction, alpha the step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ... import vectors
from ...errors import ObjectiveError
from ...options import real_number, whole_number
from ...penalty import ElasticNet
from ...problem import Problem
from ...result import Status
from ...vectors import Vector

__all__ = ["Curvature", "QuasiNewton", "QuasiNewtonState", "Trial", "stopping_status"]

# Byrd, Lu, Nocedal & Zhu (1995), Eq. 3.9: a pair is used only if s.y > EPSILON * y.y.
EPSILON = 2.2e-16
# A predicted decrease of this fraction of |F| can drown in the rounding errors of F, a sum of many terms.
ROUNDING = 1024 * EPSILON
# Most evaluations of a line search, and most pairs of a history, that can be asked for.
MOST = 1000
# The mean relative decrease is taken over this many steps.
WINDOW = 5


class Curvature(Protocol):
    """An approximation H of the inverse Hessian, as a step of a quasi-Newton method uses it; see ``History``."""

    @property
    def live(self) -> Any:
        """Whether there are pairs; H is the identity without them."""

    def advance(
        self, w_new: Vector, g_new: Vector, w: Vector, g: Vector, penalty: ElasticNet
    ) -> tuple[Curvature, float, float, float]:
        """Take up the pair of two points; return what follows, |v|_max, |v|^2 and (w_new - w) . v at the new one."""

    def cleared(self) -> Curvature:
        """Return the approximation without pairs."""

    def step(
        self, w: Vector, g: Vector, penalty: ElasticNet, alpha: float, out: Vector
    ) -> tuple[float, float, float, float]:
        """Write w + alpha d to ``out``; return d . v, v . (out - w), |out|_1 and |out|_2 squared (penalised part)."""


@dataclass
class QuasiNewtonState:
    """State of L-BFGS, OWL-QN and BFGS; saving it (pickle) is a checkpoint.

    A step writes to the spare arrays only and returns a state with them swapped in. So a step that is interrupted
    leaves its argument intact, and a step that is finished uses its argument up.

    Attributes:
        w: weights, shape (n,).
        gradient: of the unpenalised NLL at w, shape (n,).
        objective: penalised, nats.
        nll: unpenalised, nats.
        violation: max-norm of the pseudo-gradient of the penalised objective at w.
        norm: its Euclidean norm.
        history: pairs (s, y), or what they make of H.
        gradient_evaluations: so far.
        iteration: steps taken.
        status: RUNNING, CONVERGED or LINE_SEARCH_FAILED.
        recent: objectives of the last steps, at most 6, the newest last.
        spare_w: scratch, shape (n,); after a step that moved, the weights before it.
        spare_gradient: scratch, shape (n,).
    """

    w: Vector
    gradient: Vector
    objective: float
    nll: float
    violation: float
    norm: float
    history: Curvature
    gradient_evaluations: int
    iteration: int
    status: Status
    recent: tuple[float, ...]
    spare_w: Vector
    spare_gradient: Vector

    @property
    def passes(self) -> float:
        """Effective passes over the data: a batch method looks at every sample in every evaluation."""
        return float(self.gradient_evaluations)


@dataclass
class Trial:
    """A point w + alpha d that a line search looked at.

    w and gradient of the point looked at last are in the state's spare arrays, and its pair in the spare rows of the
    history.

    Attributes:
        objective: penalised, nats; infinite if it or its gradient is not finite.
        alpha: step.
        descent: derivative of the objective along d where the search began.
        change: v . (w_new - w), the decrease that v promises.
        nll: unpenalised, nats.
        w_norm: Euclidean norm of the weights that bear a penalty.
        violation: max-norm of the pseudo-gradient.
        norm: Euclidean norm of the pseudo-gradient.
        slope: derivative of the objective along d.
        history: with the pair of the step from the state's w.
    """

    objective: float
    alpha: float
    descent: float
    change: float
    nll: float
    w_norm: float
    violation: float
    norm: float
    slope: float
    history: Curvature


class QuasiNewton:
    """Options, start, step and stopping rule of quasi-Newton methods; they differ in H and in the line search.

    Args:
        tolerance: see the solvers; >= 0.
        gradient_tolerance: see the solvers; >= 0.
        max_line_search: most evaluations in one line search, >= 1.

    Raises:
        OptionError: an option is out of its range.
    """

    def __init__(self, tolerance: float, gradient_tolerance: float, max_line_search: int) -> None:
        bound = "a finite number >= 0 (0 switches the test off)"
        self.tolerance = real_number("tolerance", tolerance, bound, lambda x: x >= 0.0)
        self.gradient_tolerance = real_number("gradient_tolerance", gradient_tolerance, bound, lambda x: x >= 0.0)
        self.max_line_search = whole_number("max_line_search", max_line_search, 1, MOST)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        w = np.array(w0, dtype=np.float64)
        gradient = np.zeros_like(w)
        nll = problem.evaluate(w, gradient)
        return self.start(problem, w, nll, gradient, self._no_pairs(w.size))

    def start(
        self, problem: Problem, w: Vector, nll: float, gradient: Vector, history: Curvature, evaluations: int = 1
    ) -> QuasiNewtonState:
        """Return the state at w, whose NLL and gradient are known; a history with pairs has come to w last.

        Raises:
            ObjectiveError: the objective or its gradient is not finite at w.
        """
        spare_w = np.zeros_like(w)
        penalty = problem.penalty
        l1_norm, squared = penalty.norms(w)
        objective = nll + penalty.value_from_norms(l1_norm, squared)
        violation, norm2 = vectors.pseudo_gradient(w, gradient, penalty.strengths, out=spare_w)
        for name, number in (("objective", objective), ("gradient's largest entry", violation)):
            if not math.isfinite(number):
                message = f"the {name} is {number} at the starting point; check the data, or start from other weights"
                raise ObjectiveError(message)
        return QuasiNewtonState(
            w=w,
            gradient=gradient,
            objective=objective,
            nll=nll,
            violation=violation,
            norm=math.sqrt(norm2),
            history=history,
            gradient_evaluations=evaluations,
            iteration=0,
            status=self._status((objective,), violation, math.sqrt(squared)),
            recent=(objective,),
            spare_w=spare_w,
            spare_gradient=np.zeros_like(w),
        )

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Search along -H v; if in vain, drop the history and search along -v once.

        ``state`` is used up, unless an exception comes out.
        """
        steepest = 1.0 / state.norm if state.norm else 0.0
        trial, descent, evaluations = self._line_search(problem, state, 1.0 if state.history.live else steepest)
        if trial is None:
            restarted = replace(state, history=state.history.cleared())
            trial, _, more = self._line_search(problem, restarted, steepest)
            evaluations += more
            if trial is None:
                return self._stuck(state, -descent, evaluations)
        return self._moved(state, trial, evaluations)

    def _no_pairs(self, n: int) -> Curvature:
        """Return the H of the start, for vectors of length n."""
        raise NotImplementedError

    def _line_search(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> tuple[Trial | None, float, int]:
        """Search along the direction from alpha; return the point found, if any, d . v, and the evaluations spent."""
        raise NotImplementedError

    def _move(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> Trial:
        """Move to w + alpha d and evaluate the objective there, unless d does not descend."""
        penalty, w = problem.penalty, state.spare_w
        descent, change, l1_norm, squared = state.history.step(state.w, state.gradient, penalty, alpha, out=w)
        nll = objective = math.inf
        if -math.inf < descent < 0.0:
            nll = problem.evaluate(w, state.spare_gradient)
            objective = nll + penalty.value_from_norms(l1_norm, squared)
        if not math.isfinite(objective):
            objective = math.inf
        w_norm = math.sqrt(squared) if squared >= 0.0 else math.nan
        return Trial(objective, alpha, descent, change, nll, w_norm, math.nan, math.nan, math.nan, state.history)

    def _measure(self, problem: Problem, state: QuasiNewtonState, trial: Trial) -> Trial:
        """Return ``trial``, the point moved to last, with what its gradient tells; infinite if that is not finite."""
        if trial.objective == math.inf:
            return trial
        history, violation, norm2, slope = state.history.advance(
            state.spare_w, state.spare_gradient, state.w, state.gradient, problem.penalty
        )
        if not (math.isfinite(norm2) and math.isfinite(slope)):
            return replace(trial, objective=math.inf)
        slope /= trial.alpha
        return replace(trial, violation=violation, norm=math.sqrt(norm2), slope=slope, history=history)

    def _moved(self, state: QuasiNewtonState, trial: Trial, evaluations: int) -> QuasiNewtonState:
        """Return the state at the point of ``trial``, with its pair in the history."""
        recent = (*state.recent[-WINDOW:], trial.objective)
        return replace(
            state,
            w=state.spare_w,
            gradient=state.spare_gradient,
            objective=trial.objective,
            nll=trial.nll,
            violation=trial.violation,
            norm=trial.norm,
            history=trial.history,
            gradient_evaluations=state.gradient_evaluations + evaluations,
            iteration=state.iteration + 1,
            status=self._status(recent, trial.violation, trial.w_norm),
            recent=recent,
            spare_w=state.w,
            spare_gradient=state.gradient,
        )

    def _stuck(self, state: QuasiNewtonState, predicted: float, evaluations: int) -> QuasiNewtonState:
        """Return the state, unmoved, after line searches that found no decrease where ``predicted`` was to be had."""
        at_rounding = 0.0 < predicted <= ROUNDING * abs(state.objective)
        return replace(
            state,
            gradient_evaluations=state.gradient_evaluations + evaluations,
            iteration=state.iteration + 1,
            status=Status.CONVERGED if at_rounding else Status.LINE_SEARCH_FAILED,
        )

    def _status(self, recent: tuple[float, ...], violation: float, w_norm: float) -> Status:
        return stopping_status(recent, violation, w_norm, self.tolerance, self.gradient_tolerance)


def stopping_status(
    recent: tuple[float, ...], violation: float, w_norm: float, tolerance: float, gradient_tolerance: float
) -> Status:
    """Return CONVERGED if the violation or the mean relative decrease over the last WINDOW steps is small, or RUNNING.

    The decrease counts from the largest of their objectives to the smallest: some methods let a step ascend.

    Args:
        recent: objectives of the last steps, at most WINDOW + 1, the newest last.
        violation: max-norm of the pseudo-gradient.
        w_norm: Euclidean norm of the weights.
        tolerance: bound on the decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation, over max(1, w_norm); 0 asks for an exact zero.
    """
    if violation == 0.0 or violation <= gradient_tolerance * max(1.0, w_norm):
        return Status.CONVERGED
    decrease = (max(recent) - min(recent)) / WINDOW
    if tolerance > 0.0 and len(recent) > WINDOW and decrease <= tolerance * abs(recent[-1]):
        return Status.CONVERGED
    return Status.RUNNING
