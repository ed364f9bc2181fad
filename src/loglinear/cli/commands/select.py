"""Select the features of a linear-chain CRF: show them in the order in which they enter, or a regularisation path.

Features enter by the gradient (Grafting-Light), the --select most promising ones at a time. The table has a line for
each: its rank, the round it entered in, its weight at the end; and what stood when the round was over: the objective,
how many features were at work, how many had weights other than 0, and the score on development data.

With --path the table has a line for each strength of the L1 penalty instead, from the largest useful one down, each
trained from the weights of the one before. The best by the score on development data bears a star.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING, Any

from ...errors import OptionError
from ..options import add_features, add_templates, add_threads

if TYPE_CHECKING:
    from ...models.chain_training import TrainingOptions

EXAMPLE = """example: loglinear select train.txt --preset chunking --dev dev.txt --size 100 --plot features.svg
         loglinear select train.txt --preset chunking --dev dev.txt --path 20 --model best.loglinear"""


def configure(parser: ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("train", metavar="TRAIN", help="training data; gzip and xz too; - for stdin")
    formats = ("columns", "crfsuite", "jsonl")
    add("-f", "--format", default="columns", choices=formats, help="columns (the default), crfsuite or jsonl")
    add_templates(parser)
    add_features(parser)
    add("--dev", metavar="FILE", help="labelled data to score every round or strength on")
    l1 = "L1 penalty l1 * |w|_1 (1); with --path the last one (a hundredth of the largest useful one)"
    add("--l1", type=float, metavar="X", help=l1)
    add("--l2", type=float, default=0.0, metavar="X", help="L2 penalty l2 / 2 * |w|^2 (0)")
    add("--size", type=int, metavar="N", help="select N features and no more; by default all that are useful")
    add("--path", nargs="?", type=_strengths, const=20, metavar="N", help="a path over N strengths of --l1 (20)")
    solver = "grafting_light (the default), or grafting, which optimises before it selects"
    add("--solver", default="grafting_light", choices=("grafting_light", "grafting"), help=solver)
    add("--select", type=int, metavar="M", help="features selected at a time (10; with --path 1000)")
    add("--steps", type=int, metavar="K", help="of grafting_light: iterations between selections (10)")
    tolerance = "stop at this mean relative decrease of the objective over 5 iterations (1e-5)"
    add("--tolerance", type=float, metavar="X", help=tolerance)
    add("--table", default="-", metavar="FILE", help="where to write the table, tab-separated; stdout by default")
    add("--plot", metavar="FILE", help="draw it to this file: .svg, .png or .pdf; needs matplotlib")
    add("-m", "--model", metavar="MODEL", help="write the model, of the path the best one (the last without --dev)")
    add("-q", "--quiet", action="store_true", help="no progress")
    add_threads(parser)


def _strengths(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        message = f"{text!r} is no number of strengths, of at least 2; TRAIN stands before --path, or write --path=20"
        raise ArgumentTypeError(message)
    return int(text)


def run(arguments: Namespace) -> None:
    """Select, write the model, the figure and the table, say how it went."""
    from ... import _core
    from ..fit import check_writable, read_sentences
    from ..progress import Progress, say
    from ..selecting import follow_path, grow

    options = _options(arguments)
    for place in (arguments.model, arguments.plot, arguments.table):
        if place not in (None, "-"):
            check_writable(place)
    if arguments.plot is not None:
        from ...report.figure import check_figure

        check_figure(arguments.plot)
    with Progress(options.make_solver()[1], quiet=arguments.quiet) as progress:
        given = {name: getattr(arguments, name) for name in ("preset", "template", "format", "threads")}
        corpus, dev = read_sentences(arguments.train, arguments.dev, progress=progress, **given)
        shared: dict[str, Any] = {"threads": arguments.threads, "progress": progress}
        if arguments.path:
            found = follow_path(corpus, dev, options, number=arguments.path, last=arguments.l1, **shared)
        else:
            found = grow(corpus, dev, options, **shared)
    if arguments.model is not None:
        found.model.save(arguments.model)
    if arguments.plot is not None:
        _core.write_output(arguments.plot, found.figure.drawn(arguments.plot))
    _core.write_output(arguments.table, found.table().encode())
    if not arguments.quiet:
        say(found.summary)
        for place in (arguments.model, arguments.plot, arguments.table):
            if place not in (None, "-"):
                say(f"{place}: written")
    if found.interrupted:
        raise KeyboardInterrupt


def _options(arguments: Namespace) -> TrainingOptions:
    """How to train; raises OptionError where options contradict each other."""
    from ...models.chain_training import TrainingOptions
    from ...options import whole_number

    message = None
    if arguments.path and arguments.size is not None:
        message = "--size and --path: a path goes by strengths of the penalty; leave out one of them"
    elif arguments.solver == "grafting" and arguments.steps is not None:
        message = "--steps is for grafting_light: grafting selects when it has converged; leave one of them out"
    elif arguments.l1 == 0.0:
        message = "--l1 0: features are selected by their L1 penalty; give an l1 > 0"
    if message is not None:
        raise OptionError(message)
    select = arguments.select if arguments.path or arguments.select is not None else 10
    size = None if arguments.size is None else whole_number("--size", arguments.size, 1, 2**62)
    solver_options = {"select": select, "steps": arguments.steps, "max_features": size}
    names = ("l2", "solver", "all_states", "all_transitions", "min_count", "order", "tolerance")
    return TrainingOptions(
        **{name: getattr(arguments, name) for name in names},
        l1=1.0 if arguments.l1 is None else arguments.l1,
        max_iterations=None,
        solver_options={name: value for name, value in solver_options.items() if value is not None},
    )
