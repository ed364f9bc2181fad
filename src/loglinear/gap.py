"""A bound of the distance from the optimum, F(w) - F*, by weak duality.

F(w) = NLL(w) + l1 |w|_1 + (l2 / 2) |w|^2 with the optimum F*; s_i are the weights of the samples, f_i the features of
sample i and y_i its labels.

For any distributions q_i over the labellings of the samples, log Z_i(u) >= u . E_q[f_i] + H(q_i) at every u. So

    NLL(u) >= sum_i s_i H(q_i) + u . r    with    r = sum_i s_i (E_q[f_i] - f_i(y_i)),

    F* >= D(q) = sum_i s_i H(q_i) + min over u of (u . r + l1 |u|_1 + (l2 / 2) |u|^2).

- With l2 > 0 the minimum is -sum_j S(r_j)^2 / (2 l2), where S(x) = max(|x| - l1, 0).
- With l1 > 0 it need only be taken over |u|_1 <= R = F(w) / l1, which an optimum satisfies because l1 |u|_1 <= F(u) <=
  F(w) where the NLL is not negative. For every lambda >= 0 the minimum is then at least
  -lambda R - sum_j max(|r_j| - l1 - lambda, 0)^2 / (2 l2); with l2 = 0 it is -R max(0, max_j |r_j| - l1).
- A weight without penalty needs r_j = 0.

The distributions tried are the mixtures q_i = (1 - t_i) [y = y_i] + t_i p(y | x_i; w), for which r = sum_i t_i s_i
(E_w[f_i] - f_i(y_i)): with one t for all samples, r = t g, where g is the gradient of the NLL. With p*_i =
p(y_i | x_i; w) and H_i the entropy of p(y | x_i; w),

    H(q_i) = -t_i ln t_i (1 - p*_i) + t_i (H_i + p*_i ln p*_i) - c_i ln c_i,    c_i = 1 - t_i (1 - p*_i),

    sum_i s_i H_i = NLL(w) - w . g.

t = 1 is the Fenchel dual at w itself; smaller t scale the expectations towards the empirical counts until they satisfy
the conditions of the dual. D is concave in t, and any t gives a bound: the best of some is taken.

Any distributions give a bound, such as those of other weights or over some of the labels. With l1 alone all bounds are
late: D loses about l1 |w|_1 times the share by which the largest |r_j| exceeds l1. A proof of 1 % needs derivatives
that are all within about 2 % of l1, where F(w) - F* is some 1e-5 of F*. docs/experiments.md has other points that were
tried.

An objective that does not give p*_i but is convex and nowhere negative has NLL(u) >= t (NLL(w) + g . (u - w)) for t
in [0, 1]: the same bound with t (NLL(w) - w . g) in place of the entropies.

With an intercept without penalty, t_i = t tau_c for the samples of class c, where sum_c tau_c G_ck = 0 for all classes
k and G_ck = sum over samples i of class c of s_i (p(k | x_i) - [k = c]). G is a matrix of transition rates, and tau its
stationary distribution, scaled to a largest entry of 1: such tau exist wherever all classes have samples. Where the
intercept is at its optimum, all tau are 1; any distributions are valid; the ones of w with such an intercept are used.

Sources: the dual: Lebanon & Lafferty (NIPS 2001); Dudik, Phillips & Schapire (JMLR 8, 2007); of chains Collins et al.
(JMLR 9, 2008). Scaling a dual point into the feasible set: Koh, Kim & Boyd (JMLR 8, 2007), of two classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from .options import USEFUL
from .penalty import Separable, varies
from .problem import Problem
from .protocols import satisfies
from .vectors import Vector, dot

__all__ = [
    "Balanced",
    "Balancing",
    "QuicklyBounded",
    "SampleLikelihoods",
    "cannot_be_met",
    "duality_gap",
    "no_bound",
    "useful",
]

# Trials of t at most. They end where others could bring the bound nearer to the objective by no more than this share,
# or by what drowns in rounding errors.
TRIALS, ENOUGH, ROUNDING = 20, 1e-10, 1e-16
TINY = 1e-300
# A quick bound that is at most this share of the objective is as good as a closer one.
CLOSE = 1e-6
# A bound is up to this many times sharper than the violation alone suggests.
SHARPER = 20.0


@runtime_checkable
class SampleLikelihoods(Protocol):
    """An objective that gives the likelihood of each sample under a log-linear model."""

    @property
    def weights(self) -> Vector:
        """Weights s_i of the samples, >= 0, shape (n_samples,)."""

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y_i | x_i; w) of each sample, not times s_i, shape (n_samples,)."""


