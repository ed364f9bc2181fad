"""Why results differ from the papers': an experiment for each reason that suggests itself.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/reasons.py --json docs/papers/reasons.json \
        --figures docs/papers

An experiment changes one thing in a run of a paper's page. The runs to compare with are in the rows of that page,
beside these rows. One run of each, seed 0, if nothing else is said. The reasons for zhou2011 are in msra.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from statistics import median
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from clock import minimised
from findings import Findings, verdict
from msra import zhou
from presumed import LITTLE, MOST, Reason, Study, removed, valued
from schmidt2015 import L2, NAMES, NUS, PASSES, TUNED
from sentences import Sentence
from tasks import PAPERS_OWLQN, TASKS, Task, continued, options
from tsuruoka2009 import DECAYING, OWLQN_NAME, percent
from tsuruoka2009 import PAPER as TSURUOKA

from loglinear.minimize import Stop
from loglinear.solvers import ASG, LBFGS, SGDL1
from loglinear.solvers.common.per_sample import visiting

# tsuruoka2009: strengths of the penalty.
STRENGTHS = (0.5, 0.6, 0.7, 0.8, 1.0)
# mathur2010: documents of a word that is rare; ridges that are not weak; the weights that are compared.
RARE, RIDGES = 5, (1e-2, 1.0)
WEIGHTS = (BASIC, CLUSTERED, SCALED, FREQUENT, CONTINUED, LONG) = (
    "L-BFGS",
    "clusters",
    "clusters, scaled",
    "clusters, without rare words",
    "clusters, then L-BFGS",
    "L-BFGS, 3,000 evaluations",
)


def cut(*parts: list[Sentence]) -> tuple[list[Sentence], ...]:
    """Sentences whose labels have their first two letters."""
    return tuple([[(*token[:-1], token[-1][:2]) for token in sentence] for sentence in part] for part in parts)


MASC = TASKS["masc-pos"]
SHORT = replace(MASC, name="masc-pos, two letters", read=lambda data: cut(*MASC.read(data)))


def tsuruoka(study: Study) -> None:
    """The penalty of chunking, and the distance of SGD from OWL-QN on parts of speech."""
    study.reasons("tsuruoka2009", [penalty(study), *distance(study)])


def penalty(study: Study) -> Reason:
    """OWL-QN on CoNLL-2000 at several C beside the paper's."""
    rows = [study.run(TASKS["conll2000"], OWLQN_NAME, PAPERS_OWLQN, l1=l1) for l1 in STRENGTHS]
    _, objective, features, _, score = TSURUOKA["conll2000"][OWLQN_NAME]
    lines = [
        [f"{row['l1']:g}", f"{row['per_sample']:.3f}", f"{row['features']:,}", f"{row['score']:.2f}"] for row in rows
    ]
    lines.append(["the paper", f"{objective:.3f}", f"{features:,}", f"{score:.2f}"])
    study.findings.table("strengths", ["C", "objective / N", "features", "F"], lines)
    l1 = float(np.interp(-objective, [-row["per_sample"] for row in rows], STRENGTHS))
    there = float(np.interp(l1, STRENGTHS, [row["features"] for row in rows]))
    (before,) = study.earlier("tsuruoka2009", task="conll2000", what="run", method=OWLQN_NAME)
    return Reason(
        "CoNLL-2000, another objective and number of features: the paper's C is another one",
        f"OWL-QN at {len(STRENGTHS)} values of C from {STRENGTHS[0]:g} to {STRENGTHS[-1]:g}, and interpolation",
        f"C = {l1:.2f} gives the paper's objective; features from the paper's {features:,}: "
        f"{percent(there / features)}, before {percent(before['features'] / features)}",
        f"where the objective is the paper's, at least {100 * MOST:g} % of the difference of features is gone",
        removed(abs(before["features"] - features), abs(there - features)),
    )


class Change(NamedTuple):
    """A run of SGD with one thing changed, and of OWL-QN on the same problem."""

    name: str
    sgd: dict[str, Any]
    batch: dict[str, Any]

    @property
    def above(self) -> float:
        """The relative distance of the objectives."""
        return float(self.sgd["objective"] / self.batch["objective"] - 1.0)

    @property
    def said(self) -> str:
        """The distance in per cent."""
        return percent(1.0 + self.above)


