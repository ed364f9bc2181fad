"""Tables I-V and figures 2, 3, 5-13 of Mathur & Chakrabarti (2010): quasi-Newton training over clusters of features.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/mathur2010.py --json mathur2010.json --figures docs/papers

Topics of Reuters-21578 (ModApte) against the rest, words as binary features, no intercept; l2 is the ridge parameter.
The Dutch part of CoNLL-2002 stands in for the English entities of CoNLL-2003, which are not free.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from courses import Course, Timed, first_below, plain, trained
from rows import markdown
from tasks import TASKS, Data, options
from topics import Texts

from loglinear.minimize import Stop, minimize
from loglinear.solvers import BFGS, IIS, LBFGS
from loglinear.solvers.parts.projection import chunks

TOPICS = ("grain", "money-fx", "interest", "wheat", "gas")
RIDGES = (1e-7, 1e-10)
SWEEP = tuple(10.0**power for power in range(-10, 2))
# Section III-E; the number of fine iterations is not in the paper.
POLICY = {"num_rounds": 2, "cluster_factor": 15, "fine_iterations": 10}
ENTITIES = {"num_rounds": 1, "cluster_factor": 10, "fine_iterations": 100}  # section IV-C
WORD_PREVIOUS_POS = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\n"
PHASES = ("fine", "coarse", "patch-up")
ENDS = {"CONVERGED": "converged", "STOPPED_BY_CALLBACK": "limit"}
NEAR = (1.0, 0.1)  # nats above the lowest objective known
EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6)
# Tables I-III of the paper: seconds.
PAPER_BASIC = {"grain": (33.7, None), "money-fx": (338.5, 293.5), "interest": (162.7, 48.7), "wheat": (31.8, 29.8)}
PAPER_BASIC["gas"] = (22.0, None)
PAPER_ROUNDS = {"grain": (10.3, 9.7, 13.9), "money-fx": (36.9, 52.3, 82.9), "gas": (8.3, 10.3, 11.7)}
PAPER_CLUSTER = {"money-fx": (46.8, 32.0), "wheat": (11.7, 11.8), "interest": (24.5, 27.1)}
PAPER_F1 = {
    "money-fx": (73.9, 76.1, 78.0, 77.1),
    "wheat": (82.6, 82.0, 84.3, 82.4),
    "interest": (76.0, 68.3, 75.6, 74.9),
}


def cluster(**options: Any) -> Callable[[], Timed]:
    """A maker of the clustered optimiser."""
    return partial(Timed, **(POLICY | options))


def seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def ratio(basic: float | None, other: float | None) -> str | None:
    return None if basic is None or other is None else f"{basic / other:.2f}"


def small_problems(texts: Texts, report: Any, repeats: int) -> None:
    """Table I and figures 2, 3 and 5: BFGS on the 500 most informative words, without penalty."""
    shorter = cluster(num_rounds=1, optimizer="bfgs", fine_iterations=5, clustering="kmeans")
    collapsed = partial(shorter, coarse_tolerance=0.0)
    scaling, collapse, courses = [], [], []
    for topic in ("grain", "money-fx", "interest"):
        methods = {"BFGS": BFGS, "BFGS, clusters": collapsed, "BFGS, clusters, to 1e-4": shorter, "L-BFGS": LBFGS}
        basic, *_, limited = rows = texts.run(topic, 0.0, methods, few=True, repeats=repeats)
        (iterative,) = texts.run(topic, 0.0, {"IIS": IIS}, few=True, repeats=1, stop=Stop(max_iterations=1000))
        courses.append((topic, rows))
        report.rows += [*rows, iterative]
        sooner = first_below(basic, iterative["objective"], 1)
        for row in (iterative, basic, limited):
            cells = [row["iterations"], seconds(row["seconds"]), f"{row['objective']:.2f}", f"{row['score']:.1f}"]
            scaling.append([topic, row["method"], *cells, seconds(sooner) if row is basic else ""])
        for row in rows:
            spent = " + ".join(f"{row['phases'][phase][0]:.0f}" for phase in PHASES)
            near = [first_below(row, basic["objective"] + gap, column) for gap in NEAR for column in (0, 1)]
            near[1::2] = map(seconds, near[1::2])
            collapse.append([topic, row["method"], spent, seconds(row["seconds"]), f"{row['objective']:.3f}", *near])
    heads = ["topic", "method", "iterations", "seconds", "objective", "F1", "seconds to IIS's objective"]
    report.table("Table I: iterative scaling and BFGS, 500 words, no ridge", heads, scaling)
    heads = ["topic", "method", "evaluations: fine + coarse + patch-up", "seconds", "objective"]
    heads += [f"{what} to {gap:g} nats above BFGS's" for gap in NEAR for what in ("evaluations", "seconds")]
    report.table("Figure 5: BFGS over clusters, 500 words, no ridge", heads, collapse)
    report.figure("objectives", courses, "Objective, 500 words, no ridge", "mathur2010-bfgs")
    course = Course(weights=True)
    minimize(texts.problem("grain", 0.0, True), BFGS(), callbacks=(course,))
    report.figure(
        "evolution",
        np.array(course.weights)[:, ::3],
        "Weights of a third of the 500 words in BFGS: grain",
        "mathur2010-weights",
    )


def ridges(texts: Texts, report: Any, repeats: int) -> None:
    """Figures 6 and 7: F1 and time of L-BFGS against the ridge parameter."""
    lines = {topic: [texts.run(topic, l2, {"L-BFGS": LBFGS}, repeats=repeats)[0] for l2 in SWEEP] for topic in TOPICS}
    report.rows += chain(*lines.values())
    cells = [
        [topic, *(f"{row['score']:.1f} / {row['evaluations']} / {row['seconds']:.2f}" for row in rows)]
        for topic, rows in lines.items()
    ]
    report.table("Figures 6 and 7: F1 / evaluations / seconds", ["topic", *(f"{l2:g}" for l2 in SWEEP)], cells)
    report.figure("ridges", lines, "L-BFGS against the ridge parameter", "mathur2010-ridge")


def rounds(texts: Texts, report: Any, repeats: int) -> None:
    """Table II: rounds, at ridge 1e-7."""
    heads = [
        "topic",
        "policy",
        "evaluations: fine + coarse + patch-up",
        "seconds",
        "basic / this",
        "(paper)",
        "objective",
    ]
    heads += [f"evaluations to {gap:g} nats" for gap in NEAR]
    lines = []
    for topic, paper in PAPER_ROUNDS.items():
        methods = {"basic": LBFGS} | {f"{n} rounds": cluster(num_rounds=n) for n in (3, 2, 1)}
        basic, *others = rows = texts.run(topic, 1e-7, methods, repeats=repeats)
        report.rows += rows
        theirs = ["", *(f"{PAPER_BASIC[topic][0] / second:.1f}" for second in reversed(paper))]
        for row, their in zip((basic, *others), theirs, strict=True):
            spent = " + ".join(f"{row['phases'][phase][0]:.0f}" for phase in PHASES)
            cells = [spent, seconds(row["seconds"]), ratio(basic["seconds"], row["seconds"]), their]
            lines.append([topic, row["method"], *cells, f"{row['objective']:.5g}", *(texts.near(row, g) for g in NEAR)])
    report.table("Table II: rounds, ridge 1e-7", heads, lines)


def comparison(texts: Texts, report: Any, repeats: int) -> None:
    """Tables III and IV, figures 8 and 9: basic and clustered."""
    heads = ["topic", "ridge", "method", "F1", "(paper)", "seconds", "basic / this", "(paper)", "objective"]
    heads += [f"seconds to {gap:g} nats" for gap in NEAR]
    lines, account, courses = [], [], []
    for topic, paper in PAPER_CLUSTER.items():
        for at, l2 in enumerate(RIDGES):
            rows = texts.run(topic, l2, {"basic": LBFGS, "clustered": cluster()}, repeats=repeats)
            report.rows += rows
            courses.append((f"{topic}, ridge {l2:g}", rows))
            for number, row in enumerate(rows):
                theirs = f"{PAPER_BASIC[topic][at] / paper[at]:.1f}" if number else ""
                cells = [f"{row['score']:.1f}", PAPER_F1[topic][2 * at + number], seconds(row["seconds"])]
                cells += [ratio(rows[0]["seconds"], row["seconds"]), theirs, f"{row['objective']:.5g}"]
                lines.append([topic, f"{l2:g}", row["method"], *cells, *(seconds(texts.near(row, g, 1)) for g in NEAR)])
            spent = rows[1]["phases"]
            parts = [spent["fine"][1] + spent["patch-up"][1], rows[1]["clustering"], spent["coarse"][1]]
            each = [1000.0 * rows[1]["phases"]["coarse"][1] / max(spent["coarse"][0], 1.0)]
            each.append(1000.0 * rows[0]["seconds"] / rows[0]["evaluations"])
            account.append(
                [
                    topic,
                    f"{l2:g}",
                    *(f"{part:.3f}" for part in (rows[0]["seconds"], *parts)),
                    *(f"{e:.2f}" for e in each),
                ]
            )
    report.table("Table III: basic and clustered", heads, lines)
    heads = ["topic", "ridge", "basic", "fine", "clustering", "coarse", "ms a coarse evaluation", "ms a basic one"]
    report.table("Table IV: account of seconds", heads, account)
    bests = [texts.best(topic, l2).objective for topic in PAPER_CLUSTER for l2 in RIDGES]
    report.figure("objectives", courses, "Objective above the lowest known, nats", "mathur2010-objective", bests)
    report.figure("scores", courses, "F1 on the test documents", "mathur2010-f1")


def factors(texts: Texts, report: Any, repeats: int) -> None:
    """Table V: cluster factor and pre-aggregation, ridge 1e-7."""
    lines = []
    for topic in ("wheat", "money-fx", "interest"):
        methods = {
            f"{factor} {added}": cluster(cluster_factor=factor, aggregate=added)
            for factor in (10, 20, 50)
            for added in (False, True)
        }
        rows = texts.run(topic, 1e-7, methods, repeats=repeats)
        report.rows += rows
        w = minimize(texts.problem(topic, 1e-7), LBFGS(), stop=Stop(max_iterations=10)).w
        for without, added, factor in zip(rows[::2], rows[1::2], (10, 20, 50), strict=True):
            cmap = chunks(w, factor)
            entries = texts.objective(topic).aggregate(cmap, int(cmap.max()) + 1).design.nnz
            (n, before), (_, after) = without["phases"]["coarse"], added["phases"]["coarse"]
            cells = [f"{n:.0f}", *(f"{1000.0 * part / n:.2f}" for part in (before, after))]
            spent = [seconds(without["seconds"]), seconds(added["seconds"])]
            patch = f"{added['phases']['patch-up'][0]:.0f}"
            lines.append([topic, factor, *cells, f"{entries:,}", patch, *spent, f"{added['objective']:.5g}"])
    heads = ["topic", "factor", "coarse evaluations", "ms each", "ms each, added up", "entries, added up"]
    heads += ["patch-up evaluations", "seconds", "seconds, added up", "objective"]
    report.table("Table V: cluster factor, ridge 1e-7", heads, lines)


def choices(texts: Texts, report: Any, repeats: int) -> None:
    """What else could be chosen: evaluations to 0.1 nats, or in all, and F1."""
    settings: dict[str, Any] = {f"L-BFGS, memory {m}": partial(LBFGS, memory=m) for m in (3, 5, 6, 7, 20)}
    for count, factor in ((5, 15), (10, 15), (10, 5), (20, 15), (20, 5), (50, 15), (100, 15)):
        name = f"clusters of {factor} after {count}"
        settings[name] = cluster(num_rounds=1, fine_iterations=count, cluster_factor=factor)
    settings["clusters of 15 after 10, memory 20"] = cluster(num_rounds=1, memory=20)
    settings["clusters of 15 after 10, coarse to 1e-2"] = cluster(num_rounds=1, coarse_tolerance=1e-2)
    for l2 in (*RIDGES, 1e-4):
        rows = {topic: texts.run(topic, l2, settings, repeats=1) for topic in TOPICS}
        report.rows += chain(*rows.values())
        lines = []
        for at, name in enumerate(settings):
            found = [rows[topic][at] for topic in TOPICS]
            cells = [f"{row['evaluations']} / {texts.near(row, 0.1) or '-'} / {row['score']:.1f}" for row in found]
            lines.append([name, *cells])
        title = f"Choices, ridge {l2:g}: evaluations to the solver's own rule / to 0.1 nats / F1"
        report.table(title, ["method", *TOPICS], lines)


def gradient_rules(texts: Texts, report: Any, most: int) -> None:
    """Evaluations until |gradient| <= epsilon max(1, |w|), the rule of the crf.sf.net package (epsilon 1e-3)."""
    exact = {"tolerance": 0.0, "gradient_tolerance": 0.0}
    methods: dict[str, Any] = {}
    for memory in (3, 5, 7):
        methods[f"L-BFGS, memory {memory}"] = partial(LBFGS, memory=memory, **exact)
        for count in (20, 100):
            methods[f"clusters after {count}, memory {memory}"] = cluster(fine_iterations=count, memory=memory, **exact)
    lines = []
    for topic in ("money-fx", "interest"):
        for l2 in RIDGES:
            best = texts.best(topic, l2).objective
            for row in texts.run(topic, l2, methods, repeats=1, stop=Stop(max_passes=most), every=100):
                cells = []
                for epsilon in EPSILONS:
                    points = (p for p in row["curve"] if p[4] <= epsilon and p[3] != "coarse")
                    point = next(points, None)
                    cells.append(point and f"{point[0]} ({point[2] - best:.3f})")
                lines.append([topic, f"{l2:g}", row["method"], *cells])
    heads = ["topic", "ridge", "method", *(f"{epsilon:g}" for epsilon in EPSILONS)]
    report.table("Evaluations until |gradient| <= epsilon max(1, |w|) (nats above the lowest)", heads, lines)


def explained(w: Any, final: Any, factor: int) -> float:
    """The share of the variance of final weights that lies between clusters of others."""
    cmap = chunks(w, factor)
    means = np.bincount(cmap, weights=final) / np.bincount(cmap)
    return 1.0 - float(((final - means[cmap]) ** 2).sum() / ((final - final.mean()) ** 2).sum())


def persistence(texts: Texts, report: Any) -> None:
    """How much of the optimum's weights the clusters of earlier weights hold."""
    iterations, lines = (5, 10, 20, 40), []
    for topic in TOPICS:
        course = Course(weights=True)
        final = texts.best(topic, 1e-7).w
        minimize(texts.problem(topic, 1e-7), LBFGS(), callbacks=(course,), stop=Stop(max_iterations=max(iterations)))
        shares = [explained(course.weights[min(i, len(course.weights) - 1)], final, 15) for i in iterations]
        lines.append([topic, *(f"{100.0 * share:.0f} %" for share in shares)])
    heads = ["topic", *(f"after {i} iterations" for i in iterations)]
    report.table("Variance of the optimum's weights that clusters of 15 hold, ridge 1e-7", heads, lines)


