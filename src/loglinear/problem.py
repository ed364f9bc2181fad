"""The problem that is minimised, an objective plus a penalty, and what solvers may ask of an objective.

F(w) = sum over samples of -log p(y | x; w) + l1 |w|_1 + (l2 / 2) |w|^2, in nats.

Any Python object with the three names of ``Objective`` can be minimised. Every other protocol here is an ability that
an objective may also have; an ability that only one solver needs is in the solver's module. A solver declares
what it needs (``solvers/common/needs.py``), and one check names what is missing. The first line of a protocol's
docstring ends the sentence "the solver needs ...".
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, SupportsIndex, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from .errors import ObjectiveError, OptionError
from .penalty import ElasticNet, Penalty, Separable, Varied, varies
from .protocols import missing, satisfies
from .vectors import Vector, best_constants

__all__ = [
    "Convex",
    "Costly",
    "Curved",
    "Movable",
    "Numbers",
    "Objective",
    "PerSample",
    "Problem",
    "Restrictable",
    "SamplePasses",
    "Threaded",
    "Visits",
    "WithIntercept",
]

Numbers = npt.NDArray[np.int64]
# A mean over the classes of at most this share of the largest weight is a rounding error.
CENTRED = 1e-12
# Largest values of columns outside these bounds have units: numbers in other units than most, such as an income next to
# an age. The shares of rare words in long texts are within the bounds.
EVEN = 1e-3, 1e2


@runtime_checkable
class Objective(Protocol):
    """A smooth function to be minimised; all that batch solvers need.

    Any Python object with these three members can be used, such as your own model or a distributed one.

    Example:
        >>> import numpy as np
        >>> from loglinear import LBFGS, Objective, Problem, minimize
        >>> class Quadratic:
        ...     n_features, n_samples = 2, 1
        ...
        ...     def value_and_gradient(self, w, out=None):
        ...         return float((w - 3) @ (w - 3)), 2 * (w - 3)
        >>> isinstance(Quadratic(), Objective)
        True
        >>> minimize(Problem(Quadratic()), LBFGS()).w.round(3).tolist()
        [3.0, 3.0]
    """

    @property
    def n_features(self) -> int:
        """Length of w."""

    @property
    def n_samples(self) -> int:
        """Number of samples in the sum; effective passes are counted in it."""

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the sum over samples of -log p(y | x; w), in nats, and its gradient.

        Args:
            w: weights, float64, shape (n_features,); not to be changed.
            out: where to write the gradient, float64, shape (n_features,); the returned gradient is then ``out``.
                Without it the gradient is a new array.
        """


@runtime_checkable
class Threaded(Protocol):
    """An objective that states the number of its threads.

    The vector operations of solvers run on the same number of threads.
    """

    @property
    def n_threads(self) -> int:
        """Threads of an evaluation; 0 for all cores."""


@runtime_checkable
class Convex(Protocol):
    """An objective that states whether it is convex and nowhere negative."""

    @property
    def is_convex(self) -> bool:
        """Whether it is: an exact NLL of a log-linear model is, if all labels are known."""


@runtime_checkable
class Costly(Protocol):
    """An objective with costs of wrong labels, which may add a large constant to it."""

    @property
    def cost_constant(self) -> float:
        """What large costs add to the value at all weights that give small scores, in nats; 0 without them."""


@runtime_checkable
class Restrictable(Protocol):
    """An objective that can be restricted to some of its features."""

    def restrict(self, features: Numbers) -> Objective | None:
        """Return the objective over some of the features, where the weights of all others are 0.

        Args:
            features: their numbers, ascending, shape (k,).

        Returns:
            An objective over k features whose evaluations cost what these features cost; None if it cannot be
            restricted.
        """


@runtime_checkable
class Curved(Protocol):
    """An objective that knows, about, the diagonal of its Hessian."""

    @property
    def has_hessian_diagonal(self) -> bool:
        """Whether this objective does."""

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the Hessian at w, shape (n,); no entry is negative."""

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value of each feature in the data, shape (n,); None where it is taken for 1."""


@runtime_checkable
class WithIntercept(Protocol):
    """An objective whose last weights are an intercept's: each is multiplied by the same value in all samples."""

    @property
    def intercept(self) -> float:
        """That value; 0 without an intercept."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the intercept's weights."""


