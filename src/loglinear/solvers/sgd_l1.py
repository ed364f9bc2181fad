"""Stochastic gradient descent with an L1 penalty, one sample or a batch of samples an update.

Symbols: eta the learning rate, alpha its decay, C the L1 penalty (l1), N the number of samples, k the number of
updates, u the penalty that any weight could have received so far (Eq. 3), q the penalty that a weight has received
(Eq. 4).
The updates themselves are native: `native/src/stochastic/sgd_l1.rs`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Protocol

import numpy as np

from ..errors import OptionError
from ..options import one_of, real_number, seed_number, truth_value, whole_number
from ..problem import Numbers, PerSample, Problem, Visits
from ..protocols import satisfies
from ..vectors import Vector
from .common.conditions import intercept_alone_is_spared
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
from .common.state_schema import Sizes
from .common.tuning import QUICK_PASSES, tuned_rate

__all__ = ["BATCH_SIZE", "SGDL1", "SGDL1Batches", "SGDL1Passes", "SGDL1State", "by_batches", "has_batches"]

PENALTIES = ("naive", "clipping", "clipping_lazy", "cumulative")
SCHEDULES = ("exponential", "inverse")
# Zhou et al. (2011), section 3.5: trials of the heuristic line search, and the factor between their rates.
TRIALS = 3
RATE_FACTOR = 0.5
# The smallest batches, whose passes take 0.6 of the time of passes sample by sample. Larger ones take no less time, and
# their steps from the same weights go too far.
BATCH_SIZE = 2


class SGDL1Passes(Visits, Protocol):
    """An objective that can make passes of SGD with an L1 penalty."""

    def sgd_l1_pass(
        self,
        w: Vector,
        q: Vector,
        u: float,
        *,
        visits: Numbers,
        rates: Vector,
        l1: float,
        l2: float,
        penalty: str,
        line_search: tuple[int, float] | None,
    ) -> tuple[float, int]:
        """Update w and q in place, sample by sample; return u and the number of evaluations of a sample."""


class SGDL1Batches(SGDL1Passes, Protocol):
    """An objective that can make passes of SGD with an L1 penalty by batches."""

    @property
    def has_batches(self) -> bool:
        """Whether it can: a chain without bigram attributes, whose labels are all known and allowed."""

    def sgd_l1_batches(
        self,
        w: Vector,
        q: Vector,
        u: float,
        *,
        visits: Numbers,
        rates: Vector,
        l1: float,
        l2: float,
        batch_size: int,
    ) -> tuple[float, int]:
        """Update w and q in place, batch by batch; return u and the number of evaluations of a sample."""


def has_batches(problem: Problem) -> bool:
    """Whether the passes over the problem's samples can go by batches."""
    passes = sample_passes(problem)
    return satisfies(passes, SGDL1Batches) and passes.has_batches


@dataclass(frozen=True, kw_only=True)
class SGDL1State(PassState):
    """State of SGD-L1 between two passes.

    Attributes:
        q: penalty that each weight has received; with ``clipping_lazy`` the u up to which it has, shape (n,).
        u: penalty that any weight could have received.
        learning_rate: eta_0 in use.
    """

    q: Annotated[Vector, Sizes(or_empty=True)]
    u: float
    learning_rate: float


