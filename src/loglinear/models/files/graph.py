"""Files of conditional random fields on graphs: as files of networks, with the field's weights in place of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...data.inputs import Array
from ...vectors import Vector
from .network import check_order, checked_weights, listed, opened
from .schema import refuse, typed_array
from .settings import settings_text

__all__ = ["Contents", "read", "write"]


@dataclass(frozen=True)
class Contents:
    """The content of a field's file.

    Attributes:
        settings: of the training.
        classes: the labels, shape (L,).
        n_node_features: number of the features of nodes.
        w: weights, as `GraphLikelihood` numbers them.
    """

    settings: dict[str, Any]
    classes: Array
    n_node_features: int
    w: Vector


def write(path: str, settings: dict[str, Any], classes: Array, n_features: tuple[int, int], w: Vector) -> None:
    """Write a field; the file is replaced whole or not at all.

    Args:
        path: of the file.
        settings: of the training.
        classes: the labels, shape (L,).
        n_features: number of the features of nodes and of edges.
        w: all weights.

    Raises:
        DataError: labels are neither strings, numbers nor truth values.
    """
    text = dict(settings)
    text["classes"], text["class_type"] = listed(classes, "labels")
    text["n_node_features"], text["n_edge_features"] = n_features
    at = n_features[0] * classes.size
    _core.write_network(path, settings_text("graph", text), np.zeros((0, 2), np.uint32), w[:at], w[at:])


def read(path: str) -> Contents:
    """Return the content of a file, which is checked: every number of it is in its range.

    Raises:
        ModelFileError: the file is damaged, or holds another kind of model.
        OSError: the file cannot be read.
    """
    file, settings = opened(path, "graph")
    labels, n, m = (settings.pop(name) for name in ("classes", "n_node_features", "n_edge_features"))
    classes = typed_array(f"{path}: setting classes", labels, settings.pop("class_type"))
    if classes.size < 2:
        refuse(f"{path}: setting classes", labels, "two or more labels")
    check_order(f"{path}: setting classes", classes)
    if file.edges.size:
        refuse(f"{path}: the list of edges", file.edges.tolist(), "empty")
    pairs = classes.size * (classes.size + 1) // 2 if settings["symmetric"] else classes.size**2
    w = np.concatenate(checked_weights(path, file, n * classes.size, m * pairs))
    return Contents(settings, classes, n, w)
