"""Names next to the variables of a drawn graph, where they cover neither each other nor a variable."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import east_asian_width

import numpy as np
from scipy.spatial import cKDTree

from ..networks.numbering import Numbers
from ..vectors import Vector
from .figure import of_matplotlib

__all__ = ["Label", "place_labels", "wrapped"]

# Most characters of a line, and most lines of a name.
_WIDTH, _LINES = 22, 4
# Points on an edge at which a name may cover it.
_STEPS = np.linspace(0.05, 0.95, 19)[:, None]
# Minimum distance of a name to a dot, and half of the minimum distance to another name, points.
_GAP = np.array([1.8, 0.4])
# Height of a line over the size of its letters.
LINE = 1.2
# Width of a letter over its size, where it cannot be measured.
_LETTER = 0.65
# Directions from a variable to the middle of its name, in halves of the name's width and height, the best first: above,
# below, beside, and between these.
_DIRECTIONS = np.array(
    [(0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)]
    + [(x, y) for x in (0.5, -0.5) for y in (1, -1)]
    + [(x, y) for x in (1, -1) for y in (0.5, -0.5)]
)


@dataclass(frozen=True)
class Label:
    """A name at its place.

    Attributes:
        text: the name, in lines.
        x: middle of the name, points.
        y: middle of the name, points.
    """

    text: str
    x: float
    y: float


def wrapped(name: str) -> str:
    """Return a name in lines of at most 22 characters; a name of more than four lines is cut."""
    return "\n".join(textwrap.wrap(name, _WIDTH, max_lines=_LINES, placeholder=" …"))


def place_labels(
    texts: Sequence[str], points: Vector, edges: Numbers, *, size: float, radius: float, partly: bool = False
) -> list[Label | None] | None:
    """Return a place for each name, the first name first.

    Args:
        texts: names, in lines, of the first variables.
        points: places of all variables, points, shape (n, 2).
        edges: pairs of variables, which names rather do not cover, shape (n_edges, 2).
        size: of the letters, points.
        radius: of a variable's dot, points.
        partly: whether names without room are left out, as None; otherwise there is no result if a name has no room.
    """
    boxes = np.concatenate([points - radius, points + radius], axis=1)
    first, second = points[edges[:, 0]], points[edges[:, 1]]
    on_edges = (first[:, None] + _STEPS * (second - first)[:, None]).reshape(-1, 2)
    tree = cKDTree(on_edges) if len(on_edges) else None
    labels: list[Label | None] = []
    for k, (text, point) in enumerate(zip(texts, points, strict=False)):
        half = text_size(text, size) / 2.0
        # A name at a corner of its dot may come nearer.
        dots = np.where((np.abs(_DIRECTIONS) == 1).all(axis=1), 0.3 * radius, radius)[:, None]
        away = _DIRECTIONS * half + np.sign(_DIRECTIONS) * (np.abs(_DIRECTIONS) == 1) * (dots + _GAP)
        candidates = np.concatenate([point + away - half - _GAP, point + away + half + _GAP], axis=1)
        reach = 2.0 * half + radius + 3.0 * _GAP
        near = (boxes[:, :2] < point + reach).all(axis=1) & (boxes[:, 2:] > point - reach).all(axis=1)
        near[k] = False  # the name's own dot, which it may touch
        free = np.flatnonzero(~(_shared(candidates, boxes[near]) > 1e-6).any(axis=1))
        if free.size:
            within = [] if tree is None else tree.query_ball_point(point, float(np.hypot(*reach)))
            crossed = [_inside(on_edges[within], candidates[place]) for place in free.tolist()]
            best = int(free[np.argmin(crossed)])
            labels.append(Label(text, *(point + away[best]).tolist()))
            boxes = np.concatenate([boxes, candidates[best][None]])
        elif partly:
            labels.append(None)
        else:
            return None
    return labels


def _shared(candidates: Vector, boxes: Vector) -> Vector:
    """The area that each candidate box (left, bottom, right, top) shares with each of the other boxes."""
    both = np.minimum(candidates[:, None, 2:], boxes[:, 2:]) - np.maximum(candidates[:, None, :2], boxes[:, :2])
    return np.asarray(np.maximum(both, 0.0).prod(axis=2))


def _inside(points: Vector, box: Vector) -> int:
    return int(((points > box[:2]) & (points < box[2:])).all(axis=1).sum())


def text_size(text: str, size: float) -> Vector:
    """Return width and height of a text in lines, points."""
    lines = text.split("\n")
    return np.array([max(_line_width(line, size) for line in lines), len(lines) * LINE * size])


@lru_cache(maxsize=4096)
def _line_width(line: str, size: float) -> float:
    """Width of a line of letters of matplotlib's default font, points; about that without matplotlib.

    The font has no Chinese, Japanese and Korean letters, which are as wide as high.
    """
    wide = sum(east_asian_width(letter) in "WF" for letter in line)
    narrow = "".join(letter for letter in line if east_asian_width(letter) not in "WF")
    try:
        agg, fonts = of_matplotlib("backends.backend_agg"), of_matplotlib("font_manager")
    except ImportError:
        return size * (wide + _LETTER * len(narrow))
    # 288 pixels to the inch: four to the point.
    renderer = agg.RendererAgg(1, 1, 288)
    measured = renderer.get_text_width_height_descent(narrow, fonts.FontProperties(size=size), ismath=False)[0]
    return size * wide + float(measured) / 4.0
