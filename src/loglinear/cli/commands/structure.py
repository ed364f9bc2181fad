"""Learn which variables of a table interact: the edges of a pairwise Markov random field, with their weights.

Every column of the table is a variable, every line a sample; the first line has the names. Empty cells and NA, N/A,
n/a, <NA>, NaN, nan, NULL, null, None are missing values. The strength of the L1 penalty, and with it the number of
edges, is chosen by the extended Bayesian information criterion unless --l1 says otherwise.

The result has a line for each weight other than 0, the strongest edge's weights first: two variables, a state of each,
and by how much the pair of states raises log p, in nats. The first state of every variable, in the order of numbers or
of letters, is the state that others are measured against, and has no weights.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...errors import DataError, OptionError
from ..options import add_json, add_options, add_threads, chosen
from ..output import keeping_reached, say, tab_separated

if TYPE_CHECKING:
    from ...data.table import Table
    from ...models.network import PairwiseMRF
    from ...path import Path
    from ...result import Result
    from ..progress import Progress

EXAMPLE = """example: loglinear structure survey.csv --ignore id --edges edges.tsv --plot graph.svg --model survey.model
         loglinear structure pixels.tsv.gz --objective likelihood --l1 20"""

# Strengths of the L1 penalty to choose from.
STRENGTHS = 20
# Edges that the summary names.
SHOWN = 3


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    from ...models.structure import NetworkOptions

    add = parser.add_argument
    add("table", metavar="DATA", help="CSV, TSV (gzip and xz too; - for stdin) or Parquet")
    add("--edges", default="-", metavar="FILE", help="where to write the edges, tab-separated; stdout by default")
    add("--plot", metavar="FILE", help="draw the graph to this file: .svg, .png or .pdf; needs matplotlib")
    add("-m", "--model", metavar="MODEL", help="write the model")
    l1 = "L1 penalty l1 * |w|_1: a number, or how to choose it, ebic (the default) or cv"
    add("--l1", type=_l1, default="ebic", metavar="X", help=l1)
    add_options(parser, NetworkOptions, "l2")
    objective = "pseudolikelihood (the default), likelihood or nodewise"
    add(
        "--objective",
        default="pseudolikelihood",
        choices=("pseudolikelihood", "likelihood", "nodewise"),
        help=objective,
    )
    inference = "with --objective likelihood: loopy_bp (the default), exact or gibbs"
    add("--inference", choices=("loopy_bp", "exact", "gibbs"), help=inference)
    add_options(parser, NetworkOptions, "grouped", "max_states", "random_state")
    add("--ignore", action="append", default=[], metavar="COLUMN,...", help="leave out these columns")
    add("--no-header", action="store_true", help="the first line is a sample; variables are x1, x2, ...")
    delimiter = "what separates cells; by default whichever of comma, tab and semicolon fits the first line"
    add("--delimiter", metavar="C", help=delimiter)
    add_json(parser)
    add("-q", "--quiet", action="store_true", help="no progress")
    add_threads(parser)


def _l1(text: str) -> float | str:
    if text in ("ebic", "cv"):
        return text
    try:
        return float(text)
    except ValueError:
        message = f"{text!r} is neither a number nor ebic nor cv"
        raise ArgumentTypeError(message) from None


def run(arguments: Namespace) -> None:
    """Learn, write the model, the figure and the edges, say how it went."""
    from ...data.writing import write_output
    from ...solvers import make_solver
    from ..progress import Progress

    estimator = _estimator(arguments)
    places = [place for place in (arguments.model, arguments.plot, arguments.edges) if place not in (None, "-")]
    _check(arguments, places)
    with Progress(make_solver("grafting_light"), quiet=arguments.quiet) as progress:
        table, filled = _read(arguments, progress)
        warned = _fit(estimator, filled, progress, chosen=isinstance(arguments.l1, str))
    edges = Edges(estimator, filled, missing=table.n_missing)
    if arguments.model is not None:
        estimator.save(arguments.model)
    if arguments.plot is not None:
        write_output(arguments.plot, edges.drawn(arguments.plot))
    if arguments.edges != "-" or not arguments.json:
        write_output(arguments.edges, edges.table().encode())
    if arguments.json:
        print(edges.json())
    for message in warned:
        say(f"warning: {message}")
    if not arguments.quiet:
        say(edges.summary())
        for place in places:
            say(f"{place}: written")
    if edges.interrupted:
        raise KeyboardInterrupt


def _estimator(arguments: Namespace) -> PairwiseMRF:
    """Return the estimator; raise OptionError where options contradict each other."""
    from ...models.network import PairwiseMRF
    from ...models.structure import NetworkOptions
    from ...penalty import ElasticNet

    message = None
    if arguments.inference is not None and arguments.objective != "likelihood":
        message = f"--inference is for --objective likelihood: {arguments.objective} needs none; leave one of them out"
    elif arguments.l1 == 0.0:
        message = "--l1 0: edges are chosen by their L1 penalty; give an l1 > 0, ebic or cv"
    if message is not None:
        raise OptionError(message)
    ElasticNet(l1=1.0 if isinstance(arguments.l1, str) else arguments.l1, l2=arguments.l2)
    options = chosen(
        NetworkOptions,
        arguments,
        inference=arguments.inference or "loopy_bp",
        path_options={"l1": STRENGTHS} if isinstance(arguments.l1, str) else None,
    )
    return PairwiseMRF(**vars(options), n_jobs=arguments.threads or None)


def _check(arguments: Namespace, places: list[str]) -> None:
    """Look for errors that are cheaper to find before the work is done than after."""
    from ...data.writing import check_writable

    for place in places:
        check_writable(place)
    if arguments.plot is not None:
        from ...report.figure import check_figure

        check_figure(arguments.plot)


def _read(arguments: Namespace, progress: Progress) -> tuple[Table, Table]:
    """Return the table, and its samples that have any values."""
    from ...data.table import read_table

    table = read_table(
        arguments.table,
        ignore=[name for names in arguments.ignore for name in names.split(",")],
        delimiter=arguments.delimiter,
        header=not arguments.no_header,
        max_states=arguments.max_states,
    )
    if len(table.names) < 2:
        message = f"{arguments.table}: one column is left, {table.names[0]!r}; edges need two variables"
        raise DataError(message)
    filled = table.without_empty_samples()
    empty = table.n_samples - filled.n_samples
    progress.note(
        f"{arguments.table}: {len(table.names):,} variables, {filled.n_samples:,} samples, "
        f"{table.n_missing:,} missing values" + (f"; {empty:,} lines without any value are left out" if empty else "")
    )
    return table, filled


def _fit(estimator: PairwiseMRF, table: Table, progress: Progress, *, chosen: bool) -> list[str]:
    """Train; return the warnings that say more than the status does."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with keeping_reached(estimator):
            estimator.fit(table, callbacks=[progress.count_points(STRENGTHS), progress] if chosen else [progress])
    status = estimator.result_.status.message  # type: ignore[union-attr]
    return [text for each in caught if not (text := str(each.message)).startswith(status)]


