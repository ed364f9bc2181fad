"""Division of samples and sentences into folds, with about the same share of each class or label in each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.inputs import Array
from ...errors import DataError, DataWarning, OptionError, warn
from ...networks.numbering import Numbers
from ...objectives.chain import ChainObjective
from ...objectives.classifier import ClassifierObjective
from ...visible import counted

__all__ = ["balanced_folds", "folds_of_chain", "folds_of_classifier", "sentence_folds"]


def folds_of_classifier(
    objective: ClassifierObjective,
    seed: int,
    classes: Sequence[object] | Array,
    groups: Numbers | None = None,
    *,
    n_folds: int = 5,
    option: str = "l1",
) -> list[Numbers]:
    """Return the samples of each fold, ascending; samples without weight belong to none.

    Args:
        objective: objective on all samples.
        seed: seed of the random folds.
        classes: what messages call the classes.
        groups: number of each sample's group; None if each sample is a group.
        n_folds: number of folds; fewer are made if there are fewer samples, without groups.
        option: the option that is "cv", for messages.

    Raises:
        DataError: without some fold there would be no sample of a class to learn from. Or one class alone has samples
            with a weight.
        OptionError: there are fewer groups than folds.
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(objective.weights > 0.0))
    targets, names = objective.targets[rows], np.asarray(classes).tolist()
    counts = np.bincount(targets, minlength=len(classes))
    if np.count_nonzero(counts) < 2:
        message = (
            f"{option}='cv' (--{option} cv) needs samples of two or more classes with weights above 0; give a number"
        )
        raise DataError(message)
    for target in np.flatnonzero(counts == 1).tolist():
        message = f"{option}='cv' (--{option} cv) needs two or more samples of each class, and {names[target]!r} has "
        message += "one; give a number"
        raise DataError(message)
    if groups is None:
        by_class = rows[np.argsort(targets, kind="stable")]
        n = min(n_folds, rows.size)
        return [np.sort(by_class[fold::n]) for fold in range(n)]
    _check_groups(groups[rows], n_folds, option)
    fold_of, table = balanced_folds(targets, groups[rows], counts, n_folds)
    for target in np.flatnonzero((table == counts).any(axis=0) & (counts > 0)).tolist():
        name = repr(names[target])
        message = f"{option}='cv' (--{option} cv): the groups leave all samples of {name} in one fold; give more "
        message += "groups, or a number"
        raise DataError(message)
    return [np.sort(rows[fold_of == fold]) for fold in range(len(table))]


def _check_groups(groups: Numbers, n_folds: int, option: str) -> None:
    """Raise OptionError if there are fewer groups than folds."""
    n = np.unique(groups).size
    if n < n_folds:
        message = f"{option}='cv': {counted(n, 'group')} cannot be divided into {n_folds} folds; "
        message += f"{_fewer(n)}give more groups, or a number"
        raise OptionError(message)


def _fewer(n: int) -> str:
    """Return the remedy of fewer folds, if n groups can be divided."""
    return f"give folds={n} (--folds {n}), or " if n > 1 else ""


