"""Feature selection by the gradient: Grafting-Light, Grafting and Gauss-Seidel (Zhu, Lao & Xing 2010).

Symbols: S is the working set, M the select unit, lambda the strength of the L1 penalty, L the NLL with the L2 penalty.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import OptionError
from ..options import whole_number
from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .owlqn import OWLQN
from .parts.history import History
from .parts.quasi_newton import (
    ROUNDING,
    WINDOW,
    QuasiNewtonState,
    stopping_status,
)
from .parts.working_set import (
    Block,
    Features,
    WorkingSetState,
    compact,
    feature_numbers,
    penalty_on,
    worst,
)

__all__ = ["GaussSeidel", "Grafting", "GraftingLight"]


class Grafting:
    """Grafting: optimise over the selected features, then select the M that violate optimality most, in turn.

    Source: Perkins, Lacker & Theiler (2003), as Zhu, Lao & Xing (2010) describe it in sections 2 and 5.3.1; the
    optimiser is OWL-QN, whose history survives a selection: the new features' entries are 0.
    Departures: weights without penalty, and those that are not 0 at the start, are selected from the beginning.
    Cost: a step is one of OWL-QN on the selected features. If the objective can be restricted to them, that is what an
    evaluation costs (see ``working_set.compact``), else it is a whole one. Selecting costs a whole evaluation.

    Converged when OWL-QN has converged on the selected features and no other feature has |dL / dw_k| > l1, which is
    condition (3) of the paper; or when the violation of all features is at most ``gradient_tolerance`` * max(1, |w|),
    w without the weights that bear no penalty. With ``max_features`` it may end before, as soon as OWL-QN has converged
    on so many features.

    Args:
        select: M, most features selected at a time, >= 1.
        max_features: most features selected at all, those at work from the beginning included; None for no limit.
        tolerance: of OWL-QN: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        memory: stored (s, y) pairs of OWL-QN, >= 1; on the selected features alone they cost little.
        max_line_search: most evaluations in one of its line searches, >= 1.
        candidates: None if any feature may be selected from the beginning; else a function that is called before each
            selection with its number, from 0, and returns the numbers of the features that have become available
            since, or None when no more will.

    Raises:
        OptionError: an option is out of its range; from ``init`` when there is no L1 penalty.
    """

    name = "grafting"

    def __init__(
        self,
        *,
        select: int = 1000,
        max_features: int | None = None,
        tolerance: float = 1e-5,
        gradient_tolerance: float = 1e-6,
        memory: int = 40,
        max_line_search: int = 20,
        candidates: Callable[[int], Any] | None = None,
    ) -> None:
        self.select = whole_number("select", select, 1, 2**62)
        self.max_features = None if max_features is None else whole_number("max_features", max_features, 1, 2**62)
        self.inner = OWLQN(
            memory=memory,
            tolerance=tolerance,
            gradient_tolerance=gradient_tolerance,
            max_line_search=max_line_search,
        )
        if candidates is not None and not callable(candidates):
            message = f"candidates={candidates!r} is no function of the selection's number"
            raise OptionError(message)
        self.candidates = candidates

    @property
    def tolerance(self) -> float:
        """That of OWL-QN."""
        return self.inner.tolerance

    def init(self, problem: Problem, w0: Vector) -> WorkingSetState:
        """Evaluate the objective at w0 (one gradient evaluation) and select the first features; w0 is copied.

        Raises:
            OptionError: there is no L1 penalty.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        if not problem.penalty.l1:
            message = f"{self.name} selects features by an L1 penalty, and l1=0; give an l1 > 0, or use lbfgs"
            raise OptionError(message)
        start = self.inner.init(problem, w0)
        free = np.arange(problem.n_features - problem.penalty.unpenalised, problem.n_features)
        features = np.union1d(np.flatnonzero(start.w), free).astype(np.int64)
        state = WorkingSetState(
            inner=self._started(problem, features, start.w, start.nll, start.gradient),
            features=features,
            w=start.w,
            spare=start.w.copy(),
            elsewhere=0.0,
            violation=start.violation,
            selected=features,
            arrived=None if self.candidates is None else np.zeros(start.w.size, np.bool_),
            awaiting=self.candidates is not None,
        )
        return self._scored(problem, state, start.gradient)

    def step(self, problem: Problem, state: WorkingSetState) -> WorkingSetState:
        """Make a step of OWL-QN on the features at work, and select others if it is time."""
        if not state.features.size:
            return self._evaluated(problem, replace(state, iteration=state.iteration + 1))
        block = Block(problem, state.features, state.w) if self._looks_at_all(state) else None
        small = Problem(block, penalty_on(problem, state.features)) if block else self._problem(problem, state)
        inner = self.inner.step(small, state.inner)
        state.spare[state.features] = inner.w
        following = replace(
            state,
            inner=inner,
            w=state.spare,
            spare=state.w,
            violation=inner.violation,
            scored=False,
            since=state.since + 1,
            full_evaluations=state.full_evaluations
            + (inner.gradient_evaluations - state.inner.gradient_evaluations if block else 0),
            iteration=state.iteration + 1,
            problem=None if block else small,
        )
        if not self._is_time(following):
            return following
        moved = inner.w is not state.inner.w
        if block and moved:
            return self._scored(problem, following, block.gradient)
        return self._evaluated(problem, following)

    def _problem(self, problem: Problem, state: WorkingSetState) -> Problem:
        """Return the problem over the features at work."""
        if state.problem is not None:
            return state.problem
        block = Block(problem, state.features, state.w)
        return compact(problem, state.features) or Problem(block, penalty_on(problem, state.features))

    def _looks_at_all(self, state: WorkingSetState) -> bool:
        """Whether the next step evaluates the whole gradient, because features are selected after it."""
        return False

    def _is_time(self, state: WorkingSetState) -> bool:
        """Whether to select features."""
        return state.inner.status is not Status.RUNNING

    def _evaluated(self, problem: Problem, state: WorkingSetState) -> WorkingSetState:
        """Evaluate the whole gradient, and go on from there."""
        gradient = np.zeros_like(state.w)
        problem.evaluate(state.w, gradient)
        counted = replace(state, before=state.before + 1, full_evaluations=state.full_evaluations + 1)
        return self._scored(problem, counted, gradient)

    def _scored(self, problem: Problem, state: WorkingSetState, gradient: Vector) -> WorkingSetState:
        """Return the state, whose whole gradient this is, with more features at work, or at the end."""
        violation = problem.penalty.violation(state.w, gradient)
        state = self._with_arrivals(problem, replace(state, violation=violation, scored=True, since=0))
        norm = math.sqrt(problem.penalty.norms(state.w)[1])
        status = stopping_status((state.objective,), violation, norm, 0.0, self.inner.gradient_tolerance)
        if status is Status.RUNNING or state.awaiting:
            return self._selected(problem, state, gradient)
        return replace(state, status=status)

    def _with_arrivals(self, problem: Problem, state: WorkingSetState) -> WorkingSetState:
        """Take up what candidates have become available."""
        if self.candidates is None or state.arrived is None or not state.awaiting:
            return state
        new = self.candidates(state.selections)
        if new is None:
            return replace(state, awaiting=False)
        arrived = state.arrived.copy()
        arrived[feature_numbers(new, problem.n_features, "candidates")] = True
        return replace(state, arrived=arrived, selections=state.selections + 1)

    def _room(self, state: WorkingSetState) -> int:
        """How many more features may be selected."""
        if self.max_features is None:
            return self.select
        return max(self.max_features - int(state.selected.size), 0)

    def _selected(self, problem: Problem, state: WorkingSetState, gradient: Vector) -> WorkingSetState:
        """Step 2 of Algorithm 1: take the M worst of the other features into S; without any, that may be the end."""
        violations = np.abs(gradient)
        violations -= problem.penalty.l1
        violations[state.features] = 0.0
        if state.arrived is not None:
            violations[~state.arrived] = 0.0
        chosen = worst(violations, min(self.select, self._room(state)))
        inner = state.inner
        failed = inner.status is Status.LINE_SEARCH_FAILED
        if failed and state.recent and state.objective >= state.recent[-1]:
            return replace(state, status=inner.status)  # what was selected after the last failure was of no help
        if not chosen.size:
            finished = inner.status is Status.CONVERGED and violations.max() > 0.0
            status = Status.FEATURES_SELECTED if finished else inner.status
            return state if state.awaiting and self._room(state) else replace(state, status=status)
        features = np.sort(np.concatenate([state.features, chosen]))
        history = inner.history.cleared() if failed else inner.history
        assert isinstance(history, History)
        history = history.spread(np.searchsorted(features, state.features), features.size)
        recent = (state.objective,) if failed else ()
        state = replace(state, selected=np.concatenate([state.selected, chosen]), recent=recent)
        return self._at_work(problem, state, features, gradient, history)

    def _at_work(
        self,
        problem: Problem,
        state: WorkingSetState,
        features: Features,
        gradient: Vector,
        history: History | None = None,
    ) -> WorkingSetState:
        """Return the state with these features at work."""
        started = self._started(problem, features, state.w, state.inner.nll, gradient, history)
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
        history: History | None = None,
    ) -> QuasiNewtonState:
        """Return the state of OWL-QN at w on some of the features."""
        small = Problem(problem.objective, penalty_on(problem, features))
        history = history or History.empty(self.inner.memory, features.size)
        return self.inner.start(small, w[features], nll, gradient[features], history)


