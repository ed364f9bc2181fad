"""Labels and weights of the nodes of graphs, checked and joined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import DataError
from .frames import as_column
from .graphs import Graphs
from .inputs import Array, Classes
from .labels import check_single

__all__ = ["joined", "known"]


def joined(values: Sequence[Classes | npt.ArrayLike], graphs: Graphs, called: str = "labels") -> Array:
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
    y = [as_column(labels, "y") for labels in y]
    for number, labels_of_graph in enumerate(y):
        if isinstance(labels_of_graph, (list, tuple)):
            check_single(labels_of_graph, f"graph {number}: a label", "node")
    labels = joined(y, graphs)
    _check_types(y)
    is_labelled = np.array([label is not None for label in labels.tolist()], dtype=bool)
    return is_labelled, np.array(labels[is_labelled].tolist()) if labels.dtype == object else labels


def _check_types(y: Sequence[Classes]) -> None:
    """Raise DataError if some labels are strings and others are not, or a label is NaN."""
    are_strings: set[bool] = set()
    for number, labels in enumerate(y):
        values = np.asarray(labels, dtype=object).tolist()
        types = {*map(type, values)} - {type(None)}
        if any(issubclass(kind, float) for kind in types) and any(value != value for value in values):
            message = f"graph {number}: a label is NaN; write None for a missing label"
            raise DataError(message)
        are_strings |= {issubclass(kind, str) for kind in types}
        if len(are_strings) > 1:
            message = f"graph {number}: some labels so far are strings and others are not; use one type"
            raise DataError(message)
