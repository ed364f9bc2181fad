"""Continued training of a tagger: what it learns of a new domain, what it forgets of the old one.

    LOGLINEAR_DATA=/path/to/data python benchmarks/continued.py [--seeds 3] [--threads 1]

Part-of-speech tagging of UD English EWT with the preset `pos`. The old model is trained on 3,000 sentences of weblogs,
newsgroups, e-mails and answers; the new data are 50 or 200 sentences of reviews. The first table has the accuracy on
the reviews and on the other domains of the development and test files. The second one is of pieces of all domains:
`partial_fit` against training on all pieces at once. Means over seeds, each with another choice of sentences, and
lowest to highest.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import time
from collections import defaultdict
from pathlib import Path

from loglinear import ChainCRF, Corpus

Data = tuple[list[list[str]], list[list[str]]]
STRENGTHS = 1, 10, 100
STREAMS = (100, 10), (10, 60), (500, 4)


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


def band(values: list[float]) -> str:
    return f"{sum(values) / len(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    folder = Path(os.environ["LOGLINEAR_DATA"]) / "ud-english-ewt"
    train, dev, test = (read(folder / f"en_ewt-ud-{name}.conllu") for name in ("train", "dev", "test"))
    held_out = [corpus(joined(dev[domain], test[domain])) for domain in (0, 1)]
    whole = corpus(joined(*dev, *test))

    def fitted(data: Data, **options: object) -> ChainCRF:
        return ChainCRF(template="pos", n_jobs=arguments.threads).fit(*data, **options)

    scores: defaultdict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    for seed in range(arguments.seeds):
        draw = random.Random(seed)
        old_data = drawn(train[1], 3000, draw)
        old = fitted(old_data)
        for n in (50, 200):
            new_data = drawn(train[0], n, draw)
            models = {
                "old alone": old,
                "new alone": fitted(new_data),
                "`start=old`": fitted(new_data, start=old),
                "old and new data": fitted(joined(old_data, new_data)),
            }
            for strength in STRENGTHS:
                models[f"`prior=old, prior_strength={strength}`"] = fitted(new_data, prior=old, prior_strength=strength)
            models["`old.partial_fit`"] = fitted(old_data).partial_fit(*new_data)
            for name, model in models.items():
                scores[n, name].append((model.score(held_out[0]), model.score(held_out[1])))
    print("| sentences of reviews | training | accuracy on reviews | on other domains |\n| ---: | --- | --- | --- |")
    for (n, name), pairs in scores.items():
        print(f"| {n} | {name} | {band([a for a, _ in pairs])} | {band([b for _, b in pairs])} |", flush=True)

    print("\n| pieces | training | accuracy | seconds |\n| --- | --- | --- | --- |")
    for size, count in STREAMS:
        accuracy: defaultdict[str, list[float]] = defaultdict(list)
        seconds: defaultdict[str, list[float]] = defaultdict(list)
        for seed in range(arguments.seeds):
            stream = drawn(joined(*train), size * count, random.Random(seed))
            cuts = [(stream[0][at : at + size], stream[1][at : at + size]) for at in range(0, size * count, size)]
            for name in ("all at once", "`partial_fit`", "one strength, `prior_strength=1`", "last piece alone"):
                began = time.perf_counter()
                if name == "`partial_fit`":
                    model = ChainCRF(template="pos", n_jobs=arguments.threads)
                    for piece in cuts:
                        model.partial_fit(*piece)
                elif name.startswith("one strength"):
                    model = fitted(cuts[0])
                    for piece in cuts[1:]:
                        model = fitted(piece, prior=model)
                else:
                    model = fitted(stream if name == "all at once" else cuts[-1])
                seconds[name].append(time.perf_counter() - began)
                accuracy[name].append(model.score(whole))
        for name, values in accuracy.items():
            taken = sum(seconds[name]) / len(values)
            print(f"| {count} of {size} sentences | {name} | {band(values)} | {taken:.1f} |", flush=True)


if __name__ == "__main__":
    main()
