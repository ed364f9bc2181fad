"""Curves over a common axis, one below the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .figure import new_figure, written

__all__ = ["Curves"]


@dataclass(frozen=True)
class Curves:
    """Curves over a common axis, each in a separate panel.

    Attributes:
        x_name: name of the common axis.
        x: positions of the points on it.
        panels: from top to bottom, name of a curve -> its value at each point, None for no value.
        falling: whether the common axis is logarithmic and falls from left to right.
        marked: position and name of a vertical line.
    """

    x_name: str
    x: Sequence[float]
    panels: Mapping[str, Sequence[float | None]]
    falling: bool = False
    marked: tuple[float, str] | None = None

    def drawn(self, path: str) -> bytes:
        """Return the content of a figure's file with this name; equal numbers give equal files."""
        with new_figure(6.4, 1.0 + 1.9 * len(self.panels)) as figure:
            axes = figure.subplots(len(self.panels), 1, sharex=True, squeeze=False)[:, 0]
            for axis, (name, values) in zip(axes, self.panels.items(), strict=True):
                heights = [math.nan if value is None else value for value in values]
                axis.plot(self.x, heights, marker="o", markersize=2.5, linewidth=1.2)
                axis.set_ylabel(name)
                axis.yaxis.set_major_formatter("{x:,.10g}")
                axis.grid(alpha=0.3)
                if self.marked is not None:
                    axis.axvline(self.marked[0], color="0.4", linestyle="--", linewidth=1.0)
            if self.falling:
                axes[-1].set_xscale("log")
                axes[-1].invert_xaxis()
                axes[-1].xaxis.set_major_formatter("{x:g}")
            axes[-1].set_xlabel(self.x_name)
            if self.marked is not None:
                _name_line(axes[0], *self.marked)
            return written(figure, path)


def _name_line(axis: Any, x: float, name: str) -> None:
    """Write the name of a vertical line above it, and above the panel, where no curve is."""
    share = axis.transAxes.inverted().transform(axis.transData.transform((x, 0.0)))[0]
    axis.annotate(
        name,
        (x, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0.0, 3.0),
        textcoords="offset points",
        ha="left" if share < 0.25 else "right" if share > 0.75 else "center",
        va="bottom",
        color="0.3",
        annotation_clip=False,
    )
