"""Figures 2 and 3 of Zhu, Lao & Xing (2010): six criteria of feature selection against the select unit M.

Synthetic sequences (section 6.1.1), noun phrases of CoNLL-2000 (section 6.1.2), and 500 sentences of these, on which
most methods reach the optimum. All methods end by one rule: as soon as the objective is so near the best known, that of
a run to a tight tolerance, or at a limit of seconds. Where the paper's own rule would have ended a run before that is
kept as well. Seconds are those of the processor, one thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from clock import Clocked, minimised
from courses import Course
from findings import Claim, Findings, verdict
from rows import markdown
from selection_data import CHUNKING, PART, SYNTHETIC, TRAINING, data_of
from tasks import STRENGTHS, Data, continued

from loglinear import ElasticNet, Problem
from loglinear.metrics import evaluate
from loglinear.result import Status
from loglinear.solvers import OWLQN, GaussSeidel, Grafting, GraftingLight
from loglinear.solvers.common.quasi_newton import WINDOW

# What the paper gives, or None to choose by cross-validation.
LAMBDA = {SYNTHETIC: 64.0, PART: None, CHUNKING: None}
GRIDS = {SYNTHETIC: (8.0, 16.0, 32.0, 64.0, 128.0), PART: STRENGTHS, CHUNKING: STRENGTHS}
FOLDS = 5
UNITS = (1, *range(10, 111, 10))
ALL_SENTENCES = (1, 10, 50, 80, 110)  # select units on all sentences, where a run takes minutes
SHOWN = (1, 10, 50, 110)  # in tables and claims
LIMITS = {SYNTHETIC: 120.0, PART: 60.0, CHUNKING: 200.0}  # seconds of the processor of a run, at least
GAPS = (1e-2, 1e-3)  # relative, above the best objective; runs end at the last
BEST, FULL = "optimum", "Full-Opt-L1"
QUICK_UNITS, QUICK_LIMIT = (10, 110), 10.0
# What finds the optimum, to some 0.02 %.
OPTIMISERS: dict[str, Callable[[], Any]] = {
    SYNTHETIC: lambda: OWLQN(tolerance=1e-7),
    PART: lambda: OWLQN(tolerance=1e-7),
    CHUNKING: lambda: GraftingLight(steps=20, tolerance=1e-6),
}
# The paper ends when "the average change within several steps is less than a threshold", which it does not give.
CHANGE, CHANGED = 1e-4, "little change"
CRITERIA = ("seconds", "nll", "score", "nonzero", "selected", "evaluations")
ITEMS = {SYNTHETIC: "Figure 2", PART: "Figure 3"}  # tasks with claims and figures: most runs reach the goals
SCORES = {SYNTHETIC: "error rate, %", PART: "F1", CHUNKING: "F1"}


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


# OWL-QN on a single feature is done before its window is full; at 1e-6 it would search on among rounding errors. Its
# search is Andrew & Gao's, its memory their default.
SEARCH: dict[str, Any] = {"memory": 10, "window": 1}
INNER: dict[str, Any] = SEARCH | {"gradient_tolerance": 1e-3}
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
        clocked: the solver that is looked at.
        goals: objectives by name, falling.
        limit: seconds of the processor.
        whole: whether every evaluation costs as much as one over all features.
    """

    def __init__(self, clocked: Clocked, goals: dict[str, float], limit: float, whole: bool) -> None:
        super().__init__(clocked, most=limit)
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
        return over or bool(self.goals and self.goals.keys() <= self.at.keys())

    def measured(self, state: Any) -> dict[str, Any]:
        """The criteria that need no test data, and the weights."""
        evaluations = int(state.gradient_evaluations)
        return {
            "seconds": self.clocked.seconds,
            "objective": state.objective,
            "nll": state.nll,
            "nonzero": int(np.count_nonzero(state.w)),
            "selected": int(getattr(state, "selected", state.w).size),
            "evaluations": evaluations,
            "full_evaluations": evaluations if self.whole else int(state.full_evaluations),
            "w": state.w.copy(),
        }


