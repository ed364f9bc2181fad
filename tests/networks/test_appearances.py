"""Edge appearances: against the enumeration of spanning forests, and against forests that are drawn."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear.networks import appearances as module
from loglinear.networks.appearances import appearances, forests, shares


def is_forest(n, edges):
    root = list(range(n))
    for i, j in edges:
        while root[i] != i:
            i = root[i]
        while root[j] != j:
            j = root[j]
        if i == j:
            return False
        root[i] = j
    return True


def enumerated(n, edges, weights):
    """Shares of the edges in spanning forests, the largest sets of edges without a cycle, by their weights."""
    subsets = [set(kept) for size in range(len(edges) + 1) for kept in combinations(range(len(edges)), size)]
    forests = [kept for kept in subsets if is_forest(n, edges[sorted(kept)].tolist())]
    most = max(map(len, forests))
    spanning = [kept for kept in forests if len(kept) == most]
    of = np.array([np.prod(weights[sorted(kept)]) for kept in spanning])
    return np.array([of[[e in kept for kept in spanning]].sum() for e in range(len(edges))]) / of.sum()


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 6))
    pairs = np.array(list(combinations(range(n), 2)))
    chosen = draw(st.lists(st.integers(0, len(pairs) - 1), max_size=8, unique=True))
    weights = draw(st.lists(st.floats(0.1, 10.0), min_size=len(chosen), max_size=len(chosen)))
    return n, pairs[chosen].reshape(-1, 2), np.array(weights)


@given(graphs())
@examples(100, deadline=None)
def test_shares_are_those_of_all_spanning_forests(graph):
    n, edges, weights = graph
    np.testing.assert_allclose(appearances(n, edges, weights), enumerated(n, edges, weights), rtol=1e-9)
    even = enumerated(n, edges, np.ones(len(edges)))
    np.testing.assert_allclose(appearances(n, edges), even, rtol=1e-9)


def test_components_are_told_apart_and_trees_appear_whole():
    edges = np.array([[5, 6], [0, 1], [1, 2], [0, 2], [6, 7]])
    assert appearances(9, edges).tolist() == pytest.approx([1.0, 2 / 3, 2 / 3, 2 / 3, 1.0])


def test_components_of_any_sizes_are_each_by_themselves():
    # A tree of 4 variables, a triangle, and a square with both diagonals, whose variables stand between each other.
    edges = np.array([[0, 3], [3, 6], [6, 9], [1, 4], [4, 7], [1, 7], *combinations([2, 5, 8, 10], 2)])
    np.testing.assert_allclose(appearances(11, edges), [1.0] * 3 + [2 / 3] * 3 + [1 / 2] * 6)


def test_in_large_components_forests_are_drawn_until_each_edge_has_appeared(monkeypatch):
    monkeypatch.setattr(module, "DENSE", 12)
    np.testing.assert_allclose(appearances(12, np.array(list(combinations(range(12), 2)))), 1 / 6)
    monkeypatch.setattr(module, "DENSE", 3)
    edges = np.array(list(combinations(range(12), 2)))
    found = appearances(12, edges)
    assert found.sum() == pytest.approx(11.0)
    assert found.min() > 0.0
    np.testing.assert_array_equal(found, appearances(12, edges))
    assert (found != appearances(12, edges, seed=1)).any()
    heavy = np.where(np.arange(66) == 5, 100.0, 1.0)
    assert appearances(12, edges, heavy)[5] > 0.8
    monkeypatch.setattr(module, "FORESTS", 4000)
    np.testing.assert_allclose(appearances(12, edges), 1 / 6, atol=0.03)


def test_a_forest_has_no_cycle_and_spans_and_all_edges_appear():
    edges = np.array([(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5), (6, 7)])
    for seed in range(6):
        found = forests(8, edges, seed=seed)
        assert all(is_forest(8, edges[kept].tolist()) and kept.size == 6 for kept in found)
        assert set(np.concatenate(found).tolist()) == set(range(8))
        # The second forest has all edges that the first one lacks.
        assert set(range(8)) - set(found[0].tolist()) <= set(found[1].tolist())
    assert len(forests(8, edges, least=7)) == 7
    assert [kept.tolist() for kept in forests(3, edges[:0])] == [[]]
    np.testing.assert_allclose(shares(8, [np.array([0, 7]), np.array([7])]), [0.5, 0, 0, 0, 0, 0, 0, 1.0])
    np.testing.assert_allclose(shares(2, [np.array([1])]), [0.0, 1.0])
    assert shares(3, []).tolist() == [0.0, 0.0, 0.0]
