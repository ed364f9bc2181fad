"""Time to decode: the n best labellings beside the best one, on CoNLL-2000 with its 22 labels.

    python benchmarks/tagging.py [--sentences 1000] [--orders 1 2]

The model has the attributes of the preset "chunking" and is trained for a few iterations, enough for realistic scores.
Sentences are encoded already, and labelled on one thread: times are of scores, decoding and Python's lists of labels.
Medians of alternated runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from loglinear import ChainCRF, Corpus

REPEATS = 15


def measured(tasks: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the median seconds of each task; the tasks take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(REPEATS):
        for name, task in tasks.items():
            begin = time.perf_counter()
            task()
            seconds[name].append(time.perf_counter() - begin)
    return {name: statistics.median(found) for name, found in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    folder = Path(os.environ["LOGLINEAR_DATA"]) / "conll2000"
    corpora = [Corpus.read(folder / name, template="chunking") for name in ("train.txt", "test.txt")]
    labels = len(corpora[0].labels)
    train, test = (corpus[: arguments.sentences] for corpus in corpora)
    print(f"{len(test)} sentences, {test.n_tokens} tokens, {labels} labels; milliseconds (ratio to predict)")
    for order in arguments.orders:
        model = ChainCRF(order=order, max_iterations=15).fit(train).model_
        tasks: dict[str, Callable[[], object]] = {"predict": partial(model.predict, test.core, threads=1)}
        tasks |= {f"n_best={n}": partial(model.n_best, test.core, n, threads=1) for n in (1, 5, 20)}
        found = measured(tasks)
        row = "  ".join(f"{name} {1e3 * s:.1f} ({s / found['predict']:.2f})" for name, s in found.items())
        print(f"order {order}: {row}")


if __name__ == "__main__":
    main()
