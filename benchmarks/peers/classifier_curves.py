"""Curves of trainings, the objective against seconds, of loglinear and of its peers.

All minimise F(w) = sum over samples of -log p(y | x; w) + l1 |w|_1 + (l2 / 2) |w|^2 from the same rows, and seconds
count from the call of `fit`, so checks, conversions and transpositions are in them. Three ways to a curve:

- own: the trace of one fit, a point for each step; evaluations that only the trace needs are not counted.
- traced: one fit of scikit-learn's lbfgs, newton-cg or newton-cholesky; each evaluation of its loss is a point.
- refitted: what tells nothing on its way is fitted anew with more iterations, or a smaller tolerance, each time. So is
  everything where several models make one objective, one against the rest.
"""

from __future__ import annotations

import math
import signal
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
from classifier_problems import Case, Point
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._linear_loss import LinearModelLoss
from sklearn.multiclass import OneVsRestClassifier

from loglinear import MaxEnt

clock = time.perf_counter

TOLERANCES = tuple(10.0 ** (-half / 2) for half in range(25))
DECADES = TOLERANCES[2::2]
MOST = 2**14

Curve = list[Point]


class Enough(Exception):
    """Stops a fit that has reached its goal, or its limit; or says that a program found no weights."""


@dataclass(frozen=True)
class Program:
    """What makes a curve, given a goal and a limit of seconds.

    threads is None for a peer. A peer that is refitted may be timed between two settings.
    """

    run: Callable[[float, float], Curve]
    threads: int | None = None
    refitted: bool = False


# -- own


def own(case: Case, model: MaxEnt, goal: float, limit: float) -> Curve:
    """The curve of one fit of loglinear."""
    curve: Curve = []
    before = 0.0
    start = clock()

    def note(record: Any, state: Any) -> bool:
        nonlocal before
        if not record.iteration:  # from the call of fit to the solver's start
            before = clock() - start - record.seconds
        curve.append(Point(before + record.seconds, record.objective, record.nnz))
        return record.objective <= goal or curve[-1].seconds > limit

    model.fit(case.X, case.y, callbacks=[note])
    last = verified(case, curve.pop(), model.coef_, model.intercept_)
    return [*curve, last]


def verified(case: Case, point: Point, coef: np.ndarray, intercept: Any) -> Point:
    """The last point of a curve, checked against the weights that the fit ended with.

    Raises:
        ValueError: their objective is another one.
    """
    found = case.point(point.seconds, coef, intercept)
    if not math.isclose(found.objective, point.objective, rel_tol=1e-6):
        message = f"{case.name}: a program reports {point.objective!r} where the objective is {found.objective!r}"
        raise ValueError(message)
    return found


# -- traced


def traced(case: Case, model: LogisticRegression, goal: float, limit: float) -> Curve:
    """The curve of one fit: every loss that the solver asks for, which is F over the number of samples."""
    curve: Curve = []
    coef: np.ndarray | None = None

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(loss: LinearModelLoss, coefficients: Any = None, *rest: Any, **named: Any) -> Any:
            nonlocal coef
            coef = named["coef"] if coefficients is None else coefficients
            result = method(loss, coef, *rest, **{key: value for key, value in named.items() if key != "coef"})
            mean = result[0] if isinstance(result, tuple) else result
            curve.append(Point(clock() - start, mean * len(case.y)))
            if curve[-1].objective <= goal or curve[-1].seconds > limit:
                raise Enough
            return result

        return noted

    watched = {name: noting(getattr(LinearModelLoss, name)) for name in ("loss", "loss_gradient")}
    with mock.patch.multiple(LinearModelLoss, **watched):
        start = clock()
        try:
            model.fit(case.X, case.y)
        except Enough:
            assert coef is not None
            matrix = coef.reshape((-1 if case.kind == "softmax" else 1, case.X.shape[1] + case.intercept), order="F")
            last = verified(case, curve.pop(), matrix[:, : case.X.shape[1]], matrix[:, case.X.shape[1] :])
        else:
            last = case.point(clock() - start, model.coef_, model.intercept_)
    return [*curve, last]


