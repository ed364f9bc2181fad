"""The numbering of the weights of a pairwise Markov random field.

The first state of a variable has no weight: other states are measured against it. Every other state of every variable
is a *column*; there are D columns. A weight belongs to an *interaction*, two columns of different variables, or to a
single column. Interactions are numbered first, through the upper triangle of the D x D matrix of columns, row by row,
without pairs of columns of one variable; then come the D single columns. With binary variables a column is a variable,
and an interaction a pair i < j.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, OptionError
from ..vectors import Vector

__all__ = ["Codes", "Numbering", "Numbers", "merged", "sample_weights"]

# Most variables of samples that are searched for repetitions, and the share of the samples that may be left of them.
_WIDEST, _LEFT = 32, 2 / 3

Numbers = npt.NDArray[np.int64]
# States of samples, from 0, shape (n_samples, n_variables); -1 is a missing value.
Codes = npt.NDArray[np.int32]


def sample_weights(weights: npt.ArrayLike | None, n_samples: int) -> Vector:
    """Return weights of samples as contiguous float64, ones for None, shape (n_samples,).

    Raises:
        DataError: the number of weights is wrong, or a weight is not a finite number >= 0.
    """
    if weights is None:
        return np.ones(n_samples)
    array = np.asarray(weights)
    if array.ndim != 1 or not np.can_cast(array.dtype, np.float64, "same_kind"):
        message = f"weights have type {array.dtype} and shape {array.shape}; give one number per sample"
        raise DataError(message)
    if array.size != n_samples:
        message = f"{n_samples} samples, but {array.size} weights; give one weight per sample"
        raise DataError(message)
    wrong = np.flatnonzero(~(np.isfinite(array) & (array >= 0.0)))
    if wrong.size:
        message = f"weight {array[wrong[0]]} of sample {wrong[0]} is not a finite number >= 0"
        raise DataError(message)
    return np.ascontiguousarray(array, dtype=np.float64)


def merged(codes: Codes, weights: Vector | None) -> tuple[Codes, Vector | None]:
    """Return the distinct samples, and the sum of the weights of each.

    Samples stay as they are where that would leave more than two thirds of them, or there are more than 32 variables,
    whose samples hardly repeat each other.
    """
    n, width = codes.shape
    if width > _WIDEST:
        return codes, weights
    whole = np.ascontiguousarray(codes).view(np.dtype((np.void, codes.dtype.itemsize * width))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    if first.size > n * _LEFT:
        return codes, weights
    return codes[first], np.bincount(place, weights, minlength=first.size).astype(np.float64)


class Numbering:
    """The numbering of columns and weights.

    Args:
        states: number of states of each variable, at least 2, shape (n_variables,).

    Attributes:
        states: number of states of each variable, as an array.
        n_columns: D.
        n_interactions: number of weights of interactions.
        n_features: number of all weights.
        variable: variable of each column, shape (D,).
        state: state of each column, at least 1, shape (D,).
        first: first column of each variable, then D, shape (n_variables + 1,).
        behind: first column of the next variable, for each column, shape (D,).

    Raises:
        OptionError: there are no variables, or a variable has fewer than two states.
    """

    def __init__(self, states: Sequence[int] | Numbers) -> None:
        self.states = np.array([operator.index(count) for count in states], dtype=np.int64)
        if self.states.size == 0 or self.states.min() < 2:
            message = "every variable of a network needs two or more states"
            raise OptionError(message)
        widths = self.states - 1
        self.first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self.n_columns = int(self.first[-1])
        self.variable = np.repeat(np.arange(self.states.size), widths)
        self.state = np.arange(self.n_columns) - self.first[self.variable] + 1
        # Row a of the triangle begins with the first column of the next variable.
        self.behind = self.first[self.variable + 1]
        self._row = np.concatenate([[0], np.cumsum(self.n_columns - self.behind)]).astype(np.int64)
        self.n_interactions = int(self._row[-1])
        self.n_features = self.n_interactions + self.n_columns

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.states.size)

    def columns_of(self, interactions: Numbers) -> tuple[Numbers, Numbers]:
        """Return both columns of each interaction, first the column of the lower variable."""
        rows = np.searchsorted(self._row, interactions, side="right") - 1
        return rows, interactions - self._row[rows] + self.behind[rows]

    def interactions_of(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the number of each interaction of two columns; ``first`` belongs to the lower variable."""
        return np.asarray(self._row[first] + second - self.behind[first])

    def edges_of(self, interactions: Numbers) -> Numbers:
        """Return the edges of interactions, each once, ascending, shape (n_edges, 2)."""
        return self._edges(interactions)[0]

    def strengths(self, w: Vector) -> tuple[Numbers, Vector]:
        """Return the edges with weights, ascending, shape (n_edges, 2), and the Euclidean norm of each one's."""
        inner = np.flatnonzero(w[: self.n_interactions])
        edges, edge = self._edges(inner)
        return edges, np.sqrt(np.bincount(edge, w[inner] ** 2, minlength=len(edges)))

    def _edges(self, interactions: Numbers) -> tuple[Numbers, Numbers]:
        """Return the distinct edges of interactions, ascending, and for each interaction the place of its edge."""
        first, second = self.columns_of(interactions)
        pairs, place = np.unique(self.variable[first] * self.n_variables + self.variable[second], return_inverse=True)
        return np.stack([pairs // self.n_variables, pairs % self.n_variables], axis=1).astype(np.int64), place

    def groups(self) -> Numbers:
        """Return, for each interaction, the number of its edge among all pairs i < j, shape (n_interactions,)."""
        first, second = self.columns_of(np.arange(self.n_interactions))
        return self.pairs_of(self.variable[first], self.variable[second])

    def pairs_of(self, i: Numbers, j: Numbers) -> Numbers:
        """Return the number of each edge i < j among all pairs of variables, row by row."""
        return np.asarray(i * self.n_variables - i * (i + 1) // 2 + j - i - 1)

    def block(self, i: int, j: int) -> Numbers:
        """Return the interactions of an edge i < j, shape (states of i - 1, states of j - 1)."""
        rows = np.arange(self.first[i], self.first[i + 1])[:, None]
        return self.interactions_of(rows, np.arange(self.first[j], self.first[j + 1]))

    def matrix(self, w: Vector) -> Vector:
        """Return the weights of all interactions as a dense symmetric matrix, shape (D, D)."""
        full = np.zeros((self.n_columns, self.n_columns))
        for a, later, row in self._rows(w):
            full[a, later] = row
        return full + full.T

    def _rows(self, pairs: Vector) -> Iterator[tuple[int, slice, Vector]]:
        """Yield each column, the columns of later variables, and the numbers of their interactions."""
        for a, first in enumerate(self.behind.tolist()):
            yield a, slice(first, None), pairs[self._row[a] : self._row[a + 1]]

    def products(self, columns: Vector, out: Vector) -> Vector:
        """Write columns[a] * columns[b] for each interaction of columns a, b to ``out``, shape (n_interactions,)."""
        for a, later, row in self._rows(out):
            np.multiply(columns[later], columns[a], out=row)
        return out

    def scaled(self, pairs: Vector, scale: Vector) -> Vector:
        """Multiply the number of each interaction of columns a, b by scale[a] * scale[b], in place, and return all."""
        for a, later, row in self._rows(pairs):
            row *= scale[a] * scale[later]
        return pairs

    def add_products(self, columns: Vector, pairs: Vector) -> Vector:
        """Add columns[a] * columns[b] to the number of each interaction of columns a, b, in place, and return all."""
        for a, later, row in self._rows(pairs):
            row += columns[a] * columns[later]
        return pairs

    def subtract_products(self, first: Vector, second: Vector, out: Vector) -> None:
        """Subtract first[a] second[b] + first[b] second[a] for each interaction of columns a, b from ``out``."""
        for a, later, row in self._rows(out):
            row -= first[a] * second[later] + second[a] * first[later]

    def checked(self, codes: npt.ArrayLike) -> Codes:
        """Return states of samples as contiguous int32, shape (n_samples, n_variables); -1 is a missing value.

        Raises:
            DataError: the shape is wrong, or a number is not a state.
        """
        array = np.asarray(codes)
        whole = np.issubdtype(array.dtype, np.integer) or array.dtype == np.bool_
        if array.ndim != 2 or array.shape[1] != self.n_variables or not len(array) or not whole:
            message = f"states have type {array.dtype} and shape {array.shape}; give whole numbers of shape "
            message += f"(n_samples, {self.n_variables}), with one sample or more"
            raise DataError(message)
        wrong = np.argwhere((array < -1) | (array >= self.states))
        if wrong.size:
            s, i = wrong[0]
            message = f"sample {s} has state {array[s, i]} of variable {i}, which has states 0 to {self.states[i] - 1}"
            raise DataError(message)
        return np.ascontiguousarray(array, dtype=np.int32)

    def independent(self, codes: Codes, weights: Vector) -> Vector:
        """Return the weights of the best model without interactions for samples; missing values do not count."""
        states = zip(codes.T, self.states.tolist(), strict=True)
        counts = [np.bincount(column[column >= 0], weights[column >= 0], r) for column, r in states]
        # A state whose samples all have weight 0 would get a weight of -inf.
        logs = [np.log(np.maximum(count, 1e-3)) for count in counts]
        w = np.zeros(self.n_features)
        w[self.n_interactions :] = np.concatenate([log[1:] - log[0] for log in logs])
        return w

    def indicators(self, codes: Codes, dtype: type = np.float64) -> npt.NDArray[Any]:
        """Return 1 for each column that is on in a sample, else 0, shape (n_samples, D)."""
        return np.asarray(codes[:, self.variable] == self.state, dtype=dtype)

    def upper(self, matrix: Vector, out: Vector | None = None) -> Vector:
        """Return the entries of a D x D matrix at all interactions, lowest number first, shape (n_interactions,)."""
        out = np.empty(self.n_interactions) if out is None else out
        for a, later, row in self._rows(out):
            row[:] = matrix[a, later]
        return out
