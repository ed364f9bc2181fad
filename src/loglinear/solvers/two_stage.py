"""Two stages: SGD-L1 to come near the optimum, OWL-QN to reach it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import ObjectiveError
from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .owlqn import OWLQN
from .parts.history import History
from .parts.quasi_newton import QuasiNewtonState
from .sgd_l1 import SGDL1, SGDL1State

__all__ = ["TwoStage", "TwoStageState"]

# Pairs (s, y) that the last passes of the first stage give to the second.
PAIRS = 3


@dataclass(frozen=True)
class PassEnd:
    """Where a pass of the first stage ended, and the curvature between the ends of the passes so far.

    Attributes:
        nll: unpenalised, nats.
        gradient: of the NLL, shape (n,).
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
        stage: the state of SGD-L1, then that of OWL-QN.
        end: of the first stage's last pass, if it was one that gives a pair.
        before: iterations of the first stage, once the second runs.
        passes_before: its effective passes over samples.
    """

    stage: SGDL1State | QuasiNewtonState
    end: PassEnd | None = None
    before: int = 0
    passes_before: float = 0.0

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
        """That of the second stage; RUNNING in the first."""
        return Status.RUNNING if self.stage.status is Status.PASSES_MADE else self.stage.status


class TwoStage:
    """SGD-L1, then OWL-QN from its weights, for L1 and elastic-net problems.

    Source: Zhou et al. (2011), sections 3.4 and 3.5; 5 passes of SGD there.
    Departures: the gradient is evaluated at the ends of the last 4 passes; their differences are OWL-QN's first pairs
    (s, y), what the paper leaves as future work. The heuristic line search is off unless asked for: it makes a pass
    better, but costs four times as much, and the second stage does the rest sooner (docs/papers/zhou2011.md).
    Cost: that of ``SGDL1``, 4 gradients, then that of ``OWLQN``.

    Converged when OWL-QN is (see there), by default at a mean relative decrease of 1e-4 over 5 steps.

    Args:
        passes: passes of the first stage, >= 1.
        learning_rate: eta_0 of the first stage, > 0; None to choose it.
        decay: alpha of the first stage's exponential schedule, in (0, 1].
        line_search: calibrate the rate of each update.
        seed: of the order of the samples.
        memory: stored (s, y) pairs of OWL-QN, >= 1.
        tolerance: of OWL-QN: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: of OWL-QN: bound on the violation; 0 asks for an exact zero.
        max_line_search: of OWL-QN: most evaluations in one line search, >= 1.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective cannot go sample by sample.
    """

    def __init__(
        self,
        *,
        passes: int = 5,
        learning_rate: float | None = 0.2,
        decay: float = 0.85,
        line_search: bool = False,
        seed: int = 0,
        memory: int = 20,
        tolerance: float = 1e-4,
        gradient_tolerance: float = 1e-6,
        max_line_search: int = 20,
    ) -> None:
        self.first = SGDL1(learning_rate=learning_rate, decay=decay, passes=passes, line_search=line_search, seed=seed)
        self.second = OWLQN(
            memory=memory,
            tolerance=tolerance,
            gradient_tolerance=gradient_tolerance,
            max_line_search=max_line_search,
        )

    @property
    def tolerance(self) -> float:
        """That of OWL-QN."""
        return self.second.tolerance

    def init(self, problem: Problem, w0: Vector) -> TwoStageState:
        """Return the state before the first pass; w0 is copied."""
        return TwoStageState(self.first.init(problem, w0))

    def step(self, problem: Problem, state: TwoStageState) -> TwoStageState:
        """Make a pass of the first stage or an iteration of the second."""
        stage = state.stage
        if isinstance(stage, QuasiNewtonState):
            return replace(state, stage=self.second.step(problem, stage))
        if stage.status is Status.RUNNING:
            following = self.first.step(problem, stage)
            gives_pair = following.iteration >= self.first.passes - PAIRS
            return TwoStageState(following, self._pass_end(problem, following.w, state) if gives_pair else None)
        assert state.end is not None
        end = state.end
        try:
            start = self.second.start(
                problem, stage.w.copy(), end.nll, end.gradient.copy(), end.history, end.evaluations
            )
        except ObjectiveError as error:
            message = f"the first stage diverged at learning_rate={stage.learning_rate:g}; give a smaller one ({error})"
            raise ObjectiveError(message) from error
        if start.violation > 0.0:
            start = self.second.step(problem, start)
        return TwoStageState(start, before=stage.iteration, passes_before=stage.passes)

    def _pass_end(self, problem: Problem, w: Vector, state: TwoStageState) -> PassEnd:
        """Evaluate the gradient at w, where the pass that began in ``state`` ended."""
        gradient = np.zeros_like(w)
        nll = problem.evaluate(w, gradient)
        last = state.end
        if last is None:
            return PassEnd(nll, gradient, History.empty(self.second.memory, w.size), 1)
        history, *_ = last.history.advance(w, gradient, state.w, last.gradient, problem.penalty)
        return PassEnd(nll, gradient, history, last.evaluations + 1)

    def measure(self, problem: Problem, state: TwoStageState) -> TwoStageState:
        """Return the state with objective and violation, which the passes of the first stage do not need."""
        stage, end = state.stage, state.end
        if isinstance(stage, QuasiNewtonState):
            return state
        if end is None:
            return replace(state, stage=self.first.measure(problem, stage))
        violation = problem.penalty.violation(stage.w, end.gradient)
        objective = end.nll + problem.penalty.value(stage.w)
        return replace(state, stage=replace(stage, objective=objective, nll=end.nll, violation=violation))
