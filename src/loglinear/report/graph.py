"""The picture of a graph: variables, and lines between those that interact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..networks.numbering import Numbers
from ..vectors import Vector
from .figure import new_figure, written
from .positions import positions

__all__ = ["drawn"]

# Sign of an edge -> colour and name; people of every kind of colour vision tell these colours apart (Okabe & Ito 2008).
_COLOURS = {1: ("#0072b2", "positive"), -1: ("#d55e00", "negative"), 0: ("#777777", "several states")}
# Most variables without edges that are shown.
_ISOLATED = 12
# Most variables with names.
_LABELS = 60
# Most characters of a name.
_CHARACTERS = 18
# Share of the figure that the graph takes.
_SHARE = 0.84
# Points of an inch.
_POINTS = 72.0


def drawn(
    names: Sequence[str], edges: npt.ArrayLike, strengths: npt.ArrayLike, signs: npt.ArrayLike, path: str
) -> bytes:
    """Return the content of a figure's file with this name; equal graphs give equal files.

    The width of a line shows the strength of its edge. Variables without edges are shown if there are at most 12. All
    variables have names if at most 60 are shown; otherwise the 60 with the strongest edges have, where there is room.
    A line below the graph says what is left out.

    The caller calls `check_figure` before the work that leads to the figure.

    Args:
        names: names of the variables.
        edges: pairs of variables, shape (n_edges, 2).
        strengths: strengths of the edges, >= 0, shape (n_edges,).
        signs: 1 or -1 for each edge, 0 for an edge with several weights, shape (n_edges,).
        path: name of the file: .svg, .png or .pdf.
    """
    ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    strength, sign = np.asarray(strengths, dtype=np.float64), np.asarray(signs, dtype=np.int64)
    most = np.full(len(names), -1.0)
    np.maximum.at(most, ends.ravel(), np.repeat(strength, 2))
    n_isolated = int((most < 0.0).sum())
    shown = np.flatnonzero(most >= 0.0) if n_isolated > _ISOLATED else np.arange(len(names))
    place = np.full(len(names), -1)
    place[shown] = np.arange(shown.size)
    at = positions(shown.size, place[ends])
    side = min(4.5 + 0.45 * math.sqrt(shown.size), 16.0)
    points = at * side * _SHARE * _POINTS
    strongest = np.argsort(-most[shown], kind="stable")[:_LABELS]
    labels = _Labels(points, forced=shown.size <= _LABELS)
    n_named = labels.place((_short(names[shown[k]]), k) for k in strongest.tolist())
    notes = [f"{n_isolated:,} variables without edges are left out"] if n_isolated > _ISOLATED else []
    if n_named < shown.size:
        notes.append(f"names of {n_named} of {shown.size:,} variables, those with the strongest edges")
    with new_figure(side, side, constrained=False) as figure:
        axis = figure.add_axes((0.5 - _SHARE / 2.0, 0.5 - _SHARE / 2.0, _SHARE, _SHARE), xlim=(0, 1), ylim=(0, 1))
        axis.set_axis_off()
        _lines(axis, at, place[ends], strength, sign)
        axis.scatter(*at.T, s=labels.radius**2 * 4.0, color="0.2", linewidths=0.0, zorder=2, clip_on=False)
        labels.draw(axis)
        figure.text(0.5, 0.012, "; ".join(notes), ha="center", fontsize=8.0, color="0.35")
        return written(figure, path)


def _short(name: str) -> str:
    """The name, cut to `_CHARACTERS`."""
    return name if len(name) <= _CHARACTERS else name[: _CHARACTERS - 1] + "…"


def _lines(axis: Any, at: Vector, edges: Numbers, strength: Vector, sign: Numbers) -> None:
    """Draw the edges, and a legend of their colours."""
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    largest = strength.max(initial=0.0) or 1.0
    kinds = [kind for kind in _COLOURS if (sign == kind).any()]
    for kind in kinds:
        chosen = sign == kind
        widths = 0.4 + 3.6 * strength[chosen] / largest
        colour = _COLOURS[kind][0]
        axis.add_collection(
            LineCollection(at[edges[chosen]], linewidths=widths, colors=colour, zorder=1, clip_on=False)
        )
    if kinds:
        handles = [Line2D([], [], color=_COLOURS[kind][0], linewidth=2.0, label=_COLOURS[kind][1]) for kind in kinds]
        axis.figure.legend(handles=handles, loc="upper center", ncols=3, frameon=False, fontsize=8.0)


class _Labels:
    """Names beside variables, placed one by one where they cover neither each other nor a variable.

    Args:
        points: places of the variables, in points, shape (n, 2).
        forced: whether a name is written even where there is no room.

    Attributes:
        radius: radius of a variable's dot, in points.
    """

    def __init__(self, points: Vector, *, forced: bool) -> None:
        self.points, self.forced = points, forced
        self.radius = min(max(17.0 / math.sqrt(max(len(points), 12)), 1.4), 4.5)
        self.size = 9.0 if len(points) <= 25 else 7.0
        self._boxes = np.concatenate([points - self.radius, points + self.radius], axis=1)
        self._placed: list[tuple[str, float, float]] = []

    def place(self, named: Iterable[tuple[str, int]]) -> int:
        """Place names beside their variables, first name first; return the number of names placed so far."""
        for name, k in named:
            # Letters are about 0.6 of their height wide.
            half, height = 0.3 * self.size * len(name), 1.2 * self.size
            x, y = self.points[k]
            beside, above = self.radius + half + 1.0, self.radius + height / 2.0 + 0.5
            places = [(x, y + above), (x, y - above), (x + beside, y), (x - beside, y)]
            boxes = [np.array([a - half, b - height / 2.0, a + half, b + height / 2.0]) for a, b in places]
            covered = [self._covered(box) for box in boxes]
            best = int(np.argmin(covered))
            if covered[best] == 0.0 or self.forced:
                self._placed.append((name, *places[best]))
                self._boxes = np.concatenate([self._boxes, boxes[best][None]])
        return len(self._placed)

    def _covered(self, box: Vector) -> float:
        """The area that a box shares with all boxes placed so far."""
        both = np.minimum(box[2:], self._boxes[:, 2:]) - np.maximum(box[:2], self._boxes[:, :2])
        return float(np.maximum(both, 0.0).prod(axis=1).sum())

    def draw(self, axis: Any) -> None:
        """Write the names on half-transparent white."""
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.65, "pad": 0.3}
        figure = axis.figure
        margin = figure.get_figwidth() * (1.0 - _SHARE) / 2.0
        for name, x, y in self._placed:
            figure.text(
                x / _POINTS + margin,
                y / _POINTS + margin,
                # A dollar would start a formula.
                name.replace("$", r"\$"),
                transform=figure.dpi_scale_trans,
                ha="center",
                va="center",
                fontsize=self.size,
                bbox=box,
                zorder=3,
            )
