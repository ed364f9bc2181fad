"""Learning curves: F1 by the number of sentences, and of tokens, that `rank` or chance has chosen to be labelled.

    LOGLINEAR_DATA=/path/to/data python benchmarks/rank.py --json rank.json --figure docs/guides/rank.svg

CoNLL-2000 chunking: a model of 50 random sentences of the training data chooses the next ones, is trained again on all
that are labelled, and so on up to 1,000. F1 of chunks on the test data. The committee of disagreement is the model and
two others, each trained on a bootstrap sample of the labelled sentences. F1 at a number of tokens is interpolated
between rounds. Three seeds, which draw the first sentences: mean, and lowest to highest. Rows in the file are not
measured again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bands import Rows, cell, line, markdown, options, picture
from loglinear import ChainCRF, Corpus, rank

SIZES = (50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
SEEDS = (0, 1, 2)
SENTENCES, TOKENS = (200, 500, 1000), (5000, 10_000, 17_000)
COMMITTEE = 2
OPTIONS: dict[str, Any] = {"l2": 1.0, "tolerance": 1e-3}
# Name in tables -> the arguments of `rank`; None for random choice.
WAYS: dict[str, dict[str, Any] | None] = {
    "random": None,
    "sequence": {"by": "sequence"},
    "sequence, total": {"by": "sequence", "total": True},
    "span": {"by": "span"},
    "span, no diversity": {"by": "span", "diversity": 0.0},
    "entropy": {"by": "entropy"},
    "entropy, total": {"by": "entropy", "total": True},
    "disagreement": {"by": "disagreement"},
    "disagreement, total": {"by": "disagreement", "total": True},
}
DRAWN = ("random", "sequence", "sequence, total", "span", "entropy")
Row = dict[str, Any]


def curve(way: dict[str, Any] | None, seed: int, train: Corpus, test: Corpus) -> dict[str, list[float]]:
    """Return numbers of labelled sentences and tokens, and F1, of each round."""
    rng = np.random.default_rng(seed)
    lengths, order = np.array(train.core.lengths()), rng.permutation(len(train))
    labelled = order[: SIZES[0]]
    model = ChainCRF(**OPTIONS).fit(train[labelled])
    rounds: dict[str, list[float]] = {"tokens": [], "f1": []}
    for size in (*SIZES[1:], None):
        rounds["tokens"].append(int(lengths[labelled].sum()))
        rounds["f1"].append(model.score(test, metric="f1"))
        if size is None:
            break
        chosen = order[len(labelled) : size] if way is None else choice(way, model, size, labelled, train, rng)
        labelled = np.concatenate([labelled, chosen])
        model = ChainCRF(**OPTIONS).fit(train[labelled], start=model)
    return rounds


def choice(
    way: dict[str, Any], model: ChainCRF, size: int, labelled: np.ndarray, train: Corpus, rng: np.random.Generator
) -> np.ndarray:
    """Return the sentences to label next."""
    rest = np.setdiff1d(np.arange(len(train)), labelled)
    committee = [
        ChainCRF(**OPTIONS).fit(train[rng.choice(labelled, labelled.size)])
        for _ in range(COMMITTEE * (way["by"] == "disagreement"))
    ]
    return rest[rank(model, train[rest], n=size - len(labelled), committee=committee, **way).positions]


def at(rows: list[Row], way: str, points: Any, of: Callable[[Row], Any]) -> np.ndarray:
    """Return F1 of each seed at points of an axis, shape (seeds, points)."""
    return np.array([np.interp(points, of(row), row["f1"], right=np.nan) for row in rows if row["way"] == way])


def by_sentences(row: Row) -> Any:
    """Numbers of labelled sentences of the rounds."""
    return SIZES[: len(row["f1"])]


def by_tokens(row: Row) -> Any:
    """Numbers of labelled tokens of the rounds."""
    return row["tokens"]


def tables(rows: list[Row]) -> str:
    """Return F1 by sentences and by tokens, as two tables in Markdown."""
    sentences, tokens = [], []
    for way in WAYS:
        first, second, *total = way.replace("random", "random choice").partition(", ")
        name = f"`{first}`{second}{total[0]}" if WAYS[way] is not None else first
        lengths = [row["tokens"][SIZES.index(SENTENCES[-1])] for row in rows if row["way"] == way]
        scores = [cell(seeds) for seeds in at(rows, way, SENTENCES, by_sentences).T]
        sentences.append([name, *scores, cell(lengths, 0)])
        tokens.append([name, *(cell(seeds) for seeds in at(rows, way, TOKENS, by_tokens).T)])
    by_size = ["by", *(f"{n:,} sentences" for n in SENTENCES), f"tokens of {SENTENCES[-1]:,} sentences"]
    by_length = ["by", *(f"{n:,} tokens" for n in TOKENS)]
    return f"{markdown(by_size, sentences)}\n\n{markdown(by_length, tokens)}"


def draw(rows: list[Row], path: Path) -> None:
    """Draw the curves: means, and bands from the lowest to the highest of the seeds."""
    longest = min(row["tokens"][-1] for row in rows)
    grids = [("labelled sentences", np.array(SIZES), by_sentences)]
    grids.append(("labelled tokens", np.linspace(1500, longest, 40), by_tokens))
    with picture(path, 8.0, 3.6) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (name, grid, of) in zip(axes, grids, strict=True):
            for way in DRAWN:
                style = {"color": "0.3", "linestyle": "--"} if way == "random" else {}
                line(axis, grid, at(rows, way, grid, of), label=way, **style)
            axis.set(xlabel=name, ylim=(0.80, 0.93))
            axis.xaxis.set_major_formatter("{x:,.0f}")
            axis.locator_params(axis="x", nbins=5)
        axes[0].set_ylabel("F1 of chunks")
        axes[0].legend(fontsize=8)


def main() -> None:
    """Measure what the file lacks; print the tables and draw the picture."""
    arguments = options(__doc__).parse_args()
    data = Path(os.environ["LOGLINEAR_DATA"]) / "conll2000"
    train, test = (Corpus.read(data / name, template="chunking") for name in ("train.txt", "test.txt"))
    rows = Rows(arguments.json)
    for seed in SEEDS:
        for way, how in WAYS.items():
            row = rows.made({"way": way, "seed": seed}, partial(curve, how, seed, train, test))
            print(f"seed {seed}, {way}: {row['f1'][-1]:.4f}, {row['tokens'][-1]:,} tokens", flush=True)
    print(tables(rows.rows))
    if arguments.figure is not None:
        draw(rows.rows, arguments.figure)


if __name__ == "__main__":
    main()
