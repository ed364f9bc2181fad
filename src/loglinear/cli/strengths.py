"""The choice of the strengths of penalties by cross-validation: flags, documents that folds keep whole, the account."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import OptionError
from .options import add_options
from .output import say

if TYPE_CHECKING:
    from argparse import _ActionsContainer as Arguments

    from ..data.corpus import Corpus
    from ..models.training.options import SolverOptions, StrengthSearch
    from ..networks.numbering import Numbers
    from ..report.cross_validation import CrossValidation

__all__ = ["add_strengths", "check_flags", "documents", "groups_of_tokens", "tell_choice"]


def add_strengths(parser: Arguments) -> None:
    """Add --l1, --l2, --folds, --metric and --plot."""
    from ..models.training.options import ChosenSolverParameters

    add_options(parser, ChosenSolverParameters, "l1", "l2", "folds", "metric")
    plot = "plot the scores of held-out folds by strength to this file (.svg, .png or .pdf; needs matplotlib)"
    parser.add_argument("--plot", metavar="FILE", help=plot)


def check_flags(arguments: Namespace, search: StrengthSearch, options: SolverOptions) -> None:
    """Raise OptionError if the flags do not suit the choice of a strength by cross-validation."""
    if search.names:
        from ..models.training.cross_validation import check_search

        names = ("dev", "start", "prior", "checkpoint", "workers", "cluster")
        check_search(search, options, refusals=[(f"--{name}", getattr(arguments, name) is not None) for name in names])
    if arguments.plot is None:
        return
    from ..report.figure import check_figure

    if not search.names:
        message = "--plot shows the choice of a strength; add --l1 cv or --l2 cv"
        raise OptionError(message)
    check_figure(arguments.plot)


def tell_choice(cross_validation: CrossValidation | None, arguments: Namespace) -> None:
    """Say which strength was chosen, and plot the scores that it was chosen by."""
    if cross_validation is None:
        return
    if not arguments.quiet:
        say(cross_validation.account)
    if arguments.plot is not None:
        from ..data.writing import write_output

        write_output(arguments.plot, cross_validation.drawn(arguments.plot))


def documents(corpus: Corpus, files: Sequence[str], search: StrengthSearch) -> list[int] | None:
    """Return the number of the document of each sentence if the choice of a strength needs it; None without any.

    Args:
        corpus: the sentences.
        files: that they were read from.
        search: which strengths are chosen.
    """
    from ..data.documents import documents_of

    if not search.names:
        return None
    name, numbers = " ".join(files), documents_of(files, corpus.format, corpus.columns)
    if numbers is None or len(numbers) != len(corpus):
        return None
    n = max(numbers) + 1
    if n < search.folds:
        say(f"note: {name}: {n} documents are too few for {search.folds} folds, which divide the sentences instead")
        return None
    say(f"note: {name}: {n:,} documents; the sentences of a document are in one fold")
    return numbers


def groups_of_tokens(corpus: Corpus, files: Sequence[str], search: StrengthSearch) -> Numbers | None:
    """Return the document of each token, or else its sentence, if the choice of a strength needs it; None without any.

    Args:
        corpus: sentences whose tokens are samples.
        files: that they were read from.
        search: which strengths are chosen.
    """
    import numpy as np

    lengths = corpus.core.lengths()
    if not search.names or max(lengths, default=1) == 1:
        return None
    numbers = documents(corpus, files, search)
    if numbers is None and len(corpus) < search.folds:
        return None
    groups: Numbers = np.arange(len(corpus)) if numbers is None else np.array(numbers, dtype=np.int64)
    return np.repeat(groups, lengths)
