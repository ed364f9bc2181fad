"""Probabilities of labels from models that have not seen them: each fold of the data is left out in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ...data.survey import names_of
from ...errors import DataError, warn, warnings_kept
from ...networks.numbering import Numbers
from ...options import whole_number
from ...vectors import Vector
from ...visible import counted
from .folds import sentence_folds
from .options import cores
from .resampling import in_parallel

__all__ = ["MOST_FOLDS", "Labelled", "OutOfFold", "in_order", "leave_out"]

Model = TypeVar("Model")

MOST_FOLDS = 1000


@dataclass(frozen=True, eq=False, repr=False)
class OutOfFold(Generic[Model]):
    """Probabilities of the labels of each sentence from a model that was trained without it.

    Attributes:
        labels: all labels of the data.
        marginals: for each sentence p(label | sentence), shape (tokens, labels), in the order of `labels`; a label that
            the model does not have has probability 0. A sample or text of a classifier is a sentence of one token.
        predicted: for each sentence the labels that this model predicts.
        folds: fold of each sentence, shape (n_sentences,).
        models: the model that was trained without each fold.
    """

    labels: list[Any]
    marginals: list[Vector]
    predicted: list[list[Any]]
    folds: Numbers
    models: list[Model]

    def __repr__(self) -> str:
        """Return the numbers of sentences, tokens and folds, and the labels."""
        n, n_tokens, n_folds = len(self.marginals), sum(map(len, self.marginals)), len(self.models)
        sizes = f"{counted(n, 'sentence')}, {counted(n_tokens, 'token')}"
        return f"<OutOfFold: {sizes}, {n_folds} folds; labels {names_of([*map(str, self.labels)])}>"


@dataclass(frozen=True, eq=False)
class Labelled(Generic[Model]):
    """Labelled data, and how a model is trained on part of them and labels another part.

    Attributes:
        labels: all labels.
        targets: number of the label of each token, sentence by sentence, shape (n_tokens,).
        lengths: number of tokens of each sentence, shape (n_sentences,).
        groups: number of each sentence's group, which is in one fold: sentences that are the same.
        train: returns a model of some sentences; the second argument is a callback.
        answers: returns for some sentences the model's labels, their probabilities, shape (tokens, labels) for each
            sentence, and the predicted labels.
        noun: what messages call a sentence.
        needs_several: whether a model needs two labels or more, as a classifier does.
    """

    labels: list[Any]
    targets: Numbers
    lengths: Numbers
    groups: Numbers
    train: Callable[[Numbers, Callable[[Any, Any], bool]], Model]
    answers: Callable[[Model, Numbers], tuple[list[Any], Sequence[Vector], Sequence[list[Any]]]]
    noun: str = "sentence"
    needs_several: bool = False


def leave_out(data: Labelled[Model], folds: int, seed: int, threads: int) -> OutOfFold[Model]:
    """Train a model without each fold of the data in turn, and let it label the fold.

    Folds have about the same number of tokens of each label. Sentences that are the same are in one fold: a model that
    has seen the same sentence with the same wrong label would confirm it.

    Cost: a training for each fold, on all data but the fold; as many at a time as there are threads.

    Args:
        data: what to label.
        folds: at least 2; fewer are made if there are fewer different sentences.
        seed: of the random folds.
        threads: 0 for all cores.

    Raises:
        DataError: all sentences are the same, or a model that needs several labels would know one alone.
        OptionError: the number of folds is out of range.

    Warns:
        Warning: what the trainings warn of, once each.
    """
    whole_number("folds", folds, 2, MOST_FOLDS)
    fold_of = _folds(data, folds, seed)

    def made(fold: int, stopped: Callable[[Any, Any], bool]) -> tuple[Model, Any, Any]:
        with warnings_kept() as messages:
            model = data.train(np.flatnonzero(fold_of != fold), stopped)
            answers = data.answers(model, np.flatnonzero(fold_of == fold))
        return model, answers, messages

    folds_done = list(in_parallel(made, int(fold_of.max()) + 1, threads or cores()))
    labels = [*data.labels]
    for _, (_, (own, _, _), _) in folds_done:
        labels += [label for label in own if label not in labels]  # such as those that a repair of labels makes
    marginals: list[Vector] = [np.empty(0)] * data.lengths.size
    labellings: list[list[Any]] = [[]] * data.lengths.size
    warned = set()
    for fold, (_, (own, rows, predicted), messages) in folds_done:
        for at, row, labelling in zip(np.flatnonzero(fold_of == fold).tolist(), rows, predicted, strict=True):
            marginals[at], labellings[at] = in_order(labels, own, row), labelling
        for message, category in messages:
            if (message, category) not in warned:
                warned.add((message, category))
                warn(f"without fold {fold + 1}: {message}", category)
    return OutOfFold(labels, marginals, labellings, fold_of, [model for _, (model, _, _) in folds_done])


def _folds(data: Labelled[Any], n_folds: int, seed: int) -> Numbers:
    """Return the fold of each sentence."""
    if not data.lengths.size:
        message = f"there are no {data.noun}s to audit"
        raise DataError(message)
    if np.unique(data.groups).size < 2:
        message = f"every {data.noun} is the same, so none can be left out; give at least two different ones"
        raise DataError(message)
    counts = np.bincount(data.targets, minlength=len(data.labels))
    folds = sentence_folds(data.targets, data.lengths, data.groups, counts, n_folds, seed)
    if data.needs_several:
        _check_several(data, np.repeat(folds, data.lengths), counts)
    return folds


def _check_several(data: Labelled[Any], fold_of: Numbers, counts: Numbers) -> None:
    """Raise DataError if the data have several labels, and all but one of them occur in one fold alone.

    Args:
        data: the data.
        fold_of: fold of each token, shape (n_tokens,).
        counts: number of tokens of each label.
    """
    n_labels = np.count_nonzero(counts)
    for fold in range(int(fold_of.max()) + 1 if n_labels > 1 else 0):
        inside = np.bincount(data.targets[fold_of == fold], minlength=counts.size)
        lost = np.flatnonzero((inside == counts) & (counts > 0))
        if n_labels - lost.size > 1:
            continue
        n, noun = int(counts[lost].sum()), data.noun
        names = ", ".join(repr(data.labels[label]) for label in lost.tolist())
        where = f"the only {noun} of class {names} is" if n == 1 else f"all {n:,} {noun}s of class {names} are"
        reason, remedy = "", "choose another number of folds or another seed (--folds, --seed)"
        if np.unique(np.repeat(data.groups, data.lengths)[np.isin(data.targets, lost)]).size == 1:
            reason = "" if n == 1 else f" ({noun}s that are the same stay together)"
            remedy = f"add other {noun}s of this class"
        message = f"{where} in one fold{reason}, so a model without this fold would know a single class; {remedy}"
        raise DataError(message)


def in_order(labels: list[Any], own: list[Any], row: Vector) -> Vector:
    """Return probabilities of a model's own labels in the order of all labels."""
    if own == labels:
        return np.asarray(row)
    number_of = {label: number for number, label in enumerate(labels)}
    ordered = np.zeros((len(row), len(labels)))
    ordered[:, [number_of[label] for label in own]] = row
    return ordered
