"""Scores and model sizes of a few penalties on N sentences of data sets: the table of docs/guides/penalties.md.

    LOGLINEAR_DATA=/path/to/data python benchmarks/penalties.py [--threads 1]

Default solver and tolerance; scores are on the test file of each data set. The sentences are the first ones of the
training file; addresses, which are sorted by kind, are taken at equal distances.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from loglinear import ChainCRF, Corpus

DATA = Path(os.environ["LOGLINEAR_DATA"])
PENALTIES = [{"l2": 1.0}, {"l1": 0.3, "l2": 0.1}, {"l1": 0.3}, {"l1": 1.0}]


class DataSet(NamedTuple):
    """Data to train and test on, with a preset, the score and the numbers of sentences."""

    train: str
    test: str
    preset: str
    metric: str
    sizes: tuple[int, ...]


DATA_SETS = {
    "CoNLL-2002 Dutch": DataSet(
        "conll2002-dutch/ned.train", "conll2002-dutch/ned.testb", "ner", "f1", (50, 200, 1000, 3000, 15806)
    ),
    "CoNLL-2000": DataSet("conll2000/train.txt", "conll2000/test.txt", "chunking", "f1", (50, 200, 1000, 8936)),
    "usaddress": DataSet("usaddress/labeled.xml", "usaddress/labeled-test.xml", "ner", "accuracy", (50, 200, 1513)),
}


def sentences(name: str) -> Iterator[list[list[str]]]:
    """The sentences of a file of columns, or the addresses of an XML file, as rows of cells."""
    path = DATA / name
    if path.suffix == ".xml":
        for address in ElementTree.parse(path).getroot():
            yield [[word, part.tag] for part in address for word in (part.text or "").split()]
        return
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        if rows := [line.split(" ") for line in block.split("\n") if line and not line.startswith("-DOCSTART-")]:
            yield rows


def corpus(rows: list[list[list[str]]], preset: str, folder: str) -> Corpus:
    """The sentences as a corpus."""
    path = Path(folder, "data.txt")
    path.write_text("".join("".join("\t".join(row) + "\n" for row in rows) + "\n" for rows in rows), encoding="utf-8")
    return Corpus.read(path, template=preset)


def cell(train: Corpus, test: Corpus, penalty: dict[str, float], metric: str, threads: int, folder: str) -> str:
    """Score and size of a model."""
    crf = ChainCRF(**penalty, n_jobs=threads).fit(train)
    path = Path(folder, "model")
    crf.save(path)
    size = path.stat().st_size / 1e6
    return f"{100 * crf.score(test, metric=metric):.1f}, {size:.2g} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, data in DATA_SETS.items():
            rows = list(sentences(data.train))
            test = corpus(list(sentences(data.test)), data.preset, folder)
            for number in data.sizes:
                step = len(rows) // number if data.train.endswith(".xml") else 1
                train = corpus(rows[::step][:number], data.preset, folder)
                cells = [cell(train, test, penalty, data.metric, arguments.threads, folder) for penalty in PENALTIES]
                print(f"| {name} | {number:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
