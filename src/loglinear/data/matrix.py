"""A matrix of numbers in the form in which passes over it are fastest: dense, or as compressed sparse rows."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ..errors import DataError
from ..vectors import Vector, distinct, moments
from .bad_values import checked, named
from .inputs import Array, Matrix
from .sparse_structure import check_structure

__all__ = [
    "BLOCK",
    "FLOATS",
    "Dense",
    "Lines",
    "dense_if_very_far",
    "dense_or_sparse",
    "far_columns",
    "far_from_zero",
    "is_mostly_filled",
    "is_plain",
    "is_worth_blocks",
    "least_share",
    "lines",
    "looked_at",
    "refuse_kinds",
    "refuse_mask",
    "with_entries",
]

Dense: TypeAlias = "npt.NDArray[np.float64] | npt.NDArray[np.float32]"

# Kept as given; all other numbers become doubles.
FLOATS = (np.float64, np.float32)
# Kinds of numbers, as NumPy calls them, that no weight can be given to.
_REFUSED = {"M": "Dates are", "m": "Spans of time are", "c": "Complex data"}
# A dense matrix with a smaller share of numbers that are not 0 becomes sparse, a sparse one with a larger share dense.
SPARSE, DENSE = 0.2, 0.5
# A distance from row to row, in lengths of a row, at which a pass over the rows takes about as long as without gaps.
GAP = 1.5
# Numbers of which the share is that of a dense matrix.
LOOKED_AT = 1 << 18
# Rows that tell the mean of a column well enough, at least.
FEWEST_ROWS = 64
# A column whose mean is farther from 0 than this many standard deviations is far from 0.
FAR = 0.5
# A column of a small sparse matrix, if it is farther than this many.
VERY_FAR = 10.0
# Bytes of a block of rows as doubles.
BLOCK = 1 << 24
# Columns without entries are worth leaving out if they are at least this share of all.
MANY_EMPTY = 0.5
# Columns that numbers of 32 bits tell apart.
MOST_NUMBERED = 1 << 32

# A singular value of columns whose norms are 1 is a rounding error up to this; the eigenvalues of their products have
# larger ones.
NEARLY_0, ROUNDED = 1e-13, 1e-9


def dense_or_sparse(X: Matrix) -> Dense | scipy.sparse.csr_array:
    """Return a matrix that is dense if many of its numbers are not 0, else sparse.

    A dense array of float64 or float32 is not copied if the numbers of each column stand side by side, or the numbers
    of each row do and rows follow each other closely. Nor are compressed sparse rows of float64.

    Raises:
        DataError: X contains dates, complex numbers or other values than numbers, is a masked array, or is damaged.
    """
    refuse_kinds(X)
    check_structure(X)
    try:
        return _in_form(checked(X))
    except (TypeError, ValueError, OverflowError) as error:
        raise named(X, error) from error


def _in_form(X: Matrix) -> Dense | scipy.sparse.csr_array:
    """Return what `dense_or_sparse` returns, of numbers."""
    if scipy.sparse.issparse(X):
        matrix = scipy.sparse.csr_array(X)
        if matrix.ndim == 2 and is_mostly_filled(matrix.nnz, matrix.shape):
            return matrix.astype(_kind(matrix.dtype)).toarray()
        return matrix.astype(np.float64, copy=False)
    array: Array = np.asarray(X)
    if array.ndim != 2:
        return array.astype(np.float64)
    if array.size and _share(array) < SPARSE:
        return scipy.sparse.csr_array(array, dtype=np.float64)
    in_place = array.dtype in FLOATS and array.flags.aligned and (_has_near_rows(array) or _has_lines(array.T))
    return array if in_place else np.require(array, _kind(array.dtype), ["C", "A"])


class Lines(NamedTuple):
    """The memory of a dense matrix: its rows, or else its columns, are lines of numbers that stand side by side.

    Attributes:
        numbers: all lines and the gaps between them, as they lie in memory.
        by_rows: whether rows are the lines.
        first: place of the first line.
        step: distance from a line to the next; negative for columns of which the last one comes first.
    """

    numbers: Array
    by_rows: bool
    first: int
    step: int


def lines(X: Dense) -> Lines:
    """Return where the numbers of a matrix from `dense_or_sparse` stand."""
    by_rows = _has_near_rows(X)
    matrix = X if by_rows else X.T
    n_lines, length = matrix.shape
    step = matrix.strides[0] // X.itemsize if n_lines > 1 else length
    way = (n_lines - 1) * step
    lowest = matrix[-1:] if way < 0 else matrix[:1]
    size = abs(way) + length if matrix.size else 0
    numbers = np.lib.stride_tricks.as_strided(lowest, (size,), (X.itemsize,), writeable=False)
    return Lines(numbers, by_rows, max(-way, 0), step)


def _has_lines(X: Array) -> bool:
    """Return whether the numbers of a row stand side by side, and rows a whole number of numbers apart."""
    return bool((X.shape[1] == 1 or X.strides[1] == X.itemsize) and (len(X) == 1 or X.strides[0] % X.itemsize == 0))


def _has_near_rows(X: Array) -> bool:
    """Return whether the rows of a matrix are lines with gaps so small that they do not slow down reading."""
    length = X.shape[1] * X.itemsize
    return _has_lines(X) and (len(X) == 1 or length <= X.strides[0] <= GAP * length)


def is_mostly_filled(n_entries: int, shape: tuple[int, int]) -> bool:
    """Return whether a sparse matrix has so many entries that it becomes dense."""
    return n_entries > DENSE * float(np.prod(shape, dtype=np.float64))


def refuse_kinds(X: object) -> None:
    """Raise DataError if an array contains dates or complex numbers, or is masked."""
    refuse_mask("X", X)
    if isinstance(X, np.ndarray) and X.dtype.kind in _REFUSED:
        message = f"{_REFUSED[X.dtype.kind]} not supported: X has type {X.dtype}; give numbers"
        raise DataError(message)


def is_plain(X: object) -> TypeGuard[Dense]:
    """Return whether X is a dense matrix in which scikit-learn's checks, which take long for few samples, find nothing.

    Its numbers are finite and of a type in `FLOATS`.
    """
    if type(X) is not np.ndarray or X.dtype not in FLOATS or X.ndim != 2 or not X.size:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum()))


def is_worth_blocks(X: object) -> TypeGuard[Array]:
    """Return whether X is an array that would take much memory as doubles; then convert it in blocks of rows."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype == np.float64:
        return False
    return X.dtype.kind in "biuf" and 8 * X.size > BLOCK


