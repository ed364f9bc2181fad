"""The curvature along each weight, and the units in which it is about the same for all weights."""

from __future__ import annotations

from typing import cast

import numpy as np

from ...problem import Curved, Problem, missing
from ...vectors import Vector

__all__ = ["is_curved", "units"]

# Added to the curvature of every weight: a rare feature, or one whose labels seem certain, can meet more curvature on
# the way to the optimum than where it is looked at.
DAMPING = 1.0


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
