"""Case dropping: whether a network keeps its edges and centralities when it is trained on fewer samples.

Source: Epskamp, Borsboom & Fried, Estimating psychological networks and their accuracy (2018), which defines the
correlation-stability coefficient.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.writing import write_output
from ...display.fragment import in_notebook
from ...display.table import data_frame, listing, screen
from ...errors import ConvergenceWarning
from ...minimize import Callback
from ...networks.centrality import MEASURES, centralities
from ...networks.numbering import Numbering, Numbers
from ...networks.signs import Order, sign_of
from ...report.figure import check_figure
from ...report.node_plots import Band, stability_figure
from ...vectors import Vector
from ...visible import counted
from .resampling import in_parallel
from .structure import Training

if TYPE_CHECKING:
    import pandas

__all__ = ["DROPS", "STATISTICS", "NetworkStability", "case_rows", "signed_edges", "stability_of"]

DROPS: tuple[float, ...] = tuple(np.linspace(0.05, 0.75, 10).tolist())
"""Shares of the samples that are left out, those of bootnet."""
STATISTICS = ("edges", *MEASURES)
"""Names of the statistics whose stability is measured."""
# Fewest variables or pairs with both statistics for a correlation.
_LEAST = 3


@dataclass(frozen=True, repr=False)
class NetworkStability:
    """Correlations of a network's statistics with those of networks of fewer samples.

    Attributes:
        drops: shares of the samples that were left out, ascending, shape (k,).
        correlations: Pearson's correlation with the statistic of the whole network, shape (k, n, 5), in the order of
            ``statistics``; NaN where it is undefined, such as in a network without edges.
        statistics: "edges", the weights of all pairs of variables, and the centralities "strength", "expected
            influence", "closeness" and "betweenness".
        least: required correlation.
        probability: share of the networks that must have it.
        n: number of networks for each share; fewer than were asked for after Ctrl-C.
    """

    drops: Vector
    correlations: Vector
    statistics: tuple[str, ...]
    least: float
    probability: float
    n: int

    @property
    def shares(self) -> Vector:
        """Share of the networks with at least the required correlation, shape (k, 5).

        A network in which a correlation is undefined does not have it.
        """
        return np.asarray((np.nan_to_num(self.correlations, nan=-np.inf) >= self.least).mean(axis=1))

    @property
    def coefficients(self) -> dict[str, float]:
        """Correlation-stability coefficient of each statistic.

        It is the largest share of the samples that can be left out such that the correlation is at least 0.7 in 95 % of
        the networks, or what was required instead; 0 if there is no such share. Epskamp, Borsboom & Fried (2018)
        recommend 0.5, and at least 0.25, before centralities are interpreted. NaN for a statistic that is equal in all
        variables of the whole network.
        """
        enough = np.where(self.shares >= self.probability, self.drops[:, None], 0.0).max(axis=0)
        undefined = np.isnan(self.correlations).all(axis=(0, 1))
        return dict(zip(self.statistics, np.where(undefined, np.nan, enough).tolist(), strict=True))

    def bands(self, level: float = 0.95) -> tuple[Vector, Vector, Vector]:
        """Return mean, lower and upper quantile of the defined correlations, shape (k, 5) each."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # all are undefined
            ends = np.nanquantile(self.correlations, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=1)
            return np.nanmean(self.correlations, axis=1), ends[0], ends[1]

    def __repr__(self) -> str:
        """Return the number of networks."""
        return f"<stability from {counted(self.n * len(self.drops), 'network')} of fewer samples>"

    def __str__(self) -> str:
        """Return the coefficients as text that fits a screen."""
        return screen(repr(self), self._columns(), len(self.statistics), "statistic")

    def _columns(self) -> dict[str, list[str]]:
        """Return the cells of the coefficients."""
        names = list(self.statistics)
        return {"statistic": names, "coefficient": [_number(self.coefficients[name]) for name in names]}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the coefficients."""
        caption = f"Share of the samples that can be left out for a correlation of {self.least:g} in "
        caption += f"{100.0 * self.probability:g} % of the networks"
        return in_notebook(listing(self._columns(), caption))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each statistic and share of samples left out.

        The columns are ``statistic``, ``drop``, ``mean``, ``lower`` and ``upper`` (95 % of the correlations) and
        ``share``, the share of the networks with the required correlation.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        k = len(self.drops)
        columns: dict[str, Sequence[Any]] = {"statistic": [name for name in self.statistics for _ in range(k)]}
        columns["drop"] = self.drops.tolist() * len(self.statistics)
        for name, values in zip(("mean", "lower", "upper", "share"), (*self.bands(), self.shares), strict=True):
            columns[name] = values.T.ravel().tolist()
        return data_frame("to_frame", columns)

    def save_figure(self, path: str | os.PathLike[str]) -> None:
        """Draw the mean correlation by the share of samples left out, with bands for 95 % of the networks.

        Args:
            path: name of the file: .svg, .png or .pdf.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OptionError: the name has another extension.
        """
        check_figure(os.fspath(path))
        means, lower, upper = (values.T.tolist() for values in self.bands())
        bands = dict(zip(self.statistics, map(Band, means, lower, upper), strict=True))
        write_output(os.fspath(path), stability_figure(self.drops.tolist(), bands, self.least, os.fspath(path)))


def _number(value: float) -> str:
    return "undefined" if np.isnan(value) else f"{value:.3f}"


def case_rows(n: int, size: int, seed: int, number: int) -> Numbers:
    """Return this number of different rows out of n, ascending."""
    return np.sort(np.random.default_rng([seed, number]).choice(n, size, replace=False))


def signed_edges(numbering: Numbering, w: Vector, orders: Sequence[Order]) -> tuple[Numbers, Vector, Numbers]:
    """Return the edges of weights, their strengths, and their signs, 0 for an edge without a sign.

    Args:
        numbering: numbers of the weights.
        w: the weights.
        orders: order of the states of each variable.
    """
    edges, strengths = numbering.strengths(w)
    signs = np.zeros(len(edges), dtype=np.int64)
    for at, (i, j) in enumerate(edges.tolist()):
        table = np.pad(w[numbering.block(i, j)], ((1, 0), (1, 0)))
        signs[at] = sign_of(table, orders[i], orders[j])
    return edges, strengths, signs


def _statistics(numbering: Numbering, w: Vector, orders: Sequence[Order]) -> list[Vector]:
    """Return the weights of all pairs and the centralities; edges without a sign have the weight of their strength."""
    edges, strengths, signs = signed_edges(numbering, w, orders)
    n = numbering.n_variables
    weights = np.zeros(n * (n - 1) // 2)
    weights[numbering.pairs_of(*edges.T)] = np.where(signs < 0, -strengths, strengths)
    return [weights, *centralities(n, edges, strengths, signs).table()]


def _correlation(x: Vector, y: Vector) -> float:
    """Return Pearson's correlation where both are defined; NaN if fewer than three are, or one does not vary."""
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < _LEAST or np.ptp(x[both]) == 0.0 or np.ptp(y[both]) == 0.0:
        return float("nan")
    return float(np.corrcoef(x[both], y[both])[0, 1])