def distance(study: Study) -> list[Reason]:
    """SGD with exponential decay on MASC, with one thing changed at a time."""
    base, changes = changed(study)
    lines = [
        [
            each.name,
            *(f"{row['per_sample']:.3f}" for row in (each.batch, each.sgd)),
            each.said,
            f"{each.sgd['features'] / each.batch['features']:.2f}",
        ]
        for each in (base, *chain(*changes.values()))
    ]
    heads = ["change", "OWL-QN, objective / N", "SGD-L1, objective / N", "from OWL-QN", "features over OWL-QN's"]
    study.findings.table("distance", heads, lines)

    def reason(key: str, says: str, experiment: str) -> Reason:
        figures = ", ".join(f"{each.name} {each.said}" for each in changes[key])
        limit = f"the distance falls by at least {100 * MOST:g} %; in part: by {100 * LITTLE:g} %"
        nearest = min(each.above for each in changes[key])
        return Reason(
            f"MASC, SGD far above OWL-QN: {says}",
            experiment,
            f"{figures}; before {base.said}",
            limit,
            removed(base.above, nearest),
        )

    counts = f"{labels(study, SHORT)} labels instead of {labels(study, MASC)}: the first two letters of each"
    return [
        reason("penalty", "the penalty is weak", "C doubled and quadrupled, with the same rates"),
        reason("passes", "30 passes are too few", "60 passes, with the same decay"),
        reason("labels", "there are many labels", counts),
        reason("rate", "the rate is poor", "half and twice eta_0; a slower decay than in the paper's grid"),
        reason("order", "the order of the samples is unlucky", "another seed; one order for all passes"),
    ]


def changed(study: Study) -> tuple[Change, dict[str, list[Change]]]:
    """The page's runs on MASC, and runs with one thing changed, by what it is."""
    (batch,), (base,) = (
        study.earlier("tsuruoka2009", task=MASC.name, what="run", method=name) for name in (OWLQN_NAME, DECAYING)
    )
    l1, rate, decay = base["l1"], base["learning_rate"], base["decay"]

    def sgd(name: str, of: Task = MASC, l1: float = l1, **options: Any) -> dict[str, Any]:
        return study.run(of, name, SGDL1(**({"learning_rate": rate, "decay": decay} | options)), l1=l1)

    def of(name: str, **options: Any) -> Change:
        return Change(name, sgd(name, **options), batch)

    def same_order(seed: int, number: int, *others: Any) -> Any:
        return visiting(seed, 0, *others)

    def owlqn(of: Task, l1: float) -> dict[str, Any]:
        return study.run(of, OWLQN_NAME, PAPERS_OWLQN, l1=l1)

    changes = {
        "penalty": [Change(f"C = {c:g}", sgd(DECAYING, l1=c), owlqn(MASC, c)) for c in (2 * l1, 4 * l1)],
        "passes": [of("60 passes", passes=60)],
        "labels": [Change("short labels", sgd("short labels", SHORT), owlqn(SHORT, l1))],
        "rate": [of(f"eta_0 = {other:g}", learning_rate=other) for other in (rate / 2, 2 * rate)],
        "order": [of("seed 1", seed=1)],
    }
    changes["rate"].append(of("alpha = 0.95", decay=0.95))
    with patch("loglinear.solvers.sgd_l1.visiting", same_order):
        changes["order"].append(of("the same order in each pass"))
    return Change("none", base, batch), changes


def labels(study: Study, task: Task) -> int:
    """The number of labels of a task."""

    def counted() -> dict[str, int]:
        return {"labels": len(set(chain(*study.data(task).train.gold())))}

    return int(study.findings.made({"task": task.name, "what": "labels"}, counted)["labels"])


def schmidt(study: Study) -> None:
    """Rates, averages and searches."""
    study.reasons("schmidt2015", [*rates(study), averages(study), *searches(study)])


def optimum(study: Study, task: str) -> float:
    """The lowest objective of a task."""
    (row,) = study.earlier("schmidt2015", task=task, what="optimum")
    return float(row["objective"])


def gaps(study: Study, task: str, method: str) -> list[float]:
    """Relative distances from the optimum on the page of the paper, by seed."""
    best = optimum(study, task)
    rows = study.earlier("schmidt2015", task=task, what="run", method=method)
    return [row["objective"] / best - 1.0 for row in rows if "seed" in row and row["l1"] == 0.0]


def rates(study: Study) -> list[Reason]:
    """Rates in powers of two around the best power of ten."""
    lines: list[list[str]] = []
    reasons = [
        rate_of(study, better, worse, tasks, lines)
        for better, worse, tasks in (("SG", "Pegasos", ("conll2000",)), ("ASG", "AdaGrad", ("ocr-letters",)))
    ]
    heads = ["task", "method", "best power of ten", "above the optimum", "best rate", "above the optimum"]
    study.findings.table("rates", heads, lines)
    return reasons


