"""Samples of a classifier weighed so that the derivatives by its intercept are 0, for a bound by duality.

Symbols: K classes; s_i weight, y_i class of sample i; p_i(k) the probability of class k; c_k = sum of s_i with y_i = k.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..vectors import Vector

__all__ = ["best_shift", "flows", "stationary"]

Classes = npt.NDArray[np.uint32]

# Newton steps at most; none where a step takes more operations than this.
STEPS, OPERATIONS = 20, 1e10
# Derivatives up to this share of all samples count as 0.
SMALL = 1e-12


def best_shift(shares: Vector, targets: Classes, weights: Vector) -> Vector:
    """Return the b that minimises the NLL of probabilities proportional to p_i(k) exp(b_k), by Newton's method.

    Cost: O(n K^2) a step.

    Args:
        shares: p_i(k), shape (n, K).
        targets: y_i, shape (n,).
        weights: s_i, shape (n,).

    Returns:
        Shape (K,); zeros where a class has no samples, or a step would cost too much.
    """
    n, size = shares.shape
    counts = np.bincount(targets, weights, size).astype(np.float64)
    b = np.zeros(size)
    if counts.min() == 0.0 or n * size**2 > OPERATIONS:
        return b
    with np.errstate(divide="ignore"):  # a probability of 0 stays 0
        scores = np.log(shares)
    value, p = _shifted(scores, weights, counts, b)
    for _ in range(STEPS):
        expected = weights @ p
        slope = expected - counts
        if np.abs(slope).max() <= SMALL * counts.sum():
            break
        # All entries of b may rise together: the mean has no curvature, so some is added.
        hessian = np.diag(expected) - p.T @ (weights[:, None] * p) + expected.mean() / size
        step = np.linalg.lstsq(hessian, slope, rcond=None)[0]
        for alpha in 0.5 ** np.arange(STEPS):
            trial, p_trial = _shifted(scores, weights, counts, b - alpha * step)
            if trial <= value:
                break
        else:
            break
        b, value, p = b - alpha * step, trial, p_trial
    return b


def _shifted(scores: Vector, weights: Vector, counts: Vector, b: Vector) -> tuple[float, Vector]:
    """Return the NLL, less a constant, and the probabilities of shifted scores."""
    shifted = scores + b
    largest = shifted.max(axis=1)
    p = np.exp(shifted - largest[:, None])
    total = p.sum(axis=1)
    return float(weights @ (largest + np.log(total)) - counts @ b), p / total[:, None]


def flows(shares: Vector, targets: Classes, weights: Vector) -> Vector:
    """Return G_ck = sum over samples of class c of s_i p_i(k), shape (K, K)."""
    n, size = shares.shape
    members = scipy.sparse.csr_array((weights, (targets, np.arange(n))), shape=(size, n))
    return np.asarray(members @ shares)


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
