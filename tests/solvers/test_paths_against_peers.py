"""Coefficients of L1 paths against scikit-learn, glmnet and adelie, on ten tables."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from examples import by_day
from loglinear import ClassifierObjective, ElasticNet, Problem, path
from loglinear.path import falling, largest_l1
from loglinear.solvers import ProxNewton

TIGHT = ProxNewton(tolerance=1e-14, gradient_tolerance=0.0, precision=0.01)


@dataclass
class Table:
    X: object
    y: np.ndarray
    weights: np.ndarray | None = None
    intercept: bool = True


def shipped(name, classes, most=1000):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    rows = np.flatnonzero(np.isin(y, classes))[:most]
    X = X[rows]
    return scale(X[:, X.std(axis=0) > 0.0]), np.searchsorted(classes, y[rows])


def made(n, columns, *, mixing=0.0, seed=0):
    """Return a table, whose columns share a part, and classes that the first five columns tell about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)) + mixing * rng.normal(size=(n, 1))
    score = X[:, :5] @ rng.normal(size=5)
    return X, (score / score.std() + rng.logistic(size=n) > 0.2).astype(int)


def sparse_binary():
    rng = np.random.default_rng(4)
    X = (rng.random((250, 60)) < 0.1).astype(float)
    return scipy.sparse.csr_array(X), (X[:, :6] @ rng.normal(size=6) + 0.5 * rng.logistic(size=250) > 0.0).astype(int)


def unscaled():
    X, y = made(200, 8, seed=3)
    return X * np.geomspace(0.1, 10.0, 8), y


TABLES = {
    "iris": lambda: Table(*shipped("iris", [1, 2])),
    "breast cancer": lambda: Table(*shipped("breast_cancer", [0, 1])),
    "wine": lambda: Table(*shipped("wine", [0, 1])),
    "digits": lambda: Table(*shipped("digits", [0, 1], 120)),
    "correlated": lambda: Table(*made(150, 12, mixing=2.0)),
    "wide": lambda: Table(*made(60, 90, seed=1)),
    "sparse": lambda: Table(*sparse_binary()),
    "weighted": lambda: Table(*made(150, 10, seed=2), np.random.default_rng(0).uniform(0.2, 3.0, 150)),
    "no intercept": lambda: Table(*made(150, 10, seed=5), intercept=False),
    "unscaled": lambda: Table(*unscaled(), intercept=False),
}
every_table = pytest.mark.parametrize("name", TABLES)


def solved(table, number=6):
    """Return strengths from 0.7 of the largest one to a twentieth of it, and coefficients and intercepts there."""
    n_classes = int(table.y.max()) + 1
    objective = ClassifierObjective(
        table.X, table.y, table.weights, n_classes=n_classes, intercept="scaled" if table.intercept else False
    )
    problem = Problem(objective, ElasticNet(unpenalised=objective.n_unpenalised), objective.n_outputs)
    strengths = falling(0.7 * largest_l1(problem), number, 1.0 / 14.0)
    points = path(problem, strengths, solver=TIGHT).points
    return strengths, [objective.coefficients(point.result.w) for point in points]


def assert_near(ours, theirs, share):
    """Assert that coefficients differ by at most a share of the largest one."""
    (coef, intercept), (other_coef, other_intercept) = ours, theirs
    size = max(np.abs(coef).max(), np.abs(intercept).max(initial=0.0))
    np.testing.assert_allclose(other_coef, coef, rtol=0.0, atol=share * size)
    intercept, other_intercept = (
        np.ravel(values) - np.mean(values) * (np.size(values) > 1) for values in (intercept, other_intercept)
    )
    np.testing.assert_allclose(other_intercept, intercept, rtol=0.0, atol=share * size)


@pytest.mark.parametrize("name", by_day(TABLES, lambda name: name != "breast cancer"))  # for which saga takes long
def test_coefficients_are_those_of_scikit_learn(name):
    table = TABLES[name]()
    strengths, ours = solved(table)
    for at in (1, len(strengths) - 1):
        # Its liblinear would penalise an intercept.
        solver = {"solver": "saga", "tol": 1e-9} if table.intercept else {"solver": "liblinear", "tol": 1e-12}
        model = LogisticRegression(
            C=1.0 / strengths[at],
            l1_ratio=1.0,
            max_iter=100_000,
            random_state=0,
            fit_intercept=table.intercept,
            **solver,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            model.fit(table.X, table.y, table.weights)
        intercept = model.intercept_ if table.intercept else np.zeros(1)
        assert_near(ours[at], (model.coef_, intercept), 1e-5)


def with_lambdas(name):
    """Return a dense table with weights, the strengths of glmnet and adelie, and our coefficients."""
    table = TABLES[name]()
    strengths, ours = solved(table)
    X = table.X.toarray() if scipy.sparse.issparse(table.X) else table.X
    weights = np.ones(table.y.size) if table.weights is None else table.weights
    return Table(X, table.y, weights, table.intercept), strengths / weights.sum(), ours


@pytest.mark.slow
@every_table
def test_coefficients_are_those_of_glmnet(name):
    glmnet = pytest.importorskip("glmnet")
    table, lambdas, ours = with_lambdas(name)
    model = glmnet.LogitNet(
        alpha=1.0, lambda_path=lambdas, standardize=False, fit_intercept=table.intercept, n_splits=0, tol=1e-14
    )
    model.fit(table.X, table.y, sample_weight=table.weights)
    for at, own in enumerate(ours):
        coef = np.reshape(model.coef_path_[..., at], (-1, table.X.shape[1]))
        assert_near(own, (coef, model.intercept_path_[..., at]), 2e-5)


@pytest.mark.slow
@every_table
def test_coefficients_are_those_of_adelie(name):
    adelie = pytest.importorskip("adelie")
    table, lambdas, ours = with_lambdas(name)
    glm = adelie.glm.binomial(table.y.astype(float), weights=table.weights / table.weights.sum())
    state = adelie.grpnet(
        np.asfortranarray(table.X),
        glm,
        lmda_path=lambdas,
        alpha=1.0,
        penalty=np.ones(table.X.shape[1]),
        intercept=table.intercept,
        tol=1e-14,
        irls_tol=1e-14,
        early_exit=False,
        progress_bar=False,
    )
    coefs = state.betas.toarray()
    for own, coef, intercept in zip(ours, coefs, state.intercepts, strict=True):
        assert_near(own, (coef[None], np.ravel(intercept)), 2e-5)
