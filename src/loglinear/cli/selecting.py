"""What `select` does between reading and writing: grow a model feature by feature, or follow a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from .._core import ChainModel, ChainObjective
from ..data.corpus import Corpus
from ..errors import OptionError
from ..minimize import Callback, minimize
from ..models.chain_training import (
    DevScores,
    TrainingOptions,
    chain_model,
    chain_objective,
)
from ..models.feature_names import feature_names
from ..models.selection import Round, Rounds
from ..path import (
    Path,
    PathPoint,
    largest_l1,
    path,
)
from ..problem import Problem
from ..report.curves import Curves
from ..result import Result, Status
from ..trace import TraceRecord
from ..vectors import Vector
from .output import tab_separated
from .progress import Progress

__all__ = ["Selection", "follow_path", "grow"]


@dataclass(frozen=True)
class Selection:
    """What is to be written.

    Attributes:
        columns: names of the table's.
        rows: their cells.
        figure: curves of the same.
        model: that was chosen.
        summary: a line for people.
        interrupted: whether Ctrl-C ended it.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figure: Curves
    model: ChainModel
    summary: str
    interrupted: bool

    def table(self) -> str:
        """The table, its cells between tabs."""
        return tab_separated(self.columns, self.rows)


def grow(
    corpus: Corpus, dev: DevScores | None, options: TrainingOptions, *, threads: int, progress: Progress
) -> Selection:
    """Select features at one strength of the penalty, until none is useful or there are as many as asked for."""
    objective = chain_objective(corpus, options, threads=threads)
    problem, solver = Problem(objective, options.penalty()), options.make_solver()[1]
    rounds = Rounds(None if dev is None else partial(dev.scores, objective))
    result = minimize(problem, solver, callbacks=[rounds, _share(progress, solver), progress])
    rounds.close(result)
    if not rounds.rounds:
        raise KeyboardInterrupt
    n_entered, n_active = rounds.rounds[-1].n_features, result.trace[-1].nnz
    summary = (
        f"{result.status.message}: objective {result.objective:.2f}, violation {result.violation:.3g}\n"
        f"{n_entered:,} features entered in {len(rounds.rounds) - 1} rounds; {n_active:,} are active"
    )
    if not n_entered and result.status.converged:
        summary += f"; lower --l1, of which {largest_l1(problem):.6g} is the largest useful one"
    score = None if dev is None else dev.headline(corpus.labels)
    return Selection(
        ["rank", "round", "feature", "weight", "objective", "working_set", "nnz", *_dev_column(score)],
        _entries(objective, result, rounds.rounds, score),
        _growth(rounds.rounds, score),
        chain_model(corpus, options, objective, result),
        summary,
        result.status is Status.INTERRUPTED,
    )


def _share(progress: Progress, solver: Any) -> Callback:
    """A callback that tells the progress how many of the features asked for have entered."""

    def observe(record: TraceRecord, state: Any) -> None:
        if solver.max_features is not None:
            progress.known = min(state.selected.size / solver.max_features, 1.0)

    return observe


def _entries(objective: ChainObjective, result: Result, rounds: Sequence[Round], score: str | None) -> list[list[str]]:
    """A row for each feature, in the order in which they entered."""
    entered = result.state.selected[: rounds[-1].n_features]  # type: ignore[attr-defined]
    names = feature_names(objective, entered)
    rows = []
    for number, (before, at) in enumerate(pairwise(rounds), start=1):
        ended = [f"{at.record.objective:.10g}", str(at.n_features), str(at.record.nnz)]
        if score is not None:
            ended.append(_cell(_dev(at, score)))
        for k in range(before.n_features, at.n_features):
            rows.append([str(k + 1), str(number), str(names[k]), f"{result.w[entered[k]]:.6g}", *ended])
    return rows


