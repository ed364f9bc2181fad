"""Reasons why a result differs from a paper's, the experiments that decide about them, and the data of these."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from findings import Findings
from rows import Rows
from tasks import Data, Task, run

from loglinear.problem import Problem

HEADS = ["reason", "experiment", "figures", "holds if", "holds"]
# Shares of a distance whose removal counts as a reason, and as a part of one.
MOST, LITTLE = 0.5, 0.25


class Reason(NamedTuple):
    """A reason that might explain a result, and whether it does.

    Attributes:
        reason: what may be the case.
        experiment: what was changed or counted.
        figures: its results.
        limit: what has to be so for the reason to hold.
        held: whether it holds; None for in part.
    """

    reason: str
    experiment: str
    figures: str
    limit: str
    held: bool | None


class Study:
    """The experiments' rows and data, and the rows of the papers' pages.

    Args:
        findings: which keeps the rows and writes the page.
        threads: 0 for all cores.
    """

    def __init__(self, findings: Findings, threads: int) -> None:
        self.findings, self.threads = findings, threads
        self._data: dict[str, Data] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}

    @cached_property
    def texts(self) -> Any:
        """Reuters-21578."""
        from topics import Texts

        return Texts(self.threads, quick=False)

    def data(self, task: Task) -> Data:
        """The data of a task."""
        if task.name not in self._data:
            self._data[task.name] = Data(self.findings, task, None, self.threads)
        return self._data[task.name]

    def run(self, task: Task, name: str, solver: Any, **about: Any) -> dict[str, Any]:
        """The row of a run on a task."""
        return run(self.findings, self.data(task), name, solver, **about)

    def earlier(self, paper: str, **wanted: Any) -> list[dict[str, Any]]:
        """Rows of a paper's page."""
        if paper not in self._rows:
            path = self.findings.path
            self._rows[paper] = Rows(str(path.with_name(f"{paper}.json")) if path else None).rows
        found = [row for row in self._rows[paper] if wanted.items() <= row.items()]
        if not found:
            message = f"no row with {wanted} in {paper}.json beside the file of --json; run {paper}.py first"
            raise SystemExit(message)
        return found

    def reasons(self, paper: str, reasons: list[Reason]) -> None:
        """A paper's table."""
        self.findings.judged(f"reasons, {paper}", HEADS, reasons)


def removed(before: float, after: float) -> bool | None:
    """The verdict on a change by the share of a distance that it removes."""
    share = 1.0 - after / before
    return True if share >= MOST else None if share >= LITTLE else False


def valued(problem: Problem, w: Any) -> float:
    """The penalised objective."""
    return float(problem.objective.value_and_gradient(w)[0] + problem.penalty.value(w))
