"""The structure of a sparse matrix: SciPy reads its arrays without looking, beyond their ends if it is damaged."""

from __future__ import annotations

from typing import Any

from ..errors import DataError
from .inputs import Array

__all__ = ["check_structure"]

_REMEDY = "build it again from its entries: scipy.sparse.coo_array((values, (rows, columns)), shape)"


def check_structure(X: Any) -> None:
    """Raise DataError if the arrays of a sparse matrix contradict its shape or each other; ignore anything else.

    Cost: one pass over the numbers of rows and columns, none over the values.
    """
    kind = getattr(X, "format", None) if hasattr(X, "tocsr") else None
    problem = ""
    if kind in ("csr", "csc", "bsr"):
        problem = _of_compressed(X, kind)
    elif kind == "coo":
        problem = _of_triples(X)
    elif kind == "lil":
        lengths = zip(X.rows.ravel(), X.data.ravel(), strict=True) if X.rows.shape == X.data.shape else [((), (0,))]
        problem = "rows and data differ in length" if any(len(ids) != len(row) for ids, row in lengths) else ""
    elif kind == "dia" and X.offsets.size != len(X.data):
        problem = f"offsets has {X.offsets.size} entries, but data has {len(X.data)}"
    if problem:
        message = f"X is a damaged sparse matrix ({kind}): {problem}; {_REMEDY}"
        raise DataError(message)


def _of_compressed(X: Any, kind: str) -> str:
    """Return what is wrong with compressed rows, columns or blocks; empty if nothing is."""
    size, width = X.shape if len(X.shape) == 2 else (1, *X.shape)
    if kind == "csc":
        size, width = width, size
    if kind == "bsr":
        if X.data.ndim != 3 or not all(X.data.shape[1:]):
            return f"data has shape {X.data.shape}, not (n_blocks, rows, columns)"
        size, width = size // X.data.shape[1], width // X.data.shape[2]
    if problem := _of_numbers(X.indptr, "indptr") or _of_numbers(X.indices, "indices"):
        return problem
    if X.indptr.size != size + 1:
        return f"indptr has {X.indptr.size} entries instead of {size + 1}"
    if X.indices.size != len(X.data):
        return f"indices has {X.indices.size} entries, but data has {len(X.data)}"
    if X.indptr[0] != 0:
        return f"indptr begins with {X.indptr[0]} instead of 0"
    if (X.indptr[1:] < X.indptr[:-1]).any():
        return "indptr decreases"
    if X.indptr[-1] > X.indices.size:
        return f"indptr ends with {X.indptr[-1]}, but there are {X.indices.size} entries"
    return _of_range(X.indices[: X.indptr[-1]], width, "indices")


def _of_triples(X: Any) -> str:
    """Return what is wrong with entries that have their own numbers of row and column; empty if nothing is."""
    coords = X.coords if hasattr(X, "coords") else (X.row, X.col)
    names = ("row", "col") if len(coords) == 2 else [f"coords[{axis}]" for axis in range(len(coords))]
    for ids, width, name in zip(coords, X.shape, names, strict=True):
        if problem := _of_numbers(ids, name):
            return problem
        if ids.size != X.data.size:
            return f"{name} has {ids.size} entries, but data has {X.data.size}"
        if problem := _of_range(ids, width, name):
            return problem
    return ""


def _of_numbers(ids: Array, name: str) -> str:
    is_whole = ids.ndim == 1 and ids.dtype.kind in "iu"
    return "" if is_whole else f"{name} has type {ids.dtype} and shape {ids.shape}, not whole numbers in one dimension"


def _of_range(ids: Array, width: int, name: str) -> str:
    # One pass tells as a rule: without their sign, numbers below 0 are the largest.
    if not ids.size or ids.view(f"u{ids.itemsize}").max() < width:
        return ""
    least, largest = int(ids.min()), int(ids.max())
    if 0 <= least <= largest < width:
        return ""
    return f"{name} contains {least if least < 0 else largest}, but must be between 0 and {width - 1}"
