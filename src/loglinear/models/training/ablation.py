"""What families of features are worth: trainings without them, on held-out data.

The loss of a sample is -log p(y | x) in nats. A training without a family starts from weights that were trained with
it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ...minimize import minimize
from ...networks.numbering import Numbers
from ...path import falling, largest_l1
from ...penalty import ElasticNet, GroupLasso, Penalty
from ...problem import Objective, Problem
from ...result import Result
from ...solvers import LBFGS, OWLQN, ProxGradient, Solver
from ...solvers.common.working_set import compact
from ...vectors import Vector, on_threads
from .resampling import in_parallel

__all__ = ["By", "Fold", "Losses", "Trial", "measured"]

By = Literal["leave-out", "lasso"]
# Strengths of a path of the group lasso: their number, and the last one as a share of the first.
STRENGTHS, LAST = 20, 0.003
# Tolerance of trainings that start near their optimum: losses on held-out data have larger errors.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Fold:
    """Data to train on, and others to predict.

    Attributes:
        objective: on the training data.
        penalty: of the training data.
        n_classes: see `loglinear.Problem`.
        families: family of each penalised weight, shape (n_penalised,).
        losses: returns the loss of each held-out sample from weights, shape (n_held_out,).
    """

    objective: Objective
    penalty: ElasticNet
    n_classes: int
    families: Numbers
    losses: Callable[[Vector], Vector]


class Trial(NamedTuple):
    """Losses of held-out samples without some families.

    Attributes:
        losses: shape (n_held_out,).
        w: weights, 0 for families that are left out, shape (n_features,).
        evaluations: of the gradient.
    """

    losses: Vector
    w: Vector
    evaluations: int


@dataclass(frozen=True)
class Losses:
    """Losses of held-out samples with and without families.

    Attributes:
        whole: with all families, shape (n_held_out,).
        without: without each family in turn, shape (n_families, n_held_out).
        order: numbers of the families, from the one that is left out first, shape (n_families,).
        nested: losses with fewer and fewer families: row k without the first k + 1 of the order, shape (n_families - 1,
            n_held_out).
        entries: strength of the group lasso at which each family enters, over the largest one, the mean over the
            folds, shape (n_families,); None by leaving out.
        seconds: of the trainings with all families, and of all trainings, summed over the folds.
        evaluations: of the gradient, likewise.
    """

    whole: Vector
    without: Vector
    order: Numbers
    nested: Vector
    entries: Vector | None
    seconds: tuple[float, float]
    evaluations: tuple[int, int]


def measured(
    folds: Sequence[Callable[[], Fold]],
    n_families: int,
    solver: Callable[[], Solver[Any]],
    *,
    by: By,
    threads: int,
) -> Losses:
    """Train on each fold with all families, without each in turn, and with fewer and fewer families.

    Cost: for each fold a training, and for each family two that start near their optimum; by lasso also a path. Folds
    are trained side by side.

    Args:
        folds: each returns data to train on, and others to predict.
        n_families: number of families, 2 at least.
        solver: returns the solver of the trainings with all families.
        by: what orders the families.
        threads: folds trained at a time.
    """
    made = [fold() for fold in folds]
    starts: list[_Start] = [_Start(np.empty(0), np.empty(0), np.empty((0, 0)), None, 0.0, 0.0, 0, 0)] * len(made)

    def first(k: int, stopped: Callable[[Any, Any], bool]) -> _Start:
        return _first(made[k], n_families, solver(), by, stopped)

    for k, start in in_parallel(first, len(made), threads):
        starts[k] = start
    whole = np.concatenate([start.losses for start in starts])
    without = np.concatenate([start.without for start in starts], axis=1)
    entries = None
    if by == "lasso":
        entries = np.exp(np.mean([np.log(start.entries) for start in starts if start.entries is not None], axis=0))
        order = np.lexsort([without.mean(axis=1), entries])
    else:
        order = np.argsort(without.mean(axis=1), kind="stable")

    def second(k: int, stopped: Callable[[Any, Any], bool]) -> tuple[Vector, float, int]:
        return _nested(made[k], starts[k].w, order, stopped)

    rest = [result for _, result in in_parallel(second, len(made), threads)]
    nested = np.concatenate([losses for losses, _, _ in rest], axis=1)
    seconds = sum(start.seconds for start in starts), sum(start.all_seconds for start in starts)
    evaluations = sum(start.evaluations for start in starts), sum(start.all_evaluations for start in starts)
    return Losses(
        whole,
        without,
        order,
        nested,
        entries,
        (seconds[0], seconds[1] + sum(took for _, took, _ in rest)),
        (evaluations[0], evaluations[1] + sum(n for _, _, n in rest)),
    )


class _Start(NamedTuple):
    """A training with all families, and those without one of them; fields as in `Losses`."""

    w: Vector
    losses: Vector
    without: Vector
    entries: Vector | None
    seconds: float
    all_seconds: float
    evaluations: int
    all_evaluations: int


def _first(fold: Fold, n_families: int, solver: Solver[Any], by: By, stopped: Callable[[Any, Any], bool]) -> _Start:
    """Train with all families, and without each in turn."""
    problem = Problem(fold.objective, fold.penalty, fold.n_classes)
    with on_threads(problem.n_threads):
        began = time.perf_counter()
        result = minimize(problem, solver, callbacks=[stopped])
        seconds = time.perf_counter() - began
        trials = [_trial(fold, problem, result.w, [family], stopped) for family in range(n_families)]
        evaluations = sum(trial.evaluations for trial in trials)
        entries = None
        if by == "lasso":
            entries, more = _entries(fold, n_families, stopped)
            evaluations += more
        return _Start(
            result.w,
            fold.losses(result.w),
            np.array([trial.losses for trial in trials]),
            entries,
            seconds,
            time.perf_counter() - began,
            result.gradient_evaluations,
            result.gradient_evaluations + evaluations,
        )


def _nested(fold: Fold, w: Vector, order: Numbers, stopped: Callable[[Any, Any], bool]) -> tuple[Vector, float, int]:
    """Train with fewer and fewer families; return the losses, the seconds and the evaluations."""
    problem = Problem(fold.objective, fold.penalty, fold.n_classes)
    rows, evaluations, began = [], 0, time.perf_counter()
    with on_threads(problem.n_threads):
        for k in range(1, order.size):
            trial = _trial(fold, problem, w, order[:k].tolist(), stopped)
            w, evaluations = trial.w, evaluations + trial.evaluations
            rows.append(trial.losses)
    return np.array(rows), time.perf_counter() - began, evaluations


def _trial(
    fold: Fold, problem: Problem, w: Vector, left_out: Sequence[int], stopped: Callable[[Any, Any], bool]
) -> Trial:
    """Train without some families, from weights with more of them."""
    stays = np.ones(problem.n_features, dtype=bool)
    stays[: fold.families.size] = ~np.isin(fold.families, left_out)
    features = np.flatnonzero(stays)
    restricted = compact(problem, features)
    assert restricted is not None  # chains and classifiers can be restricted
    solver = (OWLQN if problem.penalty.l1 else LBFGS)(tolerance=TOLERANCE)
    result = minimize(restricted, solver, w[features], callbacks=[stopped])
    if stopped(None, None):
        raise KeyboardInterrupt
    reached = np.zeros(problem.n_features)
    reached[features] = result.w
    return Trial(fold.losses(reached), reached, result.gradient_evaluations)


def _entries(fold: Fold, n_families: int, stopped: Callable[[Any, Any], bool]) -> tuple[Vector, int]:
    """Return the share of the largest strength at which each family enters a path of the group lasso.

    A family that never enters gets half of the last share.
    """
    penalty = GroupLasso(0.0, fold.penalty.l2, fold.penalty.unpenalised, fold.families)
    problem = Problem(fold.objective, penalty, fold.n_classes)
    largest = largest_l1(problem)
    entries, w, evaluations = np.full(n_families, LAST / 2.0), None, 0
    for strength in falling(largest, STRENGTHS, LAST).tolist():
        at: Penalty = penalty.with_l1(strength)
        result: Result = minimize(
            replace(problem, penalty=at), ProxGradient(tolerance=TOLERANCE), w, callbacks=[stopped]
        )
        if stopped(None, None):
            raise KeyboardInterrupt
        w, evaluations = result.w, evaluations + result.gradient_evaluations
        active = np.unique(fold.families[w[: fold.families.size] != 0.0])
        entries[active] = np.maximum(entries[active], strength / largest)
        if active.size == n_families:
            break
    return entries, evaluations
