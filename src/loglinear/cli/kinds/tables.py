"""Networks: models of tables, whose samples are lines and whose variables are columns."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...data.formats import file_name
from ...data.frames import missing_columns
from ...data.table import Table, join_names, read_table
from ...data.writing import check_labels, write_output, write_text
from ...errors import DataError
from ...models.explain.edges import Edge, ranked_edges
from ...models.files.settings import plain, version_of
from ...models.network import PairwiseMRF
from ...visible import counted
from ..options import flags_of
from ..output import say
from ..reading import naming
from ..withheld import Withheld
from ..wrapping import unbroken
from .inspected import training_lines
from .kind import Kind

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from ...models.explain.explanation import Explanation
    from ...models.explain.model_card import ModelCard
    from ...report.page import Report
    from .kind import Trace

__all__ = ["Tables"]

# Entries of the training's summary.
_TRAINING = ("status", "n_samples", "nll", "violation", "iterations", "seconds")


class Tables(Kind):
    """The model of a network."""

    called = "a network model, which reads tables"
    estimator = "PairwiseMRF"
    noun = "Sample"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        network = self.network = PairwiseMRF.load(path)
        self.named = hasattr(network, "feature_names_in_")
        self.names: list[str] = (
            network.feature_names_in_.tolist() if self.named else [f"x{k + 1}" for k in range(network.n_features_in_)]
        )
        # The variables that the network has not left out.
        variables = zip(self.names, network.categories_, strict=True)
        self.needed = [name for name, states in variables if states.size > 1]

    def read(self, path: str) -> tuple[Table, Table]:
        """Read a table; return it, which may have other columns too, and the network's variables in it.

        A network that was trained without names takes columns as they come.
        """
        try:
            header, marks = self.needed if self.named else True, self.network.missing or ()
            table = read_table(path, header=header, flags=False, missing=marks, with_texts=True)
        except DataError as error:
            message = f"{error} ({self.path} is {self.called})"
            raise DataError(message) from error
        column_of = dict(zip(table.names if self.named else self.names, table.columns, strict=False))
        if lacking := [name for name in self.needed if name not in column_of]:
            message = f"{file_name(path)}: {missing_columns(lacking)}"
            raise DataError(message)
        nothing = np.full(table.n_samples, None, dtype=object)
        columns = [
            _as_states(column_of.get(name, nothing), states.tolist())
            for name, states in zip(self.names, self.network.categories_, strict=True)
        ]
        return table, Table(self.names, columns, lines=table.lines)

    def tag(self, arguments: Namespace) -> None:
        """Write the table with the most probable state in place of each missing value.

        With --marginals, a column p(NAME) follows for each variable that had missing values: the probability of the
        state that was filled in, and nothing where the value was there. All other cells stay as they were read. With
        --min-probability, cells whose best state is less probable stay empty, or get what --below says.
        """
        self.take_only(vars(arguments), "min_probability", "below")
        withheld = Withheld.of(arguments)
        table, samples = self.read(arguments.file)
        columns = table.columns if table.texts is None else [np.array(cells, dtype=object) for cells in table.texts]
        columns, sure, remedy = list(columns), {}, "rename the state in the training data"
        with naming(arguments.file):
            probabilities_of = self.network.predict_proba(samples)
        for i, (name, column) in enumerate(zip(samples.names, samples.columns, strict=True)):
            gaps = np.flatnonzero([value is None for value in column])
            if name in self.needed and gaps.size:
                probabilities = probabilities_of[i][gaps]
                at = table.names.index(name) if name in table.names else i
                columns[at] = columns[at].copy()
                states = self.network.categories_[i][probabilities.argmax(axis=1)].tolist()
                if withheld is not None:
                    pairs = zip(states, probabilities.max(axis=1), strict=True)
                    states = [state if p >= withheld.least else withheld.below for state, p in pairs]
                check_labels([str(state) for state in states if state is not None], remedy, place="quotes")
                columns[at][gaps] = states
                sure[f"p({name})"] = np.full(table.n_samples, None, dtype=object)
                sure[f"p({name})"][gaps] = [f"{p:.6f}" for p in probabilities.max(axis=1)]
        if not sure:
            say(f"note: {file_name(arguments.file)}: no cell of the model's columns is empty, so nothing was filled in")
        names = list(table.names)
        if arguments.marginals:
            names, columns = names + list(sure), columns + list(sure.values())
        write_text(arguments.output, replace(table, names=names, columns=columns).text().encode())

    def convert(self, output: str, format: str) -> None:
        """Write the network to a file: loglinear's, or one of the UAI competitions."""
        if format not in ("uai", "loglinear"):
            self.refuse(f"convert --to {format}", "networks have the formats uai and loglinear")
        if format == "uai":
            self.network.to_uai(output)
        else:
            write_output(output, Path(self.path).read_bytes())

    def evaluate(self, arguments: Namespace) -> str:
        """Return the log-likelihood of a table, and whether it is exact or an estimate between bounds."""
        mode = None if arguments.mode == "conlleval" else arguments.mode  # the default
        options = vars(arguments) | {"mode": mode}
        self.leave_out(options, "format", "output", "scheme", "mode", "calibration", "label_bias")
        _, samples = self.read(arguments.file)
        with naming(arguments.file):
            likelihood = self.network.log_likelihood(samples)
            predictability = self.network.predictability(samples)
        n, asked = samples.n_samples, zip(samples.names, samples.columns, strict=True)
        report: dict[str, Any] = {
            "n_samples": n,
            "n_variables": len(self.needed),
            "missing": sum(value is None for name, column in asked if name in self.needed for value in column),
            "log_likelihood": likelihood.value,
            "log_likelihood_per_sample": likelihood.value / n,
            "lower_per_sample": likelihood.lower / n,
            "upper_per_sample": likelihood.upper / n,
            "exact": likelihood.exact,
            "method": likelihood.method,
            "predictability": {name: predictability.defined(name) for name in predictability.names},
        }
        if arguments.json:
            return json.dumps(report)
        nouns = {"sample": n, "variable": report["n_variables"], "missing value": report["missing"]}
        bounds = f"{report['lower_per_sample']:.4f} and {report['upper_per_sample']:.4f}"
        accuracy = "exact" if likelihood.exact else f"estimated by belief propagation, between {bounds}"
        return (
            f"{', '.join(counted(number, noun) for noun, number in nouns.items())}\n"
            f"log-likelihood per sample  {report['log_likelihood_per_sample']:.4f}  {accuracy}\n\n"
            + predictability.text("how well each variable is predicted from all others")
        )

    def explain(self, arguments: Namespace) -> list[Explanation]:
        """Explain the variables of a table's samples."""
        self.leave_out(vars(arguments), "format")
        _, samples = self.read(arguments.file)
        with naming(arguments.file):
            return self.network.explain(samples)

    def inspect(self, *, top: int, as_json: bool) -> str:
        """Show variables, states, the strongest interactions, and how the network was trained."""
        network, training = self.network, self.network._training
        settings, edges = network.get_params() | {"l1": network.l1_}, ranked_edges(network, self.names)
        states = dict(zip(self.names, network.categories_, strict=True))
        report: dict[str, Any] = {
            "variables": [{"name": name, "states": states[name].tolist()} for name in self.needed],
            "left_out": [name for name in states if name not in self.needed],
            "n_binned": sum(bins is not None for bins in network.bin_edges_),
            "n_edges": len(edges),
            "n_weights": sum(len(edge.weights) for edge in edges),
            **{name: settings[name] for name in ("objective", "inference", "solver", "l1", "l2", "grouped", "bins")},
            **{name: training.get(name) for name in _TRAINING},
            "objective_value": training.get("objective"),
            "edges": [edge.to_dict() for edge in edges],
        }
        return json.dumps(report, default=plain) if as_json else _rendered(report, edges, top)

    def card(self) -> ModelCard:
        """Return the model card."""
        from ...models.explain.model_card import ModelCard, quoted
        from ...models.explain.network_report import network_rows
        from .carded import data_rows, loaded, not_converged, own_settings

        rows, name = network_rows(self.network), quoted(self.path)
        states = dict(zip(self.names, self.network.categories_, strict=True))
        return ModelCard(
            path=self.path,
            task="",
            tags=("tabular", "markov-random-field", "graphical-model"),
            does="A pairwise Markov random field: the joint distribution of "
            f"{counted(len(self.needed), 'variable')}, the columns of a table. It fills in missing values with "
            "the most probable ones.",
            label_noun="variables",
            labels={variable: [str(state) for state in states[variable].tolist()] for variable in self.needed},
            data=data_rows(rows),
            settings=own_settings(rows),
            command=self.training_command(),
            status=not_converged(self.network._training),
            shell=f"loglinear tag {name} table.csv\nloglinear evaluate {name} test.csv",
            python=loaded(self.path, "PairwiseMRF", "network", "network.predict(table)  # a table with these columns"),
            version=version_of(self.path),
        )

    def report(self, arguments: Namespace, trace: Trace = (), notes: Sequence[str] = ()) -> Report:
        """Return the report of the network on a table."""
        from ...models.explain.network_report import report_of_network

        self.leave_out(vars(arguments) | {"trace": trace or None}, "format", "scheme", "trace")
        _, samples = self.read(arguments.data)
        with naming(arguments.data):
            title, command = self.title(arguments.data), self.training_command()
            return report_of_network(self.network, samples, title=title, command=command)

    def training_command(self) -> str:
        """Return the command that learns the network again, with names in capitals for files."""
        from ...models.training.structure import NetworkOptions

        network = self.network
        settings = {**network.get_params(), "l1": network.l1_, "solver_options": None, "inference_options": None}
        settings["missing"] = shlex.quote(join_names(map(str, network.missing))) if network.missing else None
        files = [*network._notes.get("files", {}).get("training", ["TABLE"]), "--model", os.path.basename(self.path)]
        words = ["loglinear", "structure", *map(shlex.quote, files), *flags_of(NetworkOptions, settings)]
        return " ".join(words)


