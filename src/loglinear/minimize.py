"""The only loop of the library: step, record, stop, checkpoint, interrupt."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import vectors
from .certificate import Verdict, check_objective, gap_on_the_way, known_violation, of_passes, verdict
from .errors import OptionError
from .gap import no_bound
from .options import fail
from .penalty import feasible
from .problem import Problem
from .protocols import satisfies
from .result import Result, State, Status, on_some
from .solvers.common.needs import check
from .solvers.common.solver import Choosing, Measuring, Solver, is_solver, looseness
from .solvers.common.state_schema import check_state
from .solvers.newton_check import is_confirmed
from .stopping import Stop
from .trace import Trace, TraceRecord

__all__ = ["Callback", "check_arguments", "minimize", "observers_of", "starting_weights"]

Callback = Callable[[TraceRecord, Any], "bool | None"]


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
    fills in ``record.dev`` comes before a ``TraceWriter``.

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
    observers = check_arguments(problem, solver, stop, callbacks)
    check(solver, problem)
    unbounded = no_bound(problem)
    if stop.gap is not None and unbounded:
        message = f"gap={stop.gap:g} is not available: {unbounded}; leave out gap"
        raise OptionError(message)
    with vectors.on_threads(problem.n_threads):
        result = _minimize(problem, solver, w0, stop, observers, state)
        return replace(result, unbounded=unbounded, requested_gap=stop.gap)


def check_arguments(problem: object, solver: object, stop: object, callbacks: object) -> tuple[Callback, ...]:
    """Return the callbacks; raise OptionError if an argument of ``minimize`` is of another kind."""
    if not isinstance(problem, Problem):
        fail("problem", problem, "is not a Problem; give Problem(objective, penalty)")
    if not is_solver(solver):
        fail("solver", solver, 'is not a solver; give an object such as OWLQN() or make_solver("owlqn")')
    if not isinstance(stop, Stop):
        fail("stop", stop, "is not a Stop; give limits such as Stop(max_iterations=100)")
    return observers_of(callbacks)


def observers_of(callbacks: object) -> tuple[Callback, ...]:
    """Return callbacks as a tuple; raise OptionError if one cannot be called."""
    observers: tuple[Any, ...] = tuple(callbacks) if isinstance(callbacks, Iterable) else (None,)
    if not all(callable(observer) for observer in observers):
        fail("callbacks", callbacks, "is not a list of functions; give callbacks=[function]")
    return observers


def _minimize(
    problem: Problem,
    solver: Solver[Any],
    w0: npt.ArrayLike | None,
    stop: Stop,
    callbacks: tuple[Callback, ...],
    state: Any,
) -> Result:
    is_new = state is None
    state, seconds = _started(problem, solver, w0, state)
    measures = solver.measure if satisfies(solver, Measuring) else None
    trace = Trace()
    final: Verdict | None = None
    try:
        while True:
            state = measures(problem, state) if measures else state
            record = _record(problem, state, seconds)
            trace.append(record)
            status = stop.status(state, seconds, record.violation)
            if status is Status.RUNNING and stop.gap is not None:
                record.gap = gap_on_the_way(problem, state, stop.gap)
                status = stop.status(state, seconds, record.violation, record.gap)
            if status is not Status.RUNNING:
                start = trace[0].objective if is_new else -math.inf
                final = _judged(problem, solver, state, status, record.gap, start)
                status = final.status
                final.note(record)
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
        state = measures(problem, state) if measures else state
        if not trace or trace[-1].iteration != state.iteration:
            trace.append(_record(problem, state, seconds))
    if final is None:
        final = Verdict(status, state.w, state.objective, known_violation(problem, state), None)
        with suppress(KeyboardInterrupt):
            final = verdict(problem, state, status)
        final.note(trace[-1])
    return Result(
        w=final.w.copy(),
        status=status,
        trace=trace,
        objective=final.objective,
        nll=state.nll,
        violation=final.violation,
        iterations=state.iteration,
        passes=state.passes,
        gradient_evaluations=state.gradient_evaluations,
        seconds=seconds,
        state=state,
        chosen=str(solver.choice(problem)) if satisfies(solver, Choosing) else None,
        gap=final.gap,
    )


def _judged(
    problem: Problem, solver: Solver[Any], state: State, status: Status, gap: float | None, start: float
) -> Verdict:
    """Return the verdict on a state, after a second look where a solver is easily deceived."""
    check_objective(state.objective, status)
    looser = looseness(solver, problem)
    final = of_passes(problem, state, verdict(problem, state, status, gap, looser), start)
    if final.status is Status.CONVERGED and not is_confirmed(
        problem, state, final.w, final.objective, final.gap, looser
    ):
        return replace(final, status=Status.STALLED)
    return final


def _started(problem: Problem, solver: Solver[Any], w0: npt.ArrayLike | None, state: Any) -> tuple[Any, float]:
    """Return the state to begin with, and the seconds that the solver took to make it."""
    if state is None:
        weights = starting_weights(problem, w0)
        began = time.perf_counter()
        return solver.init(problem, weights), time.perf_counter() - began
    if w0 is not None:
        message = "both w0 and state are given, and a state contains its weights; leave out w0"
        raise OptionError(message)
    if np.shape(state.w) != (problem.n_features,):
        message = f"state has weights of shape {np.shape(state.w)}, the problem has {problem.n_features} features"
        raise OptionError(message)
    check_state(solver, problem, state)
    return state, 0.0


def starting_weights(problem: Problem, w0: npt.ArrayLike | None) -> vectors.Vector:
    """Return a copy of the weights to start from, zeros by default; weights without their sign start at 0.

    Raises:
        OptionError: w0 is not the problem's.
    """
    if w0 is None:
        return np.zeros(problem.n_features)
    try:
        weights = np.array(w0, dtype=np.float64)
    except (TypeError, ValueError) as error:
        message = f"w0 is not an array of numbers: {error}"
        raise OptionError(message) from error
    if weights.shape != (problem.n_features,):
        message = f"w0 has shape {weights.shape}; the problem has {problem.n_features} features"
        raise OptionError(message)
    if not np.isfinite(weights).all():
        place = int(np.flatnonzero(~np.isfinite(weights))[0])
        message = f"w0[{place}] is {weights[place]}; starting weights must be finite"
        raise OptionError(message)
    return feasible(problem.penalty, weights)


def _record(problem: Problem, state: State, seconds: float) -> TraceRecord:
    small = on_some(state)
    return TraceRecord(
        iteration=state.iteration,
        passes=state.passes,
        gradient_evaluations=state.gradient_evaluations,
        seconds=seconds,
        objective=state.objective,
        nll=state.nll,
        nnz=vectors.count_nonzero(state.w),
        violation=known_violation(problem, state),
        working_set=small.working_set if small else None,
    )
