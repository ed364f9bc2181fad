"""Cross-validation: strengths of the penalties with which models predict held-out data well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...errors import OptionError, warn
from ...networks.numbering import Numbers
from ...path import PathPoint, onward
from ...protocols import satisfies
from ...report.cross_validation import CrossValidation, shown_score
from ...result import Result, Status
from ...solvers.common.conditions import no_l1
from ...solvers.common.needs import Declaring
from ...trace import Trace
from ...vectors import Vector
from ...visible import counted
from .options import SolverOptions, StrengthSearch, cores
from .resampling import Crew, crew

__all__ = [
    "Foldwise",
    "Stopped",
    "Trainee",
    "Trial",
    "check_search",
    "cross_validated",
    "refused_in_fit",
    "weighted_shares",
]

Stopped = Callable[[Any, Any], bool]
# Number of stronger strengths that are tried if the first one is chosen.
_MORE = 3
# Rough trainings end where a strength raises the score by at most this part of its standard error.
_LEAST_RISE = 0.1


class Trial(NamedTuple):
    """What a training without a fold has come to.

    Attributes:
        score: score of the fold; the higher the better.
        nll: negative log-likelihood of the other samples, nats.
    """

    score: float
    nll: float


Trainee = Callable[[float, Stopped], Trial]
"""Trains without a fold, at a strength from the weights of the strength before, and scores the fold."""


class Foldwise(Protocol):
    """Data in folds, each of which is left out in turn; see `cross_validated`."""

    @property
    def shares(self) -> Vector:
        """Share of the weight of the samples in each fold, shape (n_folds,)."""

    @property
    def metric(self) -> str:
        """Name of the score."""

    @property
    def is_rough(self) -> bool:
        """Whether trainings end before their optimum, and the strengths where the score no longer rises."""

    def ratio(self, penalty: str) -> float:
        """Return the ratio of a strength to the one before."""

    def largest(self, penalty: str, other: float) -> float:
        """Return the first strength of a penalty, given the strength of the other one."""

    def first(self, penalty: str, other: float) -> float:
        """Return a strength, at most the largest, that is stronger than the ones that predict well."""

    def trainee(self, fold: int, penalty: str, other: float) -> Trainee:
        """Return what trains without a fold."""


def check_search(search: StrengthSearch, options: SolverOptions, *, refusals: Sequence[tuple[str, bool]] = ()) -> None:
    """Raise OptionError if options, or arguments of `fit`, do not suit the choice of a strength.

    Args:
        search: which strengths are chosen, and how.
        options: penalty and solver, with numbers in place of the strengths to choose.
        refusals: names of arguments that cannot be combined with the choice, and whether they are given.
    """
    if not search.names:
        return
    options.refuse_families(search.named)
    for argument, is_given in refusals:
        if is_given:
            message = f"{search.named} is not available with {argument}; give a number"
            raise OptionError(message)
    name, solver = options.make_solver()
    if "l1" in search.names and satisfies(solver, Declaring) and no_l1 in solver.needs.conditions:
        message = f"{name} does not support an L1 penalty, and l1='cv' chooses one; leave out solver, or use owlqn"
        raise OptionError(message)


def refused_in_fit(*, dev: bool, start: bool, prior: bool, checkpoint: bool) -> list[tuple[str, bool]]:
    """Return the arguments of `fit` that cannot be combined with the choice of a strength, and which are given."""
    names = "development data, which the folds replace", "a model to start from", "a prior", "a checkpoint"
    return list(zip(names, (dev, start, prior, checkpoint), strict=True))


def cross_validated(
    data: Foldwise,
    search: StrengthSearch,
    options: SolverOptions,
    threads: int,
    observe: Callable[[str], object] | None = None,
) -> tuple[SolverOptions, CrossValidation]:
    """Choose the strength of a penalty, or of both, and return the options of the final training.

    A model is trained without each fold in turn, and predicts the fold, at falling strengths. Without a fold, the
    strengths are multiplied by the share of the weight that is left, so that penalty and data keep their balance. Each
    training starts from the weights of the strength before. The strength chosen is the largest whose score is within
    one standard error of the best.

    If both strengths are chosen, l2 comes first, without an L1 penalty: it is the strength with the best score. Then l1
    is chosen by the rule, next to this L2 penalty.

    Source: Friedman, Hastie & Tibshirani, Journal of Statistical Software 33(1), 2010, section 4; Hastie, Tibshirani &
    Friedman, The Elements of Statistical Learning, section 7.10, for the rule of one standard error; Zou & Hastie,
    Journal of the Royal Statistical Society B 67(2), 2005, section 3.4, for a grid of strengths of the L2 penalty, each
    with a path of the L1 penalty, of which both curves here are a part.
    Cost: one path for each fold and each penalty that is chosen. Folds are trained side by side.

    Args:
        data: the folds.
        search: which strengths are chosen.
        options: penalty and solver; it has numbers for the strengths to choose.
        threads: 0 for all cores.
        observe: called with a line about each strength.

    Raises:
        KeyboardInterrupt: Ctrl-C.

    Warns:
        UserWarning: the last strength is chosen; or Ctrl-C came after some strengths, of which it names the best.
    """
    fixed = options.penalty()
    before = None
    with crew(threads or cores()) as workers:
        if len(search.names) == 2:
            before = _Search(data, "l2", 0.0, None, workers, observe).curve()
            chosen = _Search(data, "l1", before.best, before, workers, observe).curve()
        else:
            name = search.names[0]
            chosen = _Search(data, name, fixed.l2 if name == "l1" else fixed.l1, None, workers, observe).curve()
    if chosen.is_at_end:
        name, value = chosen.penalty, f"{chosen.chosen:.6g}"
        warn(f"{name}='cv' chose the last strength, {value}; a smaller {name} may be better")
    return replace(options, l1=chosen.l1, l2=chosen.l2), chosen


@dataclass
class _Search:
    """The search for the strength of one penalty.

    Attributes:
        data: the folds.
        penalty: its name.
        other: strength of the other penalty.
        before: choice of the other strength.
        workers: threads.
        observe: called with a line about each strength.
    """

    data: Foldwise
    penalty: str
    other: float
    before: CrossValidation | None
    workers: Crew
    observe: Callable[[str], object] | None = None
    points: list[PathPoint] = field(default_factory=list)
    table: list[Vector] = field(default_factory=list)

    def curve(self) -> CrossValidation:
        """Return the scores at falling strengths."""
        first, ratio = self.data.first(self.penalty, self.other), self.data.ratio(self.penalty)
        try:
            self._follow([first, first * ratio], further=True)
            while self._result().chosen == first < (largest := self.data.largest(self.penalty, self.other)):
                # A stronger penalty may be within one standard error as well.
                stronger = [first / ratio**power for power in range(_MORE, 0, -1)]
                weaker, self.points, self.table = (self.points, self.table), [], []
                self._follow([strength for strength in stronger if strength <= largest] or [largest], further=False)
                first = self.points[0].l1
                self.points, self.table = self.points + weaker[0], self.table + weaker[1]
        except KeyboardInterrupt:
            if self.table:
                reached = f"{self.penalty}={self._result().best:.6g}"
                strengths = counted(len(self.table), "strength")
                warn(f"{self.penalty}='cv' was interrupted after {strengths}; the best so far is {reached}")
            raise
        return self._result()

    def _follow(self, strengths: Sequence[float], *, further: bool) -> None:
        """Add points at falling strengths, and further ones as long as they may be better."""
        n, data = self.data.shares.size, self.data
        trainees = list(self.workers.make(lambda k, _: data.trainee(k, self.penalty, self.other), n))
        for strength in onward(strengths, self.points, further=further):
            trials = self._trials(trainees, strength)
            scores = np.array([trial.score for trial in trials])
            mean, nll = float(data.shares @ scores), sum(trial.nll for trial in trials)
            self.table.append(scores)
            self.points.append(PathPoint(strength, _summary(nll), 0, mean))
            if self.observe is not None:
                self.observe(f"{self.penalty} {strength:.4g}: {shown_score(data.metric, mean)}")
            if further and data.is_rough and self._rises_no_more():
                break

    def _trials(self, trainees: Sequence[Trainee], strength: float) -> list[Trial]:
        """Return the trials of all folds at a strength."""
        shares = self.data.shares

        def trial(fold: int, stopped: Stopped) -> Trial:
            made = trainees[fold](strength * (1.0 - shares[fold]), stopped)
            if stopped(None, None):
                raise KeyboardInterrupt
            return made

        return list(self.workers.make(trial, len(trainees)))

    def _rises_no_more(self) -> bool:
        """Whether the score has risen, and the last strength has raised it by a small part of its error at most."""
        result = self._result()
        best = result.scores[:-1].max(initial=-np.inf)
        has_risen = result.scores.max() > result.scores[0]
        return bool(
            result.scores.size > 2 and has_risen and result.scores[-1] <= best + _LEAST_RISE * result.errors[-1]
        )

    def _result(self) -> CrossValidation:
        table, shares = np.array(self.table).T, self.data.shares
        means = shares @ table
        errors = np.sqrt(shares @ (table - means) ** 2 / max(shares.size - 1, 1))
        strengths = np.array([point.l1 for point in self.points])
        return CrossValidation(
            self.penalty, strengths, means, errors, self.data.metric, int(shares.size), self.other, self.before
        )


def _summary(nll: float) -> Result:
    """Return a result that has a negative log-likelihood alone, which the end of a path depends on."""
    return Result(np.empty(0), Status.CONVERGED, Trace(), nll, nll, 0.0, 0, 0.0, 0, 0.0, None)


def weighted_shares(weights: Vector, folds: Sequence[Numbers]) -> Vector:
    """Return the share of the weight of each fold."""
    sums = np.array([weights[rows].sum() for rows in folds])
    return np.asarray(sums / sums.sum())
