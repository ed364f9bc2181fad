"""Tables 1-3 and figures 3-6 of Tsuruoka, Tsujii & Ananiadou (2009): SGD-L1 beside OWL-QN.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/tsuruoka2009.py --json tsuruoka2009.json --figures docs/papers

masc-pos stands in for the WSJ corpus, which is not free; JNLPBA is without the part-of-speech and chunk columns that
the paper made with a tagger. C is chosen on 1,000 held-out sentences, eta_0 and alpha by the paper's grid, on a sample
of 3,000 sentences.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tasks import Data, options, prepared, run

from loglinear.solvers import OWLQN, SGDL1, tune_learning_rate

# The paper's rows: passes, objective per sample, active features, seconds, F-score or accuracy.
PAPER = {
    "conll2000": {
        "OWL-QN": (160, -1.583, 18_109, 598, 93.62),
        "SGD-L1 (Naive)": (30, -1.671, 455_651, 1_117, 93.64),
        "SGD-L1 (Clipping + Lazy-Update)": (30, -1.671, 87_792, 144, 93.65),
        "SGD-L1 (Cumulative)": (30, -1.653, 28_189, 149, 93.68),
        "SGD-L1 (Cumulative + ED)": (30, -1.622, 23_584, 148, 93.66),
    },
    "jnlpba2004": {
        "OWL-QN": (161, -2.448, 30_710, 2_253, 71.76),
        "SGD-L1 (Naive)": (30, -2.537, 1_032_962, 4_528, 71.20),
        "SGD-L1 (Clipping + Lazy-Update)": (30, -2.538, 279_886, 585, 71.20),
        "SGD-L1 (Cumulative)": (30, -2.479, 31_986, 631, 71.40),
        "SGD-L1 (Cumulative + ED)": (30, -2.443, 25_965, 631, 71.63),
    },
    "masc-pos": {
        "OWL-QN": (124, -1.941, 50_870, 5_623, 97.16),
        "SGD-L1 (Naive)": (30, -2.013, 2_142_130, 18_471, 97.18),
        "SGD-L1 (Clipping + Lazy-Update)": (30, -2.013, 323_199, 1_680, 97.18),
        "SGD-L1 (Cumulative)": (30, -1.987, 62_043, 1_777, 97.19),
        "SGD-L1 (Cumulative + ED)": (30, -1.954, 51_857, 1_774, 97.17),
    },
}
TUNING_SAMPLE = 3000
HEADS = ("passes", "objective / N", "features", "seconds", "score")


def methods(data: Data, l1: float, naive: bool) -> list[tuple[str, Any]]:
    """The paper's five trainers, with rates from its grid."""
    problem = data.problem(l1)

    def tuned(**options: Any) -> SGDL1:
        decays = (0.9, 0.85, 0.8) if options.get("schedule") != "inverse" else ()
        return tune_learning_rate(problem, SGDL1(**options), decays=decays, sample=TUNING_SAMPLE)

    inverse = tuned(schedule="inverse")
    rate = {"schedule": "inverse", "learning_rate": inverse.learning_rate}
    chosen: list[tuple[str, Any]] = [("OWL-QN", OWLQN(tolerance=1e-4, memory=10, window=1))]
    if naive:
        chosen.append(("SGD-L1 (Naive)", SGDL1(penalty="naive", **rate)))
    return [
        *chosen,
        ("SGD-L1 (Clipping + Lazy-Update)", SGDL1(penalty="clipping_lazy", **rate)),
        ("SGD-L1 (Cumulative)", inverse),
        ("SGD-L1 (Cumulative + ED)", tuned()),
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: ours beside the paper's."""
    lines = [
        "| method |" + "".join(f" {head} | (paper) |" for head in HEADS),
        "| --- |" + " ---: |" * (2 * len(HEADS)),
    ]
    for row in rows:
        paper = PAPER[row["task"]][row["method"]]
        lines.append(
            f"| {row['method']} | {row['passes']:.0f} | {paper[0]} | {row['per_sample']:.3f} | {paper[1]:.3f} | "
            f"{row['features']:,} | {paper[2]:,} | {row['seconds']:.1f} | {paper[3]:,} | "
            f"{row['score']:.2f} | {paper[4]:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__, list(PAPER))
    parser.add_argument(
        "--naive", nargs="*", default=["conll2000"], help="tasks to run the naive method on, which is slow"
    )
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, data, l1 in prepared(arguments):
        ours = []
        for method, solver in methods(data, l1, name in arguments.naive):
            about = {"learning_rate": getattr(solver, "learning_rate", None), "decay": getattr(solver, "decay", None)}
            ours.append(run(data, data.problem(l1), method, solver, **about))
        rows.extend(ours)
        print(f"\n{table(ours)}\n", flush=True)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(rows))
        if arguments.figures:
            from figures import curves

            curves(ours, f"{name}: C = {l1:g}", Path(arguments.figures) / f"tsuruoka2009-{name}.svg")


if __name__ == "__main__":
    main()
