"""Columns of lists against lists of lists: seconds to label a million short sequences with `Tagger.tag_batch`.

    python benchmarks/columns.py --rounds 5     # --sequences 1000000, --threads 1

The sequences are pieces of one to eight words of the embedded sample. Each round runs every way once, in turn. Times
include the conversion of results to what the library has; the column of pandas holds Python lists. Prints the median of
each way and its ratio to the median of lists.
"""

from __future__ import annotations

import argparse
import itertools
import lzma
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from loglinear import ChainCRF, Tagger
from loglinear.datasets import demo_paths


def rows() -> list[list[list[str]]]:
    """Words and labels of the embedded sample."""
    blocks = lzma.open(demo_paths()[0], "rt", encoding="utf-8").read().split("\n\n")
    return [[line.split("\t") for line in block.split("\n") if line] for block in blocks if block.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()

    sentences = rows()
    draw = random.Random(0)
    words = itertools.cycle([row[0] for sentence in sentences for row in sentence])
    sequences = [list(itertools.islice(words, draw.randint(1, 8))) for _ in range(arguments.sequences)]
    template = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nB\n"
    X, y = ([[row[at] for row in sentence] for sentence in sentences[:500]] for at in (0, 2))
    tagger = Tagger(ChainCRF(template=template, l1=0.5, tolerance=1e-2).fit(X, y))

    inputs: dict[str, Any] = {
        "lists": sequences,
        "pandas, Python lists": pd.Series(sequences),
        "pandas, Arrow lists": pd.Series(sequences, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
        "polars": pl.Series(sequences),
        "pyarrow": pa.array(sequences),
    }
    ways: dict[str, Callable[[], object]] = {
        name: lambda column=column: tagger.tag_batch(column, threads=arguments.threads)
        for name, column in inputs.items()
    }
    ways["polars, by lists"] = lambda: pl.Series(
        tagger.tag_batch(inputs["polars"].to_list(), threads=arguments.threads)
    )
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - start)
    base = statistics.median(seconds["lists"])
    print(f"{len(sequences):,} sequences, {sum(map(len, sequences)):,} tokens, median of {arguments.rounds} rounds")
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:22} {median:6.2f} s  {base / median:5.2f} times as fast as lists")


if __name__ == "__main__":
    main()
