"""Learning curves: F1 by the number of sentences, and of tokens, that `rank` or chance has chosen to be labelled.

    LOGLINEAR_DATA=/path/to/data python benchmarks/rank.py --json rank.json --figure docs/guides/rank.svg

CoNLL-2000 chunking: a model of 50 random sentences of the training data chooses the next ones, is trained again on all
that are labelled, and so on up to 1,000. F1 of chunks on the test data. The committee of disagreement is the model and
two others, each trained on a bootstrap sample of the labelled sentences. F1 at a number of tokens is interpolated
between rounds. Three seeds, which draw the first sentences: mean, and lowest to highest. Rows in the file are not
measured again.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainCRF, Corpus, rank
from loglinear.report.figure import new_figure, written

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


def table(rows: list[Row]) -> str:
    """Return F1 of each way as Markdown."""
    heads = [*(f"{n:,} sentences" for n in SENTENCES), *(f"{n:,} tokens" for n in TOKENS)]
    lines = [f"| by | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    for way in WAYS:
        values = np.hstack([at(rows, way, SENTENCES, by_sentences), at(rows, way, TOKENS, by_tokens)]).T
        cells = [f"{seeds.mean():.3f} ({seeds.min():.3f} to {seeds.max():.3f})" for seeds in values]
        lines.append(f"| {way} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(rows: list[Row], path: Path) -> None:
    """Draw the curves: means, and bands from the lowest to the highest of the seeds."""
    longest = min(row["tokens"][-1] for row in rows)
    grids = [("labelled sentences", np.array(SIZES), by_sentences)]
    grids.append(("labelled tokens", np.linspace(1500, longest, 40), by_tokens))
    with new_figure(8.0, 3.6) as figure:
        axes = figure.subplots(1, 2, sharey=True)
        for axis, (name, grid, of) in zip(axes, grids, strict=True):
            for way in DRAWN:
                values = at(rows, way, grid, of)
                style = {"color": "0.3", "linestyle": "--"} if way == "random" else {}
                (line,) = axis.plot(grid, values.mean(axis=0), linewidth=1.4, label=way, **style)
                axis.fill_between(grid, values.min(axis=0), values.max(axis=0), color=line.get_color(), alpha=0.12)
            axis.set_xlabel(name)
            axis.xaxis.set_major_formatter("{x:,.0f}")
            axis.locator_params(axis="x", nbins=5)
            axis.grid(alpha=0.3)
            axis.set_ylim(0.80, 0.93)
        axes[0].set_ylabel("F1 of chunks")
        axes[0].legend(fontsize=8)
        path.write_bytes(written(figure, str(path)))


def main() -> None:
    """Measure what the file lacks; print the table and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="rows, read and written")
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    data = Path(os.environ["LOGLINEAR_DATA"]) / "conll2000"
    train, test = (Corpus.read(data / name, template="chunking") for name in ("train.txt", "test.txt"))
    is_file = arguments.json is not None and arguments.json.exists()
    rows: list[Row] = json.loads(arguments.json.read_text()) if is_file else []
    for seed in SEEDS:
        for way, options in WAYS.items():
            if any((row["way"], row["seed"]) == (way, seed) for row in rows):
                continue
            rows.append({"way": way, "seed": seed, **curve(options, seed, train, test)})
            print(f"seed {seed}, {way}: {rows[-1]['f1'][-1]:.4f}, {rows[-1]['tokens'][-1]:,} tokens", flush=True)
            if arguments.json is not None:
                arguments.json.write_text(json.dumps(rows))
    print(table(rows))
    if arguments.figure is not None:
        draw(rows, arguments.figure)


if __name__ == "__main__":
    main()
