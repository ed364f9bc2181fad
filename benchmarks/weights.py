"""Hashes of trained weights: whether a change of the code has changed a bit of what training gives.

    python benchmarks/weights.py --write before.json      # with the code before
    python benchmarks/weights.py --compare before.json    # with the code after

Fourteen pairs of problem and solver, each on one thread and on two: chains of both orders, classifiers, networks and
graphs; batch methods, and methods that go sample by sample. Weights have to be the same on both numbers of threads as
well. Exit code 1 if a hash differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, grid_edges
from loglinear.datasets import demo_paths, make_network

SENTENCES = 300


def sentences() -> tuple[list[Any], list[Any]]:
    """Words of the embedded sample with their affixes, and their parts of speech."""
    blocks = lzma.open(demo_paths()[0], "rt", encoding="utf-8").read().split("\n\n")[:SENTENCES]
    rows = [[line.split("\t") for line in block.split("\n") if line] for block in blocks]
    X = [[[f"w={w}", f"end={w[-2:]}", f"start={w[:2]}"] for w, _, _ in sentence] for sentence in rows if sentence]
    return X, [[row[2] for row in sentence] for sentence in rows if sentence]


def chain(solver: str, **options: Any) -> Callable[[int], np.ndarray]:
    def train(threads: int) -> np.ndarray:
        crf = ChainCRF(solver=solver, n_jobs=threads, **options).fit(*sentences())
        return np.asarray(crf.result_.w)

    return train


def classifier(solver: str, *, two: bool, **options: Any) -> Callable[[int], np.ndarray]:
    def train(threads: int) -> np.ndarray:
        X, y = sentences()
        samples = [token for sentence in X for token in sentence]
        labels = [("NOUN" if label == "NOUN" else "other") if two else label for line in y for label in line]
        model = MaxEnt(solver=solver, n_jobs=threads, **options).fit(samples, labels)
        return np.concatenate([np.asarray(model.coef_).ravel(), model.intercept_])

    return train


def network(**options: Any) -> Callable[[int], np.ndarray]:
    def train(threads: int) -> np.ndarray:
        X = make_network("random", n_variables=12, n_samples=400, random_state=1).X
        return np.asarray(PairwiseMRF(n_jobs=threads, **options).fit(X).result_.w)

    return train


def graph(threads: int) -> np.ndarray:
    random = np.random.default_rng(3)
    edges = grid_edges(6, 6)
    X = [(random.normal(size=(36, 4)), edges) for _ in range(8)]
    y = [(nodes[:, 0] + 0.5 * random.normal(size=36) > 0).astype(int) for nodes, _ in X]
    return np.asarray(GraphCRF(l2=1.0, max_iterations=15, n_jobs=threads).fit(X, y).result_.w)


PAIRS: dict[str, Callable[[int], np.ndarray]] = {
    "chain, lbfgs": chain("lbfgs", l2=1.0, max_iterations=30),
    "chain, owlqn": chain("owlqn", l1=0.5, max_iterations=40),
    "chain, grafting_light": chain("grafting_light", l1=0.5, max_iterations=60),
    "chain, two_stage": chain("two_stage", l1=0.5, max_iterations=20),
    "chain, sgd_l1": chain("sgd_l1", l1=0.5, solver_options={"passes": 4}),
    "chain, sag": chain("sag", l2=1.0, max_iterations=4),
    "chain, adagrad": chain("adagrad", l2=1.0, solver_options={"passes": 3}),
    "chain of order 2, owlqn": chain("owlqn", l1=0.5, order=2, max_iterations=20),
    "classifier, lbfgs": classifier("lbfgs", two=False, l2=1.0, max_iterations=30),
    "classifier, prox_newton": classifier("prox_newton", two=True, l1=0.5),
    "classifier, sg": classifier("sg", two=True, l2=1.0, solver_options={"passes": 3}),
    "network, pseudo-likelihood": network(objective="pseudolikelihood", l1=5.0, max_iterations=30),
    "network, likelihood": network(objective="likelihood", l1=5.0, max_iterations=15),
    "graph": graph,
}


def hashes() -> dict[str, list[str]]:
    found = {}
    for name, train in PAIRS.items():
        found[name] = [hashlib.sha256(train(threads).tobytes()).hexdigest()[:16] for threads in (1, 2)]
        print(f"{name:28} {' '.join(found[name])}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", type=Path, metavar="FILE", help="write the hashes to this file")
    what.add_argument("--compare", type=Path, metavar="FILE", help="compare with the hashes in this file")
    arguments = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations: training does not converge
        found = hashes()
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=1) + "\n")
        return
    before = json.loads(arguments.compare.read_text())
    differing = [name for name in PAIRS if found[name] != before[name] or len(set(found[name])) > 1]
    print(
        f"{len(PAIRS) - len(differing)} of {len(PAIRS)} pairs have the same weights; differing: {differing or 'none'}"
    )
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
