"""Tables 2-6 and figures 1-4 of Zhou, Qiu & Huang (2011): two stages, SGD then OWL-QN.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/zhou2011.py --json zhou2011.json --figures docs/papers

The original SIGHAN 2005 PKU training file is not at hand: "pku" trains on its parent corpus (PFR, January 1998), less
the sentences of the test set. "sxu" is SIGHAN 2008's SXU corpus. The MSRA entities are another release.
C is chosen on 1,000 held-out sentences, eta_0 and alpha by the paper's grid, on a sample of 3,000 sentences.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tasks import options, prepared, run

from loglinear.solvers import OWLQN, SGDL1, TwoStage, tune_learning_rate

# The paper's rows: objective, active features, F-score, passes, minutes.
PAPER = {
    "pku": {
        "OWL-QN": (56_451.8, 114_942, 94.81, "141", 179),
        "SGD": (61_398.6, 232_585, 94.92, "30", 58),
        "two stages, line search": (56_481.9, 117_374, 94.78, "5 + 88", 126),
    },
    "msra-ner": {
        "OWL-QN": (11_247.1, 34_579, None, "219", 326),
        "SGD": (13_993.3, 113_005, None, "30", 68),
        "two stages, line search": (11_245.5, 36_709, None, "5 + 122", 190),
    },
}
# Its table 6: F of places, organisations and persons.
PAPER_TYPES = {
    "OWL-QN": (89.94, 82.61, 90.65),
    "SGD": (89.39, 82.75, 90.78),
    "two stages, line search": (90.05, 82.25, 90.49),
}
TYPES = ("LOC", "ORG", "PER")
NAMES = ("pku", "sxu", "msra-ner")
TUNING_SAMPLE = 3000
FINE = 1e-5
# The search of OWL-QN as the paper ran it, in the second stage too: a decrease in every step, and 10 pairs.
SEARCH: dict[str, Any] = {"memory": 10, "window": 1}
HEADS = ("L + R", "features", "F", "passes", "seconds", "to OWL-QN's L + R")


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: ours beside the paper's, and the time saved against OWL-QN."""
    lines = [
        "| method |" + "".join(f" {head} | (paper) |" for head in HEADS),
        "| --- |" + " ---: |" * (2 * len(HEADS)),
    ]
    batch = next(row for row in rows if row["method"] == "OWL-QN")
    for row in rows:
        paper = PAPER.get(row["task"], {}).get(row["method"])
        whole = PAPER.get(row["task"], {}).get("OWL-QN")
        objective, features, score, passes, minutes = paper or (None,) * 5
        saved = f"{100 * (row['to_owlqn'] / batch['seconds'] - 1):+.0f} %" if row["to_owlqn"] else "not reached"
        theirs = f"{100 * (minutes / whole[4] - 1):+.0f} %" if paper and whole and row is not batch else ""
        lines.append(
            f"| {row['method']} | {row['objective']:,.1f} | {_cell(objective, ',.1f')} | {row['features']:,} | "
            f"{_cell(features, ',')} | {row['score']:.2f} | {_cell(score, '.2f')} | "
            f"{row['passes']:.0f} | {_cell(passes, '')} | {row['seconds']:.1f} | "
            f"{_cell(minutes and 60 * minutes, ',')} | {'' if row is batch else saved} | {theirs} |"
        )
    return "\n".join(lines)


def types_table(rows: list[dict[str, Any]]) -> str:
    """Markdown: F of each type of entity, ours beside the paper's."""
    lines = ["| method |" + "".join(f" {name} | (paper) |" for name in TYPES), "| --- |" + " ---: |" * (2 * len(TYPES))]
    for row in rows:
        paper = PAPER_TYPES.get(row["method"], (None,) * len(TYPES))
        cells = zip((row["types"][name] for name in TYPES), paper, strict=True)
        lines.append(f"| {row['method']} |" + "".join(f" {f:.2f} | {_cell(theirs, '.2f')} |" for f, theirs in cells))
    return "\n".join(lines)


def _cell(value: Any, form: str) -> str:
    return "" if value is None else format(value, form)


def main() -> None:
    parser = options(__doc__, list(NAMES))
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, data, l1 in prepared(arguments):
        sgd = tune_learning_rate(data.problem(l1), SGDL1(), decays=(0.9, 0.85, 0.8), sample=TUNING_SAMPLE)
        solvers: dict[str, Any] = {
            "OWL-QN": OWLQN(tolerance=1e-4, **SEARCH),
            "SGD": sgd,
            "two stages, line search": TwoStage(
                learning_rate=sgd.learning_rate, decay=sgd.decay, line_search=True, **SEARCH
            ),
            "two stages": TwoStage(**SEARCH),
            f"OWL-QN, to {FINE:g}": OWLQN(tolerance=FINE, **SEARCH),
            f"two stages, to {FINE:g}": TwoStage(tolerance=FINE, **SEARCH),
        }
        ours = [run(data, data.problem(l1), method, solver) for method, solver in solvers.items()]
        goal = ours[0]["objective"]
        for row in ours:
            row["to_owlqn"] = next((point[1] for point in row["curve"] if point[2] <= goal * (1 + 1e-4)), None)
        figure = ours[:4]
        if name == "sxu":
            for rate in (1.0, 0.5, 0.2, 0.1):
                for search in (False, True):
                    method = f"SGD{' + HLS' if search else ''}, eta_0 = {rate}"
                    ours.append(
                        run(data, data.problem(l1), method, SGDL1(learning_rate=rate, passes=10, line_search=search))
                    )
                    ours[-1]["to_owlqn"] = None
        rows.extend(ours)
        print(f"\n{table(ours)}\n", flush=True)
        if name == "msra-ner":
            print(types_table(ours), flush=True)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(rows))
        if arguments.figures:
            from figures import curves

            folder = Path(arguments.figures)
            curves(figure, f"{name}: C = {l1:g}", folder / f"zhou2011-{name}.svg", top=1.3)
            if name == "sxu":
                rates = [ours[0], *(row for row in ours if "eta_0" in row["method"])]
                curves(rates, f"{name}: rates, with and without line search", folder / "zhou2011-rates.svg", top=3.0)


if __name__ == "__main__":
    main()
