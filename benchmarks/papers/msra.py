"""Reasons for results of Zhou, Qiu & Huang (2011) on MSRA: the line search, and the names of persons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from clock import minimised
from findings import verdict
from presumed import MOST, Reason, Study, removed
from sentences import Sentence, encoded
from tasks import TASKS, folder
from zhou2011 import ACCEPTED_RATES, DECAY, OWLQN_NAME, PAPER_TYPES, TYPES, named

from loglinear.schemes import chunks
from loglinear.solvers import SGDL1, TwoStage

MSRA = TASKS["msra-ner"]
# The mean multiple of the rate that the search takes, and the relative distance of objectives that count as equal.
MULTIPLE, NEAR = 3.5, 0.05


def zhou(study: Study) -> None:
    """The line search on MSRA, and the names of persons."""
    study.reasons("zhou2011", [larger_rates(study), *persons(study)])


def msra(study: Study, method: str, **about: Any) -> dict[str, Any]:
    """A run on all segments of MSRA, of the paper's page."""
    return study.earlier("zhou2011", task=MSRA.name, what="run", method=method, **about)[0]


def larger_rates(study: Study) -> Reason:
    """SGD with the rates that the line search takes on average."""
    batch = msra(study, OWLQN_NAME)
    lines, figures, held = [], [], []
    for rate in sorted(ACCEPTED_RATES):
        rows = [msra(study, named(rate, DECAY, search)) for search in (False, True)]
        solver = SGDL1(learning_rate=MULTIPLE * rate, decay=DECAY)
        rows.append(study.run(MSRA, named(MULTIPLE * rate, DECAY, False), solver, l1=batch["l1"]))
        plain, searched, larger = (row["objective"] / batch["objective"] for row in rows)
        lines.append([f"{rate:g}", f"{plain:.3f}", f"{searched:.3f}", f"{MULTIPLE * rate:g}", f"{larger:.3f}"])
        figures.append(f"eta_0 = {rate:g}: {searched:.3f}, without search at {MULTIPLE * rate:g}: {larger:.3f}")
        held.append(abs(larger / searched - 1.0) <= NEAR)
    study.findings.table("larger rates", ["eta_0", "SGD", "with HLS", "larger eta_0", "SGD, larger eta_0"], lines)
    return Reason(
        f"MSRA, little gain from the line search: it acts like a rate {MULTIPLE:g} times as large",
        f"SGD without search at {MULTIPLE:g} times eta_0, about the mean multiple that the search takes",
        f"objectives with the search, over OWL-QN's, at {'; '.join(figures)}",
        f"the two differ by at most {100 * NEAR:g} %",
        verdict(held),
    )


def halved(data: Path) -> tuple[list[Sentence], list[Sentence]]:
    """Half of the segments for training, and another tenth."""
    train, _ = MSRA.read(data)
    at = np.random.default_rng(1).permutation(len(train))
    half, tenth = len(train) // 2, len(train) // 10
    return [train[i] for i in at[:half]], [train[i] for i in at[half : half + tenth]]


HALF = replace(MSRA, name="msra-ner, half", read=halved)


def scored(study: Study, l1: float) -> dict[str, Any]:
    """F by type of two stages from half of the segments, and the share of names that these have."""
    data = study.data(HALF)
    w = minimised(data.problem(l1), TwoStage()).w
    (train, tenth), (_, test) = halved(folder()), MSRA.read(folder())
    known = set(names(train))
    parts = {"test": (encoded(test, MSRA.preset), test), "tenth": (data.test, tenth)}
    return {
        "types": {part: data.score(w, corpus)[1] for part, (corpus, _) in parts.items()},
        "known": {part: float(np.mean([name in known for name in names(of)])) for part, (_, of) in parts.items()},
        "sizes": {"half": len(train), "tenth": len(tenth), "test": len(test)},
    }


def persons(study: Study) -> list[Reason]:
    """F of persons with half of the training data, on the test data and on a tenth of the training data."""
    whole = msra(study, "two stages, defaults of loglinear")
    row = study.findings.made({"task": HALF.name, "what": "persons"}, lambda: scored(study, whole["l1"]))
    shares = {part: f"{100 * share:.0f} %" for part, share in row["known"].items()}
    segments = {part: f"{size:,}" for part, size in row["sizes"].items()}
    rows = [
        ("all", "test data", f"{whole['samples']:,}", None, whole["types"]),
        ("half", "test data", segments["half"], shares["test"], row["types"]["test"]),
        ("half", "another tenth", segments["half"], shares["tenth"], row["types"]["tenth"]),
    ]
    lines = [[*cells, *(f"{types[kind]:.2f}" for kind in TYPES)] for *cells, types in rows]
    heads = ["training segments", "scored on", "number", "names of persons known", *(f"F, {kind}" for kind in TYPES)]
    study.findings.table("persons", heads, lines)
    paper = PAPER_TYPES[OWLQN_NAME][TYPES.index("PER")]
    before, test, tenth = (types["PER"] for *_, types in rows)
    limit = f"at least {100 * MOST:g} % of the distance to the paper's {paper:.2f} is gone"
    return [
        Reason(
            "MSRA, F of persons lower: the paper has fewer training sentences",
            f"two stages on half of the segments ({segments['half']}), scored on the same test data",
            f"F {test:.2f} instead of {before:.2f}",
            limit,
            removed(paper - before, paper - test),
        ),
        Reason(
            "MSRA, F of persons lower: the paper's test sentences are from the same texts as its training sentences",
            f"the same model, scored on another tenth of the segments for training ({segments['tenth']})",
            f"F {tenth:.2f} instead of {test:.2f}; {shares['tenth']} of the names are known from training, of those of "
            f"the test data {shares['test']}",
            limit,
            removed(paper - before, paper - tenth),
        ),
    ]


def names(sentences: list[Sentence]) -> Iterator[str]:
    """Names of persons, one after the other."""
    for sentence in sentences:
        for kind, start, end in chunks([token[-1] for token in sentence]):
            if kind == "PER":
                yield "".join(token[0] for token in sentence[start:end])
