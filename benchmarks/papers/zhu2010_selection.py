"""Figures 2 and 3 of Zhu, Lao & Xing (2010): six criteria of feature selection against the select unit M.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/zhu2010_selection.py --json zhu2010-selection.json \
        --figures docs/papers --page docs/papers/zhu2010.md

Synthetic sequences (section 6.1.1) and noun phrases of CoNLL-2000 (section 6.1.2). All methods end by one rule: as soon
as the objective is so near the best known, that of a run to a tight tolerance, or at a limit of seconds. Where the
paper's own rule would have ended a run before that is kept as well. Seconds are those of the processor, of all threads,
as in the paper ("cpu-seconds").

Rows are written to the JSON file run by run. What is there already is not run again, save what a shorter limit ended.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from courses import Course
from rows import Rows, fill, markdown
from selection_data import CHUNKING, SYNTHETIC, TRAINING, loaded
from tasks import STRENGTHS, Data, options

from loglinear import ElasticNet, Problem
from loglinear.metrics import evaluate
from loglinear.minimize import minimize
from loglinear.result import Status
from loglinear.solvers import OWLQN, GaussSeidel, Grafting, GraftingLight
from loglinear.solvers.parts.quasi_newton import WINDOW

LAMBDA = {
    SYNTHETIC: 64.0,  # of the paper
    CHUNKING: 1.0,  # found by --cross-validate
}
GRIDS = {SYNTHETIC: (8.0, 16.0, 32.0, 64.0, 128.0, 256.0), CHUNKING: STRENGTHS}
FOLDS = 5
UNITS = (1, *range(10, 111, 10))
SHOWN = (1, 10, 50, 110)  # in tables
GAPS = (1e-2, 1e-3)  # relative, above the best objective; runs end at the last
BEST, FULL = "optimum", "Full-Opt-L1"
# What finds the optimum, to some 0.02 %.
OPTIMISERS: dict[str, Callable[[], Any]] = {
    SYNTHETIC: lambda: OWLQN(tolerance=1e-7),
    CHUNKING: lambda: GraftingLight(steps=20, tolerance=1e-6),
}
# The paper ends when "the average change within several steps is less than a threshold", which it does not give.
CHANGE, CHANGED = 1e-4, "little change"
CRITERIA = ("seconds", "nll", "score", "nonzero", "selected", "evaluations")
SCORES = {SYNTHETIC: "error rate, %", CHUNKING: "F1"}


class Onwards(Grafting):
    """Grafting without an end of its own: with nothing to select it optimises on."""

    def _selected(self, problem: Problem, state: Any, gradient: Any) -> Any:
        following = super()._selected(problem, state, gradient)
        if following.status is not Status.CONVERGED:
            return following
        return self._at_work(problem, state, state.features, gradient, state.inner.history)


class LightOnwards(Onwards, GraftingLight):
    """Grafting-Light without an end of its own."""


class Rounds(GaussSeidel):
    """Gauss-Seidel without a rule on how much its selections change."""

    @property
    def tolerance(self) -> float:
        """Of the selections; that of OWL-QN within them stays."""
        return 0.0


# OWL-QN on a single feature is done before its window is full; at 1e-6 it would search on among rounding errors.
INNER: dict[str, Any] = {"gradient_tolerance": 1e-3}
METHODS: dict[str, Callable[[int], Any]] = {
    "Grafting-Light": lambda unit: LightOnwards(select=unit, steps=1, **INNER),
    "Grafting-Light, 10 steps": lambda unit: LightOnwards(select=unit, steps=10, **INNER),
    "Grafting": lambda unit: Onwards(select=unit, **INNER),
    "Gauss-Seidel": lambda unit: Rounds(select=unit, **INNER),
}


class Watch(Course):
    """Ends a run at the last goal or at the limit; keeps what the model is at each goal.

    It also keeps what the model is where the paper's rule would have ended the run. That is read as: a mean relative
    decrease of at most ``CHANGE`` over the last 5 selections, or steps of OWL-QN.

    Args:
        goals: objectives by name, falling.
        limit: seconds of the processor.
        whole: whether every evaluation costs as much as one over all features.
    """

    def __init__(self, goals: dict[str, float], limit: float, whole: bool) -> None:
        super().__init__(most=limit)
        self.goals, self.whole = goals, whole
        self.objectives: list[float] = []
        self.at: dict[str, dict[str, Any]] = {}

    def __call__(self, record: Any, state: Any) -> bool:
        """Look at the step."""
        over = super().__call__(record, state)
        reached = [name for name, goal in self.goals.items() if record.objective <= goal and name not in self.at]
        self.at |= {name: self.measured(state) | {"end": "reached"} for name in reached}
        if getattr(state, "scored", True):
            self.objectives = [*self.objectives[-WINDOW:], record.objective]
            change = (self.objectives[0] - record.objective) / WINDOW
            if CHANGED not in self.at and len(self.objectives) > WINDOW and change <= CHANGE * record.objective:
                self.at[CHANGED] = self.measured(state) | {"end": CHANGED}
        self.left = time.process_time()
        return over or bool(self.goals and self.goals.keys() <= self.at.keys())

    def measured(self, state: Any) -> dict[str, Any]:
        """The criteria that need no test data, and the weights."""
        evaluations = int(state.gradient_evaluations)
        return {
            "seconds": self.seconds,
            "objective": state.objective,
            "nll": state.nll,
            "nonzero": int(np.count_nonzero(state.w)),
            "selected": int(getattr(state, "selected", state.w).size),
            "evaluations": evaluations,
            "full_evaluations": evaluations if self.whole else int(state.full_evaluations),
            "w": state.w.copy(),
        }


class Runs(Rows):
    """Rows of tasks, methods and select units."""

    def made(self, wanted: dict[str, Any], limit: float, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The row with these entries; it is made if there is none, or one that a shorter limit ended."""
        row = self.find(wanted)
        if row and (row["end"] != "limit" or row["limit"] >= limit):
            return row
        if row:
            self.rows.remove(row)
        row = wanted | {"limit": limit} | make()
        self.add(row)
        print(said(row), flush=True)
        return row


