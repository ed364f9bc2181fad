"""Time of an evaluation at scores of 1,000 over one at scores of 1: value and gradient of chains, on one thread.

    LOGLINEAR_DATA=/path/to/data python benchmarks/large_scores.py [--repeats 9]

The weights are those of a short training, multiplied so that the largest weight of all, or the largest sum of a state's and
a transition's score, is about 1 or 1,000; "shifted" adds numbers of up to 1,000 to the transitions that leave each label. An
evaluation at all weights 0 is the cheapest there is. Medians of processor seconds; the scales take turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np

from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem
from loglinear.minimize import Stop, minimize
from loglinear.solvers import LBFGS

SCALES = (1.0, 1000.0)
ITERATIONS = 30


def typical_score(objective: ChainObjective, w: np.ndarray) -> float:
    """The mean score that the labelling of a sentence has at its tokens, from -log p at large weights of one sign."""
    del objective
    return float(np.abs(w).max())


def measured(objective: ChainObjective, weights: dict[str, np.ndarray], repeats: int) -> dict[str, tuple[float, int]]:
    """Median milliseconds of an evaluation at each of the weights, and its sentences in log space."""
    seconds: dict[str, list[float]] = {name: [] for name in weights}
    apart = {}
    for _ in range(repeats):
        for name, w in weights.items():
            begin = time.process_time()
            objective.value_and_gradient(w)
            seconds[name].append(time.process_time() - begin)
            apart[name] = objective.core.n_in_log_space
    return {name: (1e3 * statistics.median(found), apart[name]) for name, found in seconds.items()}