def _as_states(column: npt.NDArray[np.object_], states: list[Any]) -> npt.NDArray[np.object_]:
    """Return the values of a column as states of the network, and other values unchanged.

    Whether the digits of a file are read as numbers or as text depends on the other cells of their column.
    """
    state_of = {str(state): state for state in states}
    values = np.empty(column.size, dtype=object)
    values[:] = [None if value is None else state_of.get(str(value), value) for value in column.tolist()]
    return values


def _rendered(report: dict[str, Any], edges: list[Edge], top: int) -> str:
    """Return the report for people, with the first `top` variables and interactions."""
    variables, n = report["variables"], len(report["variables"])
    order = "states in order, the reference state first"
    lines = [f"variables        {n:,}, {report['n_binned']:,} of them in bins; {order}"]
    lines += [
        f"                 {variable['name']}: {', '.join(unbroken(str(state)) for state in variable['states'])}"
        for variable in variables[:top]
    ]
    if n > top:
        lines.append(f"                 and {n - top:,} more (--top {n}, or --json)")
    if report["left_out"]:
        lines.append(f"left out         {', '.join(report['left_out'])} (identifiers, or fewer than two values)")
    weights = counted(report["n_weights"], "weight")
    lines.append(f"edges            {report['n_edges']:,} of {n * (n - 1) // 2:,} possible, {weights}")
    by = f" by {report['inference'] or 'loopy_bp'}" if report["objective"] == "likelihood" else ""
    grouped = ", grouped" if report["grouped"] else ""
    penalty = f"l1 {report['l1']:.6g}{grouped}, l2 {report['l2']:g}"
    lines.append(f"trained with     {report['objective']}{by}, {report['solver']}, {penalty}")
    lines += training_lines(report | {"objective": report["objective_value"]})
    if edges and top:
        lines += ["", "strongest interactions, with the norm of their weights"]
    for edge in edges[:top]:
        lines.append(f"{edge.strength:10.4f}  {' - '.join(edge.variables)}")
        lines += [f"{'':12}{weight:+10.4f}  {a} - {b}" for a, b, weight in edge.weights]
    return "\n".join(lines)
