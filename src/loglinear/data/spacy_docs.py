"""Docs of spaCy as sentences, labels and texts, and the files that hold them, which spaCy calls DocBin.

Tokens that consist of whitespace are left out of sentences, as other corpora have none. spaCy is imported to read a
file alone.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from math import isclose, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DataError, DataWarning, warn
from ..extras import needed_by

if TYPE_CHECKING:
    # A type checker that reads a program with loglinear would read all of spaCy, and take three times as long.
    Doc = Any

__all__ = [
    "DocWords",
    "Stretch",
    "category",
    "entity_labels",
    "labelled_sentences",
    "labelled_texts",
    "pos_labels",
    "sentence_starts",
    "span_labels",
    "stretches",
    "tag_labels",
]

# Words that a cache holds: those of a large vocabulary, in some ten megabytes.
_MOST_WORDS = 200_000
# Values of ENT_IOB.
_INSIDE, _OUTSIDE, _BEGIN = 1, 2, 3

Label = str | None


class DocWords(dict[int, Label]):
    """Words by their ids in string stores; None for whitespace. A cache, which makes reading docs twice as fast."""

    def of(self, docs: Sequence[Doc]) -> tuple[list[list[Label]], set[int]]:
        """Return the words of each of many docs, and the numbers of the docs with boundaries of sentences.

        One call per doc returns all that is needed of its tokens: the calls are what reading docs costs.
        """
        if not docs:
            return [], set()
        numpy, attrs = import_module("numpy"), import_module("spacy.attrs")
        # Constants in place of names take half the time.
        wanted = [attrs.ORTH, attrs.SENT_START]
        rows = numpy.concatenate([doc.to_array(wanted) for doc in docs])
        keys = rows[:, 0].tolist()
        try:
            words = [*map(self.__getitem__, keys)]
        except KeyError:
            if len(self) >= _MOST_WORDS:
                self.clear()
            words = []
            for doc in docs:
                strings, part = doc.vocab.strings, keys[len(words) : len(words) + len(doc)]
                words += [self[key] if key in self else self.setdefault(key, _word(strings[key])) for key in part]
        ends = [*accumulate(map(len, docs), initial=0)]
        marked = rows[:, 1].nonzero()[0]
        firsts = numpy.searchsorted(ends, marked, "right") - 1
        # The mark of a doc's first token is no boundary: every doc begins a sentence.
        bounded = {int(doc) for doc, token in zip(firsts, marked, strict=True) if token != ends[doc]}
        return [words[start:end] for start, end in pairwise(ends)], bounded

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what pickle needs: nothing of the cache."""
        return DocWords, ()


def _word(text: str) -> str | None:
    return None if text.isspace() else text


class Stretch(NamedTuple):
    """Tokens of a doc that are labelled together, as one sentence.

    Attributes:
        words: of the tokens that are not whitespace.
        places: number in the doc of each of these tokens.
    """

    words: list[str]
    places: Sequence[int]


def stretches(words: Sequence[str | None], starts: Sequence[int] = ()) -> list[Stretch]:
    """Return the stretches of a doc: its sentences, or all of it.

    Args:
        words: of the doc, None for whitespace.
        starts: number of the first token of each sentence; none for a doc that is one sentence.
    """
    if (not starts or starts[-1] == 0) and None not in words:
        return [Stretch(words, range(len(words)))] if words else []  # type: ignore[arg-type]
    bounds = sorted({0, *starts, len(words)})
    parts = []
    for start, end in pairwise(bounds):
        visible = [(word, start + at) for at, word in enumerate(words[start:end]) if word is not None]
        if visible:
            parts.append(Stretch([word for word, _ in visible], [place for _, place in visible]))
    return parts


def sentence_starts(doc: Doc) -> list[int]:
    """Return the number of the first token of each sentence; empty for a doc without boundaries of sentences."""
    return [sentence.start for sentence in doc.sents] if doc.has_annotation("SENT_START") else []


def entity_labels(doc: Doc) -> list[Label]:
    """Return the entities of a doc as labels in IOB2; None for a token whose label is not known.

    Tokens are unknown if their annotation is missing, or if they are blocked for entities.
    """
    strings = doc.vocab.strings
    labels: list[Label] = []
    for iob, kind in doc.to_array(["ENT_IOB", "ENT_TYPE"]).tolist():
        if iob == _OUTSIDE:
            labels.append("O")
        elif kind and iob in (_INSIDE, _BEGIN):
            labels.append(f"{'B' if iob == _BEGIN else 'I'}-{strings[kind]}")
        else:
            labels.append(None)
    return labels


