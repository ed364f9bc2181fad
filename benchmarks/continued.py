"""Continued training of a tagger: what it learns of a new domain, what it forgets of the old one.

    LOGLINEAR_DATA=/path/to/data python benchmarks/continued.py --json FILE --figure docs/guides/continued.svg

Part-of-speech tagging of UD English EWT with the preset `pos`. The old model is trained on 3,000 sentences of weblogs,
newsgroups, e-mails and answers; the new data are 50 or 200 sentences of reviews. The first table has the accuracy on
the reviews and on the other domains of the development and test files; the picture shows it. The second one is of
pieces of all domains: `partial_fit` against training on all pieces at once, with seconds of the processor. Means over
seeds, each with another choice of sentences, and lowest to highest.
"""

from __future__ import annotations

import os
import random
import re
import time
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from bands import MARKERS, Rows, cell, mark, markdown, options, picture
from loglinear import ChainCRF, Corpus

Data = tuple[list[list[str]], list[list[str]]]
OLD, NEW = 3000, (50, 200)
STRENGTHS = 1, 10, 100
# Number of pieces and of sentences in each.
STREAMS = (10, 100), (60, 10), (4, 500)
# The picture leaves out trainings that know the new data alone: they are far from the others.
FAR = "new alone", "`start=old`"


def read(path: Path) -> tuple[Data, Data]:
    """Words and universal tags of the reviews, and of the other domains."""
    reviews: Data = [], []
    others: Data = [], []
    domain, rows = "", []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("# newdoc"):
            domain = re.split("[-_]", line.partition("= ")[2])[0]
        elif not line and rows:
            words, tags = reviews if domain == "reviews" else others
            words.append([row[1] for row in rows])
            tags.append([row[3] for row in rows])
            rows = []
        elif line and line[0] != "#" and line.partition("\t")[0].isdigit():
            rows.append(line.split("\t"))
    return reviews, others


def joined(*parts: Data) -> Data:
    return [x for X, _ in parts for x in X], [labels for _, y in parts for labels in y]


def drawn(data: Data, n: int, draw: random.Random) -> Data:
    numbers = draw.sample(range(len(data[0])), n)
    return [data[0][at] for at in numbers], [data[1][at] for at in numbers]


def corpus(data: Data) -> Corpus:
    from loglinear.data.templates import template_text

    return Corpus.encode(*data, template=template_text("pos"))


def fitted(data: Data, threads: int, **arguments: Any) -> ChainCRF:
    return ChainCRF(template="pos", n_jobs=threads).fit(*data, **arguments)


def domains(train: tuple[Data, Data], held_out: list[Corpus], seed: int, threads: int) -> dict[str, Any]:
    """Accuracy on reviews and on other domains, by the number of new sentences and the training."""
    draw = random.Random(seed)
    old_data = drawn(train[1], OLD, draw)
    old = fitted(old_data, threads)
    scores: dict[str, Any] = {}
    for n in NEW:
        new_data = drawn(train[0], n, draw)
        models = {
            "old alone": old,
            "new alone": fitted(new_data, threads),
            "`start=old`": fitted(new_data, threads, start=old),
            "old and new data": fitted(joined(old_data, new_data), threads),
        }
        for strength in STRENGTHS:
            name = f"`prior=old, prior_strength={strength}`"
            models[name] = fitted(new_data, threads, prior=old, prior_strength=strength)
        models["`old.partial_fit`"] = fitted(old_data, threads).partial_fit(*new_data)
        scores[str(n)] = {name: [model.score(part) for part in held_out] for name, model in models.items()}
    return {"scores": scores}


