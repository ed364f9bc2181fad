"""Fingerprints of data, by which two trainings are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .corpus import Corpus

__all__ = ["CHUNK", "checksum", "of_corpus"]

# Sentences or samples that are hashed together; all at once would need much memory.
CHUNK = 1 << 16

Array = npt.NDArray[Any]


def checksum(arrays: Iterable[Array]) -> str:
    """Return a checksum of arrays, in this order."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def of_corpus(corpus: Corpus) -> dict[str, Any]:
    """Return the sizes of a corpus and a checksum of its attributes by number, values, labels, weights and costs."""
    return {
        "sentences": len(corpus),
        "tokens": corpus.n_tokens,
        "attributes": corpus.n_attributes,
        "labels": len(corpus.labels),
        "checksum": corpus.core.checksum or checksum(_parts_of_corpus(corpus)),
    }


def _parts_of_corpus(corpus: Corpus) -> Iterator[Array]:
    core = corpus.core
    yield _bytes("\t".join(core.labels))
    yield np.array(core.lengths(), np.int64)
    yield core.targets()
    yield core.weights()
    if (costs := core.costs()).size:
        yield costs
    if core.first_partial() is not None:
        gold_texts = (_written(label) for label in _flat(core.gold()))
        yield _bytes("\t".join(gold_texts))
    if core.has_bigrams:
        # Rows have no attributes of bigrams, which the template and their names tell apart.
        yield _bytes("\n".join([corpus.template or "", *core.names()]))
    for start in range(0, len(corpus), CHUNK):
        yield from core.select(list(range(start, min(start + CHUNK, len(corpus))))).rows()


def _written(label: Any) -> str:
    if isinstance(label, dict):
        return "|".join(f"{name}:{share.hex()}" for name, share in sorted(label.items()))
    return "|".join(sorted(label)) if isinstance(label, frozenset) else label or "?"


def _bytes(text: str) -> Array:
    return np.frombuffer(text.encode(), np.uint8)


def _flat(labels: list[list[Any]] | None) -> Iterator[Any]:
    for sentence in labels or ():
        yield from sentence
