"""scikit-learn, skglm, celer and loglinear side by side: logistic regression on sparse data, in one run.

    python benchmarks/peers/logistic.py                          # --quick: some minutes
    python benchmarks/peers/logistic.py --only boundaries        # problems with this in their names
    python benchmarks/peers/logistic.py --samples 2000 --end 1e-6 --limit 60 --json FILE --figures FOLDER

`evaluation` compares one value-and-gradient, and a fit by L-BFGS divided by its evaluations, with scikit-learn's.
`curves` compares the seconds until the objective is 1 %, 0.1 % and 0.01 % above the best that any program found. All
run in one process, in alternation, and figures are medians. The peers run as they come, scikit-learn's fits on one
thread (since 1.8), but for BLAS, which gets one thread: with more, SciPy's L-BFGS is slower, and many times slower when
the cores are busy. loglinear runs on one thread and on all cores.

Most problems have no intercept, so that all programs can solve them: liblinear would penalise it, scikit-learn's sag
and saga hardly move that of sparse data, celer has none. Those with one are for the programs that do it properly.

Data: the folder named by the environment variable LOGLINEAR_DATA. Reuters-21578 (ModApte, 7,775 documents, 25,936
words): grain against the rest; the first topic of each document, of 78; the ten most frequent of these, and all others
as one more, one against the rest. PFR 199801: word boundaries, 1,822,173 samples and 2,609,645 columns.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import word_boundaries
from chunking_attributes import data_folder
from classifier_curves import Case, Curve, Program, clock, own_model, own_programs, peer, peers, warm_up
from comparison import Answer, Goal, Row, alternate, compare, markdown, number
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._linear_loss import LinearModelLoss
from threadpoolctl import threadpool_limits

from loglinear import __version__
from loglinear.errors import LogLinearError
from loglinear.objectives.classifier import ClassifierObjective

sys.path.append(str(Path(__file__).resolve().parents[1] / "papers"))

PACKAGES = ("numpy", "scipy", "scikit-learn", "skglm", "celer")
THREADS = tuple(sorted({1, os.cpu_count() or 1}))
GAPS = (0.01, 0.001, 0.0001)
INFORMATIVE = 500
FREQUENT = 10
FIT_ITERATIONS = 20
EVALUATION_SECONDS = 0.3


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Args:
        repeats: of everything.
        limit: seconds of a fit; what is fitted anew again and again ends with a fit that takes half of it.
        end: a program is done when its objective is so far above the best that is known.
        samples: of each data set; None for all.
    """

    repeats: int = 3
    limit: float = 60.0
    end: float = 1e-5
    samples: int | None = None


QUICK = Effort(repeats=1, limit=3.0, end=1e-4, samples=20_000)


# -- problems


def variants(name: str, X: Any, y: np.ndarray, kind: str = "binary", settings: str = "l2 l2+ l1 l1+") -> Iterator[Case]:
    """The same data with strength 1 of the penalties, and with an intercept where a + stands."""
    for setting in settings.split():
        penalty, intercept = setting.rstrip("+"), setting.endswith("+")
        title = f"{name}, {kind}, {penalty}" + ", intercept" * intercept
        yield Case(title, X, y, **{penalty: 1.0}, kind=kind, intercept=intercept)


def cases(samples: int | None) -> Iterator[Case]:
    """The problems."""
    # Loaded late: --help needs no data.
    import reuters

    train = reuters.load(data_folder()).train
    X = train.X[:samples]
    X = X[:, np.flatnonzero(X.sum(axis=0))]
    grain = train.one_vs_rest("grain")[:samples]
    topics = [names[0] for names in train.topics[:samples]]
    frequent = [name for name, _ in Counter(topics).most_common(FREQUENT)]
    groups = np.array([(*frequent, topic).index(topic) for topic in topics])
    yield from variants("reuters grain", X, grain)
    informative = X[:, reuters.most_informative(X, grain, INFORMATIVE)]
    yield from variants(f"reuters grain, {INFORMATIVE} words", informative, grain, settings="l2+")
    yield from variants("reuters topics", X, np.unique(topics, return_inverse=True)[1], "softmax", "l2 l2+ l1")
    yield from variants(f"reuters {FREQUENT} topics and the rest", X, groups, "ovr", "l2")
    yield from variants("boundaries", *word_boundaries.load(data_folder(), samples))


