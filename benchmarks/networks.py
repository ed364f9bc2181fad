"""Two costs of networks: an evaluation with reweighted messages beside loopy ones, and bootstraps beside a fit.

    LOGLINEAR_DATA=/path/to/data python benchmarks/networks.py [--repeats 5]

Evaluations: the last 40 weights of a training with tree-reweighted belief propagation on images of a letter (Zhu, Lao
& Xing 2010), l1 = 50, evaluated by both methods on the same graph. Bootstraps: 400 variables of degree 3, 2,000
samples. Two threads; medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ElasticNet, PairwiseMRF, Problem, Stop, minimize
from loglinear.datasets import make_network
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.objectives.network import NetworkLikelihood
from loglinear.solvers import GraftingLight

sys.path.append(str(Path(__file__).resolve().parent / "papers"))
from letters import LAYOUT, images

LETTERS, L1, LAST = "aig", 50.0, 40
TOLERANCE = 1e-5
OPTIONS: dict[str, Any] = {"centred": True, "threads": 2}


def median(work: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def evaluations(letter: str, repeats: int) -> None:
    train, _ = images()[letter]
    objective = NetworkLikelihood(train, LAYOUT, inference=TreeReweighted(tolerance=TOLERANCE), **OPTIONS)
    problem = Problem(objective, ElasticNet(L1, 0.0, objective.n_unpenalised))
    weights: list[np.ndarray] = []
    minimize(
        problem,
        GraftingLight(select=50),
        objective.independent(),
        stop=Stop(max_iterations=5000),
        callbacks=[lambda _, state: weights.append(state.w.copy())],
    )
    free = np.arange(LAYOUT.n_interactions, LAYOUT.n_features)
    features = np.union1d(np.flatnonzero(weights[-1]), free)
    points = [w[features] for w in weights[-LAST:]]
    milliseconds = []
    for inference in (LoopyBP(tolerance=TOLERANCE, candidates="product"), objective.inference):
        whole = NetworkLikelihood(train, LAYOUT, inference=inference, **OPTIONS)
        small = whole.restrict(features)
        seconds = median(lambda small=small: [small.value_and_gradient(w) for w in points], repeats)
        milliseconds.append(1e3 * seconds / LAST)
        runs = whole.report
        print(
            f"letter {letter}, {inference.name}: {milliseconds[-1]:.2f} ms an evaluation, "
            f"{runs.iterations / runs.runs:.1f} iterations"
        )
    print(f"letter {letter}: reweighted / loopy {milliseconds[1] / milliseconds[0]:.2f}", flush=True)


def bootstraps(repeats: int) -> None:
    X = make_network("random", 400, 2000, strength=1.5, degree=3.0).X
    began = time.perf_counter()
    network = PairwiseMRF(n_jobs=2).fit(X)
    chosen = time.perf_counter() - began
    one = median(lambda: PairwiseMRF(l1=network.l1_, n_jobs=2).fit(X), repeats)
    all_of_them = median(lambda: network.edge_confidence(X, 100), 3)
    print(
        f"one fit {one:.3f} s, the fit that chooses l1 {chosen:.2f} s, 100 bootstraps {all_of_them:.2f} s: "
        f"{all_of_them / one:.1f} and {all_of_them / chosen:.2f} times as long"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    for letter in LETTERS:
        evaluations(letter, arguments.repeats)
    bootstraps(arguments.repeats)


if __name__ == "__main__":
    main()
