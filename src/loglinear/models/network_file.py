"""The file of a pairwise Markov random field."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..errors import DataError, ModelFileError
from ..networks.numbering import Numbers
from ..vectors import Vector
from .settings import settings_text

__all__ = ["Contents", "read", "write"]

Scores = tuple[Vector, Vector]


@dataclass(frozen=True)
class Contents:
    """The content of a network's file.

    Attributes:
        settings: of the training, and the variables' names.
        categories: states of each variable; one or none of a variable that the network leaves out.
        edges: pairs of variables, numbered without those left out, shape (n_edges, 2).
        scores: node and edge weights, tables one behind the other.
    """

    settings: dict[str, Any]
    categories: list[npt.NDArray[Any]]
    edges: Numbers
    scores: Scores


def write(
    path: str, settings: dict[str, Any], categories: Sequence[npt.NDArray[Any]], edges: Numbers, scores: Scores
) -> None:
    """Write a network; the file is replaced whole or not at all.

    Raises:
        DataError: categories are neither strings, numbers nor truth values.
    """
    for known in categories:
        kinds = {type(value) for value in known.tolist()} - {str, int, float, bool}
        if kinds:
            message = f"categories of type {next(iter(kinds)).__name__} cannot be saved; use strings or numbers"
            raise DataError(message)
    text = {
        **settings,
        "categories": [known.tolist() for known in categories],
        "category_types": ["O" if known.dtype.kind == "O" else known.dtype.str for known in categories],
    }
    _core.write_network(path, settings_text("network", text), edges.astype(np.uint32), *scores)


def read(path: str) -> Contents:
    """Return the content of a file.

    Raises:
        ModelFileError: the file is damaged, or holds another kind of model.
    """
    file = _core.read_network(path)
    settings, nodes, tables = json.loads(file.settings), file.node_weights, file.edge_weights
    try:
        kinds = settings.pop("category_types")
        categories = [
            np.array(known, dtype=kind) for known, kind in zip(settings.pop("categories"), kinds, strict=True)
        ]
        pairs = file.edges.astype(np.int64).reshape(-1, 2)
        states = np.array([known.size for known in categories if known.size > 1])
        fits = nodes.size == states.sum() and tables.size == states[pairs].prod(axis=1).sum()
    except (KeyError, TypeError, ValueError, IndexError) as error:
        message = f"{path}: damaged: its settings do not fit its weights"
        raise ModelFileError(message) from error
    if not fits:
        message = f"{path}: damaged: its settings do not fit its weights"
        raise ModelFileError(message)
    return Contents(settings, categories, pairs, (nodes, tables))
