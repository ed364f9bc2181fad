"""Predictions need little memory besides the data."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from loglinear import DataError, MaxEnt
from loglinear.data.matrix import BLOCK


@pytest.mark.parametrize("kind", [np.float32, np.int8, ">f8"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_array_of_other_numbers_is_not_converted_as_a_whole(kind: str, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    small = rng.integers(-9, 9, size=(60, 40)).astype(np.float64)
    model = MaxEnt(l2=1.0).fit(small, np.arange(60) % n_classes)
    X = rng.integers(-9, 9, size=(3 * BLOCK // (8 * 40), 40), dtype=np.int8).astype(kind)
    tracemalloc.start()
    scores = model.decision_function(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * BLOCK
    np.testing.assert_allclose(scores, model.decision_function(X.astype(np.float64)), rtol=1e-12, atol=1e-12)


def test_a_bad_value_in_a_later_block_is_named_by_its_row() -> None:
    model = MaxEnt(l2=1.0).fit(np.eye(40), np.arange(40) % 2)
    X = np.zeros((3 * BLOCK // (8 * 40), 40), dtype=np.float32)
    X[-1, 7] = np.nan
    with pytest.raises(DataError, match=f"column 7 of X is NaN in row {len(X) - 1}"):
        model.predict(X)
