"""Tables 1-3 and figures 3-6 of Tsuruoka, Tsujii & Ananiadou (2009): SGD-L1 beside OWL-QN.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/tsuruoka2009.py --json docs/papers/tsuruoka2009.json \
        --figures docs/papers

masc-pos stands in for the WSJ corpus, which is not free. JNLPBA comes from words alone, and with the part-of-speech
and chunk columns of taggers of our own. C is chosen on 1,000 held-out sentences, eta_0 and alpha by the paper's grid,
in 30 passes over all training data. OWL-QN is the paper's: monotone search, 10 pairs, tolerance 1e-4. Seconds are those
of the processor, one thread.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from findings import Findings, verdict
from tasks import DECAYS, PAPERS_OWLQN, Data, options, prepared, run

from loglinear.solvers import OWLQN, SGDL1
from loglinear.solvers.common.tuning import LEARNING_RATES

OWLQN_NAME, DEFAULT, FINE = "OWL-QN", "OWL-QN, defaults of loglinear", "OWL-QN, to 1e-7"
NAIVE, CLIPPING = "SGD-L1 (Naive)", "SGD-L1 (Clipping + Lazy-Update)"
CUMULATIVE, DECAYING = "SGD-L1 (Cumulative)", "SGD-L1 (Cumulative + ED)"
# The paper's rows: passes, objective per sample, active features, seconds, F-score or accuracy.
PAPER: dict[str, dict[str, tuple[int, float, int, int, float]]] = {
    "conll2000": {
        OWLQN_NAME: (160, -1.583, 18_109, 598, 93.62),
        NAIVE: (30, -1.671, 455_651, 1_117, 93.64),
        CLIPPING: (30, -1.671, 87_792, 144, 93.65),
        CUMULATIVE: (30, -1.653, 28_189, 149, 93.68),
        DECAYING: (30, -1.622, 23_584, 148, 93.66),
    },
    "jnlpba2004-tagged": {
        OWLQN_NAME: (161, -2.448, 30_710, 2_253, 71.76),
        NAIVE: (30, -2.537, 1_032_962, 4_528, 71.20),
        CLIPPING: (30, -2.538, 279_886, 585, 71.20),
        CUMULATIVE: (30, -2.479, 31_986, 631, 71.40),
        DECAYING: (30, -2.443, 25_965, 631, 71.63),
    },
    "jnlpba2004": {},
    "masc-pos": {
        OWLQN_NAME: (124, -1.941, 50_870, 5_623, 97.16),
        NAIVE: (30, -2.013, 2_142_130, 18_471, 97.18),
        CLIPPING: (30, -2.013, 323_199, 1_680, 97.18),
        CUMULATIVE: (30, -1.987, 62_043, 1_777, 97.19),
        DECAYING: (30, -1.954, 51_857, 1_774, 97.17),
    },
}
FORMS = {"passes": ".0f", "per_sample": ".3f", "features": ",", "seconds": ",.1f", "score": ".2f"}
HEADS = ("passes", "objective / N", "features", "seconds", "score")


def methods(findings: Findings, data: Data, l1: float) -> dict[str, Any]:
    """The paper's five trainers with rates from its grid, and OWL-QN with today's defaults."""
    cumulative = data.tuned(findings, l1, schedule="inverse")
    rate = {"schedule": "inverse", "learning_rate": cumulative.learning_rate}
    return {
        OWLQN_NAME: PAPERS_OWLQN,
        DEFAULT: OWLQN(tolerance=PAPERS_OWLQN.tolerance),
        CLIPPING: SGDL1(penalty="clipping_lazy", **rate),
        CUMULATIVE: cumulative,
        DECAYING: data.tuned(findings, l1),
        NAIVE: SGDL1(penalty="naive", **rate),
    }


def table(findings: Findings, data: Data, rows: dict[str, dict[str, Any]]) -> None:
    """Ours beside the paper's."""
    name = data.task.name
    heads = ["method", *(head for each in HEADS for head in (each, "(paper)"))]
    lines = []
    for method in (OWLQN_NAME, DEFAULT, NAIVE, CLIPPING, CUMULATIVE, DECAYING):
        theirs = PAPER[name].get(method, (None,) * len(HEADS))
        cells = []
        for (column, form), their in zip(FORMS.items(), theirs, strict=True):
            cells += [format(rows[method][column], form), "" if their is None else f"{their:,}"]
        lines.append([method, *cells])
    inverse, decaying = rows[CUMULATIVE], rows[DECAYING]
    before = f"{len(data.train):,} sentences, {data.objective.n_features:,} candidate features, "
    before += f"C = {inverse['l1']:g}; eta_0 = {inverse['learning_rate']:g} (inverse schedule), "
    before += f"eta_0 = {decaying['learning_rate']:g} with alpha = {decaying['decay']:g} (exponential decay)."
    findings.table(name, heads, lines, before)


