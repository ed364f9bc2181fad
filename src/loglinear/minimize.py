"""The only loop of the library: step, record, stop, checkpoint, interrupt."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from . import vectors
from .errors import OptionError
from .gain import has_settled
from .gap import cannot_be_met, duality_gap, no_bound, useful
from .options import USEFUL, limit
from .problem import Problem
from .result import OnSome, Result, State, Status, WithGradient
from .solvers import Auto, Measuring, Solver
from .solvers.common.needs import check
from .trace import Trace, TraceRecord

__all__ = ["Callback", "Stop", "minimize", "with_distance"]

Callback = Callable[[TraceRecord, Any], "bool | None"]
# Class and protocol -> whether instances of the class have what the protocol asks for; see `_meets`.
_ANSWERS: dict[tuple[type, type], bool] = {}


@dataclass(frozen=True)
class Stop:
    """Limits of a minimisation; None is no limit. The limit that is reached first stops it, after a complete step.

    Args:
        max_iterations: steps since the solver's start, those before a checkpoint included, >= 0.
        max_passes: effective passes over the data, likewise, >= 0.
        max_seconds: solver seconds of this call, >= 0.
        violation: stop, as converged, when the optimality violation is at most this, >= 0.
        gap: stop, as converged, when the distance of the objective from its optimum is proved to be at most this share
            of the objective, from 0 to 0.1; see ``loglinear.gap`` for the bound and its cost.

    Raises:
        OptionError: a limit is negative or no number; from ``minimize`` when the problem has no bound for ``gap``.

    Example:
        >>> from loglinear import LBFGS, ClassifierObjective, Problem, Stop, minimize
        >>> objective = ClassifierObjective([[1.0], [2.0], [3.0]], [0, 1, 0], n_classes=2)
        >>> minimize(Problem(objective), LBFGS(), stop=Stop(max_iterations=2, max_seconds=60)).iterations
        2
    """

    max_iterations: int | None = None
    max_passes: float | None = None
    max_seconds: float | None = None
    violation: float | None = None
    gap: float | None = None

    def __post_init__(self) -> None:
        limit("max_iterations", self.max_iterations, whole=True)
        for name in ("max_passes", "max_seconds", "violation"):
            limit(name, getattr(self, name))
        limit("gap", self.gap, USEFUL)

    def status(self, state: State, seconds: float, gap: float | None = None) -> Status:
        """Return why to stop in this state; the solver's own verdict comes first, RUNNING is to go on.

        Args:
            state: of the solver.
            seconds: solver seconds so far.
            gap: bound of the distance from the optimum, nats; None if it is not known.
        """
        if state.status is not Status.RUNNING:
            return state.status
        if self.violation is not None and _known_violation(state) <= self.violation:
            return Status.VIOLATION_REACHED
        if self.gap is not None and gap is not None and gap <= self.gap * abs(state.objective):
            return Status.GAP_REACHED
        if self.max_iterations is not None and state.iteration >= self.max_iterations:
            return Status.MAX_ITERATIONS
        if self.max_passes is not None and state.passes >= self.max_passes:
            return Status.MAX_PASSES
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return Status.MAX_SECONDS
        return Status.RUNNING


def minimize(
    problem: Problem,
    solver: Solver[Any],
    w0: npt.ArrayLike | None = None,
    *,
    stop: Stop = Stop(),
    callbacks: Iterable[Callback] = (),
    state: Any = None,
) -> Result:
    """Minimise the penalised objective of ``problem``, in nats, with ``solver``.

    Each step, and the starting point before them, gives a ``TraceRecord``. Every callback is then called with the
    record and the solver's state, and stops the minimisation by returning True. The state is valid during the call;
    its arrays are recycled later, so copy an array to keep it. Callbacks see a record one after the other: one that
    fills in ``record.dev`` stands before a ``TraceWriter``.

    Vector work runs on as many threads as the objective does, if it says so in ``n_threads``, else on all cores.

    Ctrl-C, once the solver has started, ends the minimisation with Status.INTERRUPTED and the weights of the last
    complete step. Not converging is a status as well.

    Args:
        problem: objective and penalty.
        solver: see ``loglinear.solvers``.
        w0: starting weights, shape (n_features,), finite; zeros by default. They are copied.
        stop: limits.
        callbacks: called as callback(record, state) after each record.
        state: a solver's state, such as ``Result.state``, to be continued instead of starting at w0. It must come
            from the same solver with the same options on the same problem; the steps are then bitwise the steps of an
            uninterrupted run. The state is used up: pickle or deepcopy it first to use it twice.

    Returns:
        Weights, status, trace, the optimality violation they were left with, and a bound of the distance from the
        optimum. If the solver's state holds no gradient by all features, one evaluation more finds both; neither
        evaluations nor seconds count it. Another Ctrl-C during that evaluation leaves both unknown: the violation is
        NaN then, unless the state knows it.

    Raises:
        OptionError: the solver cannot work on the problem, w0 does not fit, w0 and state are both given, or the problem
            has no bound for ``stop.gap``.
        ObjectiveError: the objective or its gradient is not finite at w0, or a stochastic solver diverged.

    Example:
        >>> from loglinear import OWLQN, ChainObjective, Corpus, ElasticNet, Problem, Stop, minimize
        >>> objective = ChainObjective(Corpus.encode([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]))
        >>> problem = Problem(objective, ElasticNet(l1=0.1))
        >>> result = minimize(problem, OWLQN(), stop=Stop(max_iterations=100))
        >>> result.status.name, round(result.objective, 3)
        ('CONVERGED', 0.669)
    """
    check(solver, problem)
    unbounded = no_bound(problem)
    if stop.gap is not None and unbounded:
        message = f"gap={stop.gap:g} cannot be met: {unbounded}; leave gap out"
        raise OptionError(message)
    with vectors.on_threads(problem.n_threads):
        return replace(_minimize(problem, solver, w0, stop, tuple(callbacks), state), unbounded=unbounded)


def _minimize(
    problem: Problem,
    solver: Solver[Any],
    w0: npt.ArrayLike | None,
    stop: Stop,
    callbacks: tuple[Callback, ...],
    state: Any,
) -> Result:
    seconds = 0.0
    if state is None:
        weights = _starting_weights(problem, w0)
        began = time.perf_counter()
        state = solver.init(problem, weights)
        seconds = time.perf_counter() - began
    elif w0 is not None:
        message = "both w0 and state are given; a state holds its weights, so leave out w0"
        raise OptionError(message)
    elif np.shape(state.w) != (problem.n_features,):
        message = f"state has weights of shape {np.shape(state.w)}, the problem has {problem.n_features} features"
        raise OptionError(message)
    trace = Trace()
    distance: list[Any] = []
    try:
        while True:
            state = _measured(problem, solver, state)
            record = _record(state, seconds)
            trace.append(record)
            status = stop.status(state, seconds)
            if status is Status.RUNNING and stop.gap is not None:
                record.gap = _gap(problem, state, stop.gap)
                status = stop.status(state, seconds, record.gap)
            if status is not Status.RUNNING:
                status, *distance = _verdict(problem, state, status, record.gap)
                record.violation, record.gap = distance
            stopped = [callback(record, state) for callback in callbacks]
            if status is Status.RUNNING and any(stopped):
                status = Status.STOPPED_BY_CALLBACK
            if status is not Status.RUNNING:
                break
            began = time.perf_counter()
            state = solver.step(problem, state)
            seconds += time.perf_counter() - began
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        state = _measured(problem, solver, state)
        if not trace or trace[-1].iteration != state.iteration:
            trace.append(_record(state, seconds))
    if not distance:
        distance = [_known_violation(state), None]
        with suppress(KeyboardInterrupt):
            _, *distance = _verdict(problem, state, status)
        trace[-1].violation, trace[-1].gap = distance
    return Result(
        w=state.w.copy(),
        status=status,
        trace=trace,
        objective=state.objective,
        nll=state.nll,
        violation=distance[0],
        iterations=state.iteration,
        passes=state.passes,
        gradient_evaluations=state.gradient_evaluations,
        seconds=seconds,
        state=state,
        chosen=str(solver.choice(problem)) if isinstance(solver, Auto) else None,
        gap=distance[1],
    )


def with_distance(problem: Problem, result: Result) -> Result:
    """Return a result whose violation and gap, its record's too, are evaluated at its weights: one evaluation."""
    gradient = np.zeros_like(result.w)
    with vectors.on_threads(problem.n_threads):
        nll = problem.evaluate(result.w, gradient)
        gap = duality_gap(problem, result.w, nll, gradient)
        violation = problem.penalty.violation(result.w, gradient)
    result.record.violation, result.record.gap = violation, useful(gap, result.objective)
    return replace(result, violation=violation, gap=result.record.gap)


