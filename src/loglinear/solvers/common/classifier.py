"""Classifiers, as the solvers see them that know more of the problem than its gradient."""

from __future__ import annotations

from typing import Protocol, cast

from ...problem import Numbers, Objective, Problem
from ...vectors import Vector

__all__ = ["Classifier", "TwoClasses", "two_classes"]


class Classifier(Objective, Protocol):
    """A classifier."""

    @property
    def n_outputs(self) -> int:
        """K of softmax, or 1: p(y = 1 | x) is the logistic function of x . w."""

    @property
    def weights(self) -> Vector:
        """Weights s_i of the samples, >= 0, shape (n_samples,)."""

    @property
    def targets(self) -> Numbers:
        """Classes y_i of the samples, from 0, shape (n_samples,)."""

    def probabilities(self, w: Vector) -> Vector:
        """Return the p(k | x_i), shape (n_samples, n_outputs); with one output the p(1 | x_i)."""


class TwoClasses(Classifier, Protocol):
    """A classifier that knows the curvature of two classes."""

    @property
    def n_unpenalised(self) -> int:
        """Number of the last weights, the intercept's, that steps spare from the penalty."""

    @property
    def is_dense(self) -> bool:
        """Whether the samples are kept as a dense matrix."""

    def start(self, w: Vector) -> tuple[float, Vector, Vector]:
        """Return the NLL, x . w of every sample, and the gradient."""


def two_classes(problem: Problem) -> str:
    """The classifier has two classes."""
    outputs = cast(TwoClasses, problem.objective).n_outputs
    return "" if outputs == 1 else f"supports two classes or one class against the rest, not {outputs} classes"
