"""Penalties: the elastic net on single weights, the group lasso on groups of weights, and their common protocol.

w has shape (n_features,) everywhere, and g is the gradient of the *unpenalised* NLL at w, of the same shape.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from . import vectors
from .options import fail, strength, whole_number
from .vectors import Vector

__all__ = ["ElasticNet", "GroupLasso", "Penalty", "Separable"]

Numbers = npt.NDArray[np.int64]


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
        """(l1, l2, unpenalised), from which native sweeps compute the penalty."""

    def value_from_norms(self, l1_norm: float, squared_norm: float) -> float:
        """Return the penalty of a w whose norms a sweep has already returned."""

    def smooth_value(self, w: Vector) -> float:
        """Return the differentiable part at w, (l2 / 2) |w|^2."""

    def smooth_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return g + l2 w, the gradient of the NLL and of the differentiable part."""


P = TypeVar("P", bound="_TwoNorms")


@dataclass(frozen=True)
class _TwoNorms(ABC):
    """The penalty l1 * norm(w) + (l2 / 2) * |w|^2 with a norm that subclasses define."""

    l1: float = 0.0
    l2: float = 0.0
    unpenalised: int = 0

    def __post_init__(self) -> None:
        for name, value in (("l1", self.l1), ("l2", self.l2)):
            object.__setattr__(self, name, strength(name, value))
        object.__setattr__(self, "unpenalised", whole_number("unpenalised", self.unpenalised, 0, 2**62))

    @abstractmethod
    def norms(self, w: Vector) -> tuple[float, float]:
        """Return the norm with kinks and |w|^2, both of the weights that bear the penalty."""

    def with_l1(self: P, l1: float) -> P:
        """Return the same penalty with another l1."""
        return replace(self, l1=l1)

    def split(self: P) -> tuple[P, ElasticNet]:
        """Return the part with kinks and the smooth part; their sum is this penalty."""
        return replace(self, l2=0.0), ElasticNet(0.0, self.l2, self.unpenalised)

    def value(self, w: Vector) -> float:
        """Return l1 norm(w) + (l2 / 2) |w|^2."""
        return self.value_from_norms(*self.norms(w))

    def value_from_norms(self, l1_norm: float, squared_norm: float) -> float:
        """Return the penalty of a w whose norms a sweep has already returned."""
        # A factor of zero must hide an infinite norm: 0 * inf is NaN.
        return (self.l1 * l1_norm if self.l1 else 0.0) + (0.5 * self.l2 * squared_norm if self.l2 else 0.0)


