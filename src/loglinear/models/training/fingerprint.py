"""Fingerprints of what a training is made of: data, starting weights, solvers; two trainings are compared by them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...data.corpus import Corpus

if TYPE_CHECKING:
    from ...objectives.classifier import ClassifierObjective

__all__ = ["checksum", "of_classifier", "of_corpus", "of_solver"]

# Sentences or samples whose attributes are looked at together: all at once would take much memory.
_CHUNK = 1 << 16

Array = npt.NDArray[Any]


def checksum(arrays: Iterable[Array]) -> str:
    """Return a checksum of arrays, in this order."""
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def of_corpus(corpus: Corpus) -> dict[str, Any]:
    """Return the sizes of a corpus and a checksum of its attributes by number, values, labels and weights."""
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
    if core.first_partial() is not None:
        known = ("|".join(sorted(each)) if isinstance(each, frozenset) else each or "?" for each in _flat(core.gold()))
        yield _bytes("\t".join(known))
    if core.has_bigrams:
        # Rows have no attributes of bigrams, which the template and their names tell apart.
        yield _bytes("\n".join([corpus.template or "", *core.names()]))
    for start in range(0, len(corpus), _CHUNK):
        yield from core.select(list(range(start, min(start + _CHUNK, len(corpus))))).rows()


def of_classifier(objective: ClassifierObjective) -> dict[str, Any]:
    """Return the sizes of a classifier's data and a checksum of its samples, their classes and weights."""
    return {
        "samples": objective.n_samples,
        "columns": objective.n_columns - (objective.intercept != 0.0),
        "checksum": checksum(_parts_of_classifier(objective)),
    }


def _parts_of_classifier(objective: ClassifierObjective) -> Iterator[Array]:
    yield objective.targets
    yield objective.weights
    for start in range(0, objective.n_samples, _CHUNK):
        samples = np.arange(start, min(start + _CHUNK, objective.n_samples))
        yield from objective.sample(samples).core.rows()


def of_solver(solver: Any) -> dict[str, Any]:
    """Return the options of a solver by name; an option of an inner solver has the names of both, with a dot between.

    Example:
        >>> from loglinear.models.training.fingerprint import of_solver
        >>> from loglinear.solvers import OWLQN, TwoStage
        >>> of_solver(OWLQN(memory=5))["memory"], of_solver(TwoStage(memory=7))["second.memory"]
        (5, 7)
    """
    found: dict[str, Any] = {}
    for name, value in vars(solver).items():
        inner = of_solver(value) if is_dataclass(value) else None
        found |= {name: value} if inner is None else {f"{name}.{each}": option for each, option in inner.items()}
    return found


def _bytes(text: str) -> Array:
    return np.frombuffer(text.encode(), np.uint8)


def _flat(labels: list[list[Any]] | None) -> Iterator[Any]:
    for sentence in labels or ():
        yield from sentence
