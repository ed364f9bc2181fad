"""Training on a Dask cluster of this machine: seconds and bytes of an evaluation, and what a lost worker costs.

The text is CoNLL-2000's training data, twenty times over. It is evaluated as a whole in this process, by one thread and
by two; in parts by two and by four worker processes with a thread each; and by four of which one is killed while it
works. `--json` keeps the figures for scale_plan.py, which compares them with its simulation.

    python benchmarks/cluster.py --json local.json

Data: the folder named by the environment variable LOGLINEAR_DATA (it holds conll2000/).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from loglinear import ChainObjective, Corpus
from loglinear.dask.cluster import Cluster, local_client
from loglinear.dask.spread import SpreadGroup
from loglinear.data.parts import cut
from loglinear.objectives.parts import ChainParts

COPIES, ROUNDS = 20, 9


def seconds_of(work: Callable[[], Any]) -> float:
    """Median seconds of some rounds, after one that warms up."""
    work()
    found = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        found.append(time.perf_counter() - begun)
    return median(found)


def in_process(path: str, threads: int) -> dict[str, Any]:
    """The whole data as one objective."""
    corpus = Corpus.read(path, template="chunking", threads=threads)
    objective = ChainObjective(corpus, threads=threads)
    w = weights(objective.n_features)
    gradient = np.zeros_like(w)
    seconds = seconds_of(lambda: objective.value_and_gradient(w, gradient))
    sizes = {"features": objective.n_features, "tokens": corpus.n_tokens, "entries": corpus.core.n_entries}
    return {"seconds": seconds, **sizes}


def weights(n: int) -> Any:
    """Weights that are not 0, so that all of them travel."""
    return np.random.default_rng(0).normal(0.0, 0.1, n)


def on_workers(path: str, workers: int, *, kill: bool = False) -> dict[str, Any]:
    """The data in parts, on worker processes with a thread each."""
    with local_client(workers) as client:
        cluster = Cluster(client)
        parts = cut(path, template="chunking")
        begun = time.perf_counter()
        objective = ChainParts(SpreadGroup(cluster, parts))
        made = time.perf_counter() - begun
        w = weights(objective.n_features)
        gradient = np.zeros_like(w)
        group = objective.group
        seconds = seconds_of(lambda: objective.value_and_gradient(w, gradient))
        rounds, sent, received = group.tally.rounds, group.tally.sent, group.tally.received
        objective.value_and_gradient(w, gradient)
        found: dict[str, Any] = {
            "workers": workers,
            "parts": len(parts),
            "seconds": seconds,
            "making": made,
            "sent": (group.tally.sent - sent) // (group.tally.rounds - rounds),
            "received": (group.tally.received - received) // (group.tally.rounds - rounds),
        }
        if kill:
            before = gradient.copy()
            pids = list(client.run(os.getpid).values())
            timer = threading.Timer(seconds / 2, os.kill, (pids[0], signal.SIGKILL))
            timer.start()
            begun = time.perf_counter()
            objective.value_and_gradient(w, gradient)
            found["with a worker killed"] = time.perf_counter() - begun
            found["the same gradient"] = bool(np.array_equal(before, gradient))
        return found


def empty_round(workers: int, bundles: int) -> float:
    """Seconds of a round of tasks that do nothing."""
    with local_client(workers) as client:
        futures = range(bundles)
        return seconds_of(lambda: client.gather(client.map(lambda x: x, futures, pure=False))) / bundles


def main() -> None:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--copies", type=int, default=COPIES)
    given = parser.parse_args()
    text = Path(os.environ["LOGLINEAR_DATA"], "conll2000", "train.txt").read_text(encoding="utf-8").rstrip("\n")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.txt")
        Path(path).write_text((text + "\n\n") * given.copies, encoding="utf-8")
        figures: dict[str, Any] = {
            "one thread": in_process(path, 1),
            "two threads": in_process(path, 2),
            "two workers": on_workers(path, 2),
            "four workers": on_workers(path, 4, kill=True),
            "task": empty_round(2, 32),
        }
    base = figures["two threads"]
    print(f"{base['tokens']:,} tokens, {base['entries']:,} attributes on them, {base['features']:,} features\n")
    print("| | seconds of an evaluation | compared with two threads | bytes out | bytes back |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in ("one thread", "two threads", "two workers", "four workers"):
        row = figures[name]
        moved = f"{row['sent']:,} | {row['received']:,}" if "sent" in row else "|"
        print(f"| {name} | {row['seconds']:.3f} | {row['seconds'] / base['seconds']:.2f} | {moved} |")
    four = figures["four workers"]
    same = "the same gradient" if four["the same gradient"] else "ANOTHER GRADIENT"
    print(f"\none of four workers killed: {four['with a worker killed']:.2f} s, {same}")
    print(f"reading and laying out all parts: {four['making']:.2f} s")
    print(f"a task that does nothing: {1e3 * figures['task']:.2f} ms")
    if given.json:
        Path(given.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
