"""`loglinear select --lines`: what each line of a template is worth."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from ..errors import OptionError
from ..extras import needed_by
from ..options import whole_number
from .options import chosen
from .output import say, tab_separated

if TYPE_CHECKING:
    from ..models.ablation import Ablation

__all__ = ["check_lines", "measure_lines"]

# Flags of selections of features, by their names among the arguments.
_OF_FEATURES = {"path": "--path", "size": "--size", "select": "--select", "steps": "--steps", "model": "--model"}
FOLDS = 5


def check_lines(arguments: Namespace) -> None:
    """Raise OptionError if the flags do not fit together."""
    if arguments.lines is None:
        of_lines = {"--folds": arguments.folds, "--smallest": arguments.smallest}
        for name in (name for name, value in of_lines.items() if value is not None):
            message = f"{name} is for the lines of a template; add --lines, or leave it out"
            raise OptionError(message)
        return
    for name, flag in _OF_FEATURES.items():
        if getattr(arguments, name) is not None:
            message = f"{flag} is not available with --lines, which trains without each line; leave out one"
            raise OptionError(message)
    if arguments.solver != "grafting_light":
        message = "--solver is not available with --lines, which picks the solver; leave out one"
        raise OptionError(message)
    if arguments.folds is not None:
        whole_number("--folds", arguments.folds, 2, 1000)
        if arguments.dev is not None:
            message = "--folds and --dev exclude each other: both say what is held out; leave out one"
            raise OptionError(message)


def measure_lines(arguments: Namespace) -> None:
    """Measure the worth of lines, write the table, the figure and the smallest template."""
    from ..data.writing import write_text
    from ..models.training.options import SolverOptions
    from ..objectives.chain import ChainFeatures
    from .progress import Progress
    from .reading import Reading, naming

    with needed_by("--lines", "sklearn"):
        from ..models.ablation import ablation
        from ..models.chain import ChainCRF
    if arguments.plot is not None:
        from ..report.figure import check_figure

        check_figure(arguments.plot)
    features = chosen(ChainFeatures, arguments)
    l1 = 1.0 if arguments.l1 is None else arguments.l1
    options = chosen(SolverOptions, arguments, l1=l1, solver=None)
    with Progress(options.make_solver()[1], quiet=arguments.quiet) as progress:
        reading = Reading.of(arguments, arguments.train)
        data = reading.chain([arguments.train], features, progress)
        dev = reading.dev(arguments.dev, data)
        if arguments.smallest is not None and data.template is None:
            message = "--smallest writes a template, and the data have none; give --preset or --template"
            raise OptionError(message)
        folds = FOLDS if arguments.folds is None else arguments.folds
        model = ChainCRF(**{**vars(features), **vars(options), "n_jobs": arguments.threads or None})
        with naming(arguments.train):
            measured = ablation(
                model, data.corpus, X_dev=None if dev is None else dev.corpus, folds=folds, by=arguments.lines
            )
    places = [place for place in (arguments.smallest, arguments.plot, arguments.table) if place not in (None, "-")]
    if arguments.smallest is not None:
        write_text(arguments.smallest, measured.smallest_template.encode())
    if arguments.plot is not None:
        measured.save_figure(arguments.plot)
    write_text(arguments.table, _table(measured).encode())
    if not arguments.quiet:
        for line in [*measured.account, *(f"wrote {place}" for place in places)]:
            say(f"kept: {line[2:]}" if line.startswith("* ") else line)  # the table has a column, not a star


def _table(measured: Ablation) -> str:
    """Return a line for each family, the most valuable first."""
    smallest = set(measured.smallest.names)
    has_entries = measured.families[0].entry is not None
    rows = []
    for family, model in zip(measured.families, reversed(measured.models), strict=True):
        entry = [f"{family.entry:.6g}"] if family.entry is not None else []
        numbers = [str(family.n_weights), f"{family.worth:.6g}", f"{family.error:.6g}", *entry, f"{model.loss:.6g}"]
        rows.append([family.name, *numbers, "yes" if family.name in smallest else "no"])
    return tab_separated(
        ["family", "weights", "worth", "error", *(["entry"] if has_entries else []), "loss", "kept"], rows
    )