def rate_of(study: Study, better: str, worse: str, tasks: tuple[str, ...], lines: list[list[str]]) -> Reason:
    """The reason for which a method is ahead of one that is better in the paper; adds lines to the table."""
    held, figures = [], []
    for name in tasks:
        best, coarse, fine = optimum(study, name), {}, {}
        for method in (better, worse):
            (row,) = study.earlier("schmidt2015", task=name, what="rates", method=method)
            power = row["learning_rate"]
            found = continued([power * factor for factor in (0.5, 1.0, 2.0)], judge(study, name, method))
            rate = max(found, key=lambda rate: found[rate])
            coarse[method], fine[method] = (-found[each] / best - 1.0 for each in (power, rate))
            lines.append([name, method, f"{power:g}", f"{coarse[method]:.1e}", f"{rate:g}", f"{fine[method]:.1e}"])
        closer = removed(coarse[better] - coarse[worse], fine[better] - fine[worse])
        held.append(True if fine[better] < fine[worse] else None if closer else False)
        figures.append(f"{name}: {better} {fine[better]:.1e}, {worse} {fine[worse]:.1e}")
    return Reason(
        f"{worse} ahead of {better} on {', '.join(tasks)}: powers of ten are too coarse a grid of rates",
        "rates a factor of two apart, around the best power of ten",
        f"above the optimum after {PASSES} passes: {'; '.join(figures)}",
        f"{better} is nearer the optimum; in part: at least {100 * MOST:g} % of the difference is gone",
        verdict(held),
    )


def judge(study: Study, name: str, method: str) -> Callable[[float], float]:
    """A function that gives the objective at a rate, negated."""

    def judged(rate: float) -> float:
        solver = TUNED[method][0](passes=PASSES, learning_rate=rate)
        row = study.run(TASKS[name], method, solver, l2=L2, stop=Stop(max_passes=PASSES), rate=rate)
        return -float(row["objective"])

    return judged


