"""Seconds to an optimum: every solver on every data set, and what `auto` chooses.

A row is a data set under a penalty. Each solver that suits it runs on its own, with its own options but the tolerance,
for a limited time or until it is within 0.005 % of the best objective so far; `auto`, which runs first, and
`label_sets` use all of their time. `auto` runs what it chooses with the options that it chooses. Seconds are the
solver's, from the call to the first record whose objective is within 1, 0.1 and 0.01 % of the best of all.

    python benchmarks/roads.py --sentences 3000 --limit 12 --json roads.json
    python benchmarks/roads.py --json roads.json --page docs/experiments.md --figure docs/roads.svg
    python benchmarks/roads.py --solver auto --solver owlqn --solver two_stage --json twelve.json

Rows that the file has are not run again. Data: the folder named by the environment variable LOGLINEAR_DATA.
"""

from __future__ import annotations

import argparse
import lzma
import math
import os
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "papers"))

from rows import Rows, fill, markdown  # noqa: E402
from sentences import Sentence, columns, encoded  # noqa: E402
from tasks import TASKS, Task  # noqa: E402

from loglinear import ChainFeatures, ChainObjective, ElasticNet, Stop, minimize  # noqa: E402
from loglinear.errors import LogLinearError  # noqa: E402
from loglinear.problem import Problem  # noqa: E402
from loglinear.result import TraceRecord  # noqa: E402
from loglinear.solvers import SOLVERS as KINDS  # noqa: E402
from loglinear.solvers import Auto, make_solver, option_names, suits  # noqa: E402

GAPS = (0.01, 0.001, 0.0001)
# l1 and l2.
PENALTIES = {"l1 = 1": (1.0, 0.0), "l1 = 0.1, l2 = 0.2": (0.1, 0.2), "l2 = 2": (0.0, 2.0)}
# No tolerance ends a run before its time, but what a solver cannot do without.
EXACT = {"tolerance": 1e-7}
# These two run for all of their time: the best objective is one that they find, as a rule. The others end within this
# share of the best so far.
THOROUGH = ("auto", "label_sets")
NEAR = 0.5e-4
MARKS = "osD^vP*<>Xdph8"


def tagged(path: Path) -> list[Sentence]:
    """Words and their language-specific tags, from compressed lines of word, UPOS and XPOS."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        blocks = lines.read().split("\n\n")
    rows = ([line.split("\t") for line in block.splitlines()] for block in blocks if block.strip())
    return [[(row[0], row[2]) for row in block] for block in rows]


def icelandic(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    folder = data / "ud-icelandic-icepahc"
    return tagged(next(folder.glob("*train*"))), tagged(next(folder.glob("*test*")))


def universal(path: Path) -> list[Sentence]:
    """Words and their universal tags, from CoNLL-U."""
    rows = columns(path, "#")
    return [[(row[1], row[3]) for row in sentence if row[0].isdigit()] for sentence in rows]


def ewt(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    folder = data / "ud-english-ewt"
    return universal(folder / "en_ewt-ud-train.conllu"), universal(folder / "en_ewt-ud-test.conllu")


def addresses(path: Path) -> list[Sentence]:
    """Words of addresses and what they are, from XML."""
    every = ElementTree.parse(path).getroot()
    return [[(word, part.tag) for part in address for word in (part.text or "").split()] for address in every]


def usaddress(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    folder = data / "usaddress"
    return addresses(folder / "labeled.xml"), addresses(folder / "labeled-test.xml")


def affiliations(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    """Words of affiliations and what they are; the other columns, which are GROBID's own features, are not used."""
    sentences = columns(data / "grobid/affiliation-address.train")
    return [[(row[0], row[-1]) for row in sentence] for sentence in sentences], []


