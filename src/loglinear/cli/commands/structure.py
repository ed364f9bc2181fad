"""Learn which variables of a table interact: the edges of a pairwise Markov random field, with their weights.

Every column of the table is a variable, every line a sample; the first line has the names. Empty cells and NA, N/A,
n/a, <NA>, NaN, nan, NULL, null, None are missing values. The strength of the L1 penalty, and with it the number of
edges, is chosen by the extended Bayesian information criterion unless --l1 says otherwise.

The result has a line for each weight other than 0, those of the strongest edge first: two variables, a state of each,
and by how much the pair of states raises log p, in nats. The first state of every variable, in the order of numbers or
of letters, is the one that others are measured against, and has no weights.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from ...errors import DataError, OptionError
from ..options import add_json, add_threads

if TYPE_CHECKING:
    from ...data.table import Table
    from ...models.network import PairwiseMRF
    from ..progress import Progress

EXAMPLE = """example: loglinear structure survey.csv --ignore id --edges edges.tsv --plot graph.svg --model survey.model
         loglinear structure pixels.tsv.gz --objective likelihood --l1 20"""

# Strengths of the L1 penalty to choose from.
STRENGTHS = 20


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("table", metavar="DATA", help="CSV, TSV (gzip and xz too; - for stdin) or Parquet")
    add("--edges", default="-", metavar="FILE", help="where to write the edges, tab-separated; stdout by default")
    add("--plot", metavar="FILE", help="draw the graph to this file: .svg, .png or .pdf; needs matplotlib")
    add("-m", "--model", metavar="MODEL", help="write the model")
    l1 = "L1 penalty l1 * |w|_1: a number, or how to choose it, ebic (the default) or cv"
    add("--l1", type=_l1, default="ebic", metavar="X", help=l1)
    add("--l2", type=float, default=0.0, metavar="X", help="L2 penalty l2 / 2 * |w|^2 (0)")
    objective = "pseudolikelihood (the default), likelihood or nodewise"
    add(
        "--objective",
        default="pseudolikelihood",
        choices=("pseudolikelihood", "likelihood", "nodewise"),
        help=objective,
    )
    inference = "with --objective likelihood: loopy_bp (the default), exact or gibbs"
    add("--inference", choices=("loopy_bp", "exact", "gibbs"), help=inference)
    add("--grouped", action="store_true", help="penalise all weights of an edge together, for variables of many states")
    add("--ignore", action="append", default=[], metavar="COLUMN,...", help="leave out these columns")
    add("--max-states", type=int, default=32, metavar="N", help="refuse columns of more different values (32)")
    add("--no-header", action="store_true", help="the first line is a sample; variables are x1, x2, ...")
    delimiter = "what separates cells; by default whichever of comma, tab and semicolon fits the first line"
    add("--delimiter", metavar="C", help=delimiter)
    add("--seed", dest="random_state", type=int, default=0, metavar="N", help="seed of whatever is drawn (0)")
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
    from ... import _core
    from ...solvers import make_solver
    from ..edges import Edges
    from ..progress import Progress, say

    estimator = _estimator(arguments)
    places = [place for place in (arguments.model, arguments.plot, arguments.edges) if place not in (None, "-")]
    _check(arguments, places)
    with Progress(make_solver("grafting_light"), quiet=arguments.quiet) as progress:
        table, X = _read(arguments, progress)
        warned = _fit(estimator, X, progress, chosen=isinstance(arguments.l1, str))
    edges = Edges(estimator, table.names, len(X))
    if arguments.model is not None:
        import numpy as np

        estimator.feature_names_in_ = np.array(table.names, dtype=object)
        estimator.save(arguments.model)
    if arguments.plot is not None:
        _core.write_output(arguments.plot, edges.drawn(arguments.plot))
    if arguments.edges != "-" or not arguments.json:
        _core.write_output(arguments.edges, edges.table().encode())
    if arguments.json:
        print(edges.json(missing=table.n_missing))
    for message in warned:
        say(f"warning: {message}")
    if not arguments.quiet:
        say(edges.summary())
        for place in places:
            say(f"{place}: written")
    if edges.interrupted:
        raise KeyboardInterrupt


def _estimator(arguments: Namespace) -> PairwiseMRF:
    """The estimator; raises OptionError where options contradict each other."""
    from ...models.network import PairwiseMRF
    from ...penalty import ElasticNet

    message = None
    if arguments.inference is not None and arguments.objective != "likelihood":
        message = f"--inference is for --objective likelihood: {arguments.objective} needs none; leave one of them out"
    elif arguments.l1 == 0.0:
        message = "--l1 0: edges are chosen by their L1 penalty; give an l1 > 0, ebic or cv"
    if message is not None:
        raise OptionError(message)
    ElasticNet(l1=1.0 if isinstance(arguments.l1, str) else arguments.l1, l2=arguments.l2)
    names = ("l1", "l2", "objective", "grouped", "max_states", "random_state")
    return PairwiseMRF(
        **{name: getattr(arguments, name) for name in names},
        inference=arguments.inference or "loopy_bp",
        path_options={"l1": STRENGTHS} if isinstance(arguments.l1, str) else None,
        n_jobs=arguments.threads or None,
    )


def _check(arguments: Namespace, places: list[str]) -> None:
    """What is certain to fail fails before the work is done."""
    from ..fit import check_writable

    for place in places:
        check_writable(place)
    if arguments.plot is not None:
        from ...report.figure import check_figure

        check_figure(arguments.plot)


def _read(arguments: Namespace, progress: Progress) -> tuple[Table, Any]:
    """The table, and its samples that have any values."""
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
    X = table.matrix()
    # Comparisons with None go by identity for every value that a table can hold.
    X = X[(X != None).any(axis=1)]  # noqa: E711
    empty = table.n_samples - len(X)
    progress.note(
        f"{arguments.table}: {len(table.names):,} variables, {len(X):,} samples, {table.n_missing:,} missing values"
        + (f"; {empty:,} lines without any value are left out" if empty else "")
    )
    return table, X


def _fit(estimator: PairwiseMRF, X: Any, progress: Progress, *, chosen: bool) -> list[str]:
    """Train; return what there is to be warned of, but for what the status says."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, callbacks=[progress.count_points(STRENGTHS), progress] if chosen else [progress])
    status = estimator.result_.status.message  # type: ignore[union-attr]
    return [text for each in caught if not (text := str(each.message)).startswith(status)]
