"""The picture of a graph: variables, and lines between those that interact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..networks.numbering import Numbers
from ..vectors import Vector
from .figure import new_figure, written
from .labels import Label, place_labels, text_size, wrapped
from .positions import positions

__all__ = ["drawn", "n_shown"]

# Sign of an edge -> colour and name; people of every kind of colour vision tell these colours apart (Okabe & Ito 2008).
_COLOURS = {1: ("#0072b2", "positive"), -1: ("#d55e00", "negative"), 0: ("#777777", "several states")}
# Most edges that are shown, and most for each variable that has any: with more a picture is unreadable.
_EDGES, _EDGES_EACH = 60, 1.5
# Most variables without edges that are shown.
_ISOLATED = 12
# Points of an inch.
_POINTS = 72.0
# Distance of neighbouring variables at first, and how far it grows until all names have room, points.
_GAP, _GROWTH, _LARGEST = 34.0, 1.12, 1500.0
# Width of a picture over its height, as far as the graph lets it: names are wider than high.
_STRETCH = 1.35
# Free space around a graph, and height of the legend and of the notes, points.
_MARGIN, _STRIP = 10.0, 22.0
# Minimum width of a picture, which must hold legend and notes, points.
_LEAST = 320.0


def n_shown(n_edges: int, n_variables: int) -> int:
    """Return how many of a graph's edges a picture shows, given the number of variables that have edges."""
    return min(n_edges, max(_EDGES, round(_EDGES_EACH * n_variables)))