def _gap(problem: Problem, state: Any, target: float) -> float | None:
    """Return a bound of the distance from the optimum on the way; None where it is useless, or plainly too large."""
    if _is_partial(state):
        return None
    if cannot_be_met(problem, target * abs(state.objective), state.objective, state.violation):
        return None
    return useful(duality_gap(problem, state.w, *_gradient(problem, state)), state.objective)


def _gradient(problem: Problem, state: Any) -> tuple[float, vectors.Vector]:
    """Return the NLL at the weights of a state and its gradient by all features, by an evaluation if need be."""
    known = state.whole_gradient if isinstance(state, WithGradient) else None
    if known is not None:
        return state.nll, known
    gradient = np.zeros_like(state.w)
    return problem.evaluate(state.w, gradient), gradient


def _verdict(
    problem: Problem, state: Any, status: Status, gap: float | None = None
) -> tuple[Status, float, float | None]:
    """Return how a minimisation ended: its status, the violation by all features, and a gap, if it is not known yet.

    The status is STALLED if the solver takes for convergence what is none; see ``loglinear.gain``.
    """
    evaluated = cache(lambda: _gradient(problem, state))
    violation = problem.penalty.violation(state.w, evaluated()[1]) if _is_partial(state) else state.violation
    if gap is None and not no_bound(problem):
        gap = useful(duality_gap(problem, state.w, *evaluated()), state.objective)
    if status is Status.CONVERGED and not has_settled(problem, state.w, *evaluated(), gap):
        status = Status.STALLED
    return status, violation, gap