# -- evaluations


def typical(call: Callable[[], Any]) -> Answer:
    """Median seconds of a call."""
    call()
    seconds: list[float] = []
    while len(seconds) < 3 or sum(seconds) < EVALUATION_SECONDS:
        start = clock()
        call()
        seconds.append(clock() - start)
    return {"seconds": statistics.median(seconds)}


def own_fit(case: Case, threads: int) -> Answer:
    """A fit by loglinear's L-BFGS, a share of which goes to each evaluation."""
    model = own_model(case, "lbfgs", {}, threads).set_params(max_iterations=FIT_ITERATIONS)
    start = clock()
    model.fit(case.X, case.y)
    return {"seconds": (clock() - start) / model.result_.gradient_evaluations}


def peer_fit(case: Case) -> Answer:
    """A fit by scikit-learn's L-BFGS, likewise."""
    evaluate, count = LinearModelLoss.loss_gradient, 0

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        return evaluate(*arguments, **named)

    with mock.patch.object(LinearModelLoss, "loss_gradient", counted):
        start = clock()
        peer(case, "lbfgs", max_iter=FIT_ITERATIONS).fit(case.X, case.y)
        return {"seconds": (clock() - start) / count}


def evaluations(case: Case, effort: Effort) -> tuple[list[Row], Answer]:
    """What an evaluation takes, by itself and as a share of a fit."""
    binary, y = case.kind == "binary", case.y.astype(np.float64)
    base = HalfBinomialLoss() if binary else HalfMultinomialLoss(n_classes=case.n_classes)
    evaluate = LinearModelLoss(base_loss=base, fit_intercept=False).loss_gradient
    # Both have the weights of a column side by side.
    w = np.random.default_rng(0).normal(0.0, 0.01, case.X.shape[1] * (1 if binary else case.n_classes))
    tasks = {"peer_fit": partial(peer_fit, case)}
    for n in THREADS:
        objective = ClassifierObjective(case.X, case.y, n_classes=case.n_classes, intercept=False, threads=n)
        tasks[f"own_{n}"] = partial(typical, partial(objective.value_and_gradient, w, np.empty_like(w)))
        tasks[f"peer_{n}"] = partial(typical, partial(evaluate, w, case.X, y, None, case.l2 / len(y), n))
        tasks[f"own_fit_{n}"] = partial(own_fit, case, n)
    answers = alternate(effort.repeats, **tasks)
    taken = {name: [1000 * answer["seconds"] for answer in runs] for name, runs in answers.items()}
    rows = []
    for n in THREADS:
        for m in THREADS[THREADS.index(n) :]:
            title = f"{case.name}: value and gradient, {n} thread(s), scikit-learn's on {m}"
            rows.append(compare(title, "ms", taken[f"peer_{m}"], taken[f"own_{n}"], goal=Goal(3)))
        title = f"{case.name}: a fit by L-BFGS over its evaluations, {n} thread(s)"
        rows.append(compare(title, "ms", taken["peer_fit"], taken[f"own_fit_{n}"], goal=Goal(3)))
    return rows, answers


# -- curves


@dataclass(frozen=True)
class Runs:
    """The curves of a program, one for each round."""

    program: Program
    curves: list[Curve]

    def seconds(self, best: float, gap: float) -> list[float] | None:
        """Seconds of each round until the objective is a share above the best; None if not all of them got there."""
        times = [seconds_to(curve, best, gap, self.program.refitted) for curve in self.curves]
        return None if None in times else times

    def end(self, best: float) -> float:
        """How far above the best the worst round ended."""
        return max(min(point.objective for point in curve) / best - 1 for curve in self.curves)

    @property
    def spent(self) -> float:
        """Seconds of the last fit, median."""
        return statistics.median(curve[-1].seconds for curve in self.curves)


