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
from ...protocols import satisfies
from ...solvers import ProxNewton
from ...solvers.common.conditions import no_l1
from ...solvers.common.needs import Declaring
from ...solvers.newton_path import path_solver
from ...vectors import Vector, count_nonzero, dot, on_threads
from .apart import log_shares
from .options import SolverOptions
from .resampling import in_parallel

__all__ = ["FOLDS", "CrossValidation", "balanced_folds", "check_solver_for_cv", "cross_validated", "folds_of"]

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

    def __repr__(self) -> str:
        """Return the number of strengths, their range, and what they have chosen."""
        first, last = self.strengths[[0, -1]]
        ends = f"{self.strengths.size} strengths from {first:.4g} to {last:.4g}"
        return f"CrossValidation({ends}, best={self.best:.4g}, l1={self.l1:.4g})"

    @property
    def best(self) -> float:
        """The strength with the lowest loss."""
        return float(self.strengths[self.losses.argmin()])

    @property
    def l1(self) -> float:
        """The largest strength whose loss is within one standard error of the lowest loss."""
        lowest = self.losses.argmin()
        return float(self.strengths[np.argmax(self.losses <= self.losses[lowest] + self.errors[lowest])])


def check_solver_for_cv(options: SolverOptions) -> None:
    """Raise OptionError if the solver cannot train with the L1 penalty that is chosen."""
    name, solver = options.make_solver()
    if satisfies(solver, Declaring) and no_l1 in solver.needs.conditions:
        message = f"{name} does not support an L1 penalty, and l1='cv' chooses one; leave out solver, or use owlqn"
        raise OptionError(message)


def cross_validated(
    objective: ClassifierObjective,
    l2: float,
    *,
    seed: int,
    classes: Sequence[object] | Array,
    groups: Numbers | None = None,
    apart: bool = False,
) -> CrossValidation:
    """Train a classifier without each fold of its samples in turn, and predict the fold, at falling strengths.

    Without a fold, the strengths are multiplied by the share of the weight that is left, so that penalty and data keep
    their balance. They fall until the prediction gets worse or the objective reaches its limit (see
    `loglinear.path.onward`). Folds contain about the same number of samples of each class. Classes that are trained
    apart have the same strength: the one whose models together predict well.

    Source: Friedman, Hastie & Tibshirani, Journal of Statistical Software 33(1), 2010, section 4; Hastie, Tibshirani &
    Friedman, The Elements of Statistical Learning, section 7.10, for the rule of one standard error.
    Cost: one path for each fold. Folds are trained side by side.

    Args:
        objective: objective on all samples.
        l2: strength of the L2 penalty.
        seed: seed of the random folds.
        classes: what messages call the classes.
        groups: number of each sample's group, from 0, which is in one fold; None if each sample is a group.
        apart: train a model for each class, against the rest.

    Raises:
        DataError: a class has a single sample, or all in one fold, or one class alone has samples with a weight.
        OptionError: no column says anything about the class.
        KeyboardInterrupt: Ctrl-C.

    Warns:
        UserWarning: the last strength is the best.
    """
    folds = folds_of(objective, seed, classes, groups)
    with on_threads(objective.n_threads):
        first = max(largest_l1(problem) for problem in _problems(objective, l2, apart=apart))
    if first == 0.0:
        message = "l1='cv': no column says anything about the class, so there is nothing to select; give a number"
        raise OptionError(message)

    shares = np.array([objective.weights[rows].sum() for rows in folds]) / objective.weights.sum()

    def losses(fold: int, stopped: Callable[[Any, Any], bool]) -> Vector:
        held = objective.sample(folds[fold])
        rest = objective.sample(np.sort(np.concatenate([*folds[:fold], *folds[fold + 1 :]])))
        return _losses(_problems(rest, l2, apart=apart), held, first * (1.0 - shares[fold]), stopped)

    curves = [curve for _, curve in in_parallel(losses, len(folds), objective.n_threads)]
    n = min(curve.size for curve in curves)
    table = np.array([curve[:n] for curve in curves])
    means = shares @ table
    errors = np.sqrt(shares @ (table - means) ** 2 / (len(folds) - 1))
    cv = CrossValidation(np.array([first * STEP**at for at in range(n)]), means, errors)
    if cv.l1 == cv.strengths[-1]:
        warn(f"l1='cv' chose the last strength, {cv.l1:.6g}; a smaller l1 may be better")
    return cv


