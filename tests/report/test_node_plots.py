"""Figures of the variables of a network: what is drawn is what was measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loglinear.errors import OptionError
from loglinear.models.explain.node_tables import Centrality
from loglinear.models.training.case_dropping import STATISTICS, NetworkStability
from loglinear.report import figure, node_plots
from loglinear.report.node_plots import Band, centrality_figure, stability_figure

NAMES = ["a", "$b$ < c", "d"]
MEASURES = {"strength": np.array([1.0, 3.0, 2.0]), "closeness": np.array([0.5, math.nan, 0.1])}


@pytest.fixture
def drawn(monkeypatch):
    """The matplotlib figures that are drawn."""
    seen = []

    def keeping(drawn, path):
        seen.append(drawn)
        return figure.written(drawn, path)

    monkeypatch.setattr(node_plots, "written", keeping)
    return seen


def test_a_panel_has_a_point_for_each_variable_the_largest_on_top(drawn):
    content = centrality_figure(NAMES, MEASURES, "a.svg")
    assert content == centrality_figure(NAMES, MEASURES, "a.svg")
    strength, closeness = drawn[0].axes
    assert [tick.get_text() for tick in strength.get_yticklabels()] == ["$b$ < c", "d", "a"]
    assert_allclose(strength.lines[0].get_xdata(), [3.0, 2.0, 1.0])
    assert_allclose(closeness.lines[0].get_xdata(), [math.nan, 0.1, 0.5])
    assert strength.get_ylim()[0] > strength.get_ylim()[1]


def test_z_scores_have_mean_0_and_standard_deviation_1(drawn):
    equal = {"equal": np.ones(3)}
    centrality_figure(NAMES, MEASURES | equal, "a.svg", z=True)
    first, second, third = (axis.lines[0].get_xdata() for axis in drawn[0].axes)
    assert_allclose([np.mean(first), np.std(first, ddof=1)], [0.0, 1.0], atol=1e-12)
    assert_allclose([np.nanmean(second), np.nanstd(second, ddof=1)], [0.0, 1.0], atol=1e-12)
    assert_allclose(third, 0.0)


def test_of_many_variables_the_largest_are_shown(drawn):
    centrality_figure([str(k) for k in range(100)], {"strength": np.arange(100.0)}, "a.svg")
    assert_allclose(drawn[0].axes[0].lines[0].get_xdata(), np.arange(99.0, 39.0, -1.0))
    assert drawn[0].get_suptitle() == "the 60 of 100 variables with the largest strength"


def test_curves_are_means_and_bands_ends(drawn):
    undefined = Band([math.nan] * 2, [math.nan] * 2, [math.nan] * 2)
    stability_figure([0.25, 0.5], {"edges": Band([0.9, 0.8], [0.7, 0.6], [1.0, 0.9]), "none": undefined}, 0.7, "a.svg")
    (axis,) = drawn[0].axes
    curve, least = axis.lines
    assert_allclose(curve.get_xydata(), [[25.0, 0.9], [50.0, 0.8]])
    assert_allclose(least.get_ydata(), 0.7)
    (band,) = axis.collections
    low, high = band.get_datalim(axis.transData).get_points()
    assert_allclose([low, high], [[25.0, 0.6], [50.0, 1.0]])
    assert [text.get_text() for text in drawn[0].legends[0].get_texts()] == ["edges"]


def test_results_write_their_figures_and_refuse_other_formats(tmp_path):
    stability = NetworkStability(np.array([0.5]), np.full((1, 2, 5), np.nan), STATISTICS, 0.7, 0.95, 2)
    centrality = Centrality(NAMES, *np.ones((4, 3)))
    for result in (stability, centrality):
        result.save_figure(tmp_path / "a.svg")
        assert b"<svg" in (tmp_path / "a.svg").read_bytes()
        with pytest.raises(OptionError, match=r"unknown figure format; the name must end in \.svg, \.png or \.pdf"):
            result.save_figure(tmp_path / "a.jpg")
