"""How the weights of a pairwise Markov random field are numbered.

The first state of a variable is the one that others are measured against: it has no weight. Every other state of every
variable is a *column*; D columns in all. A weight stands for two columns of different variables, an interaction, or for
one column alone. Interactions are numbered through the upper triangle of the D x D matrix of columns, row by row, pairs
of columns of one variable left out; behind them come the D weights of single columns. With binary variables a column is
a variable, and an interaction a pair i < j.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, OptionError
from ..vectors import Vector

__all__ = ["Codes", "Layout", "Numbers", "sample_weights"]

Numbers = npt.NDArray[np.int64]
# States of samples by variable, from 0; -1 is a missing value.
Codes = npt.NDArray[np.int32]


def sample_weights(weights: npt.ArrayLike | None, n_samples: int) -> Vector:
    """Return weights of samples as the native code takes them, ones for None, shape (n_samples,).

    Raises:
        DataError: they are of another number, or not finite and at least 0.
    """
    if weights is None:
        return np.ones(n_samples)
    given = np.asarray(weights)
    if given.ndim != 1 or not np.can_cast(given.dtype, np.float64, "same_kind"):
        message = f"weights are {given.dtype} of shape {given.shape}; they must be numbers, one for each sample"
        raise DataError(message)
    if given.size != n_samples:
        message = f"there are {n_samples} samples, but {given.size} weights"
        raise DataError(message)
    wrong = np.flatnonzero(~(np.isfinite(given) & (given >= 0.0)))
    if wrong.size:
        message = f"weight {given[wrong[0]]} of sample {wrong[0]} is no finite number >= 0"
        raise DataError(message)
    return np.ascontiguousarray(given, dtype=np.float64)


class Layout:
    """Numbers of weights, of columns, and of the scores of states.

    Args:
        states: numbers of states of the variables, each at least 2, shape (n_variables,).

    Attributes:
        states: the same, as an array.
        n_columns: D.
        n_interactions: number of weights that stand for two columns.
        n_features: number of all weights.
        variable: the variable of each column, shape (D,).
        state: the state of each column, at least 1, shape (D,).
        first: the first column of each variable, and D behind them, shape (n_variables + 1,).

    Raises:
        OptionError: there are no variables, or one of fewer than two states.
    """

    def __init__(self, states: Sequence[int] | Numbers) -> None:
        self.states = np.array([operator.index(each) for each in states], dtype=np.int64)
        if self.states.size == 0 or self.states.min() < 2:
            message = "a network needs variables of at least two states each"
            raise OptionError(message)
        widths = self.states - 1
        self.first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self.n_columns = int(self.first[-1])
        self.variable = np.repeat(np.arange(self.states.size), widths)
        self.state = np.arange(self.n_columns) - self.first[self.variable] + 1
        # Row a of the triangle begins behind the columns of its own variable.
        self._behind = self.first[self.variable + 1]
        self._row = np.concatenate([[0], np.cumsum(self.n_columns - self._behind)]).astype(np.int64)
        self.n_interactions = int(self._row[-1])
        self.n_features = self.n_interactions + self.n_columns

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.states.size)

    def columns_of(self, interactions: Numbers) -> tuple[Numbers, Numbers]:
        """Return both columns of each interaction, the first of a lower variable."""
        rows = np.searchsorted(self._row, interactions, side="right") - 1
        return rows, interactions - self._row[rows] + self._behind[rows]

    def interactions_of(self, first: Numbers, second: Numbers) -> Numbers:
        """Return the number of each interaction of two columns, the first of a lower variable."""
        return np.asarray(self._row[first] + second - self._behind[first])

    def edges_of(self, interactions: Numbers) -> Numbers:
        """Return the edges that interactions belong to, each once, ascending, shape (n_edges, 2)."""
        first, second = self.columns_of(interactions)
        pairs = np.unique(self.variable[first] * self.n_variables + self.variable[second])
        return np.stack([pairs // self.n_variables, pairs % self.n_variables], axis=1).astype(np.int64)

    def groups(self) -> Numbers:
        """Return the number of each interaction's edge among all pairs of variables, shape (n_interactions,)."""
        first, second = self.columns_of(np.arange(self.n_interactions))
        i, j, n = self.variable[first], self.variable[second], self.n_variables
        return np.asarray(i * n - i * (i + 1) // 2 + j - i - 1)

    def block(self, i: int, j: int) -> Numbers:
        """Return the interactions of an edge i < j, shape (states of i - 1, states of j - 1)."""
        rows = np.arange(self.first[i], self.first[i + 1])[:, None]
        return self.interactions_of(rows, np.arange(self.first[j], self.first[j + 1]))

    def matrix(self, w: Vector) -> Vector:
        """Return the weights of all interactions as a symmetric matrix, shape (D, D); it is dense."""
        full = np.zeros((self.n_columns, self.n_columns))
        for a in range(self.n_columns):
            full[a, self._behind[a] :] = w[self._row[a] : self._row[a + 1]]
        return full + full.T

    def products(self, columns: Vector, out: Vector) -> Vector:
        """Write the product of both columns' values for each interaction, shape (n_interactions,)."""
        for a in range(self.n_columns):
            np.multiply(columns[self._behind[a] :], columns[a], out=out[self._row[a] : self._row[a + 1]])
        return out

    def subtract_products(self, first: Vector, second: Vector, out: Vector) -> None:
        """Subtract first[a] second[b] + first[b] second[a] for each interaction of columns a, b from ``out``."""
        for a in range(self.n_columns):
            behind = slice(self._behind[a], None)
            out[self._row[a] : self._row[a + 1]] -= first[a] * second[behind] + second[a] * first[behind]

    def checked(self, codes: npt.ArrayLike) -> Codes:
        """Return states of samples as the native code takes them, shape (n_samples, n_variables).

        Raises:
            DataError: they have another shape, or are no states; -1 is a missing value.
        """
        given = np.asarray(codes)
        whole = np.issubdtype(given.dtype, np.integer) or given.dtype == np.bool_
        if given.ndim != 2 or given.shape[1] != self.n_variables or not len(given) or not whole:
            message = f"states are {given.dtype} of shape {given.shape}; whole numbers of {self.n_variables} variables "
            message += "are needed, for one sample at least"
            raise DataError(message)
        wrong = np.argwhere((given < -1) | (given >= self.states))
        if wrong.size:
            s, i = wrong[0]
            message = f"sample {s} has state {given[s, i]} of variable {i}, which has states 0 to {self.states[i] - 1}"
            raise DataError(message)
        return np.ascontiguousarray(given, dtype=np.int32)

    def independent(self, codes: Codes, weights: Vector) -> Vector:
        """Return the weights of the model without interactions that fits samples best; missing values are left out."""
        states = zip(codes.T, self.states.tolist(), strict=True)
        counts = [np.bincount(column[column >= 0], weights[column >= 0], r) for column, r in states]
        # A state that only samples of weight 0 have would get a weight of -inf.
        logs = [np.log(np.maximum(count, 1e-3)) for count in counts]
        w = np.zeros(self.n_features)
        w[self.n_interactions :] = np.concatenate([log[1:] - log[0] for log in logs])
        return w

    def indicators(self, codes: Codes, dtype: type = np.float64) -> npt.NDArray[Any]:
        """Return which columns are on, shape (n_samples, D), for states (n_samples, n_variables)."""
        return np.asarray(codes[:, self.variable] == self.state, dtype=dtype)

    def upper(self, matrix: Vector, out: Vector | None = None) -> Vector:
        """Return the entries of a D x D matrix that stand for interactions, in their order."""
        out = np.empty(self.n_interactions) if out is None else out
        for a in range(self.n_columns):
            out[self._row[a] : self._row[a + 1]] = matrix[a, self._behind[a] :]
        return out
