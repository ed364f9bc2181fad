"""The curvature along each weight, and the units in which it is about the same for all weights."""

from __future__ import annotations

from typing import Protocol, cast, runtime_checkable

import numpy as np

from ...problem import Problem, missing
from ...vectors import Vector

__all__ = ["Curved", "is_curved", "units"]

# Added to the curvature of every weight: a rare feature, or one whose labels seem certain, can meet more curvature on
# the way to the optimum than where it is looked at.
DAMPING = 1.0


@runtime_checkable
class Curved(Protocol):
    """An objective that knows, about, the diagonal of its Hessian."""

    @property
    def has_hessian_diagonal(self) -> bool:
        """Whether this objective does."""

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return about the diagonal of the Hessian at w, shape (n,); no entry is negative."""


def is_curved(problem: Problem) -> bool:
    """Whether a problem is smooth and its objective knows the diagonal of its Hessian."""
    objective = problem.objective
    return not (problem.penalty.l1 or missing(objective, Curved)) and cast(Curved, objective).has_hessian_diagonal


def units(problem: Problem, w: Vector) -> Vector | None:
    """Return the unit of each weight, 1 / sqrt(curvature along it at w), shape (n,); None unless ``is_curved``."""
    if not is_curved(problem):
        return None
    curvature = cast(Curved, problem.objective).hessian_diagonal(w)
    return 1.0 / np.sqrt(curvature + (problem.penalty.l2 + DAMPING))
