"""The negative log-likelihood of choices among alternatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..data.choices import Choices
from ..data.inputs import Matrix
from ..problem import Objective
from ..vectors import Signs, Vector
from .classifier import ClassifierObjective

__all__ = ["ChoiceObjective", "linear_part"]

Numbers = npt.NDArray[np.int64]


class ChoiceObjective:
    """NLL of choices, the sum over groups of -weight log p(chosen alternatives | group; w), in nats.

    The alternatives are rows x_j of a matrix. Where one of a group g was chosen, p(i | g) = exp(w . x_i) / sum over j
    in g of exp(w . x_j). Where k were chosen, it is the probability of this set among all sets of k alternatives. A
    ranking counts as a series of choices, each among the alternatives that are left.

    Source: McFadden (1974), conditional logit; Howard (1972) and Gail, Lubin & Rubinstein (1981), several chosen;
    Beggs, Cardell & Hausman (1981), ranks.
    Cost: an evaluation makes two passes over the matrix, on all threads, and takes O(m k) for k of m alternatives.

    Args:
        X: alternatives, shape (n_alternatives, n_columns), sparse or dense; finite. As for `ClassifierObjective`.
        y: 1 for alternatives that were chosen and 0 for others; or ranks from 1, with 0 for alternatives without a
            rank, shape (n_alternatives,).
        groups: group of each alternative, in any order, shape (n_alternatives,).
        sample_weight: weight of each alternative's group, >= 0, shape (n_alternatives,); None for 1.
        threads: 0 for all cores. Values and gradients do not depend on it.

    Raises:
        DataError: see `ConditionalLogit.fit`.

    Warns:
        DataWarning: groups without a choice are left out.

    Attributes:
        matrix: the alternatives, as the objective of a classifier.
        choices: what was chosen.

    Example:
        >>> import numpy as np
        >>> from loglinear import ChoiceObjective
        >>> objective = ChoiceObjective([[1.0], [0.0], [3.0], [1.0], [2.0]], [1, 0, 0, 0, 1], ["a", "a", "b", "b", "b"])
        >>> value, gradient = objective.value_and_gradient(np.zeros(1))
        >>> round(value, 4), gradient.round(4).tolist()
        (1.7918, [-0.5])
    """

    def __init__(
        self,
        X: Matrix,
        y: npt.ArrayLike,
        groups: npt.ArrayLike,
        sample_weight: npt.ArrayLike | None = None,
        *,
        threads: int = 0,
    ) -> None:
        matrix = linear_part(X, threads=threads)
        self._set(matrix, Choices.of(y, groups, sample_weight, matrix.n_samples))

    @classmethod
    def of(cls, matrix: ClassifierObjective, choices: Choices) -> ChoiceObjective:
        """Return the objective of choices among the rows of a matrix; see `linear_part`."""
        objective = object.__new__(cls)
        objective._set(matrix, choices)
        return objective

    def _set(self, matrix: ClassifierObjective, choices: Choices) -> None:
        self.matrix, self.choices = matrix, choices
        self.core = _core.ChoiceObjective(matrix.core, choices.rows, choices.ends, choices.n_chosen, choices.weights)

    @property
    def n_features(self) -> int:
        """Number of weights, one for each column."""
        return self.core.n_features

    @property
    def n_samples(self) -> int:
        """Number of choices; a ranking of m alternatives has m - 1."""
        return self.core.n_samples

    @property
    def n_threads(self) -> int:
        """Threads that an evaluation runs on."""
        return self.core.n_threads

    @property
    def n_outputs(self) -> int:
        """1: the number of weights of a column."""
        return 1

    @property
    def n_unpenalised(self) -> int:
        """0: there is no intercept, which would be the same for all alternatives."""
        return 0

    @property
    def is_convex(self) -> bool:
        """True: the NLL is convex."""
        return True

    @property
    def is_dense(self) -> bool:
        """Whether the alternatives are kept as a dense matrix."""
        return self.matrix.is_dense

    @property
    def weights(self) -> Vector:
        """Weight of each choice, shape (n_samples,)."""
        return np.ones(self.n_samples) if self.choices.weights is None else self.choices.weights

    def coefficients(self, w: Vector) -> Vector:
        """Return the weight of each column of X, shape (n_columns,)."""
        coef: Vector = self.matrix.coefficients(w)[0][0]
        return coef

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the negative log-likelihood at w, in nats, and its gradient, shape (n_features,).

        Args:
            w: float64, shape (n_features,). Weights that are not finite give an infinite value.
            out: where to write the gradient; a new array without it.
        """
        return self.core.value_and_gradient(w, out)

    def sample_nlls(self, w: Vector) -> Vector:
        """Return -log p of each choice, not times its weight, shape (n_samples,)."""
        return self.core.group_nlls(w)

    def residuals(self, w: Vector) -> Vector:
        """Return the derivative of the NLL by the score of each alternative, shape (n_alternatives,)."""
        return self.core.residuals(w)

    def hessian(self, w: Vector) -> Vector:
        """Return the Hessian at w, shape (n_features, n_features)."""
        return self.core.hessian(w).reshape(self.n_features, -1)

    @property
    def has_hessian_diagonal(self) -> bool:
        """True: the diagonal of the Hessian is known."""
        return True

    def hessian_diagonal(self, w: Vector) -> Vector:
        """Return the diagonal of the Hessian at w, shape (n_features,); 0 for columns that no group varies in."""
        return self.core.hessian_diagonal(w)

    def largest_values(self) -> Vector | None:
        """Return the largest absolute value of each column, shape (n_features,); None if all are 1."""
        return self.matrix.largest_values()

    def start(self, w: Vector) -> tuple[float, Vector, Vector]:
        """Return the NLL, x . w of every alternative, and the gradient."""
        nll, scores, gradient = self.core.start(w)
        return nll, scores, gradient

    def has_small_gram(self, l1: float) -> bool:
        """Whether a step of `loglinear.solvers.ProxNewton` writes the whole Hessian out, with or without L1 penalty."""
        return self.core.has_small_gram()

    def newton_step(
        self,
        w: Vector,
        scores: Vector,
        gradient: Vector,
        *,
        l1: float,
        l2: float,
        precision: float,
        sweeps: int,
        least: int,
        stride: int = 1,
        varied: tuple[Vector, Signs] | None = None,
    ) -> _core.NewtonStep:
        """Make a step of `loglinear.solvers.ProxNewton`, updating the arrays; ``varied`` are factors and signs."""
        return self.core.newton_step(
            w,
            scores,
            gradient,
            l1=l1,
            l2=l2,
            precision=precision,
            sweeps=sweeps,
            least=least,
            stride=stride,
            varied=varied,
        )

    def batch(self, samples: Numbers, factor: float) -> Objective:
        """Return the objective on the given choices, whose weights are multiplied by ``factor``."""
        return self.core.batch(samples, factor)

    def restrict(self, features: Numbers) -> Objective:
        """Return the objective over some of the features, in this order; the weights of all others are 0."""
        return self.core.restrict(features)

    def fingerprint(self) -> dict[str, Any]:
        """Return the sizes of the data and a checksum of the alternatives and the choices."""
        from ..data.fingerprint import checksum

        choices = self.choices
        parts = (choices.rows, choices.ends, choices.n_chosen, self.weights)
        return {**self.matrix.fingerprint(), "choices": checksum(parts)}


def linear_part(X: Matrix, *, threads: int = 0) -> ClassifierObjective:
    """Return a matrix of alternatives as the objective of a classifier, whose classes are not used."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]
    zeros = np.zeros(n_rows, dtype=np.int64)
    return ClassifierObjective(X, zeros, n_classes=2, intercept=False, threads=threads, spares_empty=True)
