"""Files of the UAI competitions: read by the definition of the format and enumerated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loglinear.networks.graph import Graph
from loglinear.networks.numbering import Numbering
from loglinear.networks.uai import evidence_text, uai_text
from oracles.network_enumeration import Scored

EDGES = [(0, 1), (1, 2), (0, 3), (2, 3)]
STATES = [2, 3, 2, 4]


def weights_of(text):
    """The weight of every assignment of a file, the last variable fastest."""
    words = iter(text.split())
    assert next(words) == "MARKOV"
    states = [int(next(words)) for _ in range(int(next(words)))]
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    tables = []
    for scope in scopes:
        shape = [states[i] for i in scope]
        assert int(next(words)) == np.prod(shape)
        tables.append(np.array([float(next(words)) for _ in range(np.prod(shape))]).reshape(shape))
    assert list(words) == []
    return np.array(
        [
            np.prod([table[tuple(x[i] for i in scope)] for scope, table in zip(scopes, tables, strict=True)])
            for x in itertools.product(*map(range, states))
        ]
    )


@pytest.mark.parametrize("edges", [EDGES, []])
def test_a_file_has_the_weights_of_the_network(edges):
    model = Scored(STATES, edges, 1.0)
    graph = Graph(Numbering(STATES), model.edges)
    found = weights_of(uai_text(graph, (model.nodes, model.tables)))
    assert_allclose(found, np.exp(model.scores(model.assignments())), rtol=1e-12)


def test_large_scores_give_finite_weights_of_the_same_model():
    model = Scored(STATES, EDGES, 1.0)
    model.tables[:6] += 5000.0  # the whole table of an edge
    graph = Graph(Numbering(STATES), model.edges)
    found = weights_of(uai_text(graph, (model.nodes, model.tables)))
    expected = model.scores(model.assignments())
    assert_allclose(found / found.sum(), np.exp(expected - np.logaddexp.reduce(expected)), rtol=1e-9)


def test_evidence_is_the_number_of_variables_and_their_states():
    assert evidence_text({3: 1, 0: 2}) == "2 0 2 3 1\n"
    assert evidence_text({}) == "0\n"
