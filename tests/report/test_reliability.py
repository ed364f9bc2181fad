"""Reliability diagrams: what is drawn is what was counted."""

from __future__ import annotations

import pytest

from loglinear.metrics import calibration
from loglinear.report import figure, reliability

TOKENS = calibration([0.05, 0.75, 0.75, 1.0, 1.0, 1.0], [False, True, False, True, True, False])
SPANS = calibration([0.35], [True])


@pytest.fixture
def drawn(monkeypatch):
    """The matplotlib figures that are drawn."""
    seen = []

    def keeping(drawn, path):
        seen.append(drawn)
        return figure.written(drawn, path)

    monkeypatch.setattr(reliability, "written", keeping)
    return seen


def test_points_are_the_bins_with_answers_and_bars_their_numbers(drawn):
    reliability.reliability_diagram({"tokens": TOKENS, "spans": SPANS}, "a.png")
    tokens, spans, *bars = drawn[0].axes
    for axis, found in ((tokens, TOKENS), (spans, SPANS)):
        diagonal, points = axis.lines
        assert (*diagonal.get_xdata(), *diagonal.get_ydata()) == (0.0, 1.0, 0.0, 1.0)
        filled = [each for each in found.bins if each.n]
        assert list(points.get_xdata()) == [each.confidence for each in filled]
        assert list(points.get_ydata()) == [each.accuracy for each in filled]
        assert f"{100 * found.expected_error:.2f}" in axis.get_title()
    for axis, found in zip(bars, (TOKENS, SPANS), strict=True):
        assert [bar.get_height() for bar in axis.patches] == [each.n for each in found.bins]


@pytest.mark.parametrize("path", ["a.svg", "a.png"])
def test_equal_numbers_give_equal_files(path):
    first = reliability.reliability_diagram({"samples": TOKENS}, path)
    assert first == reliability.reliability_diagram({"samples": TOKENS}, path)
    assert first.startswith(b"<?xml" if path.endswith("svg") else b"\x89PNG")


def test_nothing_to_draw_is_an_empty_diagram():
    assert reliability.reliability_diagram({"spans": calibration([], [])}, "a.svg")