@dataclass(frozen=True)
class SGDL1(Unmeasured):
    """SGD-L1: stochastic gradient descent for L1 and elastic-net problems; weights stay sparse during training.

    Source: Tsuruoka, Tsujii & Ananiadou (2009): section 3.1 (naive, clipping), section 3.2 with Figure 2 (cumulative),
    Eq. 5 (``inverse``: eta_0 / (1 + k/N)) and Eq. 6 (``exponential``: eta_0 alpha^(k/N)); ``tail`` adds footnote 3's
    tail * eta_0 / (1 + k/N). ``line_search``: Zhou et al. (2011), Algorithm 1 with Eq. 14, 3 trials, factor 0.5.

    Departures:

    - An L2 penalty, which the papers do not have, shrinks all weights by 1 / (1 + eta l2 / N) before a step, lazily; it
      enters Eq. 14 as well.
    - Without a learning rate, one is chosen on a sample (`tune_learning_rate`), by some ten thousand updates, which do
      not count as passes.
    - With a ``batch_size`` above 1 the samples of a batch take their steps from the same weights, in single precision,
      and each weight receives the cumulative penalty whenever it is read, not only after its own updates. The first
      pass goes sample by sample: batches would step too far at first.

    Cost: an update takes time for the features of its sample alone, whatever the size of the model; ``naive``
    and ``clipping`` touch all features. A pass adds O(n_features) once.

    It stops after ``passes`` passes, with Status.PASSES_MADE.

    Args:
        penalty: "cumulative", "clipping_lazy", "clipping" or "naive".
        schedule: "exponential" or "inverse".
        learning_rate: eta_0 > 0; None to choose it.
        decay: alpha of the exponential schedule, in (0, 1].
        tail: weight of the added O(1/k) term, >= 0.
        passes: passes over the data, >= 1.
        line_search: calibrate the rate of each update; with ``cumulative`` and ``clipping_lazy`` only.
        batch_size: samples of an update after the first pass, >= 1. More than 1 only for chains of first order without
            bigram attributes, whose labels are all known and allowed, with the penalty "cumulative" and no line search.
        seed: of the sequences of visits, a new one for each pass, >= 0.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go sample by sample.

    Example:
        >>> from loglinear import SGDL1, MaxEnt
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=SGDL1(learning_rate=0.1, passes=5)).fit(X, y).result_.iterations
        5
    """

    penalty: str = "cumulative"
    schedule: str = "exponential"
    learning_rate: float | None = None
    decay: float = 0.85
    tail: float = 0.0
    passes: int = 30
    line_search: bool = False
    seed: int = 0
    batch_size: int = 1

    needs: ClassVar[Needs] = Needs(
        objective=(PerSample,), passes=(SGDL1Passes,), conditions=(intercept_alone_is_spared,)
    )

    def __post_init__(self) -> None:
        one_of("penalty", self.penalty, PENALTIES)
        one_of("schedule", self.schedule, SCHEDULES)
        check_learning_rate(self.learning_rate)
        real_number("decay", self.decay, "a number above 0 and at most 1", lambda x: 0.0 < x <= 1.0)
        real_number("tail", self.tail, "a finite number >= 0", lambda x: x >= 0.0)
        whole_number("passes", self.passes, 1, MOST_PASSES)
        seed_number("seed", self.seed)
        truth_value("line_search", self.line_search)
        if self.line_search and self.penalty in ("naive", "clipping"):
            message = f"line_search=True needs penalty='cumulative' or 'clipping_lazy', not {self.penalty!r}"
            raise OptionError(message)
        whole_number("batch_size", self.batch_size, 1, 2**31 - 1)
        if self.batch_size > 1 and (self.line_search or self.penalty != "cumulative"):
            message = f"batch_size={self.batch_size} needs penalty='cumulative' and line_search=False"
            raise OptionError(message)

    def init(self, problem: Problem, w0: Vector) -> SGDL1State:
        """Return the state before the first pass, with a learning rate chosen if none is given; w0 is copied."""
        check(self, problem)
        if self.batch_size > 1 and not has_batches(problem):
            message = (
                f"batch_size={self.batch_size} needs a chain of first order without bigram attributes, whose labels "
                "are all known and allowed; use batch_size=1"
            )
            raise OptionError(message)
        rate = self.learning_rate
        if rate is None:
            # Fewer passes represent all of them, with a decay that ends at the same rate.
            few = min(self.passes, QUICK_PASSES)
            decay = max(self.decay ** (self.passes / few), sys.float_info.min)
            rate = tuned_rate(problem, replace(self, passes=few, decay=decay))
        w = np.array(w0, dtype=np.float64)
        n = int(problem.objective.n_samples)
        return SGDL1State(w=w, n_samples=n, q=np.zeros_like(w), u=0.0, learning_rate=float(rate))

    def step(self, problem: Problem, state: SGDL1State) -> SGDL1State:
        """Make a pass over the samples in a new sequence; ``state`` is left as it was."""
        passes: SGDL1Batches = sample_passes(problem)
        w, q = state.w.copy(), state.q.copy()
        n, number = state.n_samples, state.iteration
        visits = visiting(self.seed, number, n, passes.run_ends)
        rates = self.rates(state.learning_rate, np.arange(number * n, (number + 1) * n) / n)
        l1, l2 = problem.penalty.l1 / n, problem.penalty.l2 / n
        if self.batch_size > 1:
            size = self.batch_size if number else 1
            u, evaluations = passes.sgd_l1_batches(
                w, q, state.u, visits=visits, rates=rates, l1=l1, l2=l2, batch_size=size
            )
        else:
            search = (TRIALS, RATE_FACTOR) if self.line_search else None
            u, evaluations = passes.sgd_l1_pass(
                w, q, state.u, visits=visits, rates=rates, l1=l1, l2=l2, penalty=self.penalty, line_search=search
            )
        check_finite(state.learning_rate, w, q, np.array([u]))
        return after_pass(replace(state, w=w, q=q, u=u), evaluations, self.passes)

    def rates(self, learning_rate: float, passed: Vector) -> Vector:
        """Return the learning rates after ``passed`` = k / N passes (Eq. 5, Eq. 6 and footnote 3)."""
        inverse = 1.0 / (1.0 + passed)
        main = self.decay**passed if self.schedule == "exponential" else inverse
        return learning_rate * (main + self.tail * inverse)


def by_batches(solver: SGDL1, problem: Problem) -> SGDL1:
    """Return the solver, with batches of one sample where the problem's passes cannot go by larger ones."""
    return solver if solver.batch_size == 1 or has_batches(problem) else replace(solver, batch_size=1)
