"""Learn which columns of a table depend on each other: the edges of a pairwise Markov random field, with their weights.

Each column of the table is a variable and each line a sample; the first line contains the names. Empty cells and NA,
N/A, n/a, <NA>, NaN, nan, NULL, null and None are missing values. Columns with a single value are ignored. --bins
divides numeric columns into bins. The model stores the bin edges and applies them to other tables. A stronger L1
penalty leaves fewer edges. Unless --l1 is given, the extended Bayesian information criterion (EBIC) chooses its
strength.

The output has one line per non-zero weight, strongest edge first: two variables, a state of each, and how much this
pair of states adds to log p, in nats. The first state of each variable is its reference state and has no weights. It is
the first one in numeric or alphabetical order unless --reference chooses another. --bootstrap adds a last column: the
fraction of networks, each trained on a bootstrap sample with the same penalty, that contain the edge.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import DataError, DataWarning, OptionError
from ...extras import needed_by
from ...options import whole_number
from ...visible import counted
from ..ending import certainty, ending, nothing_reached, numbers, size_text
from ..inputs import Inputs, add_data
from ..options import add_json, add_options, add_threads, add_verbose, chosen
from ..output import Interrupted, keeping_reached, say, tab_separated
from ..reading import located
from ..spelling import flags_alone
from ..wrapping import unbroken

if TYPE_CHECKING:
    from collections.abc import Sequence
    from warnings import WarningMessage

    from ...data.table import Table
    from ...models.network import PairwiseMRF
    from ...models.training.resampling import EdgeConfidence
    from ...path import Path
    from ..progress import Progress

EXAMPLE = """example: loglinear structure survey.csv --ignore id --edges edges.tsv --plot graph.svg --model survey.model
         loglinear structure measurements.csv --bins 4 --plot graph.html
         loglinear structure pixels.tsv.gz --objective likelihood --l1 20"""
READS: tuple[str, ...] = ("table",)
WRITES: tuple[str, ...] = ("model", "plot", "edges")

# What chooses the strength of the L1 penalty, as people write it.
CRITERIA = {"ebic": "EBIC", "cv": "cross-validation", "stars": "StARS"}
# Number of edges that the summary lists.
SHOWN = 3
# Number of reference states, and of columns with bins, that the summary lists without -v.
LISTED = 8


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    with needed_by("`loglinear structure`", "sklearn"):
        from ...models.training.structure import OBJECTIVES, NetworkOptions
        from ...networks.inference import INFERENCES

    add = parser.add_argument
    inputs = Inputs("DATA", model=False, data="table")
    add_data(parser, parser, inputs, "DATA", "CSV, TSV (may be compressed; - for stdin) or Parquet")
    add(
        "-o",
        "--output",
        "--edges",
        dest="edges",
        default="-",
        metavar="FILE",
        help="output file for the edges, tab-separated (default: stdout)",
    )
    plot = "draw the graph to FILE: .svg, .png or .pdf (pip install matplotlib), or .html (interactive)"
    add("--plot", metavar="FILE", help=plot)
    add("-m", "--model", metavar="MODEL", help="model file to write")
    l1 = (
        "strength of the L1 penalty l1 * |w|_1: a number (larger for more samples: the objective sums over them), or "
        "a method: ebic (extended BIC), cv (likelihood of held-out folds) or stars (stability of the edges in "
        "subsamples) (default: ebic)"
    )
    add("--l1", type=_l1, default=NetworkOptions.l1, metavar="X", help=l1)
    add_options(parser, NetworkOptions, "l2")
    objective = (
        "pseudolikelihood (fast, all columns at once), nodewise (a regression per column: slower, fewer false edges) "
        "or likelihood (see --inference) (default: pseudolikelihood)"
    )
    add("--objective", default=NetworkOptions.objective, choices=OBJECTIVES, help=objective)
    inference = (
        "with --objective likelihood: loopy_bp (belief propagation), trw (tree-reweighted belief propagation), exact "
        "(junction tree) or gibbs (sampling) (default: loopy_bp)"
    )
    add("--inference", choices=tuple(INFERENCES), help=inference)
    add_options(parser, NetworkOptions, "grouped", "bins", "max_states", "random_state")
    cut = "bin edges of a numeric column: age=18,30,65 gives < 18, [18, 30), [30, 65) and >= 65; may be repeated"
    add("--cut", action="append", default=[], metavar="COLUMN=X,...", help=cut)
    reference = "reference state of a column, such as --reference income=none; may be repeated (default: the lowest)"
    add("--reference", action="append", dest="references", default=[], metavar="COLUMN=STATE", help=reference)
    bootstrap = "also train on N bootstrap samples and report, for each edge, the fraction of networks that contain it"
    add("--bootstrap", type=int, metavar="N", help=bootstrap)
    missing = "further values that mean missing, such as --missing '?,-999' (with a leading dash: --missing=-)"
    add("--missing", action="append", metavar="VALUE,...", help=missing)
    ignore = "ignore these columns, by name or number; a name with a comma needs two pairs of quotes: '\"a, b\",id'"
    add("--ignore", action="append", default=[], metavar="COLUMN,...", help=ignore)
    add(
        "--no-header",
        action="store_true",
        help="the first line is a sample, not names; variables are called x1, x2, ...",
    )
    delimiter = "column separator (default: comma, tab, semicolon or |, whichever fits the first line)"
    add("--delimiter", metavar="C", help=delimiter)
    add_json(parser, "print the edges and a summary as JSON, instead of the table")
    add("-q", "--quiet", action="store_true", help="do not show progress")
    add_verbose(parser)
    add_threads(parser)


def _l1(text: str) -> float | str:
    if text in ("ebic", "cv", "stars"):
        return text
    try:
        return float(text)
    except ValueError:
        message = f"{text!r} is neither a number nor ebic, cv or stars"
        raise ArgumentTypeError(message) from None


def run(arguments: Namespace) -> None:
    """Learn, write the model, the figure and the edges, say how it went."""
    from ...data.writing import write_output, write_text
    from ...models.files.origin import files_of
    from ...solvers import make_solver
    from ..progress import Progress

    estimator = _estimator(arguments)
    places = [place for place in (arguments.model, arguments.plot, arguments.edges) if place not in (None, "-")]
    if arguments.plot is not None:
        from ...report.figure import check_figure

        check_figure(arguments.plot, pages=True)
    with Progress(make_solver("grafting_light"), quiet=arguments.quiet) as progress:
        table = _read(arguments, estimator.missing or (), progress)
        warned = _fit(estimator, arguments.table, table, progress)
        confidence = _confidence(estimator, table, arguments.bootstrap, progress)
    if nothing_reached([estimator.result_]):
        raise Interrupted(is_early=True)
    edges = Edges(estimator, table, confidence)
    if arguments.model is not None:
        estimator.save(arguments.model, files=files_of(arguments, [arguments.table]))
    if arguments.plot is not None:
        write_output(arguments.plot, edges.drawn(arguments.plot))
    if arguments.edges != "-" or not arguments.json:
        write_text(arguments.edges, edges.table().encode())
    if arguments.json:
        print(edges.json())
    for message in warned:
        say(f"warning: {message}")
    if not arguments.quiet:
        say(edges.summary(arguments.model, progress.elapsed, verbose=arguments.verbose))
        for place in places:
            say(f"wrote {place}{edges.part_drawn(place) if place == arguments.plot else ''}")
    if edges.interrupted:
        raise Interrupted(places)


def _estimator(arguments: Namespace) -> PairwiseMRF:
    from ...data.table import split_names
    from ...models.network import PairwiseMRF
    from ...models.training.structure import NetworkOptions

    if arguments.l1 == 0.0:
        message = "--l1 0 selects no edges; give a value above 0, ebic, cv or stars"
        raise OptionError(message)
    if arguments.bootstrap is not None:
        whole_number("--bootstrap", arguments.bootstrap, 2, 10**6)
    missing = [mark for marks in arguments.missing or () for mark in split_names(marks)] or None
    cuts, reference = _cuts(arguments.cut), _reference(arguments.references)
    options = replace(chosen(NetworkOptions, arguments, missing=missing), cuts=cuts, reference=reference)
    options.check()
    parameters = {name: value for name, value in vars(options).items() if name != "gap"}
    return PairwiseMRF(**parameters, n_jobs=arguments.threads or None)


def _cuts(texts: list[str]) -> dict[str, list[float]] | None:
    cuts = {}
    for text in texts:
        column, equals, edges = text.rpartition("=")
        if column in cuts:
            message = f"--cut {text}: column {column!r} already has a --cut; give all its bin edges in one"
            raise OptionError(message)
        try:
            cuts[column] = [float(edge) for edge in edges.split(",")]
        except ValueError:
            equals = ""
        if not equals or not column:
            message = f"--cut {text}: not of the form COLUMN=EDGES; write, for example, --cut age=18,30,65"
            raise OptionError(message)
    return cuts or None


def _reference(texts: list[str]) -> dict[str, str] | None:
    states = {}
    for text in texts:
        column, equals, state = text.partition("=")
        if not equals or not column:
            message = f"--reference {text}: not of the form COLUMN=STATE; write, for example, --reference income=none"
            raise OptionError(message)
        states[column] = state
    return states or None


def _read(arguments: Namespace, missing: Sequence[str | float], progress: Progress) -> Table:
    """Return the samples of the table with at least one value."""
    from ...data.table import read_table, split_names

    table = read_table(
        arguments.table,
        ignore=[name for names in arguments.ignore for name in split_names(names)],
        delimiter=arguments.delimiter,
        header=not arguments.no_header,
        missing=missing,
        distinct=arguments.l1 not in ("cv", "stars") and arguments.bootstrap is None,
    )
    if len(table.names) < 2:
        message = f"{arguments.table}: only column {table.names[0]!r} is left; a network needs two or more"
        raise DataError(message)
    filled = table.without_empty_samples()
    empty = table.n_samples - filled.n_samples
    progress.note(
        f"{arguments.table}: {counted(len(table.names), 'variable')}, {counted(filled.n_samples, 'sample')}, "
        f"{counted(filled.n_missing, 'missing value')}"
        + (f"; ignored {counted(empty, 'line')} without values" if empty else "")
    )
    return filled


def _fit(estimator: PairwiseMRF, name: str, table: Table, progress: Progress) -> list[str]:
    """Train on the table of this file; return the warnings that say more than the status."""
    import warnings

    from ...models.training.structure import POINTS, PathOptions

    folds = PathOptions.folds if estimator.l1 == "cv" else 0
    points = [progress.count_points(POINTS, folds)] if isinstance(estimator.l1, str) else []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with keeping_reached(estimator):
                estimator.fit(table, callbacks=[*points, progress])
        except DataError as error:
            for text in _texts(caught, name):
                say(f"warning: {text}")
            raise DataError(located(name, str(error))) from error
    status = estimator.result_.ending
    return [text for text in _texts(caught, name) if not text.startswith(status)]


def _texts(caught: Sequence[WarningMessage], path: str) -> list[str]:
    """Return the texts of warnings with flags alone; those about the data with the name of their file."""
    texts = [(flags_alone(str(warning.message)), warning.category) for warning in caught]
    return [located(path, text) if issubclass(category, DataWarning) else text for text, category in texts]


def _confidence(estimator: PairwiseMRF, table: Table, n: int | None, progress: Progress) -> EdgeConfidence | None:
    """Return the edges' confidence from n bootstrap samples; None without samples or after Ctrl-C."""
    from ...result import Status

    result = estimator.result_
    if n is None or result.status is Status.INTERRUPTED:
        return None

    def observe(done: int) -> None:
        progress.share_done, progress.label = done / n, f"bootstrap sample {done} of {n}"
        progress(result.record, result.state)

    try:
        return estimator.edge_confidence(table, n, observe=observe)
    except KeyboardInterrupt:
        return None


