"""Reliability diagrams: how often answers are right, by how sure the model is of them (DeGroot & Fienberg 1983)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calibration import Calibration
from .figure import new_figure, written

__all__ = ["reliability_diagram"]


def reliability_diagram(calibrations: Mapping[str, Calibration], path: str) -> bytes:
    """Return the content of a figure's file with this name; equal numbers give equal files.

    Each kind of answer has a column: above, a point for each bin at its mean confidence and its accuracy, with the
    diagonal on which a model is that is as sure as it is right; below, how many answers are in each bin. Bars are 95 %
    intervals of the accuracies.

    Args:
        calibrations: calibration by kind of answer ("tokens", "spans").
        path: name of the figure's file; its extension decides the format.
    """
    with new_figure(0.4 + 3.4 * len(calibrations), 4.6) as figure:
        rows = figure.subplots(2, len(calibrations), sharex=True, squeeze=False, height_ratios=(3.0, 1.0))
        for above, below, (name, calibration) in zip(*rows, calibrations.items(), strict=True):
            _draw_reliability(above, calibration)
            above.set_title(
                f"{name}: expected calibration error {100.0 * calibration.expected_error:.2f} %", fontsize=9.0
            )
            _draw_numbers(below, calibration)
            below.set_xlabel("confidence")
        rows[0][0].set_ylabel("accuracy")
        rows[1][0].set_ylabel("number")
        return written(figure, path)


def _draw_reliability(axis: Any, calibration: Calibration) -> None:
    bins = [bin_ for bin_ in calibration.bins if bin_.n]
    filled = [(bin_.confidence, bin_.accuracy) for bin_ in bins]
    axis.plot((0.0, 1.0), (0.0, 1.0), color="0.5", linestyle="--", linewidth=1.0)
    axis.vlines([x for x, _ in filled], [x for x, _ in filled], [y for _, y in filled], color="C3", linewidth=1.0)
    axis.plot([x for x, _ in filled], [y for _, y in filled], marker="o", markersize=3.5, linewidth=1.2)
    ends = [bin_.interval or (0.0, 1.0) for bin_ in bins]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    axis.vlines([x for x, _ in filled], lows, highs, color="C0", alpha=0.4, linewidth=3.0)
    axis.set_xlim(-0.02, 1.02)
    axis.set_ylim(-0.02, 1.02)
    axis.set_xticks([k / 5 for k in range(6)])
    axis.grid(alpha=0.3)


def _draw_numbers(axis: Any, calibration: Calibration) -> None:
    """Draw bars as high as the logarithms of the numbers: most answers of a good model are nearly certain."""
    axis.bar(
        [bin_.low for bin_ in calibration.bins],
        [bin_.n for bin_ in calibration.bins],
        width=0.1,
        align="edge",
        edgecolor="w",
    )
    axis.set_yscale("symlog", linthresh=1.0)
    axis.set_ylim(0.0, 10.0 * max(1, *(bin_.n for bin_ in calibration.bins)))
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.grid(alpha=0.3, axis="y")
