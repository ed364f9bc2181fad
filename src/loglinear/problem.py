"""What is minimised: an objective, any object with three names, plus a penalty.

F(w) = sum over samples of -log p(y | x; w) + l1 |w|_1 + (l2 / 2) |w|^2, in nats.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from .errors import ObjectiveError, OptionError
from .penalty import ElasticNet
from .vectors import Vector

__all__ = ["Objective", "Problem"]


class Objective(Protocol):
    """A smooth function to be minimised; all that batch solvers need.

    Any Python object with these three names will do: a user's own model, or a distributed one.
    """

    @property
    def n_features(self) -> int:
        """Length of w."""

    @property
    def n_samples(self) -> int:
        """Number of samples in the sum; effective passes are counted in it."""

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the sum over samples of -log p(y | x; w), in nats, and its gradient.

        Args:
            w: weights, float64, shape (n_features,); not to be changed.
            out: where to write the gradient, float64, shape (n_features,); the returned gradient is then ``out``.
                Without it the gradient is a new array.
        """


@dataclass(frozen=True)
class Problem:
    """An objective and a penalty: minimise objective(w) + penalty(w).

    Args:
        objective: see ``Objective``.
        penalty: elastic net; none by default.

    Raises:
        OptionError: the objective lacks a method, or its sizes are not whole positive numbers.
    """

    objective: Objective
    penalty: ElasticNet = field(default_factory=ElasticNet)

    def __post_init__(self) -> None:
        name = type(self.objective).__name__
        for size in ("n_features", "n_samples"):
            if not hasattr(self.objective, size):
                message = f"objective {name} has no attribute {size}; a Problem needs it (see loglinear.Objective)"
                raise OptionError(message)
            _check_size(getattr(self.objective, size), f"{name}.{size}")
        if not callable(getattr(self.objective, "value_and_gradient", None)):
            message = (
                f"objective {name} has no method value_and_gradient(w, out=None); "
                "a Problem needs it (see loglinear.Objective)"
            )
            raise OptionError(message)
        if not isinstance(self.penalty, ElasticNet):
            message = f"penalty {self.penalty!r} is not an ElasticNet; give ElasticNet(l1=..., l2=...)"
            raise OptionError(message)

    @property
    def n_features(self) -> int:
        """Length of w."""
        return int(self.objective.n_features)

    def evaluate(self, w: Vector, gradient: Vector) -> float:
        """Return the unpenalised NLL at w, in nats, and write its gradient to ``gradient``.

        Raises:
            ObjectiveError: the objective returned a gradient of another shape.
        """
        nll, g = self.objective.value_and_gradient(w, out=gradient)
        if g is not gradient:
            if np.shape(g) != gradient.shape:
                message = (
                    f"{type(self.objective).__name__}.value_and_gradient returned a gradient of shape {np.shape(g)}; "
                    f"it must have the shape of w, {gradient.shape}"
                )
                raise ObjectiveError(message)
            gradient[...] = g
        return float(nll)


def _check_size(size: object, name: str) -> None:
    try:
        count = operator.index(size)  # type: ignore[arg-type]
    except TypeError:
        count = 0
    if count < 1:
        message = f"{name} is {size!r}; it must be a whole number of at least 1"
        raise OptionError(message)
