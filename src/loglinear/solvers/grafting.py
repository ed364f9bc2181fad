"""Feature selection by the gradient: Grafting-Light, Grafting and Gauss-Seidel (Zhu, Lao & Xing 2010).

Symbols: S is the working set, M the select unit, lambda the strength of the L1 penalty, L the NLL with the L2 penalty.

Algorithm 1 of the paper repeats Step 1, a step of orthant-wise descent over S, and Step 2, the selection of M features
into S, "until convergence", which is called Step 3 here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..errors import OptionError
from ..options import fail, truth_value, whole_number
from ..problem import Problem, Restrictable
from ..result import Status
from ..vectors import Vector, norms
from .common.conditions import with_l1
from .common.history import History
from .common.inner import OWLQNOptions, Unpack, inner_solver, no_more
from .common.needs import Needs, check
from .common.quasi_newton import ROUNDING, WINDOW, QuasiNewtonState, stopping_status
from .common.working_set import (
    Block,
    Features,
    WorkingSetState,
    compact,
    feature_numbers,
    free_weights,
    penalty_on,
    worst,
)
from .owlqn import OWLQN

__all__ = ["GaussSeidel", "Grafting", "GraftingLight"]

INNER = OWLQN(memory=40)


class Grafting:
    """Grafting: alternates optimising the weights of the selected features with adding features, for L1 problems.

    Source: Perkins, Lacker & Theiler (2003), as Zhu, Lao & Xing (2010) describe it in sections 2 and 5.3.1. The
    optimiser is OWL-QN, which keeps its history after a selection: the new features' entries are 0.

    Departures:

    - Weights without penalty, and weights that are not 0 at the start, are selected from the beginning.

    Cost: a step is one of OWL-QN on the selected features. If the objective can be restricted to them, an evaluation
    costs only these features (see ``working_set.compact``), else all of them. A selection costs a whole evaluation.

    Converged when OWL-QN has converged on the selected features and no other feature has |dL / dw_k| > l1, which is
    condition (3) of the paper; or when the violation of all features is at most ``gradient_tolerance`` * max(1, |w|), w
    without the weights that are not penalised. With ``max_features`` it may end before, as soon as OWL-QN has converged
    on ``max_features`` features.

    With ``restart`` OWL-QN starts from the origin after each selection, the dashed line of Zhu et al.'s Figure 1, at
    the cost of a whole evaluation. The objective then rises when features are selected, so a run that is stopped may
    end with weights that are worse than those before.

    Args:
        select: M, most features selected at a time, >= 1.
        max_features: most features selected at all, including those from the start; None for no limit.
        restart: start from the origin after each selection, not from the optimum over the features selected before.
        candidates: None if any feature may be selected from the beginning; else a function that is called before each
            selection with its number, from 0, and returns the numbers of the features that have become available
            since, or None when no more will.
        inner: OWL-QN, with more pairs than usual: on the selected features alone they cost little.
        options: of OWL-QN, by name, instead of an ``inner`` with these options.

    Raises:
        OptionError: an option is out of its range; from ``init`` when there is no L1 penalty.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import Grafting
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=Grafting(select=1)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    needs: ClassVar[Needs] = OWLQN.needs | Needs(uses=(Restrictable,), conditions=(with_l1,), varied=True)

    def __init__(
        self,
        *,
        select: int = 1000,
        max_features: int | None = None,
        restart: bool = False,
        candidates: Callable[[int], Any] | None = None,
        inner: OWLQN = INNER,
        **options: Unpack[OWLQNOptions],
    ) -> None:
        self.select = whole_number("select", select, 1, 2**62)
        self.max_features = None if max_features is None else whole_number("max_features", max_features, 1, 2**62)
        if candidates is not None and not callable(candidates):
            fail("candidates", candidates, "is not a function of the number of the selection")
        truth_value("restart", restart)
        self.restart = bool(restart)
        self.candidates = candidates
        self.inner = inner_solver("inner", inner, OWLQN, options)
        no_more(self, options, self.inner)

    @property
    def tolerance(self) -> float:
        """Bound on OWL-QN's mean relative decrease."""
        return self.inner.tolerance

    def init(self, problem: Problem, w0: Vector) -> WorkingSetState:
        """Evaluate the objective at w0 (one gradient evaluation) and select the first features; w0 is copied.

        Raises:
            OptionError: there is no L1 penalty, or the penalty is not one of single weights.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        start = self.inner.init(problem, w0)
        features = self._standing(problem, start.w)
        state = WorkingSetState(
            inner=self._started(problem, features, start.w, start.nll, start.gradient, None, start.history.scale),
            features=features,
            w=start.w,
            spare=start.w.copy(),
            elsewhere=0.0,
            violation=start.violation,
            selected=features,
            arrived=None if self.candidates is None else np.zeros(start.w.size, np.bool_),
            awaiting=self.candidates is not None,
            scale=start.history.scale,
        )
        return self._tested(problem, state, start.gradient)

    def step(self, problem: Problem, state: WorkingSetState) -> WorkingSetState:
        """Make Step 1 of Algorithm 1 and, if it is time to select, Steps 3 and 2."""
        state, gradient = self._optimised(problem, state)
        if not self._is_time(state):
            return state
        if gradient is None:
            gradient = np.zeros_like(state.w)
            problem.evaluate(state.w, gradient)
            state = replace(state, before=state.before + 1, full_evaluations=state.full_evaluations + 1)
        return self._tested(problem, state, gradient)

    def _standing(self, problem: Problem, w: Vector) -> Features:
        """Return the features in the working set without a selection: their weight is not 0, or not penalised."""
        return np.union1d(np.flatnonzero(w), free_weights(problem)).astype(np.int64)

    def _optimised(self, problem: Problem, state: WorkingSetState) -> tuple[WorkingSetState, Vector | None]:
        """Step 1: a step of OWL-QN over S. Return the gradient by all features as well, if the step evaluated it."""
        if not state.features.size:
            return replace(state, iteration=state.iteration + 1), None
        block = Block(problem, state.features, state.w) if self._looks_at_all(state) else None
        small = Problem(block, penalty_on(problem, state.features)) if block else self._problem(problem, state)
        inner = self.inner.step(small, state.inner)
        state.spare[state.features] = inner.w
        evaluations = inner.gradient_evaluations - state.inner.gradient_evaluations
        following = replace(
            state,
            inner=inner,
            w=state.spare,
            spare=state.w,
            violation=inner.violation,
            scored=False,
            since=state.since + 1,
            full_evaluations=state.full_evaluations + (evaluations if block else 0),
            iteration=state.iteration + 1,
            whole_gradient=None,
            problem=None if block else small,
        )
        moved = inner.w is not state.inner.w
        return following, block.gradient if block and moved else None

    def _tested(self, problem: Problem, state: WorkingSetState, gradient: Vector) -> WorkingSetState:
        """Step 3: check whether all features, in S or not, meet condition (3); if not, continue with Step 2."""
        violation = problem.penalty.violation(state.w, gradient)
        state = replace(state, violation=violation, scored=True, since=0, whole_gradient=gradient)
        state = self._with_arrivals(problem, state)
        w_norm = math.sqrt(problem.penalty.norms(state.w)[1])
        if state.scale is not None:
            violation, w_norm = (
                math.sqrt(norms(state.scale * problem.penalty.pseudo_gradient(state.w, gradient))[1]),
                0.0,
            )
        status = stopping_status(
            (state.objective,),
            violation,
            w_norm,
            0.0,
            self.inner.gradient_tolerance,
            problem.size_of(state.objective),
        )
        if status is Status.RUNNING or state.awaiting:
            return self._selected(problem, state, gradient)
        return replace(state, status=status)

    def _problem(self, problem: Problem, state: WorkingSetState) -> Problem:
        """Return the problem over the features in the working set."""
        if state.problem is not None:
            return state.problem
        block = compact(problem, state.features)
        return block or Problem(Block(problem, state.features, state.w), penalty_on(problem, state.features))

    def _looks_at_all(self, state: WorkingSetState) -> bool:
        """Whether the next step evaluates the whole gradient, because features are selected after it."""
        return False

    def _is_time(self, state: WorkingSetState) -> bool:
        """Whether to select features."""
        return state.inner.status is not Status.RUNNING

    def _with_arrivals(self, problem: Problem, state: WorkingSetState) -> WorkingSetState:
        """Let the candidates that have become available be selected."""
        if self.candidates is None or state.arrived is None or not state.awaiting:
            return state
        new = self.candidates(state.selections)
        if new is None:
            return replace(state, awaiting=False)
        arrived = state.arrived.copy()
        arrived[feature_numbers(new, problem.n_features, "candidates")] = True
        return replace(state, arrived=arrived, selections=state.selections + 1)

    def _room(self, state: WorkingSetState) -> int:
        """Return the number of features that may still be selected."""
        if self.max_features is None:
            return self.select
        return max(self.max_features - int(state.selected.size), 0)

    def _selected(self, problem: Problem, state: WorkingSetState, gradient: Vector) -> WorkingSetState:
        """Step 2: take into S the M features outside with the largest |dL / dw_k| > lambda; without any, it may end."""
        violations = problem.penalty.pseudo_gradient(state.w, gradient)
        np.abs(violations, out=violations)
        violations[state.features] = 0.0
        steepest = violations.max()
        if state.arrived is not None:
            violations[~state.arrived] = 0.0
        chosen = worst(violations, min(self.select, self._room(state)))
        inner = state.inner
        failed = inner.status is Status.LINE_SEARCH_FAILED
        if failed and state.recent and state.objective >= state.recent[-1]:
            return replace(state, status=inner.status)  # the features selected after the last failure did not help
        if not chosen.size:
            finished = inner.status is Status.CONVERGED and steepest > 0.0
            status = Status.FEATURES_SELECTED if finished else inner.status
            return state if state.awaiting and self._room(state) else replace(state, status=status)
        features = np.sort(np.concatenate([state.features, chosen]))
        assert isinstance(inner.history, History)
        carried = inner.history.cleared() if failed else inner.history
        history: History | None = carried.onto(state.features, features, state.scale)
        recent = (state.objective,) if failed else ()
        state = replace(state, selected=np.concatenate([state.selected, chosen]), recent=recent)
        if self.restart and state.w.any():
            state, history = self._at_origin(problem, state), None
            assert state.whole_gradient is not None
            gradient = state.whole_gradient
        return self._at_work(problem, state, features, gradient, history)

    def _at_origin(self, problem: Problem, state: WorkingSetState) -> WorkingSetState:
        """Return the state with all weights 0, at the cost of a whole evaluation."""
        w, gradient = np.zeros_like(state.w), np.zeros_like(state.w)
        nll = problem.evaluate(w, gradient)
        return replace(
            state,
            inner=replace(state.inner, nll=nll),
            w=w,
            spare=w.copy(),
            violation=problem.penalty.violation(w, gradient),
            whole_gradient=gradient,
            before=state.before + 1,
            full_evaluations=state.full_evaluations + 1,
        )

    def _at_work(
        self,
        problem: Problem,
        state: WorkingSetState,
        features: Features,
        gradient: Vector,
        history: History | None = None,
    ) -> WorkingSetState:
        """Return the state with these features in the working set."""
        started = self._started(problem, features, state.w, state.inner.nll, gradient, history, state.scale)
        return replace(
            state,
            inner=started,
            features=features,
            before=state.gradient_evaluations - started.gradient_evaluations,
            problem=None,
        )

    def _started(
        self,
        problem: Problem,
        features: Features,
        w: Vector,
        nll: float,
        gradient: Vector,
        history: History | None,
        scale: Vector | None,
    ) -> QuasiNewtonState:
        """Return the state of OWL-QN at w on some of the features."""
        small = Problem(problem.objective, penalty_on(problem, features))
        if history is None:
            history = History.empty(self.inner.memory, features.size, None if scale is None else scale[features])
        return self.inner.start(small, w[features], nll, gradient[features], history)


def _no_restart(solver: Grafting, name: str) -> None:
    """Raise OptionError if a solver that moves some weights at a time is to start from the origin."""
    if solver.restart:
        message = f"restart=True: {name} does not optimise all selected features between selections; use grafting"
        raise OptionError(message)


class GraftingOptions(OWLQNOptions, total=False):
    """Options of ``Grafting``, as options of a solver derived from it."""

    select: int
    max_features: int | None
    restart: bool
    candidates: Callable[[int], Any] | None
    inner: OWLQN


class GraftingLight(Grafting):
    """Grafting-Light: alternates OWL-QN steps with adding features, for L1 problems.

    Source: Zhu, Lao & Xing (2010), Algorithm 1 and section 5.2.

    Departures, in addition to that of ``Grafting``:

    - There may be several steps between selections, as the paper suggests in section 5.3.2: only the last of them needs
      the gradient by all features.
    - At the end no feature has |dL / dw_k| > l1, while the paper stops as soon as the objective changes little.

    See ``Grafting`` for the cost, the end and the other options.

    Args:
        steps: of OWL-QN between two selections, >= 1. In the paper 1. Each selection costs an evaluation over all
            features; with 10 there are more evaluations, but most of them over the selected features alone. 1 is better
            where an evaluation over all features costs little more (see docs/papers/zhu2010.md), 20 for a fast way to
            a good objective on large data (see docs/experiments.md).

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import GraftingLight
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=GraftingLight(select=1, steps=5)).fit(X, y).result_.trace[-1].working_set
        3
    """

    def __init__(self, *, steps: int = 10, **options: Unpack[GraftingOptions]) -> None:
        super().__init__(**options)
        _no_restart(self, "grafting_light")
        self.steps = whole_number("steps", steps, 1, 2**62)

    def _looks_at_all(self, state: WorkingSetState) -> bool:
        return state.since + 1 >= self.steps and self._room(state) > 0

    def _is_time(self, state: WorkingSetState) -> bool:
        return (state.since >= self.steps and self._room(state) > 0) or super()._is_time(state)


class GaussSeidel(Grafting):
    """Gauss-Seidel: repeatedly optimises the weights that most violate the optimality conditions, for L1 problems.

    Source: Shevade & Keerthi (2003), with M features at a time as in Zhu, Lao & Xing (2010), section 6.

    Cost: an evaluation is one of the M features and of all others that are not 0, if the objective can be restricted to
    them, else a whole one. Selecting costs a whole evaluation.

    Converged when the violation is at most ``gradient_tolerance`` * max(1, |w|), or the mean relative decrease over
    the last 5 selections is at most ``tolerance``. Training also ends, with OWL-QN's status, after a selection that
    decreases nothing beyond rounding errors. See ``Grafting`` for the options, except ``max_features``.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import GaussSeidel
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=GaussSeidel(select=1)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    def __init__(self, **options: Unpack[GraftingOptions]) -> None:
        super().__init__(**options)
        if self.max_features is not None:
            message = f"max_features={self.max_features}: gauss_seidel uses all features; use grafting_light"
            raise OptionError(message)
        _no_restart(self, "gauss_seidel")

    def _problem(self, problem: Problem, state: WorkingSetState) -> Problem:
        if state.problem is not None:
            return state.problem
        features = state.features
        needed = np.union1d(features, self._standing(problem, state.w))
        small = compact(problem, needed)
        if small is None:
            block = Block(problem, features, state.w)
        else:
            block = Block(small, np.searchsorted(needed, features), state.w[needed])
        return Problem(block, penalty_on(problem, features))

    def _selected(self, problem: Problem, state: WorkingSetState, gradient: Vector) -> WorkingSetState:
        """Step 2 with another S each time: the M features that violate optimality most; and the end of the rounds."""
        recent = (*state.recent[-WINDOW:], state.objective)
        if state.recent and not state.awaiting:
            status = stopping_status(recent, state.violation, 1.0, self.tolerance, 0.0, problem.size_of(recent[-1]))
            if status is Status.RUNNING and recent[-2] - recent[-1] <= ROUNDING * abs(recent[-1]):
                status = state.inner.status
            if status is not Status.RUNNING:
                return replace(state, status=status)
        violations = np.abs(problem.penalty.pseudo_gradient(state.w, gradient))
        if state.arrived is not None:
            violations[~state.arrived] = 0.0
        chosen = worst(violations, self.select)
        selected = np.concatenate([state.selected, chosen[~np.isin(chosen, state.selected)]])
        others = state.w.copy()
        others[chosen] = 0.0
        elsewhere = problem.penalty.value(others)
        state = replace(state, recent=recent, selected=selected, spare=state.w.copy(), elsewhere=elsewhere)
        return self._at_work(problem, state, np.sort(chosen), gradient)
