"""Operations on whole vectors."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

def instruction_set() -> str: ...
def limit_instruction_set(name: str) -> None: ...

_Vector = npt.NDArray[np.float64]

_Rows = npt.NDArray[np.uint16]

# l1, l2, and the number of weights at the end that bear no penalty; of the others also factors and signs.
_Penalty = tuple[float, float, int] | tuple[float, float, int, _Vector, npt.NDArray[np.int8]]

class vectors:
    """The operations of `loglinear.vectors`; `threads` is a number of threads, 0 for all cores."""

    @staticmethod
    def best_constants(rows: _Vector, k: int, l1: float, l2: float) -> tuple[_Vector, _Vector]: ...
    @staticmethod
    def distinct(ids: npt.NDArray[np.uint32], bound: int, most: int) -> npt.NDArray[np.uint32] | None: ...
    @staticmethod
    def moments(matrix: _Vector) -> tuple[_Vector, _Vector]: ...
    @staticmethod
    def norms(x: _Vector, threads: int) -> tuple[float, float]: ...
    @staticmethod
    def pseudo_gradient(
        w: _Vector, g: _Vector, penalty: _Penalty, out: _Vector, threads: int
    ) -> tuple[float, float]: ...
    @staticmethod
    def secant_pair(
        w_new: _Vector,
        g_new: _Vector,
        w: _Vector,
        g: _Vector,
        scale: _Vector | None,
        penalty: _Penalty,
        s_rows: _Rows,
        y_rows: _Rows,
        live: Sequence[int],
        spare: int,
        products: _Vector,
        threads: int,
    ) -> tuple[float, float, float]: ...
    @staticmethod
    def quasi_newton_step(
        w: _Vector,
        g: _Vector,
        scale: _Vector | None,
        penalty: _Penalty,
        s_rows: _Rows,
        s_coefficients: _Vector,
        y_rows: _Rows,
        y_coefficients: _Vector,
        live: Sequence[int],
        factor: float,
        alpha: float,
        out: _Vector,
        threads: int,
    ) -> list[float]: ...
