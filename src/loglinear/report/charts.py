"""Charts as inline SVG for pages: the page's style sheet gives colours, so that they suit light and dark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from ..calibration import Calibration

__all__ = ["Band", "band_curve", "curve", "is_drawable", "reliability"]

_WIDTH, _HEIGHT = 640, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 74, 12, 12, 40
# Number of points drawn of a curve.
_POINTS = 400
# A curve whose largest value is at least this multiple of the smallest one has a logarithmic axis.
_LOGARITHMIC = 10.0
# Height of the row of numbers under a reliability diagram, and what stands for a power of ten there.
_ROW, _LETTERS = 18, {10**3: "k", 10**6: "M", 10**9: "G", 10**12: "T"}
# Largest absolute value that can be drawn; an axis adds margins and ticks.
_LARGEST = 1e300


class _Axis:
    """An axis: where values are, and its ticks."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, logarithmic: bool = False) -> None:
        self._start, self._end, self._logarithmic = start, end, logarithmic
        scaled = [self._scaled(value) for value in values]
        low, high = min(scaled), max(scaled)
        margin = (high - low) * 0.04 or abs(low) * 0.04 or 0.5
        self.low, self.high = low - margin, high + margin

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self._logarithmic else value

    def at(self, value: float) -> str:
        """Return the place of a value."""
        share = (self._scaled(value) - self.low) / (self.high - self.low)
        return f"{self._start + share * (self._end - self._start):.1f}"

    def ticks(self) -> list[float]:
        """Return round values, about five."""
        if self._logarithmic:
            decades = range(math.floor(self.low), math.ceil(self.high) + 1)
            steps = (1, 2, 5) if self.high - self.low < 3 else (1,)
            ticks = [step * 10.0**decade for decade in decades for step in steps]
            return [tick for tick in ticks if self.low <= math.log10(tick) <= self.high]
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


def is_drawable(value: float) -> bool:
    """Whether an axis can reach a value, which may be infinite or NaN."""
    return abs(value) <= _LARGEST


def curve(
    x: Sequence[float],
    y: Sequence[float],
    x_name: str,
    y_name: str,
    *,
    falling: bool = False,
    marked: tuple[float, str] | None = None,
) -> str:
    """Return the SVG of a curve.

    Args:
        x: positions, rising; at least one.
        y: as many values that are drawable.
        x_name: name of the horizontal axis.
        y_name: name of the vertical axis.
        falling: whether the values may have a logarithmic axis, where they fall far.
        marked: a position and the name of a vertical line there; not drawn outside the curve.
    """
    logarithmic = falling and min(y) > 1.0 / _LARGEST and max(y) > _LOGARITHMIC * min(y)
    across = _Axis(x, _LEFT, _WIDTH - _RIGHT)
    up = _Axis(y, _HEIGHT - _BOTTOM, _TOP, logarithmic=logarithmic)
    stride = max(1, math.ceil(len(x) / _POINTS))
    shown = sorted({*range(0, len(x), stride), len(x) - 1})
    points = [(across.at(x[k]), up.at(y[k])) for k in shown]
    marks = "".join(f'<circle cx="{a}" cy="{b}" r="2.5"/>' for a, b in points) if len(points) <= 40 else ""
    line = " ".join(f"{a},{b}" for a, b in points)
    says = f"{y_name} by {x_name}: from {y[0]:,.6g} to {y[-1]:,.6g}"
    note = f"{y_name}, logarithmic" if logarithmic else y_name
    whole = [tick for tick in across.ticks() if tick >= 0 and tick == round(tick)]
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(says)}">'
        + _frame(across, up, whole, up.ticks(), _WIDTH, _HEIGHT)
        + ("" if marked is None or not x[0] <= marked[0] <= x[-1] else _marked(across, *marked, below=not falling))
        + f'<polyline class="line" points="{line}"/><g class="dots">{marks}</g>'
        + _names(escape(x_name), escape(note), _WIDTH, _HEIGHT)
        + "</svg>"
    )


class Band(NamedTuple):
    """A curve with a band.

    Attributes:
        x: positions, > 0, falling from left to right; two at least.
        y: values of the curve.
        low: lower ends of the band.
        high: upper ends of the band.
    """

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def band_curve(band: Band, x_name: str, y_name: str, marks: Sequence[tuple[float, str]] = ()) -> str:
    """Return the SVG of a curve with a band over a logarithmic axis that falls from left to right.

    Args:
        band: the curve.
        x_name: name of the horizontal axis.
        y_name: name of the vertical axis.
        marks: positions and names of vertical lines; the first name is written below, the second above.
    """
    across = _Axis(band.x, _WIDTH - _RIGHT, _LEFT, logarithmic=True)
    up = _Axis([*band.low, *band.high], _HEIGHT - _BOTTOM, _TOP)
    at = [across.at(x) for x in band.x]
    line = " ".join(f"{x},{up.at(y)}" for x, y in zip(at, band.y, strict=True))
    ends = [*zip(at, band.high, strict=True), *reversed([*zip(at, band.low, strict=True)])]
    area = " ".join(f"{x},{up.at(y)}" for x, y in ends)
    dots = "".join(f'<circle cx="{x}" cy="{up.at(y)}" r="2.5"/>' for x, y in zip(at, band.y, strict=True))
    says = f"{y_name} by {x_name}: " + ", ".join(name for _, name in marks)
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(says)}">'
        + _frame(across, up, across.ticks(), up.ticks(), _WIDTH, _HEIGHT)
        + f'<polygon class="band" points="{area}"/>'
        + "".join(_marked(across, *mark, below=not number) for number, mark in enumerate(marks))
        + f'<polyline class="line" points="{line}"/><g class="dots">{dots}</g>'
        + _names(escape(x_name), escape(y_name), _WIDTH, _HEIGHT)
        + "</svg>"
    )


