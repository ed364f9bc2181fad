"""Linear response: exact on trees, the same by both ways to invert, and none where there is no minimum."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import PairwiseMRF, _core
from loglinear.datasets import make_network
from loglinear.errors import OptionError
from loglinear.networks import linear_response
from loglinear.networks.exact import Exact
from loglinear.networks.graph import Graph, Report
from loglinear.networks.linear_response import pair_probabilities
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Scored

TREE = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]
LOOPS = [*TREE, (2, 5), (0, 4)]


@pytest.fixture
def sparse(monkeypatch):
    """The inverse is that of a sparse matrix, however small."""
    monkeypatch.setattr(linear_response, "FEW", 0)
    monkeypatch.setattr(linear_response, "ITERATIONS", 0)


def responses(states, edges, scale):
    """Linear response of a network by belief propagation, and the exact probabilities of all interactions."""
    model = Scored(states, edges, scale)
    numbering = Numbering(states)
    graph, scores = Graph(numbering, model.edges), (model.nodes, model.tables)
    exact = Exact().moments(graph, scores, Report("exact"), whole=True)
    found = LoopyBP(tolerance=1e-12, max_iterations=5000).moments(graph, scores, Report("loopy_bp"), whole=False)
    return pair_probabilities(
        numbering, graph.edges, found.nodes[graph.columns], found.edges[graph.places]
    ), exact.products


@pytest.mark.usefixtures("sparse")
@pytest.mark.parametrize("states", [[2] * 6, [2, 3, 2, 4, 2, 3]])
def test_it_is_exact_on_trees_by_conjugate_gradients(states):
    found, exact = responses(states, TREE, 1.0)
    # Covariances are scaled to the variance p (1 - p), which on trees they have.
    np.testing.assert_allclose(found, exact, atol=1e-4)


@pytest.mark.parametrize("states", [[2] * 6, [2, 3, 2, 4, 2, 3]])
def test_both_ways_to_invert_agree(states, sparse, monkeypatch):
    found, _ = responses(states, LOOPS, 1.0)
    monkeypatch.setattr(linear_response, "FEW", 1000)
    dense, _ = responses(states, LOOPS, 1.0)
    np.testing.assert_allclose(found, dense, atol=1e-4)


@pytest.mark.parametrize("few", [0, 1000])
def test_beliefs_at_no_minimum_have_no_response(few, sparse, monkeypatch):
    monkeypatch.setattr(linear_response, "FEW", few)
    numbering, edges = Numbering([2] * 4), np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)])
    # Six edges that all but force equal states, and variables that are even: a saddle point.
    assert pair_probabilities(numbering, edges, np.full(4, 0.5), np.full(6, 0.45)) is None


def test_a_network_is_learned_by_it_as_by_the_dense_inverse(sparse, monkeypatch):
    data = make_network("chain", 64, 500, strength=2.0, random_state=0)
    options = {"l1": 0.5 * np.sqrt(500 * np.log(64)), "objective": "likelihood"}
    found = PairwiseMRF(**options).fit(data.X)
    monkeypatch.setattr(linear_response, "FEW", 1000)
    assert found.edges_.tolist() == PairwiseMRF(**options).fit(data.X).edges_.tolist()
    assert len(found.edges_) < 75


def test_arrays_that_are_no_sparse_matrix_are_refused():
    at, columns, values = np.array([0, 1, 2], np.int32), np.array([0, 1], np.int32), np.ones(2)
    behind = np.array([1, 2])
    diagonal, above = _core.symmetric_inverse(at, columns, values, behind)
    assert (diagonal.tolist(), above.tolist()) == ([1.0, 1.0], [0.0])
    for bad in (
        (np.array([0, 3, 2], np.int32), columns, values, behind),
        (np.array([1, 1, 2], np.int32), columns, values, behind),
        (np.array([0, 1, 3], np.int32), columns, values, behind),
        (at, np.array([0, 2], np.int32), values, behind),
        (at, np.array([0, -1], np.int32), values, behind),
        (at, columns, values[:1], behind),
        (at, columns, values, behind[:1]),
        (at, columns, values, np.array([1, 3])),
        (at[:0], columns[:0], values[:0], behind[:0]),
    ):
        with pytest.raises(OptionError):
            _core.symmetric_inverse(*bad)
