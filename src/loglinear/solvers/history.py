"""The limited-memory approximation H of the inverse Hessian, and the solver state built on it.

Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 7.4 (two-loop recursion) and Eq. 7.20
(scaling gamma). The recursion runs on inner products instead of vectors, as in Chen, Wang & Zhou (NIPS 2014,
"Large-scale L-BFGS using MapReduce"): with S'Y and Y'Y kept, H v takes two sweeps over the history, one for the
inner products of the newest y and of v with all rows, one for the combination of the rows. The pairs are kept in
float32: H remains positive definite, being formed exactly from the rounded pairs, and half as much memory is swept.

Symbols: s = w_new - w, y = the change of the gradient of the smooth part, rho = 1 / s.y, gamma = s.y / y.y, alpha
and beta as in Algorithm 7.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from .. import vectors
from ..errors import ObjectiveError, OptionError
from ..problem import Problem
from ..result import Status
from ..vectors import Rows, Vector

__all__ = ["History", "LimitedMemory", "QuasiNewtonState", "Trial"]

# Byrd, Lu, Nocedal & Zhu (1995), Eq. 3.9: a pair is used only if s.y > EPSILON * y.y.
EPSILON = 2.2e-16
# A predicted decrease of this fraction of |F| can drown in the rounding errors of F, a sum of many terms.
ROUNDING = 1024 * EPSILON
# The mean relative decrease is taken over this many steps.
WINDOW = 5


@dataclass
class History:
    """The newest pairs (s, y), at most ``memory`` of them, in a ring of memory + 1 rows.

    The spare row takes the next pair, so ``append`` leaves the history that it is called on intact until the
    history that it returns is appended to in turn.

    Attributes:
        S: rows s, shape (memory + 1, n).
        Y: rows y, shape (memory + 1, n).
        SY: SY[i, j] = s_i . y_j for live rows with s_i not newer than y_j, shape (memory + 1, memory + 1).
        YY: YY[i, j] = y_i . y_j for live rows, likewise.
        live: rows in use, oldest first.
        spare: the row that the next pair goes to.
        fresh: whether SY and YY still lack the newest pair.
    """

    S: Rows
    Y: Rows
    SY: Vector
    YY: Vector
    live: tuple[int, ...] = ()
    spare: int = 0
    fresh: bool = False

    @classmethod
    def empty(cls, memory: int, n: int) -> History:
        """Return a history without pairs for vectors of length n; its pages are not touched before they are used."""
        rows, gram = (memory + 1, n), (memory + 1, memory + 1)
        return cls(np.zeros(rows, np.float32), np.zeros(rows, np.float32), np.zeros(gram), np.zeros(gram))

    @property
    def memory(self) -> int:
        """Most pairs kept."""
        return len(self.SY) - 1

    def append(self, w_new: Vector, w: Vector, g_new: Vector, g: Vector, l2: float) -> History:
        """Return the history with the pair of two points and their NLL gradients, the oldest dropped if it is full.

        A pair without positive curvature, s.y <= 2.2e-16 y.y, is skipped: H stays positive definite.
        """
        sy, yy = vectors.difference_pair(w_new, w, g_new, g, l2, self.S[self.spare], self.Y[self.spare])
        if not (EPSILON * yy < sy < math.inf and 0.0 < yy < math.inf):
            return self
        if self.fresh:  # the product that would have taken this pair's inner products was never asked for
            self._complete(self.Y[self.live[-1]].astype(np.float64))
        live = (*self.live[-(self.memory - 1) :], self.spare) if self.memory > 1 else (self.spare,)
        spare = next(row for row in range(self.memory + 1) if row not in live)
        return replace(self, live=live, spare=spare, fresh=True)

    def cleared(self) -> History:
        """Return the history without its pairs."""
        return replace(self, live=(), fresh=False)

    def product(self, v: Vector, out: Vector, factor: float = 1.0, *, aligned: bool = False) -> float:
        """Write factor * H v to ``out`` and return out . v; H is the identity while there are no pairs.

        With ``aligned``, entries of the product whose sign is not that of -v are set to zero.
        """
        on_s, on_y, gamma = np.empty(0), np.empty(0), 1.0
        if self.live:
            on_s, on_y, gamma = self._coefficients(*self._complete(v))
        on_s, on_y = factor * on_s, factor * on_y
        return vectors.combine(self.S, on_s, self.Y, on_y, self.live, v, factor * gamma, out, aligned=aligned)

    def _complete(self, v: Vector) -> tuple[Vector, Vector]:
        """Return S v and Y v for the live rows, and enter the newest pair into SY and YY in the same sweep."""
        live, newest = list(self.live), self.live[-1]
        products = np.empty((1 + self.fresh, 2, len(live)))
        vectors.dots(self.S, self.Y, self.live, v, self.Y[newest] if self.fresh else None, products)
        if self.fresh:
            self.SY[live, newest] = products[1, 0]
            self.YY[live, newest] = self.YY[newest, live] = products[1, 1]
            self.fresh = False
        return products[0, 0], products[0, 1]

    def _coefficients(self, Sv: Vector, Yv: Vector) -> tuple[Vector, Vector, float]:
        """Return the weights of the live rows of S and Y and of v in H v (Algorithm 7.4 on inner products)."""
        live = np.array(self.live)
        SY, YY = self.SY[np.ix_(live, live)], self.YY[np.ix_(live, live)]
        rho = 1.0 / SY.diagonal()
        gamma = float(SY[-1, -1] / YY[-1, -1])
        alpha, beta = np.zeros(len(live)), np.zeros(len(live))
        for i in reversed(range(len(live))):
            alpha[i] = rho[i] * (Sv[i] - alpha[i + 1 :] @ SY[i, i + 1 :])
        for i in range(len(live)):
            r_y = gamma * (Yv[i] - alpha @ YY[:, i]) + (alpha - beta)[:i] @ SY[:i, i]
            beta[i] = rho[i] * r_y
        return alpha - beta, -gamma * alpha, gamma


@dataclass
class QuasiNewtonState:
    """State of L-BFGS and OWL-QN; saving it (pickle) is a checkpoint.

    A step writes to the spare arrays only and returns a state with them swapped in. So a step that is interrupted
    leaves its argument intact, and a step that is finished uses its argument up.

    Attributes:
        w: weights, shape (n,).
        gradient: of the unpenalised NLL at w, shape (n,).
        pseudo_gradient: of the penalised objective at w, shape (n,); the gradient when there is no L1.
        objective: penalised, nats.
        nll: unpenalised, nats.
        violation: max-norm of ``pseudo_gradient``.
        norm: Euclidean norm of ``pseudo_gradient``.
        history: pairs (s, y).
        gradient_evaluations: so far.
        iteration: steps taken.
        status: RUNNING, CONVERGED or LINE_SEARCH_FAILED.
        recent: objectives of the last steps, at most 6, the newest last.
        spare_w: scratch, shape (n,).
        spare_gradient: scratch, shape (n,).
        spare_pseudo_gradient: scratch, shape (n,).
        direction: scratch, shape (n,).
    """

    w: Vector
    gradient: Vector
    pseudo_gradient: Vector
    objective: float
    nll: float
    violation: float
    norm: float
    history: History
    gradient_evaluations: int
    iteration: int
    status: Status
    recent: tuple[float, ...]
    spare_w: Vector
    spare_gradient: Vector
    spare_pseudo_gradient: Vector
    direction: Vector

    @property
    def passes(self) -> float:
        """Effective passes over the data: a batch method looks at every sample in every evaluation."""
        return float(self.gradient_evaluations)


@dataclass
class Trial:
    """A point that a line search looked at.

    w, gradient and pseudo-gradient of the point looked at last are in the state's spare arrays.

    Attributes:
        objective: penalised, nats; infinite if it or its gradient is not finite.
        nll: unpenalised, nats.
        violation: max-norm of the pseudo-gradient.
        norm: Euclidean norm of the pseudo-gradient.
        w_norm: Euclidean norm of w.
        alpha: step.
        slope: derivative of the objective along the direction, where the line search asks for it.
    """

    objective: float
    nll: float = math.nan
    violation: float = math.nan
    norm: float = math.nan
    w_norm: float = math.nan
    alpha: float = 0.0
    slope: float = math.nan


class LimitedMemory:
    """Options, start and stopping rule that L-BFGS and OWL-QN share.

    Args:
        memory: stored (s, y) pairs, >= 1.
        tolerance: see the solvers; >= 0.
        gradient_tolerance: see the solvers; >= 0.
        max_line_search: most evaluations in one line search, >= 1.

    Raises:
        OptionError: an option is out of its range.
    """

    def __init__(self, memory: int, tolerance: float, gradient_tolerance: float, max_line_search: int) -> None:
        for name, count in (("memory", memory), ("max_line_search", max_line_search)):
            if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
                message = f"{name}={count!r} is not a count; give a whole number of at least 1"
                raise OptionError(message)
        for name, bound in (("tolerance", tolerance), ("gradient_tolerance", gradient_tolerance)):
            if isinstance(bound, bool) or not isinstance(bound, (int, float)) or not 0.0 <= bound < math.inf:
                message = f"{name}={bound!r} is not a tolerance; give a finite number >= 0 (0 switches the test off)"
                raise OptionError(message)
        self.memory = int(memory)
        self.tolerance = float(tolerance)
        self.gradient_tolerance = float(gradient_tolerance)
        self.max_line_search = int(max_line_search)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        w = np.array(w0, dtype=np.float64)
        gradient, pseudo_gradient = np.zeros_like(w), np.zeros_like(w)
        nll = problem.evaluate(w, gradient)
        l1_norm, squared = vectors.norms(w)
        objective = nll + problem.penalty.value_from_norms(l1_norm, squared)
        penalty = problem.penalty
        violation, norm2 = vectors.pseudo_gradient(w, gradient, penalty.l1, penalty.l2, pseudo_gradient)
        for name, number in (("objective", objective), ("gradient's largest entry", violation)):
            if not math.isfinite(number):
                message = f"the {name} is {number} at the starting point; check the data, or start from other weights"
                raise ObjectiveError(message)
        return QuasiNewtonState(
            w=w,
            gradient=gradient,
            pseudo_gradient=pseudo_gradient,
            objective=objective,
            nll=nll,
            violation=violation,
            norm=math.sqrt(norm2),
            history=History.empty(self.memory, w.size),
            gradient_evaluations=1,
            iteration=0,
            status=self._status((objective,), violation, math.sqrt(squared)),
            recent=(objective,),
            spare_w=np.zeros_like(w),
            spare_gradient=np.zeros_like(w),
            spare_pseudo_gradient=np.zeros_like(w),
            direction=np.zeros_like(w),
        )

    def _first_step(self, state: QuasiNewtonState) -> float:
        """Return the step to try first: 1 once H has a scale, 1 / |v| while it is the identity."""
        return 1.0 if state.history.live or state.norm == 0.0 else 1.0 / state.norm

    def _line_search(
        self, problem: Problem, state: QuasiNewtonState, alpha: float, slope: float
    ) -> tuple[Trial | None, int]:
        """Search along ``state.direction`` from alpha; return the point found, if any, and the evaluations spent."""
        raise NotImplementedError

    def _advance(self, problem: Problem, state: QuasiNewtonState, slope: float) -> QuasiNewtonState:
        """Search along ``state.direction``; if in vain, drop the history and search along steepest descent once."""
        trial, evaluations = self._line_search(problem, state, self._first_step(state), slope)
        if trial is None:
            vectors.scale(state.pseudo_gradient, -1.0, out=state.direction)
            trial, more = self._line_search(problem, state, 1.0 / state.norm if state.norm else 0.0, -(state.norm**2))
            evaluations += more
            if trial is None:
                return self._stuck(state, -slope, evaluations)
            state = replace(state, history=state.history.cleared())
        return self._moved(problem, state, trial, evaluations)

    def _moved(self, problem: Problem, state: QuasiNewtonState, trial: Trial, evaluations: int) -> QuasiNewtonState:
        """Return the state at the point of ``trial``, with its pair in the history."""
        recent = (*state.recent[-WINDOW:], trial.objective)
        return replace(
            state,
            w=state.spare_w,
            gradient=state.spare_gradient,
            pseudo_gradient=state.spare_pseudo_gradient,
            objective=trial.objective,
            nll=trial.nll,
            violation=trial.violation,
            norm=trial.norm,
            history=state.history.append(
                state.spare_w, state.w, state.spare_gradient, state.gradient, problem.penalty.l2
            ),
            gradient_evaluations=state.gradient_evaluations + evaluations,
            iteration=state.iteration + 1,
            status=self._status(recent, trial.violation, trial.w_norm),
            recent=recent,
            spare_w=state.w,
            spare_gradient=state.gradient,
            spare_pseudo_gradient=state.pseudo_gradient,
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
        if violation == 0.0 or violation <= self.gradient_tolerance * max(1.0, w_norm):
            return Status.CONVERGED
        decrease = (recent[0] - recent[-1]) / WINDOW
        if self.tolerance > 0.0 and len(recent) > WINDOW and decrease <= self.tolerance * abs(recent[-1]):
            return Status.CONVERGED
        return Status.RUNNING
