"""Folds of the sentences of a chain, and the scores of chains that are trained without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...data.corpus import Corpus
from ...errors import OptionError
from ...metrics import detect_scheme
from ...minimize import minimize
from ...networks.numbering import Numbers
from ...objectives.chain import ChainObjective
from ...path import largest_l1
from ...penalty import ElasticNet
from ...problem import Problem
from ...solvers import Auto, LabelSets, Solver, TwoStage
from ...stopping import Stop
from ...vectors import Vector, dot, on_threads
from ..files.chain import ChainModel
from .chain import evaluate_model
from .cross_validation import Stopped, Trainee, Trial, weighted_shares

__all__ = ["ChainFolds", "chain_metric"]

# Ratio of a strength to the one before; of strengths of the L2 penalty on larger data, where the curve is flat.
RATIO, RATIO_L2 = 0.5, 0.25
# At the first strength of the L2 penalty the objective is below that of weights of 0 by about this share.
FIRST_DECREASE = 0.1
# On data with fewer pairs of a token and a label, trainings end within about this share above the optimum.
FEW_CELLS, TOLERANCE = 20_000, 1e-5
# Trainings on larger data with an L1 penalty: rounds of `LabelSets` at a strength, steps of a round, and features that
# may enter in it.
ROUNDS, STEPS, SELECT = 2, 12, 10_000
# The same with an L2 penalty alone: steps of L-BFGS after the first passes of SGD, then passes at a further strength,
# the share of the learning rate that they begin with, and its decay.
FIRST_STEPS, PASSES, SHARE, DECAY = 3, 3, 0.6, 0.6
# Other solvers make so many iterations at the first strength, and at a further one.
FIRST_ITERATIONS, ITERATIONS = 40, 10
# The first strength on larger data is a factor above one that is good on a part of the sentences, this share of them
# for training and as many that are held out; all of them if the part would have fewer than so many.
PART, LEAST, STRONGER = 0.1, 400, 4.0
# A score is good if it is within this share of the rise of the scores below the best; number of strengths for that.
NEAR, MOST = 0.02, 16


def chain_metric(metric: str | None, labels: Sequence[object]) -> str:
    """Return the name of the score: by default F1 if the labels follow a tagging scheme, else the accuracy.

    Raises:
        OptionError: the metric is f1, and the labels follow no tagging scheme.
    """
    has_chunks = detect_scheme(labels) is not None
    if metric == "f1" and not has_chunks:
        message = "metric='f1' needs labels of a tagging scheme, such as B-PER, I-PER and O; use metric='accuracy' or "
        message += "metric='log_likelihood'"
        raise OptionError(message)
    return metric or ("f1" if has_chunks else "accuracy")


@dataclass(frozen=True, eq=False)
class ChainFolds:
    """Sentences in folds; see `Foldwise`.

    Each model is that of `ChainCRF` on the sentences that are not in the fold, with the features and the constraints
    that these have. On small data every training ends near its optimum.

    On data with 20,000 pairs of a token and a label or more, the strengths begin above the best one of a part of the
    data, and end where the mean score no longer rises. Each training is short and starts from the weights of the
    strength before: two rounds of `LabelSets` with an L1 penalty, passes of SGD without one. The scores differ from
    those of optima by a part of their standard errors (docs/guides/strengths.md).

    Attributes:
        objective: objective on all sentences.
        folds: the sentences of each fold, ascending.
        metric: name of the score.
    """

    objective: ChainObjective
    folds: Sequence[Numbers]
    metric: str
    is_rough: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_rough", self.objective.n_cells >= FEW_CELLS)

    @property
    def shares(self) -> Vector:
        """Share of the weight of the sentences in each fold."""
        return weighted_shares(self.objective.weights, self.folds)

    def ratio(self, penalty: str) -> float:
        """Return the ratio of a strength to the one before."""
        return RATIO_L2 if penalty == "l2" and self.is_rough else RATIO

    def largest(self, penalty: str, other: float) -> float:
        """Return the smallest l1 that makes all weights 0, or an l2 that hardly lets them leave 0.

        Raises:
            OptionError: no attribute says anything about the labels.
        """
        if penalty == "l1":
            with on_threads(self.objective.n_threads):
                strength = largest_l1(Problem(self.objective, ElasticNet(0.0, other)))
        else:
            # A step from 0 decreases the objective by |g|^2 / (2 l2).
            value, gradient = self.objective.value_and_gradient(np.zeros(self.objective.n_features))
            strength = dot(gradient, gradient) / (2.0 * FIRST_DECREASE * max(value, 1e-300))
        if not strength > 0.0:
            message = f"{penalty}='cv': no attribute says anything about the labels, so there is nothing to select; "
            message += "give a number"
            raise OptionError(message)
        return strength

    def first(self, penalty: str, other: float) -> float:
        """Return the largest strength; on large data one above the best one of a part of the data."""
        largest = self.largest(penalty, other)
        if not self.is_rough:
            return largest
        train, held = self._part
        trainee = _trainee(self._data(train), self.objective.corpus[held], penalty, other, self.metric, True)
        strengths = [largest * (RATIO**2) ** power for power in range(MOST)]
        scores: list[float] = []
        for strength in strengths:
            scores.append(trainee(strength, _never).score)
            # Two strengths in a row without a clear rise end the search, but not before the scores have risen.
            near = max(scores) - NEAR * (max(scores) - scores[0])
            if len(scores) > 2 and max(scores) > scores[0] and max(scores[:-2]) >= near:
                break
        first = next(strength for strength, score in zip(strengths, scores, strict=False) if score >= near)
        return min(largest, first * STRONGER)

    @cached_property
    def _part(self) -> tuple[Numbers, Numbers]:
        """Sentences to train on and to hold out, to find the first strength."""
        rows = np.concatenate([*self.folds])
        n = round(PART * rows.size)
        if n < LEAST:
            return np.sort(np.concatenate([*self.folds[1:]])), self.folds[0]
        rows = np.random.default_rng(0).permutation(np.sort(rows))
        return np.sort(rows[:n]), np.sort(rows[n : 2 * n])

    def trainee(self, fold: int, penalty: str, other: float) -> Trainee:
        """Return what trains without a fold."""
        rest = np.sort(np.concatenate([*self.folds[:fold], *self.folds[fold + 1 :]]))
        held = self.objective.corpus[self.folds[fold]]
        return _trainee(self._data(rest), held, penalty, other, self.metric, self.is_rough)

    def _data(self, sentences: Numbers) -> ChainObjective:
        """Return the objective on some of the sentences."""
        corpus = self.objective.corpus[sentences]
        return ChainObjective(corpus, self.objective.requested, threads=self.objective.n_threads)


def _trainee(data: ChainObjective, held: Corpus, penalty: str, other: float, metric: str, is_rough: bool) -> Trainee:
    """Return what trains on some sentences and scores others."""
    w = np.zeros(data.n_features)

    def trial(strength: float, stopped: Stopped) -> Trial:
        nonlocal w
        is_l1 = penalty == "l1"
        problem = Problem(data, ElasticNet(*(strength, other) if is_l1 else (other, strength)))
        solver, iterations = _rough(problem, w) if is_rough else (Auto(tolerance=TOLERANCE), 1000)
        with on_threads(data.n_threads):
            result = minimize(problem, solver, w, stop=Stop(max_iterations=iterations), callbacks=[stopped])
        w = result.w
        return Trial(_score(data.model(w), held, metric, data.n_threads), result.nll)

    return trial


def _rough(problem: Problem, w: Vector) -> tuple[Solver[Any], int]:
    """Return a solver, and the number of its iterations from weights near the optimum, or from 0."""
    usual, is_first = Auto().choice(problem).solver, not w.any()
    if isinstance(usual, LabelSets):
        first = usual.first if is_first else None
        passes = 0 if first is None else first.passes
        return LabelSets(select=SELECT, steps=STEPS, first=first), passes + ROUNDS
    if isinstance(usual, TwoStage):
        if is_first:
            return usual, usual.first.passes + FIRST_STEPS
        assert usual.first.learning_rate is not None
        rate = SHARE * usual.first.learning_rate
        return replace(usual.first, learning_rate=rate, passes=PASSES, decay=DECAY), PASSES
    return usual, FIRST_ITERATIONS if is_first else ITERATIONS


def _score(model: ChainModel, held: Corpus, metric: str, threads: int) -> float:
    """Return the score of a model on held-out sentences."""
    if metric != "log_likelihood":
        return float(evaluate_model(model, held, threads=threads).to_dict()[metric] or 0.0)
    logs = np.array(model.log_partition(held.core, threads=threads)).reshape(-1, 2)[:, 1]
    lengths, weights = np.array(held.core.lengths()), held.core.weights()
    of_sentence = weights[np.concatenate([[0], np.cumsum(lengths)[:-1]])]
    return dot(of_sentence, logs) / float(of_sentence @ lengths)


def _never(_record: object, _state: object) -> bool:
    return False