def entities(report: Any, arguments: Any) -> None:
    """Figures 10 to 13: named entities, ridge 1e-7."""
    task = replace(TASKS["conll2002-dutch"], preset=WORD_PREVIOUS_POS)
    data = Data(task, 2000 if arguments.quick else None, arguments.threads)
    report.say(f"conll2002-dutch: {len(data.train):,} sentences, {data.objective.n_features:,} features")
    methods: dict[str, Any] = {"basic": LBFGS}
    for count in (100, 20):
        methods[f"clustered after {count}"] = partial(
            Timed, **(ENTITIES | {"fine_iterations": count, "aggregate": False})
        )
    methods["clustered after 100, added up"] = partial(Timed, **ENTITIES)
    problem = data.problem(l2=1e-7)
    rows = trained(problem, methods, data.score, repeats=1, every=10, most=arguments.seconds)
    report.rows += [row | {"task": "conll2002-dutch", "l2": 1e-7} for row in rows]
    start, lowest = rows[0]["curve"][0][2], min(row["objective"] for row in rows)
    limits = [1e-2 * start, 1e-3 * start, 1.05 * lowest, 1.01 * lowest]
    lines = []
    for row in rows:
        spent = [f"{row['phases'][phase][0]:.0f}, {row['phases'][phase][1]:.1f} s" for phase in row["phases"]]
        reached = [(first_below(row, limit, 0), first_below(row, limit, 1)) for limit in limits]
        near = [None if time is None else f"{count}, {time:.1f} s" for count, time in reached]
        cells = [*spent, seconds(row["clustering"]), seconds(row["seconds"]), f"{row['objective']:.2f}"]
        lines.append([row["method"], *cells, f"{row['score'][0]:.2f}", *near, ENDS.get(row["status"])])
    heads = ["method", "fine", "coarse", "patch-up", "clustering, s", "seconds", "objective", "F1"]
    heads += [*(f"to {limit:.0f} nats" for limit in limits[:2]), "to 5 %", "to 1 % above the lowest", "end"]
    report.table("Named entities, ridge 1e-7: evaluations and seconds", heads, lines)
    courses = [("CoNLL-2002 Dutch, ridge 1e-7", rows[:3])]
    report.figure("objectives", courses, "Named entities: objective, nats", "mathur2010-ner-objective")
    report.figure("types", rows[:2], "Named entities: F1 by type", "mathur2010-ner-f1")
    course = Course(weights=True)
    minimize(problem, LBFGS(), callbacks=(course,), stop=Stop(max_iterations=100))
    sample = np.random.default_rng(0).choice(data.objective.n_features, 60, replace=False)
    weights = np.array([w[sample] for w in course.weights])
    report.figure("evolution", weights, "60 weights of the CRF in L-BFGS", "mathur2010-ner-weights")


