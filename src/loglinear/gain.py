"""The decrease of the objective that a single weight could still bring: a test of convergence in the data's own units.

A violation is measured in nats per unit of a weight. It tells little where the columns of the data have other units: on
columns of 1e-8 it is tiny everywhere, on columns of 1e8 it is large even near the optimum. With v the pseudo-gradient
at w and h_j the curvature along weight j, the l2 of the penalty included, a step along that weight alone gains

    v_j^2 / (2 h_j)    nats

in the quadratic model of the objective. This number stays the same when a column is multiplied by a constant. An
objective that does not know its curvature along each weight (``Curved``) is measured along -v, d = -v:

    (v . d)^2 / (2 d . H d)    nats,    H d by one more gradient.

Along d = w, too: on separable data every single weight gains little, and all of them together, scaled up, gain much;
where samples are far on the wrong side, their curvature is 0 along each weight, and scaling down gains much.

On columns far from 0, such as years, no single weight gains anything, because each can only move together with the
intercept; on columns that are much alike, each gains little. So where the columns' values are far from 1, or the bound
of the distance from the optimum leaves room for much better weights (with L2, or of a classifier), a few steps of
conjugate gradients look for them by all weights together. They are tried, so the gain is a real one. An objective that
can be had over columns near 0 (``Movable``) is judged there, where such steps find better weights if there are any, and
the bound is closer.
"""

from __future__ import annotations

import math
from itertools import islice, product

import numpy as np

from .gap import duality_gap
from .penalty import curvature, feasible, has_kinks
from .problem import Movable, Problem
from .protocols import satisfies
from .vectors import Vector, conjugate_gradients, dot

__all__ = ["NEAR", "OF_START", "gain_of_all", "has_settled", "largest_gain"]

# A bound of the distance from the optimum proves convergence if it is at most this share of the objective.
NEAR = 0.02
# A larger bound leaves room for much better weights, which are looked for.
WIDE = 0.04
# What one weight alone could gain is too little if it is at most this share of the objective ...
SHARE = 0.01
# ... or of this share of the objective without weights: the optimum may be 0, as on separable data without penalty.
OF_START = 1e-3
# What all weights of a classifier together gain, or where columns are far from 0, is too little if it is at most this
# share, times what the tolerance is looser than the solver's default.
SHARE_OF_ALL = 1e-3
# Columns may be far from 0 where the intercept's, which is as large as the largest, has at least this value.
LARGE_INTERCEPT = 2.5
# Products with the Hessian, steps along what they find: whole, a half, and so on; and rounds of both.
PRODUCTS, TRIALS, ROUNDS = 12, 3, 5
# The step over which the gradient is differentiated, as a share of the largest step.
STEP = 1e-5


def has_settled(
    problem: Problem, w: Vector, nll: float, gradient: Vector, gap: float | None = None, looseness: float = 1.0
) -> bool:
    """Whether the objective at w is as good as at its optimum, by the bound of the distance or by the largest gain.

    Cost: none where the bound or the slopes suffice, as is usual; else up to three evaluations, or with all weights
    together up to `ROUNDS` times `PRODUCTS` and `TRIALS` more.

    Args:
        problem: objective and penalty.
        w: weights, shape (n_features,).
        nll: unpenalised NLL at w, nats.
        gradient: of the NLL at w, by all features, shape (n_features,).
        gap: bound of the distance from the optimum, nats; None if unknown.
        looseness: how many times its default the solver's tolerance is: a looser one ends farther from the optimum.

    Example:
        >>> import numpy as np
        >>> from loglinear import ClassifierObjective, Problem
        >>> from loglinear.gain import has_settled
        >>> columns = 1e-8 * np.array([[1.0], [2.0], [3.0]])
        >>> problem = Problem(ClassifierObjective(columns, [0, 1, 0], n_classes=2, intercept=False))
        >>> for weight in (0.0, -2.8e7):
        ...     w = np.array([weight])
        ...     nll, gradient = problem.objective.value_and_gradient(w)
        ...     print(f"{abs(gradient[0]):.0e}", has_settled(problem, w, nll, gradient))
        1e-08 False
        6e-10 True
    """
    objective = abs(nll + problem.penalty.value(w))
    if gap is not None and gap <= NEAR * objective:
        return True
    is_far, share = problem.is_uneven or problem.intercept_scale > LARGE_INTERCEPT, SHARE
    share_of_all = SHARE_OF_ALL * looseness
    near = problem.near_zero(w)
    if near is not None:
        (problem, w), gradient, is_far, share = near, np.empty_like(w), True, share_of_all
        nll = problem.evaluate(w, gradient)
        gap = duality_gap(problem, w, nll, gradient)
        if gap <= share * objective:
            return True
    gain = largest_gain(problem, w, gradient, share * objective) / share
    is_wide = gap is not None and gap > WIDE * objective
    # Without L2 the bound comes down late and says little, but evaluations of a classifier take little time.
    is_loose = is_wide and problem.penalty.l2 > 0.0
    is_classifier = satisfies(problem.objective, Movable)
    if is_far or is_loose or (is_classifier and (gap is None or is_wide)):
        share = share_of_all if is_far or is_classifier else SHARE
        gain = max(gain, gain_of_all(problem, w, nll, gradient, share * objective) / share)
    if gain <= objective:
        return True
    if not w.any():
        return False
    start = abs(problem.evaluate(np.zeros_like(w), np.empty_like(w)))
    return math.isfinite(start) and gain <= OF_START * start


