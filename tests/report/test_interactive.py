"""The page of a graph holds the whole graph, needs nothing from elsewhere, and runs nothing of the data."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from loglinear.errors import OptionError
from loglinear.report.figure import check_figure, is_page
from loglinear.report.interactive import interactive

NAMES = ["a", "b</script><script>alert(1)</script>", "ä & c", "alone"]
EDGES, STRENGTHS, SIGNS = [[0, 1], [1, 2], [0, 2]], [0.5, 2.0, 1.0], [1, -1, 0]


def data_of(page):
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def test_the_page_holds_the_graph_the_strongest_edges_first():
    page = interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode()
    data = data_of(page)
    assert data["names"] == NAMES
    assert (data["edges"], data["strengths"], data["signs"]) == ([[1, 2], [0, 2], [0, 1]], [2.0, 1.0, 0.5], [-1, 0, 1])
    assert data["order"] == [1, 2, 0, 3]
    at = np.array(data["at"])
    assert at.shape == (4, 2)
    assert 0.0 <= at.min() < at.max() <= 1.0
    assert len({tuple(each) for each in data["at"]}) == 4
    assert interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode() == page


def test_places_take_at_most_four_decimals_of_the_page():
    places = data_of(interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode())["at"]
    assert places == [[round(x, 4) for x in place] for place in places]


def test_the_page_needs_nothing_from_elsewhere_and_names_stay_text():
    page = interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode()
    assert not re.findall(r"https?:|src=|@import|url\(|innerHTML|outerHTML|document\.write|eval\(", page)
    assert page.count("<script") == page.count("</script>") == 2
    assert "alert(1)" in page


def test_many_edges_are_all_there_and_the_picture_begins_with_the_strongest():
    rng = np.random.default_rng(0)
    edges = [[i, j] for i in range(40) for j in range(i + 1, 40)]
    data = data_of(
        interactive([f"v{k}" for k in range(40)], edges, rng.random(len(edges)), np.ones(len(edges))).decode()
    )
    assert len(data["edges"]) == len(edges)
    assert data["first"] == 60
    assert data["strengths"] == sorted(data["strengths"], reverse=True)


def test_a_graph_without_edges_or_variables_has_a_page():
    assert data_of(interactive(["a", "b"], [], [], []).decode())["first"] == 0
    assert data_of(interactive([], [], [], []).decode())["names"] == []


def test_a_page_is_a_format_where_one_can_be_made():
    assert [is_page(name) for name in ("g.html", "G.HTML", "g.svg")] == [True, True, False]
    check_figure("g.html", pages=True)
    for name, pages, words in (("g.html", False, ".svg, .png or .pdf"), ("g.jpg", True, ".svg, .png, .pdf or .html")):
        with pytest.raises(OptionError, match=re.escape(words)):
            check_figure(name, pages=pages)
