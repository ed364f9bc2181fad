"""Figures 4 and 5 of Zhu, Lao & Xing (2010): structures of letters, by Grafting-Light, Grafting and full optimisation.

    LOGLINEAR_DATA=/path/to/data python benchmarks/papers/zhu2010_structure.py --json zhu2010-structure.json \
        --figures docs/papers --page docs/papers/zhu2010.md
    (and again with --l1 50 --units, for the table where belief propagation breaks down)

Binary images of letters in the middle of 20 x 20 black squares, half of each letter for training, loopy belief
propagation for the gradients (section 6.2). Seconds are those of the processor, of all threads. Rows are written to the
JSON file run by run; what is there already is not run again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rows import Rows, fill, markdown

from loglinear import ElasticNet, Problem, Stop
from loglinear.datasets import data_dir
from loglinear.minimize import minimize
from loglinear.networks.gibbs import Gibbs
from loglinear.networks.graph import Graph, Report
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Layout
from loglinear.objectives.network import NetworkLikelihood
from loglinear.solvers import OWLQN, Grafting, GraftingLight

LETTERS = "acmsig"
SIDE, ROWS, COLUMNS = 20, 16, 8
PIXELS = SIDE * SIDE
LAYOUT = Layout([2] * PIXELS)
CHOSEN = "c"  # of Figure 5
UNITS = (1, *range(10, 111, 10))
UNIT = 50  # of Figure 4
COMPLETE = "Full-Opt-L1, complete graph"
STOPPED = "limit"


class Complete(NetworkLikelihood):
    """Belief propagation on the complete graph, edges of weight 0 included: what the paper's Full-Opt-L1 does."""

    def graph_of(self, interactions: Any) -> Graph:
        """The complete graph."""
        if len(self._graph.edges) == 0:
            pairs = np.stack(np.triu_indices(PIXELS, 1), axis=1)
            self._graph = Graph(self.layout, pairs, self.threads)
        return self._graph


METHODS: dict[str, tuple[type[NetworkLikelihood], Callable[[int], Any]]] = {
    "Grafting-Light": (NetworkLikelihood, lambda unit: GraftingLight(select=unit, steps=1)),
    "Grafting-Light, 10 steps": (NetworkLikelihood, lambda unit: GraftingLight(select=unit, steps=10)),
    "Grafting": (NetworkLikelihood, lambda unit: Grafting(select=unit)),
    "Full-Opt-L1": (NetworkLikelihood, lambda unit: OWLQN()),
    COMPLETE: (Complete, lambda unit: OWLQN()),
}
WITH_UNIT = tuple(METHODS)[:3]


def letters() -> dict[str, tuple[Any, Any]]:
    """Training and test images of each letter, shape (n, 400), those of odd and of even number."""
    images: dict[str, list[Any]] = {letter: [] for letter in LETTERS}
    for line in (data_dir() / "ocr-letters" / "letter.data").read_text().splitlines():
        cells = line.split("\t")
        if cells[1] in images:
            square = np.zeros((SIDE, SIDE), np.int32)
            top, left = (SIDE - ROWS) // 2, (SIDE - COLUMNS) // 2
            square[top : top + ROWS, left : left + COLUMNS] = np.array(cells[6 : 6 + ROWS * COLUMNS]).reshape(ROWS, -1)
            images[cells[1]].append(square.ravel())
    stacked = {letter: np.array(found) for letter, found in images.items()}
    return {letter: (found[::2], found[1::2]) for letter, found in stacked.items()}


def run(train: Any, test: Any, method: str, unit: int, l1: float, limit: float, threads: int) -> dict[str, Any]:
    """Train and measure."""
    kind, make = METHODS[method]
    inference = LoopyBP(tolerance=1e-5, candidates="product")
    objective = kind(train, LAYOUT, inference=inference, centred=True, threads=threads)
    problem = Problem(objective, ElasticNet(l1, 0.0, objective.n_unpenalised))
    began = time.process_time()

    def late(record: Any, state: Any) -> bool:
        return time.process_time() - began > limit

    w0 = objective.independent()
    began, wall = time.process_time(), time.perf_counter()
    result = minimize(problem, make(unit), w0, stop=Stop(max_iterations=5000), callbacks=(late,))
    seconds, wall = time.process_time() - began, time.perf_counter() - wall
    inner = result.w[: LAYOUT.n_interactions]
    selected = getattr(result.state, "selected", None)
    report = objective.report
    found = {
        "seconds": seconds,
        "wall": wall,
        "end": "converged" if result.status.converged else STOPPED if "CALLBACK" in result.status.name else "failed",
        "objective": result.objective,
        "evaluations": result.gradient_evaluations,
        "nonzero": int(np.count_nonzero(inner)),
        "selected": LAYOUT.n_interactions if selected is None else int((selected < LAYOUT.n_interactions).sum()),
        "inferences": report.runs,
        "unsettled": report.unconverged,
        "iterations": report.iterations,
        "residual": report.residual,
    }
    return found | judged(objective.natural(result.w), train, test, threads)


