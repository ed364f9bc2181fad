"""Two stages: SGD-L1 to come near the optimum, OWL-QN to reach it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from ..errors import ObjectiveError
from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .clustered import Clustered, ClusteredState
from .common.curvature import units
from .common.history import History
from .common.inner import StagesOptions, Unpack, inner_solver, no_more
from .common.needs import Needs, check
from .common.per_sample import with_gradient
from .common.quasi_newton import QuasiNewtonState
from .owlqn import OWLQN
from .sgd_l1 import SGDL1, SGDL1State

__all__ = ["TwoStage", "TwoStageState"]

FIRST, SECOND = SGDL1(passes=5, learning_rate=0.2), OWLQN(tolerance=1e-4)
# Pairs (s, y) that the last passes of the first stage give to the second; fewer where the curvature along each weight
# is known: it is looked at before the first of them, and changes.
PAIRS, PAIRS_IN_UNITS = 3, 1


@dataclass(frozen=True)
class PassEnd:
    """The end of a pass of the first stage, with the curvature between the ends of the passes so far.

    Attributes:
        nll: unpenalised, nats, at the weights that the pass reached.
        gradient: of the NLL there, shape (n,).
        history: pairs of the differences of weights and of gradients.
        evaluations: of the gradient, so far.
    """

    nll: float
    gradient: Vector
    history: History
    evaluations: int


@dataclass(frozen=True)
class TwoStageState:
    """State of either stage; saving it (pickle) is a checkpoint.

    Attributes:
        stage: the state of SGD-L1, then the state of OWL-QN or of the clusters.
        end: of the first stage's last pass, if that pass gives a pair.
        before: iterations of the first stage, once the second runs.
        passes_before: effective passes over samples of the first stage, once the second runs.
        first_objective: penalised, nats, at the starting weights; NaN if it was not measured.
    """

    stage: SGDL1State | QuasiNewtonState | ClusteredState
    end: PassEnd | None = None
    before: int = 0
    passes_before: float = 0.0
    first_objective: float = math.nan
    working_set: ClassVar[None] = None

    @property
    def w(self) -> Vector:
        """Weights, shape (n,)."""
        return self.stage.w

    @property
    def objective(self) -> float:
        """Penalised, nats."""
        return self.stage.objective

    @property
    def nll(self) -> float:
        """Unpenalised, nats."""
        return self.stage.nll

    @property
    def violation(self) -> float:
        """Max-norm of the pseudo-gradient."""
        return self.stage.violation

    @property
    def whole_gradient(self) -> Vector | None:
        """Gradient of the NLL in the second stage; None in the first."""
        return None if isinstance(self.stage, SGDL1State) else self.stage.whole_gradient

    @property
    def partial(self) -> bool:
        """Whether the violation refers to the projected problem of clusters."""
        return isinstance(self.stage, ClusteredState) and self.stage.partial

    @property
    def iteration(self) -> int:
        """Passes of the first stage and iterations of the second."""
        return self.before + self.stage.iteration

    @property
    def passes(self) -> float:
        """Effective passes of both stages."""
        stage = self.stage
        return self.passes_before + (stage.passes if isinstance(stage, SGDL1State) else 0) + self.gradient_evaluations

    @property
    def gradient_evaluations(self) -> int:
        """Evaluations of the whole gradient."""
        return self.end.evaluations if self.end else self.stage.gradient_evaluations

    @property
    def status(self) -> Status:
        """Status of the second stage; RUNNING in the first."""
        return Status.RUNNING if self.stage.status is Status.PASSES_MADE else self.stage.status


class TwoStage:
    """SGD-L1, then OWL-QN that starts from the weights of SGD-L1, for L1 and elastic-net problems.

    Source: Zhou et al. (2011), sections 3.4 and 3.5; 5 passes of SGD there.

    Departures:

    - The gradient is evaluated at the ends of the last 4 passes; the differences of weights and of gradients are
      OWL-QN's first pairs (s, y), which the paper leaves as future work.
    - Without L1, if the objective knows the diagonal of its Hessian, OWL-QN works in units (``common/curvature.py``),
      found at the end of the last pass but one, and has one first pair: a third of the evaluations on text
      (docs/experiments.md). With L1 this is faster to 1 % and slower to 0.1 %, unless columns are uneven.
    - If the first stage ends above the objective at the starting weights, as it can with columns of large numbers, the
      second stage starts from weights of 0.
    - Without L1 the second stage may be ``Clustered``, which starts with these pairs too if it works with L-BFGS.
    - The heuristic line search is off by default: it makes a pass better, but costs four times as much, and the second
      stage finishes sooner without it (docs/papers/zhou2011.md).

    Cost: the passes of ``SGDL1``, at most 4 gradients, then the steps of ``OWLQN``.

    Converges by the criteria of the second stage, by default at a mean relative decrease of 1e-4 over 5 steps.

    Args:
        first: SGD-L1.
        second: OWL-QN, or ``Clustered``.
        options: of SGD-L1 and OWL-QN, by name, instead of a ``first`` and a ``second`` with these options.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go sample by sample, or when
            there is an L1 penalty with ``Clustered``.

    Example:
        >>> from loglinear import MaxEnt, TwoStage
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l1=0.1, solver=TwoStage(passes=2, memory=5)).fit(X, y).result_.status.name
        'CONVERGED'
    """

    needs: ClassVar[Needs] = SGDL1.needs | OWLQN.needs

    def __init__(
        self,
        *,
        first: SGDL1 = FIRST,
        second: OWLQN | Clustered = SECOND,
        **options: Unpack[StagesOptions],
    ) -> None:
        self.first = inner_solver("first", first, SGDL1, options)
        self.second = inner_solver("second", second, (OWLQN, Clustered), options)
        no_more(self, options, self.first, self.second)

    @property
    def tolerance(self) -> float:
        """Bound on the mean relative decrease of the second stage."""
        return self.second.tolerance

    def init(self, problem: Problem, w0: Vector) -> TwoStageState:
        """Return the state before the first pass; w0 is copied."""
        check(self, problem)
        check(self.second, problem)
        return TwoStageState(self.first.init(problem, w0))

    def step(self, problem: Problem, state: TwoStageState) -> TwoStageState:
        """Make a pass of the first stage or an iteration of the second."""
        stage = state.stage
        if not isinstance(stage, SGDL1State):
            return replace(state, stage=self._second_step(problem, stage))
        if stage.status is Status.RUNNING:
            following = self.first.step(problem, stage)
            pairs = PAIRS_IN_UNITS if _has_units(problem) else PAIRS
            gives_pair = following.iteration >= self.first.passes - pairs
            first = stage.objective if stage.iteration == 0 else state.first_objective
            end = self._pass_end(problem, following.w, state) if gives_pair else None
            return TwoStageState(following, end, first_objective=first)
        assert state.end is not None
        end, w = state.end, stage.w.copy()
        if end.nll + problem.penalty.value(w) > state.first_objective:
            w = np.zeros_like(w)
            gradient = np.zeros_like(w)
            end = PassEnd(problem.evaluate(w, gradient), gradient, end.history.cleared(), end.evaluations + 1)
        try:
            start = self.second.start(problem, w, end.nll, end.gradient.copy(), end.history, end.evaluations)
        except ObjectiveError as error:
            message = f"the first stage diverged at learning_rate={stage.learning_rate:g}; give a smaller one ({error})"
            raise ObjectiveError(message) from error
        if start.violation > 0.0:
            start = self._second_step(problem, start)
        return TwoStageState(start, before=stage.iteration, passes_before=stage.passes)

    def _second_step(self, problem: Problem, stage: Any) -> Any:
        """Make an iteration of the second stage, whose state is of its own kind."""
        return self.second.step(problem, stage)

    def _pass_end(self, problem: Problem, w: Vector, state: TwoStageState) -> PassEnd:
        """Evaluate the gradient at w, where the pass that began in ``state`` ended."""
        gradient = np.zeros_like(w)
        nll = problem.evaluate(w, gradient)
        last = state.end
        if last is None:
            scale = units(problem, w) if _has_units(problem) else None
            return PassEnd(nll, gradient, History.empty(self.second.memory, w.size, scale), 1)
        advanced = last.history.advance(w, gradient, state.w, last.gradient, problem.separable)
        return PassEnd(nll, gradient, cast(History, advanced.curvature), last.evaluations + 1)

    def measure(self, problem: Problem, state: TwoStageState) -> TwoStageState:
        """Return the state with objective and violation, which the passes of the first stage do not need."""
        stage, end = state.stage, state.end
        if not isinstance(stage, SGDL1State):
            return state
        if end is None:
            return replace(state, stage=self.first.measure(problem, stage))
        return replace(state, stage=with_gradient(problem, stage, end.nll, end.gradient))


def _has_units(problem: Problem) -> bool:
    """Whether OWL-QN should work in its own units, if the curvature is known."""
    return (problem.curved is not None and not problem.penalty.l1) or problem.is_uneven
