"""The objective of choices among alternatives."""

import numpy as np
import numpy.typing as npt

from .classifier import ClassifierObjective, NewtonStep
from .objective import Objective

class ChoiceObjective(Objective):
    def __init__(
        self,
        matrix: ClassifierObjective,
        rows: npt.NDArray[np.uint32],
        ends: npt.NDArray[np.uint64],
        n_chosen: npt.NDArray[np.uint32],
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None: ...
    def group_nlls(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def residuals(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def hessian(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def hessian_diagonal(self, w: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def start(self, w: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
    def has_small_gram(self) -> bool: ...
    def newton_step(
        self,
        w: npt.NDArray[np.float64],
        scores: npt.NDArray[np.float64],
        gradient: npt.NDArray[np.float64],
        *,
        l1: float,
        l2: float,
        precision: float,
        sweeps: int,
        least: int,
        stride: int = 1,
        varied: tuple[npt.NDArray[np.float64], npt.NDArray[np.int8]] | None = None,
    ) -> NewtonStep: ...
    def batch(self, groups: npt.NDArray[np.int64], factor: float) -> ChoiceObjective: ...
    def restrict(self, columns: npt.NDArray[np.int64]) -> ChoiceObjective: ...
