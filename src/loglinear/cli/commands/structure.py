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

--compare reads the table of a second group and tests by permutation whether both groups have the same network. The
output then has one line per pair of variables that differs: its weight in both groups, the difference, its p-value, and
the p-value adjusted for the number of pairs.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ...errors import DataError, DataWarning, OptionError
from ...extras import needed_by
from ...options import whole_number
from ...visible import counted
from ..compared_groups import Groups, group_names
from ..ending import nothing_reached
from ..inputs import Inputs, add_data
from ..learned_edges import Edges
from ..options import add_json, add_options, add_table_layout, add_threads, add_verbose, chosen, missing_marks
from ..output import Interrupted, keeping_reached, say
from ..reading import located
from ..spelling import flags_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from warnings import WarningMessage

    from ...data.table import Table
    from ...models.network import PairwiseMRF
    from ...models.training.case_dropping import NetworkStability
    from ...models.training.resampling import EdgeConfidence
    from ..progress import Progress

T = TypeVar("T")

EXAMPLE = """example: loglinear structure survey.csv --ignore id --edges edges.tsv --plot graph.svg --model survey.model
         loglinear structure measurements.csv --bins 4 --plot graph.html
         loglinear structure pixels.tsv.gz --objective likelihood --l1 20
         loglinear structure survey.csv --nodes nodes.tsv --stability 100
         loglinear structure women.csv --compare men.csv --plot differences.html"""
READS: tuple[str, ...] = ("table", "compare")
WRITES: tuple[str, ...] = ("model", "plot", "edges", "nodes")

# Permutations of a test unless --permutations says otherwise.
PERMUTATIONS = 1000


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
    nodes = (
        "output file for the variables: centralities and predictability, tab-separated, or a figure if its name ends "
        "in .svg, .png or .pdf"
    )
    add("--nodes", metavar="FILE", help=nodes)
    stability = (
        "also train N networks on each of ten smaller shares of the samples, and report the largest share that can be "
        "left out before edges and centralities change"
    )
    add("--stability", type=int, metavar="N", help=stability)
    compare = "table of a second group; test whether both groups have the same network, and write the differences"
    add("--compare", metavar="DATA", help=compare)
    permutations = "with --compare: number of permutations of the test (default: 1000)"
    add("--permutations", type=int, metavar="N", help=permutations)
    add_table_layout(parser, ignores=True)
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
    outputs = (arguments.model, arguments.plot, arguments.nodes, arguments.edges)
    places = [place for place in outputs if place not in (None, "-")]
    if arguments.plot is not None:
        from ...report.figure import check_figure

        check_figure(arguments.plot, pages=True)
    if arguments.nodes is not None:
        from ...report.figure import check_figure, is_figure

        if is_figure(arguments.nodes):
            check_figure(arguments.nodes)
    with Progress(make_solver("grafting_light"), quiet=arguments.quiet) as progress:
        table = _read(arguments, arguments.table, estimator.missing or (), progress)
        second = None
        if arguments.compare is not None:
            second = _read(arguments, arguments.compare, estimator.missing or (), progress)
        warned = _fit(estimator, arguments.table, table, progress)
        learned: Edges | Groups
        if second is None:
            confidence = _confidence(estimator, table, arguments.bootstrap, progress)
            stability = _stability(estimator, table, arguments.stability, progress)
            learned = Edges(estimator, table, confidence, stability)
        else:
            learned, warned = _compared(estimator, arguments, table, second, progress)
    if nothing_reached([estimator.result_]):
        raise Interrupted(is_early=True)
    if arguments.model is not None:
        estimator.save(arguments.model, files=files_of(arguments, [arguments.table]))
    if arguments.plot is not None:
        write_output(arguments.plot, learned.drawn(arguments.plot))
    if arguments.nodes is not None and isinstance(learned, Edges):
        write_output(arguments.nodes, learned.nodes(arguments.nodes))
    if arguments.edges != "-" or not arguments.json:
        write_text(arguments.edges, learned.table().encode())
    if arguments.json:
        print(learned.json())
    for message in warned:
        say(f"warning: {message}")
    if not arguments.quiet:
        say(learned.summary(arguments.model, progress.elapsed, verbose=arguments.verbose))
        for place in places:
            say(f"wrote {place}{learned.part_drawn(place) if place == arguments.plot else ''}")
    if learned.interrupted:
        raise Interrupted(places)