class Edges:
    """Edges of a trained network, the strongest first.

    Args:
        estimator: the network.
        table: the samples that it was trained on.
        confidence: of its edges, if it was asked for.
    """

    def __init__(self, estimator: PairwiseMRF, table: Table, confidence: EdgeConfidence | None = None) -> None:
        from ...models.explain.edges import ranked_edges

        self._estimator, self._table, self._names = estimator, table, table.names
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
        from ...result import Status

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
        from ...models.explain.edges import drawing
        from ...report.figure import is_page
        from ...report.graph import drawn
        from ...report.interactive import interactive

        graph = drawing(self._estimator, self._names)
        return interactive(*graph) if is_page(path) else drawn(*graph, path)

    def part_drawn(self, path: str) -> str:
        """Say how many of the edges a figure shows, if it does not show all."""
        from ...report.figure import is_page
        from ...report.graph_picture import n_shown

        n_edges = len(self._ranking)
        if is_page(path):
            return ""
        shown = n_shown(n_edges, len({name for edge in self._ranking for name in edge.variables}))
        return "" if shown == n_edges else f" with the {shown:,} strongest of {n_edges:,} edges; --edges writes all"

    def json(self) -> str:
        """Return all there is to know, for machines."""
        from ...models.files.settings import plain, training_summary

        name, value = self._likelihood()
        edges = [edge.to_dict() for edge in self._ranking]
        for edge, share in zip(edges, self._shares or (), strict=False):
            edge["share"] = share
        table = self._table
        head: dict[str, Any] = {"variables": len(self._varying), "samples": table.n_samples, "missing": table.n_missing}
        head["left_out"] = [name for i, name in enumerate(self._names) if i not in self._varying]
        head["reference"] = dict(self._references())
        tail = {"l1": self._l1(), f"{name.replace('-', '_')}_per_sample": value, "edges": edges}
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
