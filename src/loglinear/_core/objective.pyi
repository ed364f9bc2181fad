"""The base of the native objectives."""

import numpy as np
import numpy.typing as npt

class Objective:
    """A value and a gradient at weights; a subclass for each kind of model."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    def value_and_gradient(
        self, w: npt.NDArray[np.float64], out: npt.NDArray[np.float64] | None = None
    ) -> tuple[float, npt.NDArray[np.float64]]: ...
