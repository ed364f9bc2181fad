"""A figure of what families of features are worth, and of the losses of models with fewer of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..visible import shortened, visible_name
from .figure import new_figure, written

__all__ = ["Worths", "worths_figure"]

# Most characters of a name.
_WIDTH = 28
# Colours that people of every kind of colour vision tell apart (Okabe & Ito 2008): of families that stay, and others.
_KEPT, _OTHER = "#0072b2", "#7f7f7f"


class Worths(NamedTuple):
    """What families are worth.

    Attributes:
        names: names of the families, the most valuable first.
        worths: rise of the loss without each family, and its standard error.
        losses: loss of the model with each family and those before it, and its standard error.
        n_kept: number of families that stay.
        bound: largest loss within one standard error of the lowest one.
    """

    names: Sequence[str]
    worths: Sequence[tuple[float, float]]
    losses: Sequence[tuple[float, float]]
    n_kept: int
    bound: float


def worths_figure(worths: Worths, path: str) -> bytes:
    """Return the content of a figure's file with this name; equal numbers give equal files.

    Each family has a row: on the left its worth, on the right the loss of the model with it and the families above.
    """
    at = np.arange(len(worths.names))
    is_kept = at < worths.n_kept
    with new_figure(7.4, 1.2 + 0.24 * max(at.size, 4)) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for axis, numbers in ((left, worths.worths), (right, worths.losses)):
            values, errors = np.array(numbers).T
            for mask, colour, face in ((is_kept, _KEPT, _KEPT), (~is_kept, _OTHER, "white")):
                axis.hlines(at[mask], (values - errors)[mask], (values + errors)[mask], color=colour, linewidth=1.4)
                axis.plot(values[mask], at[mask], "o", color=colour, markerfacecolor=face, markersize=4.5, zorder=3)
            axis.grid(axis="x", alpha=0.3)
        left.axvline(0.0, color="0.4", linestyle="--", linewidth=1.0)
        right.axvline(worths.bound, color="0.4", linestyle="--", linewidth=1.0)
        _logarithmic(right, [loss for loss, _ in worths.losses])
        left.set_xlabel("rise of the loss without the family, nats")
        right.set_xlabel("loss with this family and those above, nats")
        left.set_yticks(at, [shortened(visible_name(name), _WIDTH) for name in worths.names], parse_math=False)
        left.set_ylim(max(at.size, 1) - 0.5, -0.5)
        return written(figure, path)


def _logarithmic(axis: Any, losses: Sequence[float]) -> None:
    """Give an axis of losses a logarithmic scale: those of the smallest models are far from all others."""
    if min(losses) <= 0.0:
        return
    axis.set_xscale("log")
    low, high = axis.get_xlim()
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1.0, 2.0, 5.0) if high > 10.0 * low else (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0)
    ticks = [step * 10.0**decade for decade in decades for step in steps]
    axis.set_xticks([tick for tick in ticks if low <= tick <= high])
    axis.minorticks_off()
    axis.xaxis.set_major_formatter("{x:g}")
