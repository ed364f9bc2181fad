"""Regularisation paths: one problem at many strengths of the L1 penalty, each from the weights of the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from . import vectors
from .errors import OptionError, warn
from .minimize import Callback, check_arguments, minimize, starting_weights
from .options import fail, real_number, whole_number
from .penalty import ElasticNet, has_kinks, varies
from .problem import Problem
from .result import Result, Status
from .solvers import LBFGS, OWLQN, GraftingLight, Solver
from .solvers.common.working_set import Block, free_weights
from .solvers.newton_path import MOST_ACTIVE, intercept_alone, newton_path, path_solver
from .stopping import Stop
from .vectors import Vector

__all__ = ["Path", "PathPoint", "falling", "largest_l1", "onward", "path", "trainer", "warn_if_best_is_last"]

# The score has turned if it is lower than the best score at an l1 of at most the best l1 over this factor.
BEYOND_BEST = 4.0
# A path has reached the objective's limit when a point decreases the NLL by less than this share of the first point's
# NLL (as glmnet's fdev), or has less than the second share left.
LEAST_DECREASE, LEAST_NLL = 1e-5, 1e-4
# The first points may have no weights yet: their NLL differs by at most this share. That may last to this share of l1.
EQUAL, LEAST_L1 = 1e-8, 1e-4


@dataclass(frozen=True)
class PathPoint:
    """One point of a regularisation path.

    Attributes:
        l1: strength of the L1 penalty.
        result: result of the minimisation, without the solver's state.
        n_active: number of non-zero weights among those that bear the penalty, which an intercept does not.
        score: value of ``score(w)``; None without a score function.
    """

    l1: float
    result: Result = field(repr=False)
    n_active: int
    score: float | None = None


@dataclass(frozen=True)
class Path:
    """A regularisation path: points in decreasing order of l1.

    Attributes:
        points: the points; empty only if Ctrl-C ended the path before the first one.
        interrupted: whether Ctrl-C ended the path.
    """

    points: tuple[PathPoint, ...]
    interrupted: bool = False

    def __repr__(self) -> str:
        """Return the number of points and the two ends, and the best point if there are scores."""
        if not self.points:
            return "Path(no points)"
        n = len(self.points)
        ends = " to ".join(f"{point.l1:.4g} ({point.n_active} active)" for point in self.points[:: max(n - 1, 1)])
        scored = any(point.score is not None for point in self.points)
        best = f", best {self.best.l1:.4g} with score {self.best.score:.4g}" if scored else ""
        ending = ", interrupted" if self.interrupted else ""
        return f"Path({n} point{'s' if n > 1 else ''}, l1 {ends}{best}{ending})"

    @property
    def best(self) -> PathPoint:
        """The point with the highest score; ties go to the largest l1.

        Raises:
            OptionError: the path has no scores.
        """
        scored = [(point.score, -number) for number, point in enumerate(self.points) if point.score is not None]
        if not scored:
            message = "no point of the path has a score; pass score=... to path"
            raise OptionError(message)
        return self.points[-max(scored)[1]]

    @property
    def best_is_last(self) -> bool:
        """Whether the best of several points is the last one, so that smaller strengths may be better."""
        scored = len(self.points) > 1 and self.points[-1].score is not None
        return scored and self.best is self.points[-1]


def largest_l1(problem: Problem) -> float:
    """Return the smallest l1 at which all penalised weights are 0 at the optimum.

    This is the largest derivative of the NLL with respect to a penalised weight, over its factor, where the penalised
    weights are 0 and the others at their optimum (condition (3) of Zhu, Lao & Xing 2010).
    """
    n, free = problem.n_features, free_weights(problem)
    last = min(problem.penalty.unpenalised, n)
    w, gradient = np.zeros(n), np.zeros(n)
    alone = intercept_alone(problem) if free.size == last > 0 else None
    if alone is not None:
        w = alone
    elif free.size:
        signs = problem.penalty.signs if varies(problem.penalty) else None
        of_free = None if signs is None else signs[free[: free.size - last]]
        penalty = ElasticNet(0.0, 0.0, last if of_free is not None else int(free.size), signs=of_free)
        solver = (OWLQN if has_kinks(penalty) else LBFGS)(tolerance=0.0)
        unpenalised = Problem(Block(problem, free, w), penalty)
        w[free] = minimize(unpenalised, solver, stop=Stop(max_iterations=1000)).w
    problem.evaluate(w, gradient)
    return problem.penalty.largest(gradient[: n - last])


def path(
    problem: Problem,
    l1: int | npt.ArrayLike = 20,
    *,
    ratio: float = 0.01,
    solver: Solver[Any] | None = None,
    w0: npt.ArrayLike | None = None,
    stop: Stop | None = None,
    score: Callable[[Vector], float] | None = None,
    further: bool | None = None,
    callbacks: Iterable[Callback] = (),
) -> Path:
    """Solve a problem for decreasing strengths of the L1 penalty, each with a warm start from the one before.

    Source: Friedman, Hastie & Tibshirani, Journal of Statistical Software 33(1), 2010, section 2.5.
    Cost: one run of the solver per point; short where few weights change.

    Args:
        problem: objective and penalty; its l1 is ignored.
        l1: strengths, > 0, in any order; or their number, >= 2, spaced geometrically from ``largest_l1`` down.
        ratio: ratio of the last strength to the first, in (0, 1), if l1 is a number.
        solver: a solver for L1 penalties. By default, classifiers take steps of ``ProxNewton``, with a tolerance of
            1e-8, and all others ``GraftingLight``, as do three classes or more from 1,000 non-zero weights on. With no
            callbacks and no limits but ``max_iterations``, each point of ``ProxNewton`` is one native call: its trace
            has the last record only.
        w0: starting weights of the first point; by default zeros, and of classifiers the best intercept.
        stop: limits of each point; None for no limits.
        score: function of the weights, such as a development score; higher is better.
        further: continue to smaller strengths, with the same ratio, until the score gets worse or the objective reaches
            a plateau (see ``onward``); by default if l1 is a number and there is a score.
        callbacks: called at every point as in ``minimize``; return True to end the point.

    Returns:
        The path. Ctrl-C ends it with the points reached, including the current one.

    Raises:
        OptionError: a strength is not > 0, or an option is out of range.
        ObjectiveError: see ``minimize``.

    Warns:
        UserWarning: the best point is the last one, so smaller strengths may be better.

    Example:
        >>> from loglinear import ClassifierObjective, Problem, path
        >>> X, y = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 1]
        >>> objective = ClassifierObjective(X, y, n_classes=2, intercept=False)
        >>> followed = path(Problem(objective), 3, ratio=0.1)
        >>> [(round(point.l1, 3), point.n_active) for point in followed.points]
        [(1.0, 0), (0.316, 2), (0.1, 2)]
    """
    train = trainer(problem, w0, solver=solver, stop=stop, callbacks=callbacks)
    if score is not None and not callable(score):
        fail("score", score, "is not a function of the weights")
    goes_on = score is not None and (_is_number(l1) if further is None else further)
    with vectors.on_threads(problem.n_threads):
        strengths = _strengths(problem, l1, ratio)
        unpenalised = problem.penalty.unpenalised
        return followed(strengths, train, w0, unpenalised=unpenalised, score=score, further=goes_on)


def trainer(
    problem: Problem,
    w0: npt.ArrayLike | None = None,
    *,
    solver: Solver[Any] | None = None,
    stop: Stop | None = None,
    callbacks: Iterable[Callback] = (),
) -> Callable[[float, npt.ArrayLike | None], Result]:
    """Return the function that solves a problem at a strength of the L1 penalty, from given weights.

    It is called for falling strengths, each time with the weights of the strength before, first with ``w0``.

    Args:
        problem: objective and penalty; its l1 is ignored.
        w0: weights to start the first point from; by default zeros, and of classifiers the best intercept.
        solver: see `path`.
        stop: limits of each point; None for no limits.
        callbacks: see `path`.
    """
    limits = Stop() if stop is None else stop
    observers = check_arguments(problem, GraftingLight() if solver is None else solver, limits, callbacks)
    usual = solver or path_solver(problem)

    def start() -> Vector:
        # Other weights of 0 might leave 0 for a moment while the intercept is on its way.
        alone = intercept_alone(problem) if w0 is None else None
        return starting_weights(problem, w0) if alone is None else alone

    at = None if observers else newton_path(problem, solver, limits, start)

    def train(strength: float, w: npt.ArrayLike | None) -> Result:
        has_many = solver is None and problem.n_classes > 1 and w is not None
        has_many = has_many and vectors.count_nonzero(np.asarray(w)) >= MOST_ACTIVE
        if at is not None and not has_many:
            return at(strength)
        penalised = replace(problem, penalty=problem.penalty.with_l1(strength))
        return minimize(penalised, GraftingLight() if has_many else usual, w, stop=limits, callbacks=observers)

    return train


def followed(
    strengths: Sequence[float],
    train: Callable[[float, npt.ArrayLike | None], Result],
    w0: npt.ArrayLike | None = None,
    *,
    unpenalised: int,
    score: Callable[[Vector], float] | None,
    further: bool,
) -> Path:
    """Return the path of trainings at falling strengths, each from the weights of the one before.

    Args:
        strengths: falling ones.
        train: returns the result at a strength, from some weights.
        w0: weights to start the first point from.
        unpenalised: number of unpenalised weights at the end of w, which do not count as active.
        score: of weights; the higher the better.
        further: continue past the strengths, as `onward` does.
    """
    points: list[PathPoint] = []
    w = w0
    try:
        for strength in onward(strengths, points, further=further):
            result = train(strength, w)
            w = result.w
            n_active = vectors.count_nonzero(w[: max(w.size - unpenalised, 0)])
            points.append(PathPoint(strength, replace(result, state=None), n_active))
            if score is not None:
                points[-1] = replace(points[-1], score=float(score(w)))
            if result.status is Status.INTERRUPTED:
                return Path(tuple(points), interrupted=True)
    except KeyboardInterrupt:
        return Path(tuple(points), interrupted=True)
    whole = Path(tuple(points))
    warn_if_best_is_last(whole)
    return whole


def onward(strengths: Sequence[float], points: Sequence[PathPoint], *, further: bool) -> Iterator[float]:
    """Yield strengths, then smaller ones as long as they may have a better score.

    Two things end the further strengths. The score has turned: it is lower than the best one, at a quarter of the best
    one's l1. Or the objective has reached its limit: the NLL hardly changes from a point to the next, or hardly
    anything is left of it.

    Args:
        strengths: falling ones, two at least if there may be further ones.
        points: the points that are done; the caller adds a point for each strength before it asks for the next.
        further: continue past the strengths.
    """
    yield from strengths
    while further and len(points) > 1 and not (_has_turned(points) or _at_limit(points)):
        yield points[-1].l1 * (points[-1].l1 / points[-2].l1)


def _has_turned(points: Sequence[PathPoint]) -> bool:
    best, last = Path(tuple(points)).best, points[-1]
    is_lower = last.score is not None and best.score is not None and last.score < best.score
    return is_lower and last.l1 * BEYOND_BEST <= best.l1


def _at_limit(points: Sequence[PathPoint]) -> bool:
    first, before, last = (points[at].result.nll for at in (0, -2, -1))
    if first - last <= EQUAL * first and points[-1].l1 > LEAST_L1 * points[0].l1:
        return False
    return not before - last > LEAST_DECREASE * first or last < LEAST_NLL * first


def warn_if_best_is_last(regularisation_path: Path) -> None:
    """Warn if a path that nobody interrupted has its best point at its end."""
    if regularisation_path.best_is_last and not regularisation_path.interrupted:
        last = regularisation_path.points[-1].l1
        warn(f"the best point of the path is the last one (l1={last:.6g}); extend the path, a smaller l1 may be better")


def falling(largest: float, number: int, ratio: float = 0.01, *, last: float | None = None) -> Vector:
    """Return strengths that fall in equal ratios, shape (number,).

    Args:
        largest: the first strength.
        number: number of strengths, >= 2.
        ratio: of the last to the first strength, in (0, 1).
        last: the last strength itself, in place of a ratio.

    Raises:
        OptionError: an option is out of its range.
    """
    count = whole_number("l1", number, 2, 10**6)
    if last is not None:
        return np.geomspace(largest, last, count)
    real_number("ratio", ratio, "a number between 0 and 1", lambda x: 0.0 < x < 1.0)
    return np.asarray(largest * np.geomspace(1.0, ratio, count))


def _is_number(l1: int | npt.ArrayLike) -> TypeGuard[int]:
    return isinstance(l1, (int, np.integer))


def _strengths(problem: Problem, l1: int | npt.ArrayLike, ratio: float) -> list[float]:
    if _is_number(l1):
        largest = largest_l1(problem)
        if largest == 0.0:
            message = "the gradient at zero weights is zero, so there is nothing to select; give the strengths of l1"
            raise OptionError(message)
        return [float(strength) for strength in falling(largest, l1, ratio)]
    try:
        strengths = np.sort(np.asarray(l1, dtype=np.float64).ravel())[::-1]
    except (TypeError, ValueError, OverflowError) as error:
        message = f"l1 is neither a number of strengths nor a sequence of strengths ({error})"
        raise OptionError(message) from error
    if not strengths.size or not (np.isfinite(strengths).all() and strengths[-1] > 0.0):
        message = f"l1={l1!r}: give one or more finite numbers > 0"
        raise OptionError(message)
    return [float(strength) for strength in strengths]