def said(row: dict[str, Any]) -> str:
    return (
        f"{row['task']:11s} {row['method']:24s} M {row['unit'] or '-':>3} {row['seconds']:7.1f} s  "
        f"NLL {row['nll']:9.1f}  score {row['score']:5.2f}  non-zero {row['nonzero']:6,}  "
        f"selected {row['selected']:9,}  evaluations {row['evaluations']:6,} ({row['full_evaluations']:6,} whole)  "
        f"{100 * row['above']:7.3f} % above  {row['end']}"
    )


def scored(data: Data, w: Any) -> float:
    """F1 of noun phrases, or the error rate, in per cent."""
    score = data.score(w)[0]
    return 100.0 - score if data.task.name == SYNTHETIC else score


def run(data: Data, l1: float, solver: Any, best: float | None, limit: float) -> dict[str, Any]:
    """Train until the last goal is reached; the criteria there, at the goals before, and by the paper's rule.

    Args:
        data: of the task.
        l1: lambda.
        solver: of a method.
        best: the best known objective; None to let the solver end by its own rule.
        limit: seconds of the processor.
    """
    goals = {f"{gap:g}": best * (1.0 + gap) for gap in GAPS} if best else {}
    watch = Watch(goals, limit, isinstance(solver, (OWLQN, GaussSeidel)))
    result = minimize(data.problem(l1), solver, callbacks=(watch,))
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    end = "limit" if result.status is Status.STOPPED_BY_CALLBACK else "own rule"
    last = watch.measured(result.state) | {"end": end}
    found = {name: watch.at.get(name, last) for name in goals} | watch.at
    last = found[f"{GAPS[-1]:g}"] if goals else last
    for point in (last, *found.values()):
        if "w" in point:  # the same point may stand for several
            point["score"] = scored(data, point.pop("w"))
            point["above"] = point["objective"] / best - 1.0 if best else 0.0
    return {**last, "wall": result.seconds, "iterations": result.iterations, "at": found}


