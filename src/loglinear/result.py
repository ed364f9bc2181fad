"""The end of a minimisation: status and result, and the protocol of a solver's state."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from .display.fragment import in_notebook
from .display.table import facts
from .protocols import satisfies
from .trace import Trace, TraceRecord, upper_bound
from .vectors import Vector, count_nonzero
from .visible import counted

if TYPE_CHECKING:
    import pandas

__all__ = [
    "OnSome",
    "Prior",
    "Result",
    "State",
    "Status",
    "WarmStart",
    "WithGap",
    "WithGradient",
    "distance",
    "is_partial",
    "kept_text",
    "on_some",
    "status_text",
    "violation_text",
]

# Last steps whose mean decrease is told.
_WINDOW = 5
# Columns of the account on a screen.
_COLUMNS = 80


class Status(Enum):
    """The reason why a solver or the loop stopped; the value of a member is a message for people.

    A line search that fails with an objective of your own (`LINE_SEARCH_FAILED`) often means that its gradient does not
    belong to its value: compare it with finite differences.

    Example:
        >>> from loglinear import Status
        >>> Status.MAX_ITERATIONS.converged, Status.PASSES_MADE.converged
        (False, True)
    """

    RUNNING = "not finished"
    CONVERGED = "converged"
    STALLED = (
        "stalled: the objective hardly decreases, but the weights may be far from the optimum; scale the columns or "
        "attributes to similar sizes, lower the tolerance, or use another solver"
    )
    VIOLATION_REACHED = "converged: the violation is below the requested limit"
    GAP_REACHED = "converged: the objective is within the requested gap of its optimum"
    PASSES_MADE = "finished: the solver made the requested number of passes"
    PASSES_DIVERGED = (
        "diverged: the passes ended above the objective at weights of 0; set learning_rate, and below the rate in use, "
        "which is too large for these data and this penalty"
    )
    FEATURES_SELECTED = "finished: the requested number of features is selected"
    DEV_SCORE_TURNED = "finished: the development score no longer improves"
    MAX_ITERATIONS = "stopped at the iteration limit, before convergence; raise the limit"
    MAX_PASSES = "stopped at the limit on passes over the data, before convergence; raise the limit"
    MAX_SECONDS = "stopped at the time limit, before convergence; raise the limit"
    STOPPED_BY_CALLBACK = "stopped by a callback, before convergence"
    INTERRUPTED = "interrupted; the weights are from the last complete iteration"
    LINE_SEARCH_FAILED = (
        "line search failed: no step decreases the objective, but the weights may be far from the optimum; scale the "
        "columns or attributes to similar sizes, raise l2, or use another solver"
    )

    @property
    def message(self) -> str:
        """The message for people."""
        return self.value

    @property
    def converged(self) -> bool:
        """Whether a stopping criterion of the solver was met; not a limit, a failure, a stall or an interruption."""
        finished = (Status.PASSES_MADE, Status.FEATURES_SELECTED, Status.DEV_SCORE_TURNED)
        return self in (Status.CONVERGED, Status.VIOLATION_REACHED, Status.GAP_REACHED, *finished)


class State(Protocol):
    """A solver's state, as the loop reads it; a solver adds all that it needs to continue exactly.

    A step may recycle the arrays of the states before the one that it returns: copy an array to keep it.
    """

    @property
    def w(self) -> Vector:
        """Weights, shape (n_features,)."""

    @property
    def objective(self) -> float:
        """Penalised objective at w, nats."""

    @property
    def nll(self) -> float:
        """Unpenalised NLL at w, nats."""

    @property
    def violation(self) -> float:
        """Max-norm of the subgradient of minimum norm at w; see ``OnSome.partial`` for an exception.

        A state that holds a gradient has the max-norm by the weights, an intercept's too; see ``Problem.violation``.
        """

    @property
    def iteration(self) -> int:
        """Steps taken since ``init``."""

    @property
    def passes(self) -> float:
        """Evaluations of log-probability and gradient, over n_samples."""

    @property
    def gradient_evaluations(self) -> int:
        """Calls of ``value_and_gradient``, line searches included."""

    @property
    def status(self) -> Status:
        """RUNNING until the solver stops by itself."""


@runtime_checkable
class OnSome(Protocol):
    """A state of a solver that works on some of the features, or on another smaller problem, for a time."""

    @property
    def working_set(self) -> int | None:
        """Number of features in the working set; None if the solver keeps none."""

    @property
    def partial(self) -> bool:
        """Whether the violation refers to a smaller problem, and so can neither stop the loop nor be recorded."""


@runtime_checkable
class WithGradient(Protocol):
    """A state that may hold the gradient of the NLL by all features."""

    @property
    def whole_gradient(self) -> Vector | None:
        """Gradient of the unpenalised NLL at w, shape (n_features,); None where the state does not hold it."""


@runtime_checkable
class WithGap(Protocol):
    """A state that may know a bound of the distance from the optimum better than its weights alone tell."""

    @property
    def gap(self) -> float | None:
        """Upper bound of the distance of the penalised objective at w from its optimum, nats; None if not known."""


@runtime_checkable
class WithRate(Protocol):
    """A state whose solver's steps follow a learning rate, which may be too large for the problem."""

    @property
    def learning_rate(self) -> float:
        """The learning rate in use, given or chosen."""


