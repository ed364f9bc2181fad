"""Pages of the papers: their tables are filled by scripts, whose rows are made once."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "papers").glob("*20*.md"))
MARKS = re.compile(r"<!-- (end of )?table: (.*?) -->")

sys.path.insert(0, str(ROOT / "benchmarks" / "papers"))

from clock import minimised  # noqa: E402
from rows import Rows, fill, markdown  # noqa: E402
from tasks import continued  # noqa: E402

from loglinear import OWLQN, ClassifierObjective, ElasticNet, Problem  # noqa: E402


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_mark_of_a_page_encloses_a_table(page):
    text = page.read_text(encoding="utf-8")
    marks = MARKS.findall(text)
    assert len(marks) > 4
    for (end, name), (closes, closed) in zip(marks[::2], marks[1::2], strict=True):
        assert (bool(end), bool(closes), closed) == (False, True, name)
        inside = text.partition(f"<!-- table: {name} -->")[2].partition(f"<!-- end of table: {name} -->")[0]
        assert "| --- |" in inside, f"{name} of {page.name} is empty"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_rows_of_a_page_are_beside_it_and_its_script_names_them(page):
    assert len(json.loads(page.with_suffix(".json").read_text())) > 20
    script = (ROOT / "benchmarks" / "papers" / f"{page.stem}.py").read_text()
    for text in (script, page.read_text(encoding="utf-8")):
        assert f"--json docs/papers/{page.stem}.json" in text


def test_every_item_of_the_papers_has_its_verdict():
    text = (ROOT / "docs" / "papers" / "README.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 150
    assert [line for line in rows if "TODO" in line or not line.split("|")[4].strip()] == []


def test_rows_are_made_once_and_kept(tmp_path):
    path = tmp_path / "rows.json"
    made = []

    def make():
        made.append(1)
        return {"value": 1 / 3, "curve": [[at, at / 7] for at in range(1000)], "missing": float("nan")}

    first = Rows(str(path)).made({"task": "a", "l1": 0.5}, make)
    again = Rows(str(path)).made({"task": "a", "l1": 0.5}, make)
    assert len(made) == 1
    assert first == again
    assert first["value"] == 0.3333333333
    assert first["missing"] is None
    assert len(first["curve"]) == 120
    assert (first["curve"][0], first["curve"][-1][0]) == ([0, 0.0], 999)
    assert Rows(str(path)).made({"task": "b", "l1": 0.5}, make)["task"] == "b"
    assert len(made) == 2


def test_an_interrupted_row_leaves_the_rows_before_it(tmp_path):
    rows = Rows(str(tmp_path / "rows.json"))
    rows.made({"task": "a"}, dict)

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rows.made({"task": "b"}, interrupted)
    assert Rows(str(tmp_path / "rows.json")).rows == [{"task": "a"}]


def test_ctrl_c_comes_out_of_a_training_for_a_row():
    def interrupt(record, state):
        raise KeyboardInterrupt

    problem = Problem(ClassifierObjective([[1.0], [2.0], [3.0]], [0, 1, 0], n_classes=2), ElasticNet(l1=0.1))
    assert minimised(problem, OWLQN()).status.converged
    with pytest.raises(KeyboardInterrupt):
        minimised(problem, OWLQN(), callbacks=(interrupt,))


@pytest.mark.parametrize("best", [0.125, 0.5, 1.0, 8.0])
def test_a_grid_is_continued_while_its_end_is_the_best(best):
    found = continued((0.5, 1.0, 2.0), lambda l1: -abs(np.log2(l1 / best)))
    assert max(found, key=found.get) == best
    assert list(found) == sorted(found)
    assert min(found) == min(0.5, best / 2)
    assert max(found) == max(2.0, 2 * best)


def test_tables_go_between_their_marks_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: x -->\nold\n<!-- end of table: x -->\nafter\n")
    table = markdown(["name", "number"], [["a", 1], ["b", None]])
    fill(page, "table", "x", table)
    fill(page, "table", "y", "nowhere")
    assert page.read_text() == f"before\n<!-- table: x -->\n\n{table}\n\n<!-- end of table: x -->\nafter\n"
    assert table.splitlines()[1:] == ["| --- | ---: |", "| a | 1 |", "| b | - |"]
