"""The common parts of quasi-Newton methods: state, objective along a direction, stopping rule.

A method is composed of a curvature, an approximation H of the inverse Hessian (``History``, ``InverseHessian``), and a
search along d = -H v (``backtracking``, ``strong_wolfe``).

Symbols: s = w_new - w, y = the change of the gradient of the smooth part, v the pseudo-gradient, d = -H v the
direction, alpha the step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ... import vectors
from ...errors import ObjectiveError
from ...options import real_number
from ...penalty import Separable
from ...problem import Problem
from ...result import Status
from ...vectors import Vector
from .state_schema import Sizes

__all__ = [
    "Advanced",
    "Bounds",
    "Curvature",
    "Direction",
    "Found",
    "Line",
    "Moved",
    "QuasiNewtonState",
    "Trial",
    "attempts",
    "check_tolerances",
    "first_step",
    "least_violation",
    "moved",
    "starting_state",
    "stopping_status",
    "stuck",
]

# Byrd, Lu, Nocedal & Zhu (1995), Eq. 3.9: a pair is used only if s.y > EPSILON * y.y.
EPSILON = 2.2e-16
# A predicted decrease of this fraction of |F| can drown in the rounding errors of F, a sum of many terms.
ROUNDING = 1024 * EPSILON
# Maximum that can be set for the evaluations of a line search and for the pairs of a history.
MOST = 1000
# A change of this share of the objective is little; below the second number, in nats, objectives are 0.
LITTLE, LEAST = 1e-4, 1e-2
# The mean relative decrease is taken over this many steps.
WINDOW = 5


class Moved(NamedTuple):
    """Sums of a sweep that writes w_new = w + alpha d.

    Attributes:
        descent: d . v, the derivative of the objective along d.
        change: v . (w_new - w).
        l1_norm: |w_new|_1 of the weights that bear the penalty.
        squared_norm: |w_new|^2 of the weights that bear the penalty.
    """

    descent: float
    change: float
    l1_norm: float
    squared_norm: float


class Direction(Protocol):
    """A direction d = -H v from a point w."""

    def move(self, alpha: float, out: Vector) -> Moved:
        """Write w + alpha d to ``out``."""


class Advanced(NamedTuple):
    """A curvature that includes the pair of two points, and sums of v at the new point.

    Attributes:
        curvature: the curvature with the pair.
        violation: max-norm of v.
        squared: Euclidean norm of v, in units, squared.
        slope: (w_new - w) . v.
    """

    curvature: Curvature
    violation: float
    squared: float
    slope: float


class Curvature(Protocol):
    """An approximation H of the inverse Hessian."""

    @property
    def live(self) -> Any:
        """Whether there are pairs; H is the identity, in units, without them."""

    @property
    def scale(self) -> Vector | None:
        """Unit of each weight, shape (n,); None for 1."""

    def direction(self, w: Vector, g: Vector, penalty: Separable) -> Direction:
        """Return -H v, where v is the pseudo-gradient at w, the point to which ``advance`` came last."""

    def advance(self, w_new: Vector, g_new: Vector, w: Vector, g: Vector, penalty: Separable) -> Advanced:
        """Add the pair (s, y) of two points, whose NLL gradients are g_new and g."""

    def cleared(self) -> Curvature:
        """Return the approximation without pairs."""


@dataclass(frozen=True, kw_only=True)
class BatchState:
    """State of a method that evaluates the objective on all samples; saving it (pickle) is a checkpoint.

    Attributes:
        w: weights, shape (n_features,).
        gradient: of the unpenalised NLL at w, shape (n_features,).
        objective: penalised, nats.
        nll: unpenalised, nats.
        violation: max-norm of the subgradient of minimum norm at w.
        gradient_evaluations: so far.
        iteration: steps taken.
        status: RUNNING until the solver has converged or failed.
        partial: False: the violation is by all features.
    """

    w: Vector
    gradient: Vector
    objective: float
    nll: float
    violation: float
    gradient_evaluations: int = 1
    iteration: int = 0
    status: Status = Status.RUNNING
    partial: ClassVar[bool] = False

    @property
    def whole_gradient(self) -> Vector:
        """The gradient."""
        return self.gradient

    @property
    def passes(self) -> float:
        """Effective passes over the data: a batch method looks at every sample in every evaluation."""
        return float(self.gradient_evaluations)


@dataclass(frozen=True, kw_only=True)
class QuasiNewtonState(BatchState):
    """State of L-BFGS, OWL-QN and BFGS.

    A step writes only to the spare arrays and returns a state with them swapped in. An interrupted step therefore
    leaves its argument intact; a finished step makes its argument invalid.

    Attributes:
        norm: Euclidean norm of the pseudo-gradient at w, in units of the history.
        history: the curvature: pairs (s, y), or the matrix H that they make.
        recent: objectives of the last steps, at most 6, the newest last.
        spare_w: scratch, shape (n,); after a step that moved, the weights before it.
        spare_gradient: scratch, shape (n,).
        alpha: the last step, a multiple of the direction; 0 before the first one.
    """

    norm: float
    history: Curvature
    recent: tuple[float, ...]
    spare_w: Annotated[Vector, Sizes(finite=False, own=True)]
    spare_gradient: Annotated[Vector, Sizes(finite=False, own=True)]
    alpha: float = 0.0

    def mistake(self) -> str:
        """Return what contradicts itself; see `state_schema.Declared`."""
        return "w and gradient are the same array, and steps write to both in turn" if self.w is self.gradient else ""


@dataclass
class Trial:
    """A point w + alpha d that a line search evaluated.

    w and gradient of the point evaluated last are in the state's spare arrays, and its pair is in the spare rows of the
    history.

    Attributes:
        objective: penalised, nats; infinite if it or its gradient is not finite.
        alpha: step.
        descent: derivative of the objective along d where the search began.
        change: v . (w_new - w), the decrease that v promises.
        nll: unpenalised, nats.
        w_norm: Euclidean norm of the weights that bear a penalty.
        violation: max-norm of the pseudo-gradient.
        norm: Euclidean norm of the pseudo-gradient, in units.
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


