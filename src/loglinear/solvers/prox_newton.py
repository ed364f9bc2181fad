"""Proximal Newton with coordinate descent on a working set, for classifiers.

Symbols: g the gradient, H the Hessian of the NLL and the L2 penalty at w, W the working set, delta the step.
A step itself is native: `newton.rs`, with `softmax.rs` for three classes or more, in `native/src/classifier`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Protocol, cast

import numpy as np

from ..options import real_number, whole_number
from ..problem import Objective, Problem
from ..result import Status
from ..vectors import Signs, Strengths, Vector
from .common.conditions import intercept_alone_is_spared
from .common.needs import Needs, check
from .common.quasi_newton import BatchState, check_numbers, check_tolerances, least_violation
from .common.state_schema import Sizes

__all__ = ["NewtonSteps", "ProxNewton", "ProxNewtonState"]


class NewtonStep(Protocol):
    """An account of a step of ``ProxNewton``."""

    @property
    def nll(self) -> float:
        """NLL at the weights after the step, nats."""

    @property
    def working_set(self) -> int:
        """Number of weights in the working set; the intercept has none there."""

    @property
    def sweeps(self) -> int:
        """Sweeps of coordinate descent over the working set."""

    @property
    def trials(self) -> int:
        """Evaluations of the objective in the line search."""

    @property
    def moved(self) -> bool:
        """Whether the weights changed."""

    @property
    def promised(self) -> float:
        """Decrease of the objective that the quadratic model predicts, nats."""


class NewtonSteps(Objective, Protocol):
    """A classifier, or an objective of choices, that can make steps of proximal Newton."""

    @property
    def n_outputs(self) -> int:
        """Number of weights of a column; 1 for two classes and for choices."""

    @property
    def weights(self) -> Vector:
        """Weights of the samples, >= 0, shape (n_samples,)."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the last weights, the intercept's, that steps spare from the penalty."""

    @property
    def is_dense(self) -> bool:
        """Whether the samples are kept as a dense matrix."""

    def start(self, w: Vector) -> tuple[float, Vector, Vector]:
        """Return the NLL, x . w of every row where a column has one weight, and the gradient."""

    def has_small_gram(self, l1: float) -> bool:
        """Whether a step with this L1 penalty writes H out at once."""

    def newton_step(
        self,
        w: Vector,
        scores: Vector,
        gradient: Vector,
        *,
        l1: float,
        l2: float,
        precision: float,
        sweeps: int,
        least: int,
        stride: int,
        varied: tuple[Vector, Signs] | None,
    ) -> NewtonStep:
        """Make a step of ``ProxNewton``, updating the arrays; ``varied`` are factors and signs.

        Where H is written out at once, it is estimated from one of ``stride`` blocks of samples.
        """


def with_l1_or_few_weights(problem: Problem) -> str:
    """There is an L1 penalty, or the weights are few."""
    objective, l1 = cast(NewtonSteps, problem.objective), problem.penalty.l1
    if l1 or objective.has_small_gram(l1):
        return ""
    return f"needs an L1 penalty, but l1=0, and {problem.n_features:,} weights are more than 500; give an l1 > 0"


@dataclass(frozen=True, kw_only=True)
class ProxNewtonState(BatchState):
    """State of proximal Newton.

    Attributes:
        scores: x . w of each sample, shape (n_samples,), or of each alternative of choices; empty with three classes or
            more.
        decrease: of the objective in the last step, nats; infinite before the first.
        ratio: of this decrease to the one before; infinite if it tells nothing.
        passes: effective passes, evaluations in line searches included.
        working_set: number of weights in the last W.
        sweeps: of coordinate descent over the working sets, so far.
        stride: the next H is estimated from one block of samples in ``stride``.
        l1: strength of the L1 penalty in the next step, if it is larger than the problem's.
    """

    scores: Annotated[Vector, Sizes((None,))]
    stride: Annotated[int, Sizes(least=1)] = 1
    l1: float = 0.0
    decrease: float = math.inf
    ratio: float = math.inf
    passes: float = 1.0
    working_set: int = 0
    sweeps: int = 0


