"""Training a chain model from a corpus: what the estimator and the command line both call."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from .. import __version__, _core
from ..data.corpus import Corpus
from ..errors import OptionError
from ..metrics import Evaluation, detect_scheme, evaluate
from ..minimize import Callback, Stop, minimize
from ..options import whole_number
from ..penalty import ElasticNet
from ..problem import Problem
from ..result import Result
from ..solvers import (
    SOLVERS,
    Solver,
    default_solver,
    make_solver,
)
from ..trace import TraceRecord
from ..vectors import Vector

__all__ = [
    "DevScores",
    "SolverOptions",
    "TrainingOptions",
    "chain_model",
    "chain_objective",
    "evaluate_model",
    "plain",
    "print_record",
    "thread_count",
    "train_chain",
    "training_summary",
]


@dataclass(frozen=True)
class SolverOptions:
    """What to minimise with, and how far.

    Args:
        l1: strength of the L1 penalty, l1 * |w|_1 in nats, summed over samples, >= 0 (CRFsuite's c1).
        l2: strength of the L2 penalty, (l2 / 2) * |w|^2, >= 0 (twice CRFsuite's c2). None: 1 without l1, 0 with it.
        solver: a name, a solver, or None: owlqn with l1, lbfgs without.
        max_iterations: limit on the solver's steps; None for no limit.
        tolerance: of a solver given by name: stop when the mean relative decrease of the objective over the last 5
            steps is below it; None for the solver's own.
        solver_options: further options of a solver given by name.
        random_state: seed of a stochastic solver given by name.
    """

    l1: float = 0.0
    l2: float | None = None
    solver: str | Solver[Any] | None = None
    max_iterations: int | None = 1000
    tolerance: float | None = None
    solver_options: Mapping[str, Any] | None = None
    random_state: int = 0

    def penalty(self) -> ElasticNet:
        """The penalty, with the default for l2 filled in."""
        l2 = self.l2
        if l2 is None:
            l2 = 0.0 if self.l1 else 1.0
        return ElasticNet(l1=self.l1, l2=l2)

    def settings(self) -> dict[str, Any]:
        """What a model file says of them."""
        penalty = self.penalty()
        return {
            "l1": penalty.l1,
            "l2": penalty.l2,
            "solver": self.make_solver()[0],
            "tolerance": self.tolerance,
            "solver_options": dict(self.solver_options or {}),
            "random_state": self.random_state,
            "max_iterations": None if self.max_iterations is None else int(self.max_iterations),
        }

    def make_solver(self) -> tuple[str, Solver[Any]]:
        """The solver with its name."""
        if self.solver is None or isinstance(self.solver, str):
            name = self.solver or default_solver(self.penalty())
            if not isinstance(self.solver_options or {}, Mapping):
                message = f"solver_options={self.solver_options!r} is no mapping of names to values"
                raise OptionError(message)
            given: dict[str, Any] = {}
            if self.tolerance is not None:
                given["tolerance"] = self.tolerance
            if name in SOLVERS and "seed" in signature(SOLVERS[name]).parameters:
                given["seed"] = self.random_state
            return name, make_solver(name, **given | dict(self.solver_options or {}))
        if self.solver_options:
            message = f"solver_options={self.solver_options!r} go with the name of a solver; give them to the object"
            raise OptionError(message)
        if not callable(getattr(self.solver, "init", None)) or not callable(getattr(self.solver, "step", None)):
            message = f"solver={self.solver!r} is neither the name of a solver nor an object with init and step"
            raise OptionError(message)
        known = (name for name, kind in SOLVERS.items() if type(self.solver) is kind)
        return next(known, type(self.solver).__name__.lower()), self.solver


@dataclass(frozen=True)
class TrainingOptions(SolverOptions):
    """How to train a chain model.

    Args, besides those of `SolverOptions`:
        all_states: every attribute with every label, not only with those it was seen with.
        all_transitions: every transition, not only those seen.
        min_count: attributes on fewer tokens are left out.
        order: 1, or 2 for features of three labels in a row besides; a template with a T line has them in any case.
    """

    all_states: bool = False
    all_transitions: bool = False
    min_count: int = 1
    order: int = 1


def train_chain(
    corpus: Corpus,
    options: TrainingOptions = TrainingOptions(),
    *,
    threads: int = 0,
    callbacks: Iterable[Callback] = (),
    dev: DevScores | None = None,
) -> tuple[_core.ChainModel, Result]:
    """Train a linear-chain CRF.

    Minimises the sum over sentences of -log p(y | x; w), plus the penalty. Interrupting it gives the model reached.

    Args:
        corpus: labelled sentences.
        options: penalty, features, solver.
        threads: 0 for all cores. The weights do not depend on it.
        callbacks: see `minimize`.
        dev: fills in the development set's scores before the other callbacks see a record.

    Raises:
        OptionError: an option is out of its range.
        DataError: the corpus has no labels or yields no feature.
    """
    penalty = options.penalty()
    solver = options.make_solver()[1]
    stop = Stop(max_iterations=options.max_iterations)
    objective = chain_objective(corpus, options, threads=threads)
    if dev is not None:
        dev.objective = objective
        callbacks = (dev, *callbacks)
    result = minimize(Problem(objective, penalty), solver, stop=stop, callbacks=callbacks)
    return chain_model(corpus, options, objective, result), result


def chain_objective(corpus: Corpus, options: TrainingOptions, *, threads: int = 0) -> _core.ChainObjective:
    """What training a linear-chain CRF minimises, without the penalty; arguments and errors as of `train_chain`."""
    return _core.ChainObjective(
        corpus.core,
        all_states=options.all_states,
        all_transitions=options.all_transitions,
        min_count=whole_number("min_count", options.min_count, 1, 2**32 - 1),
        order=whole_number("order", options.order, 1, 2),
        threads=threads,
    )


def chain_model(
    corpus: Corpus, options: TrainingOptions, objective: _core.ChainObjective, result: Result
) -> _core.ChainModel:
    """The model of a minimisation's weights, those that are 0 left out, which says how it was trained."""
    settings = {
        "loglinear": __version__,
        "model": "chain",
        "format": corpus.format,
        **options.settings(),
        "all_states": options.all_states,
        "all_transitions": options.all_transitions,
        "min_count": int(options.min_count),
        "order": objective.order,
        "training": {
            "n_sentences": len(corpus),
            "n_tokens": corpus.core.n_tokens,
            "n_features": objective.n_features,
            **training_summary([result]),
        },
    }
    return objective.model(result.w, json.dumps(settings, default=plain), corpus.template)


def training_summary(results: Sequence[Result]) -> dict[str, Any]:
    """What a model file says of its training, which may have been that of several problems."""
    worst = max(results, key=lambda result: (not result.status.converged, result.violation))
    return {
        "status": worst.status.name.lower(),
        "objective": sum(result.objective for result in results),
        "nll": sum(result.nll for result in results),
        "violation": worst.violation,
        "iterations": sum(result.iterations for result in results),
        "passes": sum(result.passes for result in results),
        "seconds": round(sum(result.seconds for result in results), 3),
    }


def plain(value: Any) -> Any:
    """NumPy's numbers as Python's; what else JSON does not know, as text."""
    return value.item() if isinstance(value, np.generic) else repr(value)


def evaluate_model(model: _core.ChainModel, corpus: Corpus, *, threads: int = 0) -> Evaluation:
    """Compare a model's labels with those of a corpus; a label the model does not know counts as missed."""
    return evaluate(corpus.gold(), model.predict(corpus.core, threads=threads))


def thread_count(n_jobs: int | None) -> int:
    """Threads meant by scikit-learn's n_jobs; 0 stands for all cores.

    Raises:
        OptionError: it is neither None, -1 nor a positive whole number.
    """
    return 0 if n_jobs is None or n_jobs == -1 else whole_number("n_jobs", n_jobs, 1, 2**16)


def print_record(record: TraceRecord, state: Any) -> None:
    """A callback that prints a line to stderr."""
    line = f"{record.iteration:5d}  objective {record.objective:.6g}  active {record.nnz}  {record.seconds:.2f} s"
    print(line, file=sys.stderr, flush=True)


class DevScores:
    """A callback that scores the weights on a development set every `period` steps.

    Args:
        corpus: labelled sentences.
        period: steps from one scoring to the next.
        threads: 0 for all cores.
    """

    def __init__(self, corpus: Corpus, *, period: int = 10, threads: int = 0) -> None:
        self.corpus = corpus
        self.period = period
        self.threads = threads
        self.objective: _core.ChainObjective | None = None

    def unknown_labels(self, known: Sequence[str]) -> list[str]:
        """Labels of the development set that training cannot have learnt."""
        return sorted(set(self.corpus.labels) - set(known))

    def __call__(self, record: TraceRecord, state: Any) -> None:
        """Fill in `record.dev`."""
        if self.objective is not None and record.iteration % self.period == 0:
            record.dev = self.scores(self.objective, state.w)

    def scores(self, objective: _core.ChainObjective, w: Vector) -> dict[str, float]:
        """The scores of weights: accuracies, and precision, recall and F where the labels follow a tagging scheme."""
        model = objective.model(w, "{}", self.corpus.template)
        scores = evaluate_model(model, self.corpus, threads=self.threads).to_dict()
        names = ("accuracy", "sentence_accuracy", "precision", "recall", "f1")
        return {name: scores[name] for name in names if scores[name] is not None}

    def headline(self, known: Sequence[str]) -> str:
        """The score to choose by, for a model with these labels: f1 if they follow a tagging scheme, else accuracy."""
        return "f1" if detect_scheme({*known, *self.corpus.labels}) else "accuracy"