def folds_of_chain(
    objective: ChainObjective, seed: int, groups: Numbers | None = None, *, n_folds: int, option: str
) -> list[Numbers]:
    """Return the sentences of each fold, ascending; sentences without weight or without a known label are in none.

    Args:
        objective: objective on all sentences.
        seed: seed of the random folds.
        groups: number of each sentence's group, such as its document; None if each sentence is a group.
        n_folds: number of folds.
        option: the option that is "cv", for messages.

    Raises:
        DataError: fewer sentences than folds have a weight above 0.
        OptionError: there are fewer groups than folds.

    Warns:
        DataWarning: all tokens of a label are in one fold, so that the model without this fold does not know the label.
    """
    core = objective.corpus.core
    lengths, weights = np.array(core.lengths(), dtype=np.int64), objective.weights
    usable = np.flatnonzero((weights > 0.0) & (lengths > 0))
    if usable.size < n_folds:
        n = int(usable.size)
        message = f"{option}='cv' (--{option} cv): {counted(n, 'sentence')} with a weight above 0 cannot be divided "
        message += f"into {n_folds} folds; {_fewer(n)}give a number"
        raise DataError(message)
    groups = np.arange(lengths.size) if groups is None else groups
    _check_groups(groups[usable], n_folds, option)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    n_labels = len(core.labels)
    # Tokens without a known label have a number beyond the labels.
    targets = np.minimum(core.targets().astype(np.int64), n_labels)
    of_usable = np.concatenate([targets[starts[at] : starts[at + 1]] for at in usable.tolist()])
    counts = np.bincount(of_usable, minlength=n_labels + 1)
    fold_of = sentence_folds(of_usable, lengths[usable], groups[usable], counts, n_folds, seed)
    folds = [usable[fold_of == fold] for fold in range(n_folds)]
    token_fold = np.repeat(fold_of, lengths[usable])
    for fold in range(n_folds):
        inside = np.bincount(of_usable[token_fold == fold], minlength=n_labels + 1)[:n_labels]
        lost = np.flatnonzero((inside == counts[:n_labels]) & (inside > 0)).tolist()
        if lost:
            names, rest = ", ".join(repr(core.labels[label]) for label in lost[:5]), len(lost) - 5
            more = f" and {rest} more" if rest > 0 else ""
            message = f"{option}='cv' (--{option} cv): all tokens of {counted(len(lost), 'label')} ({names}{more}) are "
            message += (
                f"in fold {fold + 1}, whose score counts them as wrong; give more data with these labels, or lower "
            )
            message += "folds (--folds)"
            warn(message, DataWarning)
    return folds


def sentence_folds(
    targets: Numbers, lengths: Numbers, groups: Numbers, counts: Numbers, n_folds: int, seed: int
) -> Numbers:
    """Return the fold of each sentence; folds have about the same number of tokens of each label.

    Args:
        targets: number of the label of each token, sentence by sentence, shape (n_tokens,).
        lengths: number of tokens of each sentence, shape (n_sentences,).
        groups: number of each sentence's group, which is in one fold, shape (n_sentences,).
        counts: number of tokens of each label, shape (n_labels,).
        n_folds: fewer are made if there are fewer groups.
        seed: seed of the random folds.
    """
    order = np.random.default_rng(seed).permutation(lengths.size)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    tokens = np.concatenate([np.arange(starts[at], starts[at + 1]) for at in order])
    sentence_of = np.repeat(order, lengths[order])
    of_token, _ = balanced_folds(targets[tokens], groups[sentence_of], counts, n_folds)
    folds = np.zeros(lengths.size, dtype=np.int64)
    folds[sentence_of] = of_token
    return folds


def balanced_folds(targets: Numbers, groups: Numbers, counts: Numbers, n_folds: int) -> tuple[Numbers, Numbers]:
    """Return the fold of each sample, and the number of samples of each fold and class, shape (n_folds, n_classes).

    The largest groups come first. Each goes to the fold with the smallest share of the samples of its classes.

    Args:
        targets: class of each sample, shape (n_samples,).
        groups: number of each sample's group, which is in one fold, shape (n_samples,).
        counts: number of samples of each class, shape (n_classes,).
        n_folds: fewer are made if there are fewer groups.
    """
    _, firsts, members = np.unique(groups, return_index=True, return_inverse=True)
    by_group = np.zeros((firsts.size, counts.size), dtype=np.int64)
    np.add.at(by_group, (members, targets), 1)
    table = np.zeros((min(n_folds, firsts.size), counts.size), dtype=np.int64)
    fold_of_group = np.zeros(firsts.size, dtype=np.int64)
    # Groups of one size come in the order of their first samples, which is random.
    for group in np.lexsort([firsts, -by_group.sum(axis=1)]):
        loads = table @ (by_group[group] / np.maximum(counts, 1))
        fold = np.lexsort([table.sum(axis=1), loads])[0]
        fold_of_group[group] = fold
        table[fold] += by_group[group]
    return fold_of_group[members], table
