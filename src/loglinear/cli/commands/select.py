"""Rank the features of a linear-chain CRF by the order in which they are added to the model, or follow an L1 path.

Each round adds the features with the largest gradients (Grafting-Light). The table has one line per feature: its rank,
the round that added it and its final weight, then the state after that round: the objective, the number of selected
features, the number with non-zero weight, and the development score.

With --path the table has one line per strength of the L1 penalty instead. The path starts at the smallest strength that
makes all weights zero, and decreases by a constant factor; each training starts from the weights before it. With --dev
it continues beyond N strengths until the development score gets worse; a star marks the best strength.

With --lines the table has one row per line of the template: by how much the loss on held-out data rises without it,
and the loss with the line and all more valuable ones. Held out are the --dev data, or folds of the training data.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ...errors import OptionError
from ...options import digits_of
from ...trace import scores_text
from ...visible import counted
from ..ablated import check_lines, measure_lines
from ..ending import certainty, ending, nothing_reached
from ..inputs import Inputs, add_data
from ..options import add_columns, add_features, add_format, add_options, add_spans, add_templates, add_threads, chosen
from ..output import Interrupted, say, tab_separated

if TYPE_CHECKING:
    from ...minimize import Callback
    from ...models.files.chain import ChainModel
    from ...models.training.options import SolverOptions
    from ...models.training.selection import Followed, Growth, Round
    from ...path import PathPoint
    from ...report.curves import Curves
    from ..progress import Progress

EXAMPLE = """example: loglinear select train.txt --preset chunking --dev dev.txt --size 100 --plot features.svg
         loglinear select train.txt --preset chunking --dev dev.txt --path 20 --model best.loglinear
         loglinear select train.txt --preset chunking --lines --smallest small.template"""
READS: tuple[str, ...] = ("train", "dev", "template")
WRITES: tuple[str, ...] = ("model", "plot", "table", "smallest")

_ORDERS = ("leave-out", "lasso")


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    from ...models.training.options import SolverOptions

    add = parser.add_argument
    inputs = Inputs("TRAIN", model=False, data="train")
    add_data(parser, parser, inputs, "TRAIN", "training data (may be compressed; - for stdin)")
    add_format(parser, "sentences", default="columns")
    add_columns(parser)
    add_spans(parser)
    add_templates(parser)
    add_features(parser)
    add("--dev", metavar="FILE", help="held-out labelled data to score every round or strength")
    l1 = "strength of the L1 penalty l1 * |w|_1 (default: 1); with --path, its last strength (default: see --path)"
    add("--l1", type=float, metavar="X", help=l1)
    add_options(parser, SolverOptions, "l2", "tolerance", l2=0.0)
    add("--size", type=int, metavar="N", help="select at most N features (default: no limit)")
    add(
        "--path",
        nargs="?",
        type=_strengths,
        const=20,
        metavar="N",
        help="follow a path of N strengths down to a hundredth of the first, or further with --dev (default: 20)",
    )
    lines = "say what each line of the template is worth, ordered by leave-out (the rise of the loss without it) or by "
    lines += "lasso (when it enters the path of a group lasso) (default: leave-out)"
    add("--lines", nargs="?", const="leave-out", choices=_ORDERS, type=_order, help=lines)
    add("--folds", type=int, metavar="N", help="with --lines: number of folds to hold out without --dev (default: 5)")
    smallest = "with --lines: write the smallest template within one standard error of the best to this file"
    add("--smallest", metavar="FILE", help=smallest)
    solver = "grafting_light, or grafting, which optimises fully before each round (default: grafting_light)"
    add("--solver", default="grafting_light", choices=("grafting_light", "grafting"), help=solver)
    add("--select", type=int, metavar="M", help="number of features added per round (default: 10; 1000 with --path)")
    add("--steps", type=int, metavar="K", help="grafting_light: iterations per round (default: 10)")
    add(
        "-o",
        "--output",
        "--table",
        dest="table",
        default="-",
        metavar="FILE",
        help="output file for the table, tab-separated (default: stdout)",
    )
    add("--plot", metavar="FILE", help="plot to this file (.svg, .png or .pdf; needs matplotlib)")
    add(
        "-m",
        "--model",
        metavar="MODEL",
        help="model file to write; with --path, the best model (the last one without --dev)",
    )
    add("-q", "--quiet", action="store_true", help="do not show progress")
    add_threads(parser)


def _strengths(text: str) -> int:
    number = digits_of(text)
    if number is None or number < 2:
        message = f"{text!r} is not a number of strengths (2 or more); write --path=20, or put TRAIN before --path"
        raise ArgumentTypeError(message)
    return number


def _order(text: str) -> str:
    if text not in _ORDERS:
        message = f"{text!r} is not {' or '.join(_ORDERS)}; write --lines={_ORDERS[0]}, or put TRAIN before --lines"
        raise ArgumentTypeError(message)
    return text


class Selected(NamedTuple):
    """The outcome of a selection, ready to be written.

    Attributes:
        table: lines of cells between tabs.
        curves: of the same numbers.
        model: the one that was chosen.
        summary: lines for people.
        interrupted: whether Ctrl-C ended the selection.
        is_early: whether it did so before the first iteration was complete.
    """

    table: str
    curves: Curves
    model: ChainModel
    summary: str
    interrupted: bool
    is_early: bool


def run(arguments: Namespace) -> None:
    """Select, write the model, the figure and the table, say how it went."""
    from ...data.writing import write_output, write_text

    check_lines(arguments)
    if arguments.lines is not None:
        measure_lines(arguments)
        return
    options = _options(arguments)
    places = [place for place in (arguments.model, arguments.plot, arguments.table) if place not in (None, "-")]
    if arguments.plot is not None:
        from ...report.figure import check_figure

        check_figure(arguments.plot)
    selection = _selected(arguments, options)
    if selection.is_early:
        raise Interrupted(is_early=True)
    if arguments.model is not None:
        if arguments.path and arguments.dev is None:
            say("warning: the model is the last one of the path, not the best; add --dev FILE to find the best")
        selection.model.save(arguments.model)
    if arguments.plot is not None:
        write_output(arguments.plot, selection.curves.drawn(arguments.plot))
    write_text(arguments.table, selection.table.encode())
    if not arguments.quiet:
        say(selection.summary)
        for place in places:
            say(f"wrote {place}")
    if selection.interrupted:
        raise Interrupted(places)


def _selected(arguments: Namespace, options: SolverOptions) -> Selected:
    from ...models.training.selection import follow_path, grow
    from ...objectives.chain import ChainFeatures
    from ..progress import Progress
    from ..reading import Reading

    features, solver = chosen(ChainFeatures, arguments), options.make_solver()[1]
    with Progress(solver, quiet=arguments.quiet) as progress:
        reading = Reading.of(arguments, arguments.train)
        data = reading.chain([arguments.train], features, progress)
        dev = reading.dev(arguments.dev, data)
        callbacks: list[Callback] = [progress]
        if arguments.path:
            callbacks.insert(0, progress.count_points(arguments.path))
            path = follow_path(data, options, number=arguments.path, last=arguments.l1, dev=dev, callbacks=callbacks)
            return _of_path(path)
        callbacks.insert(0, progress.count_features(solver.max_features))  # type: ignore[attr-defined]
        return _of_growth(grow(data, options, dev=dev, callbacks=callbacks), progress)


def _options(arguments: Namespace) -> SolverOptions:
    """Return how to train; raise OptionError if options contradict each other."""
    from ...data.formats import format_of, named
    from ...models.training.options import SolverOptions
    from ...options import whole_number

    message = None
    if arguments.path and arguments.size is not None:
        message = "--size and --path exclude each other; leave out one"
    elif arguments.solver == "grafting" and arguments.steps is not None:
        message = "--steps does not apply to --solver grafting; leave out one"
    elif named(format := format_of(arguments.train, arguments.format)).holds != "sentences":
        message = f"--format {format} is for classifiers; give sentences, such as --format columns"
    elif arguments.l1 == 0.0:
        message = "--l1 0 selects no features; give a value above 0"
    if message is not None:
        raise OptionError(message)
    select = arguments.select if arguments.path or arguments.select is not None else 10
    size = None if arguments.size is None else whole_number("--size", arguments.size, 1, 2**62)
    solver_options = {"select": select, "steps": arguments.steps, "max_features": size}
    return chosen(
        SolverOptions,
        arguments,
        l1=1.0 if arguments.l1 is None else arguments.l1,
        max_iterations=None,
        solver_options={name: value for name, value in solver_options.items() if value is not None},
    )


def _of_growth(growth: Growth, progress: Progress) -> Selected:
    """Return the outcome of growing a model feature by feature."""
    from ...result import Status

    result, n_active = growth.result, growth.result.trace[-1].nnz
    summary = (
        f"{ending([result], seconds=progress.elapsed)}\n{certainty([result])}\n"
        f"selected {counted(len(growth.entered), 'feature')} in {counted(len(growth.rounds) - 1, 'round')}; "
        f"{n_active:,} active"
    )
    if growth.largest is not None:
        summary += f"; lower --l1 (largest useful value: {growth.largest:.6g})"
    columns = ["rank", "round", "feature", "weight", "objective", "working_set", "nnz", *_dev_column(growth.headline)]
    return Selected(
        tab_separated(columns, _entries(growth)),
        _course_of_growth(growth),
        growth.model,
        summary,
        result.status is Status.INTERRUPTED,
        nothing_reached([result]),
    )


def _entries(growth: Growth) -> list[list[str]]:
    """Return a row for each feature, in the order in which they entered."""
    rows = []
    for number, (before, at) in enumerate(pairwise(growth.rounds), start=1):
        ended = [f"{at.record.objective:.10g}", str(at.n_features), str(at.record.nnz)]
        if growth.headline is not None:
            ended.append(_cell(_dev_score(at, growth.headline)))
        for k in range(before.n_features, at.n_features):
            rows.append([str(k + 1), str(number), str(growth.entered[k]), f"{growth.weights[k]:.6g}", *ended])
    return rows


def _course_of_growth(growth: Growth) -> Curves:
    from ...report.curves import Curves

    rounds, score = growth.rounds, growth.headline
    panels: dict[str, Sequence[float | None]] = {"objective": [at.record.objective for at in rounds]}
    if score is not None:
        panels[f"dev {score}"] = [_dev_score(at, score) for at in rounds]
    return Curves("selected features", [at.n_features for at in rounds], panels)


def _dev_score(at: Round, score: str) -> float | None:
    return None if at.record.dev is None else at.record.dev.get(score)


def _of_path(followed: Followed) -> Selected:
    """Return the outcome of following a path."""
    scored = followed.headline is not None
    columns = ["l1", "objective", "nnz", "gradient_evaluations", "seconds", *_dev_column(followed.headline)]
    rows = [_point(point, followed.best, scored=scored) for point in followed.path.points]
    return Selected(
        tab_separated([*columns, *(["best"] if scored else [])], rows),
        _course_of_path(followed),
        followed.model,
        _account(followed),
        followed.path.interrupted,
        nothing_reached([point.result for point in followed.path.points]),
    )


def _account(followed: Followed) -> str:
    """Return lines for people on a path."""
    from ...result import Status

    path, best, chosen = followed.path, followed.best, followed.chosen
    which = "the last one"
    if best is not None and followed.headline is not None and best.score is not None:
        which = f"the best one by dev {scores_text({followed.headline: best.score})}"
    text = f"{len(path.points)} strengths of l1; {which}: l1 {chosen.l1:.6g}, {chosen.n_active:,} active features"
    failed = sum(point.result.status is Status.LINE_SEARCH_FAILED for point in path.points)
    if failed:
        text += f"\n{failed} failed: {Status.LINE_SEARCH_FAILED.message}"
    return text


def _point(point: PathPoint, best: PathPoint | None, *, scored: bool) -> list[str]:
    result = point.result
    cells = [f"{point.l1:.6g}", f"{result.objective:.10g}", str(point.n_active)]
    cells += [str(result.gradient_evaluations), f"{result.seconds:.3f}"]
    return [*cells, _cell(point.score), "*" if point is best else ""] if scored else cells


def _course_of_path(followed: Followed) -> Curves:
    from ...report.curves import Curves

    points, best = followed.path.points, followed.best
    panels: dict[str, Sequence[float | None]] = {
        "objective": [point.result.objective for point in points],
        "active features": [point.n_active for point in points],
    }
    if followed.headline is not None:
        panels[f"dev {followed.headline}"] = [point.score for point in points]
    marked = None if best is None else (best.l1, f"best: l1 {best.l1:.4g}")
    return Curves("l1", [point.l1 for point in points], panels, falling=True, marked=marked)


def _dev_column(score: str | None) -> list[str]:
    return [] if score is None else [f"dev_{score}"]


def _cell(score: float | None) -> str:
    return "" if score is None else f"{score:.6f}"
