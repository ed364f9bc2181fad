"""The layout of a graph's picture: places of variables, names and lines, which Matplotlib or a page then draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..vectors import Vector
from ..visible import visible_name
from .labels import Label, place_labels, text_size, wrapped
from .positions import positions

__all__ = ["MARGIN", "SIGNS", "STRIP", "GraphPicture", "n_shown"]

# Signs of edges in the order of the legend, and what they mean.
SIGNS = {
    1: "positive: higher states together",
    -1: "negative: higher with lower",
    0: "no sign: no order, or no one direction",
}
# Most edges that are shown, and most for each variable that has any: with more a picture is unreadable.
_EDGES, _EDGES_EACH = 60, 1.5
# Most variables without edges that are shown.
_ISOLATED = 12
# Distance of neighbouring variables at first, and how far it grows until all names have room, points.
_GAP, _GROWTH, _LARGEST = 34.0, 1.12, 1500.0
# Most variables that may have names.
_NAMED = 1000
# Width of a picture over its height, as far as the graph lets it: names are wider than high.
_STRETCH = 1.35
# Free space around a graph, and height of the legend and of the notes, points.
MARGIN, STRIP = 10.0, 22.0
# Width of an entry of the legend besides its text, points.
_KEY = 40.0
# Minimum width of a picture, that of a printed page's text, and most distance of neighbours that it asks for, points.
_LEAST, _GAP_TO_FILL = 468.0, 140.0
# Width of the thinnest and of the thickest line, points.
_THIN, _THICK = 0.5, 4.0
# Share of the picture that names may cover at most; with less room some names have no place.
_COVERED = 0.5


def n_shown(n_edges: int, n_variables: int) -> int:
    """Return how many of a graph's edges a picture shows, given the number of variables that have edges."""
    return min(n_edges, max(_EDGES, round(_EDGES_EACH * n_variables)))


