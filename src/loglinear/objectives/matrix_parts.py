"""The objective of a maximum-entropy classifier over chunks of a matrix, wherever the chunks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..data.corpus import Corpus
from ..data.samples import labels_and_weights, samples_with
from ..errors import DataError
from ..vectors import Vector
from .classifier import ClassifierObjective
from .groups import Group
from .part import EncodedPart
from .parts import PartsObjective

__all__ = ["ChunkOfSamples", "ClassifierParts", "MatrixPart", "chunk_of_part"]

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class ChunkOfSamples:
    """Rows of a matrix and their classes.

    Attributes:
        X: shape (n_samples, n_columns).
        y: classes, shape (n_samples,).
    """

    X: scipy.sparse.csr_array
    y: Array

    @classmethod
    def of(cls, X: Any, y: Any, name: str) -> ChunkOfSamples:
        """Return a chunk of a matrix, sparse or dense, and its classes.

        Raises:
            DataError: sizes do not fit, or a value is not finite; begins with the name.
        """
        matrix, classes = scipy.sparse.csr_array(X, dtype=np.float64), np.asarray(y)
        if matrix.ndim != 2 or classes.shape != (matrix.shape[0],):
            message = f"{name}: X of shape {matrix.shape} and y of shape {classes.shape} do not fit"
            raise DataError(message)
        if not np.isfinite(matrix.data).all():
            message = f"{name}: a value of X is not finite"
            raise DataError(message)
        return cls(matrix, classes)

    def __sizeof__(self) -> int:
        return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes + self.y.nbytes)


def chunk_of_part(part: EncodedPart, names: list[str]) -> ChunkOfSamples:
    """Return the tokens of a part as samples over the columns of these names."""
    corpus: Corpus = part.corpus
    y, _ = labels_and_weights(corpus, None, None)
    return ChunkOfSamples.of(samples_with(names, corpus), y, part.source.name)


class MatrixPart:
    """A chunk as an objective over all columns.

    Args:
        chunk: rows and classes.
        classes: all classes, sorted.
        intercept: value of the intercept's column; 0 for none.
    """

    def __init__(self, chunk: ChunkOfSamples, classes: Array, intercept: float) -> None:
        self._recipe: tuple[Callable[..., MatrixPart], tuple[Any, ...]] = MatrixPart, (chunk, classes, intercept)
        targets = np.searchsorted(classes, chunk.y)
        given: dict[str, Any] = {"n_classes": len(classes), "intercept": intercept or False, "threads": 1}
        self.core: Any = ClassifierObjective(chunk.X, targets, **given)

    def __reduce__(self) -> tuple[Callable[..., MatrixPart], tuple[Any, ...]]:
        return self._recipe

    def __sizeof__(self) -> int:
        # The chunk, and the copies that the objective makes.
        return 3 * int(self._recipe[1][0].__sizeof__())

    @property
    def n_samples(self) -> int:
        """Number of samples of the chunk."""
        return int(self.core.n_samples)

    @property
    def weights(self) -> Vector:
        """Weights of the samples, shape (n_samples,)."""
        return np.asarray(self.core.weights)

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the chunk's NLL at w, nats, and its gradient, shape (n_features,)."""
        value, gradient = self.core.value_and_gradient(w, out)
        return value, gradient

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sample, shape (n_samples,)."""
        return np.asarray(self.core.sample_nlls(w))

    def restrict(self, features: npt.NDArray[np.int64]) -> MatrixPart:
        """Return the chunk over some of the features, the intercept's among them; the weights of all others are 0."""
        other = object.__new__(MatrixPart)
        other._recipe = MatrixPart.restrict, (self, features)
        other.core = self.core.restrict(features)
        return other


class ClassifierParts(PartsObjective):
    """NLL of a maximum-entropy classifier over chunks of a matrix; see `ClassifierObjective` for the order of w.

    Args:
        chunks: a group of `ChunkOfSamples`.
        intercept: whether there is an intercept; its column has the norm of the largest other column.

    Raises:
        DataError: chunks have different numbers of columns, or there is only one class.

    Attributes:
        classes: sorted.
        n_columns: without the intercept's.
    """

    def __init__(self, chunks: Group, *, intercept: bool = True) -> None:
        seen: _Seen = chunks.joined("look", _seen, join=_joined)
        self.classes = seen.classes
        if len(self.classes) < 2:
            message = f"the data hold only one class: {self.classes.tolist()[0]!r}; a classifier needs at least two"
            raise DataError(message)
        self.n_columns = seen.squares.size
        largest = float(np.sqrt(seen.squares.max(initial=0.0)))
        self.intercept = (largest or 1.0) if intercept else 0.0
        self.n_outputs = 1 if len(self.classes) == 2 else len(self.classes)
        n_features = (self.n_columns + bool(self.intercept)) * self.n_outputs
        parts = chunks.mapped("lay-out", MatrixPart, self.classes, self.intercept)
        super().__init__(parts, n_features, seen.n_samples, is_convex=True)

    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone, the intercept's: the last ones."""
        return self.n_outputs if self.intercept else 0

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data and a checksum of the gradient at weights of 0."""
        return {"chunks": self.group.size, "samples": self.n_samples, "checksum": self.checksum()}

    def restrict(self, features: npt.ArrayLike) -> Any:
        """Return the objective over some of the features; None if the intercept is left out."""
        kept = np.ascontiguousarray(features, dtype=np.int64)
        first = self.n_features - self.n_unpenalised
        if not np.array_equal(kept[kept >= first], np.arange(first, self.n_features)):
            return None
        return super().restrict(kept)

    def coefficients(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the weights as a matrix of shape (n_outputs, columns), and what the intercept adds to each score."""
        matrix = w.reshape(-1, self.n_outputs)
        if not self.intercept:
            return matrix.T, np.zeros(self.n_outputs)
        return matrix[:-1].T, matrix[-1] * self.intercept


@dataclass(frozen=True)
class _Seen:
    """What is seen in chunks: their classes, the squared norms of the columns, the number of samples."""

    classes: Array
    squares: Vector
    n_samples: int


def _seen(chunk: ChunkOfSamples) -> _Seen:
    squares = np.zeros(chunk.X.shape[1])
    np.add.at(squares, chunk.X.indices, chunk.X.data**2)
    return _Seen(np.unique(chunk.y), squares, chunk.X.shape[0])


def _joined(left: _Seen, right: _Seen) -> _Seen:
    if left.squares.size != right.squares.size:
        message = f"some chunks of X have {left.squares.size} columns, others {right.squares.size}"
        raise DataError(message)
    classes = np.union1d(left.classes, right.classes)
    return _Seen(classes, left.squares + right.squares, left.n_samples + right.n_samples)