@dataclass(frozen=True)
class ProxNewton:
    """Proximal Newton for classifiers; fast where few features matter, and where there are few.

    A step minimises g . delta + 1/2 delta' H delta + penalty(w + delta) over W, the weights that are not 0 and as many
    others with the largest violations, by sweeps of coordinate descent, and then searches along delta.

    Source: Yuan, Ho & Lin, JMLR 13 (2012), Algorithms 3 and 4 and Eq. 20; working set that doubles: Massias, Gramfort &
    Salmon, ICML 2018, section 4.

    Departures:

    - The columns are swept from the first to the last.
    - The subproblem is solved to ``precision`` times its initial violation. With three classes or more, each sweep also
      adds to the weights of a column in all classes the number that makes their penalty least, as H is flat there.
    - The intercept is a coordinate without penalty.
    - Weights may have factors of the penalty and signs: a coordinate with a sign stays on its side of 0.
    - With at most 500 weights, H is written out: with two classes if X is dense or there is no L1 penalty. Without an
      L1 penalty the step is then the solution of a system of equations. More weights need an L1 penalty; with three
      classes or more, H is then written out over W. With at most 500 weights, H is at first estimated from some samples
      (sub-sampled Newton: Byrd, Chin, Neveitt & Nocedal, SIAM J. Optimization 21, 2011): where a step needs a line
      search or brings little of the decrease that it promises, the next one looks at four times as many.
    - Of choices among alternatives, H is written out over W at once, as with three classes or more.
    - H is raised where samples are far on the wrong side (bound: Jaakkola & Jordan, Statistics and Computing 10, 2000).
    - With two classes, sparse data and an L1 penalty, a step continues past w + delta while that decreases F: on almost
      separable data, far from the optimum, whole steps are too short. From w = 0, the first steps are with a stronger
      L1 penalty, which falls to a twentieth from one to the next: their working sets are small. Where sweeps are slow,
      conjugate gradients over the weights that are not 0 take turns with them.

    Cost: one gradient per step, and some sweeps over the columns of W on one thread.

    Converged when a step decreases F, the penalised objective, by at most tolerance * |F|, and all further steps would
    not bring more if each brought the same share of the one before. Where that share hardly falls although there is a
    penalty, they count as 1,000 times that step, and after a step whose sweeps ran out as 100 times. Converged also
    when a step that does not decrease F promises at most 1e-10 |F|, which rounding errors can hide; a whole step that
    promises even less is made if it lowers the violation. Where H is written out, |F| counts as 1e-6 nats a sample at
    least; elsewhere a violation <= gradient_tolerance * max(1, |w|) and 1e-4 |F| / |w| is enough, too.

    Args:
        tolerance: bound on the relative decrease of a step, and of all further ones; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        precision: fraction of its violation to which a subproblem is solved, in (0, 1).
        max_sweeps: most sweeps of coordinate descent in a step, >= 1.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective is not a classifier, or has
            more weights than the departures allow.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import ProxNewton
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=ProxNewton()).fit(X, y).result_.status.name
        'CONVERGED'
    """

    tolerance: float = 1e-6
    gradient_tolerance: float = 1e-6
    precision: float = 0.1
    max_sweeps: int = 1000

    needs: ClassVar[Needs] = Needs(
        objective=(NewtonSteps,), conditions=(with_l1_or_few_weights, intercept_alone_is_spared), varied=True
    )

    def __post_init__(self) -> None:
        check_tolerances(self.tolerance, self.gradient_tolerance)
        real_number("precision", self.precision, "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
        whole_number("max_sweeps", self.max_sweeps, 1, 10**9)

    def init(self, problem: Problem, w0: Vector) -> ProxNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: see the class.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        w = np.array(w0, dtype=np.float64)
        objective = cast(NewtonSteps, problem.objective)
        nll, scores, gradient = objective.start(w)
        value, violation = problem.penalised(w, nll, gradient)
        check_numbers(value, violation)
        is_small = objective.has_small_gram(problem.penalty.l1)
        stride = max(1, objective.n_samples // (PER_COLUMN * w.size)) if is_small else 1
        state = ProxNewtonState(
            w=w,
            scores=scores,
            gradient=gradient,
            objective=value,
            nll=nll,
            violation=violation,
            stride=stride,
            l1=_first_l1(problem, w, gradient),
        )
        return replace(state, status=self._status(problem, state))

    def step(self, problem: Problem, state: ProxNewtonState) -> ProxNewtonState:
        """Make a step; ``state`` is left as it was."""
        objective, penalty = cast(NewtonSteps, problem.objective), problem.penalty
        w, scores, gradient = state.w.copy(), state.scores.copy(), state.gradient.copy()
        done = objective.newton_step(
            w,
            scores,
            gradient,
            l1=max(state.l1, penalty.l1),
            l2=penalty.l2,
            precision=self.precision,
            sweeps=self.max_sweeps,
            least=LEAST,
            stride=state.stride,
            varied=_varied(problem.separable.strengths),
        )
        is_sampled, is_stronger = state.stride > 1, state.l1 > penalty.l1
        if (is_sampled or is_stronger) and not done.moved:
            return self.step(problem, replace(state, stride=1, l1=state.l1 / FALL))
        iteration, sweeps = state.iteration + 1, state.sweeps + done.sweeps
        if not done.moved:
            at_rounding = done.promised <= HIDDEN * abs(state.objective)
            status = Status.CONVERGED if at_rounding else Status.LINE_SEARCH_FAILED
            return replace(state, iteration=iteration, working_set=done.working_set, sweeps=sweeps, status=status)
        value, violation = problem.penalised(w, done.nll, gradient)
        decrease = state.objective - value
        if decrease <= 0.0 and violation >= state.violation:
            # Rounding errors hid what the step promised, and there was nothing to gain.
            return replace(
                state, iteration=iteration, working_set=done.working_set, sweeps=sweeps, status=Status.CONVERGED
            )
        following = ProxNewtonState(
            w=w,
            gradient=gradient,
            objective=value,
            nll=done.nll,
            violation=violation,
            gradient_evaluations=state.gradient_evaluations + 1,
            iteration=iteration,
            scores=scores,
            stride=state.stride,
            l1=state.l1 / FALL,
            decrease=decrease,
            ratio=decrease / state.decrease if state.decrease > 0.0 else math.inf,
            passes=state.passes + done.trials,
            working_set=done.working_set,
            sweeps=sweeps,
        )
        if is_sampled and (done.trials > 1 or decrease < LITTLE * done.promised):
            return replace(following, stride=max(1, state.stride // 4))
        before = state.decrease if done.sweeps < self.max_sweeps else 0.0
        status = Status.RUNNING if is_stronger else self._status(problem, following, before, state.ratio)
        return following if status is Status.RUNNING else replace(following, status=status)

    def _status(
        self, problem: Problem, state: ProxNewtonState, before: float = math.inf, ratio: float = math.inf
    ) -> Status:
        """Return the status at a state.

        Args:
            problem: objective and penalty.
            state: the state.
            before: the decrease in the last step but one, 0 if it tells nothing.
            ratio: of that decrease to the one before it.
        """
        decrease = state.decrease
        # The step of a small Gram matrix does not depend on the units of the columns, and neither does its end.
        little, size = 0.0, abs(state.objective)
        objective = cast(NewtonSteps, problem.objective)
        if not objective.has_small_gram(problem.penalty.l1):
            norm = math.sqrt(problem.penalty.norms(state.w)[1])
            little = least_violation(state.objective, norm, self.gradient_tolerance)
        elif decrease < self.tolerance:
            size += NEAR_ZERO * float(objective.weights.sum())
        # On tiny columns the derivative by the intercept's weight is small far from the optimum.
        if state.violation <= little and problem.violation(state.w, state.gradient, state.violation) <= little:
            return Status.CONVERGED
        ahead = _times_ahead(decrease, before)
        has_penalty = problem.penalty.l1 > 0.0 or problem.penalty.l2 > 0.0
        if has_penalty and max(SLOW, STEADY * ratio) <= state.ratio < math.inf:
            ahead = FAR_AHEAD
        if self.tolerance > 0.0 and decrease * max(1.0, ahead) <= self.tolerance * size:
            return Status.CONVERGED
        return Status.RUNNING


def _varied(strengths: Strengths) -> tuple[Vector, Signs] | None:
    """Return the factors and signs of the weights; None if all weights are alike."""
    return None if len(strengths) == 3 else (strengths[3], strengths[4])


def _times_ahead(decrease: float, before: float) -> float:
    """Return the sum of all further decreases, over the last one, if each is the same share of the one before."""
    return decrease / max(before - decrease, decrease / MOST_AHEAD) if 0.0 < decrease < math.inf else 0.0


def _first_l1(problem: Problem, w: Vector, gradient: Vector) -> float:
    """Return the strength of the L1 penalty in the first step; 0 for the problem's own."""
    objective, penalty = cast(NewtonSteps, problem.objective), problem.penalty
    if not penalty.l1 or objective.is_dense or objective.n_outputs > 1 or w.any():
        return 0.0
    return penalty.largest(gradient[: w.size - penalty.unpenalised]) / FALL


# More times the last decrease than this are not expected ahead.
MOST_AHEAD = 100.0
# Newton steps whose decreases fall slowly and no faster than before, as if by 1 / e, take a sample with a huge value
# ever further to its right side. Once it weighs no more, the others may bring much: so many times the last decrease.
# Without a penalty such steps have no end where classes are separable in part.
SLOW, STEADY, FAR_AHEAD = 0.3, 0.9, 1000.0
# At an optimum, a step that no line search can take promises at most this share of F: the slope, too, has rounding
# errors, which long steps along columns that are much alike multiply.
HIDDEN = 1e-10
# On separable data the objective falls towards 0, in every step by the same share. It counts as this many nats a sample
# at least.
NEAR_ZERO = 1e-6
# By how much the L1 penalty of the first steps falls from one to the next.
FALL = 20.0
# Columns in the smallest working set.
LEAST = 50
# Samples for each column from which H is estimated at first.
PER_COLUMN = 100
# A step that brings less than this share of what it promises, half of which is usual, had a poor H.
LITTLE = 0.3
