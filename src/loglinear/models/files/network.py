"""The file of a pairwise Markov random field, and what the file of a field on graphs has in common with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...errors import DataError, OptionError
from ...networks.graph import Scores
from ...networks.numbering import Numbers
from .schema import checked_settings, refuse, typed_array
from .settings import open_as, settings_text

if TYPE_CHECKING:
    from ...data.inputs import Array

__all__ = ["Contents", "check_order", "check_setting", "checked_weights", "listed", "opened", "read", "write"]


@dataclass(frozen=True)
class Contents:
    """The content of a network's file.

    Attributes:
        settings: of the training, and the variables' names.
        categories: states of each variable; one or none of a variable that the network leaves out.
        edges: pairs of variables, numbered without those left out, shape (n_edges, 2).
        scores: node and edge weights, tables one after the other.
    """

    settings: dict[str, Any]
    categories: list[Array]
    edges: Numbers
    scores: Scores


def write(path: str, settings: dict[str, Any], categories: Sequence[Array], edges: Numbers, scores: Scores) -> None:
    """Write a network; the file is replaced whole or not at all.

    Raises:
        DataError: categories are neither strings, numbers nor truth values.
    """
    lists = [listed(states, "categories") for states in categories]
    text = {**settings, "categories": [values for values, _ in lists], "category_types": [kind for _, kind in lists]}
    _core.write_network(path, settings_text("network", text), edges.astype(np.uint32), *scores)


def read(path: str) -> Contents:
    """Return the content of a network's file, which is checked: every number of it is in its range.

    Raises:
        ModelFileError: the file is damaged, or holds another kind of model.
        OSError: the file cannot be read.
    """
    file, settings = opened(path, "network")
    state_lists, kinds = settings.pop("categories"), settings.pop("category_types")
    for name, values in (("category_types", kinds), ("names", settings["names"]), ("bin_edges", settings["bin_edges"])):
        if values is not None and len(values) != len(state_lists):
            refuse(f"{path}: setting {name}", values, f"one for each of {len(state_lists)} variables")
    categories = [
        typed_array(f"{path}: setting categories[{i}]", variable_states, kind)
        for i, (variable_states, kind) in enumerate(zip(state_lists, kinds, strict=True))
    ]
    for i, (variable_states, between) in enumerate(zip(categories, settings["bin_edges"], strict=True)):
        if between is None:
            check_order(f"{path}: setting categories[{i}]", variable_states)
        elif (
            len(between) != variable_states.size - 1
            or not between
            or not all(low < high for low, high in pairwise(between))
        ):
            refuse(
                f"{path}: setting bin_edges[{i}]",
                between,
                f"the {variable_states.size - 1} edges of its bins, ascending",
            )
    states = np.array(
        [variable_states.size for variable_states in categories if variable_states.size > 1], dtype=np.int64
    )
    pairs = file.edges.astype(np.int64).reshape(-1, 2)
    if states.size < 2:
        refuse(f"{path}: setting categories", state_lists, "states of variables, two or more of which have several")
    numbers = pairs @ [states.size, 1]
    if not (pairs[:, 0] < pairs[:, 1]).all() or pairs.max(initial=0) >= states.size or (np.diff(numbers) <= 0).any():
        refuse(f"{path}: the list of edges", pairs.tolist(), f"pairs i < j of {states.size} variables, ascending")
    scores = checked_weights(path, file, states.sum(), states[pairs].prod(axis=1).sum())
    return Contents(settings, categories, pairs, scores)


def opened(path: str, kind: str) -> tuple[_core.NetworkFile, dict[str, Any]]:
    """Return the file of a network or of a field on graphs, and its settings, checked."""
    file = open_as(_core.read_network, path, kind)
    return file, checked_settings(file.settings, path, kind)


def check_setting(path: str, name: str, value: object, check: Callable[[], object]) -> None:
    """Raise ModelFileError if a check raises OptionError: a setting of a file is not what the option can be."""
    try:
        check()
    except OptionError as error:
        refuse(f"{path}: setting {name}", value, f"what it can be: {error}")


def listed(values: Array, called: str) -> tuple[list[Any], str]:
    """Return values as JSON has them, and the type of their array."""
    kinds = {type(value) for value in values.tolist()} - {str, int, float, bool}
    if kinds:
        message = f"{called} of type {next(iter(kinds)).__name__} cannot be saved; use strings or numbers"
        raise DataError(message)
    return values.tolist(), "O" if values.dtype.kind == "O" else values.dtype.str


def check_order(name: str, values: Array) -> None:
    """Check that values are in the order in which they are looked up."""
    if values.dtype.kind != "O" and (values[:-1] > values[1:]).any():
        refuse(name, values.tolist(), "in ascending order")


def checked_weights(path: str, file: _core.NetworkFile, *sizes: int) -> Scores:
    """Return the weights of nodes and of edges, which have to have these sizes."""
    weights = file.node_weights, file.edge_weights
    for name, numbers, size in zip(("nodes", "edges"), weights, sizes, strict=True):
        if numbers.size != size or not np.isfinite(numbers).all():
            refuse(f"{path}: the weights of {name}", numbers.tolist(), f"{size} finite numbers")
    return weights
