"""Fields on graphs: solvers that go graph by graph beside L-BFGS and OWL-QN, to 1 % and 0.1 % above the optimum.

    python benchmarks/graph_passes.py

Processor seconds of the steps alone, on one thread: objectives between passes are not counted, nor is the choice of a
learning rate by `sgd_l1`, which has its own column. There are 300 graphs: trees of 20 nodes with four labels, and
grids of 5 x 5 nodes with two, by exact inference and by tree-reweighted belief propagation. A node has six words of a
vocabulary of 4,000, most of them rare.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse

from loglinear import ElasticNet, Problem, grid_edges, minimize
from loglinear.data.graphs import Graphs
from loglinear.networks.exact import Exact
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.objectives.graph import GraphLikelihood
from loglinear.result import Status
from loglinear.solvers import LBFGS, OWLQN, SAG, SGDL1, TwoStage

GRAPHS, WORDS, WORDS_OF_NODE = 300, 4000, 6
LIMITS = (0.01, 0.001)
MOST = 150


def task(kind: str) -> GraphLikelihood:
    """Return graphs whose nodes have words, and labels that follow from words and neighbours."""
    rng = np.random.default_rng(0)
    n_labels = 4 if kind == "trees" else 2
    word_weights = 1.5 * rng.normal(size=(WORDS, n_labels))
    share = 1.0 / np.arange(1.0, WORDS + 1.0)
    X, y = [], []
    for _ in range(GRAPHS):
        edges = np.array([(rng.integers(0, k), k) for k in range(1, 20)]) if kind == "trees" else grid_edges(5, 5)
        n = int(edges.max()) + 1
        words = rng.choice(WORDS, (n, WORDS_OF_NODE), p=share / share.sum())
        places = np.repeat(np.arange(n), WORDS_OF_NODE), words.ravel()
        scores = word_weights[words].sum(axis=1)
        labels = scores.argmax(axis=1)
        for node in rng.permutation(n):
            around = np.concatenate([edges[edges[:, 0] == node, 1], edges[edges[:, 1] == node, 0]])
            p = np.exp(scores[node] + 0.8 * np.bincount(labels[around], minlength=n_labels))
            labels[node] = rng.choice(n_labels, p=p / p.sum())
        X.append((scipy.sparse.csr_array((np.ones(words.size), places), shape=(n, WORDS)), edges))
        y.append(labels)
    method = TreeReweighted() if kind == "grids, trw" else Exact()
    return GraphLikelihood(Graphs.of(X), np.concatenate(y), n_labels, inference=method, threads=1)


def course(problem: Problem, solver: Any, best: float) -> str:
    """Return seconds until the first step, then steps and seconds to each limit above the optimum."""
    began = time.process_time()
    state = solver.init(problem, np.zeros(problem.n_features))
    cells, seconds, limits = [f"{time.process_time() - began:.2f}"], 0.0, list(LIMITS)
    for number in range(1, MOST + 1):
        began = time.process_time()
        state = solver.step(problem, state)
        seconds += time.process_time() - began
        value = problem.evaluate(state.w, np.zeros_like(state.w)) + problem.penalty.value(state.w)
        while limits and value <= best * (1.0 + limits[0]):
            cells.append(f"{number}: {seconds:.2f}")
            limits.pop(0)
        if not limits or state.status is not Status.RUNNING:
            break
    return " | ".join([*cells, *["-"] * len(limits)])


def main() -> None:
    for kind in ("trees", "grids", "grids, trw"):
        objective = task(kind)
        for l1, l2 in ((0.0, 1.0), (1.0, 0.0), (1.0, 1.0)):
            problem = Problem(objective, ElasticNet(l1, l2))
            batch = OWLQN if l1 else LBFGS
            best = float(minimize(problem, batch(tolerance=1e-8)).objective)
            solvers = {
                batch.__name__: batch(tolerance=1e-7),
                "SAG-NUS*": SAG(tolerance=0.0),
                "SAG-NUS": SAG("nus", tolerance=0.0),
                "SAG": SAG("uniform", tolerance=0.0),
                "SGD-L1": SGDL1(),
                "two stages": TwoStage(),
            }
            for name, solver in solvers.items():
                print(f"| {kind}, l1={l1:g}, l2={l2:g} | {name} | {course(problem, solver, best)} |", flush=True)


if __name__ == "__main__":
    main()
