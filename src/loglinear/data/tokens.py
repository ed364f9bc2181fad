"""The words of sentences, to be shown to people: of files, of Python objects, of corpora that have attributes only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from .corpus import Corpus, is_corpus
from .lines import read_lines

__all__ = ["corpus_words", "file_words", "sample_texts", "shown_words", "word"]

# Attributes of a sample that are shown.
_ATTRIBUTES = 12


def word(token: Any) -> str:
    """Return what stands for a token: itself, its first column or attribute, its first attribute that is a text."""
    if isinstance(token, str):
        return token
    if isinstance(token, Mapping):
        texts = (value for value in token.values() if isinstance(value, str))
        return next(texts, str(next(iter(token), "")))
    if isinstance(token, Set):
        return min(map(str, token), default="")
    if isinstance(token, Sequence):
        return str(token[0]) if len(token) else ""
    return str(token)


def corpus_words(corpus: Corpus) -> list[list[str]]:
    """Return the first attribute of each token: a corpus does not keep the words."""
    ends, ids, _ = corpus.core.rows()
    names = corpus.core.names()
    starts = [0, *ends.tolist()]
    first = iter(names[ids[start]] if start < end else "" for start, end in zip(starts, ends.tolist(), strict=False))
    return [[next(first) for _ in range(length)] for length in corpus.core.lengths()]


def shown_words(X: Any, corpus: Corpus) -> list[list[str]]:
    """Return the words of sentences that were encoded into a corpus; X may be the corpus itself."""
    return corpus_words(corpus) if X is corpus else [[word(token) for token in sentence] for sentence in X]


def file_words(path: str, format: str, corpus: Corpus) -> list[list[str]]:
    """Return the words of a file that was read into a corpus; of formats without words the first attributes.

    Raises:
        OSError: the file cannot be read.
    """
    readers = {"columns": _columns, "conllu": _conllu, "jsonl": _json_lines}
    reader = readers.get(format.partition(":")[0])
    if reader is not None and not is_corpus(path):
        found = list(reader(path))
        if [len(each) for each in found] == corpus.core.lengths():
            return found
    return corpus_words(corpus)


def sample_texts(X: Any, corpus: Corpus | None, n_samples: int) -> list[str]:
    """Return what stands for each sample of a classifier: its attributes, or its number, from 1.

    Args:
        X: the samples.
        corpus: the samples as a corpus; None for a matrix.
        n_samples: number of samples.
    """
    if corpus is None:
        return [f"sample {number}" for number in range(1, n_samples + 1)]
    if X is corpus:
        return [each for words in corpus_words(corpus) for each in words]
    return [" ".join(islice(_named(each), _ATTRIBUTES)) for each in X]


def _named(sample: Any) -> Iterator[str]:
    """Yield the attributes of a sample."""
    if isinstance(sample, Mapping):
        yield from (f"{name}={value}" for name, value in sample.items())
    else:
        yield from map(str, sample)


def _columns(path: str) -> Iterator[list[str]]:
    return _blocks(path, lambda line: re.split(r"[ \t]+", line.lstrip(" \t"), maxsplit=1)[0])


def _conllu(path: str) -> Iterator[list[str]]:
    def form(line: str) -> str | None:
        cells = line.split("\t")
        return cells[1] if cells[0].isdigit() and len(cells) > 1 else None

    return _blocks(path, form)


def _blocks(path: str, read: Any) -> Iterator[list[str]]:
    """Yield the words of lines between blank lines."""
    words: list[str] = []
    for number, raw in enumerate(read_lines(path)):
        line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
        if number == 0:
            line = line.removeprefix("\ufeff")
        if line.strip(" \t\r"):
            found = read(line)
            words += [] if found is None else [found]
        elif words:
            yield words
            words = []
    if words:
        yield words


def _json_lines(path: str) -> Iterator[list[str]]:
    for line in read_lines(path):
        if line.strip():
            yield [word(token) for token in json.loads(line)["tokens"]]
