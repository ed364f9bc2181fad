"""Synthetic networks: graphs, weights, and both samplers against enumeration."""

from __future__ import annotations

import networkx
import numpy as np
import pytest

from loglinear.datasets import make_network
from loglinear.errors import OptionError
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import assignments

FOREST = {"kind": "random", "n_variables": 6, "degree": 1.0, "states": [2, 3, 2, 4, 2, 2], "random_state": 0}


def probabilities(data):
    """Of all assignments, by enumeration; the last variable varies fastest."""
    every = assignments(data.states)
    scores = sum(scores[every[:, i]] for i, scores in enumerate(data.node_weights))
    for (i, j), table in zip(data.edges, data.weights, strict=True):
        scores = scores + table[every[:, i], every[:, j]]
    return np.exp(scores - np.logaddexp.reduce(scores))


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "chain", "n_variables": 4, "states": 3, "sampler": "exact"},
        {"kind": "chain", "n_variables": 4, "states": 3, "sampler": "gibbs"},
        {"kind": "grid", "n_variables": 6},
        {"kind": "grid", "n_variables": 5, "states": [2, 3, 2, 3, 2]},
        {**FOREST, "sampler": "exact"},
        {**FOREST, "sampler": "gibbs"},
        {"kind": "random", "n_variables": 5, "degree": 4.0, "strength": 0.8},
    ],
    ids=str,
)
def test_samples_have_the_distribution_of_the_model(options):
    n = 20_000
    data = make_network(n_samples=n, **({"strength": 1.5, "sweeps": 60} | options))
    counts = np.zeros(tuple(data.states))
    np.add.at(counts, tuple(data.X.T), 1)
    expected = n * probabilities(data)
    often = expected > 2
    statistic = ((counts.ravel() - expected)[often] ** 2 / expected[often]).sum()
    # Chi-squared: the mean is the number of cells, the variance twice that.
    assert statistic < often.sum() + 5 * np.sqrt(2 * often.sum())


def test_graphs_are_those_of_networkx():
    def edges(graph):
        names = {node: number for number, node in enumerate(sorted(graph))}
        return sorted(tuple(sorted((names[a], names[b]))) for a, b in graph.edges)

    def made(*arguments, **options):
        return list(map(tuple, make_network(*arguments, 1, sweeps=1, **options).edges.tolist()))

    assert made("chain", 7) == edges(networkx.path_graph(7))
    assert made("grid", 25) == edges(networkx.grid_2d_graph(5, 5))
    assert made("grid", 20) == edges(networkx.grid_2d_graph(4, 5))
    short = networkx.grid_2d_graph(3, 3)
    short.remove_nodes_from([(2, 1), (2, 2)])
    assert made("grid", 7) == edges(short)
    assert made("random", 8, degree=7.0) == edges(networkx.complete_graph(8))
    chosen = made("random", 40, degree=3.0)
    assert (len(chosen), chosen) == (60, sorted(set(chosen)))
    assert all(0 <= i < j < 40 for i, j in chosen)
    assert made("random", 5, degree=0.0) == []


def test_states_of_two_have_probability_one_half():
    data = make_network("grid", 9, 10)
    p = probabilities(data).reshape((2,) * 9)
    for i in range(9):
        assert np.moveaxis(p, i, 0)[1].sum() == pytest.approx(0.5, abs=1e-12)


def test_weights_are_numbered_by_the_layout():
    data = make_network("grid", 6, 3, states=[2, 3, 4, 2, 3, 2], strength=0.7)
    numbering, w = Numbering(data.states), data.vector()
    found = numbering.edges_of(np.flatnonzero(w[: numbering.n_interactions]))
    assert np.array_equal(found, data.edges)
    for (i, j), table in zip(data.edges, data.weights, strict=True):
        assert table.shape == (data.states[i], data.states[j])
        assert not table[0].any()
        assert not table[:, 0].any()
        assert np.array_equal(w[numbering.block(i, j)], table[1:, 1:])
        assert (np.abs(table[1:, 1:]) == 0.7).all()
    for i, scores in enumerate(data.node_weights):
        at = numbering.n_interactions + numbering.first[i]
        assert scores[0] == 0.0
        assert np.array_equal(w[at : at + scores.size - 1], scores[1:])


def test_a_seed_decides():
    options = {"kind": "random", "n_variables": 30, "n_samples": 20, "sweeps": 5}
    one, again, other = (make_network(**options, random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.X, again.X)
    assert np.array_equal(one.edges, again.edges)
    assert not np.array_equal(one.edges, other.edges)
    assert one.X.shape == (20, 30)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "star"}, "kind='star'"),
        ({"n_variables": 1}, "n_variables=1"),
        ({"n_samples": 0}, "n_samples=0"),
        ({"states": 1}, "states=1"),
        ({"states": [2, 2]}, "2 numbers for 25 variables"),
        ({"strength": -1.0}, "strength"),
        ({"kind": "random", "degree": 25.0}, "degree=25.0.*24"),
        ({"sampler": "slice"}, "sampler='slice'"),
        ({"sampler": "exact", "n_variables": 900}, "too dense.*gibbs"),
        ({"sweeps": 0}, "sweeps=0"),
        ({"random_state": -1}, "random_state=-1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        make_network(**options)