def stability_of(
    training: Training,
    w: Vector,
    orders: Sequence[Order],
    *,
    drops: Sequence[float],
    n: int,
    seed: int,
    least: float,
    probability: float,
    observe: Callable[[int], object] | None = None,
) -> NetworkStability:
    """Return how far networks of fewer samples resemble a network.

    Args:
        training: data and options of the network.
        w: weights of the network.
        orders: order of the states of each variable.
        drops: shares of the samples to leave out, ascending.
        n: number of networks for each share.
        seed: of the samples.
        least: required correlation.
        probability: share of the networks that must have it.
        observe: called with the number of networks trained, after each.

    Raises:
        KeyboardInterrupt: Ctrl-C came before one network of each share was trained; later it ends the training.
    """
    n_rows, numbering = len(training.codes), training.numbering
    whole = _statistics(numbering, w, orders)

    def make(number: int, stopped: Callback) -> list[float]:
        share = 1.0 - drops[number % len(drops)]
        rows = case_rows(n_rows, round(share * n_rows), seed, number)
        part = _statistics(numbering, training.repeated(rows, stopped, share=rows.size / n_rows), orders)
        return [_correlation(x, y) for x, y in zip(whole, part, strict=True)]

    correlations: list[list[float]] = []
    made = in_parallel(make, n * len(drops), training.n_threads)
    with warnings.catch_warnings(), closing(made):
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            for _, values in made:
                correlations.append(values)
                if observe is not None:
                    observe(len(correlations))
        except KeyboardInterrupt:
            if len(correlations) < len(drops):
                raise
    rounds = len(correlations) // len(drops)
    table = np.array(correlations[: rounds * len(drops)]).reshape(rounds, len(drops), -1).transpose(1, 0, 2)
    return NetworkStability(np.array(drops), table, STATISTICS, least, probability, rounds)
