"""Tables 2, 3, 5, 6 and figures 1-4 of Zhou, Qiu & Huang (2011): two stages, SGD then OWL-QN.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/zhou2011.py --json docs/papers/zhou2011.json \
        --figures docs/papers

The original SIGHAN 2005 PKU training file is not at hand: "pku" trains on its parent corpus (PFR, January 1998), less
the sentences of the test set. "sxu" is SIGHAN 2008's SXU corpus. The MSRA entities are another release.
C is chosen on 1,000 held-out sentences, eta_0 and alpha by the paper's grid, in 30 passes over all training data.
OWL-QN, by itself and as the second stage, is the paper's: monotone search, 10 pairs, tolerance 1e-4. Seconds are those
of the processor, one thread.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from courses import first_below
from findings import Findings, verdict
from tasks import DECAYS, PAPERS_OWLQN, Data, options, prepared, run

from loglinear.solvers import OWLQN, SGDL1, TwoStage
from loglinear.solvers.common.per_sample import sample_passes, visiting

OWLQN_NAME, SGD, OURS, PLAIN = "OWL-QN", "SGD", "two stages, line search", "two stages"
DEFAULT, DEFAULT_TWO = "two stages, defaults of loglinear", "two stages, to 1e-5"
FINE = "OWL-QN, to 1e-5"
# The paper's rows: objective, active features, F-score, passes, minutes.
PAPER: dict[str, dict[str, tuple[float, int, float | None, str, int]]] = {
    "pku": {
        OWLQN_NAME: (56_451.8, 114_942, 94.81, "141", 179),
        SGD: (61_398.6, 232_585, 94.92, "30", 58),
        OURS: (56_481.9, 117_374, 94.78, "5 + 88", 126),
    },
    "msra-ner": {
        OWLQN_NAME: (11_247.1, 34_579, None, "219", 326),
        SGD: (13_993.3, 113_005, None, "30", 68),
        OURS: (11_245.5, 36_709, None, "5 + 122", 190),
    },
}
# Its table 6: F of places, organisations and persons.
PAPER_TYPES = {OWLQN_NAME: (89.94, 82.61, 90.65), SGD: (89.39, 82.75, 90.78), OURS: (90.05, 82.25, 90.49)}
TYPES = ("LOC", "ORG", "PER")
NAMES = ("pku", "msra-ner", "sxu")
# Figures 1 and 3: eta_0 with this alpha; figures 2 and 4: alpha with this eta_0.
RATES, DECAY, RATE = (1.0, 0.5, 0.2, 0.1), 0.85, 1.0
FIGURES = {"pku": (1, 2), "msra-ner": (3, 4)}
# Which multiple of the scheduled rate the line search takes is counted on so many samples, after these passes.
ACCEPTED_RATES, PROBES, LOOKS = (1.0, 0.1), 400, (0, 1, 4, 9)
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
HEADS = ("L + R", "features", "F", "passes", "seconds", "to OWL-QN's L + R")


def methods(findings: Findings, data: Data, l1: float) -> dict[str, Any]:
    """The paper's three trainers; two stages without line search and with today's defaults; both to a finer rule."""
    sgd = data.tuned(findings, l1)
    rates = {"learning_rate": sgd.learning_rate, "decay": sgd.decay}
    second = {"tolerance": PAPERS_OWLQN.tolerance, "memory": PAPERS_OWLQN.memory, "window": PAPERS_OWLQN.window}
    return {
        OWLQN_NAME: PAPERS_OWLQN,
        SGD: sgd,
        OURS: TwoStage(line_search=True, **rates, **second),
        PLAIN: TwoStage(**rates, **second),
        DEFAULT: TwoStage(),
        FINE: OWLQN(tolerance=1e-5),
        DEFAULT_TWO: TwoStage(tolerance=1e-5),
    }


def searches(findings: Findings, data: Data, l1: float) -> list[dict[str, Any]]:
    """30 passes of SGD, plain and with the heuristic line search, at each eta_0 and alpha of figures 1 to 4."""
    settings = [(rate, DECAY) for rate in RATES] + [(RATE, decay) for decay in DECAYS if decay != DECAY]
    rows = []
    for rate, decay in settings:
        for search in (False, True):
            solver = SGDL1(learning_rate=rate, decay=decay, line_search=search)
            name = f"SGD{' + HLS' if search else ''}, eta_0 = {rate:g}, alpha = {decay:g}"
            rows.append(run(findings, data, data.problem(l1), name, solver, search=search))
    return rows


def accepted(findings: Findings, data: Data, l1: float) -> None:
    """A table of the multiples of the scheduled rate that the line search takes, at two eta_0 and the paper's alpha.

    An update adds its rate times C / N to u, the penalty that any weight could have received: u tells the rate.
    """

    def counted(eta: float) -> dict[str, Any]:
        problem, looks, means = data.problem(l1), [], []
        solver = SGDL1(learning_rate=eta, decay=DECAY, line_search=True, passes=max(LOOKS) + 1)
        n, native = problem.objective.n_samples, sample_passes(problem)

        def multiples(state: Any) -> dict[float, float]:
            w, q, u = state.w.copy(), state.q.copy(), state.u
            rates, found = solver.rates(eta, np.array([float(state.iteration)])), Counter()
            options = {"l1": l1 / n, "l2": 0.0, "penalty": "cumulative", "line_search": (3, 0.5)}
            for visit in visiting(1, state.iteration, n, None)[:PROBES]:
                after, _ = native.sgd_l1_pass(w, q, u, visits=np.array([visit]), rates=rates, **options)
                found[2.0 ** round(np.log2((after - u) / (rates[0] * l1 / n)))] += 1
                u = after
            return {multiple: found[multiple] / PROBES for multiple in MULTIPLES}

        state = solver.init(problem, np.zeros(problem.n_features))
        for number in range(max(LOOKS) + 1):
            if number in LOOKS:
                looks.append(multiples(state))
            after = solver.step(problem, state)
            scheduled = solver.rates(eta, np.arange(number * n, (number + 1) * n) / n).sum() * l1 / n
            means.append((after.u - state.u) / scheduled)
            state = after
        return {"shares": looks, "means": means}

    lines = []
    for eta in ACCEPTED_RATES:
        wanted = {
            "task": data.task.name,
            "what": "accepted",
            "learning_rate": eta,
            "l1": l1,
            "samples": len(data.train),
        }
        row = findings.made(wanted, lambda eta=eta: counted(eta))
        for look, shares in zip(LOOKS, row["shares"], strict=True):
            cells = [f"{100 * shares[str(multiple)]:.0f} %" for multiple in MULTIPLES]
            lines.append([f"{eta:g}", str(look + 1), *cells, f"{row['means'][look]:.2f}"])
    heads = ["eta_0", "pass", *(f"{multiple:g}" for multiple in MULTIPLES), "mean in the pass"]
    findings.table(f"accepted, {data.task.name}", heads, lines)


def passes(row: dict[str, Any]) -> str:
    """Evaluations of OWL-QN, passes of SGD, or those of the first stage and of the second."""
    if row["method"].startswith("two stages"):
        return f"5 + {row['evaluations']}"
    return f"{row['passes']:.0f}"


def to_owlqn(row: dict[str, Any], batch: dict[str, Any]) -> float | None:
    """Seconds to within 1e-4 of the objective that OWL-QN ended with, over OWL-QN's seconds."""
    reached = first_below(row, batch["objective"] * (1 + 1e-4), 1)
    return None if reached is None else reached / batch["seconds"] - 1.0


