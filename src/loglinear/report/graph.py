"""The picture of a graph as a file: variables, and lines between those that interact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from .figure import new_figure, of_matplotlib, written
from .graph_picture import SIGNS, STRIP, GraphPicture

__all__ = ["draw", "drawn"]

# Colours and dashes of edges by their signs; people of every kind of colour vision tell these colours apart (Okabe &
# Ito 2008), and a print in grey has the dashes.
_STYLES: dict[int, tuple[str, Any]] = {1: ("#0072b2", "solid"), -1: ("#b34a00", (0, (4, 1.5))), 0: ("#777777", "solid")}
# Points of an inch.
_POINTS = 72.0


def drawn(
    names: Sequence[str],
    edges: npt.ArrayLike,
    strengths: npt.ArrayLike,
    signs: npt.ArrayLike,
    path: str,
    meanings: Mapping[int, str] = SIGNS,
) -> bytes:
    """Return the content of a figure's file with this name; equal graphs give equal files.

    The width of a line shows the strength of its edge. See `GraphPicture` for what is shown; a line below the graph
    says what is left out.

    The caller calls `check_figure` before the work that leads to the figure.

    Args:
        names: names of the variables.
        edges: pairs of variables, shape (n_edges, 2).
        strengths: strengths of the edges, >= 0, shape (n_edges,).
        signs: 1 or -1 for each edge, 0 for an edge without a sign, shape (n_edges,).
        path: name of the file: .svg, .png or .pdf.
        meanings: what the signs mean, for the legend.
    """
    picture = GraphPicture(names, edges, strengths, signs, meanings=meanings)
    with new_figure(picture.width / _POINTS, picture.height / _POINTS, constrained=False) as figure:
        draw(picture, figure)
        return written(figure, path)


def draw(picture: GraphPicture, figure: Any) -> None:
    """Draw a picture on a figure of its size."""
    axis = figure.add_axes((0.0, 0.0, 1.0, 1.0), xlim=(0.0, picture.width), ylim=(0.0, picture.height))
    axis.set_axis_off()
    _draw_lines(picture, axis)
    axis.scatter(*picture.points.T, s=picture.radius**2 * 4.0, color="0.2", linewidths=0.0, zorder=4)
    # The ground of a name hides the lines that would run through it.
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
    style: dict[str, Any] = {"ha": "center", "va": "center", "linespacing": 1.1, "parse_math": False}
    for label in picture.labels:
        axis.text(label.x, label.y, label.text, fontsize=picture.size, bbox=box, zorder=3, **style)
    if picture.note:
        figure.text(0.5, STRIP / 2.0 / picture.height, picture.note, fontsize=8.0, color="0.35", **style)


def _draw_lines(picture: GraphPicture, axis: Any) -> None:
    """Draw the edges, and a legend above the graph."""
    line_collection, line = of_matplotlib("collections").LineCollection, of_matplotlib("lines").Line2D
    for sign, (colour, dashes) in _STYLES.items():
        chosen = picture.sign == sign
        if chosen.any():
            segments = picture.points[picture.edges[chosen]]
            style = {"linewidths": picture.line_widths[chosen], "colors": colour, "linestyles": [dashes]}
            axis.add_collection(line_collection(segments, zorder=1, **style))
    handles = []
    for sign in picture.legend:
        colour, dashes = _STYLES[sign]
        handles.append(line([], [], color=colour, linestyle=dashes, linewidth=2.0, label=picture.meanings[sign]))
    if handles:
        axis.figure.legend(handles=handles, loc="upper center", ncols=3, frameon=False, fontsize=8.0)
