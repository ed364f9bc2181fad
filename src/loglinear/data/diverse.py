"""Choice of rows that are worth much and are not alike.

Source: maximal marginal relevance (Carbonell & Goldstein, SIGIR 1998), with a product in place of the weighted
difference, so that values may have any unit. Symbols:

    u[i]    the value of row i, at least 0
    x[i]    its vector, scaled to length 1
    S       the rows that have been taken
    s[i]    max over j in S of cos(x[i], x[j]), at least 0: how much the row is like those taken
    d       the diversity, from 0 to 1

Each step takes the row with the largest u[i] (1 - d s[i]); of equal ones the first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from ..vectors import Vector

__all__ = ["Taken", "diverse"]


class Taken(NamedTuple):
    """A row that has been taken.

    Attributes:
        row: its number.
        similarity: to the most similar row that was taken before it, from 0 to 1.
    """

    row: int
    similarity: float


def diverse(u: Vector, x: scipy.sparse.csr_array, n: int, d: float) -> list[Taken]:
    """Return n rows, or all if there are fewer, in the order in which they are taken.

    Cost: O(n * entries of x).

    Args:
        u: value of each row, shape (n_rows,), finite.
        x: vectors, shape (n_rows, n_columns); they need not have length 1.
        n: number of rows to take.
        d: 0 to choose by the values alone; 1 to never take a row before one that is worth anything, if it is the
            same as a row taken before.
    """
    x = _unit(x)
    s, free, vector = np.zeros(len(u)), np.ones(len(u), dtype=bool), np.zeros(x.shape[1])
    taken: list[Taken] = []
    for _ in range(min(n, len(u))):
        i = int(np.where(free, u * (1.0 - d * s), -1.0).argmax())
        taken.append(Taken(i, float(s[i])))
        free[i] = False
        entries = slice(x.indptr[i], x.indptr[i + 1])
        vector[x.indices[entries]] = x.data[entries]
        np.maximum(s, np.minimum(x @ vector, 1.0), out=s)
        vector[x.indices[entries]] = 0.0
    return taken


def _unit(x: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return rows scaled to length 1, over the columns that have entries; rows without entries stay."""
    x = scipy.sparse.csr_array(x, dtype=np.float64)
    x.sum_duplicates()
    columns, indices = np.unique(x.indices, return_inverse=True)
    lengths = np.sqrt(x.multiply(x).sum(axis=1))
    scale = np.repeat(1.0 / np.where(lengths > 0.0, lengths, 1.0), np.diff(x.indptr))
    return scipy.sparse.csr_array((x.data * scale, indices, x.indptr), shape=(x.shape[0], columns.size))
