"""How long fits of loglinear take as they come, with the solver that `auto` chooses and with each that can be named."""

from __future__ import annotations

import sys
from functools import partial

from classifier_problems import Case
from classifier_programs import default_fit, own_solvers
from comparison import Answer, alternate, number

# A named solver is compared if it ends no further above the best objective than this.
NEAR = 3e-5
# The least number of rounds: small fits take a few milliseconds.
ROUNDS = 5


def choices(case: Case, repeats: int, threads: int) -> Answer:
    """The least seconds of whole fits, and the objectives where they end; prints a row of a table."""
    print(" ", case.name, file=sys.stderr, flush=True)
    tasks = {solver: partial(fit, case, threads, solver) for solver, _, _ in own_solvers(case)}
    runs = alternate(max(repeats, ROUNDS), **tasks)
    best = min(run["objective"] for each in runs.values() for run in each)
    answers = {
        solver: {
            "seconds": min(run["seconds"] for run in each),
            "end": max(run["objective"] for run in each) / best - 1.0,
        }
        for solver, each in runs.items()
    }
    named = {solver: answer for solver, answer in answers.items() if solver != "auto" and answer["end"] <= NEAR}
    auto, ratio = answers["auto"]["seconds"], None
    if named:
        ratio = auto / min(answer["seconds"] for answer in named.values())
    print(row(case.name, answers, ratio))
    return {"best": best, "solvers": answers, "ratio": ratio}


def fit(case: Case, threads: int, solver: str) -> Answer:
    """A fit with a solver by name, all else as it comes."""
    point = default_fit(case, threads, solver=solver)[-1]
    return {"seconds": point.seconds, "objective": point.objective}


def row(name: str, answers: Answer, ratio: float | None) -> str:
    """A row of a Markdown table: the seconds of `auto`, of each solver, and the share of the fastest."""
    others = [f"{solver} {number(each['seconds'])} ({each['end']:.0e})" for solver, each in answers.items()]
    return f"| {name} | {', '.join(others)} | {number(ratio)} |"


HEAD = "| whole fit, seconds (end above the best) | solvers | `auto` over the fastest |\n| --- | --- | ---: |"