def share(data: Data) -> float:
    """What to multiply lambda by: of the synthetic data --quick takes a part, which carries a part of the evidence."""
    return data.objective.n_samples / TRAINING if data.task.name == SYNTHETIC else 1.0


def compared(task: str, runs: Runs, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of a task: the optimum, Full-Opt-L1, and each method with each select unit."""
    data = loaded(task, arguments.quick, arguments.threads)
    l1 = LAMBDA[task] * share(data)
    samples, candidates, threads = data.objective.n_samples, data.objective.n_features, data.objective.n_threads
    print(f"{task}: {samples:,} training instances, {candidates:,} candidate features, lambda = {l1:g}, ", end="")
    print(f"{threads} threads, to {100 * GAPS[-1]:g} % above the optimum or {arguments.limit:g} s", flush=True)

    def made(method: str, solver: Any, unit: int | None, best: float | None = None) -> dict[str, Any]:
        wanted = {"task": task, "method": method, "unit": unit, "l1": l1, "samples": samples, "candidates": candidates}
        wanted |= {"threads": threads}
        limit = arguments.limit if unit else np.inf  # the level lines have none
        return runs.made(wanted, arguments.limit, lambda: run(data, l1, solver, best, limit))

    rows = [made(BEST, OPTIMISERS[task](), None)]
    best = rows[0]["objective"]
    rows.append(made(FULL, OWLQN(tolerance=0.0), None, best))
    for unit in sorted(arguments.units, reverse=True):  # the smallest take longest
        rows += [made(name, make(unit), unit, best) for name, make in METHODS.items()]
    return rows


def cross_validation(task: str, arguments: argparse.Namespace) -> None:
    """Print held-out likelihood and score of OWL-QN at each lambda, 5 folds, each from strong to weak."""
    data = loaded(task, arguments.quick, arguments.threads)
    folds = np.arange(len(data.train)) % FOLDS
    likelihood: dict[float, float] = dict.fromkeys(GRIDS[task], 0.0)
    guesses: dict[float, list[list[str]]] = {l1: [] for l1 in GRIDS[task]}
    gold: list[list[str]] = []
    for fold in range(FOLDS):
        dev, w = data.train[folds == fold], None
        objective = data.objective_of(data.train[folds != fold])
        gold += dev.gold()
        for l1 in sorted(GRIDS[task], reverse=True):
            penalty = ElasticNet(l1=l1 * share(data))
            w = minimize(Problem(objective, penalty), OWLQN(tolerance=1e-4), w).w
            model = objective.model(w)
            likelihood[l1] += sum(score - z for z, score in model.log_partition(dev.core, threads=data.threads))
            guesses[l1] += model.predict(dev.core, threads=data.threads)
            print(f"fold {fold + 1} of {FOLDS}, lambda {l1:g}: log-likelihood {likelihood[l1]:.1f}", flush=True)
    scores = {l1: evaluate(gold, guesses[l1]) for l1 in guesses}
    lines = [
        [f"{l1:g}", f"{likelihood[l1]:.1f}", f"{100 * (scores[l1].f1 or scores[l1].accuracy):.2f}"]
        for l1 in GRIDS[task]
    ]
    print(markdown(["lambda", "held-out log-likelihood", data.task.score], lines))
    print(f"{task}: LAMBDA = {max(likelihood, key=lambda l1: likelihood[l1]):g}")


def cells(row: dict[str, Any]) -> list[str]:
    """The six criteria as they stand in a table."""
    numbers = [f"{row[name]:,}" for name in ("nonzero", "selected", "evaluations")]
    return [f"{row['seconds']:.2f}", f"{row['nll']:,.1f}", f"{row['score']:.2f}", *numbers]


def heads(task: str, *more: str) -> list[str]:
    names = ["CPU seconds", "NLL", SCORES[task], "non-zero", "ever selected", "evaluations"]
    return ["method", "M", *names, *more]


def reached(rows: list[dict[str, Any]], at: str) -> list[dict[str, Any]]:
    """The rows with what they were at a goal, or by the paper's rule; without those that never came there."""
    return [row | row["at"].get(at, {}) for row in rows if at in row["at"] or row["method"] == BEST]


def tables(task: str, rows: list[dict[str, Any]]) -> str:
    """Markdown: for each goal ranges over M and some M; then where the paper's rule would have ended runs."""
    parts = []
    for gap in GAPS:
        found = reached(rows, f"{gap:g}")
        steady = [[row["method"], "", *cells(row), row["end"]] for row in found if row["unit"] is None]
        ranges = [[name, "all", *spans(by_unit(found, name)), endings(by_unit(found, name))] for name in METHODS]
        name = f"to {100 * gap:g} % above the optimum"
        parts.append((f"Least and most over M, {name}:", markdown(heads(task, "end"), steady + ranges)))
        lines = [[*line(row), row["end"]] for row in found_by_method(found) if row["unit"] in SHOWN]
        parts.append((f"Some M, {name}:", markdown(heads(task, "of all features", "% above", "end"), lines)))
    lines = [line(row) for row in found_by_method(reached(rows, CHANGED)) if row["above"] > GAPS[-1]]
    title = f"Where a mean relative change of at most {CHANGE:g} over 5 selections would have ended runs before that:"
    parts.append((title, markdown(heads(task, "of all features", "% above"), lines) if lines else "None."))
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts)


