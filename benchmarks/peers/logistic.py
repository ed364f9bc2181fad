"""scikit-learn, skglm, celer, adelie, glmnet, snapml and loglinear side by side: logistic regression in one run.

    python benchmarks/peers/logistic.py                          # --quick: about an hour
    python benchmarks/peers/logistic.py --only boundaries        # problems with this in their names
    python benchmarks/peers/logistic.py --samples 2000 --end 1e-6 --limit 60 --json FILE --figures FOLDER

- `evaluation` compares one value-and-gradient, and a fit by L-BFGS divided by its evaluations, with scikit-learn's, and
  with one read of a dense table from memory.
- `curves` compares the seconds until the objective is 1 %, 0.1 % and 0.01 % above the best that any program found, and
  tells how long a fit of loglinear takes as it comes, and where it ends.
- `paths` compares the seconds of 100 L1 penalties, and how far the worst of them ends above the best.
- `choice` compares whole fits of loglinear as they come: `auto`, and each solver by name.
- `validation` shows what a small fit takes before its first step: import, checks, conversions.

All run in one process, in alternation, and figures are medians. The peers run as they come, scikit-learn's fits on one
thread (since 1.8), but for BLAS, which gets one thread: with more, SciPy's L-BFGS is slower, and many times slower when
the cores are busy. loglinear runs on one thread and on all cores. Peers that are not installed are left out.

`classifier_problems.py` has the problems and says where their data come from, `classifier_programs.py` how each program
states them.
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
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from classifier_choice import HEAD, choices
from classifier_curves import Program, Runs
from classifier_evaluations import THREADS, beginnings, evaluations
from classifier_paths import paths
from classifier_problems import Case, cases, path_cases
from classifier_programs import PEERS, default_fit, missing_peers, own_programs, peers, warm_up
from comparison import Answer, Row, alternate, compare, markdown, number
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from loglinear import __version__
from loglinear.errors import LogLinearError

SECTIONS = ("evaluation", "curves", "choice", "paths", "validation")
GAPS = (0.01, 0.001, 0.0001)
DEFAULT = f"loglinear as it comes, {THREADS[-1]} thread(s)"
# An evaluation of fewer samples takes no time.
FEW = 1000
# Import, checks and conversions are shown for this problem.
SMALL = "breast cancer 569 x 30, binary, l2, intercept"


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Args:
        repeats: of everything.
        limit: seconds of a fit; what is fitted anew again and again ends with a fit that takes half of it.
        end: a program is done when its objective is so far above the best that is known.
        samples: of each data set in LOGLINEAR_DATA; None for all.
    """

    repeats: int = 3
    limit: float = 60.0
    end: float = 1e-5
    samples: int | None = None


QUICK = Effort(repeats=1, limit=3.0, end=1e-4, samples=20_000)


# -- curves


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
    as_it_comes = {DEFAULT: Program(partial(default_fit, case, THREADS[-1]), THREADS[-1])}
    programs = own_programs(case, THREADS) | as_it_comes | peers(case, THREADS[-1])
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
    whole = {"seconds": runs[DEFAULT].spent, "end": ends.pop(DEFAULT)}
    away = [f"{name} {end:.1e}" for name, end in ends.items() if end > 1.01 * effort.end]
    print(f"\nAll ends within {effort.end:g} of the best" + f", but: {'; '.join(away)}" * bool(away), end=".\n\n")
    raced = {name: each for name, each in runs.items() if name != DEFAULT}
    ratios = [fastest(raced, best, gap, threads) for threads in THREADS for gap in GAPS]
    every = {name: each.curves for name, each in runs.items()}
    return {"best": best, "failed": failed, "ends": ends, "default": whole, "ratios": ratios, "curves": every}


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
    heads = ["threads", *(f"to {gap:.2%}" for gap in GAPS), "our default, whole fit"]
    lines = ["| fastest peer's seconds over loglinear's | " + " | ".join(heads) + " |", "| --- " * 6 + "|"]
    for name, answer in record.items():
        whole = f"{number(answer['default']['seconds'])} s ({answer['default']['end']:.0e})"
        for threads in THREADS:
            cells = [cell(ratio) for ratio in answer["ratios"] if ratio["threads"] == threads]
            cells += [whole if threads == THREADS[-1] else ""]
            lines.append("| " + " | ".join([name, str(threads), *cells]) + " |")
    return "\n".join(lines)


