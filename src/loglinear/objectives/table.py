"""The negative log-likelihood of a log-linear model of a contingency table."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..tables.design import Design
from ..vectors import Vector

__all__ = ["TableObjective"]


class TableObjective:
    """The NLL of counts in cells with probabilities exp(X w) / Z: multinomial, with Poisson's optimum.

    The sufficient statistics are margins of the table, so an evaluation costs a few sums over the cells.

    Args:
        counts: the counts.
        cells: cells that may have samples.
        design: the parameters, without the constant; those that a penalty leaves alone come last.
        n_unpenalised: number of these parameters.
    """

    is_convex = True

    def __init__(self, counts: Vector, cells: npt.NDArray[np.bool_], design: Design, n_unpenalised: int = 0) -> None:
        self._counts, self._cells, self._design = counts, cells, design
        self.n_features, self.n_unpenalised = design.n_parameters, n_unpenalised
        self._n = float(counts.sum())
        self.n_samples = max(1, round(self._n))
        self._sums = design.sums(counts)

    def fitted(self, w: Vector) -> Vector:
        """Return the fitted counts, in the shape of the table; they add up to the number of samples."""
        return self._evaluated(w)[1]

    def _evaluated(self, w: Vector) -> tuple[float, Vector]:
        eta = np.where(self._cells, self._design.scores(w), -np.inf)
        top = eta.max()
        fitted = np.exp(eta - top)
        z = fitted.sum()
        fitted *= self._n / z
        return float(self._n * (top + np.log(z)) - self._sums @ w), fitted

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the NLL, in nats, and its gradient: fitted less observed sums of margins."""
        value, fitted = self._evaluated(w)
        gradient = self._design.sums(fitted)
        gradient -= self._sums
        if out is None:
            return value, gradient
        out[...] = gradient
        return value, out
