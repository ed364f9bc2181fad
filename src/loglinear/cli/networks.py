"""Answers of the commands evaluate, tag and inspect for the model of a network, whose samples are lines of a table."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data.table import Table, read_table
from ..data.writing import write_output
from ..errors import DataError, OptionError
from ..models.explain.explanation import Explanation
from ..models.files import network as network_file
from ..models.files.settings import plain
from ..models.network import PairwiseMRF
from ..report.page import Report
from ..result import violation_text
from .options import flag, flags_of
from .output import counted, ended
from .reading import naming

__all__ = ["Edge", "evaluate", "explain", "inspect", "make_report", "ranked_edges", "tag"]


@dataclass(frozen=True)
class Edge:
    """An edge of a network by name.

    Attributes:
        variables: both ends.
        strength: Euclidean norm of its weights.
        weights: a state of each end, and the weight of both together, where it is not 0.
    """

    variables: tuple[str, str]
    strength: float
    weights: list[tuple[Any, Any, float]]

    def to_dict(self) -> dict[str, Any]:
        """Return the edge for JSON."""
        weights = [{"states": [a, b], "weight": weight} for a, b, weight in self.weights]
        return {"variables": self.variables, "strength": self.strength, "weights": weights}


def ranked_edges(network: PairwiseMRF) -> list[Edge]:
    """Return the edges of a network, the strongest first."""
    names, states = _names(network), [known.tolist() for known in network.categories_]
    edges = []
    for at in (-network.strengths_).argsort(kind="stable").tolist():
        i, j = network.edges_[at].tolist()
        table = network.weights_[at]
        weights = [(states[i][a], states[j][b], float(table[a, b])) for a, b in np.argwhere(table).tolist()]
        edges.append(Edge((names[i], names[j]), float(network.strengths_[at]), weights))
    return edges


def _names(network: PairwiseMRF) -> list[str]:
    """Names of all variables; x1, x2, ... if the network was trained without names."""
    names = getattr(network, "feature_names_in_", None)
    return [f"x{k}" for k in range(1, network.n_features_in_ + 1)] if names is None else names.tolist()


def _refuse(arguments: Namespace, *names: str) -> None:
    """Raise OptionError if an option is given that only models of sentences and samples know."""
    for name in names:
        if getattr(arguments, name, None) is not None:
            message = f"{flag(name)}: {arguments.model} is the model of a network, which reads tables; leave it out"
            raise OptionError(message)


def _needed(network: PairwiseMRF) -> list[str]:
    """Names of the variables that the network has not left out."""
    return [name for name, known in zip(_names(network), network.categories_, strict=True) if known.size > 1]


def _opened(arguments: Namespace) -> tuple[PairwiseMRF, Table, Table]:
    """Return the network of the command line, the table that it is asked about, and the network's variables in it.

    The table may have other columns too. A network that was trained without names takes columns as they come.
    """
    network = PairwiseMRF.load(arguments.model)
    named = hasattr(network, "feature_names_in_")
    try:
        table = read_table(arguments.file, header=_needed(network) if named else True, flags=False)
    except DataError as error:
        message = f"{error} ({arguments.model} is the model of a network, which reads tables)"
        raise DataError(message) from error
    given = table if named else replace(table, names=_names(network)[: len(table.names)])
    column_of = dict(zip(given.names, given.columns, strict=False))
    lacking = [name for name in _needed(network) if name not in column_of]
    if lacking:
        message = f"{arguments.file}: the network's columns {', '.join(map(repr, lacking))} are not there; add them, "
        message += "empty if nothing is known of them"
        raise DataError(message)
    nothing = np.full(table.n_samples, None, dtype=object)
    columns = [
        _known(column_of.get(name, nothing), known.tolist())
        for name, known in zip(_names(network), network.categories_, strict=True)
    ]
    return network, table, Table(_names(network), columns)


def _known(column: npt.NDArray[np.object_], states: list[Any]) -> npt.NDArray[np.object_]:
    """Return the values of a column as the network knows them, and others as they are.

    Whether the digits of a file are read as numbers or as text depends on the other cells of their column.
    """
    state_of = {str(state): state for state in states}
    found = np.empty(column.size, dtype=object)
    found[:] = [None if value is None else state_of.get(str(value), value) for value in column.tolist()]
    return found


def explain(arguments: Namespace) -> list[Explanation]:
    """Return the explanations of a table's samples."""
    _refuse(arguments, "format")
    network, _, samples = _opened(arguments)
    with naming(arguments.file):
        return list(network.explain(samples))


def make_report(model: str, data: str, given: dict[str, Any], title: str) -> Report:
    """Return the report of a network on a table.

    Args:
        model: path of the network's file.
        data: path of the table.
        given: options of the command line that networks refuse, None for those not given.
        title: of the page.
    """
    from ..models.explain.network_report import report_of_network
    from ..models.training.structure import NetworkOptions

    arguments = Namespace(model=model, file=data, **given)
    _refuse(arguments, "format", "scheme", "trace")
    network, _, samples = _opened(arguments)
    settings = {**network.get_params(), "l1": network.l1_, "solver_options": None, "inference_options": None}
    command = " ".join(["loglinear structure TABLE --model MODEL", *flags_of(NetworkOptions, settings)])
    with naming(data):
        return report_of_network(network, samples, title=title, command=command)


