"""Centralities against networkx and by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose

from loglinear.networks.centrality import centralities


def graph_of(n, edges, strengths):
    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    for (i, j), strength in zip(edges.tolist(), strengths.tolist(), strict=True):
        graph.add_edge(i, j, length=1.0 / strength, strength=strength)
    return graph


@pytest.mark.parametrize(("n", "share", "ties"), [(9, 0.4, False), (9, 0.4, True), (15, 0.12, True), (5, 1.0, True)])
def test_centralities_are_those_of_networkx(n, share, ties):
    for seed in range(4):
        random = np.random.default_rng(seed)
        pairs = np.stack(np.triu_indices(n, 1), axis=1)
        edges = pairs[random.random(len(pairs)) < share]
        # Equal strengths, or sums of a few of them, give several shortest paths.
        strengths = random.choice([0.5, 1.0, 2.0], len(edges)) if ties else random.exponential(size=len(edges))
        signs = random.choice([-1, 0, 1], len(edges))
        found, graph = centralities(n, edges, strengths, signs), graph_of(n, edges, strengths)
        betweenness = nx.betweenness_centrality(graph, weight="length", normalized=False)
        assert_allclose(found.betweenness, [betweenness[i] for i in range(n)], atol=1e-9)
        assert_allclose(found.strength, [degree for _, degree in graph.degree(weight="strength")])
        influence = [sum(s * w for s, w, e in zip(signs, strengths, edges, strict=True) if i in e) for i in range(n)]
        assert_allclose(found.expected_influence, influence, atol=1e-12)
        largest = max(nx.connected_components(graph), key=len)
        distances = dict(nx.all_pairs_dijkstra_path_length(graph, weight="length"))
        closeness = [1.0 / sum(distances[i].values()) if i in largest else np.nan for i in range(n)]
        assert_allclose(found.closeness, closeness)


def test_paths_whose_lengths_differ_by_rounding_are_equally_short():
    edges = np.array([(0, 1), (1, 3), (0, 2), (2, 3)])
    lengths = np.array([0.1, 0.2, 0.15, 0.15])
    assert lengths[0] + lengths[1] != lengths[2] + lengths[3]
    found = centralities(4, edges, 1.0 / lengths, np.ones(4, dtype=np.int64))
    assert_allclose(found.betweenness[1:3], 0.5)


def test_a_network_without_edges_has_no_distances():
    found = centralities(3, np.empty((0, 2), dtype=np.int64), np.empty(0), np.empty(0, dtype=np.int64))
    assert found.table()[[0, 1, 3]].tolist() == [[0.0] * 3] * 3
    assert np.isnan(found.closeness).all()
