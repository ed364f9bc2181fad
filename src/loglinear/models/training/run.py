"""Training of any model: the minimisation, scores and lines on the way."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from ...certificate import with_distance
from ...data.fingerprint import checksum
from ...display.progress import Line, line_of
from ...errors import ObjectiveError, warn
from ...minimize import Callback, minimize
from ...path import largest_l1
from ...penalty import Penalty
from ...problem import Objective, Problem
from ...result import Result, State, Status
from ...trace import Trace, TraceRecord
from ...vectors import Vector, count_nonzero
from .checkpoint import Saving
from .families import NamedWeights, family_penalty
from .options import DevOptions, FamilyParameters, SolverOptions
from .prior import Centre
from .separation import warn_if_separable
from .terms import Terms, of_solver

# Ends of a training that has come to its optimum, to the development data's best, or to the user's wish.
_ENDS_WELL = (
    Status.CONVERGED,
    Status.VIOLATION_REACHED,
    Status.GAP_REACHED,
    Status.FEATURES_SELECTED,
    Status.DEV_SCORE_TURNED,
    Status.STOPPED_BY_CALLBACK,
    Status.INTERRUPTED,
)
# Share of an L1 penalty below which a smaller one is no remedy for a model without features.
_NO_REMEDY = 1e-5

__all__ = ["DevData", "DevScores", "Printer", "train"]


@dataclass(frozen=True)
class DevData:
    """Development data.

    Attributes:
        score: returns the scores of weights by name, the headline first.
        headline: name of the score to choose weights by; the higher the better.
        fingerprint: returns a fingerprint of the data.
        options: their use.
    """

    score: Callable[[Vector], dict[str, float]]
    headline: str
    fingerprint: Callable[[], Mapping[str, Any]]
    options: DevOptions = DevOptions()

    @property
    def chooses(self) -> bool:
        """Whether the scores determine the weights."""
        return self.options.keeps_best or self.options.patience is not None


def train(
    objective: Objective,
    options: SolverOptions,
    *,
    unpenalised: int = 0,
    n_classes: int = 1,
    callbacks: Iterable[Callback] = (),
    dev: DevData | None = None,
    w0: Vector | None = None,
    centre: Centre | None = None,
    saving: Saving | None = None,
    warns_if_empty: bool = True,
    named: Callable[[int], str] | None = None,
    weights: Callable[[], NamedWeights] | None = None,
) -> Result:
    """Minimise an objective with its penalty.

    Args:
        objective: see `loglinear.Objective`.
        options: penalty, solver, limits.
        unpenalised: number of unpenalised weights at the end of w.
        n_classes: see `loglinear.Problem`.
        callbacks: see `minimize`.
        dev: development data. They are scored at every step, before the callbacks see its record.
        w0: starting weights, shape (n_features,); zeros by default.
        centre: weights at which the penalty is centred, and the training starts; no weight is unpenalised then.
        saving: writes checkpoints, and resumes from one.
        warns_if_empty: whether to warn if the L1 penalty has left no feature.
        named: returns what messages call the attribute or column of a feature, given the feature's number.
        weights: returns the names of the penalised weights, by which the options may give factors, signs and groups.

    Returns:
        The result without the solver's state, which is as large as its history; call `minimize` to resume.

    Raises:
        OptionError: an option is out of its range.
        ObjectiveError: see `minimize`.
        DataError: the checkpoint is damaged.

    Warns:
        DataWarning: there is no penalty, and weights that grow without limit label all data correctly, or a part.
        UserWarning: the L1 penalty has left no feature; training did not converge, and an attribute or column has
            very large or very small values.
    """
    if centre is not None and centre.is_fixed:
        result = centre.unchanged(objective)
        return result if dev is None else DevScores(dev).concluded(result)
    if centre is not None or weights is None:
        options.refuse_families("a prior" if weights is not None else "this kind of model")
    if centre is None:
        penalty: Penalty = replace(options.penalty(), unpenalised=unpenalised)
        if weights is not None and options.are_of_families:
            penalty = family_penalty(replace(options.penalty(), unpenalised=unpenalised), options, weights())
        problem = Problem(objective, penalty, n_classes)
    else:
        problem = centre.problem(objective, options.l1, n_classes)
        dev = None if dev is None else replace(dev, score=partial(_score_of_change, dev.score, centre))
    observers, stop = tuple(callbacks), options.stop()
    scores = None if dev is None else DevScores(dev)
    first = () if scores is None else (scores,)
    run: Callable[..., Result] = minimize
    if saving is not None:
        run = partial(saving.minimize, terms=_terms(saving, problem, options, dev, w0, centre), memory=scores)
    try:
        result = run(problem, options.make_solver()[1], w0, stop=stop, callbacks=(*first, *observers))
    except ObjectiveError as error:
        if scaling := _scaling(problem, options, named):
            message = f"{error}; {scaling}"
            raise ObjectiveError(message) from error
        raise
    result = replace(result, state=None)
    if warns_if_empty and centre is None:
        _warn_if_empty(problem, result)
    warn_if_separable(problem, result, named)
    if result.status not in _ENDS_WELL and (scaling := _scaling(problem, options, named)):
        warn(scaling)
    if scores is not None:
        result = scores.concluded(result)
        result = result if result.kept is None else with_distance(problem, result)
    return result if centre is None else centre.result(result)


def _terms(
    saving: Saving,
    problem: Problem,
    options: SolverOptions,
    dev: DevData | None,
    w0: Vector | None,
    centre: Centre | None,
) -> Terms:
    """Return what determines the weights."""
    name, solver = options.make_solver()
    penalty = problem.penalty
    of_penalty: dict[str, Any] = {"l1": penalty.l1, "l2": penalty.l2, "unpenalised": penalty.unpenalised}
    if options.are_of_families:
        of_penalty |= {field.name: getattr(options, field.name) for field in fields(FamilyParameters)}
    use = DevOptions() if dev is None else dev.options
    data = {
        "starting weights": None if w0 is None else _of_weights(w0),
        "weights of the prior": None if centre is None else _of_weights(centre.weights),
        "development data": dev.fingerprint() if dev is not None and dev.chooses else None,
    }
    of_dev = {"keep": "best" if use.keeps_best else "last", "patience": use.patience}
    return Terms({**saving.options, **of_penalty, **of_dev}, name, of_solver(solver), {**saving.data, **data})


def _score_of_change(score: Callable[[Vector], dict[str, float]], centre: Centre, change: Vector) -> dict[str, float]:
    """Return the scores of weights from their change."""
    return score(centre.at(change))


def _of_weights(w: Vector) -> dict[str, Any]:
    """Return a fingerprint of weights."""
    return {"features": w.size, "checksum": checksum([w])}


def _warn_if_empty(problem: Problem, result: Result) -> None:
    """Warn if the L1 penalty has left no feature; unpenalised weights do not count."""
    l1, n_free = problem.penalty.l1, problem.penalty.unpenalised
    if not l1 or not result.status.converged or count_nonzero(result.w[: result.w.size - n_free]):
        return
    if result.status is Status.FEATURES_SELECTED:
        warn("no feature is left: the solver selected none; raise max_features, or check candidates")
        return
    largest = largest_l1(problem)
    # The intercept alone labels all samples correctly if a class has no samples of any weight.
    if largest > _NO_REMEDY * min(l1, 1.0):
        warn(f"no feature is left: l1={l1:g} makes all weights 0; lower l1 (--l1) below {min(largest, l1):.6g}")


def _scaling(problem: Problem, options: SolverOptions, named: Callable[[int], str] | None) -> str:
    """Return what to do about the attribute or column whose values are farthest from 1; empty if all are near 1."""
    largest, feature = problem.largest_values, problem.most_uneven
    if largest is None or feature is None or named is None:
        return ""
    values, solver = f"the values of {named(feature)} reach {largest[feature]:.3g}", options.make_solver()[0]
    if solver == "auto":
        return f"{values}; scale them to about 1"
    remedy = "scale them to about 1, or leave out the solver (--solver)"
    return f"{values}, which solver {solver} may not handle well; {remedy}"


class DevScores:
    """A callback that scores weights on development data, keeps the best, and stops when the score no longer improves.

    Args:
        dev: the data.
    """

    def __init__(self, dev: DevData) -> None:
        self._dev = dev
        self._best: TraceRecord | None = None
        # The iteration from which the patience counts: that of the best score, or the last one of the scores at the
        # beginning that are all the same, as before the first chunk is found.
        self._since = 0
        self._has_changed = False
        self._w: Vector | None = None
        self._has_stopped = False

    def __call__(self, record: TraceRecord, state: State) -> bool:
        """Fill in `record.dev`; return whether the patience is at its end."""
        self._score(record, state.w)
        patience = self._dev.options.patience
        self._has_stopped = patience is not None and record.iteration - self._since >= patience
        return self._has_stopped

    def _score(self, record: TraceRecord, w: Vector) -> None:
        record.dev = self._dev.score(w)
        if self._is_best(record) and self._dev.options.keeps_best:
            self._w = w.copy()

    def _is_best(self, record: TraceRecord) -> bool:
        """Count a record that has scores; return whether its score is higher than all before."""
        score, best = self._headline(record), None if self._best is None else self._headline(self._best)
        is_best = best is None or score > best
        self._has_changed = self._has_changed or best not in (None, score)
        if is_best:
            self._best = record
        if is_best or not self._has_changed:
            self._since = record.iteration
        return is_best

    def _headline(self, record: TraceRecord) -> float:
        return -math.inf if record.dev is None else record.dev[self._dev.headline]

    def memory(self) -> dict[str, Any] | None:
        """Return what a checkpoint has to keep: the weights with the best score, if these are the ones to keep."""
        return None if self._best is None else {"w": self._w}

    def restore(self, memory: dict[str, Any] | None, records: Trace) -> None:
        """Take back what a checkpoint has kept, after these records."""
        if memory is not None:
            for record in records:
                self._is_best(record)
            self._w = memory["w"]

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
    """A callback that shows each record: in one line of a notebook or terminal, elsewhere in a line of stderr each."""

    def __init__(self) -> None:
        self._failed = False
        self._line: Line | None = None

    def __call__(self, record: TraceRecord, state: object) -> None:
        """Show the record. If stderr cannot be written, warn once; the training continues."""
        if sys.stderr is not None:
            self._attempt(partial(self._show, f"{record.seconds:7.1f} s  {record.line}"))

    def end(self) -> None:
        """End the line: the training has ended."""
        if self._line is not None:
            self._attempt(self._line.end)

    def _show(self, text: str) -> None:
        self._line = self._line or line_of(sys.stderr)
        if self._line is None:
            print(text, file=sys.stderr, flush=True)
        else:
            self._line.show(text)

    def _attempt(self, write: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            write()
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            self._failed = True
            warn(f"verbose=True: stderr cannot be written ({error}); training continues without these lines")
