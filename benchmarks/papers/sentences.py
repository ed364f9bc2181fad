"""Labelled sentences: column files, and the corpora made of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from loglinear import Corpus

Sentence = list[tuple[str, ...]]


def columns(path: Path, *comments: str) -> list[Sentence]:
    """Sentences of a column file; document marks are left out, and lines that begin like comments."""
    marks = ("-DOCSTART-", "###MEDLINE", *comments)
    sentences: list[Sentence] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        cells = line.split()
        if not cells:
            sentences.append([])
        elif not cells[0].startswith(marks):
            sentences[-1].append(tuple(cells))
    return [sentence for sentence in sentences if sentence]


def encoded(sentences: list[Sentence], preset: str | None) -> Corpus:
    """The corpus of sentences; without a preset a token is its label and its attributes."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        for sentence in sentences:
            file.writelines("\t".join(token) + "\n" for token in sentence)
            file.write("\n")
        file.flush()
        return Corpus.read(file.name, format="columns" if preset else "crfsuite", template=preset)
