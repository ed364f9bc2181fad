"""What costs of wrong labels, biases and soft labels cost and bring.

    LOGLINEAR_DATA=/path/to/data python benchmarks/label_costs.py speed
    python benchmarks/label_costs.py costs --json costs.json --figure docs/guides/imbalance.svg
    python benchmarks/label_costs.py distillation --json distillation.json --figure docs/distillation.svg

Speed: evaluations on CoNLL-2000 chunking with known labels, with costs and with soft labels in alternation, on one
thread, by processor time, with the same features: the median ratio to known labels in a round, its quartiles, and the
ratio of the shortest times. Costs: Dutch entities (CoNLL-2002), trained on samples of the training data, with class
weights, and with a bias tuned on `ned.testa`. `ned.testb` is scored: all types, and MISC and ORG together.
Distillation: a large tagger labels Dutch sentences that it was not trained on, and a small one learns from its labels
or from its marginals, with several L1 penalties. Three seeds, which draw the sentences: mean, and lowest to highest.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bands import MARKERS, Rows, cell, mark, markdown, options, picture
from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus
from loglinear.data.soft_labels import normalized
from loglinear.metrics import evaluate

DATA = Path(os.environ["LOGLINEAR_DATA"])
DUTCH = DATA / "conll2002-dutch"
SEEDS = (0, 1, 2)
RARE = ("MISC", "ORG")
SMALL = 'U0:%x[0,0]\nU1:%x[-1,0]\nU2:%m[0,0,"...$"]\nU3:%t[0,0,"^[A-Z]"]\nB\n'
# L1 penalties of small taggers, and the one in the table.
PENALTIES, SHOWN = (0.1, 0.2, 0.3, 0.5, 1.0), 0.3
# Every label of an attribute has a feature, so that soft labels add none.
FEATURES: dict[str, Any] = {"all_states": True, "all_transitions": True, "min_count": 3}
Sentences = tuple[list[list[str]], list[list[Any]]]
Row = dict[str, Any]


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
    """Evaluations with costs and with soft labels, and ordinary ones, of the same number of features."""
    blocks = (DATA / "conll2000" / "train.txt").read_text().strip().split("\n\n")
    rows = [[line.split() for line in block.splitlines()] for block in blocks]
    X, y = [[row[:-1] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]
    rng = random.Random(0)
    soft = [[{label: 0.9, "O": 0.1} if label != "O" and rng.random() < 0.5 else label for label in row] for row in y]
    weights = [[rng.choice((0.5, 1.0, 2.0)) for _ in row] for row in y]
    encode = partial(Corpus.encode, X, template="chunking")
    ordinary, balanced = ChainFeatures(**FEATURES), ChainFeatures(**FEATURES, class_weight="balanced")
    objectives = {
        "known labels": ChainObjective(encode(y), ordinary, threads=1),
        "class costs": ChainObjective(encode(y), balanced, threads=1),
        "token costs": ChainObjective(encode(y, token_weight=weights), ordinary, threads=1),
        "soft labels": ChainObjective(encode(soft), ordinary, threads=1),
    }
    (n_features,) = {objective.n_features for objective in objectives.values()}
    w = np.random.default_rng(0).normal(size=n_features) * 0.3
    times: dict[str, list[float]] = {name: [] for name in objectives}
    for _ in range(repeats):
        for name, objective in objectives.items():
            start = user_seconds()
            objective.value_and_gradient(w)
            times[name].append(user_seconds() - start)
    print(f"{n_features:,} features")
    for name, seconds in times.items():
        ratios = [taken / known for taken, known in zip(seconds, times["known labels"], strict=True)]
        low, median, high = statistics.quantiles(ratios)
        shortest = min(seconds) / min(times["known labels"])
        print(f"{name:12} {median:.3f} ({low:.3f} to {high:.3f}), shortest {shortest:.3f}, {1e3 * min(seconds):.0f} ms")


def sample(data: Sentences, n: int, seed: int) -> tuple[Sentences, Sentences]:
    """Some sentences, and the others."""
    order = random.Random(seed).sample(range(len(data[0])), len(data[0]))
    pick = lambda numbers: tuple([part[at] for at in numbers] for part in data)  # noqa: E731
    return pick(order[:n]), pick(order[n:])  # type: ignore[return-value]


def scores(crf: ChainCRF, data: Sentences) -> dict[str, float]:
    """F of all types, and recall and precision of the rare ones together."""
    found = evaluate(data[1], crf.predict(data[0]))
    rare = [found.per_type[name] for name in RARE if name in found.per_type]
    correct, support = sum(row["correct"] for row in rare), sum(row["support"] for row in rare)
    predicted = sum(row["predicted"] for row in rare)
    rates = {"rare recall": correct / max(support, 1), "rare precision": correct / max(predicted, 1)}
    return {"F": found.f1 or 0.0} | rates


def costs(n: int, seed: int) -> Row:
    """Scores with class weights and biases on Dutch entities, by name."""
    train, dev, test = words("ned.train"), words("ned.testa"), words("ned.testb")
    labels = {label for row in train[1] for label in row}
    rare = {label: 2.0 for label in labels if label.partition("-")[2] in RARE}
    weights: dict[str, Any] = {
        "none": None,
        "1 for every label": dict.fromkeys(labels, 1.0),
        "1 for entities, 0 for O": dict.fromkeys(labels, 1.0) | {"O": 0.0},
        "2 for MISC and ORG, 0 for other labels": dict.fromkeys(labels, 0.0) | rare,
        "balanced": "balanced",
    }
    part, _ = sample(train, n, seed)
    corpus = Corpus.encode(*part, template="ner")
    found: Row = {}
    for name, weight in weights.items():
        crf = ChainCRF(l2=1.0, class_weight=weight, template="ner", tolerance=1e-4).fit(corpus)
        found[name] = scores(crf, test)
        if weight is None:
            crf.tune_bias(*dev, metric="f1")
            tuned = scores(crf, test)
    return {"scores": found | {"none, and the bias of O tuned": tuned}}


def distillation(n: int, seed: int) -> Row:
    """F and kB of a large tagger, and of small ones taught by labels, by its labels or by its marginals."""
    train, test = words("ned.train"), words("ned.testb")
    part, rest = sample(train, n, seed)
    teacher = ChainCRF(l2=1.0, template="ner", tolerance=1e-4).fit(*part)
    unlabelled = rest[0][:n]
    marginals = normalized(teacher.predict_marginals(unlabelled), least=0.02)
    data = {
        "small, from the same labels": part,
        "small, also from the large tagger's labels": (part[0] + unlabelled, part[1] + teacher.predict(unlabelled)),
        "small, also from its marginals": (part[0] + unlabelled, part[1] + marginals),
    }

    def measured(crf: ChainCRF) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            crf.save(Path(folder) / "m")
            return {"F": scores(crf, test)["F"], "kB": (Path(folder) / "m").stat().st_size / 1e3}

    small = partial(ChainCRF, template=SMALL, tolerance=1e-4, solver="owlqn")
    found: Row = {"large": [measured(teacher)]}
    for name, (X, y) in data.items():
        found[name] = [measured(small(l1=l1).fit(X, y)) for l1 in PENALTIES]
    return {"scores": found}


def table_of_costs(rows: list[Row]) -> str:
    heads = {"F": "F", "rare precision": "precision of MISC and ORG", "rare recall": "their recall"}
    lines = [
        [name, *(cell([row["scores"][name][score] for row in rows]) for score in heads)] for name in rows[0]["scores"]
    ]
    return markdown(["costs", *heads.values()], lines)


def table_of_sizes(rows: list[Row]) -> str:
    lines = []
    for name, taggers in rows[0]["scores"].items():
        at = 0 if len(taggers) == 1 else PENALTIES.index(SHOWN)
        found = [row["scores"][name][at] for row in rows]
        lines.append([name, cell([tagger["F"] for tagger in found]), cell([tagger["kB"] for tagger in found], 0)])
    return markdown(["tagger", "F", "kB"], lines)


def draw_costs(rows: list[Row], path: Path) -> None:
    """Precision of the rare types, and F of all types, against recall of the rare types; a mark for each cost."""
    with picture(path, 8.0, 4.0) as figure:
        axes = figure.subplots(1, 2, sharex=True)
        panels = ("rare precision", "precision of MISC and ORG"), ("F", "F of all types")
        for axis, (score, label) in zip(axes, panels, strict=True):
            for marker, name in zip(MARKERS, rows[0]["scores"], strict=False):
                recall, other = ([row["scores"][name][key] for row in rows] for key in ("rare recall", score))
                mark(axis, recall, other, marker=marker, label=name)
            axis.set(xlabel="recall of MISC and ORG", ylabel=label)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8)


def draw_sizes(rows: list[Row], path: Path) -> None:
    """F against the size of the file; a line for what the small taggers are taught by, a mark for the large one."""
    with picture(path, 7.0, 3.8) as figure:
        axis = figure.subplots()
        for marker, name in zip(MARKERS, rows[0]["scores"], strict=False):
            F, kB = ([[tagger[key] for tagger in row["scores"][name]] for row in rows] for key in ("F", "kB"))
            mark(axis, kB, F, marker=marker, label=name, linestyle="-", linewidth=0.9)
        axis.set(xscale="log", xlabel="size of the model's file, kB", ylabel="F")
        axis.xaxis.set_major_formatter("{x:,.0f}")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)


PARTS = {"costs": (costs, table_of_costs, draw_costs), "distillation": (distillation, table_of_sizes, draw_sizes)}


def main() -> None:
    """Run a part."""
    parser = options(__doc__)
    parser.add_argument("part", choices=("speed", *PARTS))
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--repeats", type=int, default=60)
    arguments = parser.parse_args()
    if arguments.part == "speed":
        speed(arguments.repeats)
        return
    measure, table, draw = PARTS[arguments.part]
    kept, rows = Rows(arguments.json), []
    for seed in SEEDS:
        wanted = {"part": arguments.part, "sentences": arguments.sentences, "seed": seed}
        rows.append(kept.made(wanted, partial(measure, arguments.sentences, seed)))
        print(f"seed {seed}", flush=True)
    print(table(rows))
    if arguments.figure is not None:
        draw(rows, arguments.figure)


if __name__ == "__main__":
    main()