class Report:
    """Prints tables, keeps rows for the file of JSON, draws figures."""

    def __init__(self, folder: str | None) -> None:
        self.folder, self.rows = folder, []

    def say(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)

    def table(self, title: str, heads: list[str], lines: list[list[Any]]) -> None:
        """Print a table."""
        self.say(f"\n{title}\n\n{markdown(heads, lines)}\n")

    def figure(self, kind: str, content: Any, title: str, name: str, *more: Any) -> None:
        """Draw, if figures are wanted, with the function of this name in ``figures``."""
        if self.folder:
            import figures

            getattr(figures, kind)(content, title, Path(self.folder) / f"{name}.svg", *more)

    def write(self, path: str | None) -> None:
        """Write the rows, if they are wanted."""
        if path:
            Path(path).write_text(json.dumps([plain(row) for row in self.rows]))


def main() -> None:
    parser = options(__doc__, ["reuters", "conll2002-dutch"])
    parser.set_defaults(threads=1)
    parser.add_argument("--repeats", type=int, default=5, help="trainings whose median time counts")
    parser.add_argument("--seconds", type=float, default=400.0, help="limit on each training of the CRF")
    arguments = parser.parse_args()
    report, repeats = Report(arguments.figures), arguments.repeats
    if arguments.quick:
        repeats, arguments.seconds = 1, min(arguments.seconds, 3.0)
    if "reuters" in arguments.tasks:
        texts = Texts(arguments.threads, arguments.quick)
        for part in (small_problems, ridges, rounds, comparison, factors, choices):
            part(texts, report, repeats)
            report.write(arguments.json)
        gradient_rules(texts, report, 100 if arguments.quick else 1500)
        persistence(texts, report)
    if "conll2002-dutch" in arguments.tasks:
        entities(report, arguments)
    report.write(arguments.json)


if __name__ == "__main__":
    main()