class Found(NamedTuple):
    """The outcome of a line search.

    Attributes:
        trial: the point found, evaluated last; None if none was found.
        descent: d . v where the search began.
        evaluations: of the gradient.
    """

    trial: Trial | None
    descent: float
    evaluations: int


class Bounds(Protocol):
    """A solver as its stopping rule sees it; see ``stopping_status``."""

    @property
    def tolerance(self) -> float:
        """Bound on the mean relative decrease."""

    @property
    def gradient_tolerance(self) -> float:
        """Bound on the violation."""


class Line:
    """The objective along a direction: phi(alpha) = F(w + alpha d), d = -H v.

    Args:
        problem: whose objective F is, penalty included.
        state: where the line begins; its spare arrays are written to.
        curvature: H, which may differ from the state's.
    """

    def __init__(self, problem: Problem, state: QuasiNewtonState, curvature: Curvature) -> None:
        self.problem, self.state, self._curvature = problem, state, curvature
        self._direction = curvature.direction(state.w, state.gradient, problem.separable)

    def look(self, alpha: float) -> Trial:
        """Move to w + alpha d and evaluate the objective there, unless d does not descend."""
        penalty, w = self.problem.separable, self.state.spare_w
        descent, change, l1_norm, squared = self._direction.move(alpha, out=w)
        nll = objective = math.inf
        if -math.inf < descent < 0.0:
            nll = self.problem.evaluate(w, self.state.spare_gradient)
            objective = nll + penalty.value_from_norms(l1_norm, squared)
        if not math.isfinite(objective):
            objective = math.inf
        w_norm = math.sqrt(squared) if squared >= 0.0 else math.nan
        return Trial(objective, alpha, descent, change, nll, w_norm, math.nan, math.nan, math.nan, self._curvature)

    def measure(self, trial: Trial) -> Trial:
        """Add its pair, v and slope to ``trial``, the point looked at last, and return it; infinite if not finite."""
        if trial.objective == math.inf:
            return trial
        state = self.state
        history, violation, squared, slope = self._curvature.advance(
            state.spare_w, state.spare_gradient, state.w, state.gradient, self.problem.separable
        )
        if not (math.isfinite(squared) and math.isfinite(slope) and trial.alpha):  # the norm of v has overflowed
            trial.objective = math.inf
            return trial
        trial.violation, trial.norm, trial.slope = violation, math.sqrt(squared), slope / trial.alpha
        trial.history = history
        return trial


def starting_state(
    bounds: Bounds,
    problem: Problem,
    w: Vector,
    nll: float,
    gradient: Vector,
    curvature: Curvature,
    evaluations: int = 1,
) -> QuasiNewtonState:
    """Return the state at w, whose NLL and gradient are known; if the curvature has pairs, the last one ends at w.

    Args:
        bounds: of the stopping rule.
        problem: to be minimised.
        w: weights, kept in the state.
        nll: at w, unpenalised, nats.
        gradient: of the NLL at w, kept in the state.
        curvature: H.
        evaluations: of the gradient, so far.

    Raises:
        ObjectiveError: the objective or its gradient is not finite at w.
    """
    spare_w = np.zeros_like(w)
    penalty = problem.separable
    l1_norm, squared_norm = penalty.norms(w)
    objective = nll + penalty.value_from_norms(l1_norm, squared_norm)
    violation, squared = vectors.pseudo_gradient(w, gradient, penalty.strengths, out=spare_w)
    norm = math.sqrt(squared)
    if curvature.scale is not None and math.isfinite(norm):
        norm = math.sqrt(vectors.norms(curvature.scale * spare_w)[1])
    check_numbers(objective, violation)
    return QuasiNewtonState(
        w=w,
        gradient=gradient,
        objective=objective,
        nll=nll,
        violation=violation,
        norm=norm,
        history=curvature,
        gradient_evaluations=evaluations,
        status=_status(bounds, problem, (objective,), violation, math.sqrt(squared_norm), norm, curvature),
        recent=(objective,),
        spare_w=spare_w,
        spare_gradient=np.zeros_like(w),
    )


