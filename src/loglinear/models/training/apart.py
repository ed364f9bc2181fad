"""One model for each class against the rest: the classes are trained side by side, from one copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import scipy.special

from ...errors import warn, warnings_kept
from ...minimize import Callback
from ...objectives.classifier import ClassifierData, ClassifierObjective
from ...result import Result, Status
from ...vectors import Vector
from .resampling import in_parallel

__all__ = ["Trained", "log_shares", "train_apart"]

# Classes of data with fewer cells train in a moment: threads would cost more than they save.
FEW_CELLS = 1_000_000


@dataclass(frozen=True)
class Trained:
    """A model that was trained: its result, and its weights as `ClassifierObjective.coefficients` returns them."""

    result: Result
    coef: Vector
    intercept: Vector

    @classmethod
    def of(cls, data: ClassifierData, result: Result) -> Trained:
        """The model of these data."""
        return cls(result, *data.coefficients(result.w))


# Trains the model of a class, from its number, its objective, and callbacks, or makes no step if that is True.
Train = Callable[[int, ClassifierData, tuple[Callback, ...], bool], Result]


def train_apart(
    data: ClassifierData, n_classes: int, train: Train, callbacks: tuple[Callback, ...] = ()
) -> Iterator[Trained]:
    """Yield the model of each class, first class first.

    Classes are trained side by side on the threads of the data; the models do not depend on how many there are. With
    callbacks, on a cluster, and on small tables they are trained one after the other.

    After Ctrl-C, models that are not complete have the status INTERRUPTED, and the weights that they have come to.

    Args:
        data: the samples with all classes.
        n_classes: number of classes.
        train: trains the model of a class.
        callbacks: of the user.
    """
    if isinstance(data, ClassifierObjective) and not callbacks and data.n_threads > 1:
        if data.n_samples * data.n_columns >= FEW_CELLS:
            yield from _side_by_side(data, n_classes, train)
            return
    interrupted = False
    for k in range(n_classes):
        one = data.one_against_rest(k)
        result = train(k, one, callbacks, interrupted)
        interrupted = interrupted or result.status is Status.INTERRUPTED
        yield Trained.of(one, replace(result, status=Status.INTERRUPTED) if interrupted else result)


def _side_by_side(data: ClassifierObjective, n_classes: int, train: Train) -> Iterator[Trained]:
    """Yield the model of each class, several of which are trained at a time."""
    at_a_time = min(data.n_threads, n_classes)
    trained: dict[int, Trained] = {}
    messages: dict[int, list[tuple[str, type[Warning]]]] = {}

    def make(k: int, stopped: Callable[[Any, Any], bool]) -> None:
        with warnings_kept() as messages[k]:
            one = data.one_against_rest(k, data.n_threads // at_a_time)
            trained[k] = Trained.of(one, train(k, one, (stopped,), False))

    with suppress(KeyboardInterrupt):
        for _ in in_parallel(make, n_classes, at_a_time):
            pass
    for k in range(n_classes):
        for message in messages.get(k, ()):
            warn(*message)
        if k not in trained:
            one = data.one_against_rest(k)
            trained[k] = Trained.of(one, replace(train(k, one, (), True), status=Status.INTERRUPTED))
        one_of_them = trained.pop(k)
        if one_of_them.result.status is Status.STOPPED_BY_CALLBACK:
            one_of_them = replace(one_of_them, result=replace(one_of_them.result, status=Status.INTERRUPTED))
        yield one_of_them


def log_shares(scores: Vector) -> Vector:
    """Return log p(y | x) of classes by their scores, shape (n_samples, n_classes): the probabilities, normalised."""
    logs: Vector = scipy.special.log_softmax(scipy.special.log_expit(scores), axis=1)
    return logs