def evaluate(arguments: Namespace) -> None:
    """Print the log-likelihood of a table, and whether it is exact or an estimate between bounds."""
    arguments.mode = None if arguments.mode == "conlleval" else arguments.mode  # the default
    _refuse(arguments, "format", "output", "scheme", "mode", "calibration")
    network, _, samples = _opened(arguments)
    with naming(arguments.file):
        found = network.log_likelihood(samples)
    n, needed = samples.n_samples, _needed(network)
    asked = zip(samples.names, samples.columns, strict=True)
    report: dict[str, Any] = {
        "n_samples": n,
        "n_variables": len(needed),
        "missing": sum(value is None for name, column in asked if name in needed for value in column),
        "log_likelihood": found.value,
        "log_likelihood_per_sample": found.value / n,
        "lower_per_sample": found.lower / n,
        "upper_per_sample": found.upper / n,
        "exact": found.exact,
        "method": found.method,
    }
    if arguments.json:
        print(json.dumps(report))
        return
    size = (
        counted(n, "sample"),
        counted(report["n_variables"], "variable"),
        counted(report["missing"], "missing value"),
    )
    print(", ".join(size))
    print(f"log-likelihood per sample  {report['log_likelihood_per_sample']:.4f}  ", end="")
    bounds = f"{report['lower_per_sample']:.4f} and {report['upper_per_sample']:.4f}"
    print("exact" if found.exact else f"an estimate by belief propagation, within the bounds {bounds}")


def tag(arguments: Namespace) -> None:
    """Write the table with the most probable state in place of each missing value.

    With --marginals, a column p(NAME) follows for each variable that had missing values: the probability of the state
    that was filled in, and nothing where the value was there.
    """
    _refuse(arguments, "format", "n_best", "probabilities", "layout", "detail", "stream")
    network, table, samples = _opened(arguments)
    needed = _needed(network)
    gaps = {name: _gaps(column) for name, column in zip(samples.names, samples.columns, strict=True) if name in needed}
    columns, sure = list(table.columns), {}
    with naming(arguments.file):
        found = network.predict_proba(samples)
    for i, name in enumerate(samples.names):
        if name in needed and gaps[name].size:
            probabilities = found[i][gaps[name]]
            at = table.names.index(name) if name in table.names else i
            columns[at] = columns[at].copy()
            columns[at][gaps[name]] = network.categories_[i][probabilities.argmax(axis=1)].tolist()
            sure[f"p({name})"] = np.full(table.n_samples, None, dtype=object)
            sure[f"p({name})"][gaps[name]] = [f"{p:.6f}" for p in probabilities.max(axis=1)]
    names = list(table.names)
    if arguments.marginals:
        names, columns = names + list(sure), columns + list(sure.values())
    write_output(arguments.output, replace(table, names=names, columns=columns).text().encode())


def _gaps(column: npt.NDArray[np.object_]) -> npt.NDArray[np.intp]:
    """Return the rows where a value is missing."""
    return np.flatnonzero([value is None for value in column])


def inspect(arguments: Namespace) -> None:
    """Print variables, states, the strongest interactions, and how the network was trained."""
    network, settings = PairwiseMRF.load(arguments.model), network_file.read(arguments.model).settings
    needed, edges = _needed(network), ranked_edges(network)
    states = dict(zip(_names(network), network.categories_, strict=True))
    training = settings.get("training", {})
    report: dict[str, Any] = {
        "variables": [{"name": name, "states": states[name].tolist()} for name in needed],
        "left_out": [name for name in states if name not in needed],
        "n_binned": sum(bins is not None for bins in network.bin_edges_),
        "n_edges": len(edges),
        "n_weights": sum(len(edge.weights) for edge in edges),
        **{name: settings.get(name) for name in ("objective", "inference", "solver", "l1", "l2", "grouped", "bins")},
        **{name: training.get(name) for name in ("status", "n_samples", "nll", "violation", "iterations", "seconds")},
        "objective_value": training.get("objective"),
        "edges": [edge.to_dict() for edge in edges],
    }
    print(json.dumps(report, default=plain) if arguments.json else _rendered(report, edges, arguments.top))


def _rendered(report: dict[str, Any], edges: list[Edge], top: int) -> str:
    """Return the report for people, with so many variables and interactions."""
    variables, n = report["variables"], len(report["variables"])
    lines = [f"variables        {n:,}, {report['n_binned']:,} of them in bins"]
    lines += [f"                 {each['name']}: {', '.join(map(str, each['states']))}" for each in variables[:top]]
    if n > top:
        lines.append(f"                 and {n - top:,} more (--top {n}, or --json)")
    if report["left_out"]:
        lines.append(f"left out         {', '.join(report['left_out'])} (one value, or none)")
    possible = n * (n - 1) // 2
    weights = counted(report["n_weights"], "weight")
    lines.append(f"edges            {report['n_edges']:,} of {possible:,} possible ones, {weights}")
    by = f" by {report['inference'] or 'loopy_bp'}" if report["objective"] == "likelihood" else ""
    grouped = ", grouped" if report["grouped"] else ""
    penalty = f"l1 {report['l1']:.6g}{grouped}, l2 {report['l2']:g}"
    lines.append(f"trained with     {report['objective']}{by}, {report['solver']}, {penalty}")
    if report["status"] is not None:
        lines += [
            f"                 on {counted(report['n_samples'], 'sample')}",
            f"ended            {ended(report)}",
            f"                 objective {report['objective_value']:.4f}, {violation_text(report['violation'])}",
        ]
    if edges and top:
        lines += ["", "strongest interactions"]
    for edge in edges[:top]:
        lines.append(f"{edge.strength:10.4f}  {' - '.join(edge.variables)}")
        lines += [f"{'':12}{weight:+10.4f}  {a} - {b}" for a, b, weight in edge.weights]
    return "\n".join(lines)
