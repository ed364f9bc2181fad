"""Accuracy, size and seconds of classifiers of texts by their options.

    LOGLINEAR_DATA=/path/to/data python benchmarks/texts.py [--tasks topics grain] [--folder FOLDER]

Tasks from Reuters-21578, ModApte split: `topics` (documents that have exactly one), `earn` and `grain` (whether a
document has this topic); and `domain`, the domain of a sentence of UD English EWT. `FOLDER` gets files
`TASK.train.tsv` and `TASK.test.tsv`. Files of other tasks there can be named as well. One thread.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from loglinear import TextClassifier
from loglinear.data.texts import read

sys.path.append(str(Path(__file__).resolve().parent / "papers"))
import reuters
from reuters import Document

# Options of the command line by the options of Python.
SETTINGS = {
    "": {},
    "--tfidf": {"tfidf": True},
    "--tfidf --l2 0.1": {"tfidf": True, "l2": 0.1},
    "--tfidf --l1 0.05 --l2 0.1": {"tfidf": True, "l1": 0.05, "l2": 0.1},
    "--tfidf --l1 0.1": {"tfidf": True, "l1": 0.1},
    "--ngrams 1-2 --min-count 2 --tfidf --l1 0.05 --l2 0.1": {
        "ngrams": "1-2",
        "min_count": 2,
        "tfidf": True,
        "l1": 0.05,
        "l2": 0.1,
    },
}


TASKS: dict[str, Callable[[Document], str | None]] = {
    "topics": lambda document: document.topics[0] if len(document.topics) == 1 else None,
    "earn": lambda document: "yes" if "earn" in document.topics else "no",
    "grain": lambda document: "yes" if "grain" in document.topics else "no",
}


def write(path: Path, rows: Iterable[tuple[str, str]]) -> None:
    path.write_text("".join(f"{label}\t{' '.join(text.split())}\n" for label, text in rows), encoding="utf-8")


def write_reuters(data: Path, folder: Path) -> None:
    for part, documents in reuters.read(data).items():
        for task, label_of in TASKS.items():
            labels = map(label_of, documents)
            rows = ((label, each.text) for label, each in zip(labels, documents, strict=True) if label is not None)
            write(folder / f"{task}.{part}.tsv", rows)


def write_domains(data: Path, folder: Path) -> None:
    for part, names in {"train": ["train"], "test": ["dev", "test"]}.items():
        paths = [data / "ud-english-ewt" / f"en_ewt-ud-{name}.conllu" for name in names]
        rows, domain = [], ""
        for line in "".join(path.read_text(encoding="utf-8") for path in paths).split("\n"):
            if line.startswith("# newdoc"):
                domain = re.split("[-_]", line.partition("= ")[2])[0]
            elif line.startswith("# text = "):
                rows.append((domain, line.partition("= ")[2]))
        write(folder / f"domain.{part}.tsv", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=[*TASKS, "domain"])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.mkdtemp()))
    arguments = parser.parse_args()
    data = Path(os.environ["LOGLINEAR_DATA"])
    write_reuters(data, arguments.folder)
    write_domains(data, arguments.folder)
    for task in arguments.tasks:
        train, test = (read(str(arguments.folder / f"{task}.{split}.tsv")) for split in ("train", "test"))
        for flags, options in SETTINGS.items():
            began = time.perf_counter()
            model = TextClassifier(**options, n_jobs=1).fit(train.texts, train.labels)
            seconds = time.perf_counter() - began
            accuracy = sum(a == b for a, b in zip(model.predict(test.texts), test.labels or (), strict=True))
            place = arguments.folder / "model"
            model.save(place)
            share, size = 100 * accuracy / len(test.texts), place.stat().st_size / 1e6
            print(f"| {task} | `{flags}` | {share:.1f} | {size:.2f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
