"""Stochastic gradient descent with an L2 penalty, one sample an update: the classic methods that SAG is compared with.

Symbols: lambda = l2 / n with n samples, eta the learning rate, alpha_t the step size of update t.
The updates themselves are native: `native/src/stochastic/sg.rs`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from ..options import seed_number, whole_number
from ..problem import Numbers, PerSample, Problem, Visits
from ..vectors import Vector
from .common.conditions import convex, intercept_alone_is_spared, no_l1, with_l2
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

__all__ = ["ASG", "SG", "Pegasos", "SGState"]


class SGPasses(Visits, Protocol):
    """An objective that can make passes of stochastic gradient descent."""

    def sg_pass(self, w: Vector, sum: Vector, *, visits: Numbers, rates: Vector, l2: float) -> None:
        """Update w in place, sample by sample, and add every iterate to ``sum``."""


@dataclass(frozen=True, kw_only=True)
class SGState(PassState):
    """State of stochastic gradient descent between two passes.

    Attributes:
        iterate: the newest weights, shape (n_features,); ``w`` is the newest iterate, or the average of all.
        sum: of all iterates so far, shape (n_features,).
        learning_rate: eta in use.
    """

    iterate: Vector
    sum: Vector
    learning_rate: float


@dataclass(frozen=True)
class SG(Unmeasured):
    """SG: stochastic gradient descent with a constant step size, for L2 problems.

    Source: Schmidt et al. (2015), section 4.

    Departures:

    - Each pass visits the samples in a new random sequence, none of them twice.
    - Without a learning rate, one is chosen among powers of ten on a sample (`tune_learning_rate`), below the rate 1 /
      lambda at which a step would multiply the weights by 1 - eta lambda <= 0.

    Cost: an update takes time for the features of its sample alone; a pass adds O(n_features) once.

    It stops after ``passes`` passes, with Status.PASSES_MADE, near the optimum, at a distance that grows with eta.

    Args:
        learning_rate: eta > 0; None to choose it.
        passes: passes over the data, >= 1.
        seed: of the sequences of visits, >= 0.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go sample by sample, or when
            there is an L1 penalty.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import SG
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=SG(learning_rate=0.1, passes=5)).fit(X, y).result_.status.name
        'PASSES_MADE'
    """

    learning_rate: float | None = None
    passes: int = 30
    seed: int = 0

    needs: ClassVar[Needs] = Needs(
        objective=(PerSample,), passes=(SGPasses,), conditions=(no_l1, intercept_alone_is_spared)
    )
    averages: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_learning_rate(self.learning_rate)
        whole_number("passes", self.passes, 1, MOST_PASSES)
        seed_number("seed", self.seed)

    def contracts(self, problem: Problem) -> bool:
        """Whether the learning rate is below 1 / lambda; True without one."""
        return self.learning_rate is None or self.learning_rate * problem.penalty.l2 < problem.objective.n_samples

    def init(self, problem: Problem, w0: Vector) -> SGState:
        """Return the state before the first pass, with a learning rate chosen if none is given; w0 is copied."""
        check(self, problem)
        rate = rate_by_powers_of_ten(problem, self)
        w = np.array(w0, dtype=np.float64)
        return SGState(
            w=w,
            n_samples=int(problem.objective.n_samples),
            iterate=w.copy(),
            sum=np.zeros_like(w),
            learning_rate=rate,
        )

    def step(self, problem: Problem, state: SGState) -> SGState:
        """Make a pass over the samples in a new sequence; ``state`` is left as it was."""
        passes: SGPasses = sample_passes(problem)
        n, number = state.n_samples, state.iteration
        iterate, sum = state.iterate.copy(), state.sum.copy()
        l2 = problem.penalty.l2 / n
        passes.sg_pass(
            iterate,
            sum,
            visits=visiting(self.seed, number, n, passes.run_ends),
            rates=self.step_sizes(state.learning_rate, np.arange(number * n + 1.0, (number + 1) * n + 1), l2),
            l2=l2,
        )
        check_finite(state.learning_rate, iterate, sum)
        w = sum / (n * (number + 1)) if self.averages else iterate
        return after_pass(replace(state, w=w, iterate=iterate, sum=sum), n, self.passes)

    def step_sizes(self, learning_rate: float, t: Vector, l2: float) -> Vector:
        """Return alpha_t."""
        return np.full_like(t, learning_rate)


@dataclass(frozen=True)
class ASG(SG):
    """ASG: stochastic gradient descent with a constant step size; returns the average of the weights of all steps.

    Source, departures, cost, arguments and errors: see `SG`.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import ASG
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=ASG(learning_rate=0.1, passes=5)).fit(X, y).result_.status.name
        'PASSES_MADE'
    """

    needs: ClassVar[Needs] = SG.needs | Needs(conditions=(convex,))
    averages: ClassVar[bool] = True


@dataclass(frozen=True)
class Pegasos(SG):
    """Pegasos: stochastic gradient descent with a step size that falls as 1 / t, for L2 problems.

    Source: Shalev-Shwartz, Singer, Srebro & Cotter (2011), Figure 1, without the optional projection, on the
    log-likelihood as in Schmidt et al. (2015), section 4, where eta = 1 stands for the original.
    Departures, cost, arguments and errors: see `SG`; an L2 penalty is needed.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import Pegasos
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=Pegasos(learning_rate=0.1, passes=5)).fit(X, y).result_.status.name
        'PASSES_MADE'
    """

    needs: ClassVar[Needs] = SG.needs | Needs(conditions=(with_l2, convex))

    def step_sizes(self, learning_rate: float, t: Vector, l2: float) -> Vector:
        """Return alpha_t."""
        return learning_rate / (l2 * t)

    def contracts(self, problem: Problem) -> bool:
        """Always True: the step sizes fall as 1 / t, and so below 1 / lambda, whatever the learning rate."""
        return True
