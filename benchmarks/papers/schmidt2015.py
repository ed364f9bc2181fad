"""Figure 1 of Schmidt, Clifton & Sarkar (2015), SAG with non-uniform sampling, and the test errors that it leaves out.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/schmidt2015.py --json schmidt2015.json --figures docs/papers

lambda = 1 / n, so l2 = 1. The classic methods get the learning rate that reaches the lowest training objective among
powers of ten: in 15 passes over at most 2,000 samples, and then, but for Pegasos, that or a tenth of it in all passes
over all data. The optimum is that of L-BFGS run to 1e-12. masc-pos stands in for the WSJ
corpus, which is not free. Everything that is timed runs on one thread.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tasks import TASKS, Data, options, run

from loglinear import ChainObjective, ElasticNet
from loglinear.minimize import Stop, minimize
from loglinear.problem import Problem
from loglinear.solvers import ASG, LBFGS, SAG, SG, AdaGrad, Hybrid, Pegasos, tune_learning_rate

NAMES = ("ocr-letters", "conll2000", "conll2002-dutch", "masc-pos")
PASSES = 40
TUNING_PASSES = 15
TUNING_SAMPLE = 2000
L2 = 1.0
# Passes after which models are scored on the test data.
SCORED = (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40)
# The paper's order; dashed in the figures, those that are given the best learning rate, and the rate tried first.
TUNED = {"Pegasos": (Pegasos, 1.0), "SG": (SG, 0.1), "ASG": (ASG, 0.1), "AdaGrad": (AdaGrad, 0.1)}
UNTUNED: dict[str, Any] = {
    "L-BFGS": LBFGS(tolerance=0.0),
    "Hybrid": Hybrid(tolerance=0.0),
    "SAG": SAG("uniform", tolerance=0.0),
    "SAG-NUS": SAG("nus", pauses=False, tolerance=0.0),
    "SAG-NUS*": SAG("nus_star", pauses=False, tolerance=0.0),
    "SAG-NUS*, pauses": SAG(tolerance=0.0),
}
GAPS = (1e-2, 1e-3, 1e-4)


def optimum(data: Data) -> float:
    """The lowest objective, on all cores."""
    objective = ChainObjective(data.train)
    return minimize(Problem(objective, ElasticNet(l2=L2)), LBFGS(tolerance=1e-12)).objective


def tuned(problem: Problem, name: str) -> Any:
    """A classic method with its best learning rate."""
    kind, first = TUNED[name]
    few = kind(passes=TUNING_PASSES)
    few = tune_learning_rate(problem, few, learning_rates=(first,), digits=(1.0,), sample=TUNING_SAMPLE)
    best = replace(few, passes=PASSES)
    if name == "Pegasos":  # its step sizes shrink with the number of samples by themselves
        return best
    return min(
        (best, replace(best, learning_rate=best.learning_rate / 10)),
        key=lambda solver: minimize(problem, solver).objective,
    )


class Tester:
    """A callback that scores the model on the test data at some of the passes."""

    def __init__(self, data: Data) -> None:
        self.data, self.left, self.tested = data, list(SCORED), []

    def __call__(self, record: Any, state: Any) -> None:
        """Score the model when it is time."""
        if self.left and record.passes >= self.left[0]:
            self.left = [passes for passes in self.left if passes > record.passes]
            self.tested.append([record.passes, record.seconds, self.data.score(state.w)[0]])


def first_below(row: dict[str, Any], limit: float, column: int) -> float | None:
    """Passes (column 0) or seconds (1) after which the objective is at most the limit."""
    return next((point[column] for point in row["curve"] if point[2] <= limit), None)


def table(rows: list[dict[str, Any]], best: float) -> str:
    """Markdown: how soon each method comes how near the optimum, and what it scores."""
    near = [f"{name} to {100 * gap:g} %" for gap in GAPS for name in ("passes", "seconds")]
    heads = ["learning rate", f"above the optimum after {PASSES} passes", *near, "100 - score", "lowest, after passes"]
    lines = ["| method | " + " | ".join(heads) + " |", "| --- |" + " ---: |" * len(heads)]
    for row in rows:
        reached = [first_below(row, best * (1.0 + gap), column) for gap in GAPS for column in (0, 1)]
        passes, _, score = max(row["tested"], key=lambda point: (point[2], -point[0]))
        cells = [
            f"{row['learning_rate']:g}" if row["learning_rate"] else "",
            f"{(row['objective'] - best) / best:.1e}",
            *("-" if value is None else f"{value:.1f}" for value in reached),
            f"{100.0 - row['score']:.2f}",
            f"{100.0 - score:.2f}, {passes:.0f}",
        ]
        lines.append(f"| {row['method']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__, list(NAMES))
    parser.set_defaults(threads=1)
    parser.add_argument("--samples", type=int, metavar="N", help="most training samples of each task")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in arguments.tasks:
        data = Data(TASKS[name], 2000 if arguments.quick else arguments.samples, arguments.threads)
        problem, best = data.problem(l2=L2), optimum(data)
        print(
            f"{name}: {len(data.train):,} samples, {data.objective.n_features:,} features, optimum {best:.6f}",
            flush=True,
        )
        ours = []
        for method in (*TUNED, *UNTUNED):
            solver, tester = UNTUNED.get(method) or tuned(problem, method), Tester(data)
            row = run(data, problem, method, solver, stop=Stop(max_passes=PASSES), callbacks=(tester,), optimum=best)
            row |= {"tested": tester.tested, "learning_rate": getattr(solver, "learning_rate", None)}
            ours.append(row)
        rows.extend(ours)
        print(f"\n{table(ours, best)}\n", flush=True)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(rows))
        if arguments.figures:
            from figures import gaps

            gaps(ours, best, f"{name}: lambda = 1/n", Path(arguments.figures) / f"schmidt2015-{name}.svg")


if __name__ == "__main__":
    main()
