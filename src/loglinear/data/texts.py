"""Texts: a file with a line for each, or a folder with a file for each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import DataError
from .formats import file_name
from .lines import decoded, read_lines
from .parts import expanded

__all__ = ["Documents", "documents", "oddities", "read"]


class Documents(NamedTuple):
    """Texts of a file or of several files.

    Attributes:
        texts: a text for each line that is not blank, or for each file of a folder.
        labels: label of each text; None without labels.
        lines: number of each text's line in its file, from 1; of a file of a folder, its number in the folder.
    """

    texts: list[str]
    labels: list[str] | None
    lines: list[int]


def read(*paths: str, labelled: bool = True) -> Documents:
    """Read files whose lines are `label TAB text`, or texts alone; gzip and xz are recognised, `-` is standard input.

    Patterns such as part-*.tsv are expanded. A folder has a folder for each label, and in it a file for each text, as
    `sklearn.datasets.load_files` reads it.

    Raises:
        DataError: there is no text, a line has no TAB or no label, or text is not UTF-8; names file and line.
        OSError: a file cannot be read.
    """
    files = [file for path in paths for file in ([path] if os.path.isdir(path) else expanded(path))]
    parts = [_read_one(file, labelled=labelled) for file in files]
    labels = [label for part in parts for label in part.labels or ()] if labelled else None
    texts = [text for part in parts for text in part.texts]
    return Documents(texts, labels, [line for part in parts for line in part.lines])


def _read_one(path: str, *, labelled: bool) -> Documents:
    if os.path.isdir(path):
        return _read_folder(path)
    parsed = documents(read_lines(path), file_name(path), labelled=labelled)
    if not parsed.texts:
        message = f"{file_name(path)}: no texts found; the file is empty or has only blank lines"
        raise DataError(message)
    return parsed


def _read_folder(path: str) -> Documents:
    """Return the texts of a folder of folders of files, which are named after the labels."""
    texts: list[str] = []
    labels: list[str] = []
    undecodable: list[str] = []
    for label, file in _files(path):
        try:
            texts.append(b"".join(read_lines(file)).decode("utf-8-sig"))
            labels.append(label)
        except UnicodeDecodeError:
            undecodable.append(file)
    if undecodable:
        n_files = len(texts) + len(undecodable)
        some = ", ".join(undecodable[:5]) + (", ..." if len(undecodable) > 5 else "")
        share = f"{len(undecodable):,} of {n_files:,} files are not UTF-8"
        message = f"{path}: {share}: {some}; convert them (for example with iconv), or leave them out"
        raise DataError(message)
    if not texts:
        message = f"{path}: no texts found; a folder of texts has a folder for each label with a file for each text"
        raise DataError(message)
    return Documents(texts, labels, list(range(1, len(texts) + 1)))


def _files(path: str) -> Iterator[tuple[str, str]]:
    """Yield label and path of each file, sorted; names that begin with a dot are left out."""
    for label in sorted(os.listdir(path)):
        folder = os.path.join(path, label)
        if label.startswith(".") or not os.path.isdir(folder):
            continue
        for name in sorted(os.listdir(folder)):
            if not name.startswith(".") and os.path.isfile(os.path.join(folder, name)):
                yield label, os.path.join(folder, name)


def oddities(documents: Documents) -> list[str]:
    """Return what is odd about labelled texts, each with what to do."""
    labels, n_texts = documents.labels or [], len(documents.texts)
    counts = Counter(labels)
    notes: list[str] = []
    if 10 <= n_texts < 2 * len(counts):
        example = max(counts, key=len)
        many = f"{n_texts:,} texts have {len(counts):,} different labels, such as {_shown(example)}"
        return [f"{many}; write the label first, then a TAB and the text"]
    if rare := sorted(label for label, count in counts.items() if count == 1):
        notes.append(
            f"{_listed(rare)} {'occurs' if len(rare) == 1 else 'occur'} in one text only, too few to learn from; add "
            "texts, or merge labels"
        )
    if empty := sum(not any(map(str.isalnum, text)) for text in documents.texts):
        notes.append(f"{empty:,} of {n_texts:,} texts have no letters or digits; leave them out")
    labels_of: dict[str, set[str]] = {}
    for text, label in zip(documents.texts, labels, strict=True):
        labels_of.setdefault(text, set()).add(label)
    if clashes := [text for text, several in labels_of.items() if len(several) > 1]:
        text = clashes[0]
        notes.append(
            f"{len(clashes):,} {'text occurs' if len(clashes) == 1 else 'texts occur'} with different labels, such as "
            f"{_shown(text)} with {_listed(sorted(labels_of[text]))}; check the labels"
        )
    return notes


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _listed(labels: Sequence[str]) -> str:
    shortened = [label if len(label) <= 30 else f"{label[:29]}…" for label in labels[:5]]
    return ", ".join(shortened) + (f" and {len(labels) - 5:,} more labels" if len(labels) > 5 else "")


def documents(rows: Iterable[bytes], name: str, *, labelled: bool, first: int = 1) -> Documents:
    """Return the texts of some lines of a file.

    Args:
        rows: the lines.
        name: of the file, for messages.
        labelled: whether a line is `label TAB text`.
        first: number of the first line.

    Raises:
        DataError: a line has no TAB or no label, or is not UTF-8; names file and line.
    """
    texts: list[str] = []
    labels: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(rows, start=first):
        text = decoded(line, name, number).rstrip("\r\n")
        if not text.strip():
            continue
        if labelled:
            label, tab, text = text.partition("\t")
            if not tab or not label.strip():
                message = f"{name}, line {number}: no label; write a label, a TAB and the text"
                raise DataError(message)
            labels.append(label.strip())
        texts.append(text)
        lines.append(number)
    return Documents(texts, labels if labelled else None, lines)
