"""Numbers of each variable of a network, on a screen, in a notebook and as a data frame."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...data.writing import write_output
from ...display.fragment import in_notebook
from ...display.table import LISTED, data_frame, listing, more, screen
from ...errors import DataError
from ...networks.graph import Graph, Scores
from ...networks.numbering import Codes
from ...options import similar
from ...report.figure import check_figure
from ...report.node_plots import centrality_figure
from ...vectors import Vector
from ...visible import counted, listed

if TYPE_CHECKING:
    import pandas

__all__ = ["Centrality", "NodeTable", "Predictability", "predictability_of"]


# Headings of columns that would be too wide for a screen.
_HEADINGS = {"expected influence": "influence"}


class NodeTable:
    """Named numbers of each variable of a network.

    Attributes:
        names: names of the variables.
    """

    names: Sequence[str]
    _caption: ClassVar[str]
    _leading: ClassVar[str]

    def measures(self) -> dict[str, Vector]:
        """Return the numbers of all variables by name of the measure."""
        return {name: values for name, values in vars(self).items() if name != "names"}

    def __getitem__(self, name: str) -> dict[str, float]:
        """Return the numbers of a variable by name of the measure.

        Raises:
            DataError: no variable of the network has this name.
        """
        if name not in self.names:
            message = f"no variable {name!r}{similar(str(name), self.names)}; the variables are "
            raise DataError(message + listed(list(self.names), 8))
        at = list(self.names).index(name)
        return {measure: float(values[at]) for measure, values in self.measures().items()}

    def defined(self, name: str) -> dict[str, float | None]:
        """Return the numbers of a variable with None for those that are undefined, as JSON has them."""
        return {measure: None if np.isnan(value) else value for measure, value in self[name].items()}

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.names)

    def __repr__(self) -> str:
        """Return the number of variables."""
        return f"<{self._caption} of {counted(len(self), 'variable')}>"

    def __str__(self) -> str:
        """Return the first variables as text that fits a screen, the largest number first."""
        return self.text(repr(self))

    def text(self, title: str) -> str:
        """Return the same with a title."""
        titled = {name: [_HEADINGS.get(name, name), *cells] for name, cells in self._columns().items()}
        return screen(title, titled, len(self) + 1, "variable")

    def _columns(self) -> dict[str, list[str]]:
        """Return the cells of the first variables."""
        leading = self.measures()[self._leading]
        order = np.argsort(-np.nan_to_num(leading, nan=-np.inf), kind="stable")[:LISTED].tolist()
        columns = {"variable": [self.names[i] for i in order]}
        for name, values in self.measures().items():
            columns[name.replace("_", " ")] = [_cell(float(values[i])) for i in order]
        return columns

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first variables."""
        caption = f"{self._caption.capitalize()} of {counted(len(self), 'variable')}"
        return in_notebook(listing(self._columns(), caption) + more(len(self), "variable"))

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame with a row for each variable, in the order of the data.

        The columns are the measures.

        Raises:
            MissingPackageError: pandas is not installed.
        """
        columns: Mapping[str, Sequence[object]] = {
            "variable": list(self.names),
            **{name: values.tolist() for name, values in self.measures().items()},
        }
        return data_frame("to_frame", columns, index="variable")

    def save_figure(self, path: str | os.PathLike[str], *, z: bool = False) -> None:
        """Draw a panel for each measure with a point for each variable, the largest first measure on top.

        Args:
            path: name of the file: .svg, .png or .pdf.
            z: whether to show (value - mean) / standard deviation of each measure instead of the values.

        Raises:
            MissingPackageError: Matplotlib is not installed.
            OptionError: the name has another extension.
        """
        check_figure(os.fspath(path))
        measures = {name.replace("_", " "): values for name, values in self.measures().items()}
        write_output(os.fspath(path), centrality_figure(self.names, measures, os.fspath(path), z=z))


def _cell(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


@dataclass(frozen=True, repr=False)
class Centrality(NodeTable):
    """How central the variables of a network are; see `PairwiseMRF.centrality`. Arrays have shape (n_variables,).

    Attributes:
        names: names of the variables.
        strength: sum of the strengths of the variable's edges.
        expected_influence: sum of the weights of its edges that have a sign.
        closeness: 1 / sum of the distances to the others of the largest component; NaN outside of it.
        betweenness: number of shortest paths through the variable.
    """

    _caption: ClassVar[str] = "centrality"
    _leading: ClassVar[str] = "strength"

    names: Sequence[str]
    strength: Vector
    expected_influence: Vector
    closeness: Vector
    betweenness: Vector


@dataclass(frozen=True, repr=False)
class Predictability(NodeTable):
    """How well the variables of a network are predicted; see `PairwiseMRF.predictability`.

    Arrays have shape (n_variables,).

    Attributes:
        names: names of the variables.
        accuracy: share of the observed values that are predicted; NaN for a variable without values in the data.
        majority: share of the most frequent state; NaN for a variable without values.
        normalised: (accuracy - majority) / (1 - majority); NaN for a variable with a single state in the data.
    """

    _caption: ClassVar[str] = "predictability"
    _leading: ClassVar[str] = "normalised"

    names: Sequence[str]
    accuracy: Vector
    majority: Vector
    normalised: Vector


def predictability_of(
    graph: Graph,
    scores: Scores,
    codes: Codes,
    weights: Vector,
    names: Sequence[str],
    beliefs_of: Callable[[Codes], Vector],
) -> Predictability:
    """Return how well each variable is predicted from the observed values of the others.

    Args:
        graph: of the network.
        scores: of the network.
        codes: states of samples, -1 for missing, shape (n_samples, n_variables).
        weights: of the samples, shape (n_samples,).
        names: of the variables.
        beliefs_of: returns the probability of each state of each variable in samples with missing values.
    """
    n = codes.shape[1]
    observed = codes >= 0
    totals = (observed * weights[:, None]).sum(axis=0)
    # Given all neighbours, other variables do not matter, so that any state may stand in for their missing values.
    log_p = graph.conditionals(scores, np.where(observed, codes, 0))
    accuracy, majority = np.full(n, np.nan), np.full(n, np.nan)
    for i in np.flatnonzero(totals > 0.0).tolist():
        neighbours = np.unique(graph.edges[(graph.edges == i).any(axis=1)])
        guessed = log_p[i].argmax(axis=1)
        partly = np.flatnonzero(observed[:, i] & ~observed[:, neighbours].all(axis=1))
        if partly.size:
            masked = codes[partly].copy()
            masked[:, i] = -1
            guessed[partly] = beliefs_of(masked)[:, graph.node_at[i] : graph.node_at[i + 1]].argmax(axis=1)
        rows = observed[:, i]
        accuracy[i] = weights[rows] @ (guessed[rows] == codes[rows, i]) / totals[i]
        majority[i] = np.bincount(codes[rows, i], weights[rows]).max() / totals[i]
    left = 1.0 - majority
    normalised = np.divide(accuracy - majority, left, out=np.full(n, np.nan), where=left > 1e-12)
    return Predictability(names, accuracy, majority, normalised)
