"""Mosaic plots of contingency tables, shaded by residuals (Friendly 1994)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..vectors import Vector
from ..visible import shortened, visible_name
from .figure import new_figure, written

__all__ = ["MOST_VARIABLES", "drawn"]

MOST_VARIABLES = 4
"""Largest number of variables of a plot."""
# Least absolute residual of each colour, and the colours of positive and negative ones.
_SHADES = ((4.0, "#2166ac", "#b2182b", "white"), (2.0, "#92c5de", "#f4a582", "black"))
_NONE = "#f0f0f0"
_GAP = 0.035
_LABEL = 14


class _Tile(NamedTuple):
    """A rectangle of a cell: its place in the table, its left lower corner and its size."""

    place: tuple[int, ...]
    x: float
    y: float
    width: float
    height: float


def tiles(counts: Vector) -> list[_Tile]:
    """Return the rectangles of all cells; their areas without gaps are in proportion to the counts."""
    return [*_tiles(counts, (), 0.0, 0.0, 1.0, 1.0)]


def _tiles(counts: Vector, place: tuple[int, ...], x: float, y: float, width: float, height: float) -> Iterator[_Tile]:
    if not counts.ndim:
        yield _Tile(place, x, y, width, height)
        return
    totals = counts.reshape(counts.shape[0], -1).sum(axis=1)
    whole = totals.sum()
    shares = totals / whole if whole else totals * 0.0 + 1.0 / len(totals)
    is_across = len(place) % 2 == 0
    gap = _GAP / (1.0 + len(place)) / max(len(totals) - 1, 1)
    room = (width if is_across else height) * (1.0 - gap * (len(totals) - 1))
    step = gap * (width if is_across else height)
    # Levels go from the left to the right, and from the top to the bottom.
    at = x if is_across else y + height
    for number, share in enumerate(shares.tolist()):
        size = share * room
        if is_across:
            yield from _tiles(counts[number], (*place, number), at, y, size, height)
            at += size + step
        else:
            yield from _tiles(counts[number], (*place, number), x, at - size, width, size)
            at -= size + step


def _colours(residual: float) -> tuple[str, str]:
    for least, positive, negative, text in _SHADES:
        if abs(residual) >= least:
            return (positive if residual > 0 else negative), text
    return _NONE, "black"


def drawn(counts: Vector, names: Sequence[str], levels: Sequence[Sequence[Any]], residuals: Vector, path: str) -> bytes:
    """Return the content of the file of a plot; the name decides the format.

    Args:
        counts: observed counts, which are the areas.
        names: names of the variables.
        levels: levels of each variable.
        residuals: in the shape of the counts, coloured if they are 2 or more in absolute value.
        path: name of the file.
    """
    with new_figure(6.4, 5.2) as figure:
        axes = figure.add_subplot()
        axes.set(xlim=(-0.002, 1.002), ylim=(-0.002, 1.002))
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        placed = tiles(counts)
        for tile in placed:
            fill, ink = _colours(residuals[tile.place])
            axes.bar(
                tile.x, tile.height, tile.width, tile.y, align="edge", color=fill, edgecolor="#555555", linewidth=0.6
            )
            count = counts[tile.place]
            if tile.width > 0.06 and tile.height > 0.035:
                centre = tile.x + tile.width / 2, tile.y + tile.height / 2
                axes.text(*centre, f"{count:,.6g}", ha="center", va="center", fontsize=7, color=ink)
        _label(axes, placed, names, levels)
        _legend(figure)
        return written(figure, path)


def _label(axes: Any, placed: list[_Tile], names: Sequence[str], levels: Sequence[Sequence[Any]]) -> None:
    """Name the levels at the four sides: below, left, above and right."""
    sides = [(axes, "x"), (axes, "y"), (axes, "x"), (axes, "y")][: len(names)]
    for variable, (side, direction) in enumerate(sides):
        if variable > 1:
            side = axes.twiny() if direction == "x" else axes.twinx()
            side.tick_params(length=0)
            for spine in side.spines.values():
                spine.set_visible(False)
            (side.set_xlim if direction == "x" else side.set_ylim)(-0.002, 1.002)
        # Above and on the right, levels of a variable are named once for each level of the one that splits that side.
        first = variable % 2
        ends: dict[tuple[int, ...], list[float]] = {}
        for tile in placed:
            if any(tile.place[k] != _edge(k, placed) for k in range(variable) if k % 2 != first):
                continue
            key = tuple(tile.place[k] for k in range(variable + 1) if k % 2 == first)
            start, size = (tile.x, tile.width) if direction == "x" else (tile.y, tile.height)
            low_high = ends.setdefault(key, [start, start + size])
            low_high[0], low_high[1] = min(low_high[0], start), max(low_high[1], start + size)
        ticks = [(low + high) / 2 for low, high in ends.values()]
        texts = [shortened(visible_name(str(levels[variable][key[-1]])), _LABEL) for key in ends]
        crowded = any(abs(a - b) < 0.06 for at, a in enumerate(ticks) for b in ticks[:at])
        setter = side.set_xticks if direction == "x" else side.set_yticks
        setter(ticks, texts, fontsize=7, rotation=30 if crowded and direction == "x" else 0)
        name = shortened(visible_name(names[variable]), 30)
        (side.set_xlabel if direction == "x" else side.set_ylabel)(name)


def _edge(axis: int, placed: list[_Tile]) -> int:
    """Return the level of a variable whose tiles are at the side where the labels of the next ones are."""
    return 0 if axis % 2 else max(tile.place[axis] for tile in placed)


def _legend(figure: Any) -> None:
    from .figure import of_matplotlib

    patch = of_matplotlib("patches").Patch
    (high, dark, red, _), (low, light, pink, _) = _SHADES
    entries = [
        (dark, f"{high:g} and more"),
        (light, f"{low:g} to {high:g}"),
        (_NONE, f"within {low:g} of 0"),
        (pink, f"-{low:g} to -{high:g}"),
        (red, f"-{high:g} and less"),
    ]
    patches = [patch(facecolor=colour, edgecolor="#555555", linewidth=0.6, label=label) for colour, label in entries]
    figure.legend(
        handles=patches,
        title="Pearson residual",
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=7,
        title_fontsize=8,
    )