def span_labels(n_tokens: int, spans: Iterable[tuple[str, int, int]]) -> list[Label]:
    """Return spans that do not overlap, each a type, its first token and one past the last, as labels in IOB2."""
    labels: list[Label] = ["O"] * n_tokens
    for kind, start, end in spans:
        labels[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return labels


def tag_labels(doc: Doc) -> list[Label]:
    """Return the fine-grained tags of a doc; None for a token without one."""
    return [token.tag_ or None for token in doc]


def pos_labels(doc: Doc) -> list[Label]:
    """Return the coarse-grained parts of speech of a doc; None for a token without one."""
    return [token.pos_ or None for token in doc]


def labels_at(labels: Sequence[Label], places: Iterable[int]) -> list[Label]:
    """Return the labels of a stretch; an entity that a boundary of sentences cuts begins again after it."""
    chosen = [labels[place] for place in places]
    if chosen and chosen[0] is not None and chosen[0].startswith("I-"):
        chosen[0] = f"B-{chosen[0][2:]}"
    return chosen


def category(cats: Mapping[str, float]) -> str | dict[str, float] | None:
    """Return the category of a doc, or a distribution over several; None for a doc without one.

    Raises:
        DataError: the values name no single category, and are not probabilities that sum to 1.
    """
    positive = {name: float(value) for name, value in cats.items() if value}
    if not positive:
        return None
    values = positive.values()
    if list(values) == [1.0]:
        return next(iter(positive))
    if all(isfinite(value) and value > 0.0 for value in values) and isclose(sum(values), 1.0, abs_tol=1e-6):
        return positive
    shown = ", ".join(f"{name}: {value:g}" for name, value in list(positive.items())[:4])
    message = f"the categories {shown} are not exclusive; give one category the value 1, or several values whose sum "
    message += "is 1 (for independent categories, train a pipe for each)"
    raise DataError(message)


_LABELS: dict[str, tuple[Callable[[Any], list[Label]], str]] = {
    "ents": (entity_labels, "ENT_IOB"),
    "tags": (tag_labels, "TAG"),
    "pos": (pos_labels, "POS"),
}
# What a file may hold, in the words of the command line.
_COLUMNS = {"ents": "entities", "tags": "tags", "pos": "parts of speech", "cats": "categories"}


def labelled_sentences(
    path: str, column: str, *, labelled: bool = True
) -> tuple[list[list[str]], list[list[Label]] | None]:
    """Return the sentences of a file of docs, and their labels.

    Args:
        path: the file.
        column: what the labels are: "ents", "tags" or "pos".
        labelled: whether the labels are wanted.

    Raises:
        DataError: the file is not a DocBin, or none of its docs has this annotation.
        MissingPackageError: spaCy is not installed.
        OSError: the file cannot be read.
    """
    labels_of, attribute = _LABELS[column]
    docs = _docs(path)
    if labelled and docs and not any(doc.has_annotation(attribute) for doc in docs):
        _refuse(path, column, docs)
    X, y = [], []
    rows, _ = DocWords().of(docs)
    for doc, words in zip(docs, rows, strict=True):
        labels = labels_of(doc)
        for stretch in stretches(words, sentence_starts(doc)):
            X.append(stretch.words)
            y.append(labels_at(labels, stretch.places))
    return X, y if labelled else None


def labelled_texts(path: str, *, partial: bool = False) -> tuple[list[str], list[Any]]:
    """Return the texts of the docs of a file, and their categories.

    Args:
        path: the file.
        partial: allow distributions over categories.

    Raises:
        DataError: the file is not a DocBin, or none of its docs has categories.
        MissingPackageError: spaCy is not installed.
        OSError: the file cannot be read.

    Warns:
        DataWarning: docs without a category are left out.
    """
    texts, labels = [], []
    docs = _docs(path)
    for number, doc in enumerate(docs):
        try:
            label = category(doc.cats)
        except DataError as error:
            message = f"{path}, doc {number}: {error}"
            raise DataError(message) from None
        if isinstance(label, dict) and not partial:
            message = f"{path}, doc {number}: the categories are a distribution; add --partial, or give one the value 1"
            raise DataError(message)
        if label is not None:
            texts.append(doc.text)
            labels.append(label)
    if docs and not texts:
        _refuse(path, "cats", docs)
    if len(texts) < len(docs):
        left_out = len(docs) - len(texts)
        warn(f"{path}: {left_out:,} of {len(docs):,} docs have no category and are left out", DataWarning)
    return texts, labels


def _docs(path: str) -> list[Doc]:
    """Return the docs of a file."""
    with needed_by(f"{path}: the format spacy"):
        tokens, vocab = import_module("spacy.tokens"), import_module("spacy.vocab")

    if path == "-" or os.path.isdir(path):
        message = f"{path}: docs of spaCy are read from a file; give the path of a .spacy file"
        raise DataError(message)
    with open(path, "rb") as file:
        data = file.read()
    try:
        docs = list(tokens.DocBin().from_bytes(data).get_docs(vocab.Vocab()))
        n_tokens, lengths = _sizes(data)
    except MemoryError:
        raise
    except Exception as error:  # spaCy lets whatever its decoders raise pass
        message = f"{path}: not a file of docs of spaCy, or damaged ({type(error).__name__}); write one with "
        message += "DocBin(docs=docs).to_disk(path)"
        raise DataError(message) from error
    if n_tokens != {sum(lengths)} or min(lengths, default=0) < 0:
        message = f"{path}: damaged: the lengths of its docs sum to {sum(lengths):,} tokens, and it has "
        message += f"{' and '.join(f'{n:,}' for n in sorted(n_tokens))}; write it again with "
        message += "DocBin(docs=docs).to_disk(path)"
        raise DataError(message)
    return docs


def _sizes(data: bytes) -> tuple[set[int], list[int]]:
    """Return how many tokens and blanks a DocBin has, and the lengths of its docs; spaCy does not compare them."""
    fields = import_module("srsly").msgpack_loads(zlib.decompress(data))
    frombuffer = import_module("numpy").frombuffer
    n_tokens = len(fields["tokens"]) // (8 * max(1, len(fields["attrs"])))
    return {n_tokens, len(fields["spaces"])}, frombuffer(fields["lengths"], dtype="int32").tolist()


def _refuse(path: str, column: str, docs: Sequence[Doc]) -> None:
    """Raise DataError: no doc of a file has an annotation; say which ones there are."""
    there = [name for name, (_, attribute) in _LABELS.items() if any(doc.has_annotation(attribute) for doc in docs)]
    there += ["cats"] if any(doc.cats for doc in docs) else []
    others = " or ".join(f"--format spacy:{name}" for name in there)
    remedy = f"for what the docs have, use {others}" if others else "annotate the docs"
    message = f"{path}: no doc has {_COLUMNS[column]}; {remedy}"
    raise DataError(message)
