"""Chains of bootstrap samples, and their scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...bootstrap import Interval
from ...data.corpus import Corpus
from ...networks.numbering import Numbers
from ...objectives.chain import ChainObjective
from ...vectors import Vector
from .chain import evaluate_model
from .draws import Draws, drawn, tightened
from .options import SolverOptions
from .resampling import bootstrap_rows
from .run import train

__all__ = ["chain_draws"]

SCORES = ("f1", "precision", "recall", "accuracy", "sentence_accuracy")
# Draws of test sentences have numbers of their own, beyond those of training sentences.
_OF_TEST = 1 << 32
# Tolerance of the training on a bootstrap sample, which starts near its end.
TOLERANCE = 1e-5


def chain_draws(
    data: ChainObjective,
    options: SolverOptions,
    w0: Vector,
    features: Numbers,
    test: Corpus | None,
    *,
    level: float,
    draws: int,
    seed: int,
    threads: int,
) -> tuple[Draws, dict[str, Interval]]:
    """Return the weights of chains of bootstrap samples, and intervals of their scores.

    Args:
        data: the training data.
        options: penalty and solver.
        w0: weights to start from, shape (n_features,).
        features: numbers of the features whose weights are returned.
        test: labelled sentences, which are drawn as well; None for the training sentences that a draw lacks.
        level: probability of the intervals.
        draws: number of draws.
        seed: of the draws.
        threads: 0 for all cores.
    """
    single = ChainObjective(data.corpus, data.requested, threads=1)
    tight = tightened(options, TOLERANCE)

    def train_one(k: int, rows: Numbers, stopped: Callable[[Any, Any], bool]) -> tuple[Vector, Vector]:
        part = single.batch(rows, 1.0)
        result = train(part, tight, callbacks=(stopped,), w0=w0, warns_if_empty=False)
        if stopped(None, None):
            raise KeyboardInterrupt
        if test is None:
            others = np.setdiff1d(np.arange(single.n_samples), rows)
            held = single.corpus[others] if others.size else None
        else:
            held = test[bootstrap_rows(len(test), seed, _OF_TEST + k)]
        scores = dict.fromkeys(SCORES) if held is None else evaluate_model(single.model(result.w), held, threads=1)
        table = scores if isinstance(scores, dict) else scores.to_dict()
        values = (table[name] for name in SCORES)
        return result.w[features], np.array([np.nan if value is None else value for value in values])

    samples = drawn(train_one, single.n_samples, draws=draws, seed=seed, threads=threads)
    ends = ((1.0 - level) / 2.0, (1.0 + level) / 2.0)
    intervals = {}
    for name, values in zip(SCORES, samples.scores.T, strict=True):
        if (defined := values[~np.isnan(values)]).size:
            low, high = np.quantile(defined, ends).tolist()
            intervals[name] = Interval(low, high)
    return samples, intervals
