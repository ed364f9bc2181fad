"""Bounds of log Z against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import entr

from loglinear.networks.appearances import forests, shares
from loglinear.networks.graph import Graph, Report
from loglinear.networks.log_partition import FORESTS, _mean, _moved, log_partition
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Scored

GRID = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
COMPLETE = [(i, j) for i in range(5) for j in range(i + 1, 5)]
TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
CASES = [
    ([2] * 6, GRID, 0.5),
    ([2] * 6, GRID, 4.0),
    ([3, 2, 2, 4, 2, 3], GRID, 2.0),
    ([2] * 5, COMPLETE, 1.0),
    ([2, 3, 2, 2, 3], COMPLETE, 3.0),
]
SEEDS = range(6)


def network(states, edges, scale, seed):
    """A network with scores, as the oracle and as a graph."""
    model = Scored(states, edges, scale, seed=seed)
    return model, Graph(Numbering(states), model.edges), (model.nodes, model.tables)


@pytest.mark.parametrize(("states", "edges", "scale"), CASES)
def test_log_z_lies_between_its_bounds(states, edges, scale):
    for seed in SEEDS:
        model, graph, scores = network(states, edges, scale, seed)
        log_z = model.enumerated()[0]
        found = log_partition(graph, scores, limit=1)
        assert not found.exact
        assert found.lower <= log_z + 1e-9
        assert found.upper >= log_z - 1e-9
        assert found.lower <= found.value <= found.upper
        if scale > 2.0:
            continue  # beliefs of 0 are cut off, and the upper bound is somewhat higher
        # The forests' least bound is that of the messages which are reweighted by their shares.
        share = shares(len(edges), forests(len(states), graph.edges, least=FORESTS))
        spread = graph.network.loopy_bp(*scores, damping=0.1, max_iterations=5000, tolerance=1e-9, appearances=share)
        assert found.upper == pytest.approx(spread.log_z, abs=1e-4)


def _over_forests(graph, scores, seed=0):
    trees = forests(graph.numbering.n_variables, graph.edges, seed=seed)
    return _mean(graph, scores, trees, shares(len(graph.edges), trees))


@pytest.mark.parametrize(("states", "edges", "scale"), CASES)
def test_the_mean_over_forests_is_an_upper_bound_for_scores_that_nothing_has_moved(states, edges, scale):
    for seed in SEEDS:
        model, graph, scores = network(states, edges, scale, seed)
        assert _over_forests(graph, scores, seed) >= model.enumerated()[0] - 1e-9


def test_both_bounds_are_log_z_where_they_can_be():
    # The upper bound is exact on a tree, its only forest; the lower bound where no variables are tied.
    model, graph, scores = network([2, 3, 2, 2, 3, 2], TREE, 2.0, 0)
    assert log_partition(graph, scores, limit=1).upper == pytest.approx(model.enumerated()[0], abs=1e-6)
    model, graph, scores = network([2, 3, 4], [], 2.0, 0)
    assert graph.network.mean_field(*scores, np.full(9, 0.5))[0] == pytest.approx(model.enumerated()[0], abs=1e-9)


def test_moving_messages_changes_the_score_of_no_assignment_and_makes_the_upper_bound_that_of_the_messages():
    for seed in SEEDS:
        model, graph, scores = network([3, 2, 2, 4, 2, 3], GRID, 1.0, seed)
        trees = forests(6, graph.edges, least=4)
        share = shares(len(graph.edges), trees)
        found = graph.network.loopy_bp(*scores, damping=0.5, max_iterations=2000, tolerance=1e-10, appearances=share)
        before = model.scores(model.assignments())
        moved = _moved(graph, scores, found.nodes, found.edges, share)
        plain = _mean(graph, scores, trees, share)
        model.nodes, model.tables = moved
        assert_allclose(model.scores(model.assignments()), before, atol=1e-9)
        assert _mean(graph, moved, trees, share) == pytest.approx(found.log_z, abs=1e-8)
        assert found.log_z < plain


def test_the_mean_field_bound_is_that_of_a_product_that_no_change_of_one_variable_makes_better():
    for seed in range(2):
        model, graph, scores = network([2, 3, 2, 2, 3], COMPLETE, 0.5, seed)
        start = LoopyBP().moments(graph, scores, Report("loopy_bp"), whole=False).nodes
        first = model.first
        x = model.assignments()

        def bound(nodes, model=model, first=first, x=x):
            """E_q[score] + H(q) of the product q of these marginals."""
            q = np.prod([nodes[first[i] + x[:, i]] for i in range(5)], axis=0)
            return q @ model.scores(x) + entr(q).sum()

        # A plain program of coordinate ascent: log q_i = E[score | x_i] + constant.
        nodes = start.copy()
        for _ in range(100):
            for i in range(5):
                at = slice(first[i], first[i + 1])
                others = np.prod([nodes[first[j] + x[:, j]] for j in range(5) if j != i], axis=0)
                log_q = np.bincount(x[:, i], others * model.scores(x))
                nodes[at] = np.exp(log_q - log_q.max())
                nodes[at] /= nodes[at].sum()
        assert graph.network.mean_field(*scores, start)[0] == pytest.approx(bound(nodes), abs=1e-6)
        assert bound(nodes) >= bound(start) - 1e-9


def test_small_networks_are_exact():
    model, graph, scores = network([2] * 6, GRID, 1.0, 0)
    found = log_partition(graph, scores)
    assert (found.exact, found.method, found.converged) == (True, "exact", True)
    assert found.lower == found.value == found.upper == pytest.approx(model.enumerated()[0])
