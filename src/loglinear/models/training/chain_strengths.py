"""The choice of the strengths of a chain's penalties by cross-validation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...data.sample_values import groups_of
from ...errors import DataError, OptionError
from ...objectives.chain import ChainData, ChainObjective
from ...report.cross_validation import CrossValidation
from .chain_folds import ChainFolds, chain_metric
from .cross_validation import check_search, cross_validated, refused_in_fit
from .folds import folds_of_chain
from .options import SolverOptions, StrengthSearch

__all__ = ["check_chain_search", "chosen_strengths"]


def check_chain_search(
    search: StrengthSearch,
    options: SolverOptions,
    *,
    dev: bool = False,
    start: bool = False,
    prior: bool = False,
    checkpoint: bool = False,
    groups: bool = False,
) -> None:
    """Raise OptionError if options or arguments of a training do not suit the choice of a strength.

    Args:
        search: which strengths are chosen, and how.
        options: penalty and solver.
        dev: whether there are development data.
        start: whether there is a model to start from.
        prior: whether there is a prior.
        checkpoint: whether there is a checkpoint.
        groups: whether there are groups of samples.
    """
    refusals = refused_in_fit(dev=dev, start=start, prior=prior, checkpoint=checkpoint)
    check_search(search, options, refusals=refusals)
    if groups and not search.names:
        message = "groups are for l1='cv' and l2='cv', which divide the data into folds; leave them out"
        raise OptionError(message)


def chosen_strengths(
    data: ChainData,
    search: StrengthSearch,
    options: SolverOptions,
    groups: npt.ArrayLike | None = None,
    threads: int = 0,
    observe: Callable[[str], object] | None = None,
) -> tuple[SolverOptions, CrossValidation | None]:
    """Return the options of a training with the strengths chosen, and what they were chosen from, if they were.

    Args:
        data: labelled sentences.
        search: which strengths are chosen, and how.
        options: penalty and solver, with numbers in place of the strengths to choose.
        groups: group of each sentence; None if each is a group.
        threads: 0 for all cores.
        observe: called with a line about each strength.

    Raises:
        OptionError: the data are elsewhere, or options contradict each other.
        DataError: there are fewer sentences than folds, or no two labels; or the score needs labels that are partial.
    """
    if not search.names:
        return options, None
    if not isinstance(data, ChainObjective):
        message = (
            f"{search.named} is not available on a cluster; give a number, such as one chosen on a part of the data"
        )
        raise OptionError(message)
    if data.survey.nothing_to_learn is not None:
        message = f"{search.named} needs data with two or more labels and an attribute; give a number"
        raise DataError(message)
    metric = chain_metric(search.metric, data.label_names)
    _check_labels(data, search, metric)
    numbers = None if groups is None else groups_of(groups, data.n_samples)
    option = search.names[0]
    folds = folds_of_chain(data, options.random_state or 0, numbers, n_folds=search.folds, option=option)
    return cross_validated(ChainFolds(data, folds, metric), search, options, threads, observe)


def _check_labels(data: ChainObjective, search: StrengthSearch, metric: str) -> None:
    """Raise DataError if held-out sentences have labels that the score cannot be computed from.

    The log-likelihood needs a label for every token. Other scores ignore tokens whose label is unknown, but need single
    labels for all others. Sentences without weight are in no fold.
    """
    usable = np.flatnonzero(data.weights > 0.0)
    held = data.corpus[usable]
    place = held.core.first_partial()
    if place is not None and metric != "log_likelihood":
        several = ((n, at) for n, row in enumerate(held.gold()) for at, one in enumerate(row) if _is_several(one))
        place = next(several, None)
    if place is not None:
        message = (
            f"sentence {usable[place[0]]}, token {place[1]}: the label is partial, so {search.named} cannot score "
        )
        message += f"the sentence by {metric}; leave out such sentences, or give a number"
        raise DataError(message)


def _is_several(label: object) -> bool:
    """Whether a label is one of several, or has a probability."""
    return isinstance(label, frozenset | dict)