class Edges:
    """Edges of a trained network, the strongest first.

    Args:
        estimator: the network.
        table: the samples that it was trained on.
        missing: number of missing values in the file.
    """

    def __init__(self, estimator: PairwiseMRF, table: Table, *, missing: int) -> None:
        self._estimator, self._table, self._names, self._missing = estimator, table, table.names, missing
        self._result: Result = estimator.result_  # type: ignore[assignment]
        self._path: Path | None = getattr(estimator, "path_", None)
        self._ranking: list[int] = (-estimator.strengths_).argsort(kind="stable").tolist()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the training, or the search for the best strength of the penalty."""
        from ...result import Status

        ended = self._path is not None and self._path.interrupted
        return ended or self._result.status is Status.INTERRUPTED

    def _ends(self, edge: int) -> tuple[str, str]:
        i, j = self._estimator.edges_[edge].tolist()
        return self._names[i], self._names[j]

    def _weights(self, edge: int) -> Iterator[tuple[Any, Any, float]]:
        """Yield states of both variables and their weight, where it is not 0."""
        i, j = self._estimator.edges_[edge].tolist()
        first, second = self._estimator.categories_[i].tolist(), self._estimator.categories_[j].tolist()
        weights = self._estimator.weights_[edge]
        for a, b in zip(*map(list, weights.nonzero()), strict=True):
            yield first[a], second[b], float(weights[a, b])

    def table(self) -> str:
        """Return a line for each weight."""
        rows = [
            [*self._ends(edge), str(a), str(b), f"{weight:.6g}"]
            for edge in self._ranking
            for a, b, weight in self._weights(edge)
        ]
        return tab_separated(["variable_1", "variable_2", "state_1", "state_2", "weight"], rows)

    def drawn(self, path: str) -> bytes:
        """Return the content of a figure's file of this name."""
        from ...report.graph import drawn

        estimator = self._estimator
        signs = [_sign(float(table[1, 1])) if table.shape == (2, 2) else 0 for table in estimator.weights_]
        return drawn(self._names, estimator.edges_, estimator.strengths_, signs, path)

    def json(self) -> str:
        """Return all there is to know, for machines."""
        from ...models.settings import plain, training_summary

        name, value = self._likelihood()
        edges = [
            {
                "variables": self._ends(edge),
                "strength": float(self._estimator.strengths_[edge]),
                "weights": [{"states": [a, b], "weight": weight} for a, b, weight in self._weights(edge)],
            }
            for edge in self._ranking
        ]
        table = self._table
        known = {"variables": len(table.names), "samples": table.n_samples, "missing": self._missing}
        found = {"l1": self._l1(), f"{name.replace('-', '_')}_per_sample": value, "edges": edges}
        return json.dumps(known | training_summary([self._result]) | found, default=plain)

    def _l1(self) -> float:
        return float(self._estimator.l1_)

    def _likelihood(self) -> tuple[str, float]:
        """Return the name of the likelihood that is maximised, and its logarithm per sample."""
        name = "log-likelihood" if self._estimator.objective == "likelihood" else "pseudo-log-likelihood"
        return name, -self._result.nll / self._table.n_samples

    def summary(self) -> str:
        """Return lines for people."""
        result, n = self._result, len(self._names)
        n_weights = sum(int((table != 0.0).sum()) for table in self._estimator.weights_)
        name, value = self._likelihood()
        by = f" (by {self._estimator.inference})" if name == "log-likelihood" else ""
        lines = [
            result.account,
            f"l1 {self._l1():.6g}{self._choice()}",
            f"{name} per sample {value:.4f}{by}",
            f"{len(self._ranking):,} edges of {n * (n - 1) // 2:,} possible ones, {n_weights:,} weights",
        ]
        if self._ranking:
            ends = (" - ".join(self._ends(edge)) for edge in self._ranking[:SHOWN])
            strengths = self._estimator.strengths_[self._ranking[:SHOWN]]
            shown = (f"{pair} ({strength:.3g})" for pair, strength in zip(ends, strengths, strict=True))
            lines.append(f"strongest: {', '.join(shown)}")
        elif result.status.converged:
            lines[-1] += "; lower --l1 to have some"
        return "\n".join(lines)

    def _choice(self) -> str:
        """Say how l1 was chosen, and whether smaller strengths might be better still."""
        path = self._path
        if path is None:
            return ""
        text = f", chosen by {self._estimator.l1} among {len(path.points)}"
        if not path.interrupted and path.points[-1].l1 == self._l1():
            text += f", the least of them: try smaller ones too, --l1 {self._l1() / 3.0:.2g} for one"
        return text


def _sign(number: float) -> int:
    return (number > 0.0) - (number < 0.0)
