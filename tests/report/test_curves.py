"""Curves: the name of a marked line is inside the figure and on no curve."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from examples import by_day
from loglinear.report import curves, figure

X = np.geomspace(500.0, 0.5, 20).tolist()
PANELS = {"active features": list(range(20)), "objective": [1e6 / (k + 1) for k in range(20)]}


def made(marked):
    return curves.Curves("l1", X, PANELS, falling=True, marked=marked)


@pytest.mark.parametrize("at", by_day([0, 3, 10, 16, 19], lambda at: at in (0, 10, 19)))
def test_a_marked_line_is_named_above_the_curves_and_without_a_legend(at, monkeypatch):
    seen = []

    def keeping(drawn, path):
        seen.append(drawn)
        return figure.written(drawn, path)

    monkeypatch.setattr(curves, "written", keeping)
    made((X[at], "best on development data")).drawn("a.png")
    (drawn,) = seen
    FigureCanvasAgg(drawn).draw()
    first = drawn.axes[0]
    assert all(axis.get_legend() is None for axis in drawn.axes)
    (name,) = first.texts
    box = name.get_window_extent()
    assert box.y0 >= first.bbox.y1
    assert box.x0 >= 0.0
    assert box.x1 <= drawn.bbox.x1
    assert box.y1 <= drawn.bbox.y1


def test_numbers_are_written_out():
    found = re.findall(r"<!-- (.*?) -->", made(None).drawn("a.svg").decode())
    assert "200,000" in found
    assert "1e6" not in found