ALL = {
    name: TASKS[name]
    for name in ("conll2000", "conll2002-dutch", "jnlpba2004", "masc-pos", "pku", "sxu", "msra-ner", "ocr-letters")
}
ALL |= {
    task.name: task
    for task in (
        Task("icelandic", "pos", icelandic, "accuracy"),
        Task("ewt", "pos", ewt, "accuracy"),
        Task("usaddress", "ner", usaddress),
        Task("affiliations", "ner", affiliations),
    )
}


def objective_of(task: Task, size: int | None, order: int, threads: int) -> ChainObjective:
    """The objective of a task's training sentences, or of the first of them."""
    train = task.read(Path(os.environ["LOGLINEAR_DATA"]))[0][:size]
    return ChainObjective(encoded(train, task.preset), ChainFeatures(order=order), threads=threads)


def course_of(problem: Problem, name: str, limit: float, enough: float) -> list[tuple[float, float]]:
    """Seconds and objectives of a solver's run, which ends at an objective that is enough."""
    course = []

    def seen(record: TraceRecord, _: Any) -> bool:
        course.append((record.seconds, record.objective))
        return record.objective <= enough

    options = {option: value for option, value in EXACT.items() if option in option_names(KINDS[name])}
    try:
        if suits(KINDS[name], problem):
            minimize(problem, make_solver(name, **options), callbacks=[seen], stop=Stop(max_seconds=limit))
    except LogLinearError as error:  # no passes in second order, no room for a matrix, divergence
        print(f"  {name}: {error}", file=sys.stderr, flush=True)
    if course:
        print(f"  {name}: {course[-1][1]:.2f} in {course[-1][0]:.1f} s", file=sys.stderr, flush=True)
    return course


def courses_of(problem: Problem, names: list[str], limit: float) -> dict[str, list[tuple[float, float]]]:
    """The course of each solver that has one."""
    courses: dict[str, list[tuple[float, float]]] = {}
    for name in sorted(names, key=lambda name: (name not in THOROUGH, name)):
        best = least(courses)
        courses[name] = course_of(problem, name, limit, -math.inf if name in THOROUGH else best * (1.0 + NEAR))
    return {name: course for name, course in courses.items() if course}


def least(courses: dict[str, list[tuple[float, float]]]) -> float:
    """The best objective so far."""
    return min((value for course in courses.values() for _, value in course if math.isfinite(value)), default=math.inf)


def measure(rows: Rows, chosen: argparse.Namespace) -> None:
    """Run what the file does not have."""
    for name in chosen.data or ALL:
        objective = None
        for penalty in chosen.penalty or PENALTIES:
            key = {"data": name, "penalty": penalty, "order": chosen.order, "sentences": chosen.sentences}
            if rows.find(key):
                continue
            objective = objective or objective_of(ALL[name], chosen.sentences, chosen.order, chosen.threads)
            problem = Problem(objective, ElasticNet(*PENALTIES[penalty]))
            print(f"{name}, {penalty}: {problem.n_features:,} features", file=sys.stderr, flush=True)
            courses = courses_of(problem, chosen.solver or list(KINDS), chosen.limit)
            best = least(courses)
            seconds = {
                solver: [next((s for s, value in course if value <= best * (1 + gap)), None) for gap in GAPS]
                for solver, course in courses.items()
            }
            auto = Auto().choice(problem).name
            rows.add(key | {"best": best, "seconds": seconds, "auto": auto, "limit": chosen.limit})


def name_of(row: dict[str, Any]) -> str:
    """What the row is about."""
    size = "" if row["sentences"] else ", whole"
    return f"{row['data']}{size}{', order 2' if row['order'] == 2 else ''}, {row['penalty']}"


def cell(seconds: list[float | None] | None) -> str | None:
    """Seconds to 1, 0.1 and 0.01 %."""
    return None if seconds is None else " / ".join("-" if s is None else f"{s:.2g}" for s in seconds)