def averages(study: Study) -> Reason:
    """ASG on the letters, with the average over all passes, and over the second half."""
    name = "ocr-letters"
    best, data = optimum(study, name), study.data(TASKS[name])
    (power,) = study.earlier("schmidt2015", task=name, what="rates", method="ASG")

    def averaged(rate: float) -> dict[str, float]:
        problem, kept = data.problem(l2=L2), {}

        def keep(record: Any, state: Any) -> None:
            kept[state.iteration] = state.w.copy()
            kept["last"] = state.iterate.copy()

        minimised(problem, ASG(passes=PASSES, learning_rate=rate), callbacks=(keep,), stop=Stop(max_passes=PASSES))
        shown = {"all": kept[PASSES], "half": 2.0 * kept[PASSES] - kept[PASSES // 2], "last": kept["last"]}
        return {name: valued(problem, w) for name, w in shown.items()}

    lines, halves = [], []
    for rate in (power["learning_rate"], 2 * power["learning_rate"], 4 * power["learning_rate"]):
        wanted = {"task": name, "what": "averages", "learning_rate": rate}
        row = study.findings.made(wanted, lambda rate=rate: averaged(rate))
        lines.append([f"{rate:g}", *(f"{row[part] / best - 1.0:.2e}" for part in ("all", "half", "last"))])
        halves.append(row["half"] / best - 1.0)
    heads = ["eta", "average of all passes", "average of the second half", "weights of the last step"]
    study.findings.table("averages", heads, lines)
    other = median(gaps(study, name, "AdaGrad"))
    return Reason(
        "AdaGrad ahead of ASG on ocr-letters: the average includes the first passes",
        f"ASG with the page's rate, averaged over passes {PASSES // 2 + 1} to {PASSES} alone",
        f"{halves[0]:.1e} above the optimum instead of {median(gaps(study, name, 'ASG')):.1e}; AdaGrad {other:.1e}",
        "nearer the optimum than AdaGrad",
        halves[0] < other,
    )


def searches(study: Study) -> list[Reason]:
    """SAG-NUS and SAG-NUS* after the same evaluations, and after the same steps."""
    lines, spent, steps, held = [], [], [], []
    for name in NAMES:
        best = optimum(study, name)
        rows = {method: study.earlier("schmidt2015", task=name, what="run", method=method, l1=0.0) for method in NUS}
        least = min(row["iterations"] for each in rows.values() for row in each)
        each = {method: median(row["passes"] / row["iterations"] for row in of) for method, of in rows.items()}
        after = {method: median(row["curve"][least][2] / best - 1.0 for row in of) for method, of in rows.items()}
        for method in NUS:
            end = median(row["objective"] / best - 1.0 for row in rows[method])
            lines.append([name, method, f"{each[method]:.2f}", f"{end:.1e}", f"{least} n", f"{after[method]:.1e}"])
        spent.append(each)
        steps.append(f"{name}: {after[NUS[0]]:.1e}, {after[NUS[1]]:.1e}")
        held.append(after[NUS[0]] <= after[NUS[1]])
    heads = ["task", "method", "evaluations a step", f"above the optimum after {PASSES} passes", "steps"]
    study.findings.table("searches", [*heads, "above the optimum after these"], lines)
    ranges = {method: [each[method] for each in spent] for method in NUS}
    counts = "; ".join(f"{method} {min(each):.1f} to {max(each):.1f}" for method, each in ranges.items())
    return [
        Reason(
            f"{NUS[0]} does worse than {NUS[1]}: its line searches, from half of the last constant, cost evaluations",
            "both compared after the same number of steps",
            f"evaluations a step: {counts}. After the same steps, {NUS[0]} and {NUS[1]}: {'; '.join(steps)}",
            f"after the same steps {NUS[0]} is as near the optimum on every task",
            verdict(held),
        )
    ]


def mathur(study: Study) -> None:
    """F1 of the weights that clusters lead to, and of others."""
    topics = [(row["topic"], row["l2"]) for row in study.earlier("mathur2010", what="basic and clustered")]
    topics += [(topic, l2) for topic in dict(topics) for l2 in RIDGES]
    found = {}
    for topic, l2 in topics:
        wanted = {"task": "reuters", "what": "weights", "topic": topic, "l2": l2}
        found[topic, l2] = study.findings.made(wanted, lambda t=topic, r=l2: weighed(study, t, r))["found"]
    lines = [
        [topic, f"{l2:g}", *("{:.1f} ({:.3f})".format(*row[name]) for name in WEIGHTS)]
        for (topic, l2), row in found.items()
    ]
    study.findings.table("weights", ["topic", "ridge", *WEIGHTS], lines)
    weak = {case: row for case, row in found.items() if case[1] not in RIDGES}

    def lost(case: tuple[str, float], name: str = CLUSTERED) -> float:
        return float(found[case][BASIC][0] - found[case][name][0])

    def reason(says: str, experiment: str, after: Callable[[tuple[str, float]], float]) -> Reason:
        held = [removed(lost(case), abs(after(case))) for case in weak]
        before, now = ([-loss(case) for case in weak] for loss in (lost, after))
        return Reason(
            f"F1 falls with clusters: {says}",
            experiment,
            f"F1 less that of L-BFGS: {span(now)} points, before {span(before)}",
            f"at least {100 * MOST:g} % of the loss is gone in each case",
            verdict(held),
        )

    study.reasons(
        "mathur2010",
        [
            reason("weights too large", "weights scaled to the norm of L-BFGS's", lambda case: lost(case, SCALED)),
            reason(
                f"weights of rare words, in at most {RARE} documents",
                "these weights set to 0",
                lambda case: lost(case, FREQUENT),
            ),
            reason(
                "training ends too early",
                "L-BFGS, memory 20, from these weights on, for up to 3,000 evaluations",
                lambda case: lost(case, CONTINUED),
            ),
            reason(
                "the ridge is too weak to decide between weights with nearly the same objective",
                f"ridge {RIDGES[0]:g}",
                lambda case: lost((case[0], RIDGES[0])),
            ),
        ],
    )


def span(points: list[float]) -> str:
    """The smallest and the largest difference."""
    least, most = (round(value, 1) + 0.0 for value in (min(points), max(points)))
    return f"{least:+.1f} to {most:+.1f}"


def weighed(study: Study, topic: str, l2: float) -> dict[str, Any]:
    """F1 and objective of weights that L-BFGS and clusters lead to, and of weights made of them."""
    from courses import LIMIT
    from text_clusters import cluster

    texts = study.texts
    problem, X = texts.problem(topic, l2), texts.data.train.X[texts.rows]
    basic, clustered = (minimised(problem, solver, stop=LIMIT).w for solver in (LBFGS(), cluster()()))
    long, most = LBFGS(memory=20, tolerance=0.0, gradient_tolerance=1e-9), Stop(max_passes=texts.most)
    rare = np.asarray((X != 0).sum(axis=0)).ravel() <= RARE
    weights = {
        BASIC: basic,
        CLUSTERED: clustered,
        SCALED: clustered * np.linalg.norm(basic) / np.linalg.norm(clustered),
        FREQUENT: np.where(rare, 0.0, clustered),
        CONTINUED: minimised(problem, long, clustered, stop=most).w,
        LONG: texts.best(topic, l2).w,
    }
    return {"found": {name: [texts.f1(topic, False, w), valued(problem, w)] for name, w in weights.items()}}


PAPERS = {"mathur2010": mathur, "schmidt2015": schmidt, "tsuruoka2009": tsuruoka, "zhou2011": zhou}


def main() -> None:
    arguments = options(__doc__, list(PAPERS), quick=None).parse_args()
    study = Study(Findings("reasons", arguments), arguments.threads)
    for paper in arguments.tasks:
        PAPERS[paper](study)


if __name__ == "__main__":
    main()
