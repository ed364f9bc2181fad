"""Feature selection of a chain: growing a model feature by feature, or following a path of strengths of the penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from ...data.features import Feature
from ...errors import OptionError
from ...minimize import Callback, minimize
from ...objectives.chain import ChainData
from ...path import Path, PathPoint, falling, largest_l1, path
from ...problem import Problem
from ...result import Result, Status
from ...solvers import default_solver
from ...solvers.common.working_set import WorkingSetState
from ...trace import TraceRecord
from ...vectors import Vector
from ..files.chain import ChainModel
from .chain import DevSet, chain_model, warn_of_shortfalls
from .options import SolverOptions

__all__ = ["Followed", "Growth", "Round", "Rounds", "follow_path", "grow"]


@dataclass(frozen=True)
class Round:
    """The time from one selection to the next.

    Attributes:
        n_features: how many had entered before or with it: ``state.selected[:n_features]``, in the order they entered.
        record: of its last step.
    """

    n_features: int
    record: TraceRecord


class Rounds:
    """A callback of ``minimize`` that keeps the rounds of ``Grafting`` and ``GraftingLight``.

    Args:
        score: returns the scores of weights, on development data say, by name; they are filled in as ``record.dev`` at
            the end of a round.

    Attributes:
        rounds: the first ends where the solver starts, with no feature.
    """

    def __init__(self, score: Callable[[Vector], dict[str, float]] | None = None) -> None:
        self.rounds: list[Round] = []
        self._score = score
        self._entered = 0

    def __call__(self, record: TraceRecord, state: WorkingSetState) -> None:
        """End the round if others have been selected, or the solver has finished."""
        before, self._entered = self._entered, int(state.selected.size)
        if self._entered > before or state.status is not Status.RUNNING:
            self.rounds.append(Round(before, record))
            if self._score is not None:
                record.dev = self._score(state.w)

    def close(self, result: Result) -> None:
        """End the round in which the minimisation was stopped; it has no score."""
        if self._entered > (self.rounds[-1].n_features if self.rounds else 0):
            self.rounds.append(Round(self._entered, result.trace[-1]))


@dataclass(frozen=True)
class Growth:
    """A model that has grown feature by feature.

    Attributes:
        result: of the minimisation.
        rounds: in which features entered.
        entered: the features, in the order in which they entered.
        weights: their weights at the end.
        headline: name of the score on development data; None without such data.
        largest: the largest useful strength of the L1 penalty, if none entered; else None.
        model: with the weights at the end.
    """

    result: Result
    rounds: Sequence[Round]
    entered: Sequence[Feature]
    weights: Vector
    headline: str | None
    largest: float | None
    model: ChainModel


def grow(
    data: ChainData,
    options: SolverOptions,
    *,
    dev: DevSet | None = None,
    callbacks: Iterable[Callback] = (),
) -> Growth:
    """Select features at one strength of the penalty, until none is useful or the solver's limit is reached.

    Args:
        data: sentences, and the features to select from.
        options: penalty, and ``grafting`` or ``grafting_light`` as the solver.
        dev: development data to score every round on.
        callbacks: see `minimize`.

    Raises:
        KeyboardInterrupt: Ctrl-C came before the first round was over.

    Warns:
        DataWarning: the data look wrong.
    """
    warn_of_shortfalls(data)
    problem = Problem(data, options.penalty())
    scored = None if dev is None else dev.of(data)
    rounds = Rounds(None if scored is None else scored.score)
    result = minimize(problem, options.make_solver()[1], callbacks=[rounds, *callbacks])
    rounds.close(result)
    if not rounds.rounds:
        raise KeyboardInterrupt
    entered = cast(WorkingSetState, result.state).selected[: rounds.rounds[-1].n_features]
    return Growth(
        result,
        rounds.rounds,
        data.feature_names(entered),
        result.w[entered],
        None if scored is None else scored.headline,
        largest_l1(problem) if not entered.size and result.status.converged else None,
        chain_model(data, options, result),
    )


@dataclass(frozen=True)
class Followed:
    """A path that was followed, and the point that was chosen.

    Attributes:
        path: its points.
        best: the point with the best score on development data; None without scores.
        headline: name of the score; None without development data.
        model: the best point's model, or without scores the last one's.
    """

    path: Path
    best: PathPoint | None
    headline: str | None
    model: ChainModel

    @property
    def chosen(self) -> PathPoint:
        """The point that the model is of."""
        return self.best or self.path.points[-1]


def follow_path(
    data: ChainData,
    options: SolverOptions,
    *,
    number: int,
    last: float | None = None,
    dev: DevSet | None = None,
    callbacks: Iterable[Callback] = (),
) -> Followed:
    """Train at falling strengths of the penalty and choose the best by the score on development data, or the last.

    Args:
        data: sentences, and the features to select from.
        options: L2 penalty and solver.
        number: of strengths, >= 2.
        last: the last strength. By default a hundredth of the largest useful one, and with development data further
            ones until the score has turned (see `onward`).
        dev: development data to score every point on.
        callbacks: see `minimize`.

    Raises:
        OptionError: the last strength is not below the largest useful one.
        KeyboardInterrupt: Ctrl-C came before the first point was done.

    Warns:
        DataWarning: the data look wrong.
        UserWarning: the best point is the last one.
    """
    warn_of_shortfalls(data)
    problem = Problem(data, options.penalty())
    scored = None if dev is None else dev.of(data)
    followed = path(
        problem,
        number if last is None else _strengths(problem, last, number),
        solver=options.make_solver(default_solver(problem.penalty))[1],
        score=None if scored is None else lambda w: scored.score(w)[scored.headline],
        callbacks=callbacks,
    )
    if not followed.points:
        raise KeyboardInterrupt
    best = followed.best if any(point.score is not None for point in followed.points) else None
    chosen = best or followed.points[-1]
    model = chain_model(data, replace(options, l1=chosen.l1), chosen.result)
    return Followed(followed, best, None if scored is None else scored.headline, model)


def _strengths(problem: Problem, last: float, number: int) -> Vector:
    """Return strengths that fall in equal ratios from the largest useful one to the last."""
    largest = largest_l1(problem)
    if last >= largest:
        message = f"--l1 {last:g}: no feature is selected above {largest:.6g}; give a smaller value"
        raise OptionError(message)
    return falling(largest, number, last=last)
