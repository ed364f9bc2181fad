"""Figures 4 and 5 of Zhu, Lao & Xing (2010): structures of letters, by Grafting-Light, Grafting and full optimisation.

Binary images of letters in the middle of 20 x 20 black squares, half of each letter for training, loopy belief
propagation for the gradients (section 6.2). The paper does not give lambda. Where it is small the Bethe approximation
has several fixed points, and every method ends at a kink where one takes over from another. So each letter gets the
least lambda of a grid from which on all methods converge. Seconds are those of the processor, one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from clock import minimised
from findings import Claim, Findings, verdict

from loglinear import ElasticNet, Problem, Stop
from loglinear.datasets import data_dir
from loglinear.networks.gibbs import Gibbs
from loglinear.networks.graph import Graph, Report
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from loglinear.objectives.network import NetworkLikelihood
from loglinear.solvers import OWLQN, Grafting, GraftingLight

LETTERS = "acmsig"
SIDE, ROWS, COLUMNS = 20, 16, 8
PIXELS = SIDE * SIDE
LAYOUT = Numbering([2] * PIXELS)
CHOSEN = "c"  # of Figure 5
UNITS = (1, *range(10, 111, 10))
UNIT = 50  # of Figure 4
# Lambda is looked for from the most down to the least that all methods converge at, by factors of sqrt(2).
STRENGTHS = tuple(round(400.0 / 2 ** (step / 2), 1) for step in range(9))
LIMIT = 60.0  # seconds of the processor of a run
COMPLETE = "Full-Opt-L1, complete graph"
STOPPED = "limit"


class Complete(NetworkLikelihood):
    """Belief propagation on the complete graph, edges of weight 0 included: what the paper's Full-Opt-L1 does."""

    def graph_of(self, interactions: Any) -> Graph:
        """The complete graph."""
        if len(self._graph.edges) == 0:
            pairs = np.stack(np.triu_indices(PIXELS, 1), axis=1)
            self._graph = Graph(self.numbering, pairs, self.threads)
        return self._graph


# The search of OWL-QN is Andrew & Gao's, its memory their default.
SEARCH: dict[str, Any] = {"memory": 10, "window": 1}
METHODS: dict[str, tuple[type[NetworkLikelihood], Callable[[int], Any]]] = {
    "Grafting-Light": (NetworkLikelihood, lambda unit: GraftingLight(select=unit, steps=1, **SEARCH)),
    "Grafting-Light, 10 steps": (NetworkLikelihood, lambda unit: GraftingLight(select=unit, steps=10, **SEARCH)),
    "Grafting": (NetworkLikelihood, lambda unit: Grafting(select=unit, **SEARCH)),
    "Full-Opt-L1": (NetworkLikelihood, lambda unit: OWLQN(**SEARCH)),
    COMPLETE: (Complete, lambda unit: OWLQN(**SEARCH)),
}
WITH_UNIT = tuple(METHODS)[:3]


@cache
def images() -> dict[str, tuple[Any, Any]]:
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


def run(train: Any, test: Any, method: str, unit: int, l1: float, threads: int) -> dict[str, Any]:
    """Train and measure."""
    kind, make = METHODS[method]
    inference = LoopyBP(tolerance=1e-5, candidates="product")
    objective = kind(train, LAYOUT, inference=inference, centred=True, threads=threads)
    problem = Problem(objective, ElasticNet(l1, 0.0, objective.n_unpenalised))
    began = time.process_time()

    def late(record: Any, state: Any) -> bool:
        return time.process_time() - began > LIMIT

    w0 = objective.independent()
    began, wall = time.process_time(), time.perf_counter()
    result = minimised(problem, make(unit), w0, stop=Stop(max_iterations=5000), callbacks=(late,))
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


def structures(findings: Findings, arguments: argparse.Namespace) -> None:
    """Figure 4 at the least lambda at which all methods converge, the rows at the next smaller one, and Figure 5."""

    def row(letter: str, method: str, unit: int | None, l1: float) -> dict[str, Any]:
        wanted = {"task": "letters", "letter": letter, "method": method, "unit": unit, "l1": l1}
        found = findings.made(wanted, lambda: run(*images()[letter], method, unit or UNIT, l1, arguments.threads))
        findings.say(said(found))
        return found

    def mean(letter: str) -> Any:
        wanted = {"task": "letters", "what": "mean", "letter": letter}
        return np.array(findings.made(wanted, lambda: {"image": images()[letter][0].mean(axis=0).tolist()})["image"])

    def all_at(letter: str, l1: float) -> list[dict[str, Any]]:
        return [row(letter, method, UNIT if method in WITH_UNIT else None, l1) for method in METHODS]

    chosen: dict[str, float] = {}
    bars: list[dict[str, Any]] = []
    below: list[dict[str, Any]] = []
    for letter in LETTERS[:2] if arguments.quick else LETTERS:
        good: list[dict[str, Any]] = []
        for l1 in STRENGTHS:
            rows = all_at(letter, l1)
            if any(each["end"] != "converged" or each["unsettled"] for each in rows):
                below += rows
                break
            good, chosen[letter] = rows, l1
        bars += good
    lines = [[each["letter"], f"{each['l1']:g}", each["method"], *cells(each)] for each in bars]
    findings.table("letters", ["letter", "lambda", "method", *HEADS], lines)
    lines = [[each["letter"], f"{each['l1']:g}", each["method"], *cells(each)] for each in below]
    findings.table("letters, a step below", ["letter", "lambda", "method", *HEADS], lines)
    level = [each for each in bars if each["letter"] == CHOSEN and each["unit"] is None]
    units = UNITS[:2] if arguments.quick else UNITS
    by_unit = [row(CHOSEN, method, unit, chosen[CHOSEN]) for method in WITH_UNIT for unit in units]
    lines = [[each["method"], each["unit"] or "", *cells(each)] for each in (*level, *by_unit)]
    findings.table("select unit", ["method", "M", *HEADS], lines, f"Letter {CHOSEN}, lambda = {chosen[CHOSEN]:g}.")
    findings.figure("structure_bars", "zhu2010-structure", bars)
    means = {letter: mean(letter) for letter in chosen}
    findings.claims("claims, letters", claims(bars, by_unit, means))
    findings.figure("images", "zhu2010-letters", bars, means, SIDE)
    title = f"letter {CHOSEN}, lambda = {chosen[CHOSEN]:g}"
    findings.figure("structure_units", "zhu2010-structure-unit", level, by_unit, title)


