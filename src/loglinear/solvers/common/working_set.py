"""Problems over some of the features, and the state of solvers that work on such problems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ...errors import ObjectiveError, OptionError
from ...penalty import Penalty, varies
from ...problem import Problem, Restrictable
from ...protocols import satisfies
from ...result import Status
from ...vectors import Vector
from .quasi_newton import QuasiNewtonState
from .state_schema import Sizes, Within

__all__ = ["Block", "Features", "WorkingSetState", "compact", "feature_numbers", "free_weights", "penalty_on", "worst"]

Features = npt.NDArray[np.int64]


class Block:
    """The objective over some of the features, while the others keep their weights.

    Cost: an evaluation is one of the whole objective, whose gradient is kept.

    Args:
        problem: over all features.
        features: their numbers, shape (k,), ascending.
        w: weights of all features, shape (n_features,); copied.

    Attributes:
        gradient: of the NLL by all features, where it was evaluated last, shape (n_features,).
    """

    def __init__(self, problem: Problem, features: Features, w: Vector) -> None:
        self.n_features, self.n_samples = int(features.size), int(problem.objective.n_samples)
        self.n_threads = problem.n_threads
        self.cost_constant = problem.cost_constant
        self.gradient = np.zeros_like(w)
        self._problem, self._features, self._w = Problem(problem.objective), features, w.copy()

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL with these weights of the block, in nats, and its gradient by them, shape (k,)."""
        self._w[self._features] = w
        nll = self._problem.evaluate(self._w, self.gradient)
        return nll, np.take(self.gradient, self._features, out=out)


def compact(problem: Problem, features: Features) -> Problem | None:
    """Return the problem over some of the features, in which the others, which are 0, cost nothing.

    Returns:
        None if the objective cannot be restricted to these features.

    Raises:
        ObjectiveError: the restricted objective is over another number of features.
    """
    small = problem.objective.restrict(features) if satisfies(problem.objective, Restrictable) else None
    if small is None:
        return None
    restricted = Problem(small, penalty_on(problem, features))
    if restricted.n_features != features.size:
        name = type(problem.objective).__name__
        message = f"{name}.restrict returned an objective over {restricted.n_features} of {features.size} features"
        raise ObjectiveError(message)
    return restricted


def penalty_on(problem: Problem, features: Features) -> Penalty:
    """Return the penalty of some of the features, in ascending order."""
    return problem.penalty.on(features, problem.n_features)


def free_weights(problem: Problem) -> Features:
    """Return the numbers of the weights without penalty, ascending: the last ones, and those with a factor of 0."""
    penalty, first = problem.penalty, problem.n_features - problem.penalty.unpenalised
    last = np.arange(first, problem.n_features)
    if not varies(penalty) or penalty.factors is None:
        return last
    return np.concatenate([np.flatnonzero(penalty.factors == 0.0), last])


def worst(violations: Vector, count: int) -> Features:
    """Return the places of the largest positive entries, at most ``count`` of them, the largest first."""
    places = np.flatnonzero(violations > 0.0)
    if places.size > count:
        places = places[np.argpartition(-violations[places], count - 1)[:count]]
        places.sort()
    return places[np.argsort(-violations[places], kind="stable")].astype(np.int64)


def feature_numbers(numbers: npt.ArrayLike, n_features: int, what: str) -> Features:
    """Return feature numbers that a user gave as an array.

    Raises:
        OptionError: they are not whole numbers from 0 to n_features - 1.
    """
    array = np.asarray(numbers)
    if array.size == 0:
        return np.empty(0, np.int64)
    whole = array.ndim == 1 and np.issubdtype(array.dtype, np.integer)
    if not whole or array.min() < 0 or array.max() >= n_features:
        message = f"{what} must be feature indices from 0 to {n_features - 1}"
        raise OptionError(message)
    return array.astype(np.int64)


@dataclass(frozen=True)
class WorkingSetState:
    """State of a solver that works on some of the features at a time; saving it (pickle) is a checkpoint.

    A step writes to the spare array and returns a state with it swapped in; a finished step makes its argument invalid.

    Attributes:
        inner: state of OWL-QN on the features in the working set.
        features: numbers of the features in the working set, ascending, shape (k,).
        w: weights of all features, shape (n_features,).
        spare: scratch, equal to w except for the features in the working set, shape (n_features,).
        elsewhere: penalty of the features outside the working set.
        violation: max-norm of the pseudo-gradient at w by all features if ``scored``, else by those in the working set.
        selected: numbers of all features that were ever in the working set, in the order of selection.
        scored: whether the gradient by all features was evaluated at w.
        since: steps since the gradient by all features was evaluated.
        recent: objectives when features were selected last, the newest last; of Grafting, after a failed line search.
        before: evaluations of the gradient before ``inner`` began to count.
        full_evaluations: evaluations by all features.
        iteration: steps taken.
        status: RUNNING until the solver has converged or failed.
        selections: number of times that features were selected.
        arrived: which features may be selected, shape (n_features,); None for all.
        awaiting: whether more features may arrive.
        scale: unit of each weight, in which OWL-QN works, shape (n_features,); None for 1.
        whole_gradient: of the unpenalised NLL at w by all features, shape (n_features,), where it was evaluated.
        problem: over the features in the working set; made again after loading.
    """

    inner: Annotated[QuasiNewtonState, Within("k")]
    features: Annotated[Features, Sizes(("k",), below="n_features", ascending=True)]
    w: Vector
    spare: Annotated[Vector, Sizes(finite=False, own=True)]
    elsewhere: float
    violation: float
    selected: Annotated[Features, Sizes((None,), below="n_features")]
    scored: bool = True
    since: int = 0
    recent: tuple[float, ...] = ()
    before: int = 0
    full_evaluations: int = 1
    iteration: int = 0
    status: Status = Status.RUNNING
    selections: int = 0
    arrived: npt.NDArray[np.bool_] | None = None
    awaiting: bool = False
    scale: Vector | None = None
    whole_gradient: Vector | None = field(default=None, repr=False)
    problem: Problem | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the problem."""
        return self.__dict__ | {"problem": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what was saved."""
        self.__dict__.update(state)

    @property
    def nll(self) -> float:
        """Unpenalised, nats."""
        return self.inner.nll

    @property
    def objective(self) -> float:
        """Penalised, nats."""
        return self.inner.objective + self.elsewhere

    @property
    def gradient_evaluations(self) -> int:
        """Evaluations of the gradient, by all features and by the features in the working set."""
        return self.before + self.inner.gradient_evaluations

    @property
    def passes(self) -> float:
        """Effective passes over the data."""
        return float(self.gradient_evaluations)

    @property
    def working_set(self) -> int:
        """Number of features in the working set."""
        return int(self.features.size)

    @property
    def partial(self) -> bool:
        """Whether the violation is by the features in the working set alone."""
        return not self.scored
