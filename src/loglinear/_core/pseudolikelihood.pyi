"""Pseudo-likelihoods."""

import numpy as np
import numpy.typing as npt

from .objective import Objective

class Regression:
    """The L1-penalised regression of a binary variable on all others.

    Attributes:
        columns: columns whose weights are not 0, ascending.
        weights: the weights of these columns.
        intercept: the weight without penalty.
        nll: negative log-likelihood without the penalty, nats.
        violation: largest violation of optimality at a weight.
        steps: Newton steps made.
        converged: whether a tolerance was met.
    """

    @property
    def columns(self) -> npt.NDArray[np.int64]: ...
    @property
    def weights(self) -> npt.NDArray[np.float64]: ...
    @property
    def intercept(self) -> float: ...
    @property
    def nll(self) -> float: ...
    @property
    def violation(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def converged(self) -> bool: ...

class PseudoLikelihood(Objective):
    def __init__(
        self,
        states: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int32],
        weights: npt.NDArray[np.float64] | None = None,
        *,
        threads: int = 0,
    ) -> None: ...
    def node(self, variable: int) -> tuple[RestrictedPseudoLikelihood, npt.NDArray[np.int64]]: ...
    def nodewise(
        self,
        variables: npt.NDArray[np.int64],
        *,
        l1: float,
        l2: float,
        tolerance: float,
        gradient_tolerance: float,
        max_steps: int,
    ) -> list[Regression]: ...
    def restrict(self, features: npt.NDArray[np.int64]) -> RestrictedPseudoLikelihood: ...

class RestrictedPseudoLikelihood(Objective):
    def restrict(self, features: npt.NDArray[np.int64]) -> RestrictedPseudoLikelihood: ...