def table(findings: Findings, data: Data, rows: dict[str, dict[str, Any]]) -> None:
    """Ours beside the paper's, and the time saved against OWL-QN."""
    paper = PAPER.get(data.task.name, {})
    batch = rows[OWLQN_NAME]
    lines = []
    for name, row in rows.items():
        objective, features, score, their_passes, minutes = paper.get(name, (None, None, None, None, None))
        saved = to_owlqn(row, batch)
        cells = [f"{row['objective']:,.1f}", _cell(objective, ",.1f"), f"{row['features']:,}", _cell(features, ",")]
        cells += [f"{row['score']:.2f}", _cell(score, ".2f"), passes(row), _cell(their_passes, "")]
        cells += [f"{row['seconds']:,.1f}", _cell(minutes and 60 * minutes, ",")]
        if row is batch:
            cells += ["", ""]
        else:
            cells.append("not reached" if saved is None else f"{100 * saved:+.0f} %")
            cells.append(f"{100 * (minutes / paper[OWLQN_NAME][4] - 1):+.0f} %" if minutes else "")
        lines.append([name, *cells])
    before = f"{len(data.train):,} sentences, {data.objective.n_features:,} candidate features, C = {batch['l1']:g}; "
    before += f"eta_0 = {rows[SGD]['learning_rate']:g}, alpha = {rows[SGD]['decay']:g}."
    heads = ["method", *(head for each in HEADS for head in (each, "(paper)"))]
    findings.table(data.task.name, heads, lines, before)