def drawn(
    names: Sequence[str], edges: npt.ArrayLike, strengths: npt.ArrayLike, signs: npt.ArrayLike, path: str
) -> bytes:
    """Return the content of a figure's file with this name; equal graphs give equal files.

    The width of a line shows the strength of its edge. Of many edges the strongest are shown: 60, or 1.5 for each
    variable if that is more. Variables without a line are shown if there are at most 12. The picture grows until all
    names have room, up to 21 inches; then only nodes of the strongest edges have names. A line below the graph says
    what is left out.

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
    picture = _Picture(names, ends, strength, sign)
    with new_figure(picture.width / _POINTS, picture.height / _POINTS, constrained=False) as figure:
        picture.draw(figure)
        return written(figure, path)


class _Picture:
    """The elements of a picture and their places; the arguments of `drawn`. Lengths are in points."""

    def __init__(self, names: Sequence[str], edges: Numbers, strength: Vector, sign: Numbers) -> None:
        n_edges, n_joined = len(edges), np.unique(edges).size
        strongest = np.sort(np.argsort(-strength, kind="stable")[: n_shown(n_edges, n_joined)])
        edges, self.strength, self.sign = edges[strongest], strength[strongest], sign[strongest]
        most = np.full(len(names), -1.0)
        np.maximum.at(most, edges.ravel(), np.repeat(self.strength, 2))
        n_isolated = int((most < 0.0).sum())
        hidden = n_isolated > _ISOLATED
        # The variables that are shown, those of the strongest edges first.
        shown = np.argsort(-most, kind="stable")[: len(names) - n_isolated * hidden]
        place = np.full(len(names), -1)
        place[shown] = np.arange(shown.size)
        self.edges = place[edges]
        self.radius = min(max(17.0 / np.sqrt(max(shown.size, 12)), 1.8), 4.5)
        self.size = 9.0 if shown.size <= 25 else 8.0 if shown.size <= 60 else 7.0
        texts = [wrapped(names[k]) for k in shown.tolist()]
        self.points, self.labels = self._placed(texts)
        self._note(n_edges, n_isolated if hidden else 0)
        self._fit()

    def _placed(self, texts: list[str]) -> tuple[Vector, list[Label]]:
        """Return places of variables and names, as near to each other as names allow."""
        at = positions(len(texts), self.edges)
        joined = at[self.edges[:, 0]] - at[self.edges[:, 1]] if len(self.edges) else np.array([[1.0, 0.0]])
        side = _GAP / max(float(np.median(np.hypot(*joined.T))), 1e-9)
        width, height = np.ptp(at, axis=0) if len(at) else (0.0, 0.0)
        stretch = min(max(_STRETCH * height / max(width, 1e-9), 1.0), _STRETCH)
        style = {"size": self.size, "radius": self.radius}
        while True:
            side = min(side, _LARGEST)
            points = at * side * [stretch, 1.0]
            labels = place_labels(texts, points, self.edges, **style, partly=side == _LARGEST)
            if labels is not None:
                return points, [label for label in labels if label is not None]
            side *= _GROWTH

    def _note(self, n_edges: int, n_hidden: int) -> None:
        notes = []
        if len(self.edges) < n_edges:
            notes.append(f"the {len(self.edges):,} strongest of {n_edges:,} edges")
        if n_hidden:
            without = "without edges" if len(self.edges) == n_edges else "without a line"
            notes.append(f"not shown: {n_hidden:,} variables {without}")
        if len(self.labels) < len(self.points):
            notes.append(f"named: the {len(self.labels):,} of {len(self.points):,} variables with the strongest edges")
        self.note = "; ".join(notes)

    def _fit(self) -> None:
        """Compute the size of the picture, and move its elements to their places."""
        boxes = [np.concatenate([self.points - self.radius, self.points + self.radius], axis=1)]
        for label in self.labels:
            half = text_size(label.text, self.size) / 2.0
            middle = np.array([label.x, label.y])
            boxes.append(np.concatenate([middle - half, middle + half])[None])
        corners = np.concatenate(boxes)
        low, high = (
            (corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)) if len(corners) else (np.zeros(2), np.zeros(2))
        )
        legend = _STRIP * (len(self._kinds()) > 1)
        notes = _STRIP * bool(self.note)
        self.width = max(high[0] - low[0] + 2 * _MARGIN, _LEAST, text_size(self.note, 8.0)[0] + 2 * _MARGIN)
        self.height = high[1] - low[1] + 2 * _MARGIN + legend + notes
        move = np.array([(self.width - high[0] - low[0]) / 2.0, _MARGIN + notes - low[1]])
        self.points = self.points + move
        self.labels = [Label(label.text, label.x + move[0], label.y + move[1]) for label in self.labels]

    def _kinds(self) -> list[int]:
        return [kind for kind in _COLOURS if (self.sign == kind).any()]

    def draw(self, figure: Any) -> None:
        """Draw on a figure of the picture's size."""
        axis = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, self.width), ylim=(0.0, self.height))
        axis.set_axis_off()
        self._draw_lines(axis)
        axis.scatter(*self.points.T, s=self.radius**2 * 4.0, color="0.2", linewidths=0.0, zorder=4)
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.3}
        style: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1, "parse_math": False}
        for label in self.labels:
            axis.text(label.x, label.y, label.text, fontsize=self.size, bbox=box, zorder=3, **style)
        if self.note:
            figure.text(0.5, _STRIP / 2.0 / self.height, self.note, fontsize=8.0, color="0.35", **style)

    def _draw_lines(self, axis: Any) -> None:
        """Draw the edges, and a legend above the graph if their colours differ."""
        from matplotlib.collections import LineCollection
        from matplotlib.lines import Line2D

        largest = self.strength.max(initial=0.0) or 1.0
        for kind in self._kinds():
            chosen = self.sign == kind
            widths = 0.4 + 3.6 * self.strength[chosen] / largest
            segments = self.points[self.edges[chosen]]
            axis.add_collection(LineCollection(segments, linewidths=widths, colors=_COLOURS[kind][0], zorder=1))
        if len(self._kinds()) > 1:
            handles = [Line2D([], [], color=_COLOURS[k][0], linewidth=2.0, label=_COLOURS[k][1]) for k in self._kinds()]
            axis.figure.legend(handles=handles, loc="upper center", ncols=3, frameon=False, fontsize=8.0)
