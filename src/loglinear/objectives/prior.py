"""An objective as a function of the change from the weights of a prior, such as those of an older model.

With old weights c, training minimises NLL(w) + l1 |w - c|_1 + (l2 / 2) |w - c|^2. In d = w - c that is an ordinary
problem: the objective NLL(c + d) with an ordinary penalty. Every solver that asks of an objective only what this one
can do works on it unchanged.

The gap of `loglinear.gap` is valid in d. For distributions q_i with r = sum_i s_i (E_q[f_i] - f_i(y_i)),

    NLL(c + d) >= sum_i s_i H(q_i) + c . r + d . r,

so that c . r joins the entropies. For the mixtures of scale t tried there, r = t g, and the sum of the entropies of
p(y | x_i; c + d) is NLL(c + d) - (c + d) . g: together with c . g this is NLL - d . g, which is what ``loglinear.gap``
computes from d, NLL and g. The radius |d|_1 <= F(d) / l1 holds as well, as the NLL is nowhere negative.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..gap import Balanced, Balancing, SampleLikelihoods
from ..problem import (
    Convex,
    Curved,
    Movable,
    Objective,
    Restrictable,
    Shifted,
    Threaded,
    WithIntercept,
    WithUnpenalised,
)
from ..protocols import satisfies
from ..vectors import Vector

__all__ = ["ChangedWeights", "from_prior"]

Numbers = npt.NDArray[np.int64]


class ChangedWeights:
    """The NLL at weights c + d, as a function of d; see `from_prior`.

    Args:
        objective: the NLL at weights w.
        c: old weights, shape (n,).
        places: numbers of the weights that may change, ascending; None for all. The others keep their old values.
        units: unit of each d, > 0: the weights are c + units d, shape (n_features,); None for 1.
    """

    def __init__(
        self, objective: Any, c: Vector, places: Numbers | None = None, *, units: Vector | None = None
    ) -> None:
        self.objective, self.c, self.places, self.units = objective, c, places, units
        self.n_features = c.size if places is None else int(places.size)
        self.n_samples = int(objective.n_samples)

    def weights_at(self, d: Vector) -> Vector:
        """Return c + d, shape (n,)."""
        change = d if self.units is None else self.units * d
        if self.places is None:
            return np.asarray(self.c + change)
        w = self.c.copy()
        w[self.places] += change
        return w

    def by_change(self, by_weights: Vector, power: int = 1) -> Vector:
        """Return derivatives by d, of first or second order, from derivatives by all weights, shape (n_features,)."""
        entries = by_weights if self.places is None else by_weights[self.places]
        return entries if self.units is None else np.asarray(entries * self.units**power)

    def value_and_gradient(self, d: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL at c + d, in nats, and its gradient by d, shape (n_features,).

        Args:
            d: change of the weights, shape (n_features,).
            out: where to write the gradient; a new array without it.
        """
        if self.places is None and self.units is None:
            nll, gradient = self.objective.value_and_gradient(self.weights_at(d), out)
            return nll, gradient
        nll, gradient = self.objective.value_and_gradient(self.weights_at(d))
        gradient = self.by_change(gradient)
        if out is None:
            return nll, gradient
        out[...] = gradient
        return nll, out


class _Threaded(ChangedWeights):
    @property
    def n_threads(self) -> int:
        """Threads that an evaluation runs on."""
        return int(self.objective.n_threads)


class _Convex(ChangedWeights):
    @property
    def is_convex(self) -> bool:
        """Whether the objective is convex and nowhere negative."""
        return bool(self.objective.is_convex)


class _Curved(ChangedWeights):
    @property
    def has_hessian_diagonal(self) -> bool:
        """Whether `hessian_diagonal` is known."""
        return bool(self.objective.has_hessian_diagonal)

    def hessian_diagonal(self, d: Vector) -> Vector:
        """Return about the diagonal of the Hessian at c + d, shape (n_features,)."""
        return self.by_change(self.objective.hessian_diagonal(self.weights_at(d)), power=2)

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value of each feature in the data; None where it is taken for 1."""
        largest = self.objective.largest_values()
        if largest is None:
            return None if self.units is None else self.units
        return self.by_change(largest)


class _SampleLikelihoods(ChangedWeights):
    @property
    def weights(self) -> Vector:
        """Weights of the samples, shape (n_samples,)."""
        return np.asarray(self.objective.weights)

    def sample_nlls(self, d: Vector) -> Vector:
        """Return -log p(y | x; c + d) of each sample, not times its weight, shape (n_samples,)."""
        return np.asarray(self.objective.sample_nlls(self.weights_at(d)))


class _Restrictable(ChangedWeights):
    def restrict(self, features: npt.ArrayLike) -> Objective | None:
        """Return the objective over some of the features, where the weights of all others stay at c.

        Cost: an evaluation costs what these features and those with c other than 0 cost.
        """
        numbers = np.asarray(features, dtype=np.int64)
        places = numbers if self.places is None else self.places[numbers]
        needed = np.union1d(places, np.flatnonzero(self.c))
        inner = self.objective.restrict(needed)
        units = None if self.units is None else self.units[numbers]
        return (
            None if inner is None else from_prior(inner, self.c[needed], np.searchsorted(needed, places), units=units)
        )


class _WithUnpenalised(ChangedWeights):
    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone: the last ones."""
        return int(self.objective.n_unpenalised)