def _growth(rounds: Sequence[Round], score: str | None) -> Curves:
    panels: dict[str, list[float | None]] = {"objective": [at.record.objective for at in rounds]}
    if score is not None:
        panels[f"dev {score}"] = [_dev(at, score) for at in rounds]
    return Curves("features that have entered", [at.n_features for at in rounds], panels)


def _dev(at: Round, score: str) -> float | None:
    return None if at.record.dev is None else at.record.dev.get(score)


def follow_path(
    corpus: Corpus,
    dev: DevScores | None,
    options: TrainingOptions,
    *,
    number: int,
    last: float | None,
    threads: int,
    progress: Progress,
) -> Selection:
    """Train at falling strengths of the penalty and choose the best by the dev score, or the last."""
    objective = chain_objective(corpus, options, threads=threads)
    problem = Problem(objective, options.penalty())
    name = None if dev is None else dev.headline(corpus.labels)
    found = path(
        problem,
        number if last is None else _strengths_to(problem, last, number),
        solver=options.make_solver()[1],
        score=None if dev is None or name is None else _scorer(dev, objective, name),
        callbacks=[progress.count_points(number), progress],
    )
    if not found.points:
        raise KeyboardInterrupt
    best = found.best if any(point.score is not None for point in found.points) else None
    chosen = best or found.points[-1]
    return Selection(
        ["l1", "objective", "nnz", "gradient_evaluations", "seconds", *_dev_column(name), *(["best"] if name else [])],
        [_point(point, best, scored=name is not None) for point in found.points],
        _course(found, best, name),
        chain_model(corpus, replace(options, l1=chosen.l1), objective, chosen.result),
        _account(found, best, name),
        found.interrupted,
    )


def _account(found: Path, best: PathPoint | None, score: str | None) -> str:
    chosen = best or found.points[-1]
    which = "the last" if best is None else f"the best by dev {score}, {best.score:.4f}"
    text = f"{len(found.points)} strengths of l1; {which}: l1 {chosen.l1:.6g}, {chosen.n_active:,} active features"
    failed = sum(point.result.status is Status.LINE_SEARCH_FAILED for point in found.points)
    if failed:
        text += f"\n{failed} not solved: {Status.LINE_SEARCH_FAILED.message}"
    if best is found.points[-1] and not found.interrupted:
        text += f"\nthe best is the last one: smaller strengths may be better still, --l1 {best.l1 / 10:.2g} for one"
    return text


def _strengths_to(problem: Problem, last: float, number: int) -> Vector:
    largest = largest_l1(problem)
    if last >= largest:
        message = f"--l1 {last:g}: the last strength of a path has to be below the largest useful one, {largest:.6g}"
        raise OptionError(message)
    return np.geomspace(largest, last, number)


def _scorer(dev: DevScores, objective: ChainObjective, name: str) -> Callable[[Vector], float]:
    return lambda w: dev.scores(objective, w)[name]


def _point(point: PathPoint, best: PathPoint | None, *, scored: bool) -> list[str]:
    result = point.result
    cells = [f"{point.l1:.6g}", f"{result.objective:.10g}", str(point.n_active)]
    cells += [str(result.gradient_evaluations), f"{result.seconds:.3f}"]
    return [*cells, _cell(point.score), "*" if point is best else ""] if scored else cells


def _course(found: Path, best: PathPoint | None, score: str | None) -> Curves:
    points = found.points
    panels: dict[str, list[float | None]] = {
        "objective": [point.result.objective for point in points],
        "active features": [point.n_active for point in points],
    }
    if score is not None:
        panels[f"dev {score}"] = [point.score for point in points]
    marked = None if best is None else (best.l1, f"best: l1 {best.l1:.4g}")
    return Curves("l1", [point.l1 for point in points], panels, falling=True, marked=marked)


def _dev_column(score: str | None) -> list[str]:
    return [] if score is None else [f"dev_{score}"]


def _cell(score: float | None) -> str:
    return "" if score is None else f"{score:.6f}"
