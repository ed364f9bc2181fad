"""The limited-memory approximation H of the inverse Hessian, and the solver state built on it.

Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 7.4 (two-loop recursion) and Eq. 7.20
(scaling gamma). The recursion runs on inner products instead of vectors, as in Chen, Wang & Zhou (NIPS 2014,
"Large-scale L-BFGS using MapReduce"): with S'Y and Y'Y kept, a step takes two sweeps over the history, one for the
inner products of the newest y and of v with all rows, one for the combination of the rows. The pairs are kept in
bfloat16: H remains positive definite, being formed exactly from the rounded pairs; on text data the same number of
iterations is needed as with float64, and a quarter of the memory is swept, which is what a step's time goes into.

Symbols: s = w_new - w, y = the change of the gradient of the smooth part, v the pseudo-gradient at w_new, d the
direction, rho = 1 / s.y, gamma = s.y / y.y, alpha and beta as in Algorithm 7.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from .. import vectors
from ..errors import ObjectiveError
from ..options import real_number, whole_number
from ..penalty import ElasticNet
from ..problem import Problem
from ..result import Status
from ..vectors import Rows, Vector

__all__ = ["History", "LimitedMemory", "QuasiNewtonState", "Trial", "stopping_status"]

# Byrd, Lu, Nocedal & Zhu (1995), Eq. 3.9: a pair is used only if s.y > EPSILON * y.y.
EPSILON = 2.2e-16
# A predicted decrease of this fraction of |F| can drown in the rounding errors of F, a sum of many terms.
ROUNDING = 1024 * EPSILON
# Most pairs, and most evaluations of a line search, that can be asked for.
MOST = 1000
# The mean relative decrease is taken over this many steps.
WINDOW = 5


@dataclass
class History:
    """The newest pairs (s, y), at most ``memory`` of them, in a ring of memory + 1 rows.

    The spare row takes the next pair, so ``advance`` leaves the history that it is called on intact until the
    history that it returns is advanced in turn.

    Attributes:
        S: rows s, shape (memory + 1, n), bfloat16.
        Y: rows y, shape (memory + 1, n), bfloat16.
        SY: SY[i, j] = s_i . y_j for live rows with s_i not newer than y_j, shape (memory + 1, memory + 1).
        YY: YY[i, j] = y_i . y_j for live rows, likewise.
        Sv: inner products of the live rows of S, in order, with the v of the last ``advance``.
        Yv: those of Y.
        live: rows in use, oldest first.
        spare: the row that the next pair goes to.
    """

    S: Rows
    Y: Rows
    SY: Vector
    YY: Vector
    Sv: Vector = field(default_factory=lambda: np.empty(0))
    Yv: Vector = field(default_factory=lambda: np.empty(0))
    live: tuple[int, ...] = ()
    spare: int = 0

    @classmethod
    def empty(cls, memory: int, n: int) -> History:
        """Return a history without pairs for vectors of length n; its pages are not touched before they are used."""
        rows, gram = (memory + 1, n), (memory + 1, memory + 1)
        return cls(np.zeros(rows, np.uint16), np.zeros(rows, np.uint16), np.zeros(gram), np.zeros(gram))

    @property
    def memory(self) -> int:
        """Most pairs kept."""
        return len(self.SY) - 1

    def advance(
        self, w_new: Vector, g_new: Vector, w: Vector, g: Vector, penalty: ElasticNet
    ) -> tuple[History, float, float, float]:
        """Take up the pair of two points and their NLL gradients; v is the pseudo-gradient at the new one.

        The oldest pair goes if the history is full. A pair without positive curvature, s.y <= 2.2e-16 y.y, is skipped:
        H stays positive definite.

        Returns:
            The history that follows, the max-norm of v, its Euclidean norm squared, and (w_new - w) . v.
        """
        k, spare = len(self.live), self.spare
        products = np.empty((2, 2 * k + 2))
        violation, squared, slope = vectors.secant_pair(
            w_new, g_new, w, g, penalty.strengths, self.S, self.Y, self.live, spare, products
        )
        on_s, on_y = [*range(k), 2 * k], [*range(k, 2 * k), 2 * k + 1]
        sy, yy = products[1, 2 * k :]
        if not (EPSILON * yy < sy < math.inf and 0.0 < yy < math.inf):
            history = replace(self, Sv=products[0, on_s[:-1]], Yv=products[0, on_y[:-1]])
            return history, violation, squared, slope
        first = max(k + 1 - self.memory, 0)
        on_s, on_y, live = on_s[first:], on_y[first:], (*self.live, spare)[first:]
        rows, SY, YY = list(live), self.SY.copy(), self.YY.copy()
        SY[rows, spare] = products[1, on_s]
        YY[rows, spare] = YY[spare, rows] = products[1, on_y]
        history = replace(
            self,
            SY=SY,
            YY=YY,
            Sv=products[0, on_s],
            Yv=products[0, on_y],
            live=live,
            spare=next(row for row in range(self.memory + 1) if row not in live),
        )
        return history, violation, squared, slope

    def cleared(self) -> History:
        """Return the history without its pairs."""
        return replace(self, Sv=np.empty(0), Yv=np.empty(0), live=())

    def step(
        self, w: Vector, g: Vector, penalty: ElasticNet, alpha: float, out: Vector
    ) -> tuple[float, float, float, float]:
        """Write w + alpha d to ``out``, with d = -H v and v the pseudo-gradient at w, which ``advance`` came to last.

        H is the identity while there are no pairs. With L1 both are projected, see ``vectors.quasi_newton_step``.

        Returns:
            d . v, v . (out - w), |out|_1 and |out|_2 squared, the norms of what bears a penalty.
        """
        on_s, on_y, gamma = self._coefficients() if self.live else (np.empty(0), np.empty(0), 1.0)
        return vectors.quasi_newton_step(
            w, g, penalty.strengths, self.S, -on_s, self.Y, -on_y, self.live, -gamma, alpha, out
        )

    def _coefficients(self) -> tuple[Vector, Vector, float]:
        """Return the weights of the live rows of S and Y and of v in H v (Algorithm 7.4 on inner products)."""
        live = np.ix_(self.live, self.live)
        SY, YY = self.SY[live].tolist(), self.YY[live].tolist()  # a few numbers: Python's own are quicker than arrays
        m, gamma = len(SY), SY[-1][-1] / YY[-1][-1]
        Sv, Yv = self.Sv.tolist(), self.Yv.tolist()
        alpha, beta = [0.0] * m, [0.0] * m
        for i in reversed(range(m)):
            alpha[i] = (Sv[i] - sum(alpha[j] * SY[i][j] for j in range(i + 1, m))) / SY[i][i]
        for i in range(m):
            r_y = gamma * (Yv[i] - sum(alpha[j] * YY[j][i] for j in range(m)))
            r_y += sum((alpha[j] - beta[j]) * SY[j][i] for j in range(i))
            beta[i] = r_y / SY[i][i]
        return np.subtract(alpha, beta), -gamma * np.array(alpha), gamma


@dataclass
class QuasiNewtonState:
    """State of L-BFGS and OWL-QN; saving it (pickle) is a checkpoint.

    A step writes to the spare arrays only and returns a state with them swapped in. So a step that is interrupted
    leaves its argument intact, and a step that is finished uses its argument up.

    Attributes:
        w: weights, shape (n,).
        gradient: of the unpenalised NLL at w, shape (n,).
        objective: penalised, nats.
        nll: unpenalised, nats.
        violation: max-norm of the pseudo-gradient of the penalised objective at w.
        norm: its Euclidean norm.
        history: pairs (s, y).
        gradient_evaluations: so far.
        iteration: steps taken.
        status: RUNNING, CONVERGED or LINE_SEARCH_FAILED.
        recent: objectives of the last steps, at most 6, the newest last.
        spare_w: scratch, shape (n,).
        spare_gradient: scratch, shape (n,).
    """

    w: Vector
    gradient: Vector
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
    history: History


class LimitedMemory:
    """Options, start, step and stopping rule that L-BFGS and OWL-QN share; they differ in the line search.

    Args:
        memory: stored (s, y) pairs, >= 1.
        tolerance: see the solvers; >= 0.
        gradient_tolerance: see the solvers; >= 0.
        max_line_search: most evaluations in one line search, >= 1.

    Raises:
        OptionError: an option is out of its range.
    """

    def __init__(self, memory: int, tolerance: float, gradient_tolerance: float, max_line_search: int) -> None:
        bound = "a finite number >= 0 (0 switches the test off)"
        self.memory = whole_number("memory", memory, 1, MOST)
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
        return self.start(problem, w, nll, gradient, History.empty(self.memory, w.size))

    def start(
        self, problem: Problem, w: Vector, nll: float, gradient: Vector, history: History, evaluations: int = 1
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

    Args:
        recent: objectives of the last steps, at most WINDOW + 1, the newest last.
        violation: max-norm of the pseudo-gradient.
        w_norm: Euclidean norm of the weights.
        tolerance: bound on the decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation, over max(1, w_norm); 0 asks for an exact zero.
    """
    if violation == 0.0 or violation <= gradient_tolerance * max(1.0, w_norm):
        return Status.CONVERGED
    decrease = (recent[0] - recent[-1]) / WINDOW
    if tolerance > 0.0 and len(recent) > WINDOW and decrease <= tolerance * abs(recent[-1]):
        return Status.CONVERGED
    return Status.RUNNING
