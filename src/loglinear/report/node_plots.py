"""Figures of the variables of a network: their centralities, and the stability of these when samples are left out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..vectors import Vector
from ..visible import shortened, visible_name
from .figure import new_figure, written

__all__ = ["Band", "centrality_figure", "stability_figure"]

# Most variables that a figure shows, and most characters of a name.
_VARIABLES, _WIDTH = 60, 28
# Colours that people of every kind of colour vision tell apart (Okabe & Ito 2008), and markers for prints in grey.
_STYLES = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"), ("#56b4e9", "v"), ("#000000", "x"))


class Band(NamedTuple):
    """A curve with a band.

    Attributes:
        mean: values of the curve, NaN for none.
        lower: lower ends of the band.
        upper: upper ends.
    """

    mean: Sequence[float]
    lower: Sequence[float]
    upper: Sequence[float]


def centrality_figure(names: Sequence[str], measures: Mapping[str, Vector], path: str, *, z: bool = False) -> bytes:
    """Return the content of a figure's file with this name; equal numbers give equal files.

    Each measure has a panel, with a point for each variable. Variables are sorted by the first measure, the largest on
    top; of more than 60, the 60 largest are shown.

    Args:
        names: names of the variables.
        measures: numbers of the variables by name of the measure; NaN for none.
        path: name of the file; its extension decides the format.
        z: whether to show (value - mean) / standard deviation instead of the value.
    """
    leading = np.nan_to_num(next(iter(measures.values())), nan=-np.inf)
    order = np.argsort(-leading, kind="stable")[:_VARIABLES]
    labels = [shortened(visible_name(names[i]), _WIDTH) for i in order.tolist()]
    at = np.arange(order.size)
    with new_figure(1.6 + 1.7 * len(measures), 1.0 + 0.22 * max(order.size, 4)) as figure:
        axes = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for axis, (name, values) in zip(axes, measures.items(), strict=True):
            shown = (_standardised(values) if z else values)[order]
            axis.plot(shown, at, marker="o", markersize=3.5, linewidth=1.0, color=_STYLES[0][0])
            axis.set_xlabel(f"{name} (z)" if z else name)
            axis.locator_params(axis="x", nbins=3)
            axis.grid(alpha=0.3)
        axes[0].set_yticks(at, labels, parse_math=False)
        axes[0].set_ylim(order.size - 0.5, -0.5)
        if len(names) > order.size:
            figure.suptitle(f"the {order.size} of {len(names):,} variables with the largest {next(iter(measures))}")
        return written(figure, path)


def _standardised(values: Vector) -> Vector:
    defined = values[np.isfinite(values)]
    spread = float(defined.std(ddof=1)) if defined.size > 1 else 0.0
    return (values - defined.mean()) / spread if spread > 0.0 else values * 0.0


def stability_figure(drops: Sequence[float], bands: Mapping[str, Band], least: float, path: str) -> bytes:
    """Return the content of a figure's file with this name; equal numbers give equal files.

    It has a curve for each statistic: the mean correlation with the whole network, with a band.

    Args:
        drops: shares of the samples that are left out.
        bands: curve and band by name of the statistic; a statistic without a defined correlation is left out.
        least: correlation that a line marks.
        path: name of the file; its extension decides the format.
    """
    with new_figure(6.4, 3.8) as figure:
        axis: Any = figure.subplots()
        per_cent = [100.0 * drop for drop in drops]
        for (colour, marker), (name, band) in zip(_STYLES, bands.items(), strict=False):
            if not all(map(math.isnan, band.mean)):
                axis.fill_between(per_cent, band.lower, band.upper, color=colour, alpha=0.12, linewidth=0.0)
                axis.plot(per_cent, band.mean, color=colour, marker=marker, markersize=4.0, linewidth=1.2, label=name)
        axis.axhline(least, color="0.4", linestyle="--", linewidth=1.0)
        axis.set_xlabel("samples left out (%)")
        axis.set_ylabel("correlation with the whole network")
        axis.set_ylim(top=1.02)
        axis.grid(alpha=0.3)
        if axis.lines[:-1]:
            figure.legend(loc="outside upper center", frameon=False, ncols=3)
        return written(figure, path)