def pieces(train: tuple[Data, Data], whole: Corpus, seed: int, count: int, size: int, threads: int) -> dict[str, Any]:
    """Accuracy on all domains and seconds of the processor, by the training."""
    stream = drawn(joined(*train), size * count, random.Random(seed))
    cuts = [(stream[0][at : at + size], stream[1][at : at + size]) for at in range(0, size * count, size)]
    scores: dict[str, Any] = {}
    for name in ("all at once", "`partial_fit`", "one strength, `prior_strength=1`", "last piece alone"):
        began = time.process_time()
        if name == "`partial_fit`":
            model = ChainCRF(template="pos", n_jobs=threads)
            for piece in cuts:
                model.partial_fit(*piece)
        elif name.startswith("one strength"):
            model = fitted(cuts[0], threads)
            for piece in cuts[1:]:
                model = fitted(piece, threads, prior=model)
        else:
            model = fitted(stream if name == "all at once" else cuts[-1], threads)
        seconds = time.process_time() - began
        scores[name] = [model.score(whole), seconds]
    return {"scores": scores}


def by_domain(rows: list[dict[str, Any]], n: int, name: str) -> list[list[float]]:
    """Accuracy on reviews and on other domains, each by seed."""
    return [[row["scores"][str(n)][name][part] for row in rows] for part in (0, 1)]


def draw_domains(rows: list[dict[str, Any]], path: Path) -> None:
    """Accuracy on reviews against other domains, a panel for each number of new sentences and a mark for each training.

    The arrow is in the direction of the trainings that are left out.
    """
    with picture(path, 8.0, 4.2) as figure:
        axes = figure.subplots(1, len(NEW), sharex=True, sharey=True)
        for axis, n in zip(axes, NEW, strict=True):
            names = [name for name in rows[0]["scores"][str(n)] if name not in FAR]
            for number, name in enumerate(names):
                reviews, others = by_domain(rows, n, name)
                mark(axis, others, reviews, marker=MARKERS[number], label=name.replace("`", ""))
            reviews, others = (f"{fmean(values):.3f}" for values in by_domain(rows, n, FAR[1]))
            says = f"start=old and new alone:\n{reviews} on reviews,\n{others} on other domains"
            arrow = {"arrowstyle": "->", "color": "0.4"}
            axis.annotate(says, (0.02, 0.02), (0.1, 0.1), "axes fraction", arrowprops=arrow, color="0.3", fontsize=8)
            axis.set(title=f"{n} sentences of reviews", xlabel="accuracy on other domains")
            axis.locator_params(nbins=5)
        axes[0].set(ylabel="accuracy on reviews")
        axes[0].set_ylim(axes[0].get_ylim()[0] - 0.003)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    threads, rows = arguments.threads, Rows(arguments.json)
    folder = Path(os.environ["LOGLINEAR_DATA"]) / "ud-english-ewt"
    train, dev, test = (read(folder / f"en_ewt-ud-{name}.conllu") for name in ("train", "dev", "test"))
    held_out = [corpus(joined(dev[domain], test[domain])) for domain in (0, 1)]
    whole = corpus(joined(*dev, *test))

    found = []
    for seed in range(arguments.seeds):
        found.append(rows.made({"new": list(NEW), "seed": seed}, partial(domains, train, held_out, seed, threads)))
    lines = []
    for n in NEW:
        for name in found[0]["scores"][str(n)]:
            lines.append([n, name, *(cell(values) for values in by_domain(found, n, name))])
    print(markdown(["sentences of reviews", "training", "accuracy on reviews", "on other domains"], lines), flush=True)
    if arguments.figure is not None:
        draw_domains(found, arguments.figure)

    lines = []
    for count, size in STREAMS:
        found = []
        for seed in range(arguments.seeds):
            measure = partial(pieces, train, whole, seed, count, size, threads)
            found.append(rows.made({"pieces": count, "size": size, "seed": seed}, measure))
        for name in found[0]["scores"]:
            accuracy, seconds = zip(*(row["scores"][name] for row in found), strict=True)
            lines.append([f"{count} of {size} sentences", name, cell(accuracy), cell(seconds, 2)])
    print("\n" + markdown(["pieces", "training", "accuracy", "seconds"], lines))


if __name__ == "__main__":
    main()
