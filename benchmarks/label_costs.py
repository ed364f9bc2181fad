"""What costs of wrong labels, biases and soft labels cost and bring.

    LOGLINEAR_DATA=/path/to/data python benchmarks/label_costs.py [--part speed|costs|distillation] [--sentences 3000]

Speed: evaluations on CoNLL-2000 chunking with known labels, with costs and with soft labels in alternation, on one
thread, by processor time; medians. Costs: Dutch entities (CoNLL-2002), trained on samples of the training data: F of
all types, and F and recall of MISC and ORG, with class weights, and with a bias tuned on `ned.testa`. `ned.testb` is
scored. Distillation: a large tagger labels Dutch sentences that it was not trained on, and a small one learns from its
labels or from its marginals. Three seeds; mean, least and most.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus
from loglinear.data.soft_labels import normalized
from loglinear.metrics import evaluate

DATA = Path(os.environ["LOGLINEAR_DATA"])
DUTCH = DATA / "conll2002-dutch"
SEEDS = (0, 1, 2)
RARE = ("MISC", "ORG")
SMALL = 'U0:%x[0,0]\nU1:%x[-1,0]\nU2:%m[0,0,"...$"]\nU3:%t[0,0,"^[A-Z]"]\nB\n'
Sentences = tuple[list[list[str]], list[list[Any]]]


def words(name: str) -> Sentences:
    """The words of a file and their labels, sentence by sentence."""
    text = (DUTCH / name).read_text(encoding="latin-1")
    rows = [
        [line.split() for line in block.split("\n") if line and not line.startswith("-DOCSTART-")]
        for block in text.strip().split("\n\n")
    ]
    rows = [sentence for sentence in rows if sentence]
    return [[row[0] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]


def user_seconds() -> float:
    """Processor time of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def speed(repeats: int) -> None:
    """Evaluations with costs and with soft labels, and ordinary ones; soft labels make some more features."""
    plain = Corpus.read(DATA / "conll2000" / "train.txt", template="chunking")
    blocks = (DATA / "conll2000" / "train.txt").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    X, y = [[row[:-1] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]
    rng = random.Random(0)
    soft = [[{label: 0.9, "O": 0.1} if label != "O" and rng.random() < 0.5 else label for label in row] for row in y]
    hard = ChainObjective(plain, threads=1)
    costly = ChainObjective(plain, ChainFeatures(class_weight="balanced"), threads=1)
    softened = ChainObjective(Corpus.encode(X, soft, template="chunking"), threads=1)
    times: dict[str, list[float]] = {"known": [], "costs": [], "soft": []}
    for _ in range(repeats):
        for name, objective in (("known", hard), ("costs", costly), ("soft", softened)):
            w = np.random.default_rng(0).normal(size=objective.n_features) * 0.3
            start = user_seconds()
            objective.value_and_gradient(w)
            times[name].append(user_seconds() - start)
    base = statistics.median(times["known"])
    for name, seconds in times.items():
        print(f"{name:6} {1e3 * statistics.median(seconds):7.1f} ms  {statistics.median(seconds) / base:.3f}")


def sample(data: Sentences, n: int, seed: int) -> tuple[Sentences, Sentences]:
    """Some sentences, and the others."""
    order = random.Random(seed).sample(range(len(data[0])), len(data[0]))
    pick = lambda numbers: tuple([part[at] for at in numbers] for part in data)  # noqa: E731
    return pick(order[:n]), pick(order[n:])  # type: ignore[return-value]


def scores(crf: ChainCRF, data: Sentences) -> dict[str, float]:
    """F of all types, and F and recall of the rare ones together."""
    found = evaluate(data[1], crf.predict(data[0]))
    rare = [found.per_type[name] for name in RARE if name in found.per_type]
    correct, support = sum(row["correct"] for row in rare), sum(row["support"] for row in rare)
    predicted = sum(row["predicted"] for row in rare)
    recall, precision = correct / max(support, 1), correct / max(predicted, 1)
    f1 = 2.0 * recall * precision / max(recall + precision, 1e-9)
    return {"F": found.f1 or 0.0, "rare F": f1, "rare recall": recall, "rare precision": precision}


def table(rows: dict[str, list[dict[str, float]]]) -> None:
    """Means over the seeds, with the least and the most."""
    names = list(next(iter(rows.values()))[0])
    print(f"{'':34}" + "".join(f"{name:>24}" for name in names))
    for row, results in rows.items():
        cells = []
        for name in names:
            values = [result[name] for result in results]
            cells.append(f"{statistics.mean(values):10.3f} ({min(values):.3f}-{max(values):.3f})")
        print(f"{row:34}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


def costs(n: int) -> None:
    """Class weights and biases on Dutch entities."""
    train, dev, test = words("ned.train"), words("ned.testa"), words("ned.testb")
    labels = {label for row in train[1] for label in row}
    rare = {label: 2.0 for label in labels if label.partition("-")[2] in RARE}
    weights: dict[str, Any] = {
        "no costs": None,
        "1 for every label": dict.fromkeys(labels, 1.0),
        "2 for MISC and ORG, else 0": dict.fromkeys(labels, 0.0) | rare,
        "1 for entities, 0 for O": dict.fromkeys(labels, 1.0) | {"O": 0.0},
        "balanced": "balanced",
    }
    rows: dict[str, list[dict[str, float]]] = {}
    for seed in SEEDS:
        part, _ = sample(train, n, seed)
        corpus = Corpus.encode(*part, template="ner")
        for name, weight in weights.items():
            crf = ChainCRF(l2=1.0, class_weight=weight, template="ner", tolerance=1e-4).fit(corpus)
            rows.setdefault(name, []).append(scores(crf, test))
            if weight is None:
                crf.tune_bias(*dev, metric="f1")
                rows.setdefault("no costs, O's bias tuned", []).append(scores(crf, test))
    table(rows)


def distillation(n: int) -> None:
    """A small tagger taught by labels, by a large tagger's labels, or by its marginals."""
    train, test = words("ned.train"), words("ned.testb")
    rows: dict[str, list[dict[str, float]]] = {}
    for seed in SEEDS:
        part, rest = sample(train, n, seed)
        teacher = ChainCRF(l2=1.0, template="ner", tolerance=1e-4).fit(*part)
        unlabelled = rest[0][:n]
        teachers = teacher.predict(unlabelled)
        marginals = normalized(teacher.predict_marginals(unlabelled), least=0.02)
        students = {
            "large tagger": teacher,
            "small, gold labels": small().fit(*part),
            "small, also the large one's labels": small().fit(part[0] + unlabelled, part[1] + teachers),
            "small, also its marginals": small().fit(part[0] + unlabelled, part[1] + marginals),
        }
        for name, crf in students.items():
            with tempfile.TemporaryDirectory() as folder:
                crf.save(Path(folder) / "m")
                kilobytes = (Path(folder) / "m").stat().st_size / 1e3
            rows.setdefault(name, []).append({"F": scores(crf, test)["F"], "kB": kilobytes})
    table(rows)


def small() -> ChainCRF:
    """A tagger with few attributes and an L1 penalty."""
    return ChainCRF(l1=0.3, template=SMALL, tolerance=1e-4, solver="owlqn")


def main() -> None:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("speed", "costs", "distillation"), action="append")
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    parts = arguments.part or ["speed", "costs", "distillation"]
    if "speed" in parts:
        speed(arguments.repeats)
    if "costs" in parts:
        costs(arguments.sentences)
    if "distillation" in parts:
        distillation(arguments.sentences)


if __name__ == "__main__":
    main()
