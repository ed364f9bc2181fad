"""What constraints and partly known labels cost and bring.

    LOGLINEAR_DATA=/path/to/data python benchmarks/allowed_labellings.py [--repeats 15] [--quality]

An evaluation on CoNLL-2000 chunking without a mask, under BIO, and with half of the labels hidden, in alternation, at
the same trained weights; medians count. With --quality: F on Dutch entities (CoNLL-2002) with and without constraints,
and F on chunking where labels are hidden or ambiguous.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, ElasticNet, Problem, Stop, minimize
from loglinear.metrics import evaluate
from loglinear.solvers import LBFGS

DATA = Path(os.environ["LOGLINEAR_DATA"])
Sentences = tuple[list[list[list[str]]], list[list[Any]]]


def columns(path: Path) -> Sentences:
    """Rows of columns, and labels, of each sentence of a file."""
    blocks = [block.splitlines() for block in path.read_text(encoding="utf-8").strip().split("\n\n")]
    rows = [[line.split() for line in block] for block in blocks]
    return [[row[:-1] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]


def hidden(labels: list[list[Any]], share: float, rng: random.Random, ambiguous: bool = False) -> list[list[Any]]:
    """The labels with a share of them hidden, or made one of two."""
    known = sorted({label for sentence in labels for label in sentence})

    def of(label: str) -> Any:
        if rng.random() >= share:
            return label
        return frozenset({label, rng.choice([other for other in known if other != label])}) if ambiguous else None

    return [[of(label) for label in sentence] for sentence in labels]


def speed(repeats: int, threads: int) -> None:
    """Print what an evaluation takes."""
    X, y = columns(DATA / "conll2000" / "train.txt")
    full = Corpus.encode(X, y, template="chunking")
    part = Corpus.encode(X, hidden(y, 0.5, random.Random(0)), template="chunking")
    whole = ChainObjective(full, threads=threads)
    objectives = {
        "no mask": whole,
        "BIO": ChainObjective(full, ChainFeatures(constraints="BIO"), threads=threads),
        "half of the labels hidden": ChainObjective(part, threads=threads),
    }
    start = minimize(Problem(whole, ElasticNet(l2=1.0)), LBFGS(), stop=Stop(max_iterations=30)).w
    seconds: dict[str, list[float]] = {name: [] for name in objectives}
    for _ in range(repeats):
        for name, objective in objectives.items():
            w = start if objective.n_features == len(start) else np.resize(start, objective.n_features)
            began = time.perf_counter()
            objective.value_and_gradient(w)
            seconds[name].append(time.perf_counter() - began)
    for name, times in seconds.items():
        ratio = statistics.median(a / b for a, b in zip(times, seconds["no mask"], strict=True))
        n_log = objectives[name].core.n_in_log_space
        print(f"{name:<28} {1e3 * statistics.median(times):7.1f} ms  {ratio:5.2f} x  {n_log} sentences in log space")


def invalid_spans(crf: ChainCRF, predicted: list[list[str]]) -> float:
    """The share of spans, as conlleval reads them, whose labels BIO forbids."""
    forbidden = set(crf.model_.constrained('"BIO"').forbidden)
    numbers = {label: number for number, label in enumerate(crf.model_.labels)}
    spans = bad = 0
    for sentence in predicted:
        before = None
        for label in sentence:
            begins = (before, numbers[label]) in forbidden
            bad += begins
            spans += begins or label.startswith("B")
            before = numbers[label]
    return bad / spans


def entities() -> None:
    """Print F and the share of invalid spans on Dutch entities, with and without constraints."""
    folder = DATA / "conll2002-dutch"
    whole = Corpus.read(folder / "ned.train", template="ner")
    X, y = columns(folder / "ned.testb")
    words = [[row[:1] for row in sentence] for sentence in X]
    for n in (500, 2000, len(whole)):
        options: dict[str, Any] = {"l2": 0.1, "all_transitions": True}
        free = ChainCRF(**options).fit(whole[:n])
        bound = ChainCRF(**options, constraints="BIO").fit(whole[:n])
        answers = {"none": free.predict(words)}
        answers["when tagging"] = free.set_params(constraints="BIO").predict(words)
        answers["in training too"] = bound.predict(words)
        for name, predicted in answers.items():
            scores, strict = evaluate(y, predicted), evaluate(y, predicted, scheme="IOB2", mode="strict")
            share = invalid_spans(free, predicted)
            figures = f"F {100 * scores.f1:.2f}, strict {100 * strict.f1:.2f}, invalid spans {100 * share:.2f} %"
            print(f"{n:>6} sentences, constraints {name:<16} {figures}")


def partial() -> None:
    """Print F on chunking from labels that are partly known."""
    X, y = columns(DATA / "conll2000" / "train.txt")
    test, gold = columns(DATA / "conll2000" / "test.txt")
    rng = random.Random(1)
    half, ambiguous = hidden(y, 0.5, rng), hidden(y, 0.1, rng, ambiguous=True)
    whole = [at for at, sentence in enumerate(half) if None not in sentence]
    runs = {
        "all labels": (X, y),
        "half of the labels hidden": (X, half),
        f"the {len(whole)} sentences without hidden labels": ([X[at] for at in whole], [y[at] for at in whole]),
        "10 % of the labels one of two": (X, ambiguous),
    }
    for name, (sentences, labels) in runs.items():
        crf = ChainCRF(template="chunking", l2=1.0).fit(sentences, labels)
        print(f"{name:<44} F {100 * evaluate(gold, crf.predict(test)).f1:.2f}  {crf.result_.account}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quality", action="store_true")
    arguments = parser.parse_args()
    speed(arguments.repeats, arguments.threads)
    if arguments.quality:
        entities()
        partial()


if __name__ == "__main__":
    main()