def seconds_to(curve: Curve, best: float, gap: float, refitted: bool) -> float | None:
    """Seconds until a curve is a share above the best; None if it never is.

    Between two fits, time is interpolated on the logarithm of the gap, which is in their favour: none of them could
    have been stopped there.
    """
    if curve[0].objective <= best * (1 + gap):
        return curve[0].seconds
    for before, point in pairwise(curve):
        if point.objective <= best * (1 + gap):
            if not refitted:
                return point.seconds
            far, near = ((each.objective / best - 1) / gap for each in (before, point))
            share = math.log(far) / math.log(far / max(near, 1e-12))
            return min(point.seconds, before.seconds + share * (point.seconds - before.seconds))
    return None


def measured(name: str, program: Program, goal: float, limit: float) -> Answer:
    """A curve, or why there is none: a solver that does not go with classifiers, or diverges."""
    print(" ", name, file=sys.stderr, flush=True)
    try:
        return {"curve": program.run(goal, limit)}
    except LogLinearError as error:
        return {"curve": None, "why": str(error)}


def curves(case: Case, effort: Effort) -> Answer:
    """The measurements of all programs; prints a table of them."""
    # What is best is not known yet; the default solver of loglinear comes near it when it has longer.
    deep = next(iter(own_programs(case, THREADS[-1:]).values())).run(-math.inf, 2 * effort.limit)
    goal = min(point.objective for point in deep) * (1 + effort.end)
    programs = own_programs(case, THREADS) | peers(case, THREADS[-1])
    tasks = {name: partial(measured, name, program, goal, effort.limit) for name, program in programs.items()}
    answers = alternate(effort.repeats, **tasks)
    failed = {name: run["why"] for name, each in answers.items() for run in each if "why" in run}
    runs = {
        name: Runs(programs[name], [run["curve"] for run in each])
        for name, each in answers.items()
        if name not in failed
    }
    best = min(point.objective for curve in [deep, *(c for r in runs.values() for c in r.curves)] for point in curve)
    print(curve_table(case, runs, best))
    for why in dict.fromkeys(failed.values()):
        print(f"\nLeft out: {'; '.join(name for name in failed if failed[name] == why)} ({why}).")
    ends = {name: each.end(best) for name, each in runs.items()}
    away = [f"{name} {end:.1e}" for name, end in ends.items() if end > 1.01 * effort.end]
    print(f"\nAll ends within {effort.end:g} of the best" + f", but: {'; '.join(away)}" * bool(away), end=".\n\n")
    ratios = [fastest(runs, best, gap, threads) for threads in THREADS for gap in GAPS]
    every = {name: each.curves for name, each in runs.items()}
    return {"best": best, "failed": failed, "ends": ends, "ratios": ratios, "curves": every}


def fastest(runs: dict[str, Runs], best: float, gap: float, threads: int) -> Answer:
    """The fastest of the peers to a gap, and the fastest of loglinear on so many threads, or fewer.

    Where no peer gets there, the least that any of them spent is a bound.
    """
    sides = [
        {name: each for name, each in runs.items() if each.program.threads is None},
        {name: each for name, each in runs.items() if (each.program.threads or math.inf) <= threads},
    ]
    times = [{name: s for name, each in side.items() if (s := each.seconds(best, gap))} for side in sides]
    peer, ours = (min(side, key=lambda name: statistics.median(side[name]), default=None) for side in times)
    row = Row("", "s", None, None, None)
    if peer and ours:
        row = compare("", "s", times[0][peer], times[1][ours])
    elif ours and sides[0]:
        spent, taken = min(each.spent for each in sides[0].values()), statistics.median(times[1][ours])
        row = Row("", "s", spent, taken, spent / taken, bound=True)
    names = {"threads": threads, "gap": gap, "fastest_peer": peer, "fastest": ours}
    return names | {"peer": row.peer, "ours": row.ours, "ratio": row.ratio, "bound": row.bound}


def summary(record: dict[str, Answer]) -> str:
    """A Markdown table: how many times faster the fastest of loglinear is than the fastest of the peers."""
    heads = ["threads", *(f"to {gap:.2%}" for gap in GAPS)]
    lines = ["| fastest peer's seconds over loglinear's | " + " | ".join(heads) + " |", "| --- " * 5 + "|"]
    for name, answer in record.items():
        for threads in THREADS:
            cells = [cell(ratio) for ratio in answer["ratios"] if ratio["threads"] == threads]
            lines.append("| " + " | ".join([name, str(threads), *cells]) + " |")
    return "\n".join(lines)