def refuse_mask(name: str, values: object) -> None:
    """Raise DataError if an array is masked."""
    if isinstance(values, np.ma.MaskedArray):
        message = f"{name} is a masked array, whose hidden values would count; give {name}.filled(value)"
        raise DataError(message)


def with_entries(ids: npt.NDArray[np.integer], n_columns: int) -> tuple[npt.NDArray[np.int64], Array] | None:
    """Return the columns of a sparse matrix that have entries, and its entries' numbers among these columns.

    Args:
        ids: column of each entry.
        n_columns: number of columns of the matrix.

    Returns:
        The columns, ascending, and the place of each entry's column among them, as uint32. None if no column has
        entries, if most have, or if the matrix is damaged.
    """
    if ids.dtype == np.int32:
        numbers = ids.view(np.uint32)  # those below 0 become large
    elif n_columns > MOST_NUMBERED or (ids.size and (ids.min() < 0 or ids.max() >= n_columns)):
        return None
    else:
        numbers = ids.astype(np.uint32)
    columns = distinct(np.ascontiguousarray(numbers), n_columns, int((1.0 - MANY_EMPTY) * n_columns))
    if columns is None or not ids.size:
        return None
    place = np.zeros(n_columns, dtype=np.uint32)
    place[columns] = np.arange(columns.size, dtype=np.uint32)
    return columns.astype(np.int64), place[ids]


def far_from_zero(X: Dense) -> Vector | None:
    """Return a number to subtract from each column, shape (n_columns,); None if none is farther from 0 than it varies.

    It is the mean of some rows, and 0 for columns that are near 0. It does not depend on the layout of X.
    """
    return far_columns(*_means_and_spreads(X))


def dense_if_very_far(matrix: scipy.sparse.csr_array) -> Dense | scipy.sparse.csr_array:
    """Return a sparse matrix, made dense if it is small and has a column whose mean is many standard deviations from 0.

    Of a dense matrix numbers can be subtracted from columns (`far_from_zero`).
    """
    if not 0 < np.prod(matrix.shape, dtype=np.float64) <= LOOKED_AT:
        return matrix
    dense = matrix.toarray()
    means, spreads = _means_and_spreads(dense)
    return dense if (np.abs(means) > VERY_FAR * spreads).any() else matrix


def _means_and_spreads(X: Dense) -> tuple[Vector, Vector]:
    """Return the mean and the standard deviation of each column, in the rows of `looked_at`."""
    rows = X[looked_at(len(X), X.shape[1])]
    means, spreads = np.empty(X.shape[1]), np.empty(X.shape[1])
    width = max(1, LOOKED_AT // len(rows))
    for first in range(0, X.shape[1], width):
        columns = slice(first, first + width)
        means[columns], spreads[columns] = moments(np.ascontiguousarray(rows[:, columns], dtype=np.float64))
    return means, spreads


def looked_at(n_rows: int, n_columns: int) -> slice:
    """Return the rows that `far_from_zero` looks at."""
    return slice(0, n_rows, max(1, min(n_rows * n_columns // LOOKED_AT, n_rows // FEWEST_ROWS)))


def far_columns(means: Vector, spreads: Vector) -> Vector | None:
    """Return what `far_from_zero` returns, for columns with these means and standard deviations."""
    is_far = np.abs(means) > FAR * spreads
    return np.where(is_far, means, 0.0) if is_far.any() else None


def least_share(X: Vector, *, centred: bool) -> float:
    """Return how little one combination of columns varies, as a share of the columns' own: 1 if all are independent.

    It is the least singular value of the columns, each divided by its norm, without those that are rounding errors:
    columns that are sums of others do no harm.

    Args:
        X: some rows, shape (n_rows, n_columns); changed.
        centred: whether to subtract the columns' means, as an intercept does.
    """
    if centred:
        X -= X.mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt((X**2).sum(axis=0))
    varies = (norms > 0.0) & np.isfinite(norms)
    X = X[:, varies] / norms[varies]
    if not X.size:
        return 1.0
    squares = np.linalg.eigvalsh(X.T @ X)
    if squares[0] > ROUNDED:
        return float(np.sqrt(squares[0]))
    values = np.linalg.svd(X, compute_uv=False)
    return float(values[values > NEARLY_0].min())


def _kind(kind: np.dtype) -> type[np.float64] | type[np.float32]:
    return np.float32 if kind == np.float32 else np.float64


def _share(array: Array) -> float:
    """Return the share of numbers that are not 0, by rows from the whole array."""
    rows = array[:: max(1, array.size // LOOKED_AT)]
    return float(np.count_nonzero(rows)) / max(1, rows.size)
