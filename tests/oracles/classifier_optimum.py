"""The optimum of a classifier's penalised objective, by an interior-point method of its own, in the user's problem.

F(coef, b) = sum over samples of -weight log p(y | x) + l1 |coef|_1 + (l2 / 2) |coef|^2.

With L1, l1 |w| is the minimum over s > |w| of l1 s - mu (log(s - w) + log(s + w)) for mu -> 0 (Boyd & Vandenberghe,
Convex Optimization, section 11.7): with s = (mu + sqrt(mu^2 + l1^2 w^2)) / l1 its derivative is l1 w / s. Newton steps
lower the sum for each mu; the optimum is at most 2 mu lower for each weight.

The steps are taken over other coordinates: with an intercept over the columns less their means; without one, the column
that is farthest from 0 is subtracted from the others in proportion to the means, so that a sum over all of them has a
coordinate of its own. The columns are made in long double.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["least_objective", "objective_of"]

Long = np.longdouble


def objective_of(X, y, weights, coef, b, l1=0.0, l2=0.0):
    """F in long double; coef has a row for each score, one with two classes."""
    coef = np.asarray(coef, dtype=Long)
    scores = np.asarray(X, dtype=Long) @ coef.T + np.asarray(b, dtype=Long)
    nll = (weights * nlls(scores, y)).sum()
    return float(nll + l1 * np.abs(coef).sum() + l2 / 2 * (coef**2).sum())


def nlls(scores, y):
    """-log p(y | x) of each sample."""
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    top = scores.max(axis=1, keepdims=True)
    return np.log(np.exp(scores - top).sum(axis=1)) + top[:, 0] - scores[np.arange(len(y)), y]


def probabilities(scores):
    """Return p of each score; with a single one, of the second class."""
    if scores.shape[1] == 1:
        return np.exp(-np.logaddexp(0.0, -scores))
    P = np.exp(scores - scores.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def coordinates(X, weights, *, intercept):
    """Return A = [X 1] T, of shape (n, q), and T, which turns weights over A into weights over [X 1]."""
    n, p = X.shape
    X, share = X.astype(Long), (weights / weights.sum()).astype(Long)
    means = share @ X
    spreads = np.sqrt(share @ (X - means) ** 2)
    T = np.eye(p + 1, dtype=Long)
    if intercept:
        T[p, :p] = -means
        A = np.hstack([X - means, np.ones((n, 1), dtype=Long)])
        A[:, :p][:, (X == X[0]).all(axis=0)] = 0.0
    else:
        T, A = T[:p, :p], X.copy()
        far = np.abs(means) > 10.0 * spreads
        if far.any():
            pivot = int(np.argmax(np.where(far, np.abs(means) / np.maximum(spreads, 1e-12 * np.abs(means)), 0.0)))
            others = far & (np.arange(p) != pivot)
            T[pivot, others] = -means[others] / means[pivot]
            A = A @ T
    size = np.sqrt(share @ A**2)
    size[size == 0.0] = 1.0
    return (A / size).astype(float), T / size


@dataclass
class Barrier:
    """F with the barrier of strength mu, over the coordinates u, shape (q, number of scores)."""

    A: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    hits: np.ndarray
    T: np.ndarray
    l1: float
    l2: float
    mu: float = 0.0

    def value(self, u):
        """Return the value, and what its derivatives need: scores, w and s."""
        w, scores = (self.T @ u.astype(Long)).astype(float), self.A @ u
        s = (self.mu + np.hypot(self.mu, self.l1 * w)) / self.l1 if self.l1 else np.ones_like(w)
        # s^2 - w^2 = 2 mu s / l1
        barrier = (self.l1 * s - self.mu * np.log(2 * self.mu * s / self.l1)).sum() if self.l1 else 0.0
        nll = float((self.weights * nlls(scores, self.y)).sum())
        return nll + barrier + self.l2 / 2 * (w**2).sum(), scores, w, s

    def step(self, scores, w, s):
        """Return the Newton step, shape (q, number of scores), and the decrease that its slope promises."""
        P, T, (q, K) = probabilities(scores), self.T.astype(float), (self.A.shape[1], scores.shape[1])
        slope, bend = self.l2 * w, np.full_like(w, self.l2)
        if self.l1:
            slope = slope + self.l1 * w / s
            share = self.l1 * w**2 / (s * np.hypot(self.mu, self.l1 * w))
            bend = bend + self.l1 * (1.0 - share) / s
        g = (self.A.T @ (self.weights[:, None] * (P - self.hits)) + T.T @ slope).ravel()
        H = np.zeros((q, K, q, K))
        for a in range(K):
            for b in range(a, K):
                D = self.weights * P[:, a] * ((a == b) - P[:, b])
                H[:, a, :, b] = H[:, b, :, a] = (self.A * D[:, None]).T @ self.A
            H[:, a, :, a] += (T * bend[:, a : a + 1]).T @ T
        H = H.reshape(q * K, q * K)
        units = np.sqrt(np.maximum(np.diag(H), 1e-300))
        H = H / units[:, None] / units
        H[np.diag_indices_from(H)] += 1e-14
        try:
            step = np.linalg.solve(H, g / units) / units
        except np.linalg.LinAlgError:
            step = np.linalg.lstsq(H, g / units, rcond=1e-14)[0] / units
        return step.reshape(q, K), float(g @ step)

    def minimum(self, u, steps):
        """Return about the minimum, by Newton steps from u that are halved until they descend."""
        F, *rest = self.value(u)
        for _ in range(steps):
            step, promised = self.step(*rest)
            t, before = 1.0, F
            while t > 1e-8:
                F, *rest = self.value(u - t * step)
                if before - F >= 1e-4 * t * promised:
                    break
                t /= 2
            else:
                return u
            u = u - t * step
            if before - F <= 1e-12 * abs(before):
                break
        return u


def least_objective(X, y, weights, l1=0.0, l2=0.0, *, n_classes, intercept):
    """Return the least F found, and its weights and intercept."""
    X, weights = np.asarray(X, dtype=float), np.asarray(weights, dtype=float)
    p, used, K = X.shape[1], weights > 0.0, 1 if n_classes == 2 else n_classes
    A, T = coordinates(X[used], weights[used], intercept=intercept)
    labels = y[used]
    hits = (labels[:, None] == (np.arange(K) if K > 1 else [1])).astype(float)
    barrier = Barrier(A, labels, weights[used], hits, T[:p], l1, l2)
    u = np.zeros((T.shape[1], K))
    best = (np.inf,)
    size = objective_of(X, y, weights, np.zeros((K, p)), 0.0) / (p * K)
    for barrier.mu in size * np.logspace(-2, -9, 8) if l1 else [0.0]:
        u = barrier.minimum(u, 60 if l1 else 200)
        whole = T @ u.astype(Long)
        coef, b = whole[:p].T, whole[p] if intercept else np.zeros(K)
        best = min(best, (objective_of(X, y, weights, coef, b, l1, l2), coef, b), key=lambda found: found[0])
    return best