def cell(ratio: Answer) -> str:
    peer = (ratio["fastest_peer"] or "none").removeprefix("scikit-learn ")
    ours = (ratio["fastest"] or "none").removeprefix("loglinear ").split(",")[0]
    return f"{'≥ ' * ratio['bound']}{number(ratio['ratio'])} ({peer}; {ours})"


def curve_table(case: Case, runs: dict[str, Runs], best: float) -> str:
    """A Markdown table: median seconds of each program to each gap, and where it ended."""
    heads = [f"to {gap:.2%}" for gap in GAPS]
    lines = [f"{case.name}: best objective {best:.6f}\n", " | ".join(["| seconds", *heads, "end", "non-zero |"])]
    lines.append("| --- |" + " ---: |" * (len(GAPS) + 2))
    for name, each in runs.items():
        times = [each.seconds(best, gap) for gap in GAPS]
        cells = [number(statistics.median(t)) if t else f"> {number(each.spent)}" for t in times]
        cells += [f"{each.end(best):.1e}", f"{nonzero:,}" if (nonzero := each.curves[0][-1].nonzero) else "-"]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines)


# -- the run


def machine() -> dict[str, Any]:
    packages = {"loglinear": __version__} | {name: version(name) for name in PACKAGES}
    return {"platform": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version(), **packages}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything: see QUICK in this file")
    parser.add_argument("--only", metavar="TEXT", default="", help="problems whose names have this in them")
    parser.add_argument("--sections", nargs="+", choices=["evaluation", "curves"], default=["evaluation", "curves"])
    parser.add_argument("--samples", type=int, help="of each data set, the first ones")
    parser.add_argument("--repeats", type=int, help="rounds of every measurement")
    parser.add_argument("--limit", type=float, help="seconds of a fit")
    parser.add_argument("--end", type=float, help="how near the best objective a program is done")
    parser.add_argument("--blas-threads", type=int, default=1, metavar="N", help="of NumPy and SciPy; 0: as they come")
    parser.add_argument("--json", type=Path, metavar="FILE", help="writes every measurement")
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="draws the curves of the first round")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    given = {name: getattr(chosen, name) for name in ("repeats", "limit", "end", "samples")}
    effort = replace(QUICK if chosen.quick else Effort(), **{k: v for k, v in given.items() if v is not None})
    record: dict[str, Any] = {"machine": machine(), "effort": asdict(effort), "evaluation": {}, "curves": {}}
    rows: list[Row] = []
    warnings.simplefilter("ignore", ConvergenceWarning)  # whoever is stopped early says so
    warm_up(THREADS[-1])
    with threadpool_limits(chosen.blas_threads or None, user_api="blas"):
        for case in cases(effort.samples):
            if chosen.only not in case.name:
                continue
            print(case.name, *case.X.shape, file=sys.stderr)
            if "evaluation" in chosen.sections and case.name.endswith(("binary, l2", "softmax, l2")):
                new, record["evaluation"][case.name] = evaluations(case, effort)
                rows += new
            if "curves" in chosen.sections:
                record["curves"][case.name] = curves(case, effort)
                if chosen.figures:
                    draw(case.name, record["curves"][case.name], chosen.figures)
    if record["curves"]:
        print(summary(record["curves"]), end="\n\n")
    if rows:
        print(markdown(rows, peer="scikit-learn"))
    if chosen.json:
        record |= {"blas_threads": chosen.blas_threads}
        record["rows"] = [asdict(row) for row in rows]
        chosen.json.write_text(json.dumps(plain(record), indent=1), encoding="utf-8")


def plain(value: Any) -> Any:
    """The same with null for numbers that JSON has not."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def draw(name: str, record: Answer, folder: Path) -> None:
    """One figure for each problem."""
    import figures

    first = {program: curves[0] for program, curves in record["curves"].items()}
    file = "logistic-" + name.replace(",", "").replace(" ", "-") + ".svg"
    figures.courses(first, record["best"], name, folder / file)


if __name__ == "__main__":
    main()