class GraftingLight(Grafting):
    """Grafting-Light: a step of OWL-QN on the selected features, then select the M that violate optimality most.

    Source: Zhu, Lao & Xing (2010), Algorithm 1 and section 5.2.
    Departures: there may be several steps between selections, as the paper suggests in section 5.3.2: only the last of
    them needs the gradient by all features. At the end no feature has |dL / dw_k| > l1, while the paper stops as soon
    as the objective changes little. See ``Grafting`` for the others, the cost, the end and the other options.

    Args:
        steps: of OWL-QN between two selections, >= 1. In the paper 1. Each selection costs an evaluation over all
            features; with 10 there are more evaluations, but most of them over the selected features alone. 1 is better
            where an evaluation over all features costs little more (see docs/papers/zhu2010.md), 20 for a quick way to
            a good objective on large data (see docs/benchmarks.md).
    """

    name = "grafting_light"

    def __init__(self, *, steps: int = 10, **options: Any) -> None:
        super().__init__(**options)
        self.steps = whole_number("steps", steps, 1, 2**62)

    def _looks_at_all(self, state: WorkingSetState) -> bool:
        return state.since + 1 >= self.steps and self._room(state) > 0

    def _is_time(self, state: WorkingSetState) -> bool:
        return (state.since >= self.steps and self._room(state) > 0) or super()._is_time(state)


