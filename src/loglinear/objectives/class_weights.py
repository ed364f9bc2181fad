"""Weights of classes and labels, as users give them, by the numbers of the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..options import fail
from ..visible import listed

if TYPE_CHECKING:
    from ..vectors import Vector

__all__ = ["check_sum", "cost_factors", "refuse_unknown", "weights_by_class"]

# Number of classes that a message lists.
_SHOWN = 8


def weights_by_class(class_weight: Mapping[Any, float], classes: Sequence[object]) -> Vector:
    """Return the weight of each class, 1 for classes that are not named, shape (n_classes,).

    Raises:
        OptionError: a name is not a class, while a class has no weight.
    """
    import numpy as np

    names = set(classes)
    unknown = [label for label in class_weight if label not in names]
    if unknown and not all(label in class_weight for label in classes):
        refuse_unknown("class_weight", dict(class_weight), unknown[0], classes)
    return np.array([class_weight.get(label, 1.0) for label in classes], dtype=np.float64)


def check_sum(class_weight: object, total: float, what: str) -> None:
    """Raise OptionError if class weights make a sum of weights overflow."""
    if not math.isfinite(total):
        fail("class_weight", class_weight, f"makes the sum of the {what} overflow; give smaller weights")


def refuse_unknown(
    name: str, value: object, unknown: object, labels: Sequence[object], noun: str = "class"
) -> NoReturn:
    """Raise OptionError: an option names something that is not a label.

    Args:
        name: name of the option.
        value: value of the option.
        unknown: what is not a label.
        labels: the labels.
        noun: "class" or "label".
    """
    shown = listed([*map(repr, labels)], _SHOWN)
    nouns = "classes" if noun == "class" else f"{noun}s"
    problem = f"names {unknown!r}, which is not a {noun}; the {nouns} are {shown}"
    twins = [label for label in labels if str(label) == str(unknown)]
    if twins:
        theirs, ours = type(unknown).__name__, type(twins[0]).__name__
        problem += f" (the name has type {theirs}, the {noun} has type {ours}; write {twins[0]!r})"
    fail(name, value, problem)


def cost_factors(
    class_weight: Mapping[Any, float] | str | None, labels: Sequence[object], counts: Sequence[int]
) -> list[float] | None:
    """Return the factor of the costs of each label's tokens; None if there are no class weights.

    Args:
        class_weight: weights by label, 1 for labels that are not named; or "balanced" for n_tokens / (n_labels * count
            of the label), over the labels that occur.
        labels: the labels.
        counts: number of tokens of each label.

    Raises:
        OptionError: a name is not a label, while a label has no weight.

    Example:
        >>> from loglinear.objectives.class_weights import cost_factors
        >>> cost_factors("balanced", ["O", "PER"], [6, 2]), cost_factors({"PER": 5}, ["O", "PER"], [6, 2])
        ([0.6666666666666666, 2.0], [1.0, 5.0])
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, Mapping):
        return [float(weight) for weight in weights_by_class(class_weight, labels)]
    n_tokens, n_labels = sum(counts), sum(count > 0 for count in counts)
    return [n_tokens / (n_labels * count) if count else 1.0 for count in counts]