def gain_of_all(problem: Problem, w: Vector, nll: float, gradient: Vector, little: float = 0.0) -> float:
    """Return what better weights gain that a few steps of conjugate gradients find, in nats; 0 if they find none.

    Cost: `PRODUCTS` and `TRIALS` evaluations at most, `ROUNDS` times where each round gains a part of what would be too
    much: with L1, steps end where weights become 0.

    Args:
        problem: objective and penalty.
        w: weights, shape (n_features,).
        nll: unpenalised NLL at w, nats.
        gradient: of the NLL at w, by all features, shape (n_features,).
        little: a larger gain is not looked for further.
    """
    start, gain = nll + problem.penalty.value(w), 0.0
    for _ in range(ROUNDS):
        w, nll, gradient = _better(problem, w, nll, gradient, little)
        before, gain = gain, max(gain, start - nll - problem.penalty.value(w))
        if gain > little or gain - before <= (little - gain) / ROUNDS:
            break
    return gain


def _better(problem: Problem, w: Vector, nll: float, gradient: Vector, little: float) -> tuple[Vector, float, Vector]:
    """Return better weights, the NLL and its gradient there; those given if no step along what is found is better."""
    penalty, best = problem.penalty, (w, nll, gradient)
    least = nll + penalty.value(w)
    v = penalty.pseudo_gradient(w, gradient)
    x = _towards(problem, w, gradient, v, little)
    n_penalised = w.size - penalty.unpenalised
    for trial, to_zero in product(range(TRIALS), (True, False) if has_kinks(penalty) else (False,)):
        better, there = w + 0.5**trial * x, np.empty_like(w)
        if to_zero:
            # With L1 a weight stays on its side of 0, where the model holds.
            side = np.where(w != 0.0, np.sign(w), -np.sign(v))[:n_penalised]
            better[:n_penalised][better[:n_penalised] * side < 0.0] = 0.0
            better = feasible(penalty, better)
        nll_there = problem.evaluate(better, there)
        value = nll_there + penalty.value(better)
        if value < least:  # NaN is not better
            best, gained, least = (better, nll_there, there), least - value, value
            if gained > little:
                break
    return best


def _towards(problem: Problem, w: Vector, gradient: Vector, v: Vector, little: float) -> Vector:
    """Return about -H^-1 v, shape (n_features,), by conjugate gradients until the quadratic model gains enough."""
    n_penalised = w.size - problem.penalty.unpenalised
    scale, moves = np.ones_like(w), v != 0.0
    if problem.curved is not None:
        scale = problem.curved.hessian_diagonal(w)
        scale[:n_penalised] += curvature(problem.penalty)
        scale = np.where(scale > 0.0, scale, 1.0)
    there, reach = np.empty_like(w), STEP * max(1.0, math.sqrt(dot(w, w)))

    def along(d: Vector) -> Vector:
        largest = np.abs(d).max()
        if not largest > 0.0:
            return np.zeros_like(d)
        t = reach / (largest * math.sqrt(dot(d / largest, d / largest)))  # squares of d may be too small for numbers
        problem.evaluate(w + t * d, there)
        curved: Vector = (there - gradient) / t
        curved[:n_penalised] += curvature(problem.penalty) * d[:n_penalised]
        curved[~moves] = 0.0
        return curved

    x = np.zeros_like(w)
    for solution, gain, _ in islice(conjugate_gradients(along, -v, scale), PRODUCTS):
        x = solution
        if gain > 2.0 * little:
            break
    return x


def largest_gain(problem: Problem, w: Vector, gradient: Vector, little: float = 0.0) -> float:
    """Return the most that a step along a weight, along -v or along w gains, in nats; see the module.

    Args:
        problem: objective and penalty.
        w: weights, shape (n_features,).
        gradient: of the NLL at w, by all features, shape (n_features,).
        little: where the slope shows that a gain is no larger, it is not measured, and the result may be up to this.
    """
    v = problem.penalty.pseudo_gradient(w, gradient)
    if not v.any():
        return 0.0
    gain = _gain_of_one(problem, w, gradient, v, little)
    if w.any():
        gain = max(gain, _gain_along(problem, w, gradient, v, w * -math.copysign(1.0, dot(v, w)), 1.0, little))
    return gain


def _gain_of_one(problem: Problem, w: Vector, gradient: Vector, v: Vector, little: float) -> float:
    """Return the most that a step along one weight gains, if the curvature there is known, else along -v."""
    curved, penalty = problem.curved, problem.penalty
    if curved is None:
        length = math.sqrt(dot(v, v))
        return _gain_along(problem, w, gradient, v, v / -length, max(1.0, math.sqrt(dot(w, w))), little)
    h = curved.hessian_diagonal(w)
    h[: h.size - penalty.unpenalised] += curvature(penalty)
    steep = v != 0.0
    # A slope without curvature promises any gain; squares beyond all numbers tell nothing.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return float((v[steep] ** 2 / (2.0 * h[steep])).max())


def _gain_along(
    problem: Problem, w: Vector, gradient: Vector, v: Vector, d: Vector, reach: float, little: float
) -> float:
    """Return the gain of the best step w + t d, t at most ``reach``, in the quadratic model."""
    slope = -dot(v, d)
    if slope * reach <= little:  # the objective is convex: no curvature makes the gain larger
        return slope * reach
    there, t = np.empty_like(w), STEP * reach
    problem.evaluate(w + t * d, there)
    penalised = d[: w.size - problem.penalty.unpenalised]
    of_penalty = curvature(problem.penalty)
    if isinstance(of_penalty, float):
        squared = of_penalty * dot(penalised, penalised)
    else:
        squared = dot(of_penalty * penalised, penalised)
    curved = dot(d, there - gradient) / t + squared
    best = min(slope / curved, reach) if curved > 0.0 else reach
    return slope * best - curved * best * best / 2.0
