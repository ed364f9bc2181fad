"""Passes sample by sample."""

import numpy as np
import numpy.typing as npt

_Vector = npt.NDArray[np.float64]
_Singles = npt.NDArray[np.float32]
_Numbers = npt.NDArray[np.int64]

class SamplePasses:
    """An objective as solvers see it that go sample by sample."""

    @property
    def n_features(self) -> int: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_threads(self) -> int: ...
    @property
    def n_unpenalised(self) -> int: ...
    @property
    def run_ends(self) -> npt.NDArray[np.int64] | None: ...
    def sg_pass(self, w: _Vector, sum: _Vector, *, visits: _Numbers, rates: _Vector, l2: float) -> None: ...
    def sgd_l1_pass(
        self,
        w: _Vector,
        q: _Vector,
        u: float,
        *,
        visits: _Numbers,
        rates: _Vector,
        l1: float,
        l2: float,
        penalty: str,
        line_search: tuple[int, float] | None = None,
    ) -> tuple[float, int]: ...
    def adagrad_pass(
        self, w: _Vector, squares: _Vector, *, visits: _Numbers, rate: float, delta: float, l2: float
    ) -> None: ...
    @property
    def sag_sizes(self) -> tuple[int, int, int]: ...
    def sag_pass(
        self,
        w: _Vector,
        d: _Vector,
        gradients: tuple[_Singles, _Singles, _Singles],
        lipschitz: _Vector,
        seen: npt.NDArray[np.bool_],
        pauses: npt.NDArray[np.uint8],
        *,
        draws: _Vector,
        sampling: str,
        saga: bool,
        l1: float,
        l2: float,
    ) -> int: ...
    def perceptron_pass(self, w: _Vector, sum: _Vector, iterates: int, *, visits: _Numbers) -> float: ...
    def passive_aggressive_pass(
        self, w: _Vector, sum: _Vector, iterates: int, *, visits: _Numbers, slack: int, c: float, error_sensitive: bool
    ) -> float: ...
    def arow_pass(self, w: _Vector, variances: _Vector, *, visits: _Numbers, gamma: float) -> float: ...
