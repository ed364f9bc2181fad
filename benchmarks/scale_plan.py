"""A plan for a cluster on paper: seconds and bytes of an evaluation, simulated event by event.

The simulation follows a round of `loglinear.dask`: weights go from the driver to one worker, from there to the others,
each worker evaluates its bundles of parts, sums go up the tree, between workers where its branches meet, and the root
goes to the driver, where the solver works on the vectors. Workers differ in speed from round to round, and may be lost.

    python benchmarks/scale_plan.py                      # the plan for 10^9 tokens and 10^8 features on 100 workers
    python benchmarks/scale_plan.py --local local.json   # beside the figures of `benchmarks/cluster.py --json`
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean
from typing import Any

from loglinear.dask.spread import bundle_size
from loglinear.objectives.groups import in_tree

# Of the machine whose figures are compared.
CORES = 2


@dataclass(frozen=True)
class Costs:
    """What things cost.

    Attributes:
        entry: seconds of an evaluation for each attribute of a token, on one thread.
        feature: seconds to add, gather or scatter a number of a vector, on one thread.
        encode: seconds to read, count and lay out each attribute of a token, on one thread.
        task: seconds that the scheduler needs for a task; it does one after the other.
        latency: seconds of a message.
        round: seconds that client and scheduler need to begin and end a round.
        bandwidth: bytes a second from one machine to another.
        solver: seconds of the driver for each feature and iteration.
        jitter: standard deviation of the logarithm of a worker's speed.
    """

    entry: float = 1.5e-8
    feature: float = 2e-9
    encode: float = 9e-8
    task: float = 1e-3
    latency: float = 5e-4
    round: float = 0.04
    bandwidth: float = 1.1e9
    solver: float = 4e-8
    jitter: float = 0.05


@dataclass(frozen=True)
class Plan:
    """A training on a cluster.

    Attributes:
        entries: attributes of all tokens together.
        features: length of w.
        at_work: features whose weights travel: all, or those of a working set.
        parts: number of parts.
        met: share of the features that a part can meet.
        workers: number of workers.
        threads: of each worker.
    """

    entries: float
    features: float
    at_work: float
    parts: int
    met: float
    workers: int
    threads: int


@dataclass
class Round:
    """What a round takes: seconds in all and by what they go to; bytes that leave the driver and come back."""

    seconds: float
    spreading: float
    computing: float
    adding: float
    solving: float
    sent: float
    received: float


def simulate(plan: Plan, costs: Costs, rng: random.Random, *, lost: bool = False) -> Round:
    """One round; with a worker lost halfway, whose parts are read and evaluated again by the others."""
    size = 8.0 * plan.at_work
    hop = costs.latency + size / costs.bandwidth
    # Each worker that has the weights sends them to another, so that the number of those that have them doubles.
    arrivals = [hop]
    heap = [hop]
    while len(arrivals) < plan.workers:
        sender = heapq.heappop(heap)
        arrivals.append(sender + hop)
        heapq.heappush(heap, sender + hop)
        heapq.heappush(heap, sender + hop)
    spreading = max(arrivals)
    count = bundle_size(plan.parts, plan.workers * plan.threads)
    bundles = -(-plan.parts // count)
    scheduled = [costs.task * (number + 1) for number in range(bundles)]
    part = plan.entries / plan.parts * costs.entry + 4.0 * plan.met * plan.at_work * costs.feature
    owner = [number * plan.workers // bundles for number in range(bundles)]
    speed = [rng.lognormvariate(0.0, costs.jitter) for _ in range(plan.workers)]
    free = [[arrivals[worker]] * plan.threads for worker in range(plan.workers)]
    ended = [0.0] * bundles

    def work(number: int, worker: int, earliest: float, extra: float = 0.0) -> None:
        threads = free[worker]
        at = min(range(plan.threads), key=threads.__getitem__)
        parts = min(count, plan.parts - number * count)
        threads[at] = max(threads[at], scheduled[number], earliest) + (parts * part + extra) * speed[worker]
        ended[number] = threads[at]

    for number in range(bundles):
        work(number, owner[number], 0.0)
    if lost and plan.workers > 1:
        halfway = spreading + (max(ended) - spreading) / 2
        again = [number for number in range(bundles) if owner[number] == 0]
        for turn, number in enumerate(again):
            owner[number] = 1 + turn % (plan.workers - 1)
            work(number, owner[number], halfway, count * plan.entries / plan.parts * costs.encode)
    computing = max(ended) - spreading
    add = plan.at_work * costs.feature

    def join(left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        moved = 0.0 if left[1] == right[1] else hop
        return max(left[0], right[0] + moved) + add + costs.task, left[1]

    root = in_tree(list(zip(ended, owner, strict=True)), join)
    adding = root[0] - max(ended)
    solving = plan.at_work * costs.solver
    seconds = costs.round + root[0] + hop + solving
    return Round(seconds, spreading, computing, adding + hop, solving, size * plan.workers, size)


def averaged(plan: Plan, costs: Costs, *, lost: bool = False, rounds: int = 20) -> Round:
    """The mean of some rounds."""
    rng = random.Random(0)
    found = [simulate(plan, costs, rng, lost=lost) for _ in range(rounds)]
    return Round(*(mean(getattr(each, name) for each in found) for name in Round.__dataclass_fields__))


def local(figures: dict[str, Any]) -> None:
    """Print the simulation beside what was measured on this machine."""
    one = figures["one thread"]
    # A message between two processes of a machine: through memory.
    costs = replace(
        Costs(), entry=one["seconds"] / one["entries"], task=figures["task"], latency=1e-3, bandwidth=1.5e9, solver=0.0
    )
    print("| | measured, s | simulated, s |\n| --- | ---: | ---: |")
    for name, killed in (("two workers", False), ("four workers", False), ("four workers", True)):
        row = figures[name]
        # More workers than cores share the cores.
        busy = replace(costs, entry=costs.entry * max(row["workers"] / CORES, 1.0))
        plan = Plan(one["entries"], one["features"], one["features"], row["parts"], 1.0, row["workers"], 1)
        found = averaged(plan, busy, lost=killed).seconds
        measured = row["with a worker killed" if killed else "seconds"]
        print(f"| {name}{', one killed' if killed else ''} | {measured:.2f} | {found:.2f} |")


def paper() -> None:
    """Print the plan for 10^9 tokens."""
    entries, features, costs = 19e9, 1e8, Costs()
    print("10^9 tokens of 19 attributes, 10^8 features, 100 workers of 8 threads, 10 Gbit/s\n")
    print("| active features | w and gradient | out to the workers | computing, s | adding, s | solver, s | round, s |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for at_work in (1e8, 1e7, 1e6):
        plan = Plan(entries, features, at_work, 1000, 0.05, 100, 8)
        found = averaged(plan, costs)
        print(
            f"| {at_work:.0e} | {8 * at_work / 2**20:,.0f} MiB | {found.spreading:.2f} s | {found.computing:.2f} "
            f"| {found.adding:.2f} | {found.solving:.2f} | {found.seconds:.2f} |"
        )
    print("\n| workers | round, s, 10^7 at work | with one worker lost |\n| ---: | ---: | ---: |")
    for workers in (1, 10, 25, 50, 100, 200):
        plan = Plan(entries, features, 1e7, 1000, 0.05, workers, 8)
        found, lost = averaged(plan, costs), averaged(plan, costs, lost=workers > 1)
        print(f"| {workers} | {found.seconds:.1f} | {lost.seconds:.1f} |")


def main() -> None:
    """Simulates."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--local", metavar="FILE")
    given = parser.parse_args()
    if given.local:
        local(json.loads(Path(given.local).read_text(encoding="utf-8")))
    else:
        paper()


if __name__ == "__main__":
    main()
