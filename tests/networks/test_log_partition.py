"""Bounds of log Z against enumeration."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import entr

from examples import examples
from loglinear.networks import log_partition as module
from loglinear.networks.appearances import appearances, forests, shares
from loglinear.networks.graph import Graph, Report
from loglinear.networks.log_partition import FORESTS, _moved, _tree_bound, log_partition
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


def reweighted(graph, scores, share, iterations):
    """Tree-reweighted beliefs after at most this number of iterations."""
    options = {"damping": 0.1, "tolerance": 1e-10, "max_iterations": iterations}
    return graph.network.loopy_bp(*scores, appearances=share, **options)


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
        # The least bound of messages that are reweighted by appearances in uniform forests, or in the drawn ones.
        drawn = shares(len(edges), forests(len(states), graph.edges, least=FORESTS))
        for share in (drawn, appearances(len(states), graph.edges)):
            assert found.upper <= reweighted(graph, scores, share, 5000).log_z + 1e-4


@st.composite
def networks(draw):
    """Networks of two to six variables with any edges, weak to very strong."""
    states = draw(st.lists(st.integers(2, 4), min_size=2, max_size=6))
    edges = [(i, j) for i in range(len(states)) for j in range(i + 1, len(states)) if draw(st.booleans())]
    return network(states, edges, draw(st.sampled_from([0.1, 1.0, 4.0, 20.0, 1e4])), draw(st.integers(0, 1000)))


@given(networks(), st.sampled_from([1, 2, 5, 2000]))
@examples(200)
def test_bounds_hold_also_where_belief_propagation_has_not_settled(drawn, iterations):
    model, graph, scores = drawn
    log_z = model.enumerated()[0]
    tolerance = 1e-10 * max(1.0, abs(log_z))
    with mock.patch.object(module, "MOST", iterations):
        found = log_partition(graph, scores, limit=1)
    assert found.lower - tolerance <= log_z <= found.upper + tolerance
    assert found.lower <= found.value <= found.upper
    # Neither is the bound of any messages: not only of those that belief propagation passes through.
    random, share = np.random.default_rng(iterations), appearances(len(model.states), graph.edges)
    messages = reweighted(graph, scores, share, 1).messages
    messages = messages + random.normal(size=messages.size)
    assert _tree_bound(graph, _moved(graph, scores, messages, share), share) >= log_z - tolerance


def test_the_upper_bound_is_close_to_log_z_where_beliefs_are_almost_certain():
    model, graph, scores = network([2] * 8, [(i, j) for i in range(8) for j in range(i + 1, 8)], 8.0, 1)
    assert log_partition(graph, scores, limit=1).upper <= model.enumerated()[0] + 0.001


def test_the_bound_of_a_star_holds_whichever_end_of_an_edge_its_centre_is():
    # The centre's rarer state has probability 1e-3 and scores 1e3 times as much with any state of any leaf.
    for edges, rows in [([(0, 1), (0, 2), (0, 3)], True), ([(0, 3), (1, 3), (2, 3)], False)]:
        model, graph, _ = network([2] * 4, edges, 1.0, 0)
        model.nodes = np.zeros(8)
        model.nodes[1 if rows else 7] = -np.log(1e3)
        table = np.array([[0.0, 0.0], [np.log(1e3)] * 2])
        model.tables = np.tile((table if rows else table.T).ravel(), 3)
        assert _tree_bound(graph, (model.nodes, model.tables), np.ones(3)) >= model.enumerated()[0]


def test_scores_that_leave_the_range_of_a_double_leave_a_bound():
    model, graph, scores = network([2] * 5, COMPLETE, 1e307, 0)
    found = log_partition(graph, scores, limit=1)
    assert found.lower <= model.enumerated()[0] <= found.upper


def test_both_bounds_are_log_z_where_they_can_be():
    # The upper bound is exact on a tree, its only forest; the lower bound where no variables are tied.
    model, graph, scores = network([2, 3, 2, 2, 3, 2], TREE, 2.0, 0)
    assert log_partition(graph, scores, limit=1).upper == pytest.approx(model.enumerated()[0], abs=1e-6)
    model, graph, scores = network([2, 3, 4], [], 2.0, 0)
    assert graph.network.mean_field(*scores, np.full(9, 0.5))[0] == pytest.approx(model.enumerated()[0], abs=1e-9)


def test_moving_messages_changes_the_score_of_no_assignment_and_makes_the_upper_bound_that_of_the_messages():
    for seed in SEEDS:
        model, graph, scores = network([3, 2, 2, 4, 2, 3], GRID, 1.0, seed)
        share = shares(len(graph.edges), forests(6, graph.edges, least=4))
        found = reweighted(graph, scores, share, 2000)
        before = model.scores(model.assignments())
        moved = _moved(graph, scores, found.messages, share)
        model.nodes, model.tables = moved
        assert_allclose(model.scores(model.assignments()), before, atol=1e-9)
        assert _tree_bound(graph, moved, share) == pytest.approx(found.log_z, abs=1e-8)
        assert found.log_z < _tree_bound(graph, scores, share)


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


@pytest.mark.parametrize(("estimate", "bound"), [(-1e9, "lower"), (1e9, "upper")])
def test_an_estimate_beyond_a_bound_becomes_the_bound(monkeypatch, estimate, bound):
    _, graph, scores = network([2] * 5, COMPLETE, 1.0, 0)
    moments = LoopyBP.moments
    monkeypatch.setattr(LoopyBP, "moments", lambda *args, **options: replace(moments(*args, **options), log_z=estimate))
    found = log_partition(graph, scores, limit=1)
    assert found.value == getattr(found, bound)
    assert found.lower < found.upper
