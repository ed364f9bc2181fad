"""What users may pass as data: types of signatures, which only type checkers and editors load."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, SupportsFloat, TypeAlias

import numpy.typing as npt

__all__ = [
    "Array",
    "ArrowData",
    "Classes",
    "Graph",
    "Label",
    "Labels",
    "Matrix",
    "Observations",
    "Row",
    "Sample",
    "Samples",
    "Sentence",
    "Sentences",
    "SparseMatrix",
    "SupportsArray",
    "Token",
    "TokenWeights",
]

Array: TypeAlias = "npt.NDArray[Any]"
"""An array of classes or categories, whose type is that of the user's data."""

Token: TypeAlias = "str | Iterable[str] | Mapping[str, object]"
"""A token of a sentence: its columns, where there is a template; else names of attributes, or attributes by name.

The names in a set are sorted.
"""
Sentence: TypeAlias = "Iterable[Token]"
Sentences: TypeAlias = "Iterable[Sentence]"

Label: TypeAlias = object
"""A str, an int or a bool; None for an unknown label, a set for one of several, a dict for their probabilities."""
Labels: TypeAlias = Iterable[Iterable[Label]]
TokenWeights: TypeAlias = Iterable["Iterable[float] | None"]
"""For each sentence a number for each token, or None."""


class SupportsArray(Protocol):
    """An array of NumPy, a frame or a series of pandas, or what else NumPy turns into an array."""

    def __array__(self) -> Array: ...


class SparseMatrix(Protocol):
    """A sparse matrix or a sparse array of SciPy."""

    def tocsr(self) -> Any:
        """Return the matrix with its rows one after the other."""


class ArrowArray(Protocol):
    """An array of Arrow, of any library."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...


class ArrowStream(Protocol):
    """Arrays of Arrow one after the other, as in a chunked array."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


ArrowData: TypeAlias = "ArrowArray | ArrowStream"
Row: TypeAlias = "SupportsArray | Sequence[SupportsFloat]"
Matrix: TypeAlias = "SupportsArray | SparseMatrix | ArrowData | Sequence[Row]"
"""Numbers, shape (n_samples, n_columns)."""
Sample: TypeAlias = "Iterable[str] | Mapping[str, object]"
"""A sample of a classifier: names of attributes, or attributes by name."""
Samples: TypeAlias = "SupportsArray | SparseMatrix | ArrowData | Sequence[Row | Sample]"
"""A matrix, or samples with attributes."""
Classes: TypeAlias = "SupportsArray | ArrowData | Sequence[Hashable]"
"""A class for each sample."""
Graph: TypeAlias = "tuple[Matrix, npt.ArrayLike] | tuple[Matrix, npt.ArrayLike, npt.ArrayLike]"
"""Node features; pairs of nodes, the edges; edge features."""
Observations: TypeAlias = "SupportsArray | SparseMatrix | ArrowData | Iterable[Iterable[object]]"
"""Categories, shape (n_samples, n_variables)."""
