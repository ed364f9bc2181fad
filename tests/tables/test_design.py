"""Sums over margins are those of the design matrix, whose columns are products of contrasts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from loglinear.tables import design as design_module
from loglinear.tables.design import Design, contrasts
from loglinear.tables.formula import terms_of

SHAPE = (2, 3, 4)


def matrix(design):
    """The design matrix, column by column and cell by cell."""
    columns = []
    for term in design.terms:
        axes = sorted(term)
        for chosen in product(*(range(design.shape[axis] - 1) for axis in axes)):
            value = [
                np.prod([design.contrasts[axis][cell[axis], k] for axis, k in zip(axes, chosen, strict=True)])
                for cell in np.ndindex(*design.shape)
            ]
            columns.append(value)
    return np.array(columns, dtype=float).T


@pytest.mark.parametrize("small", [0, 2**20])
@pytest.mark.parametrize("coding", ["effects", "treatment", "balanced"])
@pytest.mark.parametrize("formula", ["1", "A", "A*B + C", "(A + B + C)^2", "A*B*C"])
def test_sums_are_products_with_the_design_matrix(coding, formula, small, monkeypatch):
    monkeypatch.setattr(design_module, "_SMALL", small)
    rng = np.random.default_rng(0)
    design = Design(SHAPE, tuple(terms_of(formula, list("ABC"))), coding)
    X, table, w = matrix(design), rng.random(SHAPE), rng.normal(size=design.n_parameters)
    np.testing.assert_allclose(design.scores(w).ravel(), X @ w, atol=1e-12)
    np.testing.assert_allclose(design.sums(table), X.T @ table.ravel(), atol=1e-12)
    np.testing.assert_allclose(design.gram(table), X.T @ (X * table.ravel()[:, None]), atol=1e-12)
    np.testing.assert_array_equal(design.rows(np.arange(24)[::5]), X[::5])


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_contrasts_sum_to_zero_or_leave_out_the_first_level(levels):
    for coding in ("effects", "balanced"):
        np.testing.assert_allclose(contrasts(levels, coding).sum(axis=0), 0.0, atol=1e-12)
    balanced = contrasts(levels, "balanced")
    np.testing.assert_allclose(balanced.T @ balanced, levels * np.eye(levels - 1), atol=1e-12)
    np.testing.assert_array_equal(contrasts(levels, "treatment")[0], 0.0)
    assert contrasts(2, "effects").tolist() == balanced[:, :1].tolist() if levels == 2 else True
