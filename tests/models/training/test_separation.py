"""Warnings of separable data without a penalty, against a linear program that decides whether best weights exist."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_iris

from loglinear import DataWarning, MaxEnt


def has_best_weights(X, y):
    """Whether no direction raises some margins and lowers none (Albert & Anderson 1984), by a linear program."""
    columns = np.column_stack([X, np.ones(len(X))])
    n_classes = y.max() + 1
    rows = []
    for x, target in zip(columns, y, strict=True):
        for other in set(range(n_classes)) - {target}:
            row = np.zeros((n_classes, columns.shape[1]))
            row[target], row[other] = x, -x
            rows.append(row.ravel())
    margins = np.array(rows)
    return linprog(-margins.sum(axis=0), A_ub=-margins, b_ub=np.zeros(len(margins)), bounds=(-1.0, 1.0)).fun > -1e-7


def grows(X, y, **options):
    """Whether training without a penalty warns that weights grow without limit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MaxEnt(l2=0.0, **options).fit(X, y)
    return any("grow without limit" in str(each.message) for each in caught)


def with_a_rare_column(seed, n_classes):
    """Noise, and a column that is rarely set: with luck, only in samples of one class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3))
    y = (X @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(120, n_classes))).argmax(axis=1)
    X[:, 2] = 0.0
    X[rng.choice(120, 4, replace=False), 2] = 1.0
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_warning_comes_if_and_only_if_no_weights_are_best(n_classes):
    samples = [with_a_rare_column(seed, n_classes) for seed in range(30)]
    exist = [has_best_weights(*sample) for sample in samples]
    assert 3 < sum(exist) < 27
    assert [not grows(*sample) for sample in samples] == exist


@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"multi_class": "ovr"}, {"tolerance": 1e-3}], ids=str
)
def test_one_species_of_iris_is_separable_from_two_that_are_not(options):
    X, y = load_iris(return_X_y=True)
    assert grows(X, y, **options)
    assert not grows(X[50:], y[50:], **options)


def test_the_warning_says_what_to_do():
    with pytest.warns(DataWarning, match=r"^weights that separate a part .* grow without limit: .*l2=1 \(--l2 1\)$"):
        MaxEnt(l2=0.0).fit(*load_iris(return_X_y=True))
    MaxEnt(l2=1e-3).fit(*load_iris(return_X_y=True))


def test_samples_without_weight_do_not_count():
    X, y = [[0.0], [1.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1, 0]
    assert not grows(X, y)
    column = np.column_stack([X, [0, 0, 0, 0, 1]])
    assert grows(column, y)
    again = np.vstack([column, [[0.0, 1.0]]])
    assert not grows(again, [*y, 1])
    with pytest.warns(DataWarning, match="grow without limit"):
        MaxEnt(l2=0.0).fit(again, [*y, 1], sample_weight=[1, 1, 1, 1, 1, 0])


def test_well_posed_data_with_certain_probabilities_do_not_warn():
    X, y = load_breast_cancer(return_X_y=True)
    assert not grows(X[:, :10], y)
    assert MaxEnt(l2=0.0).fit(X[:, :10], y).predict_proba(X[:, :10]).min() < 1e-10


def test_steps_that_go_on_for_want_of_precision_do_not_warn():
    rng = np.random.default_rng(0)
    X = 10.0 * rng.normal(size=(300, 4))
    y = (X @ [3.0, 2.0, 0.0, 1.0] + 2.0 * rng.logistic(size=300) > 0.0).astype(int)
    y[:2] = 1 - y[:2]
    assert has_best_weights(X, y)
    assert not grows(X, y, solver="lbfgs", tolerance=0.1)
