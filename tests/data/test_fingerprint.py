"""Checksums by which trainings are compared."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loglinear import ClassifierObjective
from loglinear.data.fingerprint import checksum


def test_arrays_of_other_numbers_types_shapes_or_order_have_another_checksum():
    numbers = np.arange(6, dtype=np.int64)
    different = [
        [numbers],
        [numbers + 1],
        [numbers.astype(np.int32)],
        [numbers.view(np.float64)],
        [numbers.reshape(2, 3)],
        [numbers.reshape(3, 2)],
        [numbers[:3], numbers[3:]],
        [numbers[3:], numbers[:3]],
        [numbers, numbers[:0]],
        [],
    ]
    assert all(checksum(one) != checksum(other) for one, other in itertools.combinations(different, 2))


@pytest.mark.parametrize("intercept", [True, False])
def test_sizes_of_a_classifier_are_those_of_its_matrix(intercept):
    X, y = np.arange(12.0).reshape(4, 3), [0, 1, 2, 0]
    found = ClassifierObjective(X, y, n_classes=3, intercept=intercept).fingerprint()
    assert (found["samples"], found["columns"]) == (4, 3)


def test_the_layout_in_memory_does_not_matter():
    table = np.arange(12.0).reshape(3, 4)
    assert checksum([table.T]) == checksum([table.T.copy()])
    assert checksum([table[:, ::2]]) == checksum([table[:, ::2].copy()])
