"""Dual coordinate descent for binary classifiers with an L2 penalty.

Symbols: y_i = +-1, C_i = weight / l2, alpha_i in (0, C_i) the dual variables, w = sum over i of alpha_i y_i x_i.
The steps themselves are native: `native/src/classifier/dual.rs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Protocol, cast

import numpy as np

from ..options import real_number, seed_number
from ..problem import Numbers, Problem
from ..result import Status
from ..vectors import Vector, dot
from .common.classifier import TwoClasses, two_classes
from .common.conditions import no_l1, with_l2
from .common.needs import Needs, check
from .common.per_sample import PassState, after_pass, check_finite, visiting, with_gradient
from .common.state_schema import Sizes

__all__ = ["DualCD", "DualCDState", "DualPasses"]

# The first alpha_i is FIRST * C_i, but at most LARGEST_FIRST (Yu, Huang & Lin 2011, section 3.2).
FIRST, LARGEST_FIRST = 1e-3, 1e-8
# Log-odds are made right to a tenth of what they were wrong by in the last pass, between these bounds.
NEAREST, NEAR = 1e-12, 1e-2


class DualPasses(TwoClasses, Protocol):
    """A classifier of two classes that can make passes of dual coordinate descent."""

    @property
    def intercept(self) -> float:
        """Value of the intercept's column; 0 without an intercept."""

    def dual_start(self, alpha: Vector) -> tuple[Vector, Vector]:
        """Return the weights that dual variables stand for, and the squared norms of the samples."""

    def dual_pass(self, w: Vector, alpha: Vector, squares: Vector, visits: Numbers, l2: float, near: float) -> float:
        """Make a pass of ``DualCD`` over the samples ``visits``, updating w and alpha.

        Log-odds within ``near`` of their optimum are left as they are.

        Returns:
            The largest difference between a sample's score and the log-odds of its dual variable.
        """


def without_intercept(problem: Problem) -> str:
    """The classifier has no intercept."""
    intercept = cast(DualPasses, problem.objective).intercept
    return "does not support an unpenalised intercept; give fit_intercept=False (--no-intercept)" if intercept else ""


@dataclass(frozen=True, kw_only=True)
class DualCDState(PassState):
    """State of dual coordinate descent between two passes.

    Attributes:
        alpha: alpha_i and its log-odds, log(alpha_i / (C_i - alpha_i)), of every sample, shape (n_samples, 2).
        squares: |x_i|^2, shape (n_samples,).
        apart: the largest |y_i x_i . w + log(alpha_i / (C_i - alpha_i))| met in the last pass.
        whole_gradient: of the unpenalised NLL at w; None if the state was not measured.
        gap: the objective less the dual objective at alpha, nats; None if the state was not measured.
    """

    alpha: Annotated[Vector, Sizes(("n_samples", 2), finite=False)]
    squares: Annotated[Vector, Sizes(("n_samples",))]
    apart: float = np.inf
    whole_gradient: Vector | None = None
    gap: float | None = None


@dataclass(frozen=True)
class DualCD:
    """Dual coordinate descent for binary classifiers with an L2 penalty; needs fit_intercept=False (--no-intercept).

    Source: Yu, Huang & Lin, Machine Learning 85 (2011), sections 2.2 and 3, Algorithm 3.

    Departures:

    - The one-variable problems are solved over the log-odds, in place of Algorithm 4: to 1e-2 of them, or to a tenth of
      ``apart`` of the last pass if that is less.
    - With starting weights other than 0, alpha_i starts from the probability that they give to the other class.

    Cost: a pass costs as much as two evaluations of the objective, on one thread.

    Converged when in a pass no sample's score differs from the log-odds of its dual variable by more than
    ``tolerance``.

    Args:
        tolerance: bound on that difference, >= 0; 0 continues to the limits.
        seed: of the sequences of visits, a new one for each pass, >= 0.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective is not a classifier of
            two classes without intercept, when there is an L1 penalty, or no L2 penalty.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import DualCD
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=DualCD(), fit_intercept=False).fit(X, y).result_.status.name
        'CONVERGED'
    """

    tolerance: float = 1e-2
    seed: int = 0

    needs: ClassVar[Needs] = Needs(objective=(DualPasses,), conditions=(two_classes, without_intercept, no_l1, with_l2))

    def __post_init__(self) -> None:
        real_number("tolerance", self.tolerance, "a finite number >= 0", lambda x: x >= 0.0)
        seed_number("seed", self.seed)

    def init(self, problem: Problem, w0: Vector) -> DualCDState:
        """Return the state before the first pass."""
        check(self, problem)
        objective = cast(DualPasses, problem.objective)
        w, bound = np.array(w0, dtype=np.float64), objective.weights / problem.penalty.l2
        alpha = np.minimum(FIRST * bound, LARGEST_FIRST)
        signs = np.where(objective.targets == 1, 1.0, -1.0)
        if w.any():
            other = 0.5 - signs * (objective.probabilities(w).ravel() - 0.5)
            alpha = np.clip(bound * other, alpha, bound - alpha)
        with np.errstate(divide="ignore", invalid="ignore"):  # a sample without weight has no dual variable
            pairs = np.column_stack([alpha, np.log(alpha) - np.log(bound - alpha)])
        w, squares = objective.dual_start(pairs)
        return DualCDState(w=w, n_samples=int(objective.n_samples), alpha=pairs, squares=squares)

    def step(self, problem: Problem, state: DualCDState) -> DualCDState:
        """Make a pass over the samples in a new sequence; ``state`` is left as it was."""
        objective = cast(DualPasses, problem.objective)
        w, alpha, n = state.w.copy(), state.alpha.copy(), state.n_samples
        visits = visiting(self.seed, state.iteration, n)
        near = max(min(NEAR, state.apart / 10.0), NEAREST)
        apart = objective.dual_pass(w, alpha, state.squares, visits, problem.penalty.l2, near)
        check_finite(1.0, w)
        passed = replace(state, w=w, alpha=alpha, apart=apart, whole_gradient=None, gap=None)
        following = after_pass(passed, n)
        return replace(following, status=Status.CONVERGED) if apart <= self.tolerance else following

    def measure(self, problem: Problem, state: DualCDState) -> DualCDState:
        """Return the state with objective and violation, which the passes do not need: one gradient evaluation."""
        if not math.isnan(state.objective):
            return state
        objective = cast(DualPasses, problem.objective)
        nll, _, gradient = objective.start(state.w)
        measured = with_gradient(problem, state, nll, gradient)
        # w is the best for alpha: what it costs in the dual is the L2 penalty once more.
        dual = _entropy(state.alpha[:, 1], objective.weights) - (measured.objective - nll)
        return replace(measured, whole_gradient=gradient, gap=max(measured.objective - dual, 0.0))


def _entropy(log_odds: Vector, weights: Vector) -> float:
    """Return the sum over samples of weight times the entropy of two classes with these log-odds, nats."""
    size = np.abs(log_odds[weights > 0.0])
    return dot(weights[weights > 0.0], np.log1p(np.exp(-size)) + size / (1.0 + np.exp(size)))
