"""Topics of Reuters-21578 against the rest: problems, scores and the lowest objectives known."""

from __future__ import annotations

import os
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from clock import minimised
from courses import first_below, plain, trained
from reuters import Reuters, load, most_informative

from loglinear import ElasticNet
from loglinear.minimize import Stop
from loglinear.objectives.classifier import ClassifierObjective
from loglinear.problem import Problem
from loglinear.solvers import LBFGS

NEAR = (1.0, 0.1)  # nats above the lowest objective known


class Texts:
    """Reuters-21578 with all words or the 500 most informative."""

    def __init__(self, threads: int, quick: bool) -> None:
        self.data: Reuters = load(Path(os.environ["LOGLINEAR_DATA"]))
        self.threads, self.rows, self.most = threads, slice(0, 2000 if quick else None), 300 if quick else 3000
        train = self.data.train
        Y = np.stack([train.one_vs_rest(topic) for topic in train.most_frequent(9)], axis=1)
        self.few = most_informative(train.X, Y)

    @cache  # noqa: B019 - one object
    def objective(self, topic: str, few: bool = False) -> ClassifierObjective:
        """The NLL of a topic against the rest."""
        X, y = self.data.train.X, self.data.train.one_vs_rest(topic)
        X = (X[:, self.few] if few else X)[self.rows]
        return ClassifierObjective(X, y[self.rows], n_classes=2, intercept=False, threads=self.threads)

    def problem(self, topic: str, l2: float, few: bool = False) -> Problem:
        """The same with a penalty."""
        return Problem(self.objective(topic, few), ElasticNet(l2=l2))

    def f1(self, topic: str, few: bool, w: Any) -> float:
        """F1 on the test documents, in per cent."""
        X, y = self.data.test.X, self.data.test.one_vs_rest(topic) == 1
        found = (X[:, self.few] if few else X) @ w > 0.0
        return 200.0 * float((found & y).sum()) / max(1.0, float(found.sum() + y.sum()))

    def run(
        self,
        topic: str,
        l2: float,
        methods: dict[str, Any],
        few: bool = False,
        courses: bool = True,
        lowest: bool = True,
        **about: Any,
    ) -> list[dict[str, Any]]:
        """A row for each method; ``near`` says after how many evaluations and seconds it came so near the lowest.

        The lowest objective is that of ``best``; with few words, that of the first method.

        Args:
            topic: against the rest.
            l2: the ridge parameter.
            methods: makers of solvers by name.
            few: the 500 most informative words instead of all.
            courses: keep the courses.
            lowest: look for the lowest objective.
            about: see ``trained``.
        """
        rows = trained(self.problem(topic, l2, few), methods, partial(self.f1, topic, few), **about)
        if lowest:
            best = rows[0]["objective"] if few else self.best(topic, l2).objective
            for row in rows:
                row["near"] = {f"{gap:g}": [first_below(row, best + gap, column) for column in (0, 1)] for gap in NEAR}
        rows = [plain(row) for row in rows]
        return rows if courses else [{name: row[name] for name in row if name != "curve"} for row in rows]

    @cache  # noqa: B019 - one object
    def best(self, topic: str, l2: float) -> Any:
        """The result of a long run of L-BFGS."""
        solver = LBFGS(memory=20, tolerance=0.0, gradient_tolerance=1e-9)
        return minimised(self.problem(topic, l2), solver, stop=Stop(max_passes=self.most))