# -- refitted


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises Enough when the seconds are over, or, in code that is not Python's, as soon as it returns."""
    over = False

    def stop(number: int, frame: Any) -> None:
        nonlocal over
        over = True
        raise Enough

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except SystemError:
        if over:  # what Numba makes of it
            raise Enough from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def growing(factor: float) -> Iterator[int]:
    """Numbers of iterations: 1, 2, ..., each at least one more and about a factor more than the one before."""
    k = 1
    while k <= MOST:
        yield k
        k = max(k + 1, round(k * factor))


def refitted(
    case: Case, fit: Callable[[Any], tuple[Any, Any]], settings: Callable[[], Iterable[Any]], goal: float, limit: float
) -> Curve:
    """The curve of fits with one setting after the other; one that takes half of the limit, or fails, is the last."""
    curve: Curve = []
    for setting in settings():
        start = clock()
        try:
            with within(limit):
                weights = fit(setting)
        except Enough:
            return [*curve, Point(clock() - start, math.inf)]
        curve.append(case.point(clock() - start, *weights))
        # What more iterations do not change has stopped by itself.
        halted = isinstance(setting, int) and len({point.objective for point in curve[-3:]}) == 1 < len(curve) - 1
        reached = curve[-1].objective <= goal or curve[-1].objective == math.inf
        if reached or halted or curve[-1].seconds > limit / 2:
            break
    return curve


def fitted(case: Case, model: BaseEstimator, **settings: Any) -> tuple[Any, Any]:
    """Weights of an estimator fitted with some settings."""
    model = clone(model).set_params(**settings).fit(case.X, case.y)
    if isinstance(model, OneVsRestClassifier):
        return [[np.ravel(getattr(each, name)) for each in model.estimators_] for name in ("coef_", "intercept_")]
    return model.coef_, model.intercept_


def by_iterations(case: Case, model: BaseEstimator, factor: float) -> Program:
    """Fits with growing max_iter."""
    settings = partial(growing, factor)
    return Program(partial(refitted, case, lambda k: fitted(case, model, max_iter=k), settings), refitted=True)


def by_tolerance(case: Case, model: BaseEstimator, name: str, tolerances: Iterable[float]) -> Program:
    """Fits with falling tolerance."""
    run = partial(refitted, case, lambda value: fitted(case, model, **{name: value}), lambda: tolerances)
    return Program(run, refitted=True)


# -- seconds


@dataclass(frozen=True)
class Runs:
    """The curves of a program, one for each round."""

    program: Program
    curves: list[Curve]

    def seconds(self, best: float, gap: float) -> list[float] | None:
        """Seconds of each round until the objective is a share above the best; None if not all of them got there."""
        times = [seconds_to(curve, best, gap, self.program.refitted) for curve in self.curves]
        return None if None in times else times

    def end(self, best: float) -> float:
        """How far above the best the worst round ended."""
        return max(min(point.objective for point in curve) / best - 1 for curve in self.curves)

    @property
    def spent(self) -> float:
        """Seconds of the last fit, median."""
        return statistics.median(curve[-1].seconds for curve in self.curves)


def seconds_to(curve: Curve, best: float, gap: float, refitted: bool) -> float | None:
    """Seconds until a curve is a share above the best; None if it never is.

    Between two fits, time is interpolated on the logarithm of the gap, which is in their favour: none of them could
    have been stopped there.
    """
    if curve[0].objective <= best * (1 + gap):
        return curve[0].seconds
    for before, point in pairwise(curve):
        if point.objective <= best * (1 + gap):
            if not refitted:
                return point.seconds
            far, near = ((each.objective / best - 1) / gap for each in (before, point))
            share = math.log(far) / math.log(far / max(near, 1e-12))
            return min(point.seconds, before.seconds + share * (point.seconds - before.seconds))
    return None
