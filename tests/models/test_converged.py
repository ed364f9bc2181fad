"""The law of CONVERGED: the objective is within 0.1 % of the optimum, whatever the data and the solver."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse

from loglinear import MaxEnt
from loglinear.result import Status
from oracles.classifier_optimum import least_objective, objective_of

KINDS = (
    "plain", "far", "some far", "near-copies", "near-copies of near-copies", "units", "constants", "heavy tails",
    "few large", "sparse", "one of each",
)  # fmt: skip
FIRST, BY_DAY, BY_NIGHT = 500, 11, 440  # by day each kind once
SOLVERS = ("auto", "owlqn", "lbfgs", "prox_newton", "bfgs")


def columns(rng, kind, n, p):
    """Columns of a kind, and what determines the classes."""
    Z = rng.normal(size=(n, p))
    if kind == "far":
        return Z + 10.0 ** rng.uniform(1.0, 6.0) * rng.uniform(0.3, 1.0, p), Z
    if kind == "some far":
        return (Z + (rng.random(p) < 0.4) * 10.0 ** rng.uniform(0.0, 6.0, p)) * 10.0 ** rng.uniform(-3.0, 3.0, p), Z
    if kind.startswith("near-copies"):
        half = Z[:, : (p + 1) // 2]
        noise = [rng.normal(size=half.shape) for _ in range(kind.count("near"))]
        size = 10.0 ** rng.uniform(-4.0, -1.0)
        return np.hstack([half, *(half + size * one for one in noise)]), np.hstack([half, *noise])
    if kind == "units":
        return Z * 10.0 ** rng.uniform(-8.0, 8.0, p), Z
    if kind == "constants":
        return np.where(rng.random(p) < 0.3, 10.0 ** rng.uniform(-3.0, 6.0), Z), Z
    if kind == "heavy tails":
        Z = rng.standard_t(1.2, size=(n, p))
    elif kind == "few large":
        return np.where(rng.random(Z.shape) < 2.0 / n, 1e3 * Z, Z), Z
    elif kind == "sparse":
        Z = Z * (rng.random(Z.shape) < 0.15)
    elif kind == "one of each":
        Z = np.hstack([np.eye(size)[rng.integers(0, size, n)] for size in rng.integers(2, 8, size=max(1, p // 4))])
    return Z, Z


def data(seed):
    """Samples, classes, weights of the samples, and the settings of a model."""
    rng = np.random.default_rng(seed)
    kind, n_classes = KINDS[seed % len(KINDS)], int(rng.choice([2, 2, 3, 4]))
    n, p = int(rng.integers(30, 300)), int(rng.integers(1, 16))
    X, Z = columns(rng, kind, n, p)
    scores = Z / np.maximum(Z.std(axis=0), 1e-12) @ rng.normal(size=(Z.shape[1], n_classes)) / np.sqrt(p)
    y = (rng.choice([0.0, 0.5, 1.5, 5.0]) * scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    l1, l2 = 10.0 ** rng.uniform([-4.0, -6.0], 1.5)
    penalty = ({"l1": l1}, {"l2": l2}, {"l1": l1, "l2": l2}, {"l1": 0.0, "l2": 0.0})[rng.integers(4)]
    weights = 10.0 ** rng.uniform(-3.0, 3.0, n) if rng.random() < 0.25 else np.ones(n)
    form = scipy.sparse.csr_array if kind in ("sparse", "one of each") and rng.random() < 0.5 else np.asarray
    return X, y, weights, {**penalty, "fit_intercept": bool(rng.random() < 0.6)}, form


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=[pytest.mark.slow] if seed >= FIRST + BY_DAY else [])
        for seed in range(FIRST, FIRST + BY_NIGHT)
    ],
)
def test_an_objective_that_has_converged_is_within_a_thousandth_of_the_optimum(seed):
    X, y, weights, settings, form = data(seed)
    l1, l2 = settings.get("l1", 0.0), settings.get("l2", 0.0)
    n_classes, ends = y.max() + 1, {}
    for solver in SOLVERS:
        if l1 and solver in ("lbfgs", "bfgs"):
            continue
        model = MaxEnt(**settings, solver=solver, n_jobs=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(form(X), y, weights)
        ends[solver] = model.result_.status, objective_of(X, y, weights, model.coef_, model.intercept_, l1, l2)
    found = least_objective(X, y, weights, l1, l2, n_classes=n_classes, intercept=settings["fit_intercept"])[0]
    nothing = objective_of(X, y, weights, np.zeros((1 if n_classes == 2 else n_classes, X.shape[1])), 0.0)
    best = min(found, *(objective for _, objective in ends.values()))
    # On separable data without a penalty the optimum is 0.
    far = {solver: (objective - best) / max(best, 1e-3 * nothing) for solver, (_, objective) in ends.items()}
    assert not {name: share for name, share in far.items() if ends[name][0] is Status.CONVERGED and share > 1e-3}


@pytest.mark.parametrize(("seed", "n", "p", "l1"), [(6, 10, 10, 1e-4), (276, 15, 15, 1e-5), (9, 10, 15, 1e-4)])
def test_weak_penalties_of_almost_separable_data_end_at_the_optimum(seed, n, p, l1):
    # Weights of some hundred make a violation look small that is not.
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.2)
    y = np.r_[0, 1, rng.integers(2, size=n - 2)]
    least, *_ = least_objective(X, y, np.ones(n), l1, n_classes=2, intercept=True)
    for solver in ("auto", "owlqn"):
        result = MaxEnt(l1=l1, solver=solver, tolerance=None if solver == "auto" else 1e-10).fit(X, y).result_
        assert result.status is Status.CONVERGED
        assert result.objective <= least * (1.0 + 1e-5)


@pytest.mark.filterwarnings("ignore:the values of column", "ignore:line search failed")
@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 10))])
def test_one_huge_value_in_a_column_does_not_hide_what_the_others_say(block):
    # Steps first take the sample with the value far to its right side, and bring less and less on the way.
    distances = []
    for seed in range(15 * block, 15 * block + 15):
        rng = np.random.default_rng(seed)
        n, p, n_classes = int(rng.integers(10, 120)), int(rng.integers(1, 6)), int(rng.integers(2, 4))
        X = rng.normal(size=(n, p))
        y = np.r_[:n_classes, rng.integers(n_classes, size=n - n_classes)]
        X[rng.integers(n), rng.integers(p)] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(4.0, 10.0)
        l1, l2 = ((0.0, 1.0), (1.0, 0.0), (0.1, 0.1))[seed % 3]
        result = MaxEnt(l1=l1, l2=l2).fit(X, y).result_
        closer = MaxEnt(l1=l1, l2=l2, tolerance=0.0).fit(X, y).result_
        # Rounding errors of scores of a million and more may end a search, which says so.
        if result.status is not Status.LINE_SEARCH_FAILED:
            assert result.status is Status.CONVERGED
            distances.append(result.objective / closer.objective - 1.0)
    assert max(distances) <= 1e-4
    assert len(distances) >= 12


@pytest.mark.parametrize("block", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 12))])
def test_few_rows_of_columns_far_from_zero_end_at_the_optimum_without_an_intercept(block):
    # Their common part is a million times their differences, and may be lost in products of columns.
    ends = []
    for seed in range(60 * block, 60 * block + 60):
        rng = np.random.default_rng(seed)
        n, p, n_classes = int(rng.choice([3, 5, 10])), int(rng.choice([3, 5, 10, 20])), (2, 2, 3)[seed % 3]
        X = rng.normal(size=(n, p)) + rng.choice([0.0, 1e3, 1e6], size=p) * rng.normal(size=p)
        y, strength = np.arange(n) % n_classes, 10.0 ** -rng.integers(0, 5)
        l1, l2 = ((0.0, strength), (strength, 0.0), (strength, 0.01))[seed // 3 % 3]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MaxEnt(l1=l1, l2=l2, fit_intercept=False, n_jobs=1).fit(X, y)
        reached = objective_of(X, y, np.ones(n), model.coef_, model.intercept_, l1, l2)
        least, *_ = least_objective(X, y, np.ones(n), l1, l2, n_classes=n_classes, intercept=False)
        share = (reached - least) / max(least, 1e-3 * n * np.log(n_classes))
        ends.append((model.result_.status is Status.CONVERGED, share))
    assert max(share for has_converged, share in ends if has_converged) <= 1e-3
    assert np.mean([has_converged for has_converged, _ in ends]) >= 0.75
