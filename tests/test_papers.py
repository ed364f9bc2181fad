"""Pages of the papers: their tables are filled by scripts, whose rows are made once."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAPERS = sorted((ROOT / "docs" / "papers").glob("*20*.md"))
PAGES = [*PAPERS, ROOT / "docs" / "papers" / "reasons.md"]
MARKS = re.compile(r"<!-- (end of )?(?:table|text): (.*?) -->")
BETWEEN = re.compile(r"(<!-- (table|text): (.*?) -->\n)(.*?)(\n<!-- end of \2: \3 -->)", re.DOTALL)
PAGE_WIDTH = 6.5 * 72  # points, between the margins of a letter or of A4
# Tables and figures that report no results: templates, algorithms, illustrations.
WITHOUT_RESULTS = {
    "tsuruoka2009": {"Figure 1", "Figure 2"},
    "zhou2011": {"Table 1", "Table 4"},
    "zhu2010": {"Figure 1"},
    "schmidt2015": set(),
    "mathur2010": {"Fig. 1", "Fig. 4"},
}

sys.path.insert(0, str(ROOT / "benchmarks" / "papers"))

from clock import minimised  # noqa: E402
from findings import Findings, verdict  # noqa: E402
from index import cells, claims_of, indexed  # noqa: E402
from presumed import removed  # noqa: E402
from rows import Rows, fill, kept, markdown  # noqa: E402
from tasks import continued  # noqa: E402

from loglinear import OWLQN, ClassifierObjective, ElasticNet, Problem  # noqa: E402


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_mark_of_a_page_encloses_a_table(page):
    text = page.read_text(encoding="utf-8")
    marks = MARKS.findall(text)
    assert len(marks) > 4
    for (end, name), (closes, closed) in zip(marks[::2], marks[1::2], strict=True):
        assert (bool(end), bool(closes), closed) == (False, True, name)
    for _, kind, name, inside, _ in BETWEEN.findall(text):
        assert "| --- |" in inside if kind == "table" else inside.strip(), f"{name} of {page.name} is empty"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_rows_of_a_page_are_beside_it_and_its_script_names_them(page):
    assert len(json.loads(page.with_suffix(".json").read_text())) > 20
    script = (ROOT / "benchmarks" / "papers" / f"{page.stem}.py").read_text()
    for text in (script, page.read_text(encoding="utf-8")):
        assert f"--json docs/papers/{page.stem}.json" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_rows_beside_a_page_give_its_tables_and_sentences_and_the_verdicts_of_the_index(
    page, tmp_path, monkeypatch, capsys
):
    """The script writes all that lies between marks, and the verdicts on tables and figures, without the corpora."""
    if page.stem == "mathur2010":
        pytest.importorskip("scipy")
    folder, index = page.parent, (page.parent / "README.md").read_text(encoding="utf-8")
    text = page.read_text(encoding="utf-8")
    items = judged(text)
    (tmp_path / page.name).write_text(BETWEEN.sub(r"\1\5", text), encoding="utf-8")
    (tmp_path / "README.md").write_text(without_verdicts(index, page.stem, items), encoding="utf-8")
    monkeypatch.delenv("LOGLINEAR_DATA", raising=False)
    monkeypatch.setattr(Rows, "add", lambda self, row: pytest.fail(f"no row with {row}"))
    monkeypatch.setattr(Findings, "figure", lambda *arguments, **options: None)
    rows = str(folder / f"{page.stem}.json")
    monkeypatch.setattr(sys, "argv", [page.stem, "--json", rows, "--figures", str(tmp_path)])
    importlib.import_module(page.stem).main()
    capsys.readouterr()
    assert (tmp_path / page.name).read_text(encoding="utf-8") == text
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == index


@pytest.mark.parametrize("page", PAPERS, ids=lambda page: page.stem)
def test_every_table_and_figure_with_results_has_claims(page):
    section = section_of((page.parent / "README.md").read_text(encoding="utf-8"), page.stem)
    items = {cells(line)[0] for line in section.splitlines() if re.match(r"\| (Table|Figure|Fig\.) ", line)}
    assert items - judged(page.read_text(encoding="utf-8")) == WITHOUT_RESULTS[page.stem]
    assert judged(page.read_text(encoding="utf-8")) <= {cells(line)[0] for line in section.splitlines()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_figures_of_a_page_are_in_it_and_no_wider_than_a_printed_page(page):
    drawn = {path.name for path in page.parent.glob(f"{page.stem}-*.*")}
    assert set(re.findall(r"!\[.+?\]\((.+?)\)", page.read_text(encoding="utf-8"))) == drawn
    for path in page.parent.glob(f"{page.stem}-*.svg"):
        width = re.search(r'<svg [^>]*width="([\d.]+)pt"', path.read_text(encoding="utf-8")[:2000])
        assert float(width[1]) <= PAGE_WIDTH, path.name


def test_a_cell_of_the_index_says_what_its_claims_say():
    page = "<!-- table: claims, x -->\n\n| item | a |\n| --- | --- |\n| Table 1 | is fast | 2 s | 3 s | yes |\n"
    page += "| Table 1; Figure 2 | is small | 9 | 8 | no |\n\n<!-- end of table: claims, x -->\n"
    index = "# All\n\n## one\n\n| Table 1 | times | here | old |\n| Eq. 1 | f | there | as printed |\n"
    index += "\n## two\n\n| Table 1 | other | here | old |\n"
    filled = indexed(index, "one", page)
    cell = "1 of 2 [claims](one.md) hold. *Holds:* is fast. *Does not hold:* is small."
    assert filled == index.replace("| Table 1 | times | here | old |", f"| Table 1 | times | here | {cell} |")
    assert indexed(filled, "one", page) == filled


def judged(page: str) -> set[str]:
    """The items on which a page has claims."""
    return set(claims_of(page))


def section_of(index: str, name: str) -> str:
    return index.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def without_verdicts(index: str, name: str, items: set[str]) -> str:
    """The index with empty cells where the script has to write."""
    section = section_of(index, name)
    lines = [
        "| " + " | ".join([*cells(line)[:3], "?"]) + " |" if cells(line)[0] in items else line
        for line in section.splitlines()
    ]
    return index.replace(section, "\n".join(lines) + "\n" * section.endswith("\n"))


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


def test_a_thinned_course_keeps_its_points_with_a_score():
    course = [[at, at / 7, 3.0 if at % 10 == 0 else None] for at in range(1000)]
    points = kept(course)
    assert [point[0] for point in points if point[2]] == list(range(0, 1000, 10))
    assert points[-1][0] == 999
    assert len(points) < 120 + 100
    assert [point[0] for point in points] == sorted({point[0] for point in points})
    assert len(kept([[at, float(at)] for at in range(1000)])) == 120


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


def test_a_reason_holds_in_part_if_it_removes_a_quarter_of_a_distance_and_holds_if_half():
    assert [removed(8.0, after) for after in (-1.0, 4.0, 5.0, 6.0, 7.0, 9.0)] == [True, True, None, None, False, False]


@pytest.mark.parametrize(
    ("held", "expected"),
    [([True, True], True), ([False, False], False), ([True, False], None), ([None, False], None), ([True, None], None)],
)
def test_a_verdict_is_in_part_unless_all_hold_or_none_does_even_in_part(held, expected):
    assert verdict(held) is expected


def test_tables_go_between_their_marks_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: x -->\nold\n<!-- end of table: x -->\nafter\n")
    table = markdown(["name", "number"], [["a", 1], ["b", None]])
    fill(page, "table", "x", table)
    fill(page, "table", "y", "nowhere")
    assert page.read_text() == f"before\n<!-- table: x -->\n\n{table}\n\n<!-- end of table: x -->\nafter\n"
    assert table.splitlines()[1:] == ["| --- | ---: |", "| a | 1 |", "| b | - |"]
