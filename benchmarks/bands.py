"""Means over seeds with the lowest and the highest: cells of tables, lines with bands, marks with bars, files of both.

A benchmark keeps its results in a `Rows` of `options(...).json`, so that it can be drawn again without a new run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

sys.path.insert(0, str(Path(__file__).resolve().parent / "papers"))

from rows import Rows, markdown

from loglinear.report.figure import new_figure, written

__all__ = ["MARKERS", "Rows", "cell", "line", "mark", "markdown", "options", "picture"]

MARKERS = "osD^vP*<>X"


def options(description: str | None, *, figure: bool = True) -> argparse.ArgumentParser:
    """Return a parser with the options of every script that keeps rows and, by default, draws a picture."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="rows, read and written; rows that it has are not run again")
    if figure:
        parser.add_argument("--figure", metavar="FILE", type=Path, help="picture to draw, such as an SVG file")
    return parser


def cell(values: Sequence[float], digits: int = 3) -> str:
    """Return the mean and, if there are several values, the lowest and the highest."""
    mean, low, high = (f"{value:,.{digits}f}" for value in (np.mean(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low} to {high})"


def line(axis: Any, x: ArrayLike, values: ArrayLike, **style: Any) -> None:
    """Draw the means of values, shape (seeds, points), with a band from the lowest to the highest."""
    values = np.asarray(values)
    (drawn,) = axis.plot(x, values.mean(axis=0), **{"linewidth": 1.4} | style)
    axis.fill_between(x, values.min(axis=0), values.max(axis=0), color=drawn.get_color(), alpha=0.15, linewidth=0)


def mark(axis: Any, x: ArrayLike, y: ArrayLike, **style: Any) -> None:
    """Draw a mark at the means of x and y, shape (seeds,) or (seeds, points), with bars from lowest to highest."""
    x, y = np.asarray(x), np.asarray(y)
    bars = [np.abs([v.min(axis=0), v.max(axis=0)] - v.mean(axis=0)).reshape(2, -1) for v in (x, y)]
    look = {"linestyle": "none", "markersize": 5, "elinewidth": 0.9}
    axis.errorbar(x.mean(axis=0), y.mean(axis=0), xerr=bars[0], yerr=bars[1], **look | style)


@contextmanager
def picture(path: Path, width: float, height: float) -> Iterator[Any]:
    """Provide a figure, which is written at the end of the context; sizes are in inches.

    An SVG file has its text as text, not as outlines, which would be most of the file.
    """
    import matplotlib as mpl

    with new_figure(width, height) as figure, mpl.rc_context({"svg.fonttype": "none"}):
        yield figure
        for axis in figure.axes:
            axis.grid(alpha=0.3)
        path.write_bytes(written(figure, str(path)))
