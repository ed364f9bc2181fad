"""Working sets of labels: quasi-Newton steps over the likely labels of each token, under a trust region.

Symbols: F the penalised objective, S the pruned one, w0 the weights where the sets of labels were drawn.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from ..errors import ObjectiveError
from ..options import real_number, whole_number
from ..penalty import curvature, varies
from ..problem import PerSample, Problem
from ..result import Status
from ..vectors import Vector
from .common.conditions import convex
from .common.history import History
from .common.inner import StagesOptions, Unpack, inner_solver, no_more
from .common.needs import Needs, check, suits
from .common.per_sample import measured
from .common.pruning import Made, Prunable, Pruned, of_all_features, of_first_order
from .common.quasi_newton import ROUNDING, QuasiNewtonState, check_numbers, stopping_status
from .common.wolfe import Point, cubic_minimum
from .common.working_set import Features, penalty_on, worst
from .label_sets_state import LabelSetsState
from .owlqn import OWLQN
from .sgd_l1 import BATCH_SIZE, SGDL1, by_batches

__all__ = ["LabelSets", "LabelSetsState"]

FIRST = SGDL1(passes=5, learning_rate=0.1, batch_size=BATCH_SIZE)
INNER = OWLQN(memory=10, tolerance=1e-4)
# Options of SGD-L1 without which passes go by batches.
WITHOUT_BATCHES = {"penalty", "line_search"}
# Labels with a marginal above this multiple of the bound keep their links to the labels of neighbouring tokens, in
# first order and in second, where the links of a token grow with the cube of its labels.
LINKS, LINKS_OF_TRIPLES = 3.0, 10.0
# A round is accepted if F decreases by at least the first share of the decrease of S, and a good one by the second. A
# round that is not good may end on the way, where F is smaller, at least the third share of it away from its ends.
ACCEPTED, GOOD, LEAST_SHARE = 1e-3, 0.5, 0.1
# After a rejected round there are fewer steps, and more labels.
FEWER, SMALLER = 3, 0.25
# A round in which F decreases by more than S halves the guard, down to the least one; a round that is not good makes it
# four times as strong, up to the largest one.
WEAKER, STRONGER, LEAST_GUARD, MOST_GUARD = 0.5, 4.0, 1.0 / 64.0, 16.0
# An evaluation of S, whose making costs two to eight of them, may cost at most this share of an evaluation of F.
# Otherwise, and below this scale of the bounds, rounds make their steps on F.
MOST_COST, LEAST_SCALE = 0.75, 1e-3
# Rounds are slow from the first one on that decreases F by at most this share. Before, OWL-QN works in units of the
# curvature of S. Later, without an L2 penalty, S is corrected after a good round instead of made again, so that it
# lasts for up to three rounds.
SLOW, MOST_ROUNDS = 0.01, 3


def prunable(problem: Problem) -> str:
    """The labels of the objective can be pruned."""
    can = cast(Prunable, problem.objective).is_prunable
    return "" if can else "cannot prune labels with bigram attributes"


class LabelSets:
    """OWL-QN whose steps mostly consider only likely labels, for chains with an L1, L2 or elastic-net penalty.

    An evaluation of the whole objective finds the labels of each token with a marginal above ``bound``. Over these
    labels alone, with a correction that gives it the value and the gradient of F at w0, the objective S is many times
    cheaper (``Prunable``). A round makes ``steps`` steps on S and then evaluates F; it is accepted if F decreases. If F
    ascends at the end of a round, the round ends at a point on the way.
    With L1, S is restricted to features as well: those with weights, and the ``select`` others that violate optimality
    most, as in ``GraftingLight``.

    Sources: Pal, Sutton & McCallum (2006) prune lattices by marginals; the corrected model and its trust region are
    first-order model management (Alexandrov, Dennis, Lewis & Torczon 1998) and MG/OPT (Lewis & Nash 2005).

    Departures: labels above 3 ``bound``, in second order 10 ``bound``, keep their links to the labels of neighbouring
    tokens, labels below are taken as independent of these; a separable guard stands for the curvature of what is pruned
    (``native/src/chain/objective/pruned``), and weakens where F decreases by more than S; the line searches of a round
    look back at the last steps of the round before.

    Where many labels of a token stay likely and few transitions have features, an evaluation of S costs more than one
    of F. Counts of labels and links tell before S is made: a round then makes its steps on F.

    The first rounds take steps in units of the curvature of S. Later, without an L2 penalty, S serves for three rounds,
    each time corrected to agree with F at the new weights.

    Cost: a round takes one evaluation, the construction of S, which costs as much as two evaluations, and steps that
    cost a sixth to a quarter of one each.

    Converged when one of these holds:

    - violation <= gradient_tolerance * max(1, |w|), and 1e-4 |F| / |w|; |w| of the penalised weights;
    - a round of all ``steps`` steps decreases F by at most OWL-QN's tolerance times |F|. If it ends at the optimum of
      S, with a stronger guard than at first, it does not converge, and all further steps are on F;
    - in steps on F, OWL-QN has converged, with this tolerance over ``steps``;
    - S promises a decrease that the rounding errors of F can hide.

    Args:
        bound: marginal that a label needs to be kept, in (0, 1). Rejected rounds lower it, for a time.
        steps: most steps of a round, >= 1.
        select: most features selected for a round, >= 1; only with L1.
        first: SGD-L1, whose passes come first unless the start has weights; None for no such passes. They are left out
            where the objective has none, go sample by sample where it has no batches, and are undone if they end above
            the start.
        inner: OWL-QN.
        options: of SGD-L1 and OWL-QN, by name, instead of a ``first`` and an ``inner`` with these options.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the labels of the objective cannot be pruned.

    Example:
        >>> from loglinear import ChainCRF
        >>> from loglinear.solvers import LabelSets
        >>> crf = ChainCRF(l1=0.1, solver=LabelSets()).fit([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]])
        >>> crf.result_.status.name, round(crf.result_.objective, 3)
        ('CONVERGED', 0.669)
    """

    needs: ClassVar[Needs] = OWLQN.needs | Needs(
        objective=(Prunable,), uses=(PerSample,), conditions=(convex, prunable), varied=True
    )

    def __init__(
        self,
        *,
        bound: float = 1e-3,
        steps: int = 20,
        select: int = 1000,
        first: SGDL1 | None = FIRST,
        inner: OWLQN = INNER,
        **options: Unpack[StagesOptions],
    ) -> None:
        self.bound = real_number("bound", bound, "a number above 0 and below 1", lambda x: 0.0 < x < 1.0)
        self.steps = whole_number("steps", steps, 1, 2**31 - 1)
        self.select = whole_number("select", select, 1, 2**62)
        of_first = {"batch_size": 1, **options} if WITHOUT_BATCHES & options.keys() else options
        self.first = None if first is None else inner_solver("first", first, SGDL1, of_first)
        self.inner = inner_solver("inner", inner, OWLQN, options)
        no_more(self, options, *filter(None, (self.first, self.inner)))
        # OWL-QN's own test is about S, not about F. On F it is about one step, and that of rounds about ``steps``.
        self._stepper = replace(self.inner, tolerance=0.0)
        self._stepper_on_all = replace(self.inner, tolerance=self.inner.tolerance / self.steps)

    @property
    def tolerance(self) -> float:
        """Bound on the relative decrease of a round."""
        return self.inner.tolerance

    def init(self, problem: Problem, w0: Vector) -> LabelSetsState:
        """Evaluate the objective at w0 (one gradient evaluation); w0 is copied.

        Raises:
            OptionError: the labels of the objective cannot be pruned.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        state = self._evaluated(problem, np.array(w0, dtype=np.float64), self.bound)
        check_numbers(state.objective, state.violation)
        state = replace(state, steps=self.steps, status=self._status(problem, state))
        start = of_first_order(problem)
        if self.first is None or state.status is not Status.RUNNING or state.w.any() or not suits(SGDL1, start):
            return state
        first = by_batches(self.first, start).init(start, np.zeros(start.n_features))
        return replace(state, first=first, before=state.objective, stage=start)

    def step(self, problem: Problem, state: LabelSetsState) -> LabelSetsState:
        """Make a round, or a pass of the first stage."""
        if state.first is None:
            return self._round(problem, state)
        assert self.first is not None
        stage = state.stage or of_first_order(problem)
        try:
            first = by_batches(self.first, stage).step(stage, state.first)
        except ObjectiveError:
            first = replace(state.first, w=np.zeros_like(state.first.w), status=Status.PASSES_MADE)
        w = of_all_features(problem, first.w)
        iteration = state.iteration + 1
        if first.status is Status.RUNNING:
            state = replace(state, objective=math.nan, nll=math.nan, violation=math.nan)
            return replace(state, first=first, stage=stage, w=w, iteration=iteration)
        moved, evaluations = self._evaluated(problem, w, self.bound), state.evaluations + 1
        if not moved.objective < state.before:
            moved, evaluations = self._evaluated(problem, np.zeros_like(w), self.bound), evaluations + 1
        moved = replace(moved, steps=self.steps, iteration=iteration)
        return replace(moved, evaluations=evaluations, passes_before=first.passes)

    def measure(self, problem: Problem, state: LabelSetsState) -> LabelSetsState:
        """Return the state with objective and violation, which the first stage does not need."""
        return measured(problem, state)

    def _evaluated(self, problem: Problem, w: Vector, least: float) -> LabelSetsState:
        """Return a new state at w, with the labels whose marginals are above ``least``."""
        gradient = np.zeros_like(w)
        nll, _, likely = cast(Prunable, problem.objective).likely_labels(w, least, gradient)
        objective, violation = problem.penalised(w, nll, gradient)
        return LabelSetsState(w, gradient, objective, nll, violation, likely=likely)

    def _status(self, problem: Problem, state: LabelSetsState) -> Status:
        norm = math.sqrt(problem.penalty.norms(state.w)[1])
        size = problem.size_of(state.objective)
        return stopping_status((state.objective,), state.violation, norm, 0.0, self.inner.gradient_tolerance, size)

    def _round(self, problem: Problem, state: LabelSetsState) -> LabelSetsState:
        """Make steps on S, and accept the new weights if F decreases; make them on F where S is not much cheaper."""
        if state.scale < LEAST_SCALE:
            return self._round_on_all(problem, state)
        least = self._bound(state)
        state, made = self._agreeing(problem, state)
        if made.pruned is None:
            return self._round_on_all(problem, state)
        features = made.features
        penalty = problem.penalty if features is None else penalty_on(problem, features)
        small = Problem(made.pruned, penalty)
        inner = self._started(small, state, made, state.recent)
        before = inner.gradient_evaluations
        for _ in range(state.steps):
            inner = self._stepper.step(small, inner)
            if inner.status is not Status.RUNNING:
                break
        state = replace(
            state,
            iteration=state.iteration + 1,
            pruned_evaluations=state.pruned_evaluations + inner.gradient_evaluations - before,
        )
        promised = state.objective - inner.objective
        if promised <= ROUNDING * abs(state.objective):
            return self._without_promise(state, inner)
        w = inner.w.copy() if features is None else np.zeros_like(state.w)
        if features is not None:
            w[features] = inner.w
        moved = self._evaluated(problem, w, least)
        state = replace(state, evaluations=state.evaluations + 1)
        end = moved
        if not state.objective - moved.objective >= GOOD * promised:
            state, moved = self._nearer(problem, state, end, least)
        decrease = state.objective - moved.objective
        if not decrease >= ACCEPTED * promised:
            return self._shrunk(state)
        following = self._moved(problem, state, moved, made, inner, share=decrease / promised)
        return following if moved is end else self._redrawn(problem, state, following)

    def _round_on_all(self, problem: Problem, state: LabelSetsState) -> LabelSetsState:
        """Make OWL-QN's steps on F; converged when OWL-QN is."""
        features = np.arange(state.w.size) if problem.penalty.l1 else None
        inner = self._started(problem, state, Made(state.w, 0.0, features), ())
        before = inner.gradient_evaluations
        for _ in range(self.steps):
            inner = self._stepper_on_all.step(problem, inner)
            if inner.status is not Status.RUNNING:
                break
        moved = LabelSetsState(inner.w, inner.gradient, inner.objective, inner.nll, inner.violation)
        evaluations = state.evaluations + inner.gradient_evaluations - before
        if inner.status is Status.RUNNING and state.scale >= LEAST_SCALE:
            moved, evaluations = self._evaluated(problem, inner.w, self._bound(state)), evaluations + 1
        history, recent = cast(History, inner.history), inner.recent[:-1]
        moved = self._after(state, moved, history=history, features=features, recent=recent, evaluations=evaluations)
        return replace(moved, iteration=state.iteration + 1, status=inner.status)

    def _nearer(
        self, problem: Problem, state: LabelSetsState, end: LabelSetsState, least: float
    ) -> tuple[LabelSetsState, LabelSetsState]:
        """Return the state, and the end of a round or a point on the way there, at which F is smaller.

        F descends where the round begins, since S agrees with it there. If it ascends at the end, the point is at the
        minimum of the cubic through both; the penalty is taken as linear in between.
        """
        step, penalties = end.w - state.w, (end.objective - end.nll) - (state.objective - state.nll)
        low = Point(0.0, state.objective, float(state.gradient @ step) + penalties)
        high = Point(1.0, end.objective, float(end.gradient @ step) + penalties)
        if not low.slope < 0.0 < high.slope < math.inf:
            return state, end
        share = min(max(cubic_minimum(low, high), LEAST_SHARE), 1.0 - LEAST_SHARE)
        nearer = self._evaluated(problem, state.w + share * step, least)
        state = replace(state, evaluations=state.evaluations + 1)
        return state, nearer if nearer.objective < end.objective else end

    def _bound(self, state: LabelSetsState) -> float:
        """Return the bound on marginals."""
        return self.bound * state.scale

    def _at_work(self, problem: Problem, state: LabelSetsState) -> Features | None:
        """Return the features of the next round; None for all."""
        if not problem.penalty.l1:
            return None
        w, free, l1 = state.w, state.w.size - problem.penalty.unpenalised, problem.penalty.l1
        if varies(problem.penalty):
            steepness = np.abs(problem.penalty.pseudo_gradient(w, state.gradient)[:free])
            steepness[w[:free] != 0.0] = 0.0
            chosen = worst(steepness, self.select)
        else:
            others = np.flatnonzero(np.abs(state.gradient[:free]) > l1)
            others = others[w[others] == 0.0]
            chosen = others[worst(np.abs(state.gradient[others]) - l1, self.select)]
        nonzero = np.flatnonzero(w[:free] != 0.0)
        # Not empty: a running state has a violation.
        return np.concatenate([np.sort(np.concatenate([nonzero, chosen])), np.arange(free, w.size)]).astype(np.int64)

    def _agreeing(self, problem: Problem, state: LabelSetsState) -> tuple[LabelSetsState, Made]:
        """Return the state, with the likely labels, and an S that agrees with F at w."""
        bound, made = self._bound(state), state.made
        if made is not None and made.bound == bound:
            if made.pruned is None:
                made = self._made(problem, self._evaluated(problem, made.w, bound), made)
            w, gradient = _of(state.w, made.features), _of(state.gradient, made.features)
            pruned = cast(Pruned, made.pruned).agreeing(w, state.nll, gradient, state.guard)
            return state, replace(made, pruned=pruned)
        if state.likely is None or state.likely.least > bound:
            # After loading, the likely labels are computed again; an uninterrupted run does not make that evaluation.
            again = int(state.likely is not None)
            likely = self._evaluated(problem, state.w, bound).likely
            state = replace(state, likely=likely, evaluations=state.evaluations + again)
        return state, self._made(problem, state, Made(state.w, bound, self._at_work(problem, state)))

    def _made(self, problem: Problem, state: LabelSetsState, made: Made) -> Made:
        """Return ``made`` with an S that agrees with F at w."""
        objective, features = cast(Prunable, problem.objective), made.features
        pruned = objective.pruned(
            state.likely,
            _of(state.w, features),
            state.nll,
            _of(state.gradient, features),
            bound=made.bound,
            links=made.bound * (LINKS if objective.order == 1 else LINKS_OF_TRIPLES),
            guard=state.guard,
            features=features,
            cost=MOST_COST,
        )
        return replace(made, pruned=pruned)

    def _started(
        self, small: Problem, state: LabelSetsState, made: Made, recent: tuple[float, ...]
    ) -> QuasiNewtonState:
        """Return the state of OWL-QN at w on the features in the working set, with the pairs of the rounds before.

        ``recent`` are the objectives that its line search looks back at.
        """
        features, history = made.features, state.history
        w, gradient = _of(state.w, features).copy(), _of(state.gradient, features).copy()
        units = _units(small, made, state.is_slow)
        if history is not None:
            if features is not None and state.features is not None:
                scale = np.ones_like(state.w)
                scale[state.features] = 1.0 if history.scale is None else history.scale
                history = history.onto(state.features, features, None if history.scale is None else scale)
            if units is not None or history.scale is not None:
                history = history.in_units(units)
            # A pair of length 0 is not stored, but the history then has its products with the gradient.
            history = cast(History, history.advance(w, gradient, w, gradient, small.separable).curvature)
        elif units is not None:
            history = History.empty(self.inner.memory, w.size, units)
        start = self._stepper.start(small, w, state.nll, gradient, history, 0)
        return replace(start, recent=(*recent, start.objective))

    def _moved(
        self,
        problem: Problem,
        state: LabelSetsState,
        moved: LabelSetsState,
        made: Made,
        inner: QuasiNewtonState,
        *,
        share: float,
    ) -> LabelSetsState:
        """Return the state after an accepted round, with a check of convergence.

        ``share`` is the decrease of F over that of S.
        """
        good = share >= GOOD
        status, wait = self._status(problem, moved), max(state.wait - good, 0)
        decrease = state.objective - moved.objective
        ends = state.steps >= self.steps and decrease <= self.tolerance * problem.size_of(moved.objective)
        is_held = state.guard > 1.0 and inner.status is not Status.RUNNING
        if status is Status.RUNNING and ends and self.tolerance and not made.rounds and not is_held:
            status = Status.CONVERGED
        made = replace(made, rounds=made.rounds + 1)
        is_slow = state.is_slow or not good or decrease <= SLOW * abs(moved.objective)
        stays = good and is_slow and not ends and made.rounds < MOST_ROUNDS and not problem.penalty.l2
        scale = min(state.scale / SMALLER, 1.0) if good and not wait else state.scale
        return replace(
            self._after(state, moved),
            history=cast(History, inner.history),
            features=made.features,
            made=made if stays else None,
            is_slow=is_slow,
            steps=min(2 * state.steps, self.steps) if good else max(state.steps // 2, 1),
            scale=0.0 if ends and is_held else scale,
            wait=wait,
            guard=self._guard(state, share),
            recent=inner.recent[:-1],
            status=status,
        )

    def _after(self, state: LabelSetsState, moved: LabelSetsState, **changes: Any) -> LabelSetsState:
        """Return the state at the weights of ``moved``, with changes, as a round from ``state`` leaves it."""
        unchanged = replace(
            state,
            w=moved.w,
            gradient=moved.gradient,
            objective=moved.objective,
            nll=moved.nll,
            violation=moved.violation,
            likely=moved.likely,
            made=None,
        )
        return replace(unchanged, **changes)

    def _guard(self, state: LabelSetsState, share: float) -> float:
        """Return the guard after a round: weaker if F decreased by more than S, stronger if by far less."""
        if share > 1.0:
            return max(state.guard * WEAKER, LEAST_GUARD)
        return state.guard if share >= GOOD else min(state.guard * STRONGER, MOST_GUARD)

    def _redrawn(self, problem: Problem, before: LabelSetsState, state: LabelSetsState) -> LabelSetsState:
        """Return the state after a round that ended on the way: its labels are drawn again, and it does not converge.

        There are more labels if the guard had been strengthened in vain.
        """
        status, scale = self._status(problem, state), min(state.scale, before.scale)
        state = replace(state, steps=before.steps, scale=scale, made=None, status=status)
        return self._with_more_labels(state) if before.guard >= STRONGER else state

    def _shrunk(self, state: LabelSetsState) -> LabelSetsState:
        """Return the state after a rejected round: with fewer steps, more labels and no pairs."""
        state = replace(state, steps=max(state.steps // FEWER, 1), guard=self._guard(state, 0.0))
        return self._without_pairs(self._with_more_labels(state))

    def _with_more_labels(self, state: LabelSetsState) -> LabelSetsState:
        """Return the state with smaller bounds, for twice as many good rounds as the last time."""
        rejected = state.rejected + 1
        return replace(state, scale=state.scale * SMALLER, rejected=rejected, wait=2 ** min(rejected, 20))

    def _without_pairs(self, state: LabelSetsState) -> LabelSetsState:
        """Return the state as the next round begins without any step before it."""
        return replace(state, history=None, features=None, recent=(), made=None, is_slow=True)

    def _without_promise(self, state: LabelSetsState, inner: QuasiNewtonState) -> LabelSetsState:
        """Return the state after a round in which no step on S promises a decrease."""
        if state.history is not None:
            return self._without_pairs(state)
        if inner.status is Status.CONVERGED:
            return replace(state, status=inner.status)
        return self._shrunk(state)


def _of(values: Vector, features: Features | None) -> Vector:
    """Return the entries of the features in the working set; None means all."""
    return values if features is None else values[features]


def _units(small: Problem, made: Made, is_slow: bool) -> Vector | None:
    """Return 1 / sqrt(D + l2 + 1), with D the curvature of S along each weight where S was made."""
    if is_slow or made.features is None or made.pruned is None:
        return None
    return 1.0 / np.sqrt(made.pruned.curvatures + curvature(small.penalty) + 1.0)
