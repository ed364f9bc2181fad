"""The training behind `Trainer.train`: features, algorithm, model file, and the messages on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import accumulate
from struct import pack
from typing import Any

import numpy as np

from ...data.corpus import Corpus
from ...data.instances import Instances
from ...data.writing import write_output
from ...minimize import minimize
from ...objectives.chain import ChainFeatures, ChainObjective
from ...options import option_class
from ...penalty import ElasticNet
from ...problem import Problem
from ...result import Result, State, Status
from ...solvers import LBFGS, OWLQN
from ...solvers.common.quasi_newton import QuasiNewtonState
from ...solvers.sag import SAG
from ...trace import TraceRecord
from ...vectors import Vector, count_nonzero, norms
from ._messages import Messages
from ._online import LEARNERS, Epoch, train_online

__all__ = ["train"]

# A function that scores weights on the holdout group.
Holdout = Callable[[Vector], None]
_MOST = 1000


@option_class
class SummedFeatures(ChainFeatures):
    """The features of a chain as CRFsuite selects them: by the sum of their values."""

    min_sum: float = 0.0


def train(
    instances: Instances,
    algorithm: str,
    options: Mapping[str, Any],
    path: str,
    holdout: int,
    send: Callable[[str], None],
) -> None:
    """Train a chain and write its model.

    Args:
        instances: the data.
        algorithm: CRFsuite's name of it.
        options: the parameters of the algorithm.
        path: the file; empty for none.
        holdout: group that is not trained on but scored after every iteration; none below 0.
        send: called with each message.

    Raises:
        KeyboardInterrupt: training was interrupted; no model is written.
        OSError: the file cannot be written.
    """
    messages = Messages(send)
    corpus, labels = instances.corpus()
    data, held = corpus, None
    if holdout >= 0:
        messages.line(f"Holdout group: {holdout + 1}")
        messages.line()
        held = corpus[[number for number, group in enumerate(instances.groups) if group == holdout]]
        data = corpus[[number for number, group in enumerate(instances.groups) if group != holdout]]
    objective = _features(data, options, messages)
    gold = [] if held is None else held.gold()

    def score(w: Vector) -> None:
        if held is not None:
            messages.performance(labels, gold, objective.model(w).predict(held.core))

    w = _ALGORITHMS.get(algorithm, _online)(objective, algorithm, options, messages, score)
    if path:
        _store(objective, w, labels, path, messages)


def _features(corpus: Corpus, options: Mapping[str, Any], messages: Messages) -> ChainObjective:
    """Return the objective with the features that the options ask for."""
    shown = {f"feature.{name}": options[f"feature.{name}"] for name in _FEATURE_NAMES}
    messages.settings("Feature generation", {"type": "CRF1d", **shown})
    messages.clock()
    least, *whether = (options[f"feature.{name}"] for name in _FEATURE_NAMES)
    features = dict(zip((name.replace("possible", "all") for name in _FEATURE_NAMES[1:]), whether, strict=True))
    objective = ChainObjective(corpus, SummedFeatures(min_sum=least, **features))
    messages.progress()
    messages.line(f"Number of features: {objective.n_features}")
    messages.seconds()
    messages.line()
    return objective


_FEATURE_NAMES = ("minfreq", "possible_states", "possible_transitions")


def _store(objective: ChainObjective, w: Vector, labels: list[str], path: str, messages: Messages) -> None:
    """Write the model's file, whole or not at all."""
    messages.clock()
    n_kept, content = 0, _without_labels()
    if labels:
        model = objective.model(w)
        n_kept, content = model.n_attributes, model.export("crfsuite", labels)
    messages.storing((count_nonzero(w), w.size), (n_kept, objective.corpus.n_attributes), len(labels))
    write_output(path if path != "-" else "./-", content)
    messages.seconds()
    messages.line()


def _without_labels() -> bytes:
    """Return the file that CRFsuite writes without any label; loglinear does not have such models."""
    table = pack("<4s5I2048x", b"CQDB", 24 + 2048, 0, 0x62445371, 0, 0)
    parts = [
        pack("<4sII", b"FEAT", 12, 0),
        table,
        table,
        pack("<4sII8x", b"LFRF", 20, 2),
        pack("<4sII", b"AFRF", 12, 0),
    ]
    *offsets, size = accumulate(map(len, parts), initial=48)
    return pack("<4sI4s4I5I", b"lCRF", size, b"FOMC", 100, 0, 0, 0, *offsets) + b"".join(parts)


class _Stopping:
    """CRFsuite's stopping rule of L-BFGS, as a callback of `minimize` that sends a message for each iteration.

    With F the objective, g its gradient, or its subgradient of minimum norm with c1, and k the iteration: stop when
    |g| <= epsilon max(1, |w|); when (F[k - period] - F[k]) / F[k] < delta; after max_iterations.

    Attributes:
        reason: why it stopped; None if it did not.
    """

    def __init__(self, options: Mapping[str, Any], messages: Messages, score: Holdout) -> None:
        self._options, self._messages, self._score = options, messages, score
        self._past: list[float] = []
        self._evaluations = 0
        self.reason: str | None = None

    def __call__(self, record: TraceRecord, state: QuasiNewtonState) -> bool:
        """Send the messages of an iteration; return whether to stop."""
        if record.iteration and state.status is not Status.RUNNING and record.violation > 0.0:
            return True  # a line search found nothing: there was no iteration
        w_norm = math.sqrt(norms(state.w)[1])
        self._past.append(record.objective)
        if record.iteration:
            values = {
                "Loss": float(record.objective),
                "Feature norm": w_norm,
                "Error norm": float(state.norm),
                "Active features": record.nnz,
                "Line search trials": record.gradient_evaluations - self._evaluations,
                "Line search step": float(state.alpha),
            }
            self._messages.iteration(f"Iteration #{record.iteration}", values)
            self._score(state.w)
            self._messages.ended()
        self._evaluations = record.gradient_evaluations
        self.reason = self._verdict(record, state.norm, w_norm)
        return self.reason is not None

    def _verdict(self, record: TraceRecord, gradient_norm: float, w_norm: float) -> str | None:
        k, options = record.iteration, self._options
        if gradient_norm <= options["epsilon"] * max(1.0, w_norm):
            return "resulted in convergence" if k else "terminated with error code (2)"
        if k == 0:
            return None
        if 0 < options["period"] <= k:
            before = self._past[k - options["period"]]
            if (before - record.objective) / record.objective < options["delta"]:
                return "terminated with the stopping criteria"
        if options["max_iterations"] and options["max_iterations"] <= k:
            return "terminated with the maximum number of iterations"
        return None