def on_some(state: State) -> OnSome | None:
    """Return the state as one of a solver that works on some of the features; None if it is not one."""
    return state if satisfies(state, OnSome) else None


def is_partial(state: State) -> bool:
    """Whether the violation of a state refers to a smaller problem."""
    small = on_some(state)
    return small is not None and small.partial


@dataclass(frozen=True)
class WarmStart:
    """What a training has taken over from a model.

    Attributes:
        model: the model's name, such as its path.
        n_shared: number of features that started at a weight of the model; all others started at 0.
        n_features: number of features.
        new_labels: names of the labels that the model does not have.

    Example:
        >>> from loglinear.result import WarmStart
        >>> print(WarmStart("old.loglinear", 12345, 20000, ["B-ORG"]))
        12,345 of 20,000 features start from old.loglinear; 1 label is new
    """

    model: str
    n_shared: int
    n_features: int
    new_labels: list[str]

    def __str__(self) -> str:
        """Return a line for people."""
        shared = f"{self.n_shared:,} of {self.n_features:,}"
        return f"{shared} features start from {self.model}{_new_labels(self.new_labels)}"


@dataclass(frozen=True)
class Prior:
    """The model at whose weights the penalty of a training was centred.

    Attributes:
        model: the model's name, such as its path.
        strength: strength of the L2 penalty around its weights; infinite for the model as it is.
        n_shared: number of features of the model; the others have a prior of 0.
        n_features: number of features.
        new_labels: names of the labels that the model does not have.
        n_seen: number of samples that the model has seen, if they add to the strength (`partial_fit`); else None.

    Example:
        >>> from loglinear.result import Prior
        >>> print(Prior("old.loglinear", 10.0, 12345, 20000, ["B-ORG"]))
        12,345 of 20,000 features have a prior from old.loglinear, strength 10; 1 label is new
    """

    model: str
    strength: float
    n_shared: int
    n_features: int
    new_labels: list[str]
    n_seen: int | None = None

    def __str__(self) -> str:
        """Return a line for people."""
        shared, strength = f"{self.n_shared:,} of {self.n_features:,}", f"strength {self.strength:g}"
        seen = "" if self.n_seen is None else f" + {self.n_seen:,} samples"
        return f"{shared} features have a prior from {self.model}, {strength}{seen}{_new_labels(self.new_labels)}"


def _new_labels(names: Sequence[str]) -> str:
    """Return how many labels are new, as the end of a sentence; empty if none is."""
    count = len(names)
    return f"; {count} label{' is' if count == 1 else 's are'} new" if count else ""


