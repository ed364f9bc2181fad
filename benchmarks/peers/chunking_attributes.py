"""CRFsuite's example chunking attributes, for CoNLL-2000 columns (word, part of speech, chunk).

Nineteen templates; one is left out where it reaches beyond the sentence. `__BOS__` marks the first token and
`__EOS__` the last. On CoNLL-2000's training part CRFsuite makes 452,755 features of them.

    python benchmarks/peers/chunking_attributes.py FOLDER      # writes FOLDER/train.crfsuite and FOLDER/test.crfsuite
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

FIELDS = {"w": 0, "pos": 1}
TEMPLATES: tuple[tuple[tuple[str, int], ...], ...] = (
    *((("w", offset),) for offset in range(-2, 3)),
    (("w", -1), ("w", 0)),
    (("w", 0), ("w", 1)),
    *((("pos", offset),) for offset in range(-2, 3)),
    *((("pos", offset), ("pos", offset + 1)) for offset in range(-2, 2)),
    *((("pos", offset), ("pos", offset + 1), ("pos", offset + 2)) for offset in range(-2, 1)),
)
NAMES = tuple("|".join(f"{field}[{offset}]" for field, offset in template) for template in TEMPLATES)

Sentence = list[list[str]]


def data_folder() -> Path:
    """The folder of corpora: environment variable LOGLINEAR_DATA, else ../shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return Path(os.environ.get("LOGLINEAR_DATA", beside))


def read_columns(path: Path) -> Iterator[Sentence]:
    """Yields sentences of a column file, each a list of rows."""
    sentence: Sentence = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = line.split()
            if row:
                sentence.append(row)
            elif sentence:
                yield sentence
                sentence = []
    if sentence:
        yield sentence


def sentence_attributes(sentence: Sentence) -> list[list[str]]:
    """The attributes of every token of a sentence, unescaped."""
    length = len(sentence)
    tokens = []
    for t in range(length):
        attributes = []
        for name, template in zip(NAMES, TEMPLATES, strict=True):
            if t + template[0][1] >= 0 and t + template[-1][1] < length:
                values = [sentence[t + offset][FIELDS[field]] for field, offset in template]
                attributes.append(f"{name}={'|'.join(values)}")
        tokens.append(attributes)
    tokens[0].append("__BOS__")
    tokens[-1].append("__EOS__")
    return tokens


def escape(attribute: str) -> str:
    """Escapes an attribute for a CRFsuite attribute file, where a colon begins the value."""
    return attribute.replace("\\", "\\\\").replace(":", "\\:")


def unescape(field: str) -> str:
    """Undoes `escape`."""
    if "\\" not in field:
        return field
    return "\\".join(part.replace("\\:", ":") for part in field.split("\\\\"))


def write_attributes(source: Path, target: Path) -> None:
    """Writes the attribute file of a column file: a label, then the attributes, separated by tabs."""
    with target.open("w", encoding="utf-8", newline="\n") as out:
        for sentence in read_columns(source):
            for row, attributes in zip(sentence, sentence_attributes(sentence), strict=True):
                out.write("\t".join([row[-1], *map(escape, attributes)]) + "\n")
            out.write("\n")


def read_attributes(path: Path) -> Iterator[tuple[list[list[str]], list[str]]]:
    """Yields (attributes of each token, labels) from a file written by `write_attributes`."""
    xs: list[list[str]] = []
    ys: list[str] = []
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            label, *fields = line.rstrip("\n").split("\t")
            if label:
                ys.append(label)
                xs.append([unescape(field) for field in fields])
            elif ys:
                yield xs, ys
                xs, ys = [], []
    if ys:
        yield xs, ys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where train.crfsuite and test.crfsuite are written")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("train", "test"):
        write_attributes(data_folder() / "conll2000" / f"{part}.txt", folder / f"{part}.crfsuite")


if __name__ == "__main__":
    main()
