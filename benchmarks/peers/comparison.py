"""Rows of a side-by-side comparison: medians of alternating runs, and how many times better loglinear is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Answer = dict[str, Any]


@dataclass(frozen=True)
class Goal:
    """What a row must reach: a ratio of at least `value`, or a loglinear figure above or below it."""

    value: float
    of: Literal["ratio", "ours"] = "ratio"
    at_least: bool = True

    def __str__(self) -> str:
        figure = {"ratio": "ratio", "ours": "loglinear"}[self.of]
        return f"{figure} {'≥' if self.at_least else '≤'} {self.value:,g}"


@dataclass(frozen=True)
class Row:
    """One measure of both programs.

    `ratio` is how many times better loglinear is; None where there is nothing to divide. Where the peer did not get
    there in what it was given, `peer` is the time it had spent and `bound` says that the ratio is a
    lower bound.
    """

    measure: str
    unit: str
    peer: float | None
    ours: float | None
    ratio: float | None
    goal: Goal | None = None
    bound: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None without a goal or a figure."""
        figure = None if self.goal is None else getattr(self, self.goal.of)
        if self.goal is None or figure is None:
            return None
        return bool(figure >= self.goal.value if self.goal.at_least else figure <= self.goal.value)


def alternate(rounds: int, **tasks: Callable[[], Answer]) -> dict[str, list[Answer]]:
    """Runs the tasks one after the other, `rounds` times over, so that a slow moment of the machine hits them all."""
    answers: dict[str, list[Answer]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            answers[name].append(task())
    return answers


def compare(
    measure: str,
    unit: str,
    peer: Sequence[float],
    ours: Sequence[float],
    *,
    more_is_better: bool = False,
    goal: Goal | None = None,
) -> Row:
    """Medians of both, and the median of the ratios of neighbouring runs."""
    pairs = list(zip(peer, ours, strict=True))
    ratio = statistics.median(b / a if more_is_better else a / b for a, b in pairs)
    return Row(measure, unit, statistics.median(peer), statistics.median(ours), ratio, goal)


def reach(trace: Sequence[Answer], objective: float) -> Answer | None:
    """The first record of a trace at or below an objective."""
    return next((record for record in trace if record["objective"] <= objective), None)


def compare_reach(
    measure: str,
    peer: Sequence[Answer],
    ours: Sequence[Answer],
    objective: float,
    peer_objective: float | None = None,
    goal: Goal | None = None,
) -> Row:
    """Seconds of both traces until an objective is reached, or the peer's until one of its own."""
    theirs, mine = reach(peer, objective if peer_objective is None else peer_objective), reach(ours, objective)
    spent = (theirs or peer[-1])["seconds"]
    steps = f"iterations {theirs['iteration'] if theirs else f'> {len(peer)}'} and "
    steps += str(mine["iteration"]) if mine else f"> {len(ours)}"
    if mine is None:
        return Row(f"{measure} ({steps})", "s", spent if theirs else None, None, None, goal)
    return Row(f"{measure} ({steps})", "s", spent, mine["seconds"], spent / mine["seconds"], goal, bound=theirs is None)


def number(value: float | None) -> str:
    """Three significant digits, or a dash."""
    if value is None or not math.isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def markdown(rows: Sequence[Row], peer: str = "CRFsuite") -> str:
    """A Markdown table."""
    lines = [f"| measure | unit | {peer} | loglinear | ratio | goal |", "| --- | --- | ---: | ---: | ---: | ---: |"]
    for row in rows:
        mark = "≥ " if row.bound else ""
        verdict = {None: "", True: " met", False: " missed"}[row.met]
        goal = "" if row.goal is None else f"{row.goal}:{verdict}"
        ratio = "-" if row.ratio is None else f"{mark}{number(row.ratio)}"
        peer = ("> " if row.bound else "") + number(row.peer)
        lines.append(f"| {row.measure} | {row.unit} | {peer} | {number(row.ours)} | {ratio} | {goal} |")
    return "\n".join(lines)