@dataclass(repr=False)
class Result:
    """The end of a minimisation.

    Attributes:
        w: weights reached, shape (n_features,).
        status: the reason why it stopped; see ``status.converged`` and ``status.message``.
        trace: a record per step, the starting point included.
        objective: penalised objective at w, nats, summed over samples.
        nll: unpenalised negative log-likelihood at w, nats.
        violation: max-norm of the subgradient of minimum norm at w by all features; zero at an optimum. NaN only if a
            second Ctrl-C has ended the evaluation that was to find it.
        iterations: steps since the solver's ``init``, also if it was continued from a checkpoint.
        passes: effective passes over the data since ``init``.
        gradient_evaluations: calls of ``value_and_gradient`` since ``init``.
        seconds: solver time of this call, without traces and callbacks.
        state: the solver's final state: a checkpoint, picklable, that ``minimize(..., state=state)`` continues exactly;
            None where it was dropped.
        kept: the iteration that w, objective, nll and violation are of, if it is not the last one.
        start: what the starting weights have taken over from a model, if the training began with one.
        prior: the model at whose weights the penalty was centred, if there was one. The trace is then of the change of
            the weights: all its records except the last one count weights that have changed, not weights other than 0.
        chosen: name and reason of the solver that ``auto`` chose, if it did.
        gap: upper bound of the distance of the objective from its optimum, nats (see ``loglinear.gap``); None if there
            is no bound, or one that says too little.
        unbounded: why the problem has no bound of that distance; empty if it has.
        requested_gap: the share of the objective at which a proof would have ended the minimisation; None for none.

    Example:
        >>> from loglinear import LBFGS, ClassifierObjective, ElasticNet, Problem, minimize
        >>> objective = ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2, intercept=False)
        >>> result = minimize(Problem(objective, ElasticNet(l2=1.0)), LBFGS())
        >>> result.status.converged, result.w.round(3).tolist(), result.violation < 1e-3
        (True, [0.224], True)
    """

    w: Vector
    status: Status
    trace: Trace
    objective: float
    nll: float
    violation: float
    iterations: int
    passes: float
    gradient_evaluations: int
    seconds: float
    state: State | None
    kept: int | None = None
    start: WarmStart | None = None
    prior: Prior | None = None
    chosen: str | None = None
    gap: float | None = None
    unbounded: str = ""
    requested_gap: float | None = None

    def __str__(self) -> str:
        """Return the account for people, in lines that fit a screen."""
        return textwrap.fill(self.account, _COLUMNS)

    def __repr__(self) -> str:
        """Return how the minimisation ended on one line."""
        return f"<Result: {self.ending.partition(' (')[0]}, objective {self.objective:,.2f}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the end of the minimisation and, to unfold, the trace."""
        trace = f"<details><summary>trace</summary>{self.trace.html()}</details>" if self.trace else ""
        return in_notebook(facts(self._facts(), "end of the training") + trace)

    def _facts(self) -> dict[str, str]:
        """Return names and texts of what the minimisation has reached."""
        rows = {"ended": self.ending.partition(";")[0], "objective": f"{self.objective:,.2f}"}
        far = distance(self.gap, self.objective, self.unbounded).removeprefix("distance from the optimum ")
        rows["distance from the optimum"] = far.removesuffix(" of the optimum")
        rows["violation"] = violation_text(self.violation).removeprefix("violation ")
        rows["passes"] = f"{self.passes:,.1f}"
        rows["weights"] = f"{count_nonzero(self.w):,} of {len(self.w):,} are not 0"
        others = {
            "solver": self.chosen,
            "weights of": None if self.kept is None else kept_text(self.kept).removeprefix("weights of "),
            "score": f"dev {self.record.headline}" if self.trace and self.record.dev else None,
            "start": None if self.start is None else str(self.start),
            "prior": None if self.prior is None else str(self.prior),
        }
        return rows | {name: text for name, text in others.items() if text is not None}

    def to_frame(self) -> pandas.DataFrame:
        """Return the trace as a pandas DataFrame: a row for each iteration; see `Trace.to_frame`.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        return self.trace.to_frame()

    @property
    def relative_gap(self) -> float | None:
        """The gap as a share of the objective."""
        return None if self.gap is None else self.gap / abs(self.objective) if self.gap else 0.0

    @property
    def is_unproved(self) -> bool:
        """Whether the minimisation has converged before the requested gap was proved."""
        if self.requested_gap is None or self.status is not Status.CONVERGED:
            return False
        return self.relative_gap is None or self.relative_gap > self.requested_gap

    @property
    def record(self) -> TraceRecord:
        """The record that w, objective, nll and violation are of."""
        if self.kept is None:
            return self.trace[-1]
        return next(record for record in self.trace if record.iteration == self.kept)

    @property
    def best(self) -> TraceRecord | None:
        """The first record with the highest development score; None without such scores."""
        scored = [record for record in self.trace if record.dev]
        return max(scored, key=lambda record: next(iter((record.dev or {}).values())), default=None)

    @property
    def ending(self) -> str:
        """One line for people: why the minimisation stopped, after how many iterations, and what to do about it."""
        reason = re.split("[:;,]", self.status.message, maxsplit=1)[0]
        iterations = counted(self.iterations, "iteration")
        return f"{reason} after {iterations} ({self.seconds:.1f} s){self.status.message.removeprefix(reason)}"

    @property
    def account(self) -> str:
        """The full account for people: why it stopped, what it reached, and how far from the optimum that is.

        Most solvers stop when the objective hardly decreases, which says little about the distance from the optimum.
        The gap bounds that distance. Without a gap, compare the violation with its value at the start.
        """
        text = self.status.message.partition(";")[0]
        if self.kept is not None:
            text += f" at iteration {self.iterations:,}; {kept_text(self.kept)}"
        text += f"; objective {self.objective:.2f}"
        last = [record.objective for record in self.trace[-1 - _WINDOW :]]
        has_slowed = self.status in (Status.CONVERGED, Status.STALLED) and self.kept is None
        if has_slowed and len(last) > 1 and last[-1]:
            step = (last[0] - last[-1]) / (len(last) - 1) / abs(last[-1])
            text += f" (relative decrease per step {max(step, 0.0):.1e})"
        start = self.trace[0].violation if self.trace else 0.0
        before = f"{start:.3g} at the start, " if start > self.violation else ""
        text += f", {violation_text(self.violation)} ({before}0 at an optimum)"
        return f"{text}; {distance(self.gap, self.objective, self.unbounded)}"


def distance(gap: float | None, objective: float, unbounded: str = "") -> str:
    """Return how far from the optimum an objective is, as the end of a sentence for people.

    Args:
        gap: bound of the distance, nats; None if there is none.
        objective: penalised, nats.
        unbounded: why the distance has no bound, if that is known.

    Example:
        >>> from loglinear.result import distance
        >>> distance(1.2, 4000.0), distance(None, 4000.0)
        ('within 0.03 % of the optimum', 'distance from the optimum unknown')
    """
    if gap is not None:
        return f"within {upper_bound(gap, objective)} of the optimum"
    return "distance from the optimum unknown" + (f": {unbounded}" if unbounded else "")


def kept_text(iteration: int) -> str:
    """Return which weights a model has, if they are not of the last iteration.

    Example:
        >>> from loglinear.result import kept_text
        >>> kept_text(17)
        'weights of iteration 17, the best on the development data'
    """
    return f"weights of iteration {iteration:,}, the best on the development data"


def status_text(name: str) -> str:
    """Return why a training ended, without a remedy, from the name of its status in a model file.

    Example:
        >>> from loglinear.result import status_text
        >>> status_text("max_iterations"), status_text("of a later version")
        ('stopped at the iteration limit, before convergence', 'of a later version')
    """
    status = Status.__members__.get(name.upper())
    return name if status is None else status.message.partition(";")[0]


def violation_text(violation: float | None) -> str:
    """Return a violation with its name for people; None and NaN are unknown ones.

    Example:
        >>> from loglinear.result import violation_text
        >>> violation_text(0.012345), violation_text(None)
        ('violation 0.0123', 'violation unknown')
    """
    return "violation unknown" if violation is None or math.isnan(violation) else f"violation {violation:.3g}"
