"""The curvature along each weight, and the units in which it is about the same for all weights."""

from __future__ import annotations

import numpy as np

from ...penalty import curvature as curvature_of
from ...problem import Problem
from ...vectors import Vector

__all__ = ["units", "units_if_uneven"]

# Bounds of the sum that a unit is the square root of: its products are kept as float32.
TINY, HUGE = 1e-36, 1e36


def units(problem: Problem, w: Vector) -> Vector:
    """Return the unit of each weight, shape (n,).

    The unit is 1 / sqrt(h + l2 + m^2), with h the curvature along the weight at w and m the largest value of its
    feature; without l2 for weights without a penalty, since an intercept's column is as small as the others. One
    sample can add m^2 / 4 to the curvature: for a rare feature, or one whose labels seem certain, the curvature can be
    larger on the way to the optimum than at w. An objective that does not know its curvature, such as a chain with
    partial labels, has h = 0.
    """
    largest = problem.largest_values
    hessian = np.zeros_like(w) if problem.curved is None else problem.curved.hessian_diagonal(w)
    curvature = hessian.copy()
    curvature[: max(w.size - problem.penalty.unpenalised, 0)] += curvature_of(problem.penalty)
    curvature += 1.0 if largest is None else np.minimum(largest, HUGE**0.5) ** 2
    return 1.0 / np.sqrt(np.where(curvature > 0.0, np.clip(curvature, TINY, HUGE), 1.0))


def units_if_uneven(problem: Problem, w: Vector) -> Vector | None:
    """Return the unit of each weight where the columns need units, else None."""
    return units(problem, w) if problem.is_uneven else None
