"""One model for each class against the rest: the classes are trained side by side, from one copy of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.special

from ...errors import warn, warnings_kept
from ...minimize import Callback
from ...objectives.classifier import ClassifierData, ClassifierObjective
from ...penalty import ElasticNet
from ...result import Result, Status
from ...trace import Trace, TraceRecord
from ...vectors import Vector, count_nonzero
from .resampling import in_parallel

__all__ = ["Trained", "log_shares", "train_apart", "untrained"]

# Classes of data with fewer cells train in a moment: threads would cost more than they save.
FEW_CELLS = 1_000_000
# Samples that each of the two classes has in addition when only their shares are estimated, so that none is 0.
PSEUDOCOUNT = 0.5


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

    After Ctrl-C, models that are not complete have the status INTERRUPTED, and the weights that they have come to; see
    `untrained` for those that have not begun.

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


def untrained(data: ClassifierData, penalty: ElasticNet, w0: Vector | None) -> Result:
    """Return the result of a training that Ctrl-C ends before it begins: how far it is from an optimum is not asked.

    Args:
        data: the samples with two classes.
        penalty: of the weights.
        w0: starting weights; by default all are 0 but the intercept, which then fits the shares of the classes, so that
            an untrained class is not taken for as likely as all others together.
    """
    if w0 is None and isinstance(data, ClassifierObjective):
        w, nll, evaluations = *_of_shares(data), 0
    else:
        w, evaluations = np.zeros(data.n_features) if w0 is None else w0, 1
        nll = data.value_and_gradient(w)[0]
    objective, made = nll + penalty.value(w), float(evaluations)
    record = TraceRecord(0, made, evaluations, 0.0, objective, nll, count_nonzero(w), np.nan)
    return Result(
        w=w,
        status=Status.INTERRUPTED,
        trace=Trace([record]),
        objective=objective,
        nll=nll,
        violation=np.nan,
        iterations=0,
        passes=made,
        gradient_evaluations=evaluations,
        seconds=0.0,
        state=None,
    )


def _of_shares(data: ClassifierObjective) -> tuple[Vector, float]:
    """Return the weights that are 0 but for the intercept, if there is one, and their NLL, without an evaluation."""
    rest, one = np.bincount(data.targets, data.weights, 2)
    log_odds = np.log((one + PSEUDOCOUNT) / (rest + PSEUDOCOUNT)) if data.intercept else 0.0
    width = data.coefficients(np.zeros(data.n_features))[0].shape[1]
    w = data.weights_of(np.zeros((1, width)), np.array([log_odds]))
    return w, float(rest * np.logaddexp(0.0, log_odds) + one * np.logaddexp(0.0, -log_odds))


def log_shares(scores: Vector) -> Vector:
    """Return log p(y | x) of classes by their scores, shape (n_samples, n_classes): the probabilities, normalised."""
    logs: Vector = scipy.special.log_softmax(scipy.special.log_expit(scores), axis=1)
    return logs