def made(
    findings: Findings, wanted: dict[str, Any], limit: float, make: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """The row with these entries; it is made if there is none, or one that a shorter limit ended."""
    row = findings.find(wanted)
    if row and row["end"] == "limit" and row["limit"] < limit:
        findings.drop(row)
    row = findings.made(wanted, lambda: {"limit": limit} | make())
    findings.say(said(row))
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
    clocked = Clocked(solver)
    watch = Watch(clocked, goals, limit, isinstance(solver, OWLQN))
    result = minimised(data.problem(l1), clocked, callbacks=(watch,))
    end = "limit" if result.status is Status.STOPPED_BY_CALLBACK else "own rule"
    last = watch.measured(result.state) | {"end": end}
    found = {name: watch.at.get(name, last) for name in goals} | watch.at
    last = found[f"{GAPS[-1]:g}"] if goals else last
    for point in (last, *found.values()):
        if "w" in point:  # the same point may stand for several
            point["score"] = scored(data, point.pop("w"))
            point["above"] = point["objective"] / best - 1.0 if best else 0.0
    return {**last, "wall": result.seconds, "iterations": result.iterations, "at": found}


def compared(findings: Findings, task: str, arguments: argparse.Namespace) -> None:
    """The rows of a task: the optimum, Full-Opt-L1, and each method with each select unit; their tables and figure."""
    data = data_of(findings, task, arguments.quick, arguments.threads)
    l1 = strength(findings, task, data)
    samples, candidates = data.samples, data.candidates
    limit = min(LIMITS[task], QUICK_LIMIT) if arguments.quick else LIMITS[task]

    def row(method: str, solver: Any, unit: int | None, best: float | None = None) -> dict[str, Any]:
        wanted = {"task": task, "what": "run", "method": method, "unit": unit, "l1": l1}
        wanted |= {"samples": samples, "candidates": candidates}
        most = limit if unit else np.inf  # the level lines have none
        return made(findings, wanted, limit, lambda: run(data, l1, solver, best, most))

    rows = [row(BEST, OPTIMISERS[task](), None)]
    best = rows[0]["objective"]
    rows.append(row(FULL, OWLQN(tolerance=0.0, **SEARCH), None, best))
    units = QUICK_UNITS if arguments.quick else ALL_SENTENCES if task == CHUNKING else UNITS
    for unit in sorted(units, reverse=True):  # the smallest take longest
        rows += [row(name, make(unit), unit, best) for name, make in METHODS.items()]
    limits = " or ".join(f"{most:g}" for most in sorted({row["limit"] for row in rows if row["unit"]}))
    before = f"{samples:,} training instances, {candidates:,} candidate features, lambda = {l1:g}, limit {limits} s."
    findings.tables(f"selection, {task}", before + "\n\n" + tables(task, rows))
    if task == CHUNKING:
        text = f"On all {samples:,} sentences there are {candidates:,} supporting features; the paper has"
        findings.text("candidates", f'{text} "larger than 3 millions".')
    if task in ITEMS:
        findings.claims(f"claims, {task}", claims(ITEMS[task], rows))
        for gap in GAPS:
            title = f"{task}: lambda = {l1:g}, {candidates:,} candidate features, to {100 * gap:g} % above the optimum"
            name = f"zhu2010-{task}" + ("" if gap == GAPS[-1] else f"-{gap:g}")
            findings.figure("criteria", name, reached(rows, f"{gap:g}"), SCORES[task], title)


def strength(findings: Findings, task: str, data: Data) -> float:
    """Lambda: the paper's, or the best of 5-fold cross-validation of Full-Opt-L1 on all training data; both are tabled.

    OWL-QN starts from zero for each lambda, to 1e-4; a grid whose end is the best is continued.
    """
    folds = np.arange(data.samples) % FOLDS
    share = data.samples / TRAINING if task == SYNTHETIC else 1.0

    def fold(l1: float, number: int) -> dict[str, Any]:
        dev, objective = data.train[folds == number], data.objective_of(data.train[folds != number])
        model = objective.model(minimised(Problem(objective, ElasticNet(l1=l1 * share)), OWLQN(tolerance=1e-4)).w)
        scores = evaluate(dev.gold(), model.predict(dev.core, threads=data.threads))
        return {"likelihood": data.log_likelihood(model, dev), "score": 100.0 * (scores.f1 or scores.accuracy or 0.0)}

    scores: dict[float, float] = {}

    def likelihood(l1: float) -> float:
        rows = []
        for number in range(FOLDS):
            wanted = {"task": task, "what": "fold", "l1": l1, "fold": number, "samples": data.samples}
            rows.append(findings.made(wanted, partial(fold, l1, number)))
        scores[l1] = float(np.mean([row["score"] for row in rows]))
        total = float(sum(row["likelihood"] for row in rows))
        findings.say(f"{task}: lambda = {l1:g}, held-out log-likelihood {total:.1f}")
        return total

    found = continued(GRIDS[task], likelihood)
    best = max(found, key=lambda l1: found[l1])
    lines = [
        [f"**{l1:g}**" if l1 == best else f"{l1:g}", f"{likelihood:,.1f}", f"{scores[l1]:.2f}"]
        for l1, likelihood in found.items()
    ]
    findings.table(f"lambda, {task}", ["lambda", "held-out log-likelihood", data.task.score], lines)
    return (LAMBDA[task] or best) * share


def claims(item: str, rows: list[dict[str, Any]]) -> list[Claim]:
    """What the paper says of the figure, judged by runs to 0.1 % above the optimum or to the limit."""
    light, ten, grafting, seidel = METHODS
    found = {name: by_unit(reached(rows, f"{GAPS[-1]:g}"), name) for name in METHODS}
    full = next(row for row in reached(rows, f"{GAPS[-1]:g}") if row["method"] == FULL)
    units = [row["unit"] for row in found[light]]
    shown = [at for at, unit in enumerate(units) if unit in SHOWN]
    others = [row for each in found.values() for row in each]

    def column(name: str, what: str, form: str) -> str:
        return ", ".join(
            format(found[name][at][what], form) + ("" if found[name][at]["end"] == "reached" else " (limit)")
            for at in shown
        )

    def slower(name: str) -> list[bool]:
        return [found[name][at]["seconds"] > found[light][at]["seconds"] for at in range(len(units))]

    def span(name: str) -> float:
        times = [row["seconds"] for row in found[name]]
        return float(max(times) / min(times))

    at = f"M = {', '.join(str(units[at]) for at in shown)}"
    last, greedy = found[light][-1], (found[grafting][0], found[seidel][0])
    first = f"M = {units[0]}"
    return [
        Claim(
            item,
            f"{light} is much more efficient than {grafting} and {seidel}, especially with a small M",
            f"seconds at {at}: {column(light, 'seconds', '.1f')}; {grafting} {column(grafting, 'seconds', '.1f')}; "
            f"{seidel} {column(seidel, 'seconds', '.1f')}",
            "fewer seconds at every M",
            verdict(slower(grafting) + slower(seidel)),
        ),
        Claim(
            item,
            f"{light} depends less on M than {grafting}",
            f"slowest over fastest: {span(light):.1f}, {grafting} {span(grafting):.1f}, ten steps {span(ten):.1f}",
            "a smaller ratio of the slowest to the fastest M",
            span(light) < span(grafting),
        ),
        Claim(
            item,
            f"{light} selects more features on the way than {grafting}, and ends with as many as {FULL}",
            f"selected at {at}: {column(light, 'selected', ',')}; {grafting} {column(grafting, 'selected', ',')}; "
            f"non-zero {column(light, 'nonzero', ',')}, {FULL} {full['nonzero']:,}",
            f"more selected at every M; non-zero within 10 % of {FULL} at M = {units[-1]}",
            verdict(
                [a["selected"] > b["selected"] for a, b in zip(found[light], found[grafting], strict=True)]
                + [abs(last["nonzero"] / full["nonzero"] - 1) < 0.1]
            ),
        ),
        Claim(
            item,
            f"{light} does as well as {FULL} in all but the features selected",
            f"M = {last['unit']}: {last['seconds']:.1f} s, {last['evaluations']:,} evaluations, score "
            f"{last['score']:.2f}; {FULL}: {full['seconds']:.1f} s, {full['evaluations']:,}, {full['score']:.2f}",
            f"score within 0.5 points and less than 1.5 times the seconds at M = {units[-1]}",
            abs(last["score"] - full["score"]) < 0.5 and last["seconds"] < 1.5 * full["seconds"],
        ),
        Claim(
            item,
            f"{FULL} takes the fewest evaluations and the least time",
            f"evaluations: {full['evaluations']:,}, fewest of the others "
            f"{min(row['evaluations'] for row in others):,}; seconds: {full['seconds']:.1f}, others at least "
            f"{min(row['seconds'] for row in others):.1f}",
            "no more than any other run",
            verdict([full[what] <= min(row[what] for row in others) for what in ("evaluations", "seconds")]),
        ),
        Claim(
            item,
            f"{grafting} and {seidel} select fewer features with a small M",
            f"non-zero at {first}: {greedy[0]['nonzero']:,} and {greedy[1]['nonzero']:,}; {light} "
            f"{found[light][0]['nonzero']:,}, {FULL} {full['nonzero']:,}",
            f"fewer than {light} and {FULL} at {first}",
            verdict([row["nonzero"] < min(found[light][0]["nonzero"], full["nonzero"]) for row in greedy]),
        ),
        Claim(
            item,
            f"{grafting} and {seidel} under-fit with a small M",
            f"{first}: NLL {greedy[0]['nll']:,.1f} and {greedy[1]['nll']:,.1f}, score {greedy[0]['score']:.2f} and "
            f"{greedy[1]['score']:.2f}; {FULL} {full['nll']:,.1f}, {full['score']:.2f}",
            f"NLL more than 2 % above that of {FULL} at {first}",
            verdict([row["nll"] > 1.02 * full["nll"] for row in greedy]),
        ),
    ]


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
    shown = ALL_SENTENCES if task == CHUNKING else SHOWN
    for gap in GAPS:
        found = reached(rows, f"{gap:g}")
        steady = [[row["method"], "", *cells(row), row["end"]] for row in found if row["unit"] is None]
        ranges = [[name, "all", *spans(by_unit(found, name)), endings(by_unit(found, name))] for name in METHODS]
        name = f"to {100 * gap:g} % above the optimum"
        parts.append((f"Minimum and maximum over M, {name}:", markdown(heads(task, "end"), steady + ranges)))
        lines = [[*line(row), row["end"]] for row in found_by_method(found) if row["unit"] in shown]
        parts.append((f"Some values of M, {name}:", markdown(heads(task, "of all features", "% above", "end"), lines)))
    lines = [line(row) for row in found_by_method(reached(rows, CHANGED)) if row["above"] > GAPS[-1]]
    title = f"Runs that a mean relative change of at most {CHANGE:g} over 5 selections would have ended earlier:"
    parts.append((title, markdown(heads(task, "of all features", "% above"), lines) if lines else "None."))
    return "\n\n".join(f"{title}\n\n{table}" for title, table in parts)


def line(row: dict[str, Any]) -> list[Any]:
    return [row["method"], row["unit"], *cells(row), f"{row['full_evaluations']:,}", f"{100 * row['above']:.2f}"]


def found_by_method(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for name in METHODS for row in by_unit(rows, name)]


def by_unit(rows: list[dict[str, Any]], method: str) -> list[dict[str, Any]]:
    return sorted((row for row in rows if row["method"] == method), key=lambda row: row["unit"])


def spans(rows: list[dict[str, Any]]) -> list[str]:
    """Minimum and maximum of each criterion."""
    texts = [
        cells(min(rows, key=lambda row: row[name])) + cells(max(rows, key=lambda row: row[name])) for name in CRITERIA
    ]
    return [f"{text[at]} to {text[at + len(CRITERIA)]}" for at, text in enumerate(texts)]


def endings(rows: list[dict[str, Any]]) -> str:
    ends = [row["end"] for row in rows]
    return ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))
