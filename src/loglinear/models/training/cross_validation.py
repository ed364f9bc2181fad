"""Cross-validation: the strength of a classifier's L1 penalty that predicts held-out samples well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...data.inputs import Array
from ...errors import DataError, OptionError, warn
from ...networks.numbering import Numbers
from ...objectives.classifier import ClassifierObjective
from ...path import PathPoint, largest_l1, onward, trainer
from ...penalty import ElasticNet
from ...problem import Problem
from ...solvers.auto import Auto
from ...vectors import Vector, count_nonzero, on_threads
from .resampling import in_parallel

__all__ = ["FOLDS", "CrossValidation", "cross_validated", "folds_of"]

FOLDS = 5
# Ratio of a strength to the one before: 50 strengths down to a hundredth.
STEP = 0.01 ** (1 / 49)


@dataclass(frozen=True)
class CrossValidation:
    """Strengths of the L1 penalty, and how well they predict held-out samples.

    Attributes:
        strengths: strengths, falling, shape (n,).
        losses: -log p of a held-out sample in nats, the mean over the samples by their weights, shape (n,).
        errors: standard error of each loss, from its spread over the folds, shape (n,).
    """

    strengths: Vector = field(repr=False)
    losses: Vector = field(repr=False)
    errors: Vector = field(repr=False)

    @property
    def best(self) -> float:
        """The strength with the lowest loss."""
        return float(self.strengths[self.losses.argmin()])

    @property
    def l1(self) -> float:
        """The largest strength whose loss is within one standard error of the lowest loss."""
        lowest = self.losses.argmin()
        return float(self.strengths[np.argmax(self.losses <= self.losses[lowest] + self.errors[lowest])])


def cross_validated(
    objective: ClassifierObjective, l2: float, *, seed: int, classes: Sequence[object] | Array
) -> CrossValidation:
    """Train a classifier without each fold of its samples in turn, and predict the fold, at falling strengths.

    Without a fold, the strengths are multiplied by the share of the weight that is left, so that penalty and data keep
    their balance. They fall until the prediction gets worse or the objective reaches its limit (see
    `loglinear.path.onward`). Folds contain about the same number of samples of each class.

    Source: Friedman, Hastie & Tibshirani, Journal of Statistical Software 33(1), 2010, section 4; Hastie, Tibshirani &
    Friedman, The Elements of Statistical Learning, section 7.10, for the rule of one standard error.
    Cost: one path for each fold. Folds are trained side by side.

    Args:
        objective: objective on all samples.
        l2: strength of the L2 penalty.
        seed: seed of the random folds.
        classes: what messages call the classes.

    Raises:
        DataError: a class has a single sample, or one class alone has samples with a weight.
        OptionError: no column says anything about the class.
        KeyboardInterrupt: Ctrl-C.

    Warns:
        UserWarning: the last strength is the best.
    """
    problem = Problem(objective, ElasticNet(0.0, l2, objective.n_unpenalised), objective.n_outputs)
    folds = folds_of(objective, seed, classes)
    with on_threads(problem.n_threads):
        first = largest_l1(problem)
    if first == 0.0:
        message = "l1='cv': no column says anything about the class, so there is nothing to select; give a number"
        raise OptionError(message)

    shares = np.array([objective.weights[rows].sum() for rows in folds]) / objective.weights.sum()

    def losses(fold: int, stopped: Callable[[Any, Any], bool]) -> Vector:
        held = objective.sample(folds[fold])
        rest = objective.sample(np.sort(np.concatenate([*folds[:fold], *folds[fold + 1 :]])))
        return _Fold(rest, held, l2, stopped).losses(first * (1.0 - shares[fold]))

    curves = [curve for _, curve in in_parallel(losses, len(folds), objective.n_threads)]
    n = min(curve.size for curve in curves)
    table = np.array([curve[:n] for curve in curves])
    means = shares @ table
    errors = np.sqrt(shares @ (table - means) ** 2 / (len(folds) - 1))
    cv = CrossValidation(np.array([first * STEP**at for at in range(n)]), means, errors)
    if cv.l1 == cv.strengths[-1]:
        warn(f"l1='cv' chose the last strength, {cv.l1:.6g}; a smaller l1 may be better")
    return cv


def folds_of(objective: ClassifierObjective, seed: int, classes: Sequence[object] | Array) -> list[Numbers]:
    """Return the samples of each fold, ascending; samples without weight belong to none.

    Raises:
        DataError: a class has a single sample: without its fold there would be none to learn from. Or one class alone
            has samples with a weight.
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(objective.weights > 0.0))
    targets = objective.targets[rows]
    counts = np.bincount(targets)
    if np.count_nonzero(counts) < 2:
        message = "l1='cv' needs samples of two or more classes with weights above 0; give a number"
        raise DataError(message)
    for target in np.flatnonzero(counts == 1).tolist():
        name = str(classes[target])
        message = f"l1='cv' needs two or more samples of each class, and {name!r} has one; give a number"
        raise DataError(message)
    by_class = rows[np.argsort(targets, kind="stable")]
    n = min(FOLDS, rows.size)
    return [np.sort(by_class[fold::n]) for fold in range(n)]


@dataclass(frozen=True)
class _Fold:
    """A fold of the samples and the others, from which it is predicted."""

    rest: ClassifierObjective
    held: ClassifierObjective
    l2: float
    stopped: Callable[[Any, Any], bool]

    def losses(self, first: float) -> Vector:
        """Return the loss at each strength; the first one is given."""
        weight = float(self.held.weights.sum())
        problem = Problem(self.rest, ElasticNet(0.0, self.l2, self.rest.n_unpenalised), self.rest.n_outputs)
        # Callbacks would keep two classes from a native path; its points take moments.
        callbacks = () if self.rest.n_outputs == 1 else (self.stopped,)
        train, points = trainer(problem, solver=Auto(), callbacks=callbacks), list[PathPoint]()
        w: Vector | None = None
        with on_threads(problem.n_threads):
            for strength in onward([first, first * STEP], points, further=True):
                result = train(strength, w)
                if self.stopped(None, None):
                    raise KeyboardInterrupt
                w = result.w
                score = -self.held.value_and_gradient(w)[0] / weight
                points.append(PathPoint(strength, replace(result, w=w[:0], state=None), count_nonzero(w), score))
        return -np.array([point.score for point in points])