@runtime_checkable
class WithUnpenalised(Protocol):
    """An objective that names weights that a penalty should leave alone: its last ones, such as an intercept's."""

    @property
    def n_unpenalised(self) -> int:
        """Number of these weights."""


@runtime_checkable
class Shifted(Protocol):
    """An objective of columns from which numbers may have been subtracted."""

    @property
    def shift(self) -> Vector | None:
        """What was subtracted from each column, shape (n_columns,); None for nothing."""


@runtime_checkable
class Movable(Objective, WithIntercept, Protocol):
    """An objective that is the same over columns near 0, with other weights of the intercept."""

    def near_zero(self) -> Movable | None:
        """Return the objective of the columns less a number for each that is far from 0; None if there are none."""

    def coefficients(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the weights as a matrix, and what the intercept adds to each score, for columns as given."""

    def weights_of(self, coef: Vector, intercept: Vector) -> Vector:
        """Return the weights, shape (n_features,), of which `coefficients` makes these."""


class SamplePasses(Protocol):
    """An objective as solvers see it that go sample by sample.

    The passes themselves differ from solver to solver: each solver's file has a protocol for its own.
    """

    @property
    def n_features(self) -> int:
        """Length of w."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""


class Visits(SamplePasses, Protocol):
    """An objective whose samples a pass visits in a sequence that it is given."""

    @property
    def run_ends(self) -> Numbers | None:
        """Ends of the runs of samples that lie together on disk; None for samples in memory."""


class PerSample(Objective, Protocol):
    """An objective that can go sample by sample."""

    def per_sample(self) -> SamplePasses:
        """Return the same problem for passes over its samples; made once."""

    def sample(self, samples: Numbers) -> PerSample:
        """Return the objective on some of the samples, over the features that occur there."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the last weights, an intercept's, that passes spare from the penalty."""


@dataclass(frozen=True)
class Problem:
    """An objective and a penalty: minimise objective(w) + penalty(w).

    Args:
        objective: see ``Objective``.
        penalty: ``ElasticNet`` or ``GroupLasso``. By default none, and ``path`` leaves the intercept unpenalised. Give
            a penalty of your own ``unpenalised=objective.n_unpenalised`` if the intercept should bear none of it.
        n_classes: number of weights of a column, side by side, to which the same number may be added without a change
            of the NLL, as for a softmax of that many classes. Weights are centred at the end (see ``centred``). 1, the
            default, if there are no such weights.

    Raises:
        OptionError: the objective lacks a method, or its sizes are not whole positive numbers.

    Example:
        >>> from loglinear import ClassifierObjective, ElasticNet, Problem
        >>> objective = ClassifierObjective([[0.0, 1.0], [2.0, 0.0]], [0, 1], n_classes=2)
        >>> problem = Problem(objective, ElasticNet(l2=1.0, unpenalised=objective.n_unpenalised))
        >>> problem.n_features
        3
        >>> Problem(objective).penalty
        ElasticNet(l1=0.0, l2=0.0, unpenalised=1)
    """

    objective: Objective
    penalty: Penalty = cast(Penalty, None)  # noqa: RUF009 - `__post_init__` replaces it, which knows the objective
    n_classes: int = 1

    def __post_init__(self) -> None:
        name = type(self.objective).__name__
        lacking = missing(self.objective, Objective)
        if lacking:
            names = " and no ".join(lacking)
            message = f"objective {name} has no {names}, which a Problem needs; see loglinear.Objective"
            raise OptionError(message)
        _check_size(self.objective.n_features, f"{name}.n_features")
        _check_size(self.objective.n_samples, f"{name}.n_samples")
        if self.penalty is None:
            free = self.objective.n_unpenalised if satisfies(self.objective, WithUnpenalised) else 0
            object.__setattr__(self, "penalty", ElasticNet(unpenalised=free))
        if not satisfies(self.penalty, Penalty):
            message = f"penalty {self.penalty!r} is not a penalty; give ElasticNet(l1=..., l2=...)"
            raise OptionError(message)

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.objective.n_features)

    @property
    def n_threads(self) -> int:
        """Threads for vector operations; 0, all cores, if the objective does not say."""
        return int(self.objective.n_threads) if satisfies(self.objective, Threaded) else 0

    @property
    def is_convex(self) -> bool | None:
        """Whether the objective is convex and nowhere negative; None if it does not say."""
        return self.objective.is_convex if satisfies(self.objective, Convex) else None

    @cached_property
    def cost_constant(self) -> float:
        """What large costs of wrong labels add to the objective at all weights that give small scores, in nats."""
        return float(self.objective.cost_constant) if satisfies(self.objective, Costly) else 0.0

    def size_of(self, objective: float) -> float:
        """Return what a decrease is small or large relative to: |F|, without the constant that large costs add."""
        constant = self.cost_constant
        return min(abs(objective), abs(objective - constant)) if constant else abs(objective)

    @property
    def curved(self) -> Curved | None:
        """The objective, if it knows the diagonal of its Hessian."""
        objective = self.objective
        return objective if satisfies(objective, Curved) and objective.has_hessian_diagonal else None

    @property
    def largest_values(self) -> Vector | None:
        """The largest absolute value of each feature in the data, shape (n,); None where it is taken for 1."""
        return self.objective.largest_values() if satisfies(self.objective, Curved) else None

    @property
    def is_uneven(self) -> bool:
        """Whether the columns of the data have uneven values: some far from the others, or all far from 1."""
        return self.most_uneven is not None

    @property
    def most_uneven(self) -> int | None:
        """The number of the feature whose largest value is farthest from 1, if it is outside `EVEN`; else None."""
        largest = self.largest_values
        if largest is None:
            return None
        used = np.where(largest > 0.0, largest, 1.0)
        if used.min() >= EVEN[0] and used.max() <= EVEN[1]:
            return None
        return int(np.abs(np.log(used)).argmax())

    @property
    def separable(self) -> Separable:
        """The penalty, as solvers see it that have asked for one of single weights."""
        return cast(Separable, self.penalty)

    def evaluate(self, w: Vector, gradient: Vector) -> float:
        """Return the unpenalised NLL at w, in nats, and write its gradient to ``gradient``.

        Raises:
            ObjectiveError: the objective returned a gradient of another shape.
        """
        nll, g = self.objective.value_and_gradient(w, out=gradient)
        if g is not gradient:
            if np.shape(g) != gradient.shape:
                message = (
                    f"{type(self.objective).__name__}.value_and_gradient returned a gradient of shape {np.shape(g)}; "
                    f"it must have the shape of w, {gradient.shape}"
                )
                raise ObjectiveError(message)
            gradient[...] = g
        return float(nll)

    def penalised(self, w: Vector, nll: float, gradient: Vector) -> tuple[float, float]:
        """Return objective, nats, and max-norm of the pseudo-gradient at w, which follow from NLL and gradient at w."""
        return nll + self.penalty.value(w), self.penalty.violation(w, gradient)

    @cached_property
    def intercept_scale(self) -> float:
        """What an unpenalised intercept's weights are multiplied by in all samples; 1 without such an intercept."""
        objective, free = self.objective, self.penalty.unpenalised
        if not free or not satisfies(objective, WithIntercept) or objective.n_unpenalised != free:
            return 1.0
        return abs(objective.intercept) or 1.0

    @cached_property
    def shift(self) -> Vector | None:
        """What was subtracted from the columns of the data, where an unpenalised intercept gives it back."""
        return self.objective.shift if self.penalty.unpenalised and satisfies(self.objective, Shifted) else None

    def near_zero(self, w: Vector) -> tuple[Problem, Vector] | None:
        """Return the same problem over columns near 0, and its weights for w; None if no column is far from 0.

        Cost: a copy of some rows.
        """
        objective = self.objective
        if not self.penalty.unpenalised or not satisfies(objective, Movable):
            return None
        near = objective.near_zero() if objective.n_unpenalised == self.penalty.unpenalised else None
        if near is None:
            return None
        return replace(self, objective=near), near.weights_of(*objective.coefficients(w))

    def violation(self, w: Vector, gradient: Vector, largest: float | None = None) -> float:
        """Return the violation of optimality at w: the max-norm of the subgradient of minimum norm, nats.

        The derivative is by the intercept itself, and not by its weight, which would depend on the value of its column.
        Those by the other weights are for columns as they were given.

        Args:
            w: weights, shape (n_features,).
            gradient: of the NLL at w, by all features, shape (n_features,).
            largest: max-norm of the pseudo-gradient by the weights, if it is known.
        """
        scale, shift = self.intercept_scale, self.shift
        if scale == 1.0 and shift is None:
            return self.penalty.violation(w, gradient) if largest is None else largest
        first = w.size - self.penalty.unpenalised
        by_weight = float(np.abs(gradient[first:]).max())
        if shift is not None:
            gradient, largest = gradient[:first] + np.outer(shift, gradient[first:] / scale).ravel(), None
        # The largest is of the other weights where it is not the intercept's; else theirs is at most as large.
        if largest is None or not (largest > by_weight or (scale < 1.0 and largest == by_weight)):
            largest = self._without_intercept.violation(w[:first], gradient[:first])
        return float(np.maximum(largest, by_weight / scale))

    def centred(self, w: Vector) -> Vector:
        """Return weights with the same NLL and the least penalty: a number is subtracted from each column; or w itself.

        Without L1 the weights of a column then add up to 0 over the classes, as those of an unpenalised intercept do
        with any penalty. With L1 see ``vectors.best_constants``: of two numbers that do as well, it is the one that
        makes more weights 0, or that is nearer to the mean. A column that would have fewer weights of 0 stays as it is.
        So do groups of weights, and columns whose weights have signs or different factors.
        """
        k, penalty = self.n_classes, self.penalty
        first = w.size - penalty.unpenalised
        if k == 1 or not w.size:
            return w
        rows = w.reshape(-1, k)
        constants = rows.mean(axis=1, keepdims=True)
        is_free = np.arange(len(rows))[:, None] >= first // k
        if varies(penalty):
            stays, spared = _of_columns(penalty, k)
            is_free[: spared.size, 0] |= spared
        if penalty.l1:
            best = _best_of_rows(rows, penalty.l1, penalty.l2) if satisfies(penalty, Separable) else 0.0
            fewer = (rows == best).sum(axis=1, keepdims=True) < (rows == 0.0).sum(axis=1, keepdims=True)
            constants = np.where(is_free, constants, np.where(fewer, 0.0, best))
        if varies(penalty):
            constants[: stays.size, 0][stays] = 0.0
        if (np.abs(constants) <= CENTRED * np.abs(rows).max(axis=1, keepdims=True)).all():
            return w
        return np.asarray(rows - constants).ravel()

    @cached_property
    def _without_intercept(self) -> Penalty:
        first = self.n_features - self.penalty.unpenalised
        return self.penalty.on(np.arange(first), self.n_features)