@dataclass(frozen=True)
class ElasticNet(_TwoNorms):
    """The penalty l1 * |w|_1 + (l2 / 2) * |w|^2, in nats, added to an NLL summed over samples.

    CRFsuite's c1 is l1 and its c2 is l2 / 2; scikit-learn's C is 1 / l1 or 1 / l2.

    Args:
        l1: weight of the L1 norm, finite, >= 0; makes weights exactly zero.
        l2: weight of half the squared L2 norm, finite, >= 0.
        unpenalised: number of unpenalised weights at the end of w, such as intercepts, >= 0.

    Raises:
        OptionError: l1 or l2 is negative, infinite or not a number, or unpenalised is not an integer >= 0.

    Example:
        >>> import numpy as np
        >>> from loglinear import ElasticNet
        >>> ElasticNet(l1=0.5, l2=2.0).value(np.array([1.0, -2.0]))
        6.5
        >>> ElasticNet(l1=0.5, unpenalised=1).value(np.array([1.0, -2.0]))
        0.5
    """

    @property
    def strengths(self) -> vectors.Strengths:
        """(l1, l2, unpenalised)."""
        return self.l1, self.l2, self.unpenalised

    def on(self, features: Numbers, n_features: int) -> ElasticNet:
        """Return the penalty of some of n_features weights, whose numbers ascend."""
        return replace(self, unpenalised=int((features >= n_features - self.unpenalised).sum()))

    def units(self, n_features: int) -> Numbers:
        """Return 0, 1, 2, ...: each weight that bears the penalty is a unit."""
        return np.arange(n_features - self.unpenalised)

    def largest(self, g: Vector) -> float:
        """Return the least l1 at which weights of 0 with this gradient, shape (n_penalised,), stay there."""
        return float(np.abs(g).max(initial=0.0))

    def norms(self, w: Vector) -> tuple[float, float]:
        """Return |w|_1 and |w|^2 of the weights that bear the penalty."""
        return vectors.norms(w[: self._penalised(w)])

    def _penalised(self, w: Vector) -> int:
        return max(w.size - self.unpenalised, 0)

    def smooth_value(self, w: Vector) -> float:
        """Return the differentiable part at w, (l2 / 2) |w|^2."""
        return self.value_from_norms(0.0, self.norms(w)[1])

    def smooth_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return g + l2 w, the gradient of the NLL and of the differentiable part."""
        out = np.empty_like(g) if out is None else out
        vectors.pseudo_gradient(w, g, (0.0, self.l2, self.unpenalised), out)
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
        vectors.shrink(v[:penalised], step * self.l1, 1.0 / (1.0 + step * self.l2), out[:penalised])
        out[penalised:] = v[penalised:]
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

    Raises:
        OptionError: see ``ElasticNet``.
    """

    groups: Numbers = field(default_factory=lambda: np.empty(0, np.int64), repr=False, compare=False)

    def on(self, features: Numbers, n_features: int) -> GroupLasso:
        """Return the penalty of some of n_features weights; groups have to be whole."""
        penalised = features[features < n_features - self.unpenalised]
        groups = np.unique(self.groups[penalised], return_inverse=True)[1]
        return replace(self, unpenalised=int(features.size - penalised.size), groups=groups)

    def units(self, n_features: int) -> Numbers:
        """Return the group of each weight that bears the penalty."""
        return self.groups

    def group_norms(self, w: Vector) -> Vector:
        """Return |w_group|_2 of each group."""
        return np.asarray(np.sqrt(np.bincount(self.groups, w[: self.groups.size] ** 2)))

    @property
    def thresholds(self) -> Vector:
        """l1 sqrt(size) of each group."""
        return np.asarray(self.l1 * np.sqrt(np.bincount(self.groups)))

    def largest(self, g: Vector) -> float:
        """Return the least l1 at which groups of 0 with this gradient stay there."""
        return float((self.group_norms(g) / np.sqrt(np.bincount(self.groups))).max(initial=0.0))

    def norms(self, w: Vector) -> tuple[float, float]:
        """Return the sum of sqrt(size) |w_group|_2, and |w|^2 of the weights that bear the penalty."""
        norms = self.group_norms(w)
        return float(np.sqrt(np.bincount(self.groups)) @ norms), float(norms @ norms)

    def pseudo_gradient(self, w: Vector, g: Vector, out: Vector | None = None) -> Vector:
        """Return the subgradient of minimum norm of the full objective at w."""
        out = np.empty_like(g) if out is None else out
        np.copyto(out, g)
        penalised = out[: self.groups.size]
        penalised += self.l2 * w[: self.groups.size]
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
        norms = self.group_norms(v)
        least = step * self.thresholds
        factors = np.where(norms > least, 1.0 - least / np.maximum(norms, np.finfo(float).tiny), 0.0)
        factors /= 1.0 + step * self.l2
        size = self.groups.size
        np.multiply(v[:size], factors[self.groups], out=out[:size])
        out[size:] = v[size:]
        return out

    def violation(self, w: Vector, g: Vector) -> float:
        """Return the max-norm of the subgradient of minimum norm, in nats: 0 at a minimum."""
        return float(np.abs(self.pseudo_gradient(w, g)).max(initial=0.0))
