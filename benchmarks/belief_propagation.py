"""How many messages of belief propagation, loopy and tree-reweighted, and steps of Gibbs sampling go to a second.

    python benchmarks/belief_propagation.py [--threads 1 2] [--repeats 5]

Graphs of 400 variables of degree 10 and 50, the complete graph of 400, and a grid of 20,000. Medians; runs on different
numbers of threads alternate.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from loglinear._core import Network
from loglinear.networks.appearances import appearances

ITERATIONS = 100
SWEEPS = 50


def random_graph(n: int, degree: int, rng: np.random.Generator) -> np.ndarray:
    pairs = np.stack(np.triu_indices(n, 1), axis=1)
    return pairs[np.sort(rng.choice(len(pairs), n * degree // 2, replace=False))]


def grid(rows: int, columns: int) -> np.ndarray:
    numbers = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([numbers[:, :-1].ravel(), numbers[:, 1:].ravel()], axis=1)
    down = np.stack([numbers[:-1].ravel(), numbers[1:].ravel()], axis=1)
    return np.concatenate([across, down])


def seconds_of(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure(name: str, states: int, n: int, edges: np.ndarray, threads: list[int], repeats: int) -> None:
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=n * states)
    tables = rng.normal(size=len(edges) * states * states) / np.sqrt(len(edges) / n)
    networks = {count: Network(np.full(n, states), edges, threads=count) for count in threads}
    start = rng.integers(states, size=(4, n))
    messages: dict[int, list[float]] = {count: [] for count in threads}
    spread: dict[int, list[float]] = {count: [] for count in threads}
    share = appearances(n, edges)
    steps: dict[int, list[float]] = {count: [] for count in threads}
    for _ in range(repeats):
        for count, network in networks.items():
            run = partial(network.loopy_bp, nodes, tables, tolerance=0.0, max_iterations=ITERATIONS)
            n_messages = run().n_messages
            messages[count].append(n_messages / seconds_of(run))
            spread[count].append(n_messages / seconds_of(partial(run, appearances=share)))
            sample = partial(network.gibbs, nodes, tables, start, sweeps=SWEEPS)
            steps[count].append(start.size * SWEEPS / seconds_of(sample))
    for count in threads:
        rates = [statistics.median(rates[count]) / 1e6 for rates in (messages, spread, steps)]
        print(
            f"{name:32} {count:2} threads: {rates[0]:7.1f} M messages/s, {rates[1]:7.1f} M tree-reweighted, "
            f"{rates[2]:6.1f} M Gibbs steps/s"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    sparse, dense, complete = (random_graph(400, degree, rng) for degree in (10, 50, 399))
    lattice = grid(100, 200)
    for name, states, n, edges in [
        ("400 binary, degree 10", 2, 400, sparse),
        ("400 binary, degree 50", 2, 400, dense),
        ("400 binary, complete", 2, 400, complete),
        ("20,000 binary, grid", 2, 20_000, lattice),
        ("20,000 of 3 states, grid", 3, 20_000, lattice),
        ("400 of 5 states, degree 50", 5, 400, dense),
    ]:
        measure(name, states, n, edges, arguments.threads, arguments.repeats)


if __name__ == "__main__":
    main()
