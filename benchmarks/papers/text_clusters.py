"""Tables I-V and figures 2, 3, 5-9 of Mathur & Chakrabarti (2010): clusters of words, on topics of Reuters-21578.

Topics (ModApte) against the rest, words as binary features, no intercept; l2 is the ridge parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from clock import minimised
from cluster_claims import (
    NEIGHBOURS,
    PAPER_ACCOUNT,
    PAPER_BASIC,
    PAPER_CLUSTER,
    PAPER_F1,
    PAPER_FACTORS,
    PAPER_ROUNDS,
    PAPER_SMALL,
    explained,
    of_courses,
    of_figure_5,
    of_table_1,
    of_table_2,
    of_table_3,
    of_table_4,
    of_table_5,
    of_weights,
    seconds,
)
from courses import Timed, first_below, weights_of
from findings import Claim, Findings, verdict
from topics import NEAR, Texts

from loglinear.minimize import Stop
from loglinear.solvers import BFGS, IIS, LBFGS
from loglinear.solvers.common.projection import chunks

TOPICS = ("grain", "money-fx", "interest", "wheat", "gas")
RIDGES = (1e-7, 1e-10)
SWEEP = tuple(10.0**power for power in range(-10, 2))
# Section III-E; the number of fine iterations is not in the paper.
POLICY = {"num_rounds": 2, "cluster_factor": 15, "fine_iterations": 10}
PHASES = ("fine", "coarse", "patch-up")
EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6)


def cluster(**options: Any) -> Callable[[], Timed]:
    """A maker of the clustered optimiser."""
    return partial(Timed, **(POLICY | options))


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
        self.claims: list[Claim] = []

    def claim(self, items: str, says: str, here: str, limit: str, held: bool | None) -> None:
        """Keep a claim of the paper for the table of all."""
        self.claims.append(Claim(items, says, here, limit, held))

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
        for row, their in zip((iterative, basic, limited), (*PAPER_SMALL[topic], ""), strict=True):
            cells = [row["iterations"], seconds(row["seconds"]), their]
            cells += [f"{row['objective']:.2f}", f"{row['score']:.1f}"]
            scaling.append([topic, row["method"], *cells, seconds(sooner) if row is basic else ""])
        for row in rows:
            cells = [phased(row), seconds(row["seconds"]), f"{row['objective']:.3f}"]
            evaluations, times = near(row, 0), near(row, 1)
            collapse.append([topic, row["method"], *cells, evaluations[0], times[0], evaluations[1], times[1]])
    heads = ["topic", "method", "iterations", "seconds", "(paper)", "objective", "F1", "seconds to IIS's objective"]
    study.findings.table("Table I", heads, scaling)
    heads = ["topic", "method", "evaluations: fine + coarse + patch-up", "seconds", "objective"]
    heads += [f"{what} to {gap:g} nats above BFGS's" for gap in NEAR for what in ("evaluations", "seconds")]
    study.findings.table("Figure 5", heads, collapse)
    study.findings.figure("objectives", "mathur2010-bfgs", courses, "Objective, 500 words, no ridge")
    weights = study.made("weights", "grain", 0.0, lambda texts: evolved(texts.problem("grain", 0.0, True), BFGS(), 3))
    title = "Weights of a third of the 500 words in BFGS: grain"
    study.findings.figure("evolution", "mathur2010-weights", np.array(weights), title)
    quarter = len(weights) // 4
    share = explained(np.array(weights[quarter]), np.array(weights[-1]), NEIGHBOURS)
    study.claims += of_weights("Fig. 2", "Fig. 3", weights, share, f"{quarter} of {len(weights) - 1} iterations")
    study.claims += of_table_1(scaling) + of_figure_5(courses)


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
    small = [row["l2"] <= max(RIDGES) for row in best.values()]
    study.claim(
        "Fig. 6",
        "ridges of 1e-7 and 1e-10 win on F1 for most topics",
        "; ".join(f"{topic} is best at {row['l2']:g}" for topic, row in best.items()),
        f"best at {max(RIDGES):g} or less for more than half of the topics; in part if for any",
        sum(small) > len(small) / 2 or (None if any(small) else False),
    )
    study.claim(
        "Fig. 7",
        "training takes longest for a middle range of ridges",
        "; ".join(f"{topic} at {row['l2']:g}" for topic, row in longest.items()),
        "most evaluations between 1e-6 and 1 for each topic",
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
    lines, slower = [], []
    for topic, paper in PAPER_ROUNDS.items():
        rows = study.run("rounds", topic, 1e-7, methods, courses=False)
        theirs = ["", *(f"{PAPER_BASIC[topic][0] / second:.1f}" for second in reversed(paper))]
        for row, their in zip(rows, theirs, strict=True):
            cells = [phased(row), seconds(row["seconds"]), ratio(rows[0]["seconds"], row["seconds"]), their]
            lines.append([topic, row["method"], *cells, f"{row['objective']:.5g}", *near(row, 0)])
        slower += [rows[1]["seconds"] > row["seconds"] for row in rows[2:]]
    study.findings.table("Table II", heads, lines)
    study.claims += of_table_2(lines, slower)


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
            theirs = [PAPER_BASIC[topic][at], *PAPER_ACCOUNT[topic][at]] if topic in PAPER_ACCOUNT else [""] * 4
            cells = [f"{part:.3f}" for part in (rows[0]["seconds"], *parts)]
            cells = [cell for pair in zip(cells, map(str, theirs), strict=True) for cell in pair]
            account.append([topic, f"{l2:g}", *cells, *(f"{e:.2f}" for e in each)])
    study.findings.table("Table III", heads, lines)
    heads = [
        "topic",
        "ridge",
        *(head for part in ("basic", "fine", "clustering", "coarse") for head in (part, "(paper)")),
    ]
    heads += ["ms a coarse evaluation", "ms a basic one"]
    study.findings.table("Table IV", heads, account)
    study.claims += of_table_3(lines) + of_table_4(account) + of_courses(courses)
    spoken(study, courses, account)
    title = "Objective above the lowest known"
    study.findings.figure("objectives", "mathur2010-objective", courses, title, bests=bests)
    study.findings.figure("scores", "mathur2010-f1", courses, "F1 on the test documents")


def spoken(study: Study, courses: list[tuple[str, list[dict[str, Any]]]], account: list[list[Any]]) -> None:
    """What the page says of tables III and IV in words, with numbers from the rows."""
    costs = [100 * float(line[-2]) / float(line[-1]) for line in account]
    times = [rows[1]["phases"]["coarse"][0] / rows[0]["evaluations"] for _, rows in courses]
    norms = [rows[1]["norm"] / rows[0]["norm"] for _, rows in courses]
    tops = [max(point[5] for point in rows[1]["curve"]) - rows[1]["score"] for _, rows in courses]
    text = (
        f"A coarse evaluation, with features added up, takes {min(costs):.0f} to {max(costs):.0f} % of the time of a "
    )
    text += (
        f"basic one. The coarse phases take {min(times):.1f} to {max(times):.1f} times as many evaluations as L-BFGS "
    )
    text += f"needs for the whole problem. In the end the weights have {min(norms):.1f} to {max(norms):.1f} times the "
    text += f"norm of the weights of L-BFGS, and F1 is {min(tops):.1f} to {max(tops):.1f} points lower than its "
    text += "highest value on the way. With a larger ridge F1 does not fall: "
    study.findings.text(
        "comparison",
        f"{text}at these ridges weights with nearly the same objective differ in F1 ([reasons](reasons.md)).",
    )
    basic = [rows[0] for _, rows in courses]
    counts, longest = [row["evaluations"] for row in basic], max(row["seconds"] for row in basic)
    paper = [value for values in PAPER_BASIC.values() for value in values if value]
    text = (
        f"On text L-BFGS needs {min(counts)} to {max(counts)} evaluations, at most {longest:.2f} seconds. The paper's "
    )
    study.findings.text("L-BFGS", f"{text}L-BFGS took {min(paper):.0f} to {max(paper):.0f} seconds.")
    start = basic[0]["curve"][0][2]
    lowest = [study.made("lowest", topic, 1e-7, lambda texts: None) for topic in PAPER_CLUSTER]
    text = f"The measure is nats rather than a ratio, because objectives start at {start:,.0f} and end as low as "
    study.findings.text("nats", f"{text}{min(lowest):.1f} (wheat) and {max(lowest):.1f} (money-fx).")
    (interest,) = [rows[0]["score"] for name, rows in courses if name == f"interest, ridge {RIDGES[0]:g}"]
    text = "The words and the split of the documents differ, and therefore F1 (`benchmarks/papers/reuters.py`). For "
    text += f"*interest* F1 at ridge {RIDGES[0]:g} is {interest:.0f}, in the paper {PAPER_F1['interest'][0]:.0f}."
    study.findings.text("interest", text)


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
            spent.append(PAPER_FACTORS[topic][counts.index(factor)])
            lines.append([topic, factor, *cells, f"{left:,}", patch, *spent, f"{added['objective']:.5g}"])
    heads = ["topic", "factor", "coarse evaluations", "ms each", "ms each, added up", "entries, added up"]
    heads += ["patch-up evaluations", "seconds", "seconds, added up", "(paper)", "objective"]
    study.findings.table("Table V", heads, lines)
    study.claims += of_table_5(lines, counts[0])


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
    compared: list[dict[str, int]] = []
    for l2 in (*RIDGES, 1e-4):
        rows = {topic: study.run("choices", topic, l2, settings, repeats=1, courses=False) for topic in TOPICS}
        lines = []
        for at, name in enumerate(settings):
            found = [rows[topic][at] for topic in TOPICS]
            lines.append(
                [name, *(f"{row['evaluations']} / {near(row, 0)[1] or '-'} / {row['score']:.1f}" for row in found)]
            )
        study.findings.table(f"Choices, ridge {l2:g}", ["method", *TOPICS], lines)
        compared += [{row["method"]: row["evaluations"] for row in rows[topic]} for topic in TOPICS]
    pairs = [(row[f"clusters of 5 after {n}"], row[f"clusters of 15 after {n}"]) for row in compared for n in (10, 20)]
    text = (
        f"Clusters of 5 take fewer evaluations than clusters of 15 in {sum(a < b for a, b in pairs)} of {len(pairs)} "
    )
    text += "cases. L-BFGS with memory 20 takes fewer than each of the clustered methods in "
    least = [min(count for name, count in row.items() if name.startswith("clusters")) for row in compared]
    fewer = sum(row["L-BFGS, memory 20"] < count for row, count in zip(compared, least, strict=True))
    study.findings.text("choices", f"{text}{fewer} of {len(compared)} cases.")


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
            fine = [point for point in row["curve"] if point[3] != "coarse"]
            firsts = [next((point for point in fine if point[4] <= epsilon), None) for epsilon in EPSILONS]
            lines.append([row["method"], *(p and f"{p[0]} ({p[2] - best:.3f})" for p in firsts)])
        return lines

    lines = [
        [topic, f"{l2:g}", *line]
        for topic in ("money-fx", "interest")
        for l2 in RIDGES
        for line in study.made("gradient rules", topic, l2, lambda texts, t=topic, r=l2: cells(texts, t, r))
    ]
    study.findings.table("gradient rules", ["topic", "ridge", "method", *(f"{e:g}" for e in EPSILONS)], lines)
    counts = [[np.inf if cell is None else int(cell.split()[0]) for cell in line[3:]] for line in lines]
    texts = []
    for at, epsilon in enumerate(EPSILONS):
        pairs = [(counts[i + j][at], counts[i][at]) for i in range(0, len(counts), 3) for j in (1, 2)]
        won = f"fewer evaluations in {sum(a < b for a, b in pairs)} of {len(pairs)} cases and more in "
        texts.append(f"with epsilon = {epsilon:g} {won}{sum(a > b for a, b in pairs)}")
    study.findings.text("gradient rules", f"Clusters take, against L-BFGS with the same memory, {'; '.join(texts)}.")


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


def studied(findings: Findings, arguments: Any) -> None:
    """All tables and figures of the texts."""
    study = Study(findings, arguments)
    for part in (small_problems, ridges, rounds, comparison, factors, choices, gradient_rules, persistence):
        part(study)
    findings.claims("claims, reuters", study.claims)