def types_table(findings: Findings, rows: dict[str, dict[str, Any]]) -> None:
    """F of each type of entity, ours beside the paper's."""
    lines = []
    for name, row in rows.items():
        theirs = PAPER_TYPES.get(name, (None,) * len(TYPES))
        cells = [(f"{row['types'][kind]:.2f}", _cell(their, ".2f")) for kind, their in zip(TYPES, theirs, strict=True)]
        lines.append([name, *(cell for pair in cells for cell in pair)])
    findings.table("types", ["method", *(head for kind in TYPES for head in (kind, "(paper)"))], lines)


def rates_table(findings: Findings, task: str, rows: list[dict[str, Any]], batch: dict[str, Any]) -> None:
    """Objectives after 5, 10 and 30 passes, over OWL-QN's, plain and with the line search."""
    lines = []
    for plain, searched in zip(rows[::2], rows[1::2], strict=True):
        cells = [f"{plain['learning_rate']:g}", f"{plain['decay']:g}"]
        for after in (5, 10, 30):
            cells += [f"{above(row, after, batch):.3f}" for row in (plain, searched)]
        lines.append([*cells, f"{plain['score']:.2f}", f"{searched['score']:.2f}"])
    heads = ["eta_0", "alpha"]
    heads += [f"{'with HLS' if search else 'SGD'}, {n} passes" for n in (5, 10, 30) for search in (False, True)]
    findings.table(f"rates, {task}", [*heads, "F, SGD", "F, with HLS"], lines)


def above(row: dict[str, Any], after: int, batch: dict[str, Any]) -> float:
    """The objective after so many passes over the data, over that of OWL-QN."""
    return float(row["curve"][after][2]) / float(batch["objective"])


def spread(rows: list[dict[str, Any]], after: int) -> float:
    """The largest objective after so many passes, over the smallest."""
    values = [row["curve"][after][2] for row in rows]
    return float(max(values) / min(values))