class Balanced(NamedTuple):
    """An objective whose samples have the weights tau_i s_i: its derivatives by the intercept are 0.

    It is evaluated at weights u that may differ from w in the intercept.

    Attributes:
        factors: tau_i, from 0 to 1, the largest 1, shape (n_samples,).
        sample_nlls: -log p(y_i | x_i; u), see ``SampleLikelihoods``.
        nll: of the samples with these weights, nats.
        gradient: of that NLL, shape (n_features,).
    """

    factors: Vector
    sample_nlls: Vector
    nll: float
    gradient: Vector


@runtime_checkable
class Balancing(Protocol):
    """An objective that can weigh its samples so that its derivatives by the intercept are 0."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the last weights, the intercept's."""

    @property
    def unbalanced(self) -> str:
        """Why such weights would take much longer than an evaluation, as the end of a sentence; empty if not."""

    def balanced(self, w: Vector) -> Balanced | None:
        """Return the objective with such weights of the samples, at w or with another intercept; None without any."""


@runtime_checkable
class QuicklyBounded(Protocol):
    """An objective with a bound that takes less time than the one found here, and is about as close at the optimum."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the last weights, the intercept's."""

    def quick_gap(self, w: Vector, l1: float, l2: float) -> float:
        """Return an upper bound of F(w) - F*, nats, where the intercept alone has no penalty; infinite for none."""


def no_bound(problem: Problem) -> str:
    """Return why a problem has no bound of the distance from the optimum, as the end of a sentence; empty if it has.

    Example:
        >>> from loglinear import ClassifierObjective, ElasticNet, Problem
        >>> from loglinear.gap import no_bound
        >>> from loglinear.penalty import GroupLasso
        >>> objective = ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2, intercept=False)
        >>> no_bound(Problem(objective, ElasticNet(l1=0.1)))
        ''
        >>> no_bound(Problem(objective, GroupLasso(l1=0.1)))
        'the penalty is not a sum over single weights'
    """
    objective, penalty = problem.objective, problem.penalty
    if not satisfies(penalty, Separable):
        return "the penalty is not a sum over single weights"
    if varies(penalty):
        return "there are penalty factors or signs"
    if problem.is_convex is None:
        return f"{type(objective).__name__} does not declare that it is convex (is_convex)"
    if not problem.is_convex:
        return "the objective is not convex (partial labels or approximate inference)"
    if not (penalty.l1 or penalty.l2):
        return "the problem has no penalty"
    free = min(penalty.unpenalised, problem.n_features)
    if free and not (satisfies(objective, Balancing) and objective.n_unpenalised == free):
        return f"{free} weights are unpenalised and are not the intercept of a classifier"
    return objective.unbalanced if free and satisfies(objective, Balancing) else ""


def duality_gap(problem: Problem, w: Vector, nll: float, gradient: Vector) -> float:
    """Return an upper bound of F(w) - F*, in nats, up to rounding errors; infinite if no bound exists.

    See the module for the derivation.

    Cost: O(n_features + n_samples), and what ``sample_nlls`` or ``balanced`` of the objective cost: for chains nothing
    where w was evaluated last, for classifiers about one evaluation, or two with an intercept.

    Args:
        problem: objective and penalty.
        w: weights, shape (n_features,).
        nll: unpenalised NLL at w, nats.
        gradient: of the NLL at w, by all features, shape (n_features,).

    Example:
        >>> import numpy as np
        >>> from loglinear import ClassifierObjective, ElasticNet, Problem
        >>> from loglinear.gap import duality_gap
        >>> objective = ClassifierObjective([[1.0], [2.0]], [0, 1], n_classes=2, intercept=False)
        >>> problem = Problem(objective, ElasticNet(l2=1.0))
        >>> for weight in (0.0, 0.2, 0.224):
        ...     w = np.array([weight])
        ...     print(f"{duality_gap(problem, w, *objective.value_and_gradient(w)):.4f}")
        0.1111
        0.0013
        0.0000
    """
    objective = nll + problem.penalty.value(w)
    if no_bound(problem) or not (math.isfinite(objective) and np.isfinite(gradient).all()):
        return math.inf
    quick = _quick(problem, w)
    if quick <= CLOSE * objective:
        return quick
    with np.errstate(over="ignore", invalid="ignore"):  # of huge gradients; the bound is then infinite or no number
        mixtures = _mixtures(problem, w, nll, gradient)
        if mixtures is None:
            return math.inf
        excess = _Excess.of(problem.separable, mixtures.gradient, objective)
        bound = _largest(lambda t: mixtures.entropy(t) - excess.cost(t), excess.kink, objective)
    return max(objective - bound, 0.0) if math.isfinite(bound) else math.inf


