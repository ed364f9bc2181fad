"""The state of working sets of labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .common.history import History
from .common.pruning import Likely, Made
from .common.state_schema import Sizes, Within
from .common.working_set import Features
from .sgd_l1 import SGDL1State

__all__ = ["LabelSetsState"]


@dataclass(frozen=True)
class LabelSetsState:
    """State between two rounds, or between two passes of the first stage; saving it (pickle) is a checkpoint.

    Attributes:
        w: weights, shape (n,).
        gradient: of the NLL at w, shape (n,).
        objective: penalised, nats.
        nll: unpenalised, nats.
        violation: max-norm of the pseudo-gradient.
        first: state of SGD-L1 during its passes, when ``gradient`` is not the gradient at w.
        before: objective before these passes.
        history: pairs (s, y) by the features in the working set; None before the first round.
        features: numbers of the features in the working set, ascending; None for all.
        steps: most steps of the next round.
        scale: of the bounds on marginals, at most 1; 0 where all further rounds make steps on F.
        rejected: times that the scale was lowered: after each rejected round, and after some that ended on the way.
        wait: good rounds until the scale grows: twice as many each time that it is lowered.
        guard: factor of the guard of S.
        recent: objectives of the last steps on S, at most 5, which OWL-QN's line search looks back at.
        evaluations: of the whole objective.
        pruned_evaluations: of pruned objectives.
        passes_before: effective passes of the first stage.
        iteration: rounds, and passes of the first stage.
        status: RUNNING until the solver has converged or failed.
        made: S of the last round if the next round corrects it; None to make it again.
        is_slow: whether a round has decreased F by little.
        likely: the likely labels at w; found again after loading.
        stage: the problem of the first stage; made again after loading.
        partial: False: the violation is by all features.
    """

    w: Vector
    gradient: Vector
    objective: float
    nll: float
    violation: float
    first: SGDL1State | None = None
    before: float = math.nan
    history: Annotated[History, Within()] | None = None
    features: Annotated[Features, Sizes((None,), below="n_features", ascending=True)] | None = None
    steps: int = 0
    scale: float = 1.0
    rejected: int = 0
    wait: int = 0
    guard: float = 1.0
    recent: tuple[float, ...] = ()
    evaluations: int = 1
    pruned_evaluations: int = 0
    passes_before: float = 0.0
    iteration: int = 0
    status: Status = Status.RUNNING
    made: Made | None = None
    is_slow: bool = False
    likely: Likely | None = field(default=None, repr=False, compare=False)
    stage: Problem | None = field(default=None, repr=False, compare=False)
    partial: ClassVar[bool] = False

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the likely labels and the problem of the first stage."""
        return self.__dict__ | {"likely": None, "stage": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was saved."""
        self.__dict__.update(state)

    @property
    def gradient_evaluations(self) -> int:
        """Evaluations of the whole objective and of pruned ones."""
        return self.evaluations + self.pruned_evaluations

    @property
    def passes(self) -> float:
        """Effective passes over the data; an evaluation of a pruned objective counts as one."""
        before = self.passes_before if self.first is None else self.first.passes
        return before + self.gradient_evaluations

    @property
    def whole_gradient(self) -> Vector | None:
        """The gradient; None while the passes of the first stage are made."""
        return self.gradient if self.first is None else None

    @property
    def working_set(self) -> int | None:
        """Number of features in the working set."""
        return None if self.features is None else int(self.features.size)
