"""Training of any model: options of the solver, the minimisation, scores and lines on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from ..errors import OptionError
from ..minimize import Callback, Stop, minimize
from ..options import check_options, one_of, option, whole_number
from ..penalty import ElasticNet
from ..problem import Objective, Problem
from ..result import Result, Status
from ..solvers import SOLVERS, Solver, default_solver, is_solver, make_solver, option_names, solver_name
from ..trace import TraceRecord
from ..vectors import Vector

__all__ = ["DevData", "DevOptions", "DevScores", "Printer", "Shows", "SolverOptions", "thread_count", "train"]


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """What to minimise with, and how far.

    This is the one place where these options are defined: the parameters of estimators, the flags of the command line
    and the settings in model files derive from the fields, in this order.
    """

    l1: float = option(0.0, "strength of the L1 penalty l1 * |w|_1, >= 0; CRFsuite's c1, CRF++'s 1 / C")
    l2: float | None = option(
        None,
        "strength of the L2 penalty (l2 / 2) * |w|^2, >= 0; twice CRFsuite's c2, CRF++'s 1 / C; by default 1 without "
        "l1, 0 with it",
    )
    solver: str | Solver[Any] | None = option(
        None,
        "name of a solver; by default lbfgs without l1, owlqn with it, prox_newton with it for classifiers of two "
        "classes or of one against the rest. A solver object will do as well.",
    )
    tolerance: float | None = option(
        None,
        "of a solver given by name or by default: when it has converged, for most solvers when the mean relative "
        "decrease of the objective over the last 5 steps is below it; by default the solver's own",
    )
    solver_options: Mapping[str, Any] | None = option(
        None,
        "further options of a solver given by name, such as passes=10; `loglinear solvers NAME` lists them. A dict.",
    )
    random_state: int = option(0, "seed of a stochastic solver given by name")
    max_iterations: int | None = option(1000, "limit on the solver's steps. None for no limit.")

    def check(self) -> None:
        """Raise OptionError if an option is out of its range: that is cheaper to find before data are read."""
        check_options(self)
        self.penalty()
        self.make_solver()
        self.stop()

    def penalty(self) -> ElasticNet:
        """Return the penalty, with the default for l2 filled in."""
        l2 = self.l2
        if l2 is None:
            l2 = 0.0 if self.l1 else 1.0
        return ElasticNet(l1=self.l1, l2=l2)

    def stop(self) -> Stop:
        """Return the limits of the minimisation."""
        return Stop(max_iterations=self.max_iterations)

    def settings(self) -> dict[str, Any]:
        """Return the options as the settings in a model file."""
        penalty = self.penalty()
        stated = {
            "l1": penalty.l1,
            "l2": penalty.l2,
            "solver": self.make_solver()[0],
            "solver_options": dict(self.solver_options or {}),
            "max_iterations": None if self.max_iterations is None else int(self.max_iterations),
        }
        return vars(self) | stated

    def make_solver(self) -> tuple[str, Solver[Any]]:
        """Return the solver with its name.

        Raises:
            OptionError: there is no such solver, or it has no such option.
        """
        if self.solver is None or isinstance(self.solver, str):
            name = self.solver or default_solver(self.penalty())
            if not isinstance(self.solver_options or {}, Mapping):
                message = f"solver_options={self.solver_options!r} is no mapping of names to values"
                raise OptionError(message)
            given: dict[str, Any] = {}
            if self.tolerance is not None:
                given["tolerance"] = self.tolerance
            if name in SOLVERS and "seed" in option_names(SOLVERS[name]):
                given["seed"] = self.random_state
            return name, make_solver(name, **given | dict(self.solver_options or {}))
        if self.solver_options:
            message = f"solver_options={self.solver_options!r} go with the name of a solver; give them to the object"
            raise OptionError(message)
        if not is_solver(self.solver):
            message = f"solver={self.solver!r} is neither the name of a solver nor an object with init and step"
            raise OptionError(message)
        return solver_name(self.solver), self.solver


@dataclass(frozen=True, kw_only=True)
class DevOptions:
    """The use of development data, beside being scored; the one place where these options are defined."""

    keep: str | None = option(
        None,
        "weights to keep: last, or best by the score on development data; by default best with a patience, else last",
        lambda name, value: None if value is None else one_of(name, value, ("last", "best")),
    )
    patience: int | None = option(
        None,
        "stop when the score on development data has not risen for this many iterations. None for no such limit.",
        lambda name, value: None if value is None else whole_number(name, value, 1, 2**31 - 1),
    )

    def check(self, *, given: bool) -> None:
        """Raise OptionError if an option is out of its range, or is set and no development data are given."""
        check_options(self)
        if not given and (self.keep == "best" or self.patience is not None):
            name = "patience" if self.patience is not None else "keep='best'"
            message = f"{name} needs development data (X_dev and y_dev; on the command line --dev)"
            raise OptionError(message)

    @property
    def keeps_best(self) -> bool:
        """Whether the best weights are kept, and not the last ones."""
        return self.keep == "best" or (self.keep is None and self.patience is not None)


@runtime_checkable
class Shows(Protocol):
    """A callback of `minimize` that shows people some of the records."""

    def shows(self, record: TraceRecord) -> bool:
        """Whether the record will be shown; asked before the callback is called with the record."""


@dataclass(frozen=True)
class DevData:
    """Development data.

    Attributes:
        score: returns the scores of weights by name.
        headline: name of the score to choose weights by; the higher the better.
        options: their use.
    """

    score: Callable[[Vector], dict[str, float]]
    headline: str
    options: DevOptions = DevOptions()


def train(
    objective: Objective,
    options: SolverOptions,
    *,
    unpenalised: int = 0,
    callbacks: Iterable[Callback] = (),
    dev: DevData | None = None,
) -> Result:
    """Minimise an objective with its penalty.

    Args:
        objective: see `loglinear.Objective`.
        options: penalty, solver, limits.
        unpenalised: number of weights that bear no penalty, the last ones.
        callbacks: see `minimize`.
        dev: development data. They are scored before the callbacks see a record: every tenth record, each record that
            a callback shows, the last one; each record if weights are chosen by the score.

    Returns:
        The result without the solver's state, which is as large as its history; call `minimize` to resume.

    Raises:
        OptionError: an option is out of its range.
        ObjectiveError: see `minimize`.
    """
    problem = Problem(objective, replace(options.penalty(), unpenalised=unpenalised))
    observers, stop = tuple(callbacks), options.stop()
    watchers: list[Any] = [each for each in observers if isinstance(each, Shows)]
    scores = None if dev is None else DevScores(dev, stop, watchers)
    first = () if scores is None else (scores,)
    result = minimize(problem, options.make_solver()[1], stop=stop, callbacks=(*first, *observers))
    result = replace(result, state=None)  # type: ignore[arg-type]
    return result if scores is None else scores.concluded(result)


class DevScores:
    """A callback that scores weights on development data, keeps the best, and stops when the score rises no more.

    Args:
        dev: the data.
        stop: limits of the minimisation.
        watchers: callbacks that show records.
    """

    PERIOD = 10

    def __init__(self, dev: DevData, stop: Stop, watchers: Sequence[Shows]) -> None:
        self._dev, self._stop, self._watchers = dev, stop, watchers
        self._best: TraceRecord | None = None
        self._w: Vector | None = None
        self._has_stopped = False

    def __call__(self, record: TraceRecord, state: Any) -> bool:
        """Fill in `record.dev`; return whether the patience is at its end."""
        # Every watcher is asked: it may count the records.
        shown = [watcher.shows(record) for watcher in self._watchers]
        options = self._dev.options
        chooses = options.keeps_best or options.patience is not None
        ends = self._stop.status(state, record.seconds) is not Status.RUNNING
        if chooses or ends or any(shown) or record.iteration % self.PERIOD == 0:
            self._score(record, state.w)
        best = self._best
        self._has_stopped = (
            options.patience is not None and best is not None and record.iteration - best.iteration >= options.patience
        )
        return self._has_stopped

    def _score(self, record: TraceRecord, w: Vector) -> None:
        record.dev = self._dev.score(w)
        name = self._dev.headline
        record.dev = {name: record.dev[name]} | record.dev
        if self._best is None or record.dev[name] > self._best.dev[name]:  # type: ignore[index]
            self._best = record
            if self._dev.options.keeps_best:
                self._w = w.copy()

    def concluded(self, result: Result) -> Result:
        """Return the result with the weights to keep, the last record scored, and the reason why it stopped."""
        if result.trace[-1].dev is None:
            self._score(result.trace[-1], result.w)
        if self._has_stopped and result.status is Status.STOPPED_BY_CALLBACK:
            result = replace(result, status=Status.DEV_SCORE_TURNED)
        best = self._best
        if self._w is None or best is None or best.iteration == result.iterations:
            return result
        figures = {name: getattr(best, name) for name in ("objective", "nll", "violation")}
        return replace(result, w=self._w, kept=best.iteration, **figures)


class Printer:
    """A callback that prints a line to stderr for each record."""

    def shows(self, record: TraceRecord) -> bool:
        """Whether the record will be shown: each is."""
        return True

    def __call__(self, record: TraceRecord, state: Any) -> None:
        """Print the line."""
        print(f"{record.seconds:7.1f} s  {record.line}", file=sys.stderr, flush=True)


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads that scikit-learn's n_jobs stands for; 0 is all cores.

    Raises:
        OptionError: it is neither None, -1 nor a positive whole number.
    """
    return 0 if n_jobs is None or n_jobs == -1 else whole_number("n_jobs", n_jobs, 1, 2**16)
