"""The law of small data: a default fit ends within 1e-6 of its optimum, and says so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from scipy.special import logsumexp

from loglinear import MaxEnt
from loglinear.result import Status

KINDS = ("even", "scaled", "alike", "shares", "repeated", "one of each")
BY_DAY = 12


def data(seed):
    """A few samples and columns, classes and a penalty."""
    rng = np.random.default_rng(seed)
    kind, n_classes = KINDS[seed % len(KINDS)], int(rng.integers(2, 5))
    n, d = int(rng.integers(30, 200)), int(rng.integers(2, 20))
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, n_classes)) * rng.choice([0.3, 1.0, 10.0])
    if kind == "scaled":
        X *= 10.0 ** rng.uniform(-8.0, 8.0, size=d)
    elif kind == "alike":
        X = X[:, :1] + 10.0 ** rng.uniform(-4.0, 0.0) * X
    elif kind == "shares":
        X = rng.poisson(0.3, size=(n, d)) * rng.exponential(size=d)
        X /= np.maximum(np.sqrt((X**2).sum(axis=1, keepdims=True)), 1e-9)
    elif kind == "repeated":
        X = np.hstack([X, X[:, : d // 2]])
    elif kind == "one of each":
        X = np.hstack([np.eye(size)[rng.integers(0, size, n)] for size in rng.integers(2, 6, size=3)])
    y = (scores + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    l1, l2 = np.exp(rng.uniform(np.log(0.01), np.log(3.0), size=2))
    penalty = ({"l1": l1}, {"l1": l1, "l2": l2}, {"l2": l2})[seed // len(KINDS) % 3]
    return X, y, {**penalty, "fit_intercept": bool(rng.integers(3))}, bool(rng.integers(2))


def least_objective(X, y, l1, l2, w0, b0, has_intercept):
    """The objective that L-BFGS-B reaches from some weights: positive and negative parts, in units of the columns."""
    units = np.sqrt((X**2).mean(axis=0))
    units[units == 0.0] = 1.0
    Z, n_classes = X / units, y.max() + 1
    outputs = len(w0)
    shape, own = (X.shape[1], outputs), np.arange(len(y))
    size = X.shape[1] * outputs

    def function(v):
        u, b = (v[:size] - v[size : 2 * size]).reshape(shape), v[2 * size :] if has_intercept else np.zeros(outputs)
        scores = Z @ u + b
        whole = scores if outputs > 1 else np.hstack([np.zeros_like(scores), scores])
        norms = logsumexp(whole, axis=1)
        residuals = np.exp(whole - norms[:, None]) - np.eye(n_classes)[y]
        residuals = residuals[:, -outputs:]
        smooth = Z.T @ residuals + l2 / units[:, None] ** 2 * u
        slope = np.broadcast_to(l1 / units[:, None], shape)
        sizes = (v[:size] + v[size : 2 * size]).reshape(shape) / units[:, None]
        value = (norms - whole[own, y]).sum() + l1 * sizes.sum() + l2 / 2.0 * ((u / units[:, None]) ** 2).sum()
        parts = [(smooth + slope).ravel(), (slope - smooth).ravel()]
        return value, np.concatenate([*parts, residuals.sum(axis=0)] if has_intercept else parts)

    u = (w0.T * units[:, None]).ravel()
    start = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0), b0 if has_intercept else []])
    bounds = [(0.0, None)] * (2 * size) + [(None, None)] * (start.size - 2 * size)
    options = {"maxiter": 2000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}
    return scipy.optimize.minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun


@pytest.mark.parametrize("seed", [pytest.param(k, marks=() if k < BY_DAY else pytest.mark.slow) for k in range(300)])
def test_a_fit_ends_within_a_millionth_of_the_optimum_and_has_converged(seed):
    X, y, options, is_sparse = data(seed)
    samples = scipy.sparse.csr_array(X) if is_sparse else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [MaxEnt(**options, tolerance=tolerance).fit(samples, y) for tolerance in (None, 0.0)]
    near = fits[1]
    penalty = options.get("l1", 0.0), options.get("l2", 0.0)
    expected = least_objective(X, y, *penalty, near.coef_, near.intercept_, options["fit_intercept"])
    for model, above in zip(fits, (1e-6, 1e-8), strict=True):
        assert model.result_.status is Status.CONVERGED
        assert model.result_.objective <= expected * (1.0 + above)


@pytest.mark.parametrize(("shape", "seed"), [((600, 20), 129), ((600, 20), 145), ((60, 8), 14), ((20, 10), 14)])
def test_columns_with_a_few_large_values_end_at_the_optimum(shape, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    for column in range(0, shape[1], 2):
        X[:, column] = 0.0
        X[rng.integers(0, shape[0], 3), column] = 10.0 ** rng.uniform(0, 6, 3)
    y = rng.integers(0, 2, shape[0])
    best = MaxEnt(l2=1e-3, tolerance=1e-13).fit(X, y).result_.objective
    assert MaxEnt(l2=1e-3).fit(X, y).result_.objective <= best * (1.0 + 1e-6)
