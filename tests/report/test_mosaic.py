"""Mosaic plots: areas are in proportion to counts, tiles do not overlap, colours show residuals."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear.report.mosaic import drawn, tiles

COUNTS = np.array([[[10.0, 30.0], [5.0, 5.0], [0.0, 0.0]], [[20.0, 0.0], [7.0, 3.0], [12.0, 8.0]]])


def test_heights_and_widths_are_shares_of_what_they_divide():
    placed = {tile.place: tile for tile in tiles(COUNTS)}
    assert len(placed) == COUNTS.size
    first = {place[0]: tile for place, tile in placed.items()}
    widths = {
        k: max(t.x + t.width for p, t in placed.items() if p[0] == k) - min(t.x for p, t in placed.items() if p[0] == k)
        for k in first
    }
    assert widths[0] / widths[1] == pytest.approx(50 / 50)
    assert placed[0, 0, 0].height / placed[0, 1, 0].height == pytest.approx(40 / 10)
    assert placed[0, 0, 1].width / placed[0, 0, 0].width == pytest.approx(3)
    assert placed[1, 0, 1].width == 0


def test_tiles_lie_inside_the_square_and_do_not_overlap():
    placed = tiles(COUNTS)
    for tile in placed:
        assert -1e-9 <= tile.x <= tile.x + tile.width <= 1 + 1e-9
        assert -1e-9 <= tile.y <= tile.y + tile.height <= 1 + 1e-9
    for at, a in enumerate(placed):
        for b in placed[:at]:
            across = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
            down = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
            assert across <= 1e-9 or down <= 1e-9


def test_colours_are_of_large_residuals_and_equal_data_give_equal_files():
    counts, levels = np.array([[10.0, 20.0], [30.0, 40.0]]), [["a", "b"], ["c", "d"]]
    residuals = np.array([[4.5, -2.5], [0.0, np.nan]])
    picture = drawn(counts, ["x", "y"], levels, residuals, "m.svg")
    text = picture.decode()
    # Each colour is in the legend; these two are also in a tile.
    assert (text.count("#2166ac"), text.count("#f4a582")) == (2, 2)
    assert (text.count("#b2182b"), text.count("#92c5de")) == (1, 1)
    assert picture == drawn(counts, ["x", "y"], levels, residuals, "m.svg")