def grid(findings: Findings, data: Data, l1: float, best: float) -> None:
    """The objective after 30 passes at each eta_0 and alpha, over the best known."""
    found = {
        rate: [
            run(
                findings, data, data.problem(l1), "grid", SGDL1(learning_rate=rate, decay=decay), rate=rate, alpha=decay
            )
            for decay in DECAYS
        ]
        for rate in LEARNING_RATES
    }
    lines = [[f"{rate:g}", *(f"{row['objective'] / best:.3f}" for row in rows)] for rate, rows in found.items()]
    findings.table("grid", ["eta_0", *(f"alpha = {decay:g}" for decay in DECAYS)], lines)


def claims(findings: Findings, all_rows: dict[str, dict[str, dict[str, Any]]]) -> None:
    """What the paper says of its tables and figures, one claim after the other."""

    def each(text: Any) -> str:
        return "; ".join(f"{task}: {text(rows)}" for task, rows in all_rows.items())

    def all_of(holds: Any) -> bool | None:
        return verdict([bool(holds(rows)) for rows in all_rows.values()])

    def above(row: dict[str, Any], rows: dict[str, Any]) -> float:
        return 100.0 * (row["objective"] / rows[OWLQN_NAME]["objective"] - 1.0)

    def order(rows: dict[str, Any], column: str, names: tuple[str, ...]) -> bool:
        values = [rows[name][column] for name in names]
        return all(more >= less for more, less in pairwise(values))

    down = (NAIVE, CLIPPING, CUMULATIVE, DECAYING)
    lines = [
        (
            "clipping does not reduce the active features, the cumulative penalty does, to the level of OWL-QN",
            each(lambda rows: " > ".join(f"{rows[name]['features']:,}" for name in (*down, OWLQN_NAME))),
            all_of(
                lambda rows: (
                    order(rows, "features", down) and rows[DECAYING]["features"] <= 2 * rows[OWLQN_NAME]["features"]
                )
            ),
        ),
        (
            "objectives after 30 passes: naive like clipping, cumulative better, exponential decay best",
            each(lambda rows: ", ".join(f"+{above(rows[name], rows):.1f} %" for name in down) + " above OWL-QN's"),
            all_of(lambda rows: order(rows, "objective", down[1:])),
        ),
        (
            "the naive curve is almost the same as that of clipping",
            each(lambda rows: f"{100 * (rows[NAIVE]['objective'] / rows[CLIPPING]['objective'] - 1):+.2f} %"),
            all_of(lambda rows: abs(rows[NAIVE]["objective"] / rows[CLIPPING]["objective"] - 1) < 0.005),
        ),
        (
            "no significant difference of accuracy",
            each(
                lambda rows: "{:.2f} to {:.2f}".format(
                    min(rows[name]["score"] for name in (OWLQN_NAME, *down)),
                    max(rows[name]["score"] for name in (OWLQN_NAME, *down)),
                )
            ),
            all_of(
                lambda rows: max(rows[name]["score"] for name in down) - min(rows[name]["score"] for name in down) < 0.6
            ),
        ),
        (
            "naive takes longer than OWL-QN; 30 passes with the cumulative penalty take a quarter to a third",
            each(
                lambda rows: (
                    ", ".join(
                        f"{rows[name]['seconds'] / rows[OWLQN_NAME]['seconds']:.2f}" for name in (NAIVE, DECAYING)
                    )
                    + " of OWL-QN's"
                )
            ),
            all_of(lambda rows: rows[NAIVE]["seconds"] > rows[OWLQN_NAME]["seconds"] > 2 * rows[DECAYING]["seconds"]),
        ),
    ]
    findings.claims("claims", lines)


def main() -> None:
    arguments = options(__doc__, list(PAPER)).parse_args()
    findings = Findings("tsuruoka2009", arguments)
    all_rows = {}
    for name, data, l1 in prepared(arguments, findings):
        found = methods(findings, data, l1)
        all_rows[name] = {
            method: run(findings, data, data.problem(l1), method, solver) for method, solver in found.items()
        }
        table(findings, data, all_rows[name])
        shown = [row for method, row in all_rows[name].items() if method != DEFAULT]
        if name == "conll2000":
            fine = run(findings, data, data.problem(l1), FINE, OWLQN(tolerance=1e-7))
            grid(findings, data, l1, fine["objective"])
        findings.figure("curves", f"tsuruoka2009-{name}", shown, f"{name}: C = {l1:g}")
    claims(findings, all_rows)


if __name__ == "__main__":
    main()
