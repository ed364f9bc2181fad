"""Penalties: the elastic net on single weights, the group lasso on groups of weights, and their common protocol.

w has shape (n_features,) everywhere, and g is the gradient of the *unpenalised* NLL at w, of the same shape.

The penalty of each weight may be multiplied by a separate factor, and a weight may have a sign: it is then never
negative, or never positive. Weights with the wrong sign have an infinite penalty.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from . import vectors
from .errors import OptionError
from .options import fail, strength, whole_number
from .protocols import satisfies
from .vectors import Vector

__all__ = ["ElasticNet", "GroupLasso", "Penalty", "Separable", "Varied", "curvature", "feasible", "has_kinks", "varies"]

Numbers = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


@runtime_checkable
class Penalty(Protocol):
    """A convex penalty, l1 times a norm that makes units of weights zero, plus (l2 / 2) |w|^2.

    A unit is a single weight or a group of weights.
    """

    @property
    def l1(self) -> float:
        """Strength of the norm with kinks, >= 0."""

    @property
    def l2(self) -> float:
        """Strength of half the squared Euclidean norm, >= 0."""

    @property
    def unpenalised(self) -> int:
        """Number of unpenalised weights at the end of w."""

    def with_l1(self, l1: float) -> Penalty:
        """Return the same penalty with another l1."""

    def on(self, features: Numbers, n_features: int) -> Penalty:
        """Return the penalty of some of n_features weights, whose numbers ascend."""

    def split(self) -> tuple[Penalty, Separable]:
        """Return the part with kinks and the smooth part; their sum is this penalty."""

    def units(self, n_features: int) -> Numbers:
        """Return the unit of each penalised weight."""

    def largest(self, g: Vector) -> float:
        """Return the least l1 at which weights of 0 with this gradient, shape (n_penalised,), stay there."""

    def norms(self, w: Vector) -> tuple[float, float]:
        """Return the norm with kinks and |w|^2, both of the weights that bear the penalty."""

    def value(self, w: Vector) -> float:
        """Return the penalty at w, in nats."""

    def pseudo_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return the subgradient of minimum norm of NLL plus penalty at w."""

    def prox(self, v: Vector, step: float, out: Vector | None = None) -> Vector:
        """Return argmin over u of |u - v|^2 / (2 step) + penalty(u)."""

    def violation(self, w: Vector, g: Vector) -> float:
        """Return the max-norm of the subgradient of minimum norm, in nats: 0 at a minimum."""