def claims(
    findings: Findings, found: dict[str, dict[str, dict[str, Any]]], rates: dict[str, list[dict[str, Any]]]
) -> None:
    """What the paper says of its tables and figures."""

    def each(text: Any) -> str:
        return "; ".join(f"{task}: {text(task)}" for task in found)

    def all_of(holds: Any) -> bool | None:
        return verdict([bool(holds(task)) for task in found])

    def over(task: str, name: str, column: str) -> float:
        return 100.0 * (found[task][name][column] / found[task][OWLQN_NAME][column] - 1.0)

    def saved(task: str) -> float:
        return 100.0 * (found[task][OURS]["seconds"] / found[task][OWLQN_NAME]["seconds"] - 1.0)

    def spreads(task: str, after: int) -> tuple[float, float]:
        searched = [row for row in rates[task] if row["search"]]
        return spread([row for row in rates[task] if not row["search"]], after), spread(searched, after)

    lines = [
        (
            "two stages end at OWL-QN's objective (+0.05 %, -0.01 %) and features (+2 %, +6 %)",
            each(lambda task: f"{over(task, OURS, 'objective'):+.2f} %, {over(task, OURS, 'features'):+.1f} %"),
            all_of(lambda task: over(task, OURS, "objective") < 0.5 and abs(over(task, OURS, "features")) < 10),
        ),
        (
            "they take 30 % and 42 % less time than OWL-QN",
            each(lambda task: f"{saved(task):+.0f} %, without line search {over(task, PLAIN, 'seconds'):+.0f} %"),
            all_of(lambda task: saved(task) < -25),
        ),
        (
            "SGD ends above OWL-QN (+9 %, +24 %) with 2 and 3 times its features",
            each(
                lambda task: (
                    f"{over(task, SGD, 'objective'):+.0f} %, "
                    f"{found[task][SGD]['features'] / found[task][OWLQN_NAME]['features']:.1f} times"
                )
            ),
            all_of(lambda task: over(task, SGD, "objective") > 1 and over(task, SGD, "features") > 50),
        ),
        (
            "no significant difference of F",
            each(lambda task: ", ".join(f"{found[task][name]['score']:.2f}" for name in (OWLQN_NAME, SGD, OURS))),
            all_of(
                lambda task: (
                    max(abs(found[task][n]["score"] - found[task][OURS]["score"]) for n in (OWLQN_NAME, SGD)) < 0.5
                )
            ),
        ),
        (
            "with the line search SGD depends less on eta_0 and alpha (figures 1 to 4)",
            each(
                lambda task: (
                    "largest over smallest objective "
                    + ", ".join("{:.2f} -> {:.2f} after {} passes".format(*spreads(task, n), n) for n in (5, 30))
                )
            ),
            all_of(lambda task: all(spreads(task, n)[1] < spreads(task, n)[0] for n in (5, 30))),
        ),
        (
            "and converges better at the same eta_0 and alpha",
            each(
                lambda task: (
                    f"lower at {better(rates[task], 5)} of {len(rates[task]) // 2} settings after 5 passes, "
                    f"at {better(rates[task], 30)} after 30"
                )
            ),
            all_of(lambda task: better(rates[task], 30) == len(rates[task]) // 2),
        ),
    ]
    findings.claims("claims", lines)


def better(rows: list[dict[str, Any]], after: int) -> int:
    """Settings at which the line search leads to a lower objective after so many passes."""
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return sum(searched["curve"][after][2] < plain["curve"][after][2] for plain, searched in pairs)


def _cell(value: Any, form: str) -> str:
    return "" if value is None else format(value, form)


def main() -> None:
    arguments = options(__doc__, list(NAMES)).parse_args()
    findings = Findings("zhou2011", arguments)
    found, rates = {}, {}
    for name, data, l1 in prepared(arguments, findings):
        solvers = methods(findings, data, l1)
        rows = {method: run(findings, data, data.problem(l1), method, solver) for method, solver in solvers.items()}
        table(findings, data, rows)
        if name == "msra-ner":
            types_table(findings, rows)
        findings.figure(
            "curves", f"zhou2011-{name}", [rows[m] for m in solvers if "1e-5" not in m], f"{name}: C = {l1:g}", top=1.3
        )
        searched = searches(findings, data, l1)
        accepted(findings, data, l1)
        rates_table(findings, name, searched, rows[OWLQN_NAME])
        title = f"{name}: C = {l1:g}"
        findings.figure("searches", f"zhou2011-rates-{name}", searched, rows[OWLQN_NAME]["objective"], title)
        found[name], rates[name] = rows, searched
    claims(findings, found, rates)


if __name__ == "__main__":
    main()