def summary(rows: list[dict[str, Any]]) -> str:
    """What `auto` chose, beside the named solver that is first at 0.1 % and the plain one."""
    lines = []
    for row in rows:
        reached = {solver: seconds[1] for solver, seconds in row["seconds"].items() if seconds[1] is not None}
        named = [solver for solver in reached if solver != "auto"]
        best = min(named, key=lambda solver: reached[solver], default=None)
        auto, plain = reached.get("auto"), reached.get("owlqn" if row["penalty"].startswith("l1") else "lbfgs")
        over = None if best is None or auto is None else f"{auto / reached[best]:.2f}"
        gain = None if plain is None or auto is None else f"{plain / auto:.1f}"
        of_best = None if best is None else cell(row["seconds"][best])
        lines.append([name_of(row), row["auto"], cell(row["seconds"]["auto"]), best, of_best, over, gain])
    heads = ["data, penalty", "chosen", "`auto`, s", "best named", "s", "`auto` / best", "plain / `auto`"]
    return markdown(heads, lines)


def by_solver(rows: list[dict[str, Any]]) -> str:
    """Seconds of each named solver that came to 1 % on some row."""
    reached = {name for row in rows for name, seconds in row["seconds"].items() if seconds[0] is not None}
    names = [name for name in KINDS if name in reached and name != "auto"]
    lines = [[name_of(row), *(cell(row["seconds"].get(name)) for name in names)] for row in rows]
    return markdown(["data, penalty", *(f"`{name}`" for name in names)], lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds to 0.1 %, a line for each row and a mark for each solver; that of `auto` is a ring."""
    from loglinear.report.figure import new_figure, written

    names = [name for name in KINDS if name != "auto" and any(row["seconds"].get(name, [None] * 2)[1] for row in rows)]
    with new_figure(7.2, 1.6 + 0.3 * len(rows)) as figure:
        axis = figure.subplots()
        for number, solver in enumerate([*names, "auto"]):
            points = [(row["seconds"].get(solver, [None] * 2)[1], at) for at, row in enumerate(rows)]
            points = [(seconds, at) for seconds, at in points if seconds]
            ring = {"marker": "o", "markersize": 12, "fillstyle": "none", "color": "0.3"}
            mark = ring if solver == "auto" else {"marker": MARKS[number % len(MARKS)], "markersize": 5}
            axis.plot(*zip(*points, strict=True) if points else ([], []), linestyle="none", label=solver, **mark)
        axis.set_xscale("log")
        axis.set_xlabel("seconds to 0.1 % above the best objective")
        axis.set_yticks(range(len(rows)), [name_of(row) for row in rows])
        axis.invert_yaxis()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        path.write_bytes(written(figure, str(path)))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", choices=ALL)
    parser.add_argument("--penalty", action="append", choices=PENALTIES)
    parser.add_argument("--solver", action="append", choices=KINDS, help="by default each that suits")
    parser.add_argument("--order", type=int, default=1, choices=(1, 2))
    parser.add_argument("--sentences", type=int, help="most sentences of training")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="rows, read and written")
    parser.add_argument("--page", type=Path, help="page whose table is filled in")
    parser.add_argument("--table", help="only the table of what `auto` does, filled into the page under this name")
    parser.add_argument("--figure", type=Path)
    return parser.parse_args()


def main() -> None:
    chosen = options()
    rows = Rows(chosen.json)
    if chosen.page is None and chosen.figure is None:
        measure(rows, chosen)
    with_l1 = [row for row in rows.rows if row["penalty"].startswith("l1")]
    tables = (
        {chosen.table: summary(rows.rows)}
        if chosen.table
        else {
            "auto": summary(rows.rows),
            "with L1": by_solver(with_l1),
            "without L1": by_solver([row for row in rows.rows if row not in with_l1]),
        }
    )
    for name, table in tables.items():
        print(table, end="\n\n")
        if chosen.page is not None:
            fill(chosen.page, "roads", name, table)
    if chosen.figure is not None:
        draw(rows.rows, chosen.figure)


if __name__ == "__main__":
    main()