@runtime_checkable
class Separable(Penalty, Protocol):
    """A penalty of single weights.

    It is a sum of functions of one weight each, so that solvers may treat coordinates and orthants one by one.
    """

    @property
    def strengths(self) -> vectors.Strengths:
        """What native sweeps compute the penalty from; see ``vectors.Strengths``."""

    def value_from_norms(self, l1_norm: float, squared_norm: float) -> float:
        """Return the penalty of a w whose norms a sweep has already returned."""

    def smooth_value(self, w: Vector) -> float:
        """Return the differentiable part at w, (l2 / 2) |w|^2."""

    def smooth_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return g + l2 w, the gradient of the NLL and of the differentiable part."""


@runtime_checkable
class Varied(Penalty, Protocol):
    """A penalty with a factor and a sign for each weight."""

    @property
    def factors(self) -> Vector | None:
        """What the penalty of each penalised weight is multiplied by, >= 0, shape (n_penalised,); None for 1."""

    @property
    def signs(self) -> Signs | None:
        """1 for a weight never negative, -1 for one never positive, else 0, shape (n_penalised,); None for 0."""


def varies(penalty: Penalty) -> TypeGuard[Varied]:
    """Whether there are factors or signs of single weights.

    Example:
        >>> from loglinear.penalty import ElasticNet, varies
        >>> varies(ElasticNet(l1=1.0)), varies(ElasticNet(l1=1.0, factors=[1.0, 2.0]))
        (False, True)
    """
    return satisfies(penalty, Varied) and (penalty.factors is not None or penalty.signs is not None)


def has_kinks(penalty: Penalty) -> bool:
    """Whether weights may be held at 0: by an L1 penalty or by a sign."""
    return penalty.l1 > 0.0 or (varies(penalty) and penalty.signs is not None)


def curvature(penalty: Penalty) -> float | Vector:
    """Return the second derivative of the smooth part by each penalised weight; a number if all are the same."""
    if varies(penalty) and penalty.factors is not None:
        return np.asarray(penalty.l2 * penalty.factors)
    return penalty.l2


def feasible(penalty: Penalty, w: Vector) -> Vector:
    """Return the weights with 0 in place of those that do not have their sign; w itself if all have.

    Example:
        >>> import numpy as np
        >>> from loglinear.penalty import ElasticNet, feasible
        >>> feasible(ElasticNet(signs=[1, -1]), np.array([-2.0, -3.0]))
        array([ 0., -3.])
    """
    if not varies(penalty) or penalty.signs is None:
        return w
    wrong = w[: penalty.signs.size] * penalty.signs < 0.0
    if not wrong.any():
        return w
    right = w.copy()
    right[: penalty.signs.size][wrong] = 0.0
    return right


P = TypeVar("P", bound="_TwoNorms")


@dataclass(frozen=True)
class _TwoNorms(ABC):
    """The penalty l1 * norm(w) + (l2 / 2) * |w|^2 with a norm that subclasses define.

    With factors and signs, see the module, ElasticNet and GroupLasso.
    """

    l1: float = 0.0
    l2: float = 0.0
    unpenalised: int = 0
    factors: Vector | None = field(default=None, repr=False, compare=False, kw_only=True)
    signs: Signs | None = field(default=None, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        for name, value in (("l1", self.l1), ("l2", self.l2)):
            object.__setattr__(self, name, strength(name, value))
        object.__setattr__(self, "unpenalised", whole_number("unpenalised", self.unpenalised, 0, 2**62))
        object.__setattr__(self, "factors", _checked_factors(self.factors))
        object.__setattr__(self, "signs", _checked_signs(self.signs))
        if self.factors is not None and self.signs is not None and self.factors.size != self.signs.size:
            message = f"{self.factors.size} factors and {self.signs.size} signs; give one of each per penalised weight"
            raise OptionError(message)

    @abstractmethod
    def norms(self, w: Vector) -> tuple[float, float]:
        """Return the norm with kinks and |w|^2, both of the weights that bear the penalty."""

    def with_l1(self: P, l1: float) -> P:
        """Return the same penalty with another l1."""
        return replace(self, l1=l1)

    def split(self: P) -> tuple[P, ElasticNet]:
        """Return the part with kinks and the smooth part; their sum is this penalty."""
        return replace(self, l2=0.0), ElasticNet(0.0, self.l2, self.unpenalised, factors=self.factors)

    def value(self, w: Vector) -> float:
        """Return l1 norm(w) + (l2 / 2) |w|^2; infinite if a weight does not have its sign."""
        if self.signs is not None and (w[: self.signs.size] * self.signs < 0.0).any():
            return math.inf
        return self.value_from_norms(*self.norms(w))

    def value_from_norms(self, l1_norm: float, squared_norm: float) -> float:
        """Return the penalty of a w whose norms a sweep has already returned."""
        # A factor of zero must hide an infinite norm: 0 * inf is NaN.
        return (self.l1 * l1_norm if self.l1 else 0.0) + (0.5 * self.l2 * squared_norm if self.l2 else 0.0)

    def _of_some(self, penalised: Numbers) -> dict[str, Any]:
        """Return factors and signs of some penalised weights."""
        both = {"factors": self.factors, "signs": self.signs}
        return {name: None if array is None else array[penalised] for name, array in both.items()}

    def _towards(self, w: Vector, g: Vector) -> None:
        """Set to 0 the derivatives by weights of 0 that may not go where these point; w and g are penalised parts."""
        if self.signs is not None:
            g[(w == 0.0) & (self.signs * g > 0.0)] = 0.0


def _checked_factors(factors: npt.ArrayLike | None) -> Vector | None:
    """Return factors as an array; None if all are 1."""
    if factors is None:
        return None
    array = np.ascontiguousarray(factors, dtype=np.float64)
    if array.ndim != 1 or not (np.isfinite(array) & (array >= 0.0)).all():
        message = "factors are not a list of finite numbers >= 0; give one for each penalised weight"
        raise OptionError(message)
    return None if (array == 1.0).all() else array


def _checked_signs(signs: npt.ArrayLike | None) -> Signs | None:
    """Return signs as an array; None if all are 0."""
    if signs is None:
        return None
    array = np.asarray(signs)
    if array.ndim != 1 or not np.isin(array, (-1, 0, 1)).all():
        message = "signs are not a list of 1, 0 and -1; give one for each penalised weight"
        raise OptionError(message)
    return np.ascontiguousarray(array, dtype=np.int8) if array.any() else None


@dataclass(frozen=True)
class ElasticNet(_TwoNorms):
    """The penalty l1 * |w|_1 + (l2 / 2) * |w|^2, in nats, added to an NLL summed over samples.

    CRFsuite's c1 is l1 and its c2 is l2 / 2; scikit-learn's C is 1 / l1 or 1 / l2.

    Args:
        l1: weight of the L1 norm, finite, >= 0; makes weights exactly zero.
        l2: weight of half the squared L2 norm, finite, >= 0.
        unpenalised: number of unpenalised weights at the end of w, such as intercepts, >= 0.
        factors: what the penalty of each other weight is multiplied by, finite, >= 0, shape (n_features -
            unpenalised,); None for 1. A factor of 0 leaves a weight without a penalty.
        signs: for each other weight 1 if it may not be negative, -1 if it may not be positive, else 0, the same shape;
            None for 0.

    Raises:
        OptionError: l1 or l2 is negative, infinite or not a number, unpenalised is not an integer >= 0, or factors or
            signs are not such numbers.

    Example:
        >>> import numpy as np
        >>> from loglinear import ElasticNet
        >>> ElasticNet(l1=0.5, l2=2.0).value(np.array([1.0, -2.0]))
        6.5
        >>> ElasticNet(l1=0.5, unpenalised=1).value(np.array([1.0, -2.0]))
        0.5
        >>> ElasticNet(l1=0.5, factors=[0.0, 3.0]).value(np.array([1.0, -2.0]))
        3.0
        >>> ElasticNet(signs=[0, 1]).value(np.array([1.0, -2.0]))
        inf
    """

    @cached_property
    def strengths(self) -> vectors.Strengths:
        """(l1, l2, unpenalised), and factors and signs if there are any."""
        return self._strengths(self.l1, self.signs)

    def _strengths(self, l1: float, signs: Signs | None) -> vectors.Strengths:
        if self.factors is None and signs is None:
            return l1, self.l2, self.unpenalised
        factors = np.ones(len(signs)) if signs is not None and self.factors is None else self.factors
        assert factors is not None
        return l1, self.l2, self.unpenalised, factors, np.zeros(factors.size, np.int8) if signs is None else signs

    def on(self, features: Numbers, n_features: int) -> ElasticNet:
        """Return the penalty of some of n_features weights, whose numbers ascend."""
        unpenalised = int((features >= n_features - self.unpenalised).sum())
        if not varies(self):
            return replace(self, unpenalised=unpenalised)
        return replace(self, unpenalised=unpenalised, **self._of_some(features[: features.size - unpenalised]))

    def units(self, n_features: int) -> Numbers:
        """Return 0, 1, 2, ...: each weight that bears the penalty is a unit."""
        return np.arange(n_features - self.unpenalised)

    def largest(self, g: Vector) -> float:
        """Return the least l1 at which weights of 0 with this gradient, shape (n_penalised,), stay there.

        Weights with the factor 0 are taken to be at their optimum.
        """
        if self.signs is not None:
            g = np.where(self.signs * g > 0.0, 0.0, g)
        if self.factors is not None:
            g = np.divide(g, self.factors, out=np.zeros_like(g), where=self.factors > 0.0)
        return float(np.abs(g).max(initial=0.0))

    def norms(self, w: Vector) -> tuple[float, float]:
        """Return |w|_1 and |w|^2 of the weights that bear the penalty, each times its factor."""
        penalised = w[: self._penalised(w)]
        if self.factors is None:
            return vectors.norms(penalised)
        sizes = self.factors * np.abs(penalised)
        return float(sizes.sum()), vectors.dot(sizes, np.abs(penalised))

    def _penalised(self, w: Vector) -> int:
        return max(w.size - self.unpenalised, 0)

    def smooth_value(self, w: Vector) -> float:
        """Return the differentiable part at w, (l2 / 2) |w|^2."""
        return self.value_from_norms(0.0, self.norms(w)[1])

    def smooth_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return g + l2 w, the gradient of the NLL and of the differentiable part."""
        out = np.empty_like(g) if out is None else out
        vectors.pseudo_gradient(w, g, self._strengths(0.0, None), out)
        return out

    def pseudo_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return the subgradient of minimum norm of the full objective at w.

        Source: Andrew & Gao (2007), Eq. 4, with l2 in the smooth part. It is zero exactly at a minimum of a
        convex objective, and its negative is the direction of steepest descent.
        """
        out = np.empty_like(g) if out is None else out
        vectors.pseudo_gradient(w, g, self.strengths, out)
        return out

    def prox(self, v: Vector, step: float, out: Vector | None = None) -> Vector:
        """Return argmin over u of |u - v|^2 / (2 step) + penalty(u): shrink by step * l1, divide by 1 + step * l2.

        Raises:
            OptionError: step is not positive and finite.
        """
        if not 0.0 < step < math.inf:
            fail("step", step, "is not a step size; give a finite number > 0")
        out = np.empty_like(v) if out is None else out
        penalised = self._penalised(v)
        factor = 1.0 if self.factors is None else self.factors
        vectors.shrink(v[:penalised], step * self.l1 * factor, 1.0 / (1.0 + step * curvature(self)), out[:penalised])
        out[penalised:] = v[penalised:]
        if self.signs is not None:
            out[:penalised][out[:penalised] * self.signs < 0.0] = 0.0
        return out

    def violation(self, w: Vector, g: Vector) -> float:
        """Return the max-norm of the subgradient of minimum norm, in nats: 0 at a minimum.

        NaN or infinite if g is.
        """
        return vectors.pseudo_gradient(w, g, self.strengths, np.empty_like(g))[0]


@dataclass(frozen=True)
class GroupLasso(_TwoNorms):
    """The penalty l1 * sum over groups of sqrt(size) |w_group|_2 + (l2 / 2) * |w|^2: whole groups become zero.

    Source: Yuan & Lin (2006). It is not a sum over single weights, so only solvers that accept any ``Penalty`` can use
    it.

    Args:
        l1: weight of the sum over groups, finite, >= 0.
        l2: weight of half the squared L2 norm, finite, >= 0.
        unpenalised: number of unpenalised weights at the end of w, >= 0.
        groups: group of each penalised weight, from 0, shape (n_features - unpenalised,).
        factors: see ``ElasticNet``; the weights of a group have the same one.
        signs: see ``ElasticNet``.

    Raises:
        OptionError: see ``ElasticNet``; or the weights of a group have different factors.
    """

    groups: Numbers = field(default_factory=lambda: np.empty(0, np.int64), repr=False, compare=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factors is not None and (self.factors != self._group_factors[self.groups]).any():
            message = "the weights of a group have different factors; give all weights of a group the same one"
            raise OptionError(message)

    @cached_property
    def _group_factors(self) -> Vector:
        """The factor of each group."""
        factors = np.ones(self.groups.max(initial=-1) + 1)
        if self.factors is not None:
            factors[self.groups] = self.factors
        return factors

    def on(self, features: Numbers, n_features: int) -> GroupLasso:
        """Return the penalty of some of n_features weights; groups have to be whole."""
        penalised = features[features < n_features - self.unpenalised]
        groups = np.unique(self.groups[penalised], return_inverse=True)[1]
        unpenalised = int(features.size - penalised.size)
        return replace(self, unpenalised=unpenalised, groups=groups, **self._of_some(penalised))

    def units(self, n_features: int) -> Numbers:
        """Return the group of each weight that bears the penalty."""
        return self.groups

    def group_norms(self, w: Vector) -> Vector:
        """Return |w_group|_2 of each group."""
        return np.asarray(np.sqrt(np.bincount(self.groups, w[: self.groups.size] ** 2)))

    @property
    def thresholds(self) -> Vector:
        """l1 sqrt(size) of each group, times its factor."""
        return np.asarray(self.l1 * self._units())

    def _units(self) -> Vector:
        """Return what the norm of each group counts."""
        units = np.sqrt(np.bincount(self.groups))
        return np.asarray(units if self.factors is None else units * self._group_factors)

    def largest(self, g: Vector) -> float:
        """Return the least l1 at which groups of 0 with this gradient stay there."""
        if self.signs is not None:
            g = np.where(self.signs * g > 0.0, 0.0, g)
        norms, units = self.group_norms(g), self._units()
        return float(np.divide(norms, units, out=np.zeros_like(norms), where=units > 0.0).max(initial=0.0))

    def norms(self, w: Vector) -> tuple[float, float]:
        """Return the sum of sqrt(size) |w_group|_2, and |w|^2 of the weights that bear the penalty, with factors."""
        norms = self.group_norms(w)
        squared = norms if self.factors is None else self._group_factors * norms
        return float(self._units() @ norms), float(squared @ norms)

    def pseudo_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return the subgradient of minimum norm of the full objective at w."""
        out = np.empty_like(g) if out is None else out
        np.copyto(out, g)
        penalised = out[: self.groups.size]
        penalised += curvature(self) * w[: self.groups.size]
        self._towards(w[: self.groups.size], penalised)
        norms, thresholds = self.group_norms(w), self.thresholds
        slopes = np.divide(thresholds, norms, out=np.zeros_like(norms), where=norms > 0.0)
        # A group at zero absorbs as much of its gradient as the threshold allows.
        steep = self.group_norms(out)
        ratio = np.divide(thresholds, steep, out=np.ones_like(steep), where=steep > thresholds)
        factor = np.where(norms > 0.0, 1.0, 1.0 - ratio)
        penalised *= factor[self.groups]
        penalised += slopes[self.groups] * w[: self.groups.size]
        return out

    def prox(self, v: Vector, step: float, out: Vector | None = None) -> Vector:
        """Return argmin over u of |u - v|^2 / (2 step) + penalty(u): shrink each group's norm by step * threshold."""
        out = np.empty_like(v) if out is None else out
        v = feasible(self, v)
        norms = self.group_norms(v)
        least = step * self.thresholds
        factors = np.where(norms > least, 1.0 - least / np.maximum(norms, np.finfo(float).tiny), 0.0)
        factors /= 1.0 + step * (self.l2 if self.factors is None else self.l2 * self._group_factors)
        size = self.groups.size
        np.multiply(v[:size], factors[self.groups], out=out[:size])
        out[size:] = v[size:]
        return out

    def violation(self, w: Vector, g: Vector) -> float:
        """Return the max-norm of the subgradient of minimum norm, in nats: 0 at a minimum."""
        return float(np.abs(self.pseudo_gradient(w, g)).max(initial=0.0))
