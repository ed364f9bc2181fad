"""Pictures of graphs: what they show, and that names find their places."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import networkx
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.transforms import Bbox

from examples import by_day
from loglinear.datasets import make_network
from loglinear.report import graph_picture
from loglinear.report.figure import new_figure
from loglinear.report.graph import draw, drawn
from loglinear.report.graph_picture import SIGNS as WORDS
from loglinear.report.graph_picture import GraphPicture, n_shown
from loglinear.report.labels import LINE, place_labels, text_size, wrapped
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
    assert {"age", "smoker", "region", "income", *WORDS.values()} <= set(found)
    assert "left out" not in " ".join(found)
    dashes = r"(?:stroke-dasharray: [^;]*; stroke-dashoffset: 0; )?"
    style = rf"fill: none; {dashes}stroke: (#\w+); stroke-width: ([0-9.]+)"
    lines = re.findall(rf'<path d="M[^"]*"[^>]*style="{style}"'.encode(), svg)
    widths = {colour.decode(): float(width) for colour, width in lines[:4]}
    assert len(widths) == 3
    assert widths["#b34a00"] > widths["#777777"]


def test_a_legend_explains_the_signs_that_occur():
    for signs in ([1, 1, -1, 1], [1] * 4, [0] * 4):
        found = texts(drawn(NAMES, EDGES, STRENGTHS, signs, "g.svg"))
        assert {*WORDS.values()} & set(found) == {WORDS[sign] for sign in signs}


def test_many_variables_without_edges_are_left_out_and_counted():
    names = [f"v{k}" for k in range(400)]
    found = texts(drawn(names, EDGES, STRENGTHS, SIGNS, "g.svg"))
    assert {"v0", "v5", "not shown: 394 variables without edges"} <= set(found)
    assert "v6" not in found
    assert "v9" in texts(drawn(names[:10], EDGES, STRENGTHS, SIGNS, "g.svg"))


def test_where_not_all_names_have_room_those_of_the_strongest_edges_have(monkeypatch):
    monkeypatch.setattr(graph_picture, "_LARGEST", 500.0)
    edges = make_network("grid", 225, 1, sweeps=1).edges
    strengths = np.linspace(1.0, 2.0, len(edges))
    picture = GraphPicture([f"variable number {k}" for k in range(225)], edges, strengths, np.ones(len(edges), int))
    n_named, n = len(picture.labels), len(picture.points)
    assert 20 <= n_named < n
    assert picture.note.endswith(f"named: the {n_named} of {n} variables with the strongest edges")
    named = [int(label.text.replace("\n", " ").split()[-1]) for label in picture.labels]
    assert np.median(named) > 112


def test_a_graph_without_edges_or_variables_is_drawn():
    nothing = np.empty((0, 2), int)
    for n in (0, 1, 5, 50):
        assert b"</svg>" in drawn([f"v{k}" for k in range(n)], nothing, [], [], "g.svg")


def test_names_are_whole_and_only_very_long_ones_are_cut():
    question = "How satisfied are you with public transport in your area?"
    assert wrapped(question).replace("\n", " ") == question
    assert max(map(len, wrapped(question).split("\n"))) <= 22
    assert wrapped("worst fractal dimension").replace("\n", " ") == "worst fractal dimension"
    assert wrapped(question * 3).endswith("…")
    assert len(wrapped("x" * 400).split("\n")) == 4
    assert wrapped("") == ""


def test_chinese_letters_are_as_wide_as_high_and_control_characters_are_shown():
    assert text_size("满意度", 9.0)[0] == 27.0
    picture = GraphPicture(["满意度 a", "a\x07"], [[0, 1]], [1.0], [1])
    assert [label.text for label in picture.labels] == ["满意度 a", "a\\x07"]


def test_dollars_start_no_formula():
    assert r"$\frac{1$" in texts(drawn(["x", r"$\frac{1$"], [[0, 1]], [1.0], [1], "g.svg"))


def many(n, n_edges, seed=0):
    """A graph like those of surveys and measurements: long names, many edges, both signs and several states."""
    random = np.random.default_rng(seed)
    pairs = np.array([(i, j) for i in range(n) for j in range(i)])
    edges = pairs[random.choice(len(pairs), n_edges, replace=False)]
    words = ["mean", "worst", "fractal", "dimension", "how often do you use", "public", "transport?", "radius"]
    names = [f"{' '.join(random.choice(words, random.integers(1, 5)))} {k}" for k in range(n)]
    return names, edges, random.exponential(size=n_edges), random.integers(-1, 2, n_edges)


def rendered(*arguments):
    """Picture, figure, and the boxes of names, of the legend and of the note, in pixels; dots with their radius."""
    picture = GraphPicture(*arguments)
    with new_figure(picture.width / 72.0, picture.height / 72.0, constrained=False) as figure:
        draw(picture, figure)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        (axis,) = figure.axes
        names = [text.get_window_extent() for text in axis.texts]
        others = [each.get_window_extent() for each in (*figure.legends, *figure.texts)]
        dots = axis.transData.transform(picture.points)
        radius = picture.radius * figure.dpi / 72.0
    return picture, figure, names, others, [Bbox([dot - radius, dot + radius]) for dot in dots]


def test_what_is_drawn_has_the_places_and_sizes_of_the_layout():
    picture, figure, *_ = rendered(NAMES, EDGES, np.array(STRENGTHS), np.array(SIGNS))
    (axis,) = figure.axes
    (dots,) = (each for each in axis.collections if isinstance(each, PathCollection))
    np.testing.assert_allclose(np.sqrt(dots.get_sizes()) / 2.0, picture.radius)
    np.testing.assert_allclose(dots.get_offsets(), picture.points)
    lines = [each for each in axis.collections if isinstance(each, LineCollection)]
    assert [to_hex(each.get_colors()[0]) for each in lines] == ["#0072b2", "#b34a00", "#777777"]
    for each, sign in zip(lines, (1, -1, 0), strict=True):
        chosen = picture.sign == sign
        np.testing.assert_allclose(each.get_segments(), picture.points[picture.edges[chosen]])
        np.testing.assert_allclose(each.get_linewidths(), 0.5 + 3.5 * picture.strength[chosen] / 2.0)
    names = [(text.get_text(), *text.get_position(), text.get_fontsize()) for text in axis.texts]
    assert names == [(label.text, label.x, label.y, picture.size) for label in picture.labels]
    np.testing.assert_allclose(figure.get_size_inches() * 72.0, [picture.width, picture.height])
    assert (axis.get_xlim()[1], axis.get_ylim()[1]) == (picture.width, picture.height)


def share(one, other):
    both = Bbox.intersection(one, other)
    return 0.0 if both is None else both.width * both.height


GRAPHS = [(13, 20), (30, 219), (54, 303), (25, 300), (40, 30), (128, 414), (2, 1), (60, 59)]


@pytest.mark.parametrize(("n", "n_edges"), by_day(GRAPHS, lambda graph: graph in ((13, 20), (54, 303), (2, 1))))
def test_no_name_is_clipped_or_covered_and_the_legend_covers_nothing(n, n_edges):
    names, edges, strength, sign = many(n, n_edges)
    _, figure, labels, others, dots = rendered(names, edges, strength, sign)
    page = figure.bbox
    for box in (*labels, *others, *dots):
        assert page.x0 <= box.x0
        assert box.x1 <= page.x1
        assert page.y0 <= box.y0
        assert box.y1 <= page.y1
    # The legend has a strip above the graph for itself, and the note a strip below.
    assert all(each.get_window_extent().y0 >= max(box.y1 for box in (*labels, *dots)) for each in figure.legends)
    assert all(each.get_window_extent().y1 <= min(box.y0 for box in (*labels, *dots)) for each in figure.texts)
    assert len(labels) == len(dots)
    everything = [*labels, *others]
    for k, box in enumerate(everything):
        for other in everything[:k]:
            assert share(box, other) < 1.0
        # A name touches its own dot at most.
        assert sum(share(box, dot) for dot in dots) < 0.6 * dots[0].width * dots[0].height
    assert len(figure.legends) == 1
    assert max(page.width, page.height) <= 22 * figure.dpi


def test_of_many_edges_the_strongest_are_shown_and_the_picture_says_so():
    names, edges, strength, sign = many(25, 300)
    picture, figure, *_ = rendered(names, edges, strength, sign)
    segments = sum(len(lines.get_segments()) for lines in figure.axes[0].collections if hasattr(lines, "get_segments"))
    assert segments == n_shown(300, 25) == 60
    assert sorted(picture.strength) == sorted(strength)[-60:]
    assert "the 60 strongest of 300 edges" in texts(drawn(names, edges, strength, sign, "g.svg"))
    assert n_shown(59, 25) == 59
    assert 150 <= n_shown(414, 128) <= 256


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


def stress(at, wanted):
    """The least sum of squares of relative errors of distances, over all scales."""
    pairs = np.triu_indices(len(at), 1)
    relative = np.hypot(*(at[:, None] - at).T)[pairs] / wanted[pairs]
    return ((1.0 - relative * relative.sum() / (relative**2).sum()) ** 2).mean()


@pytest.mark.parametrize("n", by_day([99, 324], lambda n: n == 99))
def test_distances_are_nearly_the_lengths_of_paths_as_in_the_layout_by_all_pairs(n):
    """The stress that Kamada and Kawai minimise is about that of networkx, of all pairs and of pivots."""
    edges = np.array(networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(9, n // 9)).edges)
    wanted = networkx.floyd_warshall_numpy(networkx.Graph(edges.tolist()), range(n))
    assert stress(positions(n, edges), wanted) < 0.03
    if n == 99:
        best = networkx.kamada_kawai_layout(networkx.Graph(edges.tolist()))
        assert stress(positions(n, edges), wanted) < 1.2 * stress(np.array([best[k] for k in range(n)]), wanted)


def test_a_name_without_room_has_no_place():
    points = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [-6.0, 0.0], [0.0, -6.0], [300.0, 0.0]])
    edges = np.empty((0, 2), int)
    # The dots around the first one leave no room for any name of theirs that would cover another dot.
    labels = place_labels(["a name"] * 6, points, edges, size=9.0, radius=4.0, partly=True)
    assert labels[0] is None
    assert labels[5] is not None
    assert place_labels(["a name"] * 6, points, edges, size=9.0, radius=4.0) is None


def test_a_name_lies_off_the_edges_and_may_come_nearer_at_a_corner_of_its_dot():
    points = np.array([[0.0, 0.0], [0.0, 200.0]])
    low, high = place_labels(["a", "b"], points, np.array([[0, 1]]), size=9.0, radius=4.0)
    assert (low.x, high.x) == (0.0, 0.0)
    assert (low.y < 0.0, high.y > 200.0) == (True, True)
    # Only the corner above on the right is free, where the name's box and its dot's overlap.
    points = np.array([[0.0, 0.0], [-4.0, 14.0], [-4.0, -14.0], [18.0, -6.0], [-12.0, 0.0]])
    (corner,) = place_labels(["name"], points, np.empty((0, 2), int), size=9.0, radius=4.0)
    assert 0.0 < corner.y - 0.5 * LINE * 9.0 < 4.0


def test_long_parts_lie_on_their_side():
    at = positions(12, np.array([[k, k + 1] for k in range(11)]))
    width, height = np.ptp(at, axis=0)
    assert height < 0.2 * width
