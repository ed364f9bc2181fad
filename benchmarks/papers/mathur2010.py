"""Tables I-V and figures 2, 3, 5-13 of Mathur & Chakrabarti (2010): quasi-Newton training over clusters of features.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/mathur2010.py --json docs/papers/mathur2010.json \
        --figures docs/papers

Topics of Reuters-21578 (ModApte) against the rest, words as binary features, no intercept; l2 is the ridge parameter.
The Dutch part of CoNLL-2002 stands in for the English entities of CoNLL-2003, which are not free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from clock import minimised
from courses import Timed, first_below, plain, trained, weights_of
from findings import Findings, verdict
from tasks import TASKS, Data, options
from topics import NEAR, Texts

from loglinear.minimize import Stop
from loglinear.solvers import BFGS, IIS, LBFGS
from loglinear.solvers.common.projection import chunks

TOPICS = ("grain", "money-fx", "interest", "wheat", "gas")
RIDGES = (1e-7, 1e-10)
SWEEP = tuple(10.0**power for power in range(-10, 2))
# Section III-E; the number of fine iterations is not in the paper.
POLICY = {"num_rounds": 2, "cluster_factor": 15, "fine_iterations": 10}
ENTITIES = {"num_rounds": 1, "cluster_factor": 10, "fine_iterations": 100}  # section IV-C
WORD_PREVIOUS_POS = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\n"
PHASES = ("fine", "coarse", "patch-up")
ENDS = {"CONVERGED": "converged", "STOPPED_BY_CALLBACK": "limit"}
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


class Study:
    """Topics of Reuters-21578, loaded when a row of theirs has to be made."""

    def __init__(self, findings: Findings, arguments: Any) -> None:
        self.findings, self.threads, self.quick, self.repeats = (
            findings,
            arguments.threads,
            arguments.quick,
            arguments.repeats,
        )
        self.claims: list[tuple[str, str, bool | None]] = []

    def claim(self, says: str, here: str, held: bool | None) -> None:
        """Keep a claim of the paper for the table of all."""
        self.claims.append((says, here, held))

    @cached_property
    def texts(self) -> Texts:
        """The documents."""
        return Texts(self.threads, self.quick)

    def made(self, what: str, topic: str, l2: float, make: Callable[[Texts], Any]) -> Any:
        """What is found for a topic at a ridge parameter."""
        wanted = {"task": "reuters", "what": what, "topic": topic, "l2": l2, "quick": self.quick}
        return self.findings.made(wanted, lambda: {"found": make(self.texts)})["found"]

    def run(self, what: str, topic: str, l2: float, methods: dict[str, Any], **about: Any) -> list[dict[str, Any]]:
        """A row for each method, by name."""
        about = {"repeats": self.repeats} | about
        return list(self.made(what, topic, l2, lambda texts: texts.run(topic, l2, methods, **about)))


def near(row: dict[str, Any], column: int) -> list[Any]:
    """Evaluations (column 0) or seconds (1) to 1 nat, then to 0.1 nats, above the lowest objective."""
    found = [row["near"][f"{gap:g}"][column] for gap in NEAR]
    return [seconds(value) for value in found] if column else found


def phased(row: dict[str, Any]) -> str:
    """Evaluations by phase."""
    return " + ".join(f"{row['phases'][phase][0]:.0f}" for phase in PHASES)


def small_problems(study: Study) -> None:
    """Table I and figures 2, 3 and 5: BFGS on the 500 most informative words, without penalty."""
    shorter = cluster(num_rounds=1, optimizer="bfgs", fine_iterations=5, clustering="kmeans")
    collapsed = partial(shorter, coarse_tolerance=0.0)
    methods = {"BFGS": BFGS, "BFGS, clusters": collapsed, "BFGS, clusters, to 1e-4": shorter, "L-BFGS": LBFGS}
    scaling, collapse, courses = [], [], []
    for topic in ("grain", "money-fx", "interest"):
        basic, *_, limited = rows = study.run("few words", topic, 0.0, methods, few=True)
        scaled = {"few": True, "repeats": 1, "stop": Stop(max_iterations=1000)}
        (iterative,) = study.run("scaling", topic, 0.0, {"IIS": IIS}, **scaled)
        courses.append((topic, rows))
        sooner = first_below(basic, iterative["objective"], 1)
        for row in (iterative, basic, limited):
            cells = [row["iterations"], seconds(row["seconds"]), f"{row['objective']:.2f}", f"{row['score']:.1f}"]
            scaling.append([topic, row["method"], *cells, seconds(sooner) if row is basic else ""])
        for row in rows:
            cells = [phased(row), seconds(row["seconds"]), f"{row['objective']:.3f}"]
            evaluations, times = near(row, 0), near(row, 1)
            collapse.append([topic, row["method"], *cells, evaluations[0], times[0], evaluations[1], times[1]])
    heads = ["topic", "method", "iterations", "seconds", "objective", "F1", "seconds to IIS's objective"]
    study.findings.table("Table I", heads, scaling)
    heads = ["topic", "method", "evaluations: fine + coarse + patch-up", "seconds", "objective"]
    heads += [f"{what} to {gap:g} nats above BFGS's" for gap in NEAR for what in ("evaluations", "seconds")]
    study.findings.table("Figure 5", heads, collapse)
    study.findings.figure("objectives", "mathur2010-bfgs", courses, "Objective, 500 words, no ridge")
    weights = study.made("weights", "grain", 0.0, lambda texts: evolved(texts.problem("grain", 0.0, True), BFGS(), 3))
    title = "Weights of a third of the 500 words in BFGS: grain"
    study.findings.figure("evolution", "mathur2010-weights", np.array(weights), title)
    sooner = [float(line[-1]) / float(seen[3]) for line, seen in zip(scaling[1::3], scaling[::3], strict=True)]
    best = [float(line[4]) < float(seen[4]) for line, seen in zip(scaling[1::3], scaling[::3], strict=True)]
    study.claim(
        "Table I: BFGS trains in 0.5 to 0.6 of the time of FIS and attains better objectives",
        f"IIS's objective after {', '.join(f'{share:.4f}' for share in sooner)} of IIS's time",
        all(best) and max(sooner) < 1,
    )
    quick = [(rows[0]["near"]["1"][1], rows[2]["near"]["1"][1]) for _, rows in courses]
    study.claim(
        "Figure 5: BFGS over clusters decreases the objective much faster than BFGS",
        "seconds to 1 nat above BFGS's, with clusters and without: "
        + "; ".join(f"{topic} {seconds(b)}, {seconds(a)}" for (topic, _), (a, b) in zip(courses, quick, strict=True)),
        verdict([b is not None and b < a for a, b in quick]),
    )


def evolved(problem: Any, solver: Any, every: int) -> Any:
    """Every third weight, say, iteration by iteration."""
    return np.round(weights_of(problem, solver)[:, ::every], 4).tolist()


def ridges(study: Study) -> None:
    """Figures 6 and 7: F1 and time of L-BFGS against the ridge parameter."""
    lines = {
        topic: [
            study.run("ridge", topic, l2, {"L-BFGS": LBFGS}, courses=False, lowest=False)[0] | {"l2": l2}
            for l2 in SWEEP
        ]
        for topic in TOPICS
    }
    cells = [
        [topic, *(f"{row['score']:.1f} / {row['evaluations']} / {row['seconds']:.2f}" for row in rows)]
        for topic, rows in lines.items()
    ]
    study.findings.table("Figures 6 and 7", ["topic", *(f"{l2:g}" for l2 in SWEEP)], cells)
    study.findings.figure("ridges", "mathur2010-ridge", lines, "L-BFGS against the ridge parameter")
    best = {topic: max(rows, key=lambda row: row["score"]) for topic, rows in lines.items()}
    longest = {topic: max(rows, key=lambda row: row["evaluations"]) for topic, rows in lines.items()}
    study.claim(
        "Figure 6: ridges of 1e-7 and 1e-10 win on F1 for most topics",
        "; ".join(f"{topic} is best at {row['l2']:g}" for topic, row in best.items()),
        verdict([row["l2"] <= 1e-6 for row in best.values()]),
    )
    study.claim(
        "Figure 7: training takes longest for a middle range of ridges",
        "; ".join(f"{topic} at {row['l2']:g}" for topic, row in longest.items()),
        verdict([1e-6 < row["l2"] < 1 for row in longest.values()]),
    )


def rounds(study: Study) -> None:
    """Table II: rounds, at ridge 1e-7."""
    heads = ["topic", "policy", "evaluations: fine + coarse + patch-up", "seconds", "basic / this", "(paper)"]
    heads += ["objective", *(f"evaluations to {gap:g} nats" for gap in NEAR)]
    methods = {
        "basic": LBFGS,
        "3 rounds": cluster(num_rounds=3),
        "2 rounds": cluster(),
        "1 round": cluster(num_rounds=1),
    }
    lines = []
    for topic, paper in PAPER_ROUNDS.items():
        rows = study.run("rounds", topic, 1e-7, methods, courses=False)
        theirs = ["", *(f"{PAPER_BASIC[topic][0] / second:.1f}" for second in reversed(paper))]
        for row, their in zip(rows, theirs, strict=True):
            cells = [phased(row), seconds(row["seconds"]), ratio(rows[0]["seconds"], row["seconds"]), their]
            lines.append([topic, row["method"], *cells, f"{row['objective']:.5g}", *near(row, 0)])
    study.findings.table("Table II", heads, lines)
    ratios = {f"{line[0]}, {line[1]}": float(line[4]) for line in lines if line[1] != "basic"}
    study.claim(
        "Table II: with any number of rounds training is 1.9 to 9.2 times as fast; one or two are best",
        "; ".join(f"{name} {value:.2f}" for name, value in ratios.items()),
        verdict([value > 1 for value in ratios.values()]),
    )


def comparison(study: Study) -> None:
    """Tables III and IV, figures 8 and 9: basic and clustered."""
    heads = ["topic", "ridge", "method", "F1", "(paper)", "seconds", "basic / this", "(paper)", "objective"]
    heads += [f"seconds to {gap:g} nats" for gap in NEAR]
    lines, account, courses, bests = [], [], [], []
    for topic, paper in PAPER_CLUSTER.items():
        for at, l2 in enumerate(RIDGES):
            rows = study.run("basic and clustered", topic, l2, {"basic": LBFGS, "clustered": cluster()})
            courses.append((f"{topic}, ridge {l2:g}", rows))
            bests.append(study.made("lowest", topic, l2, lambda texts, t=topic, r=l2: texts.best(t, r).objective))
            for number, row in enumerate(rows):
                theirs = f"{PAPER_BASIC[topic][at] / paper[at]:.1f}" if number else ""
                cells = [f"{row['score']:.1f}", PAPER_F1[topic][2 * at + number], seconds(row["seconds"])]
                cells += [ratio(rows[0]["seconds"], row["seconds"]), theirs, f"{row['objective']:.5g}"]
                lines.append([topic, f"{l2:g}", row["method"], *cells, *near(row, 1)])
            spent = rows[1]["phases"]
            parts = [spent["fine"][1] + spent["patch-up"][1], rows[1]["clustering"], spent["coarse"][1]]
            each = [1000.0 * spent["coarse"][1] / max(spent["coarse"][0], 1.0)]
            each.append(1000.0 * rows[0]["seconds"] / rows[0]["evaluations"])
            cells = [*(f"{part:.3f}" for part in (rows[0]["seconds"], *parts)), *(f"{e:.2f}" for e in each)]
            account.append([topic, f"{l2:g}", *cells])
    study.findings.table("Table III", heads, lines)
    heads = ["topic", "ridge", "basic", "fine", "clustering", "coarse", "ms a coarse evaluation", "ms a basic one"]
    study.findings.table("Table IV", heads, account)
    faster = [float(line[6]) for line in lines[1::2]]
    lost = [float(basic[3]) - float(other[3]) for basic, other in zip(lines[::2], lines[1::2], strict=True)]
    study.claim(
        "Table III: clustered L-BFGS is 1.8 to 9.2 times as fast, F1 within 2 to 5 % (once 7 points below)",
        f"{min(faster):.2f} to {max(faster):.2f} times as fast, F1 {min(lost):.1f} to {max(lost):.1f} points lower",
        verdict([value > 1 for value in faster]),
    )
    clusterings, wholes = [float(line[4]) for line in account], [sum(map(float, line[3:6])) for line in account]
    study.claim(
        "Table IV: the time of clustering is negligible",
        f"at most {1000 * max(clusterings):.0f} ms of {1000 * max(wholes):.0f}",
        all(part < 0.05 * whole for part, whole in zip(clusterings, wholes, strict=True)),
    )
    title = "Objective above the lowest known, nats"
    study.findings.figure("objectives", "mathur2010-objective", courses, title, bests=bests)
    study.findings.figure("scores", "mathur2010-f1", courses, "F1 on the test documents")


def factors(study: Study) -> None:
    """Table V: cluster factor and pre-aggregation, ridge 1e-7."""
    lines = []
    counts = (10, 20, 50)
    for topic in ("wheat", "money-fx", "interest"):
        methods = {
            f"{factor} {added}": cluster(cluster_factor=factor, aggregate=added)
            for factor in counts
            for added in (False, True)
        }
        rows = study.run("factors", topic, 1e-7, methods, courses=False)
        entries = study.made(
            "entries", topic, 1e-7, lambda texts, topic=topic: [len_added(texts, topic, n) for n in counts]
        )
        for without, added, factor, left in zip(rows[::2], rows[1::2], counts, entries, strict=True):
            (n, before), (_, after) = without["phases"]["coarse"], added["phases"]["coarse"]
            cells = [f"{n:.0f}", *(f"{1000.0 * part / max(n, 1.0):.2f}" for part in (before, after))]
            spent = [seconds(without["seconds"]), seconds(added["seconds"])]
            patch = f"{added['phases']['patch-up'][0]:.0f}"
            lines.append([topic, factor, *cells, f"{left:,}", patch, *spent, f"{added['objective']:.5g}"])
    heads = ["topic", "factor", "coarse evaluations", "ms each", "ms each, added up", "entries, added up"]
    heads += ["patch-up evaluations", "seconds", "seconds, added up", "objective"]
    study.findings.table("Table V", heads, lines)
    cheaper = [1.0 - float(line[4]) / float(line[3]) for line in lines]
    study.claim(
        "Table V: a factor of 50 costs more patch-up than it saves; adding up features gains little at low factors",
        "seconds at 10, 20, 50: "
        + "; ".join(f"{lines[at][0]} {', '.join(line[-2] for line in lines[at : at + 3])}" for at in range(0, 9, 3))
        + f"; a coarse evaluation is {100 * min(cheaper):.0f} to {100 * max(cheaper):.0f} % cheaper, added up",
        verdict([float(lines[at + 2][-2]) > float(lines[at][-2]) for at in range(0, 9, 3)]),
    )


def len_added(texts: Texts, topic: str, factor: int) -> int:
    """Entries of the design matrix whose features are added up in clusters of this size after 10 iterations."""
    w = minimised(texts.problem(topic, 1e-7), LBFGS(), stop=Stop(max_iterations=10)).w
    cmap = chunks(w, factor)
    return int(texts.objective(topic).aggregate(cmap, int(cmap.max()) + 1).design.nnz)


def choices(study: Study) -> None:
    """What else could be chosen: evaluations to the solver's own rule, to 0.1 nats, and F1."""
    settings: dict[str, Any] = {f"L-BFGS, memory {m}": partial(LBFGS, memory=m) for m in (3, 5, 6, 7, 20)}
    for count, factor in ((5, 15), (10, 15), (10, 5), (20, 15), (20, 5), (50, 15), (100, 15)):
        name = f"clusters of {factor} after {count}"
        settings[name] = cluster(num_rounds=1, fine_iterations=count, cluster_factor=factor)
    settings["clusters of 15 after 10, memory 20"] = cluster(num_rounds=1, memory=20)
    settings["clusters of 15 after 10, coarse to 1e-2"] = cluster(num_rounds=1, coarse_tolerance=1e-2)
    for l2 in (*RIDGES, 1e-4):
        rows = {topic: study.run("choices", topic, l2, settings, repeats=1, courses=False) for topic in TOPICS}
        lines = []
        for at, name in enumerate(settings):
            found = [rows[topic][at] for topic in TOPICS]
            lines.append(
                [name, *(f"{row['evaluations']} / {near(row, 0)[1] or '-'} / {row['score']:.1f}" for row in found)]
            )
        study.findings.table(f"Choices, ridge {l2:g}", ["method", *TOPICS], lines)


