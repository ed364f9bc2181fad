"""What solvers that go sample by sample share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ...errors import ObjectiveError, OptionError
from ...options import real_number
from ...problem import Problem
from ...result import Status
from ...vectors import Vector

__all__ = [
    "MOST_PASSES",
    "PassState",
    "after_pass",
    "check_finite",
    "check_learning_rate",
    "check_smooth",
    "measured",
    "stochastic_objective",
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
        n_samples: in the sum that is minimised.
        gradient_evaluations: of the whole gradient, but for the trace.
        status: RUNNING, or why the solver stopped.
        objective: penalised, nats; NaN until it is measured.
        nll: unpenalised, nats; NaN until it is measured.
        violation: max-norm of the pseudo-gradient; NaN until it is measured.
    """

    w: Vector
    n_samples: int
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


def stochastic_objective(problem: Problem, method: str, solver: str) -> Any:
    """Return the objective that has the method which the solver's passes are made of.

    It is the problem's, or what its method ``per_sample`` returns: the same problem, sample by sample.

    Raises:
        OptionError: there is none, or other weights than its intercept are to bear no penalty.
    """
    objective: Any = problem.objective
    if not hasattr(objective, method) and hasattr(objective, "per_sample"):
        objective = objective.per_sample()
    if not callable(getattr(objective, method, None)):
        name = type(problem.objective).__name__
        message = f"{solver} goes sample by sample, which {name} cannot: it has no {method}; use lbfgs or owlqn"
        raise OptionError(message)
    spared, intercept = problem.penalty.unpenalised, getattr(objective, "n_unpenalised", 0)
    if spared != intercept:
        message = f"unpenalised={spared}, but {solver} can spare the {intercept} weights of the intercept only"
        raise OptionError(message)
    return objective


def check_learning_rate(learning_rate: Any) -> None:
    """Raise OptionError if a learning rate is neither a finite number > 0 nor None, which is to choose it."""
    if learning_rate is not None:
        choice = "a finite number > 0, or None to choose it"
        real_number("learning_rate", learning_rate, choice, lambda x: x > 0.0)


def check_smooth(problem: Problem, solver: str) -> None:
    """Raise OptionError if the problem has an L1 penalty."""
    if problem.penalty.l1:
        message = f"{solver} is for smooth problems, and l1={problem.penalty.l1:g}; use owlqn, two_stage, sag or sgd_l1"
        raise OptionError(message)


def after_pass(state: P, evaluations: int, passes: int | None = None, **changes: Any) -> P:
    """Return the state after another pass, unmeasured; with PASSES_MADE if it was the last of ``passes``."""
    last = passes is not None and state.iteration + 1 >= passes
    return replace(
        state,
        iteration=state.iteration + 1,
        evaluations=state.evaluations + evaluations,
        status=Status.PASSES_MADE if last else Status.RUNNING,
        objective=math.nan,
        nll=math.nan,
        violation=math.nan,
        **changes,
    )


def measured(problem: Problem, state: S) -> S:
    """Return a state with w and an objective, a dataclass, with objective and violation: one gradient evaluation."""
    if not math.isnan(state.objective):
        return state
    gradient = np.zeros_like(state.w)
    return with_gradient(problem, state, problem.evaluate(state.w, gradient), gradient)


def with_gradient(problem: Problem, state: S, nll: float, gradient: Vector) -> S:
    """Return a state with the objective and violation that follow from NLL and gradient at its weights."""
    objective = nll + problem.penalty.value(state.w)
    changes = {"objective": objective, "nll": nll, "violation": problem.penalty.violation(state.w, gradient)}
    return replace(state, **changes)


def check_finite(learning_rate: float, *arrays: Vector) -> None:
    """Raise ObjectiveError if a pass has left the range of numbers."""
    if not all(np.isfinite(array).all() for array in arrays):
        message = f"the weights left the range of numbers at learning_rate={learning_rate:g}; give a smaller one"
        raise ObjectiveError(message)
