"""Choosing the learning rate of a stochastic solver by the training objective that it reaches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from ...errors import ObjectiveError
from ...penalty import ElasticNet
from ...problem import PerSample, Problem
from ...protocols import satisfies
from ...result import Status

__all__ = ["LEARNING_RATES", "QUICK_PASSES", "SAMPLE", "rate_by_powers_of_ten", "tune_learning_rate", "tuned_rate"]

T = TypeVar("T", bound=Any)


class Contracting(Protocol):
    """A stochastic solver with a limit beyond which the L2 penalty makes its steps grow."""

    def contracts(self, problem: Problem) -> bool:
        """Whether the penalty shrinks the weights in a step of the solver, without turning their signs."""


# Tsuruoka et al. (2009), section 4.1.
LEARNING_RATES = (1.0, 0.5, 0.2, 0.1)
# Number of samples to choose a learning rate on, if there are more.
SAMPLE = 500
# Passes over a sample of the data to choose a learning rate if the user sets none.
QUICK_PASSES = 10
# The search continues beyond the grid, up to these rates, while the best rate is at its end.
SMALLEST, LARGEST = 1e-6, 1e3


def tune_learning_rate(
    problem: Problem,
    solver: T,
    *,
    learning_rates: Sequence[float] = LEARNING_RATES,
    decays: Sequence[float] = (),
    digits: Sequence[float] = (1.0, 2.0, 5.0),
    sample: int | None = SAMPLE,
    seed: int = 0,
) -> T:
    """Return the solver with the learning rate, then the decay, that reach the lowest training objective.

    Source: Tsuruoka et al. (2009), section 4.1: first eta_0 from a grid, then alpha with that eta_0, each by the
    objective after the solver's passes. Schmidt et al. (2015), section 4, choose among powers of ten, on all data:
    ``learning_rates=(1.0,), digits=(1.0,), sample=None``.

    Departures:

    - Rates at which the L2 penalty alone would turn the signs of the weights are left out (`SG`): their iterates
      may oscillate around 0, and a few passes do not show that they grow.
    - If there are more than ``sample`` samples, some are drawn, and the penalty is scaled down in proportion.
    - If the best value is at the end of a grid, the grid is extended.

    Args:
        problem: to be minimised.
        solver: a stochastic solver; all its other options are kept.
        learning_rates: to be tried.
        decays: to be tried with the best learning rate; none to keep the solver's.
        digits: a grid is extended with these digits times powers of ten.
        sample: most samples to use, drawn with the seed; None for all.
        seed: of the draw.

    Example:
        >>> from loglinear import SGDL1, ClassifierObjective, ElasticNet, Problem, tune_learning_rate
        >>> objective = ClassifierObjective([[1.0], [2.0], [3.0]], [0, 1, 0], n_classes=2)
        >>> problem = Problem(objective, ElasticNet(l1=0.1, unpenalised=1))
        >>> tune_learning_rate(problem, SGDL1(passes=5)).learning_rate > 0
        True
    """
    problem = _sampled(problem, sample, seed)
    tried = {rate: _reached(problem, replace(solver, learning_rate=rate)) for rate in learning_rates}
    while True:
        best = min(tried, key=lambda rate: (tried[rate], rate))
        if best == max(tried) and best < LARGEST:
            following = _next(best, 1, digits)
        elif best == min(tried) and best > SMALLEST:
            following = _next(best, -1, digits)
        else:
            break
        tried[following] = _reached(problem, replace(solver, learning_rate=following))
    solver = replace(solver, learning_rate=best)
    if decays:
        reached = {decay: _reached(problem, replace(solver, decay=decay)) for decay in decays}
        solver = replace(solver, decay=min(reached, key=lambda decay: (reached[decay], decay)))
    return solver


def tuned_rate(problem: Problem, solver: T) -> float:
    """Return a learning rate chosen on a sample of the data, for users who set none."""
    return float(tune_learning_rate(problem, solver, seed=solver.seed).learning_rate)


def rate_by_powers_of_ten(problem: Problem, solver: T) -> float:
    """Return the solver's learning rate, or a power of ten chosen on a sample of the data by a few of its passes."""
    if solver.learning_rate is not None:
        return float(solver.learning_rate)
    quick = replace(solver, passes=min(solver.passes, QUICK_PASSES))
    tuned = tune_learning_rate(problem, quick, learning_rates=(1.0,), digits=(1.0,), seed=solver.seed)
    return float(tuned.learning_rate)


def _sampled(problem: Problem, sample: int | None, seed: int) -> Problem:
    n = int(problem.objective.n_samples)
    if sample is None or sample >= n:
        return problem
    chosen = np.sort(np.random.default_rng(seed).permutation(n)[:sample])
    share = sample / n
    penalty = problem.penalty
    sampled = cast(PerSample, problem.objective).sample(chosen)
    return Problem(sampled, ElasticNet(penalty.l1 * share, penalty.l2 * share, penalty.unpenalised))


def _reached(problem: Problem, solver: T) -> float:
    """Return the objective after the solver's passes; infinite if it diverges, or would in more passes."""
    if satisfies(solver, Contracting) and not solver.contracts(problem):
        return math.inf
    state = solver.init(problem, np.zeros(problem.n_features))
    try:
        while state.status is Status.RUNNING:
            state = solver.step(problem, state)
    except ObjectiveError:
        return math.inf
    objective = float(solver.measure(problem, state).objective)
    return objective if math.isfinite(objective) else math.inf


def _next(rate: float, direction: int, digits: Sequence[float]) -> float:
    """Return the neighbour of a rate among the digits times powers of ten."""
    grid = [digit * 10.0**power for power in range(-10, 6) for digit in digits]
    apart = [(abs(math.log(value / rate)), at) for at, value in enumerate(grid)]
    return float(f"{grid[min(apart)[1] + direction]:.12g}")
