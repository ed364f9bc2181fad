"""What feature selection, regularisation paths and chains of second order cost, on CoNLL-2000 chunking.

    LOGLINEAR_DATA=/path/to/data python benchmarks/selection.py [--json result.json] [--threads 2]

Our solvers beside each other, in alternation; of the seconds the medians count. A path goes in equal ratios from the
largest useful l1 to 1; what it is compared with are single fits at l1 = 1 from weights of 0, to the same tolerance.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem, minimize
from loglinear.path import largest_l1, path
from loglinear.solvers import OWLQN, GraftingLight

GAP = 1e-3
SOLVERS: dict[str, Callable[..., Any]] = {"owlqn": OWLQN, "grafting_light": GraftingLight}
# Select units M, and steps between selections.
UNITS = ((900, 20), (1000, 20), (750, 15), (500, 10), (1000, 10))


def noun_phrases(lines: list[str]) -> str:
    """The column file with all labels but those of noun phrases as O."""
    kept = [
        line if not line.strip() or line.rstrip().endswith("-NP") else f"{line.rsplit(' ', 1)[0]} O" for line in lines
    ]
    return "\n".join(kept) + "\n"


def seconds_of(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def reached(problem: Problem, solver: Any, goal: float) -> Any:
    """The result of minimising until the objective is at the goal."""
    return minimize(problem, solver, callbacks=[lambda record, state: record.objective <= goal])


def selection(problem: Problem, repeats: int) -> dict[str, Any]:
    """Seconds and evaluations to 0.1 % above the optimum; seconds of a path and of single fits."""
    strengths = np.geomspace(largest_l1(problem), problem.penalty.l1, 20)
    points = path(problem, strengths).points
    best = minimize(problem, GraftingLight(tolerance=1e-7), points[-1].result.w).objective
    racers: dict[str, Any] = {"owlqn": OWLQN(tolerance=0.0)}
    for unit, steps in UNITS:
        racers[f"M = {unit}, {steps} steps"] = GraftingLight(select=unit, steps=steps, tolerance=0.0)
    runs: dict[str, list[Any]] = {name: [] for name in racers}
    fits: dict[str, list[float]] = {name: [] for name in SOLVERS}
    paths = []
    for _ in range(repeats):
        for name, solver in racers.items():
            runs[name].append(reached(problem, solver, best * (1.0 + GAP)))
        for name, make in SOLVERS.items():
            fits[name].append(minimize(problem, make()).seconds)
        paths.append(sum(point.result.seconds for point in path(problem, strengths).points))
    found: dict[str, Any] = {"optimum": best}
    for name in racers:
        found[f"{name}: seconds to {100 * GAP:g} %"] = statistics.median(run.seconds for run in runs[name])
        found[f"{name}: evaluations"] = runs[name][0].gradient_evaluations
        if name != "owlqn":
            found[f"{name}: evaluations over all features"] = runs[name][0].state.full_evaluations
            ratios = [full.seconds / run.seconds for full, run in zip(runs["owlqn"], runs[name], strict=True)]
            found[f"{name}: owlqn takes so many times as long"] = statistics.median(ratios)
    found["seconds of a path of 20"] = statistics.median(paths)
    for name in SOLVERS:
        found[f"{name}: seconds of a fit"] = statistics.median(fits[name])
        found[f"path in fits of {name}"] = found["seconds of a path of 20"] / found[f"{name}: seconds of a fit"]
    return found


def orders(corpus: Corpus, threads: int) -> float:
    """Seconds of an evaluation in second order over those in first order."""
    pairs = []
    for order in (1, 2):
        objective = ChainObjective(corpus, ChainFeatures(order=order), threads=threads)
        w = 0.05 * np.random.default_rng(0).normal(size=objective.n_features)
        pairs.append((objective, w, np.empty_like(w)))
    ratios = []
    for _ in range(12):
        first, second = (seconds_of(lambda each=each: each[0].value_and_gradient(*each[1:])) for each in pairs)
        ratios.append(second / first)
    return statistics.median(ratios[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file as well")
    parser.add_argument("--threads", type=int, default=0, help="0 for all cores")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    train = Path(os.environ["LOGLINEAR_DATA"]) / "conll2000/train.txt"
    corpus = Corpus.read(train, template="chunking")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(noun_phrases(train.read_text(encoding="utf-8").splitlines()))
        file.flush()
        phrases = Corpus.read(file.name, template="chunking")
    found: dict[str, Any] = {}
    for name, data in (("22 labels", corpus), ("3 labels", phrases)):
        for threads in (1, 2):
            found[f"order 2 / order 1, {name}, {threads} thread(s)"] = orders(data, threads)
    problem = Problem(ChainObjective(corpus, threads=arguments.threads), ElasticNet(l1=1.0))
    found |= selection(problem, arguments.repeats)
    print("| measure | |\n| --- | ---: |")
    for name, value in found.items():
        print(f"| {name} | {value:,.3f} |" if isinstance(value, float) else f"| {name} | {value:,} |")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