def _lbfgs(
    objective: ChainObjective, algorithm: str, options: Mapping[str, Any], messages: Messages, score: Holdout
) -> Vector:
    """Minimise with L-BFGS, or OWL-QN if there is an L1 penalty."""
    renamed = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}
    names = ("c1", "c2", "num_memories", "max_iterations", "epsilon", "period", "delta", "linesearch", "max_linesearch")
    messages.settings("L-BFGS optimization", {renamed.get(name, name): options[name] for name in names})
    messages.line()
    messages.clock()
    penalty = ElasticNet(l1=max(options["c1"], 0.0), l2=2.0 * max(options["c2"], 0.0))
    method = OWLQN if penalty.l1 else LBFGS
    solver = method(
        memory=min(max(options["num_memories"], 1), _MOST),
        tolerance=0.0,
        gradient_tolerance=0.0,
        max_line_search=min(max(options["max_linesearch"], 1), _MOST),
    )
    w, reason = np.zeros(objective.n_features), "terminated with error code (-1020)"  # no variables
    if w.size:
        stopping = _Stopping(options, messages, score)
        result = _uninterrupted(minimize(Problem(objective, penalty), solver, callbacks=[stopping]))
        failed = "terminated with error code (-998)"  # the line search ran out of trials
        w, reason = result.w, failed if result.status is Status.LINE_SEARCH_FAILED else "resulted in convergence"
        reason = stopping.reason or reason
    messages.line(f"L-BFGS {reason}")
    messages.seconds("Total seconds required for training")
    messages.line()
    return w


def _l2sgd(
    objective: ChainObjective, algorithm: str, options: Mapping[str, Any], messages: Messages, score: Holdout
) -> Vector:
    """Minimise with SAG, sequence by sequence, without calibrating a learning rate."""
    names = [name for name in options if not name.startswith(("feature.", "calibration."))]
    messages.settings("Stochastic Gradient Descent (SGD)", {name: options[name] for name in names})
    messages.line()
    messages.clock()
    w, loss, n_epochs = np.zeros(objective.n_features), math.inf, max(options["max_iterations"], 0)
    losses: list[float] = []

    def watch(record: TraceRecord, state: State) -> bool:
        nonlocal w, loss
        if record.iteration == 0:
            return not n_epochs
        losses.append(record.objective)
        if record.objective < loss:
            w, loss = state.w.copy(), record.objective
        period, values = options["period"], {"Loss": float(record.objective)}
        improvement = math.inf
        if 0 < period < len(losses):
            improvement = (losses[-1 - period] - losses[-1]) / losses[-1]
            values["Improvement ratio"] = improvement
        values["Feature L2-norm"] = math.sqrt(norms(state.w)[1])
        values["Total number of feature updates"] = record.iteration * objective.n_samples
        messages.iteration(f"Epoch #{record.iteration}", values)
        score(state.w)
        messages.ended()
        return bool(improvement < options["delta"] or record.iteration >= n_epochs)

    if w.size and objective.n_samples:
        problem = Problem(objective, ElasticNet(l2=2.0 * max(options["c2"], 0.0)))
        _uninterrupted(minimize(problem, SAG(tolerance=0.0), callbacks=[watch]))
    why = "stopping criteria" if len(losses) < n_epochs else "maximum number of iterations"
    messages.line(f"SGD terminated with the {why}")
    messages.line(f"Loss: {loss if losses else 0.0:.6f}")
    messages.seconds("Total seconds required for training")
    messages.line()
    return w


def _uninterrupted(result: Result) -> Result:
    """Return a result; raise KeyboardInterrupt if the minimisation was interrupted."""
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def _online(
    objective: ChainObjective, algorithm: str, options: Mapping[str, Any], messages: Messages, score: Holdout
) -> Vector:
    """Train with an online learner."""
    settings = {name: value for name, value in options.items() if not name.startswith("feature.")}
    messages.settings(_TITLES[algorithm], settings)
    messages.line()
    learner = LEARNERS[algorithm](**settings)
    messages.clock()

    def watch(epoch: Epoch) -> None:
        values = {"Loss": epoch.loss, "Feature norm": epoch.feature_norm}
        messages.iteration(f"Iteration #{epoch.iteration}", values)
        score(epoch.w)
        messages.ended()
        if epoch.converged:
            messages.line("Terminated with the stopping criterion")
            messages.line()

    w = np.zeros(objective.n_features)
    if w.size and objective.n_samples:
        w = train_online(objective, learner, callback=watch)
    messages.seconds("Total seconds required for training")
    messages.line()
    return w


_TITLES = {
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
_ALGORITHMS = {"lbfgs": _lbfgs, "l2sgd": _l2sgd}