def _marked(across: _Axis, x: float, name: str, *, below: bool) -> str:
    """Return a vertical line and its name, on the side of the line that has more room; below, or above."""
    at, is_left = across.at(x), 2.0 * float(across.at(x)) < _LEFT + _WIDTH - _RIGHT
    side = 'dx="5"' if is_left else 'dx="-5" text-anchor="end"'
    return (
        f'<line class="marked" x1="{at}" x2="{at}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text x="{at}" y="{_HEIGHT - _BOTTOM - 6 if below else _TOP + 10}" {side}>{escape(name)}</text>'
    )


def reliability(calibration: Calibration, name: str) -> str:
    """Return the SVG of a reliability diagram: accuracy by mean confidence, with the diagonal of equality.

    Each point has a bar for its 95 % interval, and under the diagram the number of its answers.

    Args:
        calibration: the calibration.
        name: what the answers are, such as tokens.
    """
    width, height = 360, 340
    across, up = _Axis((0.0, 1.0), _LEFT, width - _RIGHT), _Axis((0.0, 1.0), height - _BOTTOM - _ROW, _TOP)
    filled = [bin_ for bin_ in calibration.bins if bin_.confidence is not None and bin_.accuracy is not None]
    points = [(across.at(bin_.confidence or 0.0), up.at(bin_.accuracy or 0.0)) for bin_ in filled]
    levels = [up.at(bin_.confidence or 0.0) for bin_ in filled]
    sizes = [2.0 + 0.7 * math.log10(bin_.n) for bin_ in filled]
    ticks = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    says = f"accuracy of {name} by confidence; expected calibration error {100.0 * calibration.expected_error:.2f} %"
    diagonal = f'x1="{across.at(0.0)}" y1="{up.at(0.0)}" x2="{across.at(1.0)}" y2="{up.at(1.0)}"'
    distances = "".join(
        f'<line class="gap" x1="{x}" y1="{level}" x2="{x}" y2="{y}"/>'
        for (x, y), level in zip(points, levels, strict=True)
    )
    line = " ".join(f"{x},{y}" for x, y in points)
    marks = "".join(f'<circle cx="{x}" cy="{y}" r="{size:.1f}"/>' for (x, y), size in zip(points, sizes, strict=True))
    bars = "".join(
        f'<line x1="{x}" y1="{up.at(low)}" x2="{x}" y2="{up.at(high)}"/>'
        for (x, _), (low, high) in zip(points, (bin_.interval or (0.0, 1.0) for bin_ in filled), strict=True)
    )
    row = height - _ROW - _BOTTOM + 14
    numbers = "".join(
        f'<text x="{across.at((bin_.low + bin_.high) / 2.0)}" y="{row}" text-anchor="middle">{_rounded(bin_.n)}</text>'
        for bin_ in filled
    )
    return (
        f'<svg class="chart square" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(says)}">'
        + _frame(across, up, ticks, ticks, width, height, below=_ROW)
        + f'<g class="numbers"><text text-anchor="end" x="{_LEFT - 6}" y="{row}">answers</text>{numbers}</g>'
        + f'<line class="diagonal" {diagonal}/>{distances}<g class="bars">{bars}</g>'
        + f'<polyline class="line" points="{line}"/><g class="dots">{marks}</g>'
        + _names("mean confidence", "accuracy", width, height, below=_ROW)
        + "</svg>"
    )


def _frame(
    across: _Axis, up: _Axis, x: Sequence[float], y: Sequence[float], width: int, height: int, below: int = 0
) -> str:
    """Return grid lines, and the numbers of the ticks, with some room below the frame."""
    right, bottom = width - _RIGHT, height - _BOTTOM - below
    rows = "".join(
        f'<line x1="{_LEFT}" x2="{right}" y1="{up.at(tick)}" y2="{up.at(tick)}"/>'
        f'<text x="{_LEFT - 6}" y="{up.at(tick)}" dy="4" text-anchor="end">{_number(tick)}</text>'
        for tick in y
    )
    columns = "".join(
        f'<line x1="{across.at(tick)}" x2="{across.at(tick)}" y1="{_TOP}" y2="{bottom}"/>'
        f'<text x="{across.at(tick)}" y="{bottom + below + 15}" text-anchor="middle">{_number(tick)}</text>'
        for tick in x
    )
    return f'<g class="grid">{rows}{columns}</g>'


def _names(x_name: str, y_name: str, width: int, height: int, below: int = 0) -> str:
    middle, level = (_LEFT + width - _RIGHT) // 2, (_TOP + height - _BOTTOM - below) // 2
    return (
        f'<text x="{middle}" y="{height - 8}" text-anchor="middle">{x_name}</text>'
        f'<text transform="translate(14 {level}) rotate(-90)" text-anchor="middle">{y_name}</text>'
    )


def _rounded(n: int) -> str:
    """Return a number in at most four characters, such as 63k."""
    if n < 1_000:
        return str(n)
    power, letter = max((power, letter) for power, letter in _LETTERS.items() if n >= power)
    return f"{n // power}{letter}" if n >= 10 * power else f"{n // (power // 10) / 10:g}{letter}"


def _number(value: float) -> str:
    return f"{round(value, 12):,.10g}"
