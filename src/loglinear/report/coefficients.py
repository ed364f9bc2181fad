"""A figure of weights with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..vectors import Vector
from ..visible import shortened, visible_name
from .figure import new_figure, written

__all__ = ["Coefficients", "coefficient_figure"]

# Most characters of a name.
_WIDTH = 28
# Colours that people of every kind of colour vision tell apart (Okabe & Ito 2008): of intervals without 0, and with it.
_CLEAR, _UNCLEAR = "#0072b2", "#7f7f7f"


class Coefficients(NamedTuple):
    """Weights with intervals.

    Attributes:
        names: of the weights.
        weights: the weights.
        lower: lower ends of their intervals.
        upper: upper ends.
    """

    names: Sequence[str]
    weights: Vector
    lower: Vector
    upper: Vector


def coefficient_figure(panels: Mapping[str, Coefficients], label: str, path: str) -> bytes:
    """Return the content of a figure's file with this name; equal numbers give equal files.

    Each class has a panel, with a point and an interval for each weight; hollow points have an interval with 0 in it.

    Args:
        panels: weights by title of the panel.
        label: what the horizontal axis shows.
        path: name of the file; its extension decides the format.
    """
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel.names))
    place = {name: at for at, name in enumerate(names)}
    with new_figure(2.6 + 2.6 * max(len(panels), 1), 1.0 + 0.24 * max(len(names), 4)) as figure:
        axes = figure.subplots(1, max(len(panels), 1), sharey=True, squeeze=False)[0]
        for axis, (title, panel) in zip(axes, panels.items(), strict=False):
            at = np.array([place[name] for name in panel.names])
            is_clear = (panel.lower > 0.0) | (panel.upper < 0.0)
            axis.axvline(0.0, color="0.4", linestyle="--", linewidth=1.0)
            for mask, colour, face in ((is_clear, _CLEAR, _CLEAR), (~is_clear, _UNCLEAR, "white")):
                axis.hlines(at[mask], panel.lower[mask], panel.upper[mask], color=colour, linewidth=1.4)
                axis.plot(
                    *(panel.weights[mask], at[mask]), "o", color=colour, markerfacecolor=face, markersize=4.5, zorder=3
                )
            if title:
                axis.set_title(shortened(visible_name(title), 2 * _WIDTH), fontsize=9.0, parse_math=False)
            axis.set_xlabel(label)
            axis.grid(axis="x", alpha=0.3)
        axes[0].set_yticks(
            np.arange(len(names)), [shortened(visible_name(name), _WIDTH) for name in names], parse_math=False
        )
        axes[0].set_ylim(max(len(names), 1) - 0.5, -0.5)
        return written(figure, path)