def folds_of(
    objective: ClassifierObjective, seed: int, classes: Sequence[object] | Array, groups: Numbers | None = None
) -> list[Numbers]:
    """Return the samples of each fold, ascending; samples without weight belong to none.

    Args:
        objective: objective on all samples.
        seed: seed of the random folds.
        classes: what messages call the classes.
        groups: number of each sample's group; None if each sample is a group.

    Raises:
        DataError: without some fold there would be no sample of a class to learn from. Or one class alone has samples
            with a weight.
    """
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(objective.weights > 0.0))
    targets, names = objective.targets[rows], np.asarray(classes).tolist()
    counts = np.bincount(targets, minlength=len(classes))
    if np.count_nonzero(counts) < 2:
        message = "l1='cv' needs samples of two or more classes with weights above 0; give a number"
        raise DataError(message)
    for target in np.flatnonzero(counts == 1).tolist():
        message = f"l1='cv' needs two or more samples of each class, and {names[target]!r} has one; give a number"
        raise DataError(message)
    if groups is None:
        by_class = rows[np.argsort(targets, kind="stable")]
        n = min(FOLDS, rows.size)
        return [np.sort(by_class[fold::n]) for fold in range(n)]
    fold_of, table = balanced_folds(targets, groups[rows], counts, FOLDS)
    for target in np.flatnonzero((table == counts).any(axis=0) & (counts > 0)).tolist():
        name = repr(names[target])
        message = f"l1='cv': the groups leave all samples of {name} in one fold; give more groups, or a number"
        raise DataError(message)
    return [np.sort(rows[fold_of == fold]) for fold in range(len(table))]


def balanced_folds(targets: Numbers, groups: Numbers, counts: Numbers, n_folds: int) -> tuple[Numbers, Numbers]:
    """Return the fold of each sample, and the number of samples of each fold and class, shape (n_folds, n_classes).

    The largest groups come first. Each goes to the fold with the smallest share of the samples of its classes.

    Args:
        targets: class of each sample, shape (n_samples,).
        groups: number of each sample's group, which is in one fold, shape (n_samples,).
        counts: number of samples of each class, shape (n_classes,).
        n_folds: fewer are made if there are fewer groups.
    """
    _, firsts, members = np.unique(groups, return_index=True, return_inverse=True)
    by_group = np.zeros((firsts.size, counts.size), dtype=np.int64)
    np.add.at(by_group, (members, targets), 1)
    table = np.zeros((min(n_folds, firsts.size), counts.size), dtype=np.int64)
    fold_of_group = np.zeros(firsts.size, dtype=np.int64)
    # Groups of one size come in the order of their first samples, which is random.
    for group in np.lexsort([firsts, -by_group.sum(axis=1)]):
        loads = table @ (by_group[group] / np.maximum(counts, 1))
        fold = np.lexsort([table.sum(axis=1), loads])[0]
        fold_of_group[group] = fold
        table[fold] += by_group[group]
    return fold_of_group[members], table


def _problems(objective: ClassifierObjective, l2: float, *, apart: bool) -> list[Problem]:
    """Return the problem of a model, or those of the classes against the rest."""
    parts = [objective]
    if apart:
        parts = [objective.one_against_rest(k) for k in range(objective.n_outputs)]
    return [Problem(part, ElasticNet(0.0, l2, part.n_unpenalised), part.n_outputs) for part in parts]


def _losses(
    problems: Sequence[Problem], held: ClassifierObjective, first: float, stopped: Callable[[Any, Any], bool]
) -> Vector:
    """Return the loss of a fold at each strength.

    Args:
        problems: the models on the other samples.
        held: the samples of the fold.
        first: the first strength.
        stopped: whether to end.
    """
    loss, points = _loss_of(held, len(problems)), list[PathPoint]()
    # Callbacks would keep a model from its native path; its points take moments.
    callbacks = () if isinstance(path_solver(problems[0]), ProxNewton) else (stopped,)
    with on_threads(held.n_threads):
        trainers = [trainer(problem, callbacks=callbacks) for problem in problems]
        weights: list[Vector | None] = [None for _ in problems]
        for strength in onward([first, first * STEP], points, further=True):
            results = [train(strength, w) for train, w in zip(trainers, weights, strict=True)]
            if stopped(None, None):
                raise KeyboardInterrupt
            weights = [result.w for result in results]
            nll, n_active = sum(result.nll for result in results), sum(count_nonzero(result.w) for result in results)
            result = replace(results[0], nll=nll, w=results[0].w[:0], state=None)
            points.append(PathPoint(strength, result, n_active, -loss([result.w for result in results])))
    return -np.array([point.score for point in points])


def _loss_of(held: ClassifierObjective, n_models: int) -> Callable[[Sequence[Vector]], float]:
    """Return the function that gives the mean loss of some samples from the weights of a model, or of all classes'."""
    weights, targets = held.weights, held.targets
    total = float(weights.sum())
    if n_models == 1:
        return lambda w: held.value_and_gradient(w[0])[0] / total
    parts = [held.one_against_rest(k) for k in range(n_models)]

    def loss(w: Sequence[Vector]) -> float:
        logs = log_shares(np.stack([part.core.scores(own) for part, own in zip(parts, w, strict=True)], axis=1))
        return -dot(weights, logs[np.arange(targets.size), targets]) / total

    return loss
