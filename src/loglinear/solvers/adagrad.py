"""AdaGrad: a separate step size for each weight.

Symbols: g_j the sample's gradient of weight j, G_j the sum of g_j^2 so far, alpha_j = eta / (delta + sqrt(G_j)),
lambda = l2 / n. The updates themselves are native: `native/src/stochastic/adagrad.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from ..options import real_number, seed_number, whole_number
from ..problem import Numbers, PerSample, Problem, Visits
from ..vectors import Vector
from .common.conditions import intercept_alone_is_spared, no_l1
from .common.needs import Needs, check
from .common.per_sample import (
    MOST_PASSES,
    PassState,
    Unmeasured,
    after_pass,
    check_finite,
    check_learning_rate,
    sample_passes,
    visiting,
)
from .common.tuning import rate_by_powers_of_ten

__all__ = ["AdaGrad", "AdaGradState"]


class AdaGradPasses(Visits, Protocol):
    """An objective that can make AdaGrad's passes."""

    def adagrad_pass(
        self, w: Vector, squares: Vector, *, visits: Numbers, rate: float, delta: float, l2: float
    ) -> None:
        """Update w and the G_j in place, sample by sample."""


@dataclass(frozen=True, kw_only=True)
class AdaGradState(PassState):
    """State of AdaGrad between two passes.

    Attributes:
        squares: G_j, shape (n_features,).
        learning_rate: eta in use.
    """

    squares: Vector
    learning_rate: float


@dataclass(frozen=True)
class AdaGrad(Unmeasured):
    """AdaGrad: stochastic gradient descent with a separate step size for each weight, for L2 problems.

    Source: Duchi, Hazan & Singer (2011), composite mirror descent with the diagonal matrix; delta = 1 as in Schmidt
    et al. (2015), section 4.

    Departures, cost, end and errors: see `SG`.

    Args:
        learning_rate: eta > 0; None to choose it.
        delta: added to the root of G_j, > 0.
        passes: passes over the data, >= 1.
        seed: of the sequences of visits, >= 0.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import AdaGrad
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=AdaGrad(learning_rate=0.1, passes=5)).fit(X, y).result_.status.name
        'PASSES_MADE'
    """

    learning_rate: float | None = None
    delta: float = 1.0
    passes: int = 30
    seed: int = 0

    needs: ClassVar[Needs] = Needs(
        objective=(PerSample,), passes=(AdaGradPasses,), conditions=(no_l1, intercept_alone_is_spared)
    )

    def __post_init__(self) -> None:
        check_learning_rate(self.learning_rate)
        real_number("delta", self.delta, "a finite number > 0", lambda x: x > 0.0)
        whole_number("passes", self.passes, 1, MOST_PASSES)
        seed_number("seed", self.seed)

    def init(self, problem: Problem, w0: Vector) -> AdaGradState:
        """Return the state before the first pass, with a learning rate chosen if none is given; w0 is copied."""
        check(self, problem)
        rate = rate_by_powers_of_ten(problem, self)
        w = np.array(w0, dtype=np.float64)
        n = int(problem.objective.n_samples)
        return AdaGradState(w=w, n_samples=n, squares=np.zeros_like(w), learning_rate=rate)

    def step(self, problem: Problem, state: AdaGradState) -> AdaGradState:
        """Make a pass over the samples in a new sequence; ``state`` is left as it was."""
        passes: AdaGradPasses = sample_passes(problem)
        n = state.n_samples
        w, squares = state.w.copy(), state.squares.copy()
        passes.adagrad_pass(
            w,
            squares,
            visits=visiting(self.seed, state.iteration, n, passes.run_ends),
            rate=state.learning_rate,
            delta=self.delta,
            l2=problem.penalty.l2 / n,
        )
        check_finite(state.learning_rate, w, squares)
        return after_pass(replace(state, w=w, squares=squares), n, self.passes)