def _of_columns(penalty: Varied, k: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return of each column with k weights that bear a penalty whether they stay as they are, and whether all are free.

    Weights with signs or different factors stay: another number added to them would change their penalty otherwise.
    """
    factors, signs = (None if array is None else array.reshape(-1, k) for array in (penalty.factors, penalty.signs))
    rows = signs if factors is None else factors
    stays, spared = np.zeros((2, 0 if rows is None else len(rows)), dtype=np.bool_)
    if factors is not None:
        stays, spared = (factors != factors[:, :1]).any(axis=1), (factors == 0.0).all(axis=1)
    if signs is not None:
        stays = stays | signs.any(axis=1)
    return stays, spared


def _best_of_rows(rows: Vector, l1: float, l2: float) -> Vector:
    """Return the number to subtract from each row, shape (n, 1); see ``Problem.centred``."""
    low, high = (ends[:, None] for ends in best_constants(rows, l1, l2))
    more = (rows == high).sum(axis=1, keepdims=True) - (rows == low).sum(axis=1, keepdims=True)
    mean = rows.mean(axis=1, keepdims=True)
    return np.where(np.where(more == 0, high - mean < mean - low, more > 0), high, low)


def _check_size(size: SupportsIndex, name: str) -> None:
    try:
        count = operator.index(size)
    except TypeError:
        count = 0
    if count < 1:
        message = f"{name} is {size!r}; it must be a whole number of at least 1"
        raise OptionError(message)
