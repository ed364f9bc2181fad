"""What `loglinear structure` has learned: the edges of a network, as a table, a figure, JSON and lines for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..visible import counted
from .ending import certainty, ending, numbers, size_text
from .output import tab_separated
from .wrapping import unbroken

if TYPE_CHECKING:
    from ..data.table import Table
    from ..models.network import PairwiseMRF
    from ..models.training.case_dropping import NetworkStability
    from ..models.training.resampling import EdgeConfidence
    from ..path import Path
    from ..vectors import Vector

__all__ = ["Edges", "part_of_picture"]

# What chooses the strength of the L1 penalty, as people write it.
CRITERIA = {"ebic": "EBIC", "cv": "cross-validation", "stars": "StARS"}
# Number of edges that the summary lists.
SHOWN = 3
# Number of reference states, and of columns with bins, that the summary lists without -v.
LISTED = 8
# Measures of the variables that a figure shows.
NODE_PANELS = ("strength", "expected_influence", "closeness", "betweenness", "normalised")


class Edges:
    """Edges of a trained network, the strongest first.

    Args:
        estimator: the network.
        table: the samples that it was trained on.
        confidence: of its edges, if it was asked for.
        stability: of the network, if it was asked for.
    """

    def __init__(
        self,
        estimator: PairwiseMRF,
        table: Table,
        confidence: EdgeConfidence | None = None,
        stability: NetworkStability | None = None,
    ) -> None:
        from ..models.explain.edges import ranked_edges

        self._estimator, self._table, self._names = estimator, table, table.names
        self._stability = stability
        # Numbers of the variables that are not left out.
        self._varying = [i for i, categories in enumerate(estimator.categories_) if len(categories) > 1]
        self._result = estimator.result_
        self._path: Path | None = getattr(estimator, "path_", None)
        self._ranking = ranked_edges(estimator, self._names)
        order = (-estimator.strengths_).argsort(kind="stable")
        self._shares = None if confidence is None else [confidence[i, j] for i, j in estimator.edges_[order].tolist()]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the training, or the search for the best strength of the penalty."""
        from ..result import Status

        ended = self._path is not None and self._path.interrupted
        return ended or self._result.status is Status.INTERRUPTED

    def table(self) -> str:
        """Return a line for each weight."""
        names = ["variable_1", "variable_2", "state_1", "state_2", "weight"]
        shares = [[]] * len(self._ranking) if self._shares is None else [[f"{share:.3g}"] for share in self._shares]
        rows = [
            [*edge.variables, str(a), str(b), f"{weight:.6g}", *share]
            for edge, share in zip(self._ranking, shares, strict=True)
            for a, b, weight in edge.weights
        ]
        return tab_separated(names if self._shares is None else [*names, "share"], rows)

    def drawn(self, path: str) -> bytes:
        """Return the content of a figure's file of this name."""
        from ..models.explain.edges import drawing
        from ..report.figure import is_page
        from ..report.graph import drawn
        from ..report.interactive import interactive

        graph = drawing(self._estimator, self._names)
        return interactive(*graph) if is_page(path) else drawn(*graph, path)

    def nodes(self, path: str) -> bytes:
        """Return the content of a file with the measures of the variables, a table or a figure."""
        from ..report.figure import is_figure
        from ..report.node_plots import centrality_figure

        measures = self._measures()
        names = [self._names[i] for i in self._varying]
        if is_figure(path):
            shown = {name.replace("_", " "): values for name, values in measures.items() if name in NODE_PANELS}
            return centrality_figure(names, shown, path)
        rows = ([name, *(_cell(values[k]) for values in measures.values())] for k, name in enumerate(names))
        return tab_separated(["variable", *measures], rows).encode()

    def _measures(self) -> dict[str, Vector]:
        """Return centralities and predictability of the variables by name."""
        predictability = self._estimator.predictability(self._table)
        return self._estimator.centrality().measures() | predictability.measures()

    def part_drawn(self, path: str) -> str:
        """Say how many of the edges a figure shows, if it does not show all."""
        return part_of_picture(path, [edge.variables for edge in self._ranking], "edges")

    def json(self) -> str:
        """Return all there is to know, for machines."""
        from ..models.files.settings import plain, training_summary

        name, value = self._likelihood()
        edges = [edge.to_dict() for edge in self._ranking]
        for edge, share in zip(edges, self._shares or (), strict=False):
            edge["share"] = share
        table = self._table
        head: dict[str, Any] = {"variables": len(self._varying), "samples": table.n_samples, "missing": table.n_missing}
        head["left_out"] = [name for i, name in enumerate(self._names) if i not in self._varying]
        head["reference"] = dict(self._references())
        tail: dict[str, Any] = {}
        if (stability := self._stability) is not None:
            coefficients = {name: None if value != value else value for name, value in stability.coefficients.items()}
            tail["stability"] = {"coefficients": coefficients, "networks_per_share": stability.n}
        tail |= {"l1": self._l1(), f"{name.replace('-', '_')}_per_sample": value, "edges": edges}
        return json.dumps(head | training_summary([self._result]) | tail, default=plain)

    def _references(self) -> list[tuple[str, Any]]:
        """Return each variable of the network with its reference state, which has no weights."""
        return [(self._names[i], self._estimator.categories_[i].tolist()[0]) for i in self._varying]

    def _l1(self) -> float:
        return float(self._estimator.l1_)

    def _likelihood(self) -> tuple[str, float]:
        """Return the name of the likelihood that is maximised, and its logarithm per sample."""
        name = "log-likelihood" if self._estimator.objective == "likelihood" else "pseudo-log-likelihood"
        return name, -self._result.nll / self._table.n_samples

    def summary(self, model: str | None, seconds: float, *, verbose: bool) -> str:
        """Return lines for people.

        Args:
            model: path of the model's file, if one was written.
            seconds: time that all has taken.
            verbose: whether to show numbers for experts, too.
        """
        result, n = self._result, len(self._varying)
        n_weights, edges = sum(len(edge.weights) for edge in self._ranking), counted(len(self._ranking), "edge")
        name, value = self._likelihood()
        cut_into = self._estimator.bin_edges_
        binned = [name for name, edges in zip(self._names, cut_into, strict=True) if edges is not None]
        listed = None if verbose else LISTED
        report = self._estimator.inference_report_
        by = f" (by {report.method})" if report is not None else ""
        lines = [
            ending([result], "" if model is None else size_text(model), seconds=seconds),
            certainty([result], remedies=False),
            f"l1 {self._l1():.6g}{self._choice()}",
            f"{name} per sample {value:.4f}{by}",
            *([f"{counted(len(binned), 'numeric column')} in bins: {_first(binned, listed)}"] if binned else []),
            f"{edges} of {n * (n - 1) // 2:,} possible, {counted(n_weights, 'weight')}",
        ]
        if self._ranking:
            shown = (f"{' - '.join(edge.variables)} ({edge.strength:.3g})" for edge in self._ranking[:SHOWN])
            lines.append(f"strongest, by the norm of the weights: {', '.join(map(unbroken, shown))}")
            states = [f"{name}={state}" for name, state in self._references()]
            lines.append(f"reference states, which have no weights: {_first(states, listed)}")
        elif result.status.converged:
            lines[-1] += "; lower --l1 for more"
        if (stability := self._stability) is not None:
            shares = ", ".join(f"{name} {_share(value)}" for name, value in stability.coefficients.items())
            networks = counted(stability.n, "network")
            lines.append(f"largest share of samples that can be left out: {shares} ({networks} of each share)")
        return "\n".join(lines + (numbers([result]) if verbose else []))

    def _choice(self) -> str:
        path = self._path
        if path is None:
            return ""
        return f", chosen by {CRITERIA[str(self._estimator.l1)]} from {len(path.points)} strengths"


def _first(items: Sequence[str], n: int | None) -> str:
    """Return the first n items as text, or all; says how many more there are, and how to see them."""
    more = "" if n is None or len(items) <= n else f" and {len(items) - n:,} more (-v)"
    return ", ".join(map(unbroken, items[:n])) + more


def part_of_picture(path: str, pairs: Sequence[Sequence[str]], noun: str) -> str:
    """Say how many of the edges of a graph its figure shows, if it does not show all.

    Args:
        path: name of the figure's file.
        pairs: names of both variables of each edge.
        noun: what an edge is.
    """
    from ..report.figure import is_page
    from ..report.graph_picture import n_shown

    if is_page(path):
        return ""
    shown = n_shown(len(pairs), len({name for pair in pairs for name in pair}))
    return "" if shown == len(pairs) else f" with the {shown:,} strongest of {len(pairs):,} {noun}; --edges writes all"


def _cell(value: float) -> str:
    """Return a number as text; nothing for an undefined one."""
    return "" if value != value else f"{value:.6g}"


def _share(value: float) -> str:
    return "undefined" if value != value else f"{value:.3g}"
