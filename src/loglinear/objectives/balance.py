"""Samples of a classifier weighed so that the derivatives by its intercept are 0, for a bound by duality.

Symbols: n samples, K classes; s_i weight, y_i class of sample i; p_i(k) the probability of class k; c_k = sum of s_i
with y_i = k.
"""

from __future__ import annotations

from itertools import islice

import numpy as np
import numpy.typing as npt

from ..vectors import Vector, conjugate_gradients

__all__ = ["best_shift", "flows", "is_affordable", "shifted", "stationary"]

Classes = npt.NDArray[np.uint32]

# Newton steps at most, and products with the Hessian in all of them. A product takes about a tenth of an evaluation.
STEPS, PRODUCTS = 20, 50
# Derivatives up to this share of all samples count as 0; the residual of a Newton step, as a share of the slope.
SMALL, INEXACT = 1e-12, 1e-3
# A step that promises fewer nats a sample is the last: rounding errors hide what it gains.
ROUNDING = 1e-15
# The elimination of `stationary`, O(K^3), takes less than a few evaluations, O(n K), up to this K^2 / n. Up to this K
# it takes some milliseconds.
MOST_FOR_SAMPLES, FEW_CLASSES = 100, 256


def is_affordable(n: int, size: int) -> bool:
    """Whether factors for n samples of K classes cost no more than a few evaluations of the objective."""
    return size <= FEW_CLASSES or size**2 <= MOST_FOR_SAMPLES * n


def best_shift(shares: Vector, targets: Classes, weights: Vector) -> Vector:
    """Return the b that minimises the NLL of probabilities proportional to p_i(k) exp(b_k), by Newton's method.

    Cost: O(n K) a product with the Hessian, of which there are `PRODUCTS` at most.

    Args:
        shares: p_i(k), shape (n, K).
        targets: y_i, shape (n,).
        weights: s_i, shape (n,).

    Returns:
        Shape (K,); zeros where a class has no samples.
    """
    size = shares.shape[1]
    counts = np.bincount(targets, weights, size).astype(np.float64)
    b = np.zeros(size)
    if counts.min() == 0.0:
        return b
    with np.errstate(divide="ignore"):  # a probability of 0 stays 0
        scores = np.log(shares)
    value, p = _shifted(scores, weights, counts, b)
    products = PRODUCTS
    for _ in range(STEPS):
        expected = weights @ p
        slope = expected - counts
        if not products or np.abs(slope).max() <= SMALL * counts.sum():
            break
        step, taken = _newton_step(p, weights, expected, slope, products)
        products -= taken
        if slope @ step <= ROUNDING * counts.sum():
            return b - step
        for alpha in 0.5 ** np.arange(STEPS):
            trial, p_trial = _shifted(scores, weights, counts, b - alpha * step)
            if trial <= value:
                break
        else:
            break
        b, value, p = b - alpha * step, trial, p_trial
    return b


def _newton_step(p: Vector, weights: Vector, expected: Vector, slope: Vector, most: int) -> tuple[Vector, int]:
    """Return about H^-1 slope, H = diag(expected) - sum_i s_i p_i p_i', and the number of steps, a product with H each.

    By conjugate gradients with the diagonal as preconditioner. H is singular: all entries of b may rise together. The
    entries of the slope add up to 0, so that the system has a solution.
    """
    diagonal = np.maximum(expected - weights @ p**2, SMALL * expected.sum())
    scaled = slope / diagonal
    x, taken, enough = scaled, 0, INEXACT**2 * float(slope @ scaled)
    steps = conjugate_gradients(lambda d: expected * d - p.T @ (weights * (p @ d)), slope, diagonal)
    for solution, _, squared in islice(steps, most):
        x, taken = solution, taken + 1
        if squared <= enough:
            break
    return x, taken


def _shifted(scores: Vector, weights: Vector, counts: Vector, b: Vector) -> tuple[float, Vector]:
    """Return the NLL, less a constant, and the probabilities of shifted scores."""
    shifted = scores + b
    largest = shifted.max(axis=1)
    p = np.exp(shifted - largest[:, None])
    total = p.sum(axis=1)
    return float(weights @ (largest + np.log(total)) - counts @ b), p / total[:, None]


def shifted(shares: Vector, b: Vector) -> Vector:
    """Return the probabilities proportional to p_i(k) exp(b_k), shape (n, K)."""
    with np.errstate(divide="ignore"):  # a probability of 0 stays 0
        scores = np.log(shares) + b
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def flows(shares: Vector, targets: Classes, weights: Vector) -> Vector:
    """Return G_ck = sum over samples of class c of s_i p_i(k), shape (K, K)."""
    size = shares.shape[1]
    flows = np.empty((size, size))
    for k in range(size):
        flows[:, k] = np.bincount(targets, weights * shares[:, k], size)
    return flows


def stationary(rates: Vector) -> Vector | None:
    """Return tau with sum_c tau_c rates[c, k] = tau_k sum_j rates[k, j] for all k, the largest tau_c being 1.

    Source: Grassmann, Taksar & Heyman (Operations Research 33, 1985): elimination without subtractions.
    Cost: O(K^3).

    Args:
        rates: >= 0, shape (K, K); the diagonal does not matter.

    Returns:
        Shape (K,); None if the rates do not lead from every class to every other.
    """
    left = rates.copy()
    for last in range(len(left) - 1, 0, -1):
        out = left[last, :last].sum()
        if not out > 0.0:
            return None
        left[:last, last] /= out
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    tau = np.ones(len(left))
    for state in range(1, tau.size):
        tau[state] = tau[:state] @ left[:state, state]
        tau[: state + 1] /= tau[: state + 1].max()
    return tau if np.isfinite(tau).all() and tau.min() > 0.0 else None
