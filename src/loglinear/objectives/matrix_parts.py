"""The objective of a maximum-entropy classifier over chunks of a matrix, wherever the chunks are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..data.bad_values import checked, named
from ..data.corpus import Corpus
from ..data.frames import as_matrix
from ..data.inputs import Array, Classes, Matrix
from ..data.labels import check_several
from ..data.matrix import far_columns, is_mostly_filled
from ..data.sample_values import classes_of, numbers_of
from ..data.samples import labels_and_weights, samples_with
from ..errors import DataError
from ..vectors import Vector
from .classifier import ClassifierObjective, coefficients, weights_of
from .groups import Group
from .part import EncodedPart
from .parts import PartsObjective

__all__ = ["ChunkOfSamples", "ClassifierParts", "MatrixPart", "chunk_of_part"]

Recipe = tuple[Callable[..., "MatrixPart"], tuple[Any, ...]]


@dataclass(frozen=True)
class ChunkOfSamples:
    """Rows of a matrix and their classes.

    Attributes:
        X: shape (n_samples, n_columns).
        y: classes, shape (n_samples,).
        weights: of the samples, >= 0, shape (n_samples,).
    """

    X: scipy.sparse.csr_array
    y: Array
    weights: Vector

    @classmethod
    def of(cls, name: str, X: Matrix, y: Classes, weights: npt.ArrayLike | None = None) -> ChunkOfSamples:
        """Return a chunk of a matrix, sparse or dense, its classes, and the weights of its samples, by default 1.

        Raises:
            DataError: sizes do not fit, a value is not finite, or a weight is negative; begins with the name.
        """
        try:
            matrix = scipy.sparse.csr_array(checked(as_matrix(X)), dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            message = f"{name}: {named(X, error)}"
            raise DataError(message) from error
        classes = classes_of(y, f"{name}: y")
        weights = np.ones(classes.shape) if weights is None else numbers_of(weights, f"{name}: weights")
        for column, values in (("y", classes), ("weights", weights)):
            if matrix.ndim != 2 or values.shape != (matrix.shape[0],):
                message = f"{name}: X has shape {matrix.shape}, but {column} has shape {values.shape}"
                raise DataError(message)
        if not np.isfinite(matrix.data).all():
            message = f"{name}: X contains NaN or infinity; remove or replace such values"
            raise DataError(message)
        if not (np.isfinite(weights).all() and (weights >= 0.0).all()):
            message = f"{name}: a sample weight is not a finite number >= 0"
            raise DataError(message)
        return cls(matrix, classes, weights)

    def weighed(self, classes: Array, class_weights: Vector | None) -> tuple[npt.NDArray[np.intp], Vector]:
        """Return the number of each sample's class, and its weight times the weight of its class."""
        targets = np.searchsorted(classes, self.y)
        return targets, self.weights if class_weights is None else self.weights * class_weights[targets]

    def __sizeof__(self) -> int:
        arrays = (self.X.data, self.X.indices, self.X.indptr, self.y, self.weights)
        return sum(array.nbytes for array in arrays)


def chunk_of_part(part: EncodedPart, names: list[str]) -> ChunkOfSamples:
    """Return the tokens of a part as samples over the columns of these names."""
    corpus: Corpus = part.corpus
    # Comments and blank lines alone have no labels.
    y, weights = labels_and_weights(corpus, None, None) if corpus.n_tokens else ((), None)
    return ChunkOfSamples.of(part.source.name, samples_with(names, corpus), y, weights)


