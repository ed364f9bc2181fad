"""Signs of edges: whether high states of one variable go with high or with low states of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..vectors import Vector
from .binning import numbers

__all__ = ["Order", "sign_of", "state_orders"]

# Least correlation of an edge's interactions with products of scores for the edge to have a direction.
_DIRECTION = 0.5

Order = npt.NDArray[np.int64] | None
"""Numbers of a variable's states in ascending order; None for states without an order."""


def state_orders(categories: Sequence[npt.NDArray[Any]], bin_edges: Sequence[Vector | None]) -> list[Order]:
    """Return the order of the states of each variable.

    States that are numbers are sorted, because the reference state comes first whichever number it is. Bins are in
    ascending order. Two states always have an order; three or more texts have none.
    """
    return [_order(states, edges) for states, edges in zip(categories, bin_edges, strict=True)]


def _order(states: npt.NDArray[Any], edges: Vector | None) -> Order:
    values = None if edges is not None else numbers(states.tolist())
    if values is not None:
        return np.argsort(values, kind="stable")
    return np.arange(states.size) if edges is not None or states.size == 2 else None


def sign_of(table: Vector, rows: Order, columns: Order) -> int:
    """Return the sign of the correlation of an edge's interactions with products of scores, 0 if there is none.

    Scores are the places of the states in their order. Interactions are the weights less the means of their rows and
    columns, which belong to single variables. With a correlation of less than 1/2 there is not one direction: states in
    the middle go together, or states of both ends.
    """
    if rows is None or columns is None:
        return 0
    ordered = table[np.ix_(rows, columns)]
    interactions = ordered - ordered.mean(axis=0) - ordered.mean(axis=1, keepdims=True) + ordered.mean()
    products = np.outer(
        np.arange(rows.size) - (rows.size - 1) / 2.0, np.arange(columns.size) - (columns.size - 1) / 2.0
    )
    size = float(np.linalg.norm(interactions) * np.linalg.norm(products))
    correlation = float((interactions * products).sum()) / max(size, 1e-300)
    return int(np.sign(correlation)) if abs(correlation) >= _DIRECTION else 0
