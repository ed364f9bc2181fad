"""Labels and weights of the nodes of graphs, checked and joined."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Complex, Real

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from ..options import COSTS, MOST_COST
from ..vectors import Vector
from .frames import as_column
from .graphs import Graphs
from .inputs import Array, Classes
from .labels import check_ordered, check_single, family
from .sample_values import numbers_of

__all__ = ["costs_of_nodes", "known"]


def _joined(values: Sequence[Classes | npt.ArrayLike], graphs: Graphs, called: str = "labels") -> Array:
    """Return the labels, or weights, of all nodes."""
    parts = [np.asarray(as_column(part, called)) for part in values]
    if len(parts) != len(graphs.sizes):
        message = f"{called} for {len(parts)} graphs, but X has {len(graphs.sizes)}; give one array per graph"
        raise DataError(message)
    for number, (part, size) in enumerate(zip(parts, graphs.sizes.tolist(), strict=True)):
        if part.shape != (size,):
            message = f"graph {number}: {called} have shape {part.shape}, but the graph has {size} nodes"
            raise DataError(message)
    return np.concatenate(parts)


def known(y: Sequence[Classes], graphs: Graphs) -> tuple[npt.NDArray[np.bool_], Array]:
    """Return a mask of the nodes that have a label, and their labels as an array of the labels' type."""
    check_ordered(y, "y", "give the labels of the nodes of each graph")
    y = [as_column(labels, "y") for labels in y]
    for number, labels_of_graph in enumerate(y):
        if isinstance(labels_of_graph, (list, tuple)):
            check_single(labels_of_graph, f"graph {number}: a label", "node")
    labels = _joined(y, graphs)
    _check_types(y)
    is_labelled = np.array([label is not None for label in labels.tolist()], dtype=bool)
    return is_labelled, np.array(labels[is_labelled].tolist()) if labels.dtype == object else labels


def costs_of_nodes(node_weight: Sequence[npt.ArrayLike], graphs: Graphs) -> Vector:
    """Return the costs of wrong labels of all nodes.

    Raises:
        DataError: a cost is not a number from 0 to MOST_COST; names graph and node. Or the numbers of costs are wrong.
    """
    check_ordered(node_weight, "node_weight", "give a sequence of numbers for each graph")
    parts = [numbers_of(part, f"node_weight of graph {number}") for number, part in enumerate(node_weight)]
    for number, part in enumerate(parts):
        bad = np.flatnonzero(~((part >= 0.0) & (part <= MOST_COST)))
        if bad.size:
            message = f"graph {number}, node {bad[0]}: the node_weight {part.flat[bad[0]]} is out of range; "
            message += f"give {COSTS}"
            raise DataError(message)
    return _joined(parts, graphs, "weights").astype(np.float64)


def _check_types(y: Sequence[Classes]) -> None:
    """Raise DataError if labels have several types, such as truth values and numbers, or a label is NaN or complex."""
    seen: set[str] = set()
    for number, labels in enumerate(y):
        values = np.asarray(labels, dtype=object).tolist()
        types = {*map(type, values)} - {type(None)}
        if any(issubclass(kind, float) for kind in types) and any(value != value for value in values):
            message = f"graph {number}: a label is NaN; write None for a missing label"
            raise DataError(message)
        if any(issubclass(kind, Complex) and not issubclass(kind, Real) for kind in types):
            message = f"graph {number}: Complex data not supported: a label is complex; give labels as strings"
            raise DataError(message)
        seen |= set(map(family, types))
        if len(seen) > 1:
            several = "are strings and others are not" if "str" in seen else "are truth values or bytes, others are not"
            message = f"graph {number}: some labels so far {several}; use one type"
            raise DataError(message)