class _WithIntercept(_WithUnpenalised):
    @property
    def intercept(self) -> float:
        """Value of the intercept's column; 0 without an intercept."""
        return float(self.objective.intercept)


class _Shifted(ChangedWeights):
    @property
    def shift(self) -> Vector | None:
        """What was subtracted from each column; None for nothing."""
        shift: Vector | None = self.objective.shift
        return shift


class _Balancing(_WithUnpenalised):
    @property
    def unbalanced(self) -> str:
        """Why `balanced` would take much longer than an evaluation; empty if not."""
        return str(self.objective.unbalanced)

    def balanced(self, d: Vector) -> Balanced | None:
        """Return the objective with weights of its samples that make the derivatives by the intercept 0."""
        balanced: Balanced | None = self.objective.balanced(self.weights_at(d))
        return None if balanced is None else balanced._replace(gradient=self.by_change(balanced.gradient))


class _Movable(_WithIntercept):
    def near_zero(self) -> Any:
        """Return the objective of the columns less a number for each that is far from 0; None if there are none."""
        near = self.objective.near_zero() if self.places is None and self.units is None else None
        return None if near is None else from_prior(near, near.weights_of(*self.objective.coefficients(self.c)))

    def coefficients(self, d: Vector) -> tuple[Vector, Vector]:
        """Return a change as a matrix, and the change of what the intercept adds to each score."""
        coef, intercept = self.objective.coefficients(d)
        return coef, intercept

    def weights_of(self, coef: Vector, intercept: Vector) -> Vector:
        """Return the change, shape (n_features,), of which `coefficients` makes these."""
        return np.asarray(self.objective.weights_of(coef, intercept))


# Ability of an objective -> the class that has it. Abilities that are not here, such as passes over single samples,
# would need the old weights in native code.
_ABILITIES: tuple[tuple[Any, type[ChangedWeights]], ...] = (
    (Movable, _Movable),
    (Balancing, _Balancing),
    (WithIntercept, _WithIntercept),
    (WithUnpenalised, _WithUnpenalised),
    (Shifted, _Shifted),
    (Threaded, _Threaded),
    (Convex, _Convex),
    (Curved, _Curved),
    (SampleLikelihoods, _SampleLikelihoods),
    (Restrictable, _Restrictable),
)


def from_prior(
    objective: Objective, c: Vector, places: Numbers | None = None, *, units: Vector | None = None
) -> ChangedWeights:
    """Return an objective at weights c + d as a function of d, with those of its abilities that carry over.

    Args:
        objective: the NLL at weights w.
        c: old weights, float64, shape (n,).
        places: numbers of the weights that may change, ascending; None for all.
        units: unit of each d, > 0, shape (n_features,): the weights are c + units d, so that |d|^2 is a penalty
            whose strength is 1 / units^2 for each weight; None for 1.

    Example:
        >>> import numpy as np
        >>> from loglinear import ClassifierObjective, ElasticNet, LBFGS, Problem, minimize
        >>> from loglinear.objectives.prior import from_prior
        >>> objective = ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2, intercept=False)
        >>> for strength in (1.0, 100.0):
        ...     problem = Problem(from_prior(objective, np.array([3.0])), ElasticNet(l2=strength))
        ...     print((3.0 + minimize(problem, LBFGS()).w).round(2))
        [2.13]
        [2.99]
    """
    kinds = tuple(kind for ability, kind in _ABILITIES if satisfies(objective, ability))
    return _class_of(kinds)(objective, c, places, units=units)


@cache
def _class_of(kinds: tuple[type[ChangedWeights], ...]) -> type[ChangedWeights]:
    """Return the class with these abilities."""
    return type(ChangedWeights.__name__, kinds or (ChangedWeights,), {"__doc__": ChangedWeights.__doc__})
