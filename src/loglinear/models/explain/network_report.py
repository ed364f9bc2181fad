"""Reports of networks: what `PairwiseMRF` gives to the pages of `report/`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DataError
from ...report.graph_picture import GraphPicture
from ...report.graph_svg import graph_svg, legend_of
from ...report.page import Report
from ...report.weights import Strongest, strongest_of
from ...vectors import Vector
from .answers import Answers
from .edges import drawing, ranked_edges
from .explanation import Explanation, part_of
from .reports import file_rows, judged, settings_rows, training_rows

__all__ = ["network_rows", "report_of_network"]

# Number of strongest edges, and of strongest variables, to show.
_EDGES = _VARIABLES = 30
# Number of variables up to which centralities are computed: the time grows with its cube.
_MOST_MEASURED = 500


def report_of_network(network: Any, X: Any, *, title: str, command: str | None = None) -> Report:
    """Return the report of a network on a table: how well each value is told from the others of its row.

    A row is a sentence whose tokens are the observed values, such as ``colour=red``; the label predicted for a value
    is the most probable state of its variable given all other variables. See `PairwiseMRF.report`.

    Raises:
        DataError: no value is observed.
    """
    codes, beliefs = network._beliefs(X)
    if not (codes >= 0).any():
        message = "the data have no values; give data with values"
        raise DataError(message)
    names = [network._called(i) for i in range(network.n_features_in_)]
    likelihood, varying = network.log_likelihood(X), network._varying.tolist()
    states = [[f"{names[i]}={state}" for state in network.categories_[i].tolist()] for i in varying]
    log_p = network._graph.conditionals(network._scores, network._filled(codes, beliefs))
    gold: list[list[str]] = [[] for _ in codes]
    guessed: list[list[str]] = [[] for _ in codes]
    sure: list[list[float]] = [[] for _ in codes]
    for row, variable in np.argwhere(codes >= 0).tolist():
        gold[row].append(states[variable][codes[row, variable]])
        guessed[row].append(states[variable][int(log_p[variable][row].argmax())])
        sure[row].append(float(np.exp(log_p[variable][row].max())))
    bounds = (
        "exact" if likelihood.exact else f"{likelihood.lower / len(codes):.4f} to {likelihood.upper / len(codes):.4f}"
    )
    edges = ranked_edges(network, names)[:_EDGES]
    explain = partial(_explained, network, codes, beliefs)
    return Report(
        **judged(Answers.of_rows(gold, guessed, sure, gold), "values", explain),
        title=title,
        headline=[("log-likelihood of a row, in nats", f"{likelihood.value / len(codes):.4f}", bounds)],
        data={
            "rows": len(codes),
            "variables": codes.shape[1],
            "missing values": int((codes < 0).sum()),
            "values equal to the most frequent one of their variable": f"{100.0 * _most_frequent(codes):.2f} %",
        },
        settings=network_rows(network),
        command=command or f"{network!r}.fit(X_train)",
        trace=network._trace,
        kept=network._training.get("kept"),
        strongest=_strongest_states(network, states),
        edges=[(" - ".join(edge.variables), edge.strength) for edge in edges],
        centralities=_strongest_variables(network),
        graph=_drawn(network, names),
    )


def _explained(
    network: Any, codes: npt.NDArray[np.int32], beliefs: Vector, rows: Sequence[int], _: Sequence[Collection[int]]
) -> list[Explanation]:
    """Return explanations of some rows, with a token for each observed value."""
    explanations = network._explained(codes[rows], beliefs[rows])
    return [
        part_of(explanation, np.flatnonzero(codes[row] >= 0).tolist())
        for row, explanation in zip(rows, explanations, strict=True)
    ]


def _most_frequent(codes: npt.NDArray[np.int32]) -> float:
    """Return the share of the values that are the most frequent one of their column."""
    columns = (column[column >= 0] for column in codes.T)
    return sum(int(np.bincount(column).max()) for column in columns if column.size) / int((codes >= 0).sum())


def network_rows(network: Any) -> dict[str, str]:
    """Return the rows of the table on the network and its training."""
    n = len(network._varying)
    training = network._training
    return settings_rows(
        {
            "model": "pairwise Markov random field",
            "variables": n,
            "edges": f"{len(network.edges_):,} of {n * (n - 1) // 2:,} possible",
            "weights of edges": int(sum(np.count_nonzero(table) for table in network.weights_)),
            "minimised": network.objective,
            "inference": network.inference,
            "solver": str(network.solver),
            "l1": f"{network.l1_:.6g}" + (f", chosen by {network.l1}" if isinstance(network.l1, str) else ""),
            "l2": network.l2,
            "trained on": f"{training['n_samples']:,} samples" if "n_samples" in training else None,
            **file_rows(network._notes.get("files", {})),
            **training_rows(training),
        }
    )


def _strongest_variables(network: Any) -> list[tuple[str, dict[str, float]]]:
    """Return the strongest variables with their centralities; none of a network without edges, or a large one."""
    if not len(network.edges_) or len(network._varying) > _MOST_MEASURED:
        return []
    centrality = network.centrality()
    columns = {name.replace("_", " "): values.tolist() for name, values in centrality.measures().items()}
    order = np.argsort(-centrality.strength, kind="stable")[:_VARIABLES].tolist()
    return [(centrality.names[i], {name: values[i] for name, values in columns.items()}) for i in order]


def _strongest_states(network: Any, states: list[list[str]]) -> dict[str, Strongest]:
    """Return the strongest weights of each state: its own, and those with neighbours' states.

    The mean over a variable's states is subtracted from each weight, because only differences between states count.
    """
    place = {variable: at for at, variable in enumerate(network._varying.tolist())}
    weights: dict[str, list[tuple[str, float]]] = {}

    def add(here: list[str], name: str, values: Vector) -> None:
        for state, value in zip(here, (values - values.mean()).tolist(), strict=True):
            weights.setdefault(state, []).append((name, value))

    node_weights = network.node_weights_
    for variable, at in place.items():
        add(states[at], "(its own weight)", node_weights[variable])
    for (i, j), table in zip(network.edges_.tolist(), network.weights_, strict=True):
        for here, there, values in ((place[i], place[j], table.T), (place[j], place[i], table)):
            for name, column in zip(states[there], values, strict=True):
                add(states[here], name, column)
    return {state: strongest_of(neighbours) for state, neighbours in weights.items()}


def _drawn(network: Any, names: Sequence[str]) -> str:
    """Return the picture of the graph and its legend as HTML."""
    picture = GraphPicture(*drawing(network, names))
    return f"{graph_svg(picture)}<figcaption>{legend_of(picture)}</figcaption>"