def judged(w: Any, train: Any, test: Any, threads: int) -> dict[str, Any]:
    """Per-pixel NLL by belief propagation and by samples, and the average image by both."""
    inner = np.flatnonzero(w[: LAYOUT.n_interactions])
    graph = Graph(LAYOUT, LAYOUT.edges_of(inner), threads)
    scores = graph.scores(w[graph.interactions], w[LAYOUT.n_interactions :])
    report = Report("loopy_bp")
    bethe = LoopyBP(damping=0.5, max_iterations=2000).moments(graph, scores, report, whole=False)
    sampled = Gibbs(chains=1000, sweeps=20).moments(graph, scores, Report("gibbs"), whole=False)
    found: dict[str, Any] = {"settled": report.unconverged == 0}
    for name, moments in (("bethe", bethe), ("sampled", sampled)):
        for part, images in (("train", train), ("test", test)):
            found[f"nll_{name}_{part}"] = float(moments.log_z - graph.score(scores, images).mean()) / PIXELS
        found[f"image_{name}"] = np.round(moments.nodes[graph.columns], 4).tolist()
    return found


class Runs(Rows):
    """Rows of letters."""

    def made(self, wanted: dict[str, Any], make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The row with these entries, made if there is none."""
        row = self.find(wanted)
        if row is None:
            row = wanted | make()
            self.add(row)
            print(said(row), flush=True)
        return row


def said(row: dict[str, Any]) -> str:
    return (
        f"{row['letter']} {row['method']:28s} M {row['unit'] or '-':>3} {row['seconds']:7.1f} s "
        f"evaluations {row['evaluations']:5d} edges {row['nonzero']:5d} of {row['selected']:6d} "
        f"NLL/pixel {row['nll_bethe_train']:.4f} {row['nll_bethe_test']:.4f} sampled {row['nll_sampled_train']:.4f} "
        f"{row['nll_sampled_test']:.4f} unsettled {row['unsettled']}/{row['inferences']} {row['end']}"
    )


def cells(row: dict[str, Any]) -> list[str]:
    numbers = [f"{row[name]:,}" for name in ("evaluations", "nonzero", "selected")]
    likelihoods = [f"{row[f'nll_{by}_{part}']:.4f}" for by in ("bethe", "sampled") for part in ("train", "test")]
    return [f"{row['seconds']:.1f}", *numbers, *likelihoods, f"{row['unsettled']} of {row['inferences']}", row["end"]]


HEADS = ["CPU seconds", "evaluations", "edges", "ever selected", "Bethe, train", "Bethe, test", "sampled, train"]
HEADS += ["sampled, test", "unsettled", "end"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--l1", type=float, default=100.0, help="lambda")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the processor of each run")
    parser.add_argument("--letters", default=LETTERS)
    parser.add_argument("--units", type=int, nargs="*", default=UNITS, help="select units M of Figure 5")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--json")
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    runs, data = Runs(arguments.json), letters()

    def made(letter: str, method: str, unit: int | None) -> dict[str, Any]:
        wanted = {"letter": letter, "method": method, "unit": unit, "l1": arguments.l1, "limit": arguments.limit}
        train, test = data[letter]
        options = (method, unit or UNIT, arguments.l1, arguments.limit, arguments.threads)
        return runs.made(wanted, lambda: run(train, test, *options))

    bars = [made(x, method, UNIT if method in WITH_UNIT else None) for x in arguments.letters for method in METHODS]
    lines = [made(CHOSEN, method, unit) for unit in arguments.units for method in WITH_UNIT]
    first = markdown(["letter", "method", *HEADS], [[row["letter"], row["method"], *cells(row)] for row in bars])
    level = [row for row in bars if row["letter"] == CHOSEN and row["unit"] is None]
    by_unit = [*level, *sorted(lines, key=lambda row: (WITH_UNIT.index(row["method"]), row["unit"]))]
    second = markdown(["method", "M", *HEADS], [[row["method"], row["unit"] or "", *cells(row)] for row in by_unit])
    print(f"\n{first}\n\n{second}")
    if arguments.page:
        fill(arguments.page, "structure", f"letters, lambda {arguments.l1:g}", first)
        fill(arguments.page, "structure", f"select unit, lambda {arguments.l1:g}", second)
    if arguments.figures:
        from figures import images, structure_bars, structure_units

        means = {letter: data[letter][0].mean(axis=0).reshape(SIDE, SIDE) for letter in arguments.letters}
        structure_bars(bars, arguments.figures / "zhu2010-structure.svg")
        images(bars, means, arguments.figures / "zhu2010-letters.png", SIDE)
        structure_units(level, lines, f"letter {CHOSEN}", arguments.figures / "zhu2010-structure-unit.svg")


if __name__ == "__main__":
    main()