def claims(bars: list[dict[str, Any]], by_unit: list[dict[str, Any]], means: dict[str, Any]) -> list[Claim]:
    """What the paper says of its figures 4 and 5."""
    return of_letters(bars, means) + of_units(by_unit, {row["method"]: row for row in bars if row["letter"] == CHOSEN})


def of_letters(bars: list[dict[str, Any]], means: dict[str, Any]) -> list[Claim]:
    """Figure 4: all letters."""
    light, _, grafting, full, complete = METHODS
    found = {(row["letter"], row["method"]): row for row in bars}

    def ratios(what: str, name: str, other: str) -> list[float]:
        return [found[letter, name][what] / found[letter, other][what] for letter in means]

    def each(values: list[float], form: str) -> str:
        return ", ".join(f"{letter} {format(value, form)}" for letter, value in zip(means, values, strict=True))

    def blurred(name: str) -> list[float]:
        return [float(np.abs(np.array(found[x, name]["image_sampled"]) - mean).mean()) for x, mean in means.items()]

    slow, evaluations, time = (
        ratios("seconds", complete, light),
        ratios("evaluations", grafting, light),
        ratios("seconds", grafting, light),
    )
    worse = [found[x, complete]["nll_sampled_train"] - found[x, light]["nll_sampled_train"] for x in means]
    return [
        Claim(
            "Figure 4",
            f"{light} is much more efficient than full optimisation, whose graph is complete",
            f"seconds of {complete} over those of {light}: {each(slow, '.1f')}; without edges of weight 0 "
            f"{each(ratios('seconds', full, light), '.1f')}",
            "more than 1.5 times the seconds for each letter",
            verdict([ratio > 1.5 for ratio in slow]),
        ),
        Claim(
            "Figure 4",
            f"{grafting} needs more evaluations than {light}",
            f"evaluations over those of {light}, M = {UNIT}: {each(evaluations, '.1f')}",
            "more for each letter",
            verdict([ratio > 1 for ratio in evaluations]),
        ),
        Claim(
            "Figure 4",
            f"{grafting} is slower than {light}",
            f"seconds over those of {light}, M = {UNIT}: {each(time, '.2f')}",
            "slower for each letter",
            verdict([ratio > 1 for ratio in time]),
        ),
        Claim(
            "Figure 4",
            "the likelihood of full optimisation is worse",
            f"NLL per pixel less that of {light}, by samples: {each(worse, '+.4f')}",
            "more than 0.001 nats higher for each letter",
            verdict([difference > 0.001 for difference in worse]),
        ),
        Claim(
            "Figure 4",
            "full optimisation gives blurry average images",
            f"mean distance from the data's average image: {each(blurred(complete), '.4f')}; {light} "
            f"{each(blurred(light), '.4f')}",
            f"more than 1.5 times the distance of {light} for each letter",
            verdict([a > 1.5 * b for a, b in zip(blurred(complete), blurred(light), strict=True)]),
        ),
    ]


def of_units(by_unit: list[dict[str, Any]], level: dict[str, dict[str, Any]]) -> list[Claim]:
    """Figure 5: one letter against the select unit."""
    light, _, grafting, _, complete = METHODS
    units = {name: [row for row in by_unit if row["method"] == name] for name in WITH_UNIT}

    def more(what: str) -> list[bool]:
        return [b[what] > a[what] for a, b in zip(units[light], units[grafting], strict=True)]

    def spans(what: str, since: int) -> tuple[float, float]:
        values = [row[what] for row in units[light][since:]]
        return min(values), max(values)

    whole, most = spans("evaluations", 0), spans("evaluations", 1)
    edges = [row["nonzero"] for row in units[light]]
    return [
        Claim(
            "Figure 5",
            f"time and evaluations of {light} are stable over M",
            "{:.2f} to {:.2f} s".format(*spans("seconds", 0))
            + ", {} to {} evaluations; from M = 10 on ".format(*whole)
            + "{:.2f} to {:.2f} s".format(*spans("seconds", 1))
            + ", {} to {}".format(*most),
            "at most twice as many evaluations at one M as at another; in part if so from M = 10 on",
            verdict([span[1] <= 2 * span[0] for span in (whole, most)]),
        ),
        *(
            Claim(
                "Figure 5",
                f"{grafting} takes more {name} than {light}",
                f"at {sum(more(what))} of {len(more(what))} M",
                "at every M",
                verdict(more(what)),
            )
            for what, name in (("evaluations", "evaluations"), ("seconds", "time"))
        ),
        Claim(
            "Figure 5",
            "full optimisation is not sparse enough",
            f"{level[complete]['nonzero']} edges; {light} {min(edges)} to {max(edges)}",
            f"more than 5 % more edges than {light} at any M",
            level[complete]["nonzero"] > 1.05 * max(edges),
        ),
    ]