class MatrixPart:
    """A chunk as an objective over all columns.

    Args:
        chunk: rows and classes.
        classes: all classes, sorted.
        intercept: value of the intercept's column; 0 for none.
        shift: what to subtract from the columns, shape (n_columns,); None for nothing.
        class_weights: weight of each class; None for 1.

    Attributes:
        n_samples: number of samples of the chunk.
    """

    def __init__(
        self,
        chunk: ChunkOfSamples,
        classes: Array,
        intercept: float,
        shift: Vector | None,
        class_weights: Vector | None,
    ) -> None:
        self._recipe: Recipe = MatrixPart, (chunk, classes, intercept, shift, class_weights)
        self._n_bytes, self.n_samples = chunk.__sizeof__(), chunk.X.shape[0]
        X, (targets, weights) = chunk.X, chunk.weighed(classes, class_weights)
        if not self.n_samples:  # an objective needs at least one sample; this one has weight 0
            X, targets, weights = scipy.sparse.csr_array((1, X.shape[1])), np.zeros(1, np.intp), np.zeros(1)
        self.core: ClassifierObjective = ClassifierObjective(
            X, targets, weights, n_classes=len(classes), intercept=intercept or False, threads=1, shift=shift
        )

    def _derived(self, core: ClassifierObjective, method: Callable[..., MatrixPart], *arguments: object) -> MatrixPart:
        part = object.__new__(MatrixPart)
        part._recipe, part.core = (method, arguments), core
        part._n_bytes, part.n_samples = self._n_bytes, self.n_samples
        return part

    def __reduce__(self) -> Recipe:
        return self._recipe

    def __sizeof__(self) -> int:
        return 3 * self._n_bytes  # the chunk, and the copies that the objective makes

    @property
    def weights(self) -> Vector:
        """Weights of the samples, shape (n_samples,)."""
        return np.asarray(self.core.weights)[: self.n_samples]

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the chunk's NLL at w, nats, and its gradient, shape (n_features,)."""
        value, gradient = self.core.value_and_gradient(w, out)
        return value, gradient

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p(y | x; w) of each sample, shape (n_samples,)."""
        return np.asarray(self.core.sample_nlls(w))[: self.n_samples]

    def restrict(self, features: npt.NDArray[np.int64]) -> MatrixPart:
        """Return the chunk over some of the features, the intercept's among them; the weights of all others are 0."""
        return self._derived(self.core.restrict(features), MatrixPart.restrict, self, features)

    def one_against_rest(self, target: int) -> MatrixPart:
        """Return the chunk with two classes, the target as class 1 and all others as 0."""
        return self._derived(self.core.one_against_rest(target), MatrixPart.one_against_rest, self, target)


