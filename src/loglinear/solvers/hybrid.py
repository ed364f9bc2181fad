"""Hybrid deterministic-stochastic training: L-BFGS on a growing sample.

Symbols: B the sample, a part of all n samples; F_B(w) = n / |B| times the sum over B, plus the penalty.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Protocol, cast

import numpy as np

from ..options import real_number, seed_number, whole_number
from ..problem import Numbers, Objective, Problem
from ..result import Status
from ..vectors import Vector
from .common.inner import LBFGSOptions, Unpack, inner_solver, no_more
from .common.needs import Needs, check
from .common.per_sample import Unmeasured
from .common.quasi_newton import QuasiNewtonState
from .common.state_schema import Sizes
from .lbfgs import LBFGS

__all__ = ["Batched", "Hybrid", "HybridState"]

INNER = LBFGS()


class Batched(Protocol):
    """An objective that can be evaluated on a batch of its samples."""

    def batch(self, samples: Numbers, factor: float) -> Objective:
        """Return the objective on some samples, over all features; the samples weigh ``factor`` times as much."""


@dataclass(frozen=True)
class HybridState:
    """State of the hybrid method; saving it (pickle) is a checkpoint.

    Attributes:
        inner: the state of L-BFGS on F_B; objective, NLL, gradient and violation in it are of F_B.
        size: |B|.
        n_samples: n.
        evaluations: of a sample's log-probability and gradient.
        objective: penalised, nats, of all samples; NaN until it is measured.
        nll: unpenalised, nats, likewise.
        violation: max-norm of the gradient, likewise.
    """

    inner: QuasiNewtonState
    size: Annotated[int, Sizes(least=1)]
    n_samples: Annotated[int, Sizes(equal="n_samples")]
    evaluations: int
    objective: float = math.nan
    nll: float = math.nan
    violation: float = math.nan

    def mistake(self) -> str:
        """Return what contradicts itself; see `state_schema.Declared`."""
        return "the batch is larger than the data" if self.size > self.n_samples else ""

    @property
    def w(self) -> Vector:
        """Weights, shape (n_features,)."""
        return self.inner.w

    @property
    def iteration(self) -> int:
        """Steps taken."""
        return self.inner.iteration

    @property
    def passes(self) -> float:
        """Effective passes over the data."""
        return self.evaluations / self.n_samples

    @property
    def gradient_evaluations(self) -> int:
        """Evaluations of a batch's gradient."""
        return self.inner.gradient_evaluations

    @property
    def status(self) -> Status:
        """Status of L-BFGS, once B is everything; RUNNING before."""
        return self.inner.status if self.size == self.n_samples else Status.RUNNING


class Hybrid(Unmeasured):
    """L-BFGS on a sample of the data that grows until it is all of the data, for L2 problems.

    Source: Friedlander & Schmidt (2012), section 5, with |B| <- min(growth |B| + 1, n) as in Schmidt et al. (2015).

    Departures:

    - The line search is that of ``LBFGS``, on F_B.
    - A batch contains the one before, so that only its new samples have to be evaluated where the last step ended.

    Cost per step: one or more evaluations of B, and O(memory * n_features).

    Converged when B contains all samples and L-BFGS has converged (see ``LBFGS``).

    Args:
        growth: of the batch from step to step, > 1.
        first: samples in the first batch, >= 1.
        seed: of the order in which samples join, >= 0.
        inner: L-BFGS.
        options: of L-BFGS, by name, instead of an ``inner`` with these options.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go by batches, or when there
            is an L1 penalty.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import Hybrid
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=Hybrid(first=2, memory=5)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    needs: ClassVar[Needs] = LBFGS.needs | Needs(objective=(Batched,))

    def __init__(
        self,
        *,
        growth: float = 1.1,
        first: int = 1,
        seed: int = 0,
        inner: LBFGS = INNER,
        **options: Unpack[LBFGSOptions],
    ) -> None:
        self.growth = real_number("growth", growth, "a finite number > 1", lambda x: x > 1.0)
        self.first = whole_number("first", first, 1, 2**62)
        self.seed = seed_number("seed", seed)
        self.inner = inner_solver("inner", inner, LBFGS, options)
        no_more(self, options, self.inner)

    @property
    def tolerance(self) -> float:
        """Bound on the mean relative decrease of L-BFGS."""
        return self.inner.tolerance

    def init(self, problem: Problem, w0: Vector) -> HybridState:
        """Return the state on the first batch; w0 is copied."""
        check(self, problem)
        n = int(problem.objective.n_samples)
        size = min(self.first, n)
        inner = self.inner.init(self._batch(problem, 0, size, n / size), w0)
        return HybridState(inner, size, n, size)

    def step(self, problem: Problem, state: HybridState) -> HybridState:
        """Make a step of L-BFGS on F_B, then let B grow."""
        n, size, inner = state.n_samples, state.size, state.inner
        batch = problem if size == n else self._batch(problem, 0, size, n / size)
        following = self.inner.step(batch, replace(inner, status=Status.RUNNING))
        evaluations = state.evaluations + size * (following.gradient_evaluations - inner.gradient_evaluations)
        if size == n:
            violation = problem.violation(following.w, following.gradient, following.violation)
            return HybridState(following, n, n, evaluations, following.objective, following.nll, violation)
        larger = min(int(self.growth * size) + 1, n)
        following = self._enlarged(problem, following, size, larger, n)
        return HybridState(following, larger, n, evaluations + larger - size)

    def _batch(self, problem: Problem, start: int, end: int, factor: float) -> Problem:
        """Return the problem on the samples that join from ``start`` to ``end``, each weighing ``factor``."""
        sequence = np.random.default_rng(self.seed).permutation(int(problem.objective.n_samples))
        batch = cast(Batched, problem.objective).batch(sequence[start:end], factor)
        return Problem(batch, problem.penalty)

    def _enlarged(self, problem: Problem, inner: QuasiNewtonState, size: int, larger: int, n: int) -> QuasiNewtonState:
        """Return the state on a larger batch, at the same weights; only the gradient of the new samples is unknown."""
        factor, penalty, w = size / larger, problem.separable, inner.w
        gradient = np.zeros_like(w)
        nll = self._batch(problem, size, larger, n / larger).evaluate(w, gradient) + factor * inner.nll
        gradient += factor * inner.gradient
        # A pair of length 0 is not stored, but the history then has its products with the new gradient.
        history, violation, squared, _ = inner.history.advance(w, gradient, w, gradient, penalty)
        objective = nll + penalty.value(w)
        return replace(
            inner,
            gradient=gradient,
            nll=nll,
            objective=objective,
            violation=violation,
            norm=math.sqrt(squared),
            history=history,
            status=Status.RUNNING,
            recent=(objective,),
        )
