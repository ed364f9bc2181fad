"""The curvature along each weight, and the units in which it is about the same for all weights."""

from __future__ import annotations

import numpy as np

from ...problem import Problem
from ...vectors import Vector

__all__ = ["is_curved", "units"]

# Added to the curvature of every weight: a rare feature, or one whose labels seem certain, can meet more curvature on
# the way to the optimum than where it is looked at.
DAMPING = 1.0


def is_curved(problem: Problem) -> bool:
    """Whether a problem is smooth and its objective knows the diagonal of its Hessian."""
    return not problem.penalty.l1 and problem.curved is not None


def units(problem: Problem, w: Vector) -> Vector | None:
    """Return the unit of each weight, 1 / sqrt(curvature along it at w), shape (n,); None unless ``is_curved``."""
    if problem.penalty.l1 or problem.curved is None:
        return None
    curvature = problem.curved.hessian_diagonal(w)
    return 1.0 / np.sqrt(curvature + (problem.penalty.l2 + DAMPING))
