"""Curves over a common axis, one below the other."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ..errors import OptionError

__all__ = ["FORMATS", "Curves", "check_figure"]

FORMATS = ("svg", "png", "pdf")


def check_figure(path: str) -> None:
    """Raise OptionError if a figure of this name cannot be drawn, for its format or for want of matplotlib."""
    if _format(path) not in FORMATS:
        message = f"{path}: a figure's name has to end in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}"
        raise OptionError(message)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        message = f"{path}: figures need matplotlib ({error}); install it: pip install matplotlib"
        raise OptionError(message) from error


def _format(path: str) -> str:
    return PurePath(path).suffix.removeprefix(".").lower()


@dataclass(frozen=True)
class Curves:
    """Curves over a common axis, each in a panel of its own.

    Attributes:
        x_name: what the axis shows.
        x: values of its points.
        panels: from top to bottom, what they show and a value for each point, None where there is none.
        falling: whether x falls from left to right, on a logarithmic scale.
        marked: an x with a vertical line, and what to call it.
    """

    x_name: str
    x: Sequence[float]
    panels: Mapping[str, Sequence[float | None]]
    falling: bool = False
    marked: tuple[float, str] | None = None

    def drawn(self, path: str) -> bytes:
        """Return the content of a file of this name; the same for the same numbers."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context({"svg.hashsalt": "loglinear", "font.size": 9.0}):
            figure = Figure(figsize=(6.4, 1.0 + 1.9 * len(self.panels)), layout="constrained")
            axes = figure.subplots(len(self.panels), 1, sharex=True, squeeze=False)[:, 0]
            for axis, (name, values) in zip(axes, self.panels.items(), strict=True):
                heights = [math.nan if value is None else value for value in values]
                axis.plot(self.x, heights, marker="o", markersize=2.5, linewidth=1.2)
                axis.set_ylabel(name)
                axis.grid(alpha=0.3)
                if self.marked is not None:
                    axis.axvline(self.marked[0], color="0.4", linestyle="--", linewidth=1.0, label=self.marked[1])
            if self.marked is not None:
                axes[-1].legend(loc="best")
            if self.falling:
                axes[-1].set_xscale("log")
                axes[-1].invert_xaxis()
                axes[-1].xaxis.set_major_formatter("{x:g}")
            axes[-1].set_xlabel(self.x_name)
            content = io.BytesIO()
            dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
            figure.savefig(content, format=_format(path), dpi=150, metadata=dates.get(_format(path)))
        return content.getvalue()
