"""The file of a pairwise Markov random field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import _core
from ...errors import DataError
from ...networks.numbering import Numbers
from ...vectors import Vector
from .schema import checked_settings, refuse, typed_array
from .settings import open_as, settings_text

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
    """Return the content of a file, which is checked: every number of it is in its range.

    Raises:
        ModelFileError: the file is damaged, or holds another kind of model.
        OSError: the file cannot be read.
    """
    file = open_as(_core.read_network, path, "network")
    settings = checked_settings(file.settings, path, "network")
    given, kinds = settings.pop("categories"), settings.pop("category_types")
    for name in ("category_types", "names", "bin_edges"):
        found = kinds if name == "category_types" else settings[name]
        if len(given) != len(found if found is not None else given):
            refuse(f"{path}: setting {name}", found, f"one for each of {len(given)} variables")
    categories = [
        typed_array(f"{path}: setting categories[{i}]", known, kind)
        for i, (known, kind) in enumerate(zip(given, kinds, strict=True))
    ]
    _check_order(path, categories, settings["bin_edges"])
    states = np.array([known.size for known in categories if known.size > 1], dtype=np.int64)
    pairs = file.edges.astype(np.int64).reshape(-1, 2)
    if states.size < 2:
        refuse(f"{path}: setting categories", given, "the states of two variables at least that have several")
    numbers = pairs @ [states.size, 1]
    if not (pairs[:, 0] < pairs[:, 1]).all() or pairs.max(initial=0) >= states.size or (np.diff(numbers) <= 0).any():
        refuse(f"{path}: the list of edges", pairs.tolist(), f"pairs i < j of {states.size} variables, ascending")
    scores = file.node_weights, file.edge_weights
    for name, weights, size in zip(
        ("variables", "edges"), scores, (states.sum(), states[pairs].prod(axis=1).sum()), strict=True
    ):
        if weights.size != size or not np.isfinite(weights).all():
            refuse(f"{path}: the weights of its {name}", weights.tolist(), f"{size} finite numbers")
    return Contents(settings, categories, pairs, scores)


def _check_order(path: str, categories: Sequence[npt.NDArray[Any]], edges: Sequence[list[float] | None]) -> None:
    """Check that states stand in the order in which they are looked up, or that there are as many as bins."""
    for i, (known, between) in enumerate(zip(categories, edges, strict=True)):
        if between is not None:
            if len(between) != known.size - 1 or not between or not all(low < high for low, high in pairwise(between)):
                refuse(f"{path}: setting bin_edges[{i}]", between, f"the {known.size - 1} edges of its bins, ascending")
        elif known.dtype.kind != "O" and (known[:-1] > known[1:]).any():
            refuse(f"{path}: setting categories[{i}]", known.tolist(), "in ascending order")
