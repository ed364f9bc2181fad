"""How many of the first findings of an audit are labels that were made wrong, and what an audit costs.

    LOGLINEAR_DATA=/path/to/data python benchmarks/audit.py --json audit.json --figure docs/guides/audit.svg

Some 65,000 tokens of CoNLL-2000, 2 % of whose labels are made wrong: drawn at random from the other labels, or those
that a weak model predicts instead, where it errs. The weak model is trained on a tenth of the sentences and sees the
words alone, so that its mistakes are those that people make who look at a word and not at its sentence. Tokens are
counted in the order of the findings; other mistakes of the corpus count as wrongly accused. Three seeds, which draw the
wrong labels: mean, and lowest to highest.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bands import Rows, cell, line, markdown, options, picture
from loglinear import ChainCRF, audit

SENTENCES, SHARE, SEEDS = 2700, 0.02, (0, 1, 2)
# Numbers of first tokens of findings, in the picture and in the table.
COUNTS, SHOWN = range(20, 2001, 20), (100, 500, 1000)
KINDS = {
    "random": "drawn from the other labels",
    "weak model": "mistakes of a model that sees each word alone",
}


def read(path: Path) -> tuple[list[list[tuple[str, str]]], list[list[str]]]:
    """Return tokens, words with parts of speech, and labels."""
    blocks = [block.splitlines() for block in path.read_text(encoding="utf-8").split("\n\n")[:SENTENCES] if block]
    rows = [[line.split() for line in block] for block in blocks]
    return [[(row[0], row[1]) for row in sentence] for sentence in rows], [
        [row[2] for row in sentence] for sentence in rows
    ]


def other_labels(kind: str, X: list, y: list[list[str]], rng: np.random.Generator) -> list[tuple[int, int, str]]:
    """Return sentence, token and a wrong label of the tokens that may get one."""
    places = [(sentence, token) for sentence, labels in enumerate(y) for token in range(len(labels))]
    if kind == "random":
        labels = sorted({label for sentence in y for label in sentence})
        drawn = rng.integers(len(labels) - 1, size=len(places))
        rest = {label: [other for other in labels if other != label] for label in labels}
        return [(at, token, rest[y[at][token]][k]) for (at, token), k in zip(places, drawn, strict=True)]
    words = [[[word] for word, _ in sentence] for sentence in X]
    few = rng.choice(len(X), len(X) // 10, replace=False)
    weak = ChainCRF(l2=1.0).fit([words[at] for at in few], [y[at] for at in few])
    predicted = weak.predict(words)
    return [(at, token, predicted[at][token]) for at, token in places if predicted[at][token] != y[at][token]]


def audited(kind: str, seed: int, folds: int, X: list, y: list[list[str]]) -> dict[str, Any]:
    """Return precision among the first tokens of the findings, and the processor time of an audit in trainings."""
    rng = np.random.default_rng(seed)
    candidates = other_labels(kind, X, y, rng)
    noisy, wrong = [[*labels] for labels in y], set()
    for at in rng.choice(len(candidates), int(SHARE * sum(map(len, y))), replace=False).tolist():
        sentence, token, label = candidates[at]
        noisy[sentence][token] = label
        wrong.add((sentence, token))
    model = ChainCRF(template="chunking", l1=0.3, l2=0.1)
    began = time.process_time()
    model.fit(X, noisy)
    trained = time.process_time()
    findings = audit(model, X, noisy, folds=folds).findings
    trainings = (time.process_time() - trained) / (trained - began)
    ranked = [(f.sentence, token) for f in findings for token in range(f.start, f.end)]
    precision = [sum(place in wrong for place in ranked[:count]) / count for count in COUNTS if count <= len(ranked)]
    return {"precision": precision, "trainings": trainings}


def draw(rows: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """Draw precision by the number of first tokens, with the precision that chance would have."""
    with picture(path, 7.0, 3.6) as figure:
        axis = figure.subplots()
        for kind, of_kind in rows.items():
            points = min(len(row["precision"]) for row in of_kind)
            line(axis, COUNTS[:points], [row["precision"][:points] for row in of_kind], label=KINDS[kind])
        chance = f"chance: {100 * SHARE:g} % of the labels"
        axis.axhline(SHARE, color="0.3", linestyle="--", linewidth=1.2, label=chance)
        axis.set(xlabel="first tokens of findings", ylabel="share of wrong labels")
        axis.set(xlim=(0, COUNTS[-1]), ylim=(0, 1.03))
        axis.xaxis.set_major_formatter("{x:,.0f}")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)


def main() -> None:
    """Print precision among the first findings, and processor time in trainings."""
    parser = options(__doc__)
    parser.add_argument("--folds", type=int, default=5)
    arguments = parser.parse_args()
    X, y = read(Path(os.environ["LOGLINEAR_DATA"]) / "conll2000" / "train.txt")
    kept, rows = Rows(arguments.json), {kind: [] for kind in KINDS}
    for kind, seed in ((kind, seed) for kind in KINDS for seed in SEEDS):
        wanted = {"kind": kind, "seed": seed, "folds": arguments.folds}
        rows[kind].append(kept.made(wanted, partial(audited, kind, seed, arguments.folds, X, y)))
    print(f"{sum(map(len, y)):,} tokens, {100 * SHARE:g} % wrong, {arguments.folds} folds")
    lines = [
        [KINDS[kind], *(cell([row["precision"][COUNTS.index(count)] for row in of_kind], 2) for count in SHOWN)]
        for kind, of_kind in rows.items()
    ]
    print(markdown(["wrong labels are", *(f"first {count:,}" for count in SHOWN)], lines))
    trainings = [row["trainings"] for of_kind in rows.values() for row in of_kind]
    print(f"processor time of an audit, in trainings: {cell(trainings, 1)}")
    if arguments.figure is not None:
        draw(rows, arguments.figure)


if __name__ == "__main__":
    main()
