"""Time of an evaluation at scores of 1,000 over one at scores of 1: value and gradient of chains, on one thread.

    LOGLINEAR_DATA=/path/to/data python benchmarks/large_scores.py [--repeats 9]

A score is the largest |state score| of a token and label plus the largest |transition score|, in second order plus the
largest |triple score|. Weights are those of a short training, or uniform random ones, multiplied; "from each label"
adds a number of up to 1,000, one for each label, to the scores of all transitions that leave it. Median processor
seconds; the scales take turns. The last column counts the sentences that go through log space at scores of 1,000.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem
from loglinear.minimize import Stop, minimize
from loglinear.solvers import LBFGS

Weights = npt.NDArray[np.float64]
TRAINING = Stop(max_iterations=30)
# The largest |weight| at scores of 1,000: of trained weights, and of random ones. Found by bisection.
CHUNKS, ENTITIES, SECOND = (333.0, 84.0), (177.0, 22.0), (196.0, 80.0)


def kinds(objective: ChainObjective, largest: tuple[float, float]) -> dict[str, tuple[Weights, Weights]]:
    """Return weights at scores of 1 and at scores of 1,000, by their kind."""
    random = np.random.default_rng(0)
    trained = minimize(Problem(objective, ElasticNet(l2=0.1)), LBFGS(), stop=TRAINING).w
    trained *= largest[0] / np.abs(trained).max()
    uniform = random.uniform(-largest[1], largest[1], objective.n_features)
    found = {"trained": (trained / 1e3, trained), "random": (uniform / 1e3, uniform)}
    labels = len(objective.corpus.labels)
    if objective.features.all_transitions:
        shifted = trained / 1e3
        shifted[: labels**2] += np.repeat(random.uniform(-1e3, 1e3, labels), labels)
        found["from each label"] = (trained / 1e3, shifted)
    return found


def measured(objective: ChainObjective, weights: tuple[Weights, ...], repeats: int) -> tuple[list[float], int]:
    """Return the median seconds of an evaluation at each of the weights, and the last one's sentences in log space."""
    seconds: list[list[float]] = [[] for _ in weights]
    for _ in range(repeats):
        for w, times in zip(weights, seconds, strict=True):
            begin = time.process_time()
            objective.value_and_gradient(w)
            times.append(time.process_time() - begin)
    return [statistics.median(times) for times in seconds], objective.core.n_in_log_space


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    data = Path(os.environ["LOGLINEAR_DATA"])
    chunks = Corpus.read(data / "conll2000/train.txt", template="chunking")
    entities = Corpus.read(data / "conll2002-dutch/ned.train", template="ner")
    every = ChainFeatures(all_transitions=True)
    problems = {
        "CoNLL-2000 chunking": (ChainObjective(chunks, threads=1), CHUNKS),
        "CoNLL-2000, all transitions": (ChainObjective(chunks, every, threads=1), CHUNKS),
        "CoNLL-2002 Dutch entities": (ChainObjective(entities, threads=1), ENTITIES),
        "CoNLL-2000, second order": (ChainObjective(chunks[:1000], ChainFeatures(order=2), threads=1), SECOND),
    }
    print("problem                       weights           ms at 1   ms at 1,000   ratio   in log space")
    for name, (objective, largest) in problems.items():
        for kind, weights in kinds(objective, largest).items():
            (small, large), apart = measured(objective, weights, arguments.repeats)
            row = f"{name:<29} {kind:<16} {1e3 * small:>8.1f} {1e3 * large:>13.1f} {large / small:>7.2f}"
            print(f"{row} {apart:>8} of {objective.n_samples}", flush=True)


if __name__ == "__main__":
    main()
