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
from findings import Claim, Findings, verdict
from tasks import DECAYS, PAPERS_OWLQN, Data, options, prepared, run

from loglinear.solvers import OWLQN, SGDL1, TwoStage
from loglinear.solvers.common.per_sample import sample_passes, visiting

OWLQN_NAME, SGD, OURS, PLAIN = "OWL-QN", "SGD", "two stages, line search", "two stages"
DEFAULT, DEFAULT_TWO = "two stages, defaults of loglinear", "two stages, to 1e-5"
FINE = "OWL-QN, to 1e-5"
# The paper's rows: objective, active features, F-score, passes, minutes (a unit of time like our seconds).
COLUMNS = ("objective", "features", "score", "passes", "seconds")
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
# The tables with features and F, and with times, and the figures by eta_0 and by alpha.
ITEMS = {
    "pku": ("Table 2", "Table 3", ("Figure 1", "Figure 2")),
    "msra-ner": ("Table 6", "Table 5", ("Figure 3", "Figure 4")),
}
WITH_TYPES = ("msra-ner",)
# Which multiple of the scheduled rate the line search takes is counted on so many samples, after these passes.
ACCEPTED_RATES, PROBES, LOOKS = (1.0, 0.1), 400, (0, 1, 4, 9)
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)
HEADS = ("L + R", "features", "F", "passes", "seconds", "from OWL-QN's seconds")
COMPARED = (5, 10, 30)  # passes after which the objectives are compared


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
            rows.append(run(findings, data, named(rate, decay, search), solver, l1=l1, search=search))
    return rows


def named(rate: float, decay: float, search: bool) -> str:
    """The name of SGD with these settings."""
    return f"SGD{' + HLS' if search else ''}, eta_0 = {rate:g}, alpha = {decay:g}"