def gradient_rules(study: Study) -> None:
    """Evaluations until |gradient| <= epsilon max(1, |w|), the rule of the crf.sf.net package (epsilon 1e-3)."""
    exact = {"tolerance": 0.0, "gradient_tolerance": 0.0}
    methods: dict[str, Any] = {}
    for memory in (3, 5, 7):
        methods[f"L-BFGS, memory {memory}"] = partial(LBFGS, memory=memory, **exact)
        for count in (20, 100):
            methods[f"clusters after {count}, memory {memory}"] = cluster(fine_iterations=count, memory=memory, **exact)
    most = Stop(max_passes=100 if study.quick else 1500)

    def cells(texts: Texts, topic: str, l2: float) -> list[list[Any]]:
        best = texts.best(topic, l2).objective
        lines = []
        for row in texts.run(topic, l2, methods, repeats=1, stop=most, every=100):
            points = [(p for p in row["curve"] if p[4] <= e and p[3] != "coarse") for e in EPSILONS]
            firsts = [next(each, None) for each in points]
            lines.append([row["method"], *(p and f"{p[0]} ({p[2] - best:.3f})" for p in firsts)])
        return lines

    lines = [
        [topic, f"{l2:g}", *line]
        for topic in ("money-fx", "interest")
        for l2 in RIDGES
        for line in study.made("gradient rules", topic, l2, lambda texts, t=topic, r=l2: cells(texts, t, r))
    ]
    study.findings.table("gradient rules", ["topic", "ridge", "method", *(f"{e:g}" for e in EPSILONS)], lines)