def _meets(thing: object, protocol: type) -> bool:
    """Whether a solver or state has what a protocol asks for; asked of each class once, since the answer takes long."""
    question = type(thing), protocol
    if question not in _ANSWERS:
        _ANSWERS[question] = isinstance(thing, protocol)
    return _ANSWERS[question]


def _is_partial(state: Any) -> bool:
    return _meets(state, OnSome) and state.partial


def _known_violation(state: Any) -> float:
    """Return the violation by all features; NaN where the state knows it of a smaller problem only."""
    return math.nan if _is_partial(state) else state.violation


def _measured(problem: Problem, solver: Any, state: Any) -> Any:
    return solver.measure(problem, state) if _meets(solver, Measuring) else state


def _starting_weights(problem: Problem, w0: npt.ArrayLike | None) -> vectors.Vector:
    if w0 is None:
        return np.zeros(problem.n_features)
    try:
        weights = np.array(w0, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"w0 is no array of numbers: {error}"
        raise OptionError(message) from error
    if weights.shape != (problem.n_features,):
        message = f"w0 has shape {weights.shape}; the problem has {problem.n_features} features"
        raise OptionError(message)
    if not np.isfinite(weights).all():
        place = int(np.flatnonzero(~np.isfinite(weights))[0])
        message = f"w0[{place}] is {weights[place]}; starting weights must be finite"
        raise OptionError(message)
    return weights


def _record(state: Any, seconds: float) -> TraceRecord:
    return TraceRecord(
        iteration=state.iteration,
        passes=state.passes,
        gradient_evaluations=state.gradient_evaluations,
        seconds=seconds,
        objective=state.objective,
        nll=state.nll,
        nnz=vectors.count_nonzero(state.w),
        violation=_known_violation(state),
        working_set=state.working_set if _meets(state, OnSome) else None,
    )