def line(row: dict[str, Any]) -> list[Any]:
    return [row["method"], row["unit"], *cells(row), f"{row['full_evaluations']:,}", f"{100 * row['above']:.2f}"]


def found_by_method(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for name in METHODS for row in by_unit(rows, name)]


def by_unit(rows: list[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    return sorted((row for row in rows if row["method"] == method), key=lambda row: row["unit"])


def spans(rows: list[dict[str, Any]]) -> list[str]:
    """Least and most of each criterion."""
    texts = [
        cells(min(rows, key=lambda row: row[name])) + cells(max(rows, key=lambda row: row[name])) for name in CRITERIA
    ]
    return [f"{text[at]} to {text[at + len(CRITERIA)]}" for at, text in enumerate(texts)]


def endings(rows: list[dict[str, Any]]) -> str:
    ends = [row["end"] for row in rows]
    return ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))


def main() -> None:
    quick = "1,000 instances, 500 sentences, M of 10 and 110, at most 10 s a run: three minutes"
    parser = options(__doc__, [SYNTHETIC, CHUNKING], quick)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of the processor of each run")
    parser.add_argument("--gap", choices=GAPS, type=float, default=GAPS[-1], help="which goal the figures are for")
    parser.add_argument("--units", type=int, nargs="+", default=UNITS, help="select units M")
    parser.add_argument("--cross-validate", action="store_true", help="print what lambda is best, and run nothing else")
    parser.add_argument("--page", type=Path, help="fill the tables into this page")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.units, arguments.limit = (10, 110), min(arguments.limit, 10.0)
    if arguments.cross_validate:
        for task in arguments.tasks:
            cross_validation(task, arguments)
        return
    runs = Runs(arguments.json)
    for task in arguments.tasks:
        rows = compared(task, runs, arguments)
        text = tables(task, rows)
        print(f"\n{text}\n", flush=True)
        if arguments.page:
            fill(arguments.page, "selection", task, text)
        if arguments.figures:
            from figures import criteria

            title = f"{task}: lambda = {rows[0]['l1']:g}, {rows[0]['candidates']:,} candidate features, "
            title += f"to {100 * arguments.gap:g} % above the optimum"
            criteria(
                reached(rows, f"{arguments.gap:g}"),
                SCORES[task],
                title,
                Path(arguments.figures) / f"zhu2010-{task}.svg",
            )


if __name__ == "__main__":
    main()