def attempts(curvature: Curvature) -> Iterator[Curvature]:
    """Yield the curvature, then, should the search along its direction fail, the one without pairs."""
    yield curvature
    yield curvature.cleared()


def first_step(state: QuasiNewtonState, curvature: Curvature) -> float:
    """Return the first alpha of a search: 1, or 1 / |v| along -v, so that the first step of all has length 1."""
    steepest = 1.0 / state.norm if state.norm else 0.0
    return 1.0 if curvature.live else steepest


def moved(
    bounds: Bounds, problem: Problem, state: QuasiNewtonState, trial: Trial, evaluations: int
) -> QuasiNewtonState:
    """Return the state at the point of ``trial``, with its pair in the history, after a look at the stopping rule."""
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
        status=_status(bounds, problem, recent, trial.violation, trial.w_norm, trial.norm, trial.history),
        recent=recent,
        spare_w=state.w,
        spare_gradient=state.gradient,
        alpha=trial.alpha,
    )


def stuck(state: QuasiNewtonState, descent: float, evaluations: int) -> QuasiNewtonState:
    """Return the state, unmoved, after searches that found no decrease.

    Converged if the decrease -``descent`` that the quasi-Newton direction promised can hide in rounding errors of F.
    """
    at_rounding = 0.0 < -descent <= ROUNDING * abs(state.objective)
    return replace(
        state,
        gradient_evaluations=state.gradient_evaluations + evaluations,
        iteration=state.iteration + 1,
        status=Status.CONVERGED if at_rounding else Status.LINE_SEARCH_FAILED,
    )


def _status(
    bounds: Bounds,
    problem: Problem,
    recent: tuple[float, ...],
    violation: float,
    w_norm: float,
    norm: float,
    curvature: Curvature,
) -> Status:
    """Return ``stopping_status``; a violation in the data's units says little where columns are uneven."""
    if curvature.scale is not None:
        violation, w_norm = norm, 0.0
    size = problem.size_of(recent[-1])
    return stopping_status(recent, violation, w_norm, bounds.tolerance, bounds.gradient_tolerance, size)


def stopping_status(
    recent: tuple[float, ...],
    violation: float,
    w_norm: float,
    tolerance: float,
    gradient_tolerance: float,
    size: float | None = None,
) -> Status:
    """Return CONVERGED if the violation or the mean relative decrease over the last WINDOW steps is small, or RUNNING.

    The decrease counts from the largest objective of these steps to the smallest: some methods let a step ascend.

    Args:
        recent: objectives of the last steps, at most WINDOW + 1, the newest last.
        violation: max-norm of the pseudo-gradient.
        w_norm: Euclidean norm of the weights.
        tolerance: bound on the decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation, over max(1, w_norm); 0 asks for an exact zero.
        size: what the decrease is relative to; the last objective by default. See ``Problem.size_of``.
    """
    size = abs(recent[-1]) if size is None else size
    if violation <= least_violation(size, w_norm, gradient_tolerance):
        return Status.CONVERGED
    decrease = (max(recent) - min(recent)) / WINDOW
    if tolerance > 0.0 and len(recent) > WINDOW and decrease <= tolerance * size:
        return Status.CONVERGED
    return Status.RUNNING


def least_violation(objective: float, w_norm: float, gradient_tolerance: float) -> float:
    """Return the violation at which a minimisation has converged: gradient_tolerance * max(1, w_norm) or less.

    Where weights are large and the objective is small, as with a weak L1 penalty on almost separable data, that may be
    far from the optimum. Weights that change by their own size then change the objective by up to violation * w_norm.
    """
    usual = gradient_tolerance * max(1.0, w_norm)
    return min(usual, LITTLE * max(abs(objective), LEAST) / w_norm) if w_norm > 0.0 else usual


def check_numbers(objective: float, violation: float, when: str = "at the starting point") -> None:
    """Raise ObjectiveError if the objective or its gradient is not finite."""
    for name, number in (("objective", objective), ("gradient's largest entry", violation)):
        if not math.isfinite(number):
            message = f"the {name} is {number} {when}; check the data, or start from other weights"
            raise ObjectiveError(message)


def check_tolerances(tolerance: float, gradient_tolerance: float) -> None:
    """Raise OptionError if one of the two bounds of ``stopping_status`` is not a finite number >= 0."""
    bound = "a finite number >= 0 (0 switches the test off)"
    real_number("tolerance", tolerance, bound, lambda x: x >= 0.0)
    real_number("gradient_tolerance", gradient_tolerance, bound, lambda x: x >= 0.0)