class GraphPicture:
    """The elements of a picture and their places. Lengths are in points, and y rises upwards.

    The strongest edges are shown: 60, or 1.5 for each variable if that is more. Variables without a line are shown if
    there are at most 12. The picture grows until all names have room, up to 21 inches; then only variables of the
    strongest edges have names.

    Args:
        names: names of the variables.
        edges: pairs of variables, shape (n_edges, 2).
        strengths: strengths of the edges, >= 0, shape (n_edges,).
        signs: 1 or -1 for each edge, 0 for an edge without a sign, shape (n_edges,).
        weaker: whether variables are shown of which all edges are too weak to be shown.
        meanings: what the signs mean, for the legend.

    Attributes:
        shown: numbers of the variables that are shown, by their strongest edge.
        edges: the edges that are shown, as places in `shown`, the strongest first, shape (n, 2).
        strength: their strengths, shape (n,).
        sign: their signs, shape (n,).
        points: places of the variables, shape (n_shown, 2).
        radius: of the variables' dots.
        labels: names at their places.
        size: of the letters.
        note: what is left out; "" for nothing.
        width: of the picture.
        height: of the picture, with a strip for a legend if `legend` is not empty, and one for a note.
    """

    def __init__(
        self,
        names: Sequence[str],
        edges: npt.ArrayLike,
        strengths: npt.ArrayLike,
        signs: npt.ArrayLike,
        *,
        weaker: bool = False,
        meanings: Mapping[int, str] = SIGNS,
    ) -> None:
        self.meanings = {sign: visible_name(meaning) for sign, meaning in meanings.items()}
        ends = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
        strength, sign = np.asarray(strengths, dtype=np.float64), np.asarray(signs, dtype=np.int64)
        n_edges, n_joined = len(ends), np.unique(ends).size
        strongest = np.argsort(-strength, kind="stable")[: n_shown(n_edges, n_joined)]
        most = np.full(len(names), -1.0)
        lines = slice(None) if weaker else strongest
        np.maximum.at(most, ends[lines].ravel(), np.repeat(strength[lines], 2))
        ends, self.strength, self.sign = ends[strongest], strength[strongest], sign[strongest]
        n_isolated = int((most < 0.0).sum())
        hidden = n_isolated > _ISOLATED
        self.shown = np.argsort(-most, kind="stable")[: len(names) - n_isolated * hidden]
        place = np.full(len(names), -1)
        place[self.shown] = np.arange(self.shown.size)
        self.edges = place[ends]
        self.radius = min(max(17.0 / np.sqrt(max(self.shown.size, 12)), 1.8), 4.5)
        self.size = 9.0 if self.shown.size <= 25 else 8.0 if self.shown.size <= 60 else 7.0
        self.points, self.labels = self._placed([wrapped(visible_name(names[k])) for k in self.shown[:_NAMED].tolist()])
        self.note = self._noted(n_edges, n_isolated if hidden else 0)
        self._fit()

    @property
    def legend(self) -> list[int]:
        """The signs that the legend explains: those that occur."""
        return [sign for sign in self.meanings if (self.sign == sign).any()]

    @property
    def line_widths(self) -> Vector:
        """Widths of the lines, which show the strengths."""
        largest = float(self.strength.max(initial=0.0)) or 1.0
        return np.asarray(_THIN + (_THICK - _THIN) * self.strength / largest)

    def _placed(self, texts: list[str]) -> tuple[Vector, list[Label]]:
        """Return places of variables and names, as near to each other as names allow."""
        at = positions(self.shown.size, self.edges)
        joined = at[self.edges[:, 0]] - at[self.edges[:, 1]] if len(self.edges) else np.array([[1.0, 0.0]])
        gap = max(float(np.median(np.hypot(*joined.T))), 1e-9)
        width, height = np.ptp(at, axis=0) if len(at) else (0.0, 0.0)
        stretch = min(max(_STRETCH * height / max(width, 1e-9), 1.0), _STRETCH)
        filled = min((_LEAST - 2 * MARGIN) / max(width * stretch, 1e-9), _GAP_TO_FILL / gap)
        area = sum(float(text_size(text, self.size).prod()) for text in texts)
        roomy = np.sqrt(area / _COVERED / max(width * stretch * height, 0.01))
        side = max(_GAP / gap, filled, roomy)
        style = {"size": self.size, "radius": self.radius}
        while True:
            side = min(side, _LARGEST) if len(texts) == len(at) else _LARGEST
            points = at * side * [stretch, 1.0]
            labels = place_labels(texts, points, self.edges, **style, partly=side == _LARGEST)
            if labels is not None:
                return points, [label for label in labels if label is not None]
            side *= _GROWTH

    def _noted(self, n_edges: int, n_hidden: int) -> str:
        notes = []
        if len(self.edges) < n_edges:
            notes.append(f"the {len(self.edges):,} strongest of {n_edges:,} edges")
        if n_hidden:
            without = "without edges" if len(self.edges) == n_edges else "without a line"
            notes.append(f"not shown: {n_hidden:,} variables {without}")
        if len(self.labels) < len(self.points):
            notes.append(f"named: the {len(self.labels):,} of {len(self.points):,} variables with the strongest edges")
        return "; ".join(notes)

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
        legend = STRIP * bool(self.legend)
        notes = STRIP * bool(self.note)
        strips = [
            text_size(self.note, 8.0)[0],
            sum(text_size(self.meanings[sign], 8.0)[0] + _KEY for sign in self.legend),
        ]
        self.width = max(high[0] - low[0] + 2 * MARGIN, _LEAST, *(float(strip) + 2 * MARGIN for strip in strips))
        self.height = high[1] - low[1] + 2 * MARGIN + legend + notes
        move = np.array([(self.width - high[0] - low[0]) / 2.0, MARGIN + notes - low[1]])
        self.points = self.points + move
        self.labels = [Label(label.text, label.x + move[0], label.y + move[1]) for label in self.labels]
