"""Reports of networks and of fields on graphs: what `PairwiseMRF` and `GraphCRF` give to the pages of `report/`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DataError, OptionError
from ...metrics import evaluate
from ...report.figure import check_figure
from ...report.graph import drawn
from ...report.intervals import bootstrap
from ...report.mistakes import confusions, mistakes
from ...report.page import Report
from ...report.weights import Strongest, Transitions
from ...vectors import Vector
from ..files.tagging import Tagging
from .answers import Answers
from .reports import call_text, settings_rows, training_rows

__all__ = ["graph_rows", "network_rows", "report_of_graphs", "report_of_network"]

Places = npt.NDArray[np.intp]
# Strongest weights of a state that are shown, for it and against it, and strongest edges.
_WEIGHTS, _EDGES = 10, 30


def report_of_network(network: Any, X: Any, *, title: str, command: str | None = None) -> Report:
    """Return the report of a network on a table: how well each value is told from the others of its row.

    A row is a sentence whose tokens are the observed values, such as ``colour=red``; the label predicted for a value
    is the most probable state of its variable given all other variables.

    Args:
        network: a trained `PairwiseMRF`.
        X: the table, shape (n_samples, n_variables).
        title: of the page.
        command: how to train the network again; by default the Python that does.

    Raises:
        DataError: no value is observed.
    """
    codes, beliefs = network._beliefs(X)
    if not (codes >= 0).any():
        message = "the data have no values; a report needs some"
        raise DataError(message)
    found = network.log_likelihood(X)
    states = [
        [f"{network._called(i)}={state}" for state in network.categories_[i].tolist()]
        for i in network._varying.tolist()
    ]
    log_p = network._graph.conditionals(network._scores, network._filled(codes, beliefs))
    gold: list[list[str]] = [[] for _ in codes]
    taggings: list[Tagging] = []
    for row in range(len(codes)):
        guessed, sure = [], []
        for variable in np.flatnonzero(codes[row] >= 0).tolist():
            gold[row].append(states[variable][codes[row, variable]])
            here = log_p[variable][row]
            guessed.append(states[variable][int(here.argmax())])
            sure.append(min(float(np.exp(here.max())), 1.0))
        taggings.append(Tagging(guessed, sure, [], float(np.log(sure).sum())))
    bounds = "exact" if found.exact else f"{found.lower / len(codes):.4f} to {found.upper / len(codes):.4f}"
    return _report(
        Answers(gold, [each.labels for each in taggings], taggings),
        gold,
        title=title,
        items="values",
        headline=[("log-likelihood of a row, in nats", f"{found.value / len(codes):.4f}", bounds)],
        data={
            "rows": len(codes),
            "variables": codes.shape[1],
            "missing values": int((codes < 0).sum()),
            "values that are their variable's most frequent one": f"{100.0 * _most_frequent(codes):.2f} %",
        },
        settings=network_rows(network),
        command=command or call_text(network, None).replace(".fit(X_train, y_train)", ".fit(X_train)"),
        trace=network._trace,
        strongest=_strongest_states(network, states),
        transitions=None,
        edges=_edges(network),
        graph=_drawn(network),
    )


def report_of_graphs(crf: Any, X: Sequence[Any], y: Sequence[Any], *, title: str) -> Report:
    """Return the report of a field on labelled graphs, whose nodes are its tokens; those without a label do not count.

    Args:
        crf: a trained `GraphCRF`.
        X: graphs.
        y: labels of each graph's nodes, None where a label is missing.
        title: of the page.

    Raises:
        DataError: labels do not fit the graphs.
    """
    predicted, probabilities = crf.predict(X), crf.predict_proba(X)
    classes = [str(each) for each in crf.classes_.tolist()]
    labels = [np.asarray(each).tolist() for each in y]
    known = [[k for k, label in enumerate(each) if label is not None] for each in labels]
    gold = [[str(each[k]) for k in places] for each, places in zip(labels, known, strict=True)]
    taggings = []
    for guess, p in (
        (guess[places], p[places]) for guess, p, places in zip(predicted, probabilities, known, strict=True)
    ):
        sure = [min(float(row[int(at)]), 1.0) for row, at in zip(p, np.searchsorted(crf.classes_, guess), strict=True)]
        taggings.append(Tagging([str(each) for each in guess.tolist()], sure, [], float(np.log(sure).sum())))
    names = [f"node feature {k}" for k in range(len(crf.node_weights_))]
    strongest = {
        label: _strongest(zip(names, crf.node_weights_[:, at].tolist(), strict=True))
        for at, label in enumerate(classes)
    }
    return _report(
        Answers(gold, [each.labels for each in taggings], taggings),
        [[f"node {k}" for k in places] for places in known],
        title=title,
        items="nodes",
        headline=[],
        data={"graphs": len(known), "nodes": sum(map(len, known)), "labels": f"{len(classes)}: {', '.join(classes)}"},
        settings=graph_rows(crf),
        command=call_text(crf, None),
        trace=crf._trace,
        strongest=strongest,
        transitions=Transitions(classes, crf.edge_weights_[0].tolist(), 0) if len(crf.edge_weights_) == 1 else None,
        edges=[],
        graph="",
    )


def graph_rows(crf: Any) -> dict[str, str]:
    """Return the rows of the table on a field on graphs and its training."""
    spread = "tree-reweighted " if crf.inference == "trw" else "loopy "
    return settings_rows(
        {
            "model": "conditional random field on graphs",
            "inference": "exact" if crf.exact_ else f"{spread}belief propagation",
            "node features": len(crf.node_weights_),
            "edge features": len(crf.edge_weights_),
            "features with a weight": int(np.count_nonzero(crf._w)),
            "l1": crf.l1,
            "l2": crf.l2,
            **training_rows(crf._training),
        }
    )


def _report(answers: Answers, words: Sequence[Sequence[str]], *, items: str, **given: Any) -> Report:
    """Return a report of labels without chunks."""
    gold, predicted, taggings = answers.gold, answers.predicted, answers.taggings or []
    scores = evaluate(gold, predicted, scheme="none")
    calibrations = answers.calibrations(samples=False)
    return Report(
        items=items,
        scores=scores,
        intervals=bootstrap(gold, predicted, scores, scheme=None),
        confusions=confusions(scores),
        mistakes=mistakes(gold, predicted, words, [each.probabilities for each in taggings]),
        calibrations={items: calibrations["tokens"]},
        template=None,
        notes=[],
        **given,
    )


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
            "edges": f"{len(network.edges_):,} of {n * (n - 1) // 2:,} possible ones",
            "weights of edges": int(sum(np.count_nonzero(table) for table in network.weights_)),
            "minimised": network.objective,
            "inference": network.inference,
            "solver": str(network.solver),
            "l1": f"{network.l1_:.6g}" + (f", chosen by {network.l1}" if isinstance(network.l1, str) else ""),
            "l2": network.l2,
            "trained on": f"{training['n_samples']:,} samples" if "n_samples" in training else None,
            **training_rows(training),
        }
    )


def _strongest(weights: Any) -> Strongest:
    """Return the strongest weights for and against a label."""
    ordered = sorted(weights, key=lambda each: -each[1])
    up = [each for each in ordered[:_WEIGHTS] if each[1] > 0.0]
    return Strongest(up, [each for each in ordered[::-1][:_WEIGHTS] if each[1] < 0.0])


def _strongest_states(network: Any, states: list[list[str]]) -> dict[str, Strongest]:
    """Return the strongest weights of each state: its own, and those with neighbours' states.

    A weight is less the mean of its variable's states, for it is the differences of a variable's states that count.
    """
    place = {variable: at for at, variable in enumerate(network._varying.tolist())}
    weights: dict[str, list[tuple[str, float]]] = {}

    def add(here: list[str], name: str, values: Vector) -> None:
        for state, value in zip(here, (values - values.mean()).tolist(), strict=True):
            weights.setdefault(state, []).append((name, value))

    for variable, at in place.items():
        add(states[at], "(its own weight)", network.node_weights_[variable])
    for (i, j), table in zip(network.edges_.tolist(), network.weights_, strict=True):
        for here, there, values in ((place[i], place[j], table.T), (place[j], place[i], table)):
            for name, column in zip(states[there], values, strict=True):
                add(states[here], name, column)
    return {state: _strongest(found) for state, found in weights.items()}


def _edges(network: Any) -> list[tuple[str, float]]:
    """Return the strongest edges with their strengths."""
    order = (-network.strengths_).argsort(kind="stable")[:_EDGES].tolist()
    pairs = [network.edges_[at].tolist() for at in order]
    names = [f"{network._called(i)} - {network._called(j)}" for i, j in pairs]
    return list(zip(names, network.strengths_[order].tolist(), strict=True))


def _drawn(network: Any) -> str:
    """Return the picture of the graph as SVG, "" where Matplotlib is missing."""
    try:
        check_figure("graph.svg")
    except OptionError:
        return ""
    place = {variable: at for at, variable in enumerate(network._varying.tolist())}
    signs = [int(np.sign(table[1, 1])) if table.shape == (2, 2) else 0 for table in network.weights_]
    edges = [[place[i], place[j]] for i, j in network.edges_.tolist()]
    names = [network._called(variable) for variable in place]
    text = drawn(names, edges, network.strengths_, signs, "graph.svg").decode()
    return text[text.index("<svg") :]
