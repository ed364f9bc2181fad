"""The courses of trainings, made in alternation and several times over: of the seconds of a step, the median counts.

Seconds are those of a solver's clock. All else is the same in every repetition. A point of a course is [gradient
evaluations, seconds, objective, phase, Euclidean norm of the gradient over max(1, |w|), score on the test data or
None].
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from clock import Clocked, minimised

from loglinear import vectors
from loglinear.minimize import Stop
from loglinear.problem import Problem
from loglinear.solvers import Clustered

LIMIT = Stop(max_passes=3000)


class Timed(Clustered):
    """``Clustered`` that takes the seconds of clustering and of adding up features apart."""

    clustering_seconds = aggregating_seconds = 0.0

    def _cluster(self, *arguments: Any) -> Any:
        began = time.process_time()
        cmap = super()._cluster(*arguments)
        self.clustering_seconds += time.process_time() - began
        return cmap

    def _project(self, *arguments: Any) -> Any:
        began = time.process_time()
        projected = super()._project(*arguments)
        self.aggregating_seconds += time.process_time() - began
        return projected


class Course:
    """A callback that keeps the points; it stops after so many seconds."""

    def __init__(
        self,
        clocked: Clocked,
        score: Callable[[Any], Any] | None = None,
        every: int = 1,
        most: float = np.inf,
    ) -> None:
        self.clocked, self.score, self.every, self.next, self.most = clocked, score, every, 0, most
        self.points: list[list[Any]] = []

    def __call__(self, record: Any, state: Any) -> bool:
        """Keep the point."""
        score = None
        if self.score and record.gradient_evaluations >= self.next:
            self.next = record.gradient_evaluations + self.every
            score = self.score(state.w)
        norm = getattr(getattr(state, "inner", state), "norm", float("nan")) / max(
            1.0, vectors.norms(state.w)[1] ** 0.5
        )
        phase = getattr(state, "phase", "fine")
        self.points.append([record.gradient_evaluations, self.clocked.seconds, record.objective, phase, norm, score])
        return self.clocked.seconds >= self.most


def weights_of(problem: Problem, solver: Any, stop: Stop = LIMIT) -> Any:
    """The weights after each iteration, the starting point included, shape (iterations + 1, n_features)."""
    weights: list[Any] = []
    minimised(problem, solver, stop=stop, callbacks=(lambda record, state: weights.append(state.w.copy()),))
    return np.array(weights)


def trained(
    problem: Problem,
    methods: dict[str, Callable[[], Any]],
    score: Callable[[Any], Any],
    *,
    repeats: int = 3,
    every: int = 1,
    stop: Stop = LIMIT,
    most: float = np.inf,
) -> list[dict[str, Any]]:
    """A row for each method, with its course.

    Args:
        problem: what to minimise.
        methods: makers of solvers by name.
        score: of weights, on the test data.
        repeats: how often each is trained.
        every: evaluations from one score to the next.
        stop: limits.
        most: seconds of each training.
    """
    rows: dict[str, dict[str, Any]] = {}
    seconds: dict[str, list[Any]] = {name: [] for name in methods}
    parts: dict[str, list[Any]] = {name: [] for name in methods}
    for repetition in range(repeats):
        for name, make in methods.items():
            clocked = Clocked(solver := make())
            course = Course(clocked, None if repetition else score, every, most=most)
            result = minimised(problem, clocked, stop=stop, callbacks=(course,))
            seconds[name].append([point[1] for point in course.points])
            parts[name].append([getattr(solver, f"{part}_seconds", 0.0) for part in ("clustering", "aggregating")])
            if not repetition:
                rows[name] = {
                    "method": name,
                    "evaluations": result.gradient_evaluations,
                    "iterations": result.iterations,
                    "objective": result.objective,
                    "score": score(result.w),
                    "norm": vectors.norms(result.w)[1] ** 0.5,
                    "status": result.status.name,
                    "curve": course.points,
                    "w": result.w,
                }
    for name, row in rows.items():
        shortest = min(map(len, seconds[name]))  # of repetitions that a limit ends
        row["curve"] = row["curve"][:shortest]
        for point, median in zip(row["curve"], np.median([s[:shortest] for s in seconds[name]], axis=0), strict=True):
            point[1] = float(median)
        row["seconds"] = row["curve"][-1][1]
        row["clustering"], row["aggregating"] = map(float, np.median(parts[name], axis=0))
        row["phases"] = phases(row)
    return list(rows.values())


def phases(row: dict[str, Any]) -> dict[str, list[float]]:
    """Evaluations and seconds of each phase, without clustering; adding up features belongs to "coarse"."""
    spent = {phase: [0.0, 0.0] for phase in ("fine", "coarse", "patch-up")}
    for before, after in zip(row["curve"], row["curve"][1:], strict=False):
        for column in (0, 1):
            spent[before[3]][column] += after[column] - before[column]
    spent["fine"][1] -= row["clustering"] + row["aggregating"]
    spent["coarse"][1] += row["aggregating"]
    return spent


def first_below(row: dict[str, Any], limit: float, column: int) -> Any:
    """What stands in a column of the first point whose objective is at most the limit; None if there is none."""
    return next((point[column] for point in row["curve"] if point[2] <= limit), None)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row as it goes into a file of JSON: without weights."""
    return {name: value for name, value in row.items() if name != "w"}
