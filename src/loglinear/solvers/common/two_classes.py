"""Classifiers of two classes, as solvers see them that work with the curvature of each sample."""

from __future__ import annotations

from typing import Protocol, cast

from ...problem import Numbers, Problem
from ...vectors import Vector

__all__ = ["TwoClasses", "two_classes"]


class TwoClasses(Protocol):
    """A classifier that knows the curvature of two classes."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    @property
    def n_outputs(self) -> int:
        """Number of weights of a column: 1 with two classes."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the last weights, the intercept's, that steps spare from the penalty."""

    @property
    def weights(self) -> Vector:
        """Weights of the samples, >= 0, shape (n_samples,)."""

    @property
    def targets(self) -> Numbers:
        """Classes of the samples, 0 or 1, shape (n_samples,)."""

    def probabilities(self, w: Vector) -> Vector:
        """Return p(1 | x) of every sample, shape (n_samples, 1)."""

    def start(self, w: Vector) -> tuple[float, Vector, Vector]:
        """Return the NLL, x . w of every sample, and the gradient."""


def two_classes(problem: Problem) -> str:
    """The classifier has two classes."""
    outputs = cast(TwoClasses, problem.objective).n_outputs
    return "" if outputs == 1 else f"is for two classes, or one against the rest, and there are {outputs}"
