"""The benchmarks for choosing a program show figures of the tables, those where loglinear is behind among them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from choosers import BARS, picture, ratio  # noqa: E402

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
TABLES = (ROOT / "docs" / "benchmark-tables.md").read_text(encoding="utf-8")


def test_the_picture_is_that_of_the_tables():
    assert (ROOT / "docs" / "benchmarks.svg").read_text(encoding="utf-8") == picture(TABLES)


def test_the_page_has_the_ratio_of_each_bar_and_mark():
    behind = 0
    for bar in BARS:
        assert f"[{ratio(TABLES, bar.row, bar.column)} times]" in PAGE
        if bar.behind:
            assert f": {ratio(TABLES, bar.behind, bar.behind_column)}" in PAGE
            behind += 1
    assert behind > 2


def test_the_figures_of_the_page_are_in_the_tables():
    figures = re.findall(r"\b(\d+(?:\.\d+)?)(?: times\]| s\b| MiB\b| µs\b)", PAGE)
    assert len(figures) > 10
    assert [figure for figure in figures if not re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d.])", TABLES)] == []
