"""Pictures of graphs: what they show, and that names find their places."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import networkx
import numpy as np
import pytest

from loglinear.datasets import make_network
from loglinear.report.graph import _Labels, drawn
from loglinear.report.positions import positions

NAMES = ["age", "smoker", "region", "income", "a & b", "$x$"]
EDGES = np.array([[0, 1], [1, 2], [2, 4], [3, 5]])
STRENGTHS, SIGNS = [2.0, 1.0, 0.5, 0.25], [1, -1, 0, 1]


def texts(svg):
    """What matplotlib notes in comments beside the outlines of letters."""
    return re.findall(r"<!-- (.*?) -->", svg.decode())


@pytest.mark.parametrize(("name", "begins"), [("g.svg", b"<?xml"), ("g.png", b"\x89PNG"), ("g.PDF", b"%PDF")])
def test_a_figure_is_of_its_name_s_format_and_the_same_each_time(name, begins):
    made = drawn(NAMES, EDGES, STRENGTHS, SIGNS, name)
    assert made.startswith(begins)
    assert made == drawn(NAMES, EDGES, STRENGTHS, SIGNS, name)


def test_variables_have_names_and_lines_their_strength_and_colour():
    svg = drawn(NAMES, EDGES, STRENGTHS, SIGNS, "g.svg")
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    found = texts(svg)
    assert {"age", "smoker", "region", "income", "positive", "negative", "several states"} <= set(found)
    assert "left out" not in " ".join(found)
    lines = re.findall(rb'<path d="M[^"]*"[^>]*style="fill: none; stroke: (#\w+); stroke-width: ([0-9.]+)"', svg)
    widths = {colour.decode(): float(width) for colour, width in lines[:4]}
    assert len(widths) == 3
    assert widths["#d55e00"] > widths["#777777"]


def test_colours_that_do_not_occur_are_not_explained():
    found = texts(drawn(NAMES, EDGES, STRENGTHS, [1] * 4, "g.svg"))
    assert "positive" in found
    assert not {"negative", "several states"} & set(found)


def test_many_variables_without_edges_are_left_out_and_counted():
    names = [f"v{k}" for k in range(400)]
    found = texts(drawn(names, EDGES, STRENGTHS, SIGNS, "g.svg"))
    assert {"v0", "v5", "394 variables without edges are left out"} <= set(found)
    assert "v6" not in found
    assert "v9" in texts(drawn(names[:10], EDGES, STRENGTHS, SIGNS, "g.svg"))


def test_of_many_variables_those_with_the_strongest_edges_have_names():
    edges = make_network("grid", 400, 1, sweeps=1).edges
    strengths = np.linspace(1.0, 2.0, len(edges))
    found = texts(drawn([f"v{k}" for k in range(400)], edges, strengths, np.ones(len(edges), int), "g.svg"))
    named = [text for text in found if re.fullmatch(r"v\d+", text)]
    assert 30 <= len(named) <= 60
    assert all(int(name[1:]) >= 300 for name in named)
    assert f"names of {len(named)} of 400 variables, those with the strongest edges" in found


def test_a_graph_without_edges_or_variables_is_drawn():
    nothing = np.empty((0, 2), int)
    for n in (0, 1, 5, 50):
        assert b"</svg>" in drawn([f"v{k}" for k in range(n)], nothing, [], [], "g.svg")


def test_long_names_are_cut_and_dollars_start_no_formula():
    found = texts(drawn(["x" * 40, r"$\frac{1$"], [[0, 1]], [1.0], [1], "g.svg"))
    assert "x" * 17 + "…" in found


@pytest.mark.parametrize("options", [{"kind": "grid"}, {"kind": "random", "degree": 1.0}, {"kind": "chain"}])
@pytest.mark.parametrize("n", [2, 30, 80])
def test_variables_lie_apart_in_the_unit_square(options, n):
    edges = make_network(n_variables=n, n_samples=1, sweeps=1, **options).edges
    at = positions(n, edges)
    assert at.shape == (n, 2)
    assert at.min() > -1e-9
    assert at.max() < 1.0 + 1e-9
    distances = np.hypot(*(at[:, None] - at).T) + np.eye(n)
    assert distances.min() > 0.1 / n
    assert np.array_equal(at, positions(n, edges))


def test_connected_parts_do_not_overlap():
    graph = networkx.disjoint_union_all([networkx.cycle_graph(9), networkx.star_graph(5), networkx.path_graph(4)])
    graph.add_nodes_from(range(19, 24))
    at = positions(24, np.array(graph.edges))
    boxes = [(at[list(part)].min(axis=0), at[list(part)].max(axis=0)) for part in networkx.connected_components(graph)]
    for k, (low, high) in enumerate(boxes):
        for other_low, other_high in boxes[:k]:
            assert (np.minimum(high, other_high) - np.maximum(low, other_low)).min() < 0.0


def test_neighbours_in_a_grid_are_nearer_than_others():
    edges = make_network("grid", 36, 1, sweeps=1).edges
    at = positions(36, edges)
    distances = np.hypot(*(at[:, None] - at).T)
    joined = np.zeros((36, 36), bool)
    joined[tuple(edges.T)] = True
    apart = ~(joined | joined.T) & ~np.eye(36, dtype=bool)
    assert distances[joined].max() < distances[apart].min()


def test_without_networkx_variables_lie_on_a_circle(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    at = positions(6, np.array([[k, k + 1] for k in range(5)]))
    radii = np.hypot(*(at - at.mean(axis=0)).T)
    assert radii.min() > 0.9 * radii.max()
    assert drawn(NAMES, EDGES, STRENGTHS, SIGNS, "g.svg").startswith(b"<?xml")


def test_names_cover_neither_each_other_nor_a_variable():
    points = np.random.default_rng(0).uniform(0.0, 500.0, size=(120, 2))
    labels = _Labels(points, forced=False)
    n_named = labels.place((f"variable{k}", k) for k in range(60))
    assert 20 < n_named <= 60
    boxes = labels._boxes
    both = np.minimum(boxes[:, None, 2:], boxes[:, 2:]) - np.maximum(boxes[:, None, :2], boxes[:, :2])
    covered = np.maximum(both, 0.0).prod(axis=2)
    # Dots may cover each other.
    assert covered[120:, :120].max() == 0.0
    assert (covered[120:, 120:] > 0.0).sum() == n_named
    assert _Labels(points, forced=True).place((f"variable{k}", k) for k in range(60)) == 60
