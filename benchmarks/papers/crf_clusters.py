"""Figures 10 to 13 of Mathur & Chakrabarti (2010): clusters of features in a CRF for named entities.

The Dutch part of CoNLL-2002 stands in for the English entities of CoNLL-2003, which are not free. Ridge 1e-7.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from clock import minimised
from cluster_claims import crossed, explained, of_weights, seconds
from courses import Timed, first_below, plain, trained, weights_of
from findings import Claim, Findings, verdict
from tasks import TASKS, Data

from loglinear.minimize import Stop
from loglinear.solvers import LBFGS

ENTITIES = {"num_rounds": 1, "cluster_factor": 10, "fine_iterations": 100}  # section IV-C
WORD_PREVIOUS_POS = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[0,1]\nB\n"
ENDS = {"CONVERGED": "converged", "STOPPED_BY_CALLBACK": "limit"}
# Limits that the paper does not give: of "much more quickly"; of basic's F1 that is compared; of "comparable", points.
QUICKER, SHARE, COMPARABLE = 1.2, 0.9, 1.0


def entities(findings: Findings, arguments: Any) -> None:
    """Figures 10 to 13: named entities, ridge 1e-7."""
    task = replace(TASKS["conll2002-dutch"], preset=WORD_PREVIOUS_POS)
    methods: dict[str, Any] = {"basic": LBFGS}
    for count in (100, 20):
        methods[f"clustered after {count}"] = partial(
            Timed, **(ENTITIES | {"fine_iterations": count, "aggregate": False})
        )
    methods["clustered after 100, added up"] = partial(Timed, **ENTITIES)

    data = Data(findings, task, 2000 if arguments.quick else None, arguments.threads)

    def made() -> dict[str, Any]:
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
    before = f"{data.samples:,} sentences, {data.candidates:,} features. Clusters of 10, made after 100 iterations, "
    before += f"hold {100 * found['share']:.0f} % of the variance of the weights of states after 250."
    findings.table("entities", heads, lines, before)
    kinds = sorted(rows[0]["score"][1])
    lines = [[row["method"], *(f"{row['score'][1][kind]:.1f}" for kind in kinds)] for row in rows]
    findings.table("F1 by type", ["method", *kinds], lines)
    words = findings.find({"task": "reuters", "what": "weights", "quick": arguments.quick})
    courses = [("CoNLL-2002 Dutch, ridge 1e-7", rows[:3])]
    findings.figure("objectives", "mathur2010-ner-objective", courses, "Named entities: objective")
    findings.figure("types", "mathur2010-ner-f1", rows[:2], "Named entities: F1 on the test data by type")
    findings.claims("claims, entities", of_entities(found, words and crossed(words["found"])))
    title = "60 weights of the CRF in L-BFGS"
    findings.figure("evolution", "mathur2010-ner-weights", np.array(found["weights"]), title)


def of_entities(found: dict[str, Any], of_words: float | None) -> list[Claim]:
    """What the paper says of figures 10 to 13.

    Args:
        found: rows of the methods, basic and clustered first, and weights.
        of_words: the share of pairs of weights that cross in figure 3; None if it has not been made.
    """
    basic, clustered = found["rows"][:2]
    weights = found["weights"]
    pairs = list(zip(basic["near"], clustered["near"], strict=True))

    def ratios(column: int) -> str:
        return ", ".join("-" if b[column] is None else f"{a[column] / b[column]:.2f}" for a, b in pairs)

    return [
        *of_weights("Fig. 10", "Fig. 11", weights, found["share"], "100 of 250 iterations"),
        *([] if of_words is None else [more_crossed(crossed(weights), of_words)]),
        Claim(
            "Fig. 12",
            "the clustered optimiser reduces the objective much more quickly",
            f"basic over clustered, to the four limits of the table: evaluations {ratios(0)}; seconds {ratios(1)}",
            f"at least {QUICKER:g} times as fast to each limit",
            verdict([b[1] is not None and a[1] >= QUICKER * b[1] for a, b in pairs]),
        ),
        Claim(
            "Fig. 12",
            "the clustered optimiser converges in half the time",
            f"in {clustered['seconds'] / basic['seconds']:.2f} of the time: {clustered['seconds']:.1f} s, basic "
            f"{basic['seconds']:.1f} s; objectives {clustered['objective']:.2f}, {basic['objective']:.2f}",
            "at most 0.50 of the time",
            clustered["seconds"] <= 0.5 * basic["seconds"],
        ),
        *of_scores(basic, clustered),
    ]


def more_crossed(here: float, of_words: float) -> Claim:
    """The paper on figure 11."""
    said = f"{100 * here:.0f} % of the pairs, {100 * of_words:.0f} % in Fig. 3"
    return Claim("Fig. 11", "crossovers are more frequent than with words", said, "a larger share", here > of_words)


def of_scores(basic: dict[str, Any], clustered: dict[str, Any]) -> list[Claim]:
    """What the paper says of figure 13: F1 of each type against time."""
    final = basic["score"][1]
    kinds = sorted(final)

    def scored(row: dict[str, Any]) -> list[tuple[float, dict[str, float]]]:
        return [(point[1], point[5][1]) for point in row["curve"] if point[5]]

    def soon(row: dict[str, Any], kind: str) -> float | None:
        return next((time for time, score in scored(row) if score.get(kind, 0.0) >= SHARE * final[kind]), None)

    def higher() -> list[bool]:
        held = []
        for time, score in scored(clustered):
            other = [each for when, each in scored(basic) if when <= time]
            held += [score.get(kind, 0.0) > other[-1].get(kind, 0.0) for kind in kinds if other]
        return held

    times = [(soon(clustered, kind), soon(basic, kind)) for kind in kinds]
    ends = [clustered["score"][1][kind] - final[kind] for kind in kinds]
    share = sum(higher()) / len(higher())
    return [
        Claim(
            "Fig. 13",
            "F1 grows more quickly",
            f"seconds to {100 * SHARE:g} % of basic's F1 in the end, clustered and basic: "
            + "; ".join(f"{kind} {a or np.nan:.1f}, {b:.1f}" for kind, (a, b) in zip(kinds, times, strict=True)),
            "fewer seconds for each type",
            verdict([a is not None and b is not None and a < b for a, b in times]),
        ),
        Claim(
            "Fig. 13",
            "F1 becomes comparable to the basic one's",
            "in the end, clustered less basic: "
            + ", ".join(f"{kind} {end:+.1f}" for kind, end in zip(kinds, ends, strict=True)),
            f"at most {COMPARABLE:g} point lower for each type",
            verdict([end >= -COMPARABLE for end in ends]),
        ),
        Claim(
            "Fig. 13",
            "about half the time the clustered optimiser's F1 is higher",
            f"in {100 * share:.0f} % of the comparisons at the same time, over all types",
            "in at least 40 %",
            share >= 0.4,
        ),
    ]


def costs(row: dict[str, Any]) -> tuple[float, float]:
    """Seconds of an evaluation on all weights: the least and the most of the medians of 20 in a row."""
    steps = [
        (after[1] - before[1]) / max(after[0] - before[0], 1)
        for before, after in zip(row["curve"], row["curve"][1:], strict=False)
        if before[3] != "coarse"
    ]
    medians = [float(np.median(steps[at : at + 20])) for at in range(0, max(len(steps) - 19, 1), 10)]
    return min(medians), max(medians)