def cell(ratio: Answer) -> str:
    peer = (ratio["fastest_peer"] or "none").removeprefix("scikit-learn ")
    ours = (ratio["fastest"] or "none").removeprefix("loglinear ").split(",")[0]
    sides = f"{peer} {number(ratio['peer'])} / {ours} {number(ratio['ours'])}"
    return f"{'≥ ' * ratio['bound']}{number(ratio['ratio'])} ({sides})"


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
    packages = {name: version(name) for name in ("numpy", "scipy", *PEERS.values()) if name not in missing_peers()}
    packages["loglinear"] = __version__
    return {"platform": platform.platform(), "cpus": os.cpu_count(), "python": platform.python_version(), **packages}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything: see QUICK in this file")
    parser.add_argument("--only", metavar="TEXT", default="", help="problems whose names have this in them")
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--samples", type=int, help="of each data set in LOGLINEAR_DATA, the first ones")
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
    missing = missing_peers()
    for package in missing:
        print(f"{package} is not installed: left out", file=sys.stderr)
    warnings.simplefilter("ignore", ConvergenceWarning)  # whoever is stopped early says so
    warm_up(THREADS[-1])
    record: dict[str, Any] = {"machine": machine(), "effort": asdict(effort), "blas_threads": chosen.blas_threads}
    with threadpool_limits(chosen.blas_threads or None, user_api="blas"):
        record |= measurements(chosen, effort)
    if record["curves"]:
        print(summary(record["curves"]), end="\n\n")
    if record["rows"]:
        print(markdown(record["rows"], peer="scikit-learn, or one read"))
    if chosen.json:
        record["rows"] = [asdict(row) for row in record["rows"]]
        chosen.json.write_text(json.dumps(plain(record), indent=1), encoding="utf-8")


def measurements(chosen: argparse.Namespace, effort: Effort) -> Answer:
    """All that was chosen, one problem after the other."""
    record: Answer = {"evaluation": {}, "curves": {}, "choice": {}, "paths": {}, "validation": {}, "rows": []}
    evaluated: set[str] = set()
    for case in chosen_cases(chosen, effort, {"evaluation", "curves", "validation"}, cases):
        data = case.name[: case.name.index(f", {case.kind}, ")] + case.kind
        is_new = not case.l1 and case.kind != "ovr" and data not in evaluated
        if "evaluation" in chosen.sections and is_new and len(case.y) >= FEW:
            evaluated.add(data)
            rows, record["evaluation"][case.name] = evaluations(case, effort.repeats)
            record["rows"] += rows
        if "validation" in chosen.sections and case.name == SMALL:
            record["validation"][case.name] = beginnings(case, effort.repeats, missing_peers())
        if "curves" in chosen.sections:
            record["curves"][case.name] = curves(case, effort)
            if chosen.figures:
                draw(case.name, record["curves"][case.name], chosen.figures)
    for case in chosen_cases(chosen, effort, {"choice"}, cases):
        if not record["choice"]:
            print(HEAD)
        record["choice"][case.name] = choices(case, effort.repeats, THREADS[-1])
    for case in chosen_cases(chosen, effort, {"paths"}, path_cases):
        record["paths"][case.name] = paths(case, effort.repeats, THREADS)
    return record


def chosen_cases(
    chosen: argparse.Namespace, effort: Effort, sections: set[str], every: Callable[[int | None, str], Iterator[Case]]
) -> Iterator[Case]:
    """The chosen problems of some sections, unless none of these was chosen."""
    for case in every(effort.samples, chosen.only) if sections.intersection(chosen.sections) else ():
        print(case.name, *case.X.shape, file=sys.stderr)
        yield case


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
