"""What benchmarks/bands.py draws reaches from the lowest seed to the highest; pictures of pages are small and equal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "benchmarks"))

from bands import cell, line, mark, options, picture  # noqa: E402

PICTURE = re.compile(r"!\[(.*)\]\((\w+\.svg)\)")
# Pages with a picture that a script draws by bands.py.
PAGES = ("guides/audit.md", "guides/continued.md", "guides/imbalance.md", "guides/rank.md", "labellings.md")
X = np.array([[1.0, 5.0], [2.0, 7.0], [6.0, 6.0]])
Y = np.array([[0.2, 0.5], [0.3, 0.1], [0.1, 0.9]])


def drawn(path):
    with picture(path, 3.0, 2.0) as figure:
        axis = figure.subplots()
        line(axis, [1.0, 2.0], Y, label="band")
        mark(axis, X, Y, label="bars")
    return axis


def test_a_cell_has_the_mean_and_what_it_is_between():
    assert cell([0.5, 0.25, 0.75]) == "0.500 (0.250 to 0.750)"
    assert cell([1200, 1500, 1650], 0) == "1,450 (1,200 to 1,650)"


def test_a_cell_of_equal_values_has_the_value_alone():
    assert cell([0.5]) == cell([0.5, 0.5001]) == "0.500"


def test_a_line_is_the_mean_and_its_band_reaches_the_lowest_and_the_highest(tmp_path):
    axis = drawn(tmp_path / "a.svg")
    np.testing.assert_allclose(axis.lines[0].get_ydata(), Y.mean(axis=0))
    corners = axis.collections[0].get_paths()[0].vertices
    for at, values in zip((1.0, 2.0), Y.T, strict=True):
        heights = corners[corners[:, 0] == at, 1]
        assert (heights.min(), heights.max()) == (values.min(), values.max())


def test_a_mark_is_at_the_means_and_its_bars_reach_the_lowest_and_the_highest(tmp_path):
    axis = drawn(tmp_path / "a.svg")
    (bars,) = axis.containers
    np.testing.assert_allclose(bars[0].get_xydata(), np.transpose([X.mean(axis=0), Y.mean(axis=0)]))
    for axis_of_bars, values in zip((0, 1), (X, Y), strict=True):
        ends = np.array([segment[:, axis_of_bars] for segment in bars[2][axis_of_bars].get_segments()])
        np.testing.assert_allclose(ends, np.transpose([values.min(axis=0), values.max(axis=0)]))


def test_a_mark_of_single_values_has_bars_in_both_directions(tmp_path):
    with picture(tmp_path / "a.svg", 3.0, 2.0) as figure:
        axis = figure.subplots()
        mark(axis, [1.0, 2.0, 6.0], [0.25, 0.5, 0.75])
    (bars,) = axis.containers
    np.testing.assert_allclose(bars[0].get_xydata(), [[3.0, 0.5]])
    np.testing.assert_allclose(bars[2][0].get_segments(), [[[1.0, 0.5], [6.0, 0.5]]])
    np.testing.assert_allclose(bars[2][1].get_segments(), [[[3.0, 0.25], [3.0, 0.75]]])


def test_equal_numbers_make_equal_files_whose_text_is_text(tmp_path):
    for name in ("a.svg", "b.svg"):
        drawn(tmp_path / name)
    first, second = ((tmp_path / name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first == second
    assert b"<text" in first


def test_rows_and_picture_are_options():
    chosen = options("A benchmark.").parse_args(["--json", "rows.json", "--figure", "a.svg"])
    assert (chosen.json, chosen.figure) == ("rows.json", Path("a.svg"))
    with pytest.raises(SystemExit):
        options("A benchmark.", figure=False).parse_args(["--figure", "a.svg"])


@pytest.mark.parametrize("name", PAGES)
def test_a_page_describes_its_picture_which_is_small(name):
    page = ROOT / "docs" / name
    ((description, file),) = PICTURE.findall(page.read_text(encoding="utf-8"))
    assert len(description) > 20
    content = (page.parent / file).read_text(encoding="utf-8")
    assert len(content) < 60_000
    assert "<dc:date>" not in content