def explained(w: Any, final: Any, factor: int) -> float:
    """The share of the variance of final weights that lies between clusters of others."""
    cmap = chunks(w, factor)
    means = np.bincount(cmap, weights=final) / np.bincount(cmap)
    return 1.0 - float(((final - means[cmap]) ** 2).sum() / ((final - final.mean()) ** 2).sum())


def persistence(study: Study) -> None:
    """How much of the optimum's weights the clusters of earlier weights hold."""
    iterations = (5, 10, 20, 40)

    def shares(texts: Texts, topic: str) -> list[float]:
        final = texts.best(topic, 1e-7).w
        weights = weights_of(texts.problem(topic, 1e-7), LBFGS(), Stop(max_iterations=max(iterations)))
        return [explained(weights[min(i, len(weights) - 1)], final, 15) for i in iterations]

    lines = []
    for topic in TOPICS:
        found = study.made("persistence", topic, 1e-7, lambda texts, topic=topic: shares(texts, topic))
        lines.append([topic, *(f"{100.0 * share:.0f} %" for share in found)])
    study.findings.table("persistence", ["topic", *(f"after {i} iterations" for i in iterations)], lines)


def entities(findings: Findings, arguments: Any) -> None:
    """Figures 10 to 13: named entities, ridge 1e-7."""
    task = replace(TASKS["conll2002-dutch"], preset=WORD_PREVIOUS_POS)
    methods: dict[str, Any] = {"basic": LBFGS}
    for count in (100, 20):
        methods[f"clustered after {count}"] = partial(
            Timed, **(ENTITIES | {"fine_iterations": count, "aggregate": False})
        )
    methods["clustered after 100, added up"] = partial(Timed, **ENTITIES)

    def made() -> dict[str, Any]:
        data = Data(task, 2000 if arguments.quick else None, arguments.threads)
        problem = data.problem(l2=1e-7)
        rows = trained(problem, methods, data.score, repeats=1, every=10, most=arguments.seconds)
        start, lowest = rows[0]["curve"][0][2], min(row["objective"] for row in rows)
        limits = [1e-2 * start, 1e-3 * start, 1.05 * lowest, 1.01 * lowest]
        for row in rows:
            row["near"] = [(first_below(row, limit, 0), first_below(row, limit, 1)) for limit in limits]
            row["ms"] = [1000.0 * ms for ms in costs(row)]
            row["best"] = max(point[5][0] for point in row["curve"] if point[5])
        weights = weights_of(problem, LBFGS(), Stop(max_iterations=100))
        final = minimised(problem, LBFGS(), stop=Stop(max_iterations=250)).w
        states = slice(*data.objective.clusterable)
        sample = np.random.default_rng(0).choice(data.objective.n_features, 60, replace=False)
        return {
            "sentences": len(data.train),
            "features": data.objective.n_features,
            "limits": limits[:2],
            "rows": [plain(row) for row in rows],
            "weights": np.round(weights[:, sample], 4).tolist(),
            "share": explained(weights[-1][states], final[states], 10),
        }

    wanted = {"task": "conll2002-dutch", "what": "entities", "l2": 1e-7, "quick": arguments.quick}
    found = findings.made(wanted, made)
    rows = found["rows"]
    lines = []
    for row in rows:
        spent = [f"{row['phases'][phase][0]:.0f}, {row['phases'][phase][1]:.1f} s" for phase in row["phases"]]
        reached = [None if time is None else f"{count}, {time:.1f} s" for count, time in row["near"]]
        cells = [
            *spent,
            f"{row['ms'][0]:.1f} to {row['ms'][1]:.1f}",
            seconds(row["clustering"]),
            seconds(row["seconds"]),
        ]
        cells += [f"{row['objective']:.2f}", f"{row['score'][0]:.2f}", f"{row['best']:.2f}"]
        lines.append([row["method"], *cells, *reached, ENDS.get(row["status"])])
    heads = ["method", "fine", "coarse", "patch-up", "ms an evaluation", "clustering, s", "seconds", "objective"]
    heads += ["F1", "highest F1 on the way", *(f"to {limit:.0f} nats" for limit in found["limits"])]
    heads += ["to 5 %", "to 1 % above the lowest", "end"]
    before = (
        f"{found['sentences']:,} sentences, {found['features']:,} features. Clusters of 10, made after 100 iterations, "
    )
    before += f"hold {100 * found['share']:.0f} % of the variance of the weights of states after 250."
    findings.table("entities", heads, lines, before)
    kinds = sorted(rows[0]["score"][1])
    lines = [[row["method"], *(f"{row['score'][1][kind]:.1f}" for kind in kinds)] for row in rows]
    findings.table("F1 by type", ["method", *kinds], lines)
    courses = [("CoNLL-2002 Dutch, ridge 1e-7", rows[:3])]
    findings.figure("objectives", "mathur2010-ner-objective", courses, "Named entities: objective, nats")
    findings.figure("types", "mathur2010-ner-f1", rows[:2], "Named entities: F1 by type")
    basic, clustered = rows[0], rows[1]

    def ratios(column: int) -> str:
        pairs = zip(basic["near"], clustered["near"], strict=True)
        return ", ".join("-" if b[column] is None else f"{a[column] / b[column]:.2f}" for a, b in pairs)

    claims: list[tuple[str, str, bool | None]] = [
        (
            "Figure 12: the clustered optimiser reduces the objective much more quickly",
            f"basic over clustered, to the four limits of the table: evaluations {ratios(0)}; seconds {ratios(1)}",
            verdict(
                [b[1] is not None and a[1] > 1.2 * b[1] for a, b in zip(basic["near"], clustered["near"], strict=True)]
            ),
        ),
        (
            "and converges in half the time",
            f"{clustered['seconds']:.1f} s, basic {basic['seconds']:.1f} s; objectives {clustered['objective']:.2f}, "
            f"{basic['objective']:.2f}",
            clustered["seconds"] < 0.75 * basic["seconds"],
        ),
        (
            "Figure 13: F1 grows more quickly and becomes comparable to the basic one's",
            f"F1 in the end {clustered['score'][0]:.1f} and {basic['score'][0]:.1f}, on the way at most "
            f"{clustered['best']:.1f} and {basic['best']:.1f}",
            abs(clustered["score"][0] - basic["score"][0]) < 1.0,
        ),
    ]
    findings.claims("claims, entities", claims)
    title = "60 weights of the CRF in L-BFGS"
    findings.figure("evolution", "mathur2010-ner-weights", np.array(found["weights"]), title)


