"""Bins of numbers: about equal counts, readable edges, and what counts as a number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loglinear.networks.binning import bin_edges, bin_labels, bins_of, numbers


@pytest.mark.parametrize("bins", [2, 4, 7])
@pytest.mark.parametrize("draw", ["normal", "exponential", "lognormal"])
def test_bins_hold_about_equally_many_values(bins, draw):
    values = getattr(np.random.default_rng(0), draw)(size=1000)
    counts = np.bincount(bins_of(values, bin_edges(values, bins)))
    assert counts.size == bins
    assert abs(counts - 1000 / bins).max() <= 0.02 * 1000


def test_edges_have_few_digits():
    values = np.random.default_rng(0).normal(10.0, 3.0, size=1000)
    assert all(len(f"{edge:g}") <= 4 for edge in bin_edges(values, 4).tolist())


def test_edges_have_as_many_digits_as_the_values_ask_for():
    values = np.random.default_rng(0).normal(100.3, 1.0, size=1000)
    assert abs(np.bincount(bins_of(values, bin_edges(values, 2))) - 500).max() <= 10


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=40), st.integers(2, 9))
@example([0.0] * 33 + [1.0001] + [1.0002] * 66, 3)
def test_every_bin_has_a_value_and_no_bin_is_everything(values, bins):
    values = np.array(values)
    if np.unique(values).size < 2:
        return
    edges = bin_edges(values, bins)
    counts = np.bincount(bins_of(values, edges), minlength=edges.size + 1)
    assert 2 <= counts.size <= bins
    assert counts.min() > 0
    assert (np.diff(edges) > 0).all()


def test_a_frequent_least_value_has_a_bin_of_its_own():
    values = np.array([0.0] * 95 + [0.5, 1.0, 2.0, 3.0, 4.0])
    assert bins_of(values, bin_edges(values, 4)).tolist() == [0] * 95 + [1] * 5


def test_labels_say_what_is_in_a_bin():
    edges = np.array([1.2, 3.4, 10.0])
    assert bin_labels(edges).tolist() == ["< 1.2", "[1.2, 3.4)", "[3.4, 10)", ">= 10"]
    assert bins_of(np.array([-9.0, 1.2, 3.3, 3.4, 99.0]), edges).tolist() == [0, 1, 1, 2, 3]


def test_numbers_are_told_from_codes():
    assert numbers([1, 2.5, "3e2", " -4.0", "1,5", np.float32(0.5)]).tolist() == [1.0, 2.5, 300.0, -4.0, 1.5, 0.5]
    for other in ("x", "007", " -01", "+01", True, np.True_, None, "1,5,5", 10**400, "NAN", "-nan"):
        assert numbers([1.0, other]) is None