class GaussSeidel(Grafting):
    """Gauss-Seidel: optimise over the M features that violate optimality most, all others fixed, again and again.

    Source: Shevade & Keerthi (2003), with M features at a time as in Zhu, Lao & Xing (2010), section 6.
    Cost: every evaluation is a whole one, for the other features have weights as well.

    Converged when the violation is at most ``gradient_tolerance`` * max(1, |w|), or the mean relative decrease over
    the last 5 selections is at most ``tolerance``. A selection after which nothing decreases beyond rounding errors is
    the end as well, with OWL-QN's status. See ``Grafting`` for the options; ``max_features`` is none of them.
    """

    name = "gauss_seidel"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if self.max_features is not None:
            message = f"max_features={self.max_features}: gauss_seidel goes through all features; use grafting_light"
            raise OptionError(message)

    def _problem(self, problem: Problem, state: WorkingSetState) -> Problem:
        return state.problem or Problem(Block(problem, state.features, state.w), penalty_on(problem, state.features))

    def _selected(self, problem: Problem, state: WorkingSetState, gradient: Vector) -> WorkingSetState:
        recent = (*state.recent[-WINDOW:], state.objective)
        if state.recent and not state.awaiting:
            status = Status.RUNNING
            if len(recent) > WINDOW:
                status = stopping_status(recent, state.violation, 1.0, self.tolerance, 0.0)
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
