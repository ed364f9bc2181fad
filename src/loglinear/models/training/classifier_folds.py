"""Folds of the samples of a classifier, and the scores of classifiers that are trained without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import OptionError
from ...minimize import minimize
from ...networks.numbering import Numbers
from ...objectives.classifier import ClassifierObjective
from ...path import largest_l1, trainer
from ...penalty import ElasticNet
from ...problem import Problem
from ...result import Result
from ...solvers import Auto, ProxNewton
from ...solvers.newton_path import intercept_alone, path_solver
from ...stopping import Stop
from ...vectors import Vector, dot, on_threads
from .apart import log_shares
from .cross_validation import Stopped, Trainee, Trial, weighted_shares

__all__ = ["ClassifierFolds"]

# Ratio of a strength of the L1 penalty to the one before: 50 strengths down to a hundredth.
STEP = 0.01 ** (1 / 49)
# The same for the L2 penalty, whose curve is flatter.
STEP_L2 = 0.5
# At the first strength of the L2 penalty the objective is below that of weights of 0 by about this share.
FIRST_DECREASE = 1e-3
# Trainings at a strength of the L2 penalty end within about this share of the objective above the optimum.
TOLERANCE = 1e-6
METRICS = ("log_likelihood", "accuracy", "f1")


@dataclass(frozen=True, eq=False)
class ClassifierFolds:
    """Samples in folds; see `Foldwise`.

    The score is the mean log-likelihood of a held-out sample, in nats, the accuracy, or F1 as the mean over the
    classes. Classes that are trained apart have the same strength: the one whose models together predict well.

    Attributes:
        objective: objective on all samples.
        folds: the samples of each fold, ascending.
        metric: name of the score.
        apart: train a model for each class, against the rest.
    """

    objective: ClassifierObjective
    folds: Sequence[Numbers]
    metric: str = "log_likelihood"
    apart: bool = False
    is_rough: bool = False

    @property
    def shares(self) -> Vector:
        """Share of the weight of the samples in each fold."""
        return weighted_shares(self.objective.weights, self.folds)

    def ratio(self, penalty: str) -> float:
        """Return the ratio of a strength to the one before."""
        return STEP if penalty == "l1" else STEP_L2

    def largest(self, penalty: str, other: float) -> float:
        """Return the smallest l1 that makes all weights 0, or an l2 that hardly lets them leave 0.

        Raises:
            OptionError: no column says anything about the class.
        """
        with on_threads(self.objective.n_threads):
            problems = _problems(self.objective, self.apart)
            if penalty == "l1":
                strength = max(largest_l1(_penalised(problem, 0.0, other)) for problem in problems)
            else:
                strength = max(_first_l2(problem) for problem in problems)
        if not strength > 0.0:
            message = f"{penalty}='cv': no column says anything about the class, so there is nothing to select; give a "
            message += "number"
            raise OptionError(message)
        return strength

    def first(self, penalty: str, other: float) -> float:
        """Return the largest strength."""
        return self.largest(penalty, other)

    def trainee(self, fold: int, penalty: str, other: float) -> Trainee:
        """Return what trains without a fold."""
        held = self.objective.sample(self.folds[fold])
        others = np.concatenate([*self.folds[:fold], *self.folds[fold + 1 :]])
        problems = _problems(self.objective.sample(np.sort(others)), self.apart)
        score = _score_of(held, len(problems), self.metric)
        weights: list[Vector | None] = [None for _ in problems]
        trainers: list[Callable[[float, Vector | None], Result]] = []

        def trial(strength: float, stopped: Stopped) -> Trial:
            nonlocal weights
            with on_threads(held.n_threads):
                if not trainers:
                    trainers.extend(_trainer(problem, penalty, other, stopped) for problem in problems)
                results = [train(strength, w) for train, w in zip(trainers, weights, strict=True)]
            weights = [result.w for result in results]
            return Trial(score([result.w for result in results]), sum(result.nll for result in results))

        return trial


def _trainer(
    problem: Problem, penalty: str, other: float, stopped: Stopped
) -> Callable[[float, Vector | None], Result]:
    """Return the function that solves a problem at a strength, from some weights."""
    if penalty == "l1":
        problem = _penalised(problem, 0.0, other)
        # Callbacks would keep a model from its native path; its points take moments.
        return trainer(problem, callbacks=() if isinstance(path_solver(problem), ProxNewton) else (stopped,))

    def train(strength: float, w: Vector | None) -> Result:
        penalised = _penalised(problem, other, strength)
        start = intercept_alone(penalised) if w is None else w
        return minimize(
            penalised, Auto(tolerance=TOLERANCE), start, stop=Stop(max_iterations=1000), callbacks=[stopped]
        )

    return train


def _problems(objective: ClassifierObjective, apart: bool) -> list[Problem]:
    """Return the problem of a model, or those of the classes against the rest, without a penalty."""
    parts = [objective]
    if apart:
        parts = [objective.one_against_rest(k) for k in range(objective.n_outputs)]
    return [Problem(part, ElasticNet(0.0, 0.0, part.n_unpenalised), part.n_outputs) for part in parts]


def _penalised(problem: Problem, l1: float, l2: float) -> Problem:
    return Problem(problem.objective, ElasticNet(l1, l2, problem.penalty.unpenalised), problem.n_classes)


def _first_l2(problem: Problem) -> float:
    """Return the l2 at which the objective decreases by about a share: a step from 0 decreases it by |g|^2 / (2 l2)."""
    start = intercept_alone(problem)
    w = np.zeros(problem.n_features) if start is None else start
    gradient = np.zeros_like(w)
    value = problem.evaluate(w, gradient)
    slopes = gradient[: w.size - problem.penalty.unpenalised]
    return dot(slopes, slopes) / (2.0 * FIRST_DECREASE * max(value, 1e-300))


def _score_of(held: ClassifierObjective, n_models: int, metric: str) -> Callable[[Sequence[Vector]], float]:
    """Return the function that scores the weights of a model, or those of all classes', on held-out samples."""
    weights, targets = held.weights, held.targets
    total, rows = float(weights.sum()), np.arange(targets.size)
    parts = [held] if n_models == 1 else [held.one_against_rest(k) for k in range(n_models)]

    def logs(w: Sequence[Vector]) -> Vector:
        """Return the logarithms of the classes' probabilities, or other numbers in their order."""
        if n_models == 1:
            shares = held.probabilities(w[0])
            return shares if shares.shape[1] > 1 else np.hstack([1.0 - shares, shares])
        return log_shares(np.stack([part.core.scores(own) for part, own in zip(parts, w, strict=True)], axis=1))

    def likelihood(w: Sequence[Vector]) -> float:
        if n_models == 1:
            return -held.value_and_gradient(w[0])[0] / total
        return dot(weights, logs(w)[rows, targets]) / total

    def accuracy(w: Sequence[Vector]) -> float:
        return float(weights @ (logs(w).argmax(axis=1) == targets)) / total

    def f1(w: Sequence[Vector]) -> float:
        guesses = logs(w).argmax(axis=1)
        n = int(max(guesses.max(), targets.max())) + 1
        gold, guessed = (np.bincount(numbers, weights, n) for numbers in (targets, guesses))
        right = np.bincount(targets, weights * (guesses == targets), n)
        either = gold + guessed
        return float((2.0 * right[either > 0.0] / either[either > 0.0]).mean())

    return {"log_likelihood": likelihood, "accuracy": accuracy, "f1": f1}[metric]