def costs(row: dict[str, Any]) -> tuple[float, float]:
    """Seconds of an evaluation on all weights: the least and the most of the medians of 20 in a row."""
    steps = [
        (after[1] - before[1]) / max(after[0] - before[0], 1)
        for before, after in zip(row["curve"], row["curve"][1:], strict=False)
        if before[3] != "coarse"
    ]
    medians = [float(np.median(steps[at : at + 20])) for at in range(0, max(len(steps) - 19, 1), 10)]
    return min(medians), max(medians)


def main() -> None:
    parser = options(__doc__, ["reuters", "conll2002-dutch"])
    parser.add_argument("--repeats", type=int, default=3, help="trainings whose median time counts")
    parser.add_argument("--seconds", type=float, default=400.0, help="limit on each training of the CRF")
    arguments = parser.parse_args()
    findings = Findings("mathur2010", arguments)
    if arguments.quick:
        arguments.repeats, arguments.seconds = 1, min(arguments.seconds, 3.0)
    if "reuters" in arguments.tasks:
        study = Study(findings, arguments)
        for part in (small_problems, ridges, rounds, comparison, factors, choices, gradient_rules, persistence):
            part(study)
        findings.claims("claims, reuters", study.claims)
    if "conll2002-dutch" in arguments.tasks:
        entities(findings, arguments)


if __name__ == "__main__":
    main()