class ClassifierParts(PartsObjective):
    """NLL of a maximum-entropy classifier over chunks of a matrix; see `ClassifierObjective` for the order of w.

    Args:
        chunks: a group of `ChunkOfSamples`.
        intercept: whether there is an intercept; its column has the norm of the largest other column. Then a number is
            subtracted from columns that are far from 0, in all chunks the same (see `ClassifierObjective`).
        class_weights: returns the weight of each class, None for 1, for the sorted classes and the sums of the weights
            of their samples.

    Raises:
        DataError: chunks have different numbers of columns, or there is only one class.

    Attributes:
        classes: sorted.
        n_columns: without the intercept's.
        shift: what was subtracted from each column, shape (n_columns,); None for nothing.
    """

    def __init__(
        self, chunks: Group, *, intercept: bool = True, class_weights: Callable[[Array, Vector], Vector | None]
    ) -> None:
        seen: _Seen = chunks.joined("look", _seen, join=_joined)
        self.classes = seen.classes
        check_several(self.classes, seen.n_samples)
        self.n_columns = seen.n_columns
        self.n_outputs = 1 if len(self.classes) == 2 else len(self.classes)
        by_class = class_weights(self.classes, seen.totals)
        self.intercept, self.shift = 0.0, None
        if intercept:
            self.shift = _shift(chunks, seen)
            squares, total = chunks.total("measure", _measured, self.classes, by_class, self.shift)
            largest = float(np.sqrt(squares.max(initial=0.0) / total)) if total else 0.0
            self.intercept = largest or 1.0
        parts = chunks.mapped("lay-out", MatrixPart, self.classes, self.intercept, self.shift, by_class)
        self._set(parts, seen.n_samples)

    def _set(self, parts: Group, n_samples: int) -> None:
        n_features = (self.n_columns + bool(self.intercept)) * self.n_outputs
        super().__init__(parts, n_features, n_samples, is_convex=True)

    @property
    def n_unpenalised(self) -> int:
        """Number of weights that a penalty should leave alone, the intercept's: the last ones."""
        return self.n_outputs if self.intercept else 0

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data and a checksum of the gradient at weights of 0."""
        return {"chunks": self.group.size, "samples": self.n_samples, "checksum": self.checksum()}

    def restrict(self, features: npt.ArrayLike) -> Any:
        """Return the objective over some of the features; None if the intercept is left out."""
        numbers = np.ascontiguousarray(features, dtype=np.int64)
        first = self.n_features - self.n_unpenalised
        if not np.array_equal(numbers[numbers >= first], np.arange(first, self.n_features)):
            return None
        return super().restrict(numbers)

    def one_against_rest(self, target: int) -> ClassifierParts:
        """Return the objective of two classes, the target as class 1 and all others as 0."""
        objective = object.__new__(ClassifierParts)
        vars(objective).update(vars(self), n_outputs=1)
        objective._set(self.group.mapped("one-against-rest", MatrixPart.one_against_rest, target), self.n_samples)
        return objective

    def coefficients(self, w: Vector) -> tuple[Vector, Vector]:
        """Return the weights as a matrix of shape (n_outputs, columns), and what the intercept adds to each score."""
        return coefficients(w, self.n_outputs, self.intercept, self.shift)

    def weights_of(self, coef: Vector, intercept: Vector) -> Vector:
        """Return the weights, shape (n_features,), of which `coefficients` makes these; without intercept if none."""
        return weights_of(coef, intercept, self.intercept, self.shift)


@dataclass(frozen=True)
class _Seen:
    """Facts about chunks: their classes with the weights of their samples, numbers of columns, samples and entries."""

    classes: Array
    totals: Vector
    n_columns: int
    n_samples: int
    n_entries: int


def _seen(chunk: ChunkOfSamples) -> _Seen:
    classes, targets = np.unique(chunk.y, return_inverse=True)
    totals: Vector = np.bincount(targets, chunk.weights).astype(np.float64)
    return _Seen(classes, totals, chunk.X.shape[1], chunk.X.shape[0], chunk.X.nnz)


def _joined(left: _Seen, right: _Seen) -> _Seen:
    if left.n_columns != right.n_columns:
        message = f"some chunks of X have {left.n_columns} columns, others {right.n_columns}; give all the same columns"
        raise DataError(message)
    # A chunk without samples does not determine the type of the classes.
    chunks = [seen for seen in (left, right) if seen.n_samples] or [left]
    classes = np.unique(np.concatenate([seen.classes for seen in chunks]))
    totals = np.zeros(classes.size)
    for seen in chunks:
        totals[np.searchsorted(classes, seen.classes)] += seen.totals
    n_samples, n_entries = left.n_samples + right.n_samples, left.n_entries + right.n_entries
    return _Seen(classes, totals, left.n_columns, n_samples, n_entries)


def _shift(chunks: Group, seen: _Seen) -> Vector | None:
    """Return what to subtract from each column; None for nothing, as of sparse chunks."""
    if not is_mostly_filled(seen.n_entries, (seen.n_samples, seen.n_columns)):
        return None
    added = chunks.joined("add up", _added_up, join=_Columns.joined)
    means = added.sums / seen.n_samples
    spreads = np.sqrt(np.maximum(added.squares / seen.n_samples - means**2, 0.0))
    # Less its mean, which has rounding errors, a constant column would not be 0 everywhere.
    is_constant = added.lowest == added.highest
    return far_columns(np.where(is_constant, added.lowest, means), np.where(is_constant, 0.0, spreads))


@dataclass(frozen=True)
class _Columns:
    """Sums of the numbers in each column and of their squares, and the lowest and the highest number."""

    sums: Vector
    squares: Vector
    lowest: Vector
    highest: Vector

    def joined(self, other: _Columns) -> _Columns:
        """Return the facts about the columns of two chunks together."""
        return _Columns(
            self.sums + other.sums,
            self.squares + other.squares,
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
        )


def _added_up(chunk: ChunkOfSamples) -> _Columns:
    n_samples, n_columns = chunk.X.shape
    lowest, highest = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    if n_samples:
        lowest, highest = (ends.toarray().ravel() for ends in (chunk.X.min(axis=0), chunk.X.max(axis=0)))
    ones = np.ones(n_samples)
    return _Columns(np.asarray(chunk.X.T @ ones), np.asarray(chunk.X.power(2).T @ ones), lowest, highest)


def _measured(
    chunk: ChunkOfSamples, classes: Array, class_weights: Vector | None, shift: Vector | None
) -> tuple[Vector, float]:
    """Return the sums of weighted squares in each column, less the shift, and of weights."""
    _, weights = chunk.weighed(classes, class_weights)
    squares = chunk.X.power(2) if shift is None else (chunk.X.toarray() - shift) ** 2
    return np.asarray(squares.T @ weights), float(weights.sum())
