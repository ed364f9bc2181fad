"""Pseudo-likelihood of pairwise networks: all variables given the others, with one set of weights.

Symbols: n samples, p variables, D columns (see ``Numbering``); x_i the state of variable i.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import _core
from ..networks.numbering import Numbering, Numbers, sample_weights
from ..options import thread_limit
from ..vectors import Vector

__all__ = ["PseudoLikelihood"]


class PseudoLikelihood:
    """The sum over samples s and variables i of -weight_s log p(x_i | all other variables; w), in nats.

    The score of a state of variable i, given the others, is the weight of its column plus the weights of the pairs with
    the columns of the other variables that are active; the first state's is 0. With binary variables these are p
    logistic regressions that share symmetric weights. It is convex, and needs no inference. A missing variable enters
    the scores of the others with the frequencies of its states, and has no separate term.

    Source: Besag (1975), "Statistical analysis of non-lattice data", The Statistician 24.
    Cost: an evaluation by all weights takes n D exponentials and, with binary variables, n D^2 / 2 additions, half of
    them where at most a tenth of D^2 weights are not 0. ``restrict`` leaves 4 n multiply-adds for each interaction.
    Memory: two D x D matrices of doubles, some 4 n D bytes, and at most 128 MiB of scores.

    Args:
        codes: states, from 0, or -1 where missing; whole numbers, shape (n, p).
        numbering: how weights are numbered; its ``states`` are the numbers of states.
        weights: of the samples, finite, >= 0, shape (n,); None for 1.
        threads: 0 for all cores. Values and gradients do not depend on it.

    Raises:
        DataError: codes are not states, there are no samples, or weights do not match.

    Attributes:
        numbering: the same.
        core: the native objective.
        n_features: number of weights: of interactions, then of single columns.
        n_samples: number of samples.
        n_threads: threads that an evaluation runs on.
        n_unpenalised: number of weights that a penalty should leave alone, the last ones: weights of single columns.
    """

    def __init__(
        self, codes: npt.ArrayLike, numbering: Numbering, weights: npt.ArrayLike | None = None, *, threads: int = 0
    ) -> None:
        self.numbering, self._codes = numbering, numbering.checked(codes)
        self._weights = sample_weights(weights, len(self._codes))
        self.core = _core.PseudoLikelihood(
            numbering.states,
            self._codes,
            None if weights is None else self._weights,
            threads=thread_limit(threads),
        )
        self.n_features, self.n_samples = self.core.n_features, self.core.n_samples
        self.n_threads, self.n_unpenalised = self.core.n_threads, numbering.n_columns

    @property
    def is_convex(self) -> bool:
        """True: it is a sum of logistic regressions."""
        return True

    def independent(self) -> Vector:
        """Return the weights of the model without interactions that fits best: a start."""
        return self.numbering.independent(self._codes, self._weights)

    def natural(self, w: Vector) -> Vector:
        """Return the weights of the model: w itself."""
        return w

    def value_and_gradient(self, w: Vector, out: Vector | None = None) -> tuple[float, Vector]:
        """Return the pseudo-likelihood's negative logarithm at w, in nats, and its gradient, shape (n_features,).

        Args:
            w: float64, shape (n_features,). Weights that are not finite give an infinite value.
            out: where to write the gradient; a new array without it.
        """
        return self.core.value_and_gradient(w, out)

    def restrict(self, features: Numbers) -> _core.RestrictedPseudoLikelihood:
        """Return the objective over some of the features, in this order; the weights of all others are 0.

        Args:
            features: their numbers, ascending.
        """
        return self.core.restrict(np.ascontiguousarray(features, dtype=np.int64))
