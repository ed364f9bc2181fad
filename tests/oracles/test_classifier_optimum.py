"""The interior-point method of `classifier_optimum` finds optima that are known otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.classifier_optimum import least_objective, objective_of


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_the_optimality_conditions_hold(n_classes, intercept, far):
    rng = np.random.default_rng(n_classes)
    X, y, weights = rng.normal(size=(60, 4)), rng.integers(0, n_classes, 60), rng.random(60)
    least, coef, b = least_objective(X + far, y, weights, 0.5, 0.1, n_classes=n_classes, intercept=intercept)
    assert least == pytest.approx(objective_of(X + far, y, weights, coef, b, 0.5, 0.1))
    # No step along a weight, with what the intercept or another weight takes back, brings anything.
    for row in range(len(coef)):
        for j in range(4):
            for size in (1e-3, -1e-3):
                moved, back = coef.copy(), np.array(b)
                moved[row, j] += size
                if intercept:
                    back[row] -= size * far
                elif far:
                    moved[row, (j + 1) % 4] -= size
                assert objective_of(X + far, y, weights, moved, back, 0.5, 0.1) >= least * (1.0 - 1e-8)


def test_without_a_penalty_the_optimum_is_that_of_counts():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1, 0])
    least = least_objective(X, y, np.ones(5), n_classes=2, intercept=True)[0]
    assert least == pytest.approx(-2 * np.log(2 / 3) - np.log(1 / 3) - 2 * np.log(1 / 2))
