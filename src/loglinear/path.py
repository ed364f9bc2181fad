"""Regularisation paths: one problem at many strengths of the L1 penalty, each from the weights of the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import vectors
from .errors import OptionError
from .minimize import Callback, Stop, minimize
from .options import real_number, whole_number
from .penalty import ElasticNet
from .problem import Problem
from .result import Result, Status
from .solvers import LBFGS, GraftingLight, Solver
from .solvers.parts.working_set import Block
from .vectors import Vector

__all__ = ["Path", "PathPoint", "largest_l1", "path"]


@dataclass(frozen=True)
class PathPoint:
    """A problem of a path, solved.

    Attributes:
        l1: strength of the L1 penalty.
        result: of its minimisation, without the solver's state.
        n_active: number of weights that are not 0.
        score: what ``score(w)`` returned; None without one.
    """

    l1: float
    result: Result = field(repr=False)
    n_active: int
    score: float | None = None


@dataclass(frozen=True)
class Path:
    """Points by falling l1.

    Attributes:
        points: at least one, unless Ctrl-C came before the first was done.
        interrupted: whether Ctrl-C ended the path.
    """

    points: tuple[PathPoint, ...]
    interrupted: bool = False

    @property
    def best(self) -> PathPoint:
        """The point with the highest score; of equal ones the point with the largest l1.

        Raises:
            OptionError: there are no scores.
        """
        scored = [point for point in self.points if point.score is not None]
        if not scored:
            message = "no point of the path has a score; give path(..., score=...)"
            raise OptionError(message)
        return max(scored, key=lambda point: point.score)  # type: ignore[arg-type, return-value]


def largest_l1(problem: Problem) -> float:
    """Return the least l1 at which all weights that bear a penalty are 0 at the optimum.

    It is the largest derivative of the NLL by such a weight where these are 0 and the others at their optimum
    (condition (3) of Zhu, Lao & Xing 2010).
    """
    n, free = problem.n_features, min(problem.penalty.unpenalised, problem.n_features)
    w, gradient = np.zeros(n), np.zeros(n)
    if free:
        block = Block(problem, np.arange(n - free, n), w)
        unpenalised = Problem(block, ElasticNet(0.0, 0.0, free))
        w[n - free :] = minimize(unpenalised, LBFGS(tolerance=0.0), stop=Stop(max_iterations=1000)).w
    problem.evaluate(w, gradient)
    return problem.penalty.largest(gradient[: n - free])


def path(
    problem: Problem,
    l1: int | npt.ArrayLike = 20,
    *,
    ratio: float = 0.01,
    solver: Solver[Any] | None = None,
    w0: npt.ArrayLike | None = None,
    stop: Stop | None = None,
    score: Callable[[Vector], float] | None = None,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Solve a problem at falling strengths of the L1 penalty, each from the weights of the one before.

    Source: Friedman, Hastie & Tibshirani, Journal of Statistical Software 33(1), 2010, section 2.5.
    Cost: that of the solver at each point, which has little to do where few weights change.

    Args:
        problem: its l2 and its weights without penalty are kept, its l1 does not matter.
        l1: strengths, > 0, in any order; or their number, >= 2: they fall from ``largest_l1`` in equal ratios.
        ratio: of the last to the first strength if they are not given, in (0, 1).
        solver: for problems with L1; ``GraftingLight`` by default.
        w0: weights to start the first point from; zeros by default.
        stop: limits of each point; None for none.
        score: of weights, on development data say; the higher the better.
        callbacks: called at every point as ``minimize`` calls them; True ends the point.

    Returns:
        The points. Ctrl-C ends the path with the points that are done, the one at work among them.

    Raises:
        OptionError: a strength is not > 0, or an option is out of its range.
        ObjectiveError: see ``minimize``.
    """
    with vectors.on_threads(problem.n_threads):
        strengths = _strengths(problem, l1, ratio)
    method, limits, observers = solver or GraftingLight(), stop or Stop(), tuple(callbacks)
    points: list[PathPoint] = []
    w = w0
    for strength in strengths:
        penalised = Problem(problem.objective, problem.penalty.with_l1(strength))
        try:
            result = minimize(penalised, method, w, stop=limits, callbacks=observers)
        except KeyboardInterrupt:  # before the first step
            return Path(tuple(points), interrupted=True)
        w, interrupted = result.w, result.status is Status.INTERRUPTED
        point = PathPoint(strength, replace(result, state=None), vectors.count_nonzero(w))  # type: ignore[arg-type]
        points.append(point)
        try:
            points[-1] = point if score is None else replace(point, score=float(score(w)))
        except KeyboardInterrupt:
            interrupted = True
        if interrupted:
            return Path(tuple(points), interrupted=True)
    return Path(tuple(points))


def _strengths(problem: Problem, l1: int | npt.ArrayLike, ratio: float) -> list[float]:
    if isinstance(l1, (int, np.integer)) and not isinstance(l1, bool):
        count = whole_number("l1", l1, 2, 10**6)
        real_number("ratio", ratio, "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
        largest = largest_l1(problem)
        if largest == 0.0:
            message = "no weight has a derivative where all are 0: there is nothing to select; give strengths of l1"
            raise OptionError(message)
        return [float(strength) for strength in largest * np.geomspace(1.0, ratio, count)]
    try:
        given = np.sort(np.asarray(l1, dtype=np.float64).ravel())[::-1]
    except (TypeError, ValueError) as error:
        message = f"l1 is neither a number of strengths nor a sequence of them: {error}"
        raise OptionError(message) from error
    if not given.size or not (np.isfinite(given).all() and given[-1] > 0.0):
        message = f"l1={l1!r}: strengths of a path are finite numbers > 0, one at least"
        raise OptionError(message)
    return [float(strength) for strength in given]