def _quick(problem: Problem, w: Vector) -> float:
    """Return the bound of an objective that has a quick one; infinite of others."""
    objective, penalty = problem.objective, problem.penalty
    if not satisfies(objective, QuicklyBounded) or objective.n_unpenalised != penalty.unpenalised:
        return math.inf
    return objective.quick_gap(w, penalty.l1, penalty.l2)


def useful(gap: float, objective: float) -> float | None:
    """Return a bound if it says something: it is at most a tenth of the objective; else None.

    Example:
        >>> from loglinear.gap import useful
        >>> useful(0.1, 20.0), useful(19.0, 20.0)
        (0.1, None)
    """
    return gap if gap <= USEFUL * abs(objective) else None


def cannot_be_met(problem: Problem, gap: float, objective: float, violation: float) -> bool:
    """Whether it is plain, by experience and without any sum, that the bound is above ``gap``.

    Args:
        problem: objective and penalty.
        gap: absolute, nats.
        objective: penalised, nats.
        violation: max-norm of the pseudo-gradient.
    """
    l1, l2 = problem.penalty.l1, problem.penalty.l2
    smooth = violation**2 / (2.0 * l2) if l2 else math.inf
    scaled = violation / (l1 + violation) * abs(objective) if l1 and violation else math.inf
    return bool(violation > 0.0 and min(smooth, scaled) > SHARPER * gap)


class _Value(NamedTuple):
    """A function of t with its first and second derivatives."""

    number: float
    slope: float
    curvature: float

    def __sub__(self, other: _Value) -> _Value:
        return _Value(self.number - other.number, self.slope - other.slope, self.curvature - other.curvature)


@dataclass(frozen=True)
class _Mixtures:
    """The mixtures q_i with t_i = t tau_i.

    Attributes:
        linear: A in the sum over samples of s_i H(q_i) = t A - t ln t M - sum_i s_i c_i ln c_i.
        moved: M = sum_i s_i tau_i (1 - p*_i).
        weights: s_i, shape (n,); empty if the p*_i are not known.
        shares: tau_i (1 - p*_i), shape (n,).
        gradient: r at t = 1, shape (n_features,).
    """

    linear: float
    moved: float
    weights: Vector
    shares: Vector
    gradient: Vector

    def entropy(self, t: float) -> _Value:
        """Return the sum over samples of s_i H(q_i)."""
        if not self.weights.size:
            return _Value(t * self.linear, self.linear, 0.0)
        c = np.maximum(1.0 - t * self.shares, TINY)  # 0 ln 0 is 0
        logs, moved, log_t = np.log(c), self.moved, math.log(t)
        entropy = t * self.linear - t * log_t * moved - dot(self.weights, c * logs)
        slope = self.linear - log_t * moved + dot(self._scaled, logs)
        return _Value(entropy, slope, -moved / t - dot(self._scaled, self.shares / c))

    @cached_property
    def _scaled(self) -> Vector:
        return self.weights * self.shares


def _mixtures(problem: Problem, w: Vector, nll: float, gradient: Vector) -> _Mixtures | None:
    """Return the mixtures at w; None if none meets the conditions of the weights without penalty."""
    objective, penalised = problem.objective, problem.n_features
    factors: Vector | float = 1.0
    if problem.penalty.unpenalised:
        assert satisfies(objective, Balancing)
        balanced = objective.balanced(w)
        if balanced is None:
            return None
        factors, nlls, nll, gradient = balanced
        penalised -= problem.penalty.unpenalised
    elif satisfies(objective, SampleLikelihoods):
        nlls = objective.sample_nlls(w)
    else:
        return _Mixtures(nll - dot(w, gradient), 0.0, np.empty(0), np.empty(0), gradient)
    assert satisfies(objective, SampleLikelihoods)
    weights = objective.weights
    entropies = nll - dot(w, gradient)
    nlls = np.minimum(nlls, 1e3)  # exp(-1000) is 0
    p, others = np.exp(-nlls), -np.expm1(-nlls)
    scaled = weights * factors
    logs = np.log(np.where(scaled > 0.0, factors, 1.0))
    linear = entropies - dot(scaled, p * nlls + logs * others)
    return _Mixtures(linear, dot(scaled, others), weights, factors * others, gradient[:penalised])


