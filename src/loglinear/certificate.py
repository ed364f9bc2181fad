"""The certificate of a minimisation: how far from an optimum it ended, whatever its solver says."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from . import vectors
from .errors import ObjectiveError
from .gain import has_settled
from .gap import cannot_be_met, duality_gap, no_bound, useful
from .problem import Problem
from .protocols import satisfies
from .result import Result, State, Status, WithGap, WithGradient, WithRate, is_partial
from .trace import TraceRecord

__all__ = [
    "Verdict",
    "check_objective",
    "gap_on_the_way",
    "known_violation",
    "of_passes",
    "verdict",
    "with_distance",
]

# Passes that end above so many times the objective at weights of 0 have diverged.
FAR = 1e15
# Share of the objective at weights of 0 that the end of passes may lie above it: rounding, and no visible loss.
ROUNDING = 1e-6
_LIMITS = (Status.MAX_ITERATIONS, Status.MAX_PASSES, Status.MAX_SECONDS)


@dataclass(frozen=True)
class Verdict:
    """How a minimisation ended.

    Attributes:
        status: the reason why it stopped; STALLED if the solver has converged too early (``loglinear.gain``).
        w: weights to end with, shape (n_features,): centred (``Problem.centred``).
        objective: penalised, at these weights, nats.
        violation: max-norm of the subgradient of minimum norm by all features; NaN if it is not known.
        gap: bound of the distance from the optimum, nats; None if there is no useful one.
    """

    status: Status
    w: vectors.Vector
    objective: float
    violation: float
    gap: float | None

    def note(self, record: TraceRecord) -> None:
        """Write what depends on the weights to the record of the last step."""
        record.objective, record.nnz = self.objective, vectors.count_nonzero(self.w)
        record.violation, record.gap = self.violation, self.gap


def verdict(
    problem: Problem, state: State, status: Status, gap: float | None = None, looseness: float = 1.0
) -> Verdict:
    """Return the verdict on the weights of a state: one evaluation, if the state lacks a gradient by all features.

    A minimisation that is allowed no step ends with the weights that it starts from, not centred. After Ctrl-C there is
    an evaluation only if the state's violation is of some features alone: it may take seconds, so what else needs one
    is not known.

    Args:
        problem: objective and penalty.
        state: the solver's last.
        status: the reason why the solver or the loop stopped.
        gap: bound of the distance from the optimum, if it is known already.
        looseness: how many times its default the solver's tolerance is.
    """
    evaluated = cache(lambda: _gradient(problem, state))
    w = problem.centred(state.w) if state.iteration or status.converged else state.w
    is_moved = w is not state.w
    objective = state.nll + problem.penalty.value(w) if is_moved else state.objective
    violation = known_violation(problem, state)
    if status is Status.INTERRUPTED and not is_partial(state) and not _has_gradient(state):
        return Verdict(status, w, objective, math.nan if is_moved else violation, gap)
    if is_moved or is_partial(state):
        violation = problem.violation(w, evaluated()[1])
    by_solver = state.gap if satisfies(state, WithGap) else None
    gap = useful(by_solver, state.objective) if gap is None and by_solver is not None else gap
    if gap is not None:
        gap = max(gap - (state.objective - objective), 0.0)
    elif not no_bound(problem):
        gap = useful(duality_gap(problem, w, *evaluated()), objective)
    if status is Status.CONVERGED and not has_settled(problem, w, *evaluated(), gap, looseness):
        status = Status.STALLED
    return Verdict(status, w, objective, violation, gap)


def check_objective(objective: float, status: Status) -> None:
    """Raise ObjectiveError if a minimisation would end at an objective that is not finite.

    ``of_passes`` says more of passes that have been made.
    """
    if status is not Status.PASSES_MADE and not math.isfinite(objective):
        message = (
            f"the solver diverged: it ended at an objective of {objective}; divide values that are far above 1, or "
            "choose another solver"
        )
        raise ObjectiveError(message)


def of_passes(problem: Problem, state: State, final: Verdict, start: float) -> Verdict:
    """Return the verdict on passes: those that end above the start and above weights of 0 have diverged.

    Passes that a limit has ended may have diverged as well, if their steps follow a learning rate. A difference of
    rounding (``ROUNDING``) does not count.

    Cost: an evaluation, if they end above the start.

    Args:
        problem: objective and penalty.
        state: the solver's last.
        final: the verdict on it.
        start: objective at the weights that the solver started from; -inf if it is not known.

    Raises:
        ObjectiveError: they have ended far above it.
    """
    is_cut_short = final.status in _LIMITS and satisfies(state, WithRate)
    if not (final.status is Status.PASSES_MADE or is_cut_short) or final.objective <= start:
        return final
    zeros = np.zeros(problem.n_features)
    at_zero = problem.evaluate(zeros, np.empty_like(zeros)) + problem.penalty.value(zeros)
    if not final.objective <= FAR * abs(at_zero) + 1.0:
        rate = (
            f"give a smaller learning rate than {state.learning_rate:g}"
            if satisfies(state, WithRate)
            else "scale the columns"
        )
        message = (
            f"the solver diverged: its passes ended at an objective of {final.objective:.4g}, and weights of 0 have "
            f"{at_zero:.4g}; {rate}"
        )
        raise ObjectiveError(message)
    has_diverged = final.objective > max(start, at_zero) + ROUNDING * abs(at_zero)
    return replace(final, status=Status.PASSES_DIVERGED) if has_diverged else final


def known_violation(problem: Problem, state: State) -> float:
    """Return the violation by all features; NaN where the state knows it of a smaller problem only."""
    if is_partial(state):
        return math.nan
    gradient = state.whole_gradient if satisfies(state, WithGradient) else None
    return state.violation if gradient is None else problem.violation(state.w, gradient, state.violation)


def gap_on_the_way(problem: Problem, state: State, target: float) -> float | None:
    """Return a bound of the distance from the optimum, nats; None where it is useless, or plainly above the target.

    Args:
        problem: objective and penalty.
        state: of a running solver.
        target: share of the objective.
    """
    if is_partial(state):
        return None
    if cannot_be_met(problem, target * abs(state.objective), state.objective, state.violation):
        return None
    return useful(duality_gap(problem, state.w, *_gradient(problem, state)), state.objective)


def with_distance(problem: Problem, result: Result) -> Result:
    """Return a result, with centred weights, whose violation and gap are evaluated there: one evaluation.

    Its record is updated.
    """
    w = problem.centred(result.w)
    gradient = np.zeros_like(w)
    with vectors.on_threads(problem.n_threads):
        nll = problem.evaluate(w, gradient)
        gap = duality_gap(problem, w, nll, gradient)
        violation = problem.violation(w, gradient)
    objective = result.objective if w is result.w else result.nll + problem.penalty.value(w)
    final = Verdict(result.status, w, objective, violation, useful(gap, objective))
    final.note(result.record)
    return replace(result, w=w, objective=objective, violation=violation, gap=final.gap)


def _has_gradient(state: State) -> bool:
    """Whether the state has a gradient by all features."""
    return satisfies(state, WithGradient) and state.whole_gradient is not None


def _gradient(problem: Problem, state: State) -> tuple[float, vectors.Vector]:
    """Return the NLL at the weights of a state and its gradient by all features, by an evaluation if need be."""
    whole = state.whole_gradient if satisfies(state, WithGradient) else None
    if whole is not None:
        return state.nll, whole
    gradient = np.zeros_like(state.w)
    return problem.evaluate(state.w, gradient), gradient