def _estimator(arguments: Namespace) -> PairwiseMRF:
    from ...models.network import PairwiseMRF
    from ...models.training.structure import NetworkOptions

    if arguments.l1 == 0.0:
        message = "--l1 0 selects no edges; give a value above 0, ebic, cv or stars"
        raise OptionError(message)
    if arguments.bootstrap is not None:
        whole_number("--bootstrap", arguments.bootstrap, 2, 10**6)
    if arguments.stability is not None:
        whole_number("--stability", arguments.stability, 2, 10**6)
    _check_groups(arguments)
    missing = missing_marks(arguments) or None
    cuts, reference = _cuts(arguments.cut), _reference(arguments.references)
    options = replace(chosen(NetworkOptions, arguments, missing=missing), cuts=cuts, reference=reference)
    options.check()
    parameters = {name: value for name, value in vars(options).items() if name != "gap"}
    return PairwiseMRF(**parameters, n_jobs=arguments.threads or None)


def _check_groups(arguments: Namespace) -> None:
    """Raise OptionError for flags that do not go with --compare, or need it."""
    if arguments.compare is None:
        if arguments.permutations is not None:
            message = (
                f"--permutations {arguments.permutations} is for --compare DATA; add it, or leave out --permutations"
            )
            raise OptionError(message)
        return
    for name in ("model", "nodes", "bootstrap", "stability"):
        if vars(arguments)[name] is not None:
            message = f"--compare writes the differences of two networks; leave out --{name}, or run the command for "
            message += "each group"
            raise OptionError(message)
    if arguments.permutations is not None:
        whole_number("--permutations", arguments.permutations, 1, 10**7)


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


def _read(arguments: Namespace, path: str, missing: Sequence[str | float], progress: Progress) -> Table:
    """Return the samples of the table with at least one value."""
    from ...data.table import read_table, split_names

    table = read_table(
        path,
        ignore=[name for names in arguments.ignore for name in split_names(names)],
        delimiter=arguments.delimiter,
        header=not arguments.no_header,
        missing=missing,
        distinct=arguments.l1 not in ("cv", "stars") and not _needs_rows(arguments),
    )
    if len(table.names) < 2:
        message = f"{path}: only column {table.names[0]!r} is left; a network needs two or more"
        raise DataError(message)
    filled = table.without_empty_samples()
    empty = table.n_samples - filled.n_samples
    progress.note(
        f"{path}: {counted(len(table.names), 'variable')}, {counted(filled.n_samples, 'sample')}, "
        f"{counted(filled.n_missing, 'missing value')}"
        + (f"; ignored {counted(empty, 'line')} without values" if empty else "")
    )
    return filled


def _needs_rows(arguments: Namespace) -> bool:
    """Whether flags need each sample in a separate row."""
    return any(vars(arguments)[name] is not None for name in ("bootstrap", "stability", "nodes", "compare"))


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
    if n is None:
        return None
    observe = _counting(estimator, progress, "bootstrap sample", n)
    return _unless_interrupted(estimator, lambda: estimator.edge_confidence(table, n, observe=observe))


def _stability(estimator: PairwiseMRF, table: Table, n: int | None, progress: Progress) -> NetworkStability | None:
    """Return the stability from n networks of each share; None without networks or after Ctrl-C."""
    from ...models.training.case_dropping import DROPS

    if n is None:
        return None
    observe = _counting(estimator, progress, "network of fewer samples", n * len(DROPS))
    return _unless_interrupted(estimator, lambda: estimator.stability(table, n, observe=observe))


def _unless_interrupted(estimator: PairwiseMRF, measure: Callable[[], T]) -> T | None:
    """Return what is measured of a network; None after Ctrl-C, in its training or now."""
    from ...result import Status

    if estimator.result_.status is Status.INTERRUPTED:
        return None
    try:
        return measure()
    except KeyboardInterrupt:
        return None


def _counting(estimator: PairwiseMRF, progress: Progress, noun: str, total: int) -> Callable[[int], None]:
    """Return a function that shows how many of some trainings are done."""
    result = estimator.result_

    def observe(done: int) -> None:
        progress.share_done, progress.label = done / total, f"{noun} {done:,} of {total:,}"
        progress(result.record, result.state)

    return observe


def _compared(
    estimator: PairwiseMRF, arguments: Namespace, first: Table, second: Table, progress: Progress
) -> tuple[Groups, list[str]]:
    """Return the comparison of two tables, and warnings."""
    import warnings

    from ...models.network_comparison import compare_networks

    n, places = arguments.permutations or PERMUTATIONS, (arguments.table, arguments.compare)
    observe = _counting(estimator, progress, "permutation", n)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        comparison = compare_networks(first, second, estimator, n=n, groups=group_names(*places), observe=observe)
    return Groups(comparison, n), list(dict.fromkeys(flags_alone(str(warning.message)) for warning in caught))