@dataclass(frozen=True)
class _Excess:
    """The entries of r that exceed l1, as a function of t.

    Attributes:
        l1: of the penalty.
        l2: of the penalty.
        radius: R; infinite without l1.
        sizes: |r_j| > l1 at t = 1, the largest first; without l1 the norm of r alone.
    """

    l1: float
    l2: float
    radius: float
    sizes: Vector

    @classmethod
    def of(cls, penalty: Separable, r: Vector, objective: float) -> _Excess:
        """Return the excess of a vector r, where the penalised objective is known at some weights."""
        l1, l2 = penalty.l1, penalty.l2
        if not l1:
            return cls(l1, l2, math.inf, np.array([math.sqrt(dot(r, r))]))
        sizes = np.abs(r)
        sizes = np.sort(sizes[sizes > l1])[::-1]
        return cls(l1, l2, objective / l1, sizes)

    @property
    def kink(self) -> float:
        """The largest t in [0, 1] that costs nothing."""
        return min(self.l1 / float(self.sizes[0]), 1.0) if self.sizes.size and self.sizes[0] > 0.0 else 1.0

    def cost(self, t: float) -> _Value:
        """Return -min over u of (u . t r + l1 |u|_1 + (l2 / 2) |u|^2), or a number above it."""
        over = t * self.sizes - self.l1
        over = over[over > 0.0]  # the first ones
        if not self.l2:
            excess, steep = (float(entries[0]) if entries.size else 0.0 for entries in (over, self.sizes))
            return _Value(self.radius * excess, self.radius * steep, 0.0)
        if not over.size:
            return _Value(0.0, 0.0, 0.0)
        # The best lambda satisfies sum_j max(over_j - lambda, 0) = l2 R, as in a projection onto the simplex.
        least = 0.0
        if self.l2 * self.radius < over.sum():
            candidates = (np.cumsum(over) - self.l2 * self.radius) / np.arange(1, over.size + 1)
            fitting = candidates[over > candidates]  # none if R is lost in the rounding of a huge entry
            least = max(float(fitting[-1] if fitting.size else over[0]), 0.0)
        above = over[over > least] - least
        sizes = self.sizes[: above.size]
        cost = dot(above, above) / (2.0 * self.l2) + (least * self.radius if least else 0.0)
        # The best lambda moves with t, for which the curvature is an upper bound.
        return _Value(cost, dot(above, sizes) / self.l2, dot(sizes, sizes) / self.l2)


def _largest(bound: Callable[[float], _Value], kink: float, objective: float) -> float:
    """Return about the largest value of a concave function on [kink, 1].

    Secants between two ends find where the slope is 0. The first left end is looked for by steps of Newton's method
    times 2, 4, 16, ..., which go too far, and so is another end that is nearer.

    Args:
        bound: the function.
        kink: where its slope jumps, and is that to the right; 0 if it does not.
        objective: no smaller than the function.
    """
    low, high, t = kink, 1.0, 1.0
    right, left = bound(1.0), bound(kink) if 0.0 < kink < 1.0 else None
    best = max(right.number, left.number if left else -math.inf)
    if kink >= 1.0 or right.slope >= 0.0 or (left and left.slope <= 0.0):
        return best
    value, factor = right, 2.0
    for _ in range(TRIALS):
        if left and factor == 1.0:
            t = (low * right.slope - high * left.slope) / (right.slope - left.slope)
        else:
            t = t - factor * value.slope / value.curvature if value.curvature else low
        t = t if low < t < high else 0.5 * (low + high)
        value, width = bound(t), high - low
        best = max(best, value.number)
        if value.slope >= 0.0:
            low, left = t, value
        else:
            high, right = t, value
        is_slow = left is None or high - low > 0.5 * width
        factor = max(factor * factor, 2.0) if is_slow else 1.0
        # The tangents at the ends are nowhere below the function.
        most = (high - low) * min(left.slope if left else math.inf, -right.slope)
        if most <= max(ENOUGH * (objective - best), ROUNDING * abs(objective)):
            break
    return best