def accepted(findings: Findings, data: Data, l1: float) -> dict[float, dict[str, Any]]:
    """The multiples of the scheduled rate that the line search takes, at two eta_0 and the paper's alpha, and a table.

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

    lines, found = [], {}
    for eta in ACCEPTED_RATES:
        wanted = {
            "task": data.task.name,
            "what": "accepted",
            "learning_rate": eta,
            "l1": l1,
            "samples": data.samples,
        }
        row = found[eta] = findings.made(wanted, lambda eta=eta: counted(eta))
        for look, shares in zip(LOOKS, row["shares"], strict=True):
            cells = [f"{100 * shares[str(multiple)]:.0f} %" for multiple in MULTIPLES]
            lines.append([f"{eta:g}", str(look + 1), *cells, f"{row['means'][look]:.2f}"])
    heads = ["eta_0", "pass", *(f"{multiple:g}" for multiple in MULTIPLES), "mean in the pass"]
    findings.table(f"accepted, {data.task.name}", heads, lines)
    return found


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
            cells += ["", "", ""]
        else:
            cells.append(f"{100 * (row['seconds'] / batch['seconds'] - 1):+.0f} %")
            cells.append(f"{100 * (minutes / paper[OWLQN_NAME][4] - 1):+.0f} %" if minutes else "")
            cells.append("not reached" if saved is None else f"{100 * saved:+.0f} %")
        lines.append([name, *cells])
    before = f"{data.samples:,} sentences, {data.candidates:,} candidate features, C = {batch['l1']:g}; "
    before += f"eta_0 = {rows[SGD]['learning_rate']:g}, alpha = {rows[SGD]['decay']:g}."
    heads = ["method", *(head for each in HEADS for head in (each, "(paper)")), "to OWL-QN's L + R"]
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
        for after in COMPARED:
            cells += [f"{above(row, after, batch):.3f}" for row in (plain, searched)]
        lines.append([*cells, f"{plain['score']:.2f}", f"{searched['score']:.2f}"])
    heads = ["eta_0", "alpha"]
    heads += [f"{'with HLS' if search else 'SGD'}, {n} passes" for n in COMPARED for search in (False, True)]
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
    """What the paper says of its tables and figures; it has no SXU."""
    lines: list[Claim] = []
    for task, (accuracy, time, (by_rate, by_decay)) in ITEMS.items():
        if task in found:
            theirs = {name: dict(zip(COLUMNS, row, strict=True)) for name, row in PAPER[task].items()}
            lines += of_tables(accuracy, time, found[task], theirs)
            lines += of_scores(accuracy, task, found[task])
            lines += of_searches(by_rate, [row for row in rates[task] if row["decay"] == DECAY])
            lines += of_searches(by_decay, [row for row in rates[task] if row["learning_rate"] == RATE])
    findings.claims("claims", lines)


def change(rows: dict[str, Any], name: str, column: str) -> float:
    """The relative difference from OWL-QN, in per cent."""
    return 100.0 * (rows[name][column] / rows[OWLQN_NAME][column] - 1.0)


def of_tables(accuracy: str, time: str, rows: dict[str, Any], theirs: dict[str, Any]) -> list[Claim]:
    """Objectives, features, passes and times."""
    second = {True: rows[OURS]["evaluations"], False: int(theirs[OURS]["passes"].split(" + ")[1])}
    fewer = 100.0 * (second[True] / rows[OWLQN_NAME]["evaluations"] - 1.0)
    paper_fewer = 100.0 * (second[False] / int(theirs[OWLQN_NAME]["passes"]) - 1.0)
    objective = accuracy if accuracy == "Table 2" else time

    def near(items: str, column: str, name: str, form: str) -> Claim:
        ours, paper = change(rows, OURS, column), change(theirs, OURS, column)
        says = f"two stages end at OWL-QN's {name} ({paper:{form}} %)"
        return Claim(items, says, f"{ours:{form}} %", f"at most {paper:{form}} %", ours <= paper)

    def worse(items: str, column: str, says: str) -> Claim:
        ours, paper = change(rows, SGD, column), change(theirs, SGD, column)
        return Claim(items, f"{says} ({paper:+.0f} %)", f"{ours:+.0f} %", f"at least {paper:+.0f} %", ours >= paper)

    saved, paper_saved = change(rows, OURS, "seconds"), change(theirs, OURS, "seconds")
    return [
        near(objective, "objective", "objective", "+.2f"),
        near(accuracy, "features", "number of features", "+.1f"),
        worse(objective, "objective", "SGD ends above OWL-QN's objective"),
        worse(accuracy, "features", "SGD ends with more features than OWL-QN"),
        Claim(
            time,
            f"OWL-QN needs fewer passes after SGD ({paper_fewer:.0f} %)",
            f"{second[True]} instead of {rows[OWLQN_NAME]['evaluations']}, {fewer:.0f} %",
            f"at least {-paper_fewer:.0f} % fewer",
            fewer <= paper_fewer,
        ),
        Claim(
            time,
            f"two stages take {-paper_saved:.0f} % less time than OWL-QN",
            f"{saved:+.0f} %, without line search {change(rows, PLAIN, 'seconds'):+.0f} %",
            f"at least {-paper_saved:.0f} % less until both have converged",
            saved <= paper_saved,
        ),
    ]


def of_scores(item: str, task: str, rows: dict[str, Any]) -> list[Claim]:
    """F of words, or of each type of entity."""
    shown = (OWLQN_NAME, SGD, OURS)
    if task in WITH_TYPES:
        ours = {kind: [round(rows[name]["types"][kind], 2) for name in shown] for kind in TYPES}
        theirs = {kind: [PAPER_TYPES[name][at] for name in shown] for at, kind in enumerate(TYPES)}
    else:
        ours = {"F": [round(rows[name]["score"], 2) for name in shown]}
        theirs = {"F": [PAPER[task][name][2] or 0.0 for name in shown]}

    def spreads(scores: dict[str, list[float]]) -> list[float]:
        return [round(max(values) - min(values), 2) for values in scores.values()]

    def said(scores: dict[str, list[float]]) -> str:
        return ", ".join(f"{kind} {value:.2f}" for kind, value in zip(scores, spreads(scores), strict=True))

    held = [here <= paper for here, paper in zip(spreads(ours), spreads(theirs), strict=True)]
    says = f"no significant difference of F between the methods ({said(theirs)})"
    return [Claim(item, says, said(ours), "at most as much as in the paper", verdict(held))]


def of_searches(item: str, rows: list[dict[str, Any]]) -> list[Claim]:
    """The line search at several eta_0, or at several alpha."""
    settings = len(rows) // 2
    spreads = [[spread([row for row in rows if row["search"] == on], n) for on in (False, True)] for n in COMPARED]
    lower = [better(rows, n) for n in COMPARED]
    looks = ", ".join(map(str, COMPARED[:-1])) + f" and {COMPARED[-1]}"
    spread_out = ", ".join(f"{plain:.2f} -> {searched:.2f}" for plain, searched in spreads)
    return [
        Claim(
            item,
            "with the line search SGD converges better at the same eta_0 and alpha",
            f"lower at {', '.join(map(str, lower))} of {settings} settings after {looks} passes",
            f"lower at all settings after {looks} passes",
            verdict([held for count in lower for held in [True] * count + [False] * (settings - count)]),
        ),
        Claim(
            item,
            "with the line search SGD depends less on eta_0 and alpha",
            f"largest over smallest objective {spread_out} after {looks} passes",
            f"smaller after {looks} passes",
            verdict([searched < plain for plain, searched in spreads]),
        ),
    ]


def better(rows: list[dict[str, Any]], after: int) -> int:
    """Settings at which the line search leads to a lower objective after so many passes."""
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return sum(searched["curve"][after][2] < plain["curve"][after][2] for plain, searched in pairs)


def sentences(
    findings: Findings, found: dict[str, dict[str, dict[str, Any]]], taken: dict[str, dict[float, dict[str, Any]]]
) -> None:
    """What the page says in words, with numbers from the rows."""
    if set(NAMES) != found.keys():
        return
    largest = min(shares["4.0"] for row in taken["msra-ner"].values() for shares in row["shares"][1:])
    means = [mean for row in taken["msra-ner"].values() for mean in row["means"]]
    text = "The search looks for a low objective on one sample, over the weights that this sample uses (Eq. 14). On "
    text += f"MSRA, from the second pass on, at least {100 * largest:.0f} % of the samples take the largest rate that "
    text += f"the search allows, and the mean over a pass is {min(means):.1f} to {max(means):.1f} times the scheduled "
    text += "rate. SGD without search ends higher with such a rate than SGD with the search ([reasons](reasons.md)). "
    findings.text("search", f"{text}Why the search helps on PKU and SXU but not on MSRA is not known.")
    halved = {
        task: 100 * sum(rows[RATE]["shares"][0][multiple] for multiple in ("0.25", "0.5"))
        for task, rows in taken.items()
    }
    text = (
        f"At eta_0 = {RATE:g}, {halved['pku']:.0f} % of the samples of the first pass on PKU and {halved['sxu']:.0f} "
    )
    findings.text("halved", f"{text}% on SXU take half of the rate or less; on MSRA {halved['msra-ner']:.0f} %.")
    persons = [found["msra-ner"][name]["types"]["PER"] for name in PAPER_TYPES]
    theirs = [scores[TYPES.index("PER")] for scores in PAPER_TYPES.values()]
    segments = found["msra-ner"][OWLQN_NAME]["samples"]
    text = (
        f"The MSRA data are the release with {segments:,} segments; the paper's have 23,182 sentences and a different "
    )
    text += f"split. F of persons is {min(persons):.0f} to {max(persons):.0f} here and {min(theirs):.0f} to "
    text += f"{max(theirs):.0f} in the paper. On held-out segments of the training file F comes near the paper's "
    findings.text("persons", f"{text}([reasons](reasons.md)).")


def _cell(value: Any, form: str) -> str:
    return "" if value is None else format(value, form)


def main() -> None:
    arguments = options(__doc__, list(NAMES)).parse_args()
    findings = Findings("zhou2011", arguments)
    found, rates, taken = {}, {}, {}
    for name, data, l1 in prepared(arguments, findings):
        solvers = methods(findings, data, l1)
        rows = {method: run(findings, data, method, solver, l1=l1) for method, solver in solvers.items()}
        table(findings, data, rows)
        if name == "msra-ner":
            types_table(findings, rows)
        drawn, title = [rows[method] for method in solvers if "1e-5" not in method], f"{name}: C = {l1:g}"
        best = min(row["objective"] for row in drawn)
        findings.figure("curves", f"zhou2011-{name}", drawn, best, title, top=1.3)
        searched = searches(findings, data, l1)
        taken[name] = accepted(findings, data, l1)
        rates_table(findings, name, searched, rows[OWLQN_NAME])
        findings.figure("searches", f"zhou2011-rates-{name}", searched, rows[OWLQN_NAME]["objective"], title)
        found[name], rates[name] = rows, searched
    claims(findings, found, rates)
    sentences(findings, found, taken)


if __name__ == "__main__":
    main()
