"""The state of solvers that go sample by sample, and the beginning and the end of their passes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar, cast

import numpy as np

from ...errors import ObjectiveError
from ...options import real_number
from ...problem import Numbers, PerSample, Problem
from ...result import Status
from ...vectors import Vector
from .state_schema import Sizes

__all__ = [
    "MOST_PASSES",
    "PassState",
    "Unmeasured",
    "after_pass",
    "check_finite",
    "check_learning_rate",
    "measured",
    "sample_passes",
    "visiting",
    "with_gradient",
]

MOST_PASSES = 1_000_000


@dataclass(frozen=True, kw_only=True)
class PassState:
    """State of a stochastic solver between two passes; saving it (pickle) is a checkpoint.

    Attributes:
        w: weights, shape (n_features,).
        iteration: passes over the data.
        evaluations: of a sample's log-probability, line searches included.
        n_samples: number of samples in the sum that is minimised.
        gradient_evaluations: of the whole gradient, without those for the trace.
        status: RUNNING, or why the solver stopped.
        objective: penalised, nats; NaN until it is measured.
        nll: unpenalised, nats; NaN until it is measured.
        violation: max-norm of the pseudo-gradient; NaN until it is measured.
    """

    w: Vector
    n_samples: Annotated[int, Sizes(equal="n_samples")]
    iteration: int = 0
    evaluations: int = 0
    gradient_evaluations: int = 0
    status: Status = Status.RUNNING
    objective: float = math.nan
    nll: float = math.nan
    violation: float = math.nan

    @property
    def passes(self) -> float:
        """Effective passes over the data."""
        return self.evaluations / self.n_samples + self.gradient_evaluations


P = TypeVar("P", bound=PassState)
S = TypeVar("S", bound=Any)


def sample_passes(problem: Problem) -> Any:
    """Return the problem's objective as passes over its samples; ``check`` has seen to it that it has the method."""
    return cast(PerSample, problem.objective).per_sample()


def visiting(seed: int, number: int, n_samples: int, run_ends: Numbers | None = None) -> Numbers:
    """Return the samples in the random sequence in which a pass visits them, each once.

    Args:
        seed: of all sequences.
        number: of the pass.
        n_samples: number of samples.
        run_ends: the ends of runs of samples that are contiguous on disk. The runs are visited in a random sequence,
            and so are the samples of each run. None for samples in memory.
    """
    rng = np.random.default_rng([seed, number])
    if run_ends is None:
        return rng.permutation(n_samples)
    starts = np.concatenate([[0], run_ends[:-1]])
    runs = (rng.permutation(np.arange(starts[run], run_ends[run])) for run in rng.permutation(run_ends.size))
    return np.concatenate(list(runs))


def check_learning_rate(learning_rate: object) -> None:
    """Raise OptionError if a learning rate is neither a finite number > 0 nor None, which asks for a choice."""
    if learning_rate is not None:
        choice = "a finite number > 0, or None to choose it"
        real_number("learning_rate", learning_rate, choice, lambda x: x > 0.0)


def after_pass(state: P, evaluations: int, passes: int | None = None) -> P:
    """Return the state after another pass, unmeasured; PASSES_MADE if that was the last of ``passes``."""
    last = passes is not None and state.iteration + 1 >= passes
    return replace(
        state,
        iteration=state.iteration + 1,
        evaluations=state.evaluations + evaluations,
        status=Status.PASSES_MADE if last else Status.RUNNING,
        objective=math.nan,
        nll=math.nan,
        violation=math.nan,
    )


def measured(problem: Problem, state: S) -> S:
    """Return the state with objective, NLL and violation, if it has none yet: one gradient evaluation."""
    if not math.isnan(state.objective):
        return state
    gradient = np.zeros_like(state.w)
    return with_gradient(problem, state, problem.evaluate(state.w, gradient), gradient)


def with_gradient(problem: Problem, state: S, nll: float, gradient: Vector) -> S:
    """Return the state with the objective and violation that follow from NLL and gradient at its weights."""
    violation = problem.violation(state.w, gradient)
    return replace(state, objective=nll + problem.penalty.value(state.w), nll=nll, violation=violation)


class Unmeasured:
    """A solver whose steps do without objective and violation."""

    def measure(self, problem: Problem, state: S) -> S:
        """Return the state with objective and violation: one gradient evaluation."""
        return measured(problem, state)


def check_finite(learning_rate: float, *arrays: Vector) -> None:
    """Raise ObjectiveError if a pass has left the range of numbers."""
    if not all(np.isfinite(array).all() for array in arrays):
        message = f"the weights overflowed at learning_rate={learning_rate:g}; give a smaller learning rate"
        raise ObjectiveError(message)
