"""Labelled samples of a classifier, and the contrasts of its weights that they determine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse
import scipy.special

from ...networks.numbering import Numbers
from ...vectors import Vector

__all__ = ["Contrasts", "Labelling", "Matrix"]

Matrix: TypeAlias = "npt.NDArray[np.float64] | scipy.sparse.csr_array"


@dataclass(frozen=True)
class Labelling:
    """Labelled samples and the weights of a classifier.

    Attributes:
        X: the columns without an intercept, shape (n, p).
        targets: class of each sample, shape (n,).
        weights: of the samples, shape (n,).
        w: weights of all classes, the intercept's last, shape (classes, p + 1); of two classes the first has 0.
        has_intercept: whether there is an intercept.
        l1: strength of the L1 penalty.
        l2: strength of the L2 penalty.
        column: returns what messages call a column.
        classes: what messages call the classes.
    """

    X: Matrix
    targets: Numbers
    weights: Vector
    w: Vector
    has_intercept: bool
    l1: float
    l2: float
    column: Callable[[int], str]
    classes: Sequence[str]

    @property
    def n_columns(self) -> int:
        """Number of columns, the intercept's included if there is one."""
        return int(self.X.shape[1]) + self.has_intercept

    @property
    def totals(self) -> Vector:
        """Sum of the weights of the samples of each class, shape (classes,)."""
        return np.bincount(self.targets, self.weights, len(self.classes)).astype(np.float64)

    def nll_without_columns(self) -> float:
        """Return the least NLL of the intercept alone; of equal probabilities without an intercept."""
        totals = self.totals
        if not self.has_intercept:
            return float(totals.sum() * np.log(totals.size))
        return float(-scipy.special.xlogy(totals, totals / totals.sum()).sum())


class Contrasts(NamedTuple):
    """Weights of classes less the weights of a reference class, by class and column.

    Attributes:
        classes: class of each.
        columns: column of each; the intercept comes last.
    """

    classes: Numbers
    columns: Numbers

    @classmethod
    def of(cls, data: Labelling, reference: int) -> Contrasts:
        """Return the contrasts with a reference class, class by class, the intercept first, then the columns.

        After L1, columns in which both the class and the reference have a weight of 0 are left out.
        """
        p = data.X.shape[1]
        order = [*([p] if data.has_intercept else []), *range(p)]
        others = [k for k in range(len(data.classes)) if k != reference]
        pairs = [(k, j) for k in others for j in order]
        if data.l1:
            pairs = [(k, j) for k, j in pairs if j == p or data.w[k, j] or data.w[reference, j]]
        return cls(*np.array(pairs, dtype=np.int64).reshape(-1, 2).T)

    def at(self, w: Vector, reference: int) -> Vector:
        """Return the weights of these parameters less the weights of the reference class."""
        return np.asarray(w[self.classes, self.columns] - w[reference, self.columns])
