"""AdaGrad: a step size of its own for every weight.

Symbols: g_j the sample's gradient of weight j, G_j the sum of g_j^2 so far, alpha_j = eta / (delta + sqrt(G_j)),
lambda = l2 / n. The updates themselves are native: `native/src/stochastic/adagrad.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..options import real_number, whole_number
from ..problem import Problem
from ..vectors import Vector
from .parts.per_sample import (
    MOST_PASSES,
    PassState,
    after_pass,
    check_finite,
    check_learning_rate,
    check_smooth,
    measured,
    stochastic_objective,
)
from .parts.tuning import rate_by_powers_of_ten

__all__ = ["AdaGrad", "AdaGradState"]


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
class AdaGrad:
    """AdaGrad for L2 problems: w_j <- (w_j - alpha_j g_j) / (1 + alpha_j lambda).

    Source: Duchi, Hazan & Singer (2011), composite mirror descent with the diagonal matrix; delta = 1 as in Schmidt
    et al. (2015), section 4. Departures: the samples come in a new random order in each pass, none of them twice.
    Without a learning rate, one is chosen among powers of ten on a sample (`tune_learning_rate`).
    Cost: an update costs what the features of its sample cost; a pass adds O(n_features) once.

    It stops after ``passes`` passes, with Status.PASSES_MADE.

    Args:
        learning_rate: eta > 0; None to choose it.
        delta: added to the root of G_j, > 0.
        passes: passes over the data, >= 1.
        seed: of the order of the samples, >= 0.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go sample by sample, or when
            there is an L1 penalty.
    """

    learning_rate: float | None = None
    delta: float = 1.0
    passes: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        check_learning_rate(self.learning_rate)
        real_number("delta", self.delta, "a finite number > 0", lambda x: x > 0.0)
        whole_number("passes", self.passes, 1, MOST_PASSES)
        whole_number("seed", self.seed, 0, 2**64 - 1)

    def init(self, problem: Problem, w0: Vector) -> AdaGradState:
        """Return the state before the first pass, with a learning rate chosen if none is given; w0 is copied."""
        objective = stochastic_objective(problem, "adagrad_pass", "adagrad")
        check_smooth(problem, "adagrad")
        rate = rate_by_powers_of_ten(problem, self)
        w = np.array(w0, dtype=np.float64)
        n = int(objective.n_samples)
        return AdaGradState(w=w, n_samples=n, squares=np.zeros_like(w), learning_rate=rate)

    def step(self, problem: Problem, state: AdaGradState) -> AdaGradState:
        """Make a pass over the samples in a new order; ``state`` is left as it was."""
        objective = stochastic_objective(problem, "adagrad_pass", "adagrad")
        n = state.n_samples
        w, squares = state.w.copy(), state.squares.copy()
        objective.adagrad_pass(
            w,
            squares,
            visits=np.random.default_rng([self.seed, state.iteration]).permutation(n),
            rate=state.learning_rate,
            delta=self.delta,
            l2=problem.penalty.l2 / n,
        )
        check_finite(state.learning_rate, w, squares)
        return after_pass(state, n, self.passes, w=w, squares=squares)

    def measure(self, problem: Problem, state: AdaGradState) -> AdaGradState:
        """Return the state with objective and violation, which the passes do not need: one gradient evaluation."""
        return measured(problem, state)
