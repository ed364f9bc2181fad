"""The page of a graph holds the whole graph, needs nothing from elsewhere, and runs nothing of the data."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from loglinear.errors import OptionError
from loglinear.report.figure import check_figure, is_page
from loglinear.report.graph_picture import SIGNS as WORDS
from loglinear.report.interactive import interactive
from oracles.browser import needs_browser, opened
from oracles.pages import Page

NAMES = ["a", "b</script><script>alert(1)</script>", "ä & c", "alone"]
EDGES, STRENGTHS, SIGNS = [[0, 1], [1, 2], [0, 2]], [0.5, 2.0, 1.0], [1, -1, 0]


def data_of(page):
    found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert len(found) == 1
    return json.loads(found[0])


def test_the_page_holds_the_graph_the_strongest_edges_first():
    page = interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode()
    data = data_of(page)
    order = [1, 2, 0, 3]
    assert data["names"] == [NAMES[k] for k in order]
    assert [[order[k] for k in pair] for pair in data["edges"]] == [[1, 2], [0, 2], [0, 1]]
    assert (data["strengths"], data["signs"]) == ([2.0, 1.0, 0.5], [-1, 0, 1])
    assert interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode() == page


def test_without_javascript_the_page_has_the_picture_its_legend_and_the_strongest_edges():
    page = Page(interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode())
    tags = [tag for tag, _ in page.elements]
    assert tags.count("circle") == len(NAMES)
    classes = [attributes.get("class") for tag, attributes in page.elements if tag == "path"]
    assert sorted(filter(None, classes)) == sorted(2 * ["negative", "positive", "unsigned"])  # with those of the legend
    dots = [(each["cx"], each["cy"]) for tag, each in page.elements if tag == "circle"]
    line = [each["d"] for tag, each in page.elements if tag == "path" and each.get("class") == "negative"][-1]
    assert line == "M{} {}L{} {}".format(*dots[0], *dots[1])  # the strongest edge, of the first two variables
    for words in (*WORDS.values(), "4 variables, 3 edges", "a – ä & c 1", f"{NAMES[1]} – ä & c 2"):
        assert words in page.text
    assert [attributes.get("hidden", 0) for tag, attributes in page.elements if attributes.get("class") == "tools"] == [
        None
    ]


def test_names_cannot_be_taken_for_parts_of_the_page():
    page = Page(interactive(["{{ list }}", "{{ data }}"], [[0, 1]], [1.0], [1]).decode())
    assert "{{ list }} – {{ data }} 1" in page.text


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


@needs_browser
@pytest.mark.slow
def test_a_browser_draws_the_edges_anew_and_has_no_complaints(tmp_path):
    path = tmp_path / "page.html"
    for names, edges in ((NAMES, EDGES), (["a", "b"], []), ([], [])):
        path.write_bytes(interactive(names, edges, STRENGTHS[: len(edges)], SIGNS[: len(edges)]))
        complaints, document = opened(path)
        assert complaints == []
        assert ('<html lang="en" class="live">' in document, document.count("<circle")) == (True, len(names))
        assert document.count("<li><button>") == len(edges)


def test_a_page_is_a_format_where_one_can_be_made():
    assert [is_page(name) for name in ("g.html", "G.HTML", "g.svg")] == [True, True, False]
    check_figure("g.html", pages=True)
    for name, pages, words in (("g.html", False, ".svg, .png or .pdf"), ("g.jpg", True, ".svg, .png, .pdf or .html")):
        with pytest.raises(OptionError, match=re.escape(words)):
            check_figure(name, pages=pages)


@needs_browser
@pytest.mark.slow
def test_keys_move_and_enlarge_the_picture_and_a_variable_chosen_by_name_stands_out(tmp_path):
    press = """<script>{
      const seen = [], look = () => seen.push(svg.getAttribute("viewBox").split(" ").map(Number));
      look();
      for (const key of ["+", "ArrowRight", "0"]) {
        picture.dispatchEvent(new KeyboardEvent("keydown", { key }));
        look();
      }
      byId("find").value = "a";
      byId("find").oninput({ target: byId("find") });
      const far = document.querySelectorAll("circle.far").length, result = document.createElement("pre");
      result.textContent = JSON.stringify([seen, byId("what").textContent, far]);
      document.body.append(result);
    }</script></body>"""
    path = tmp_path / "page.html"
    path.write_text(interactive(NAMES, EDGES, STRENGTHS, SIGNS).decode().replace("</body>", press), encoding="utf-8")
    complaints, document = opened(path)
    assert complaints == []
    (first, larger, right, again), chosen, n_far = json.loads(re.search("<pre>(.*?)</pre>", document)[1])
    assert larger[2] < first[2]
    assert (right[0] > larger[0], right[1:]) == (True, larger[1:])
    assert (again, chosen, n_far) == (first, "a", 1)


def test_a_legend_does_not_command_a_terminal():
    page = interactive(["a", "b"], [[0, 1]], [1.0], [1], meanings={1: "higher in \x1b[31mred"})
    assert b"higher in \\x1b[31mred" in page
    assert b"\x1b" not in page
