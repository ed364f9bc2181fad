"""BFGS with a dense approximation of the inverse Hessian.

Symbols: H the approximation of the inverse Hessian, v the gradient of the penalised objective, s = w_new - w,
y = v_new - v, rho = 1 / s.y, d = -H v the direction, tau what H is multiplied by before it takes up a pair. The line
search is in ``wolfe.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import OptionError
from ..penalty import ElasticNet
from ..problem import Problem
from ..vectors import Vector
from .parts.memory import memory_of_machine
from .parts.quasi_newton import (
    EPSILON,
    QuasiNewton,
    QuasiNewtonState,
    Trial,
)
from .parts.wolfe import refuse_l1, strong_wolfe

__all__ = ["BFGS", "InverseHessian", "updated"]

Matrix = npt.NDArray[np.float64]
# Entries of a block of rows that stays in the processor's cache while it is updated.
BLOCK = 32_768


class Aim(NamedTuple):
    """What the trials of a line search share: H with every pair, the other matrix, d, and d . v."""

    H: Matrix | None
    spare: Matrix | None
    d: Vector
    descent: float


@dataclass
class InverseHessian:
    """H as a dense matrix, and the pair that it has still to take up.

    A line search forms the next H in the spare matrix and leaves this one alone, so that an interrupted step can be
    repeated. Pickled are H and the pair; the rest follows from them.

    Attributes:
        H: symmetric and positive definite, shape (n, n); None for the identity.
        pair: s and y of the last step, which H does not know yet.
        spare: where the next H goes, shape (n, n); None for a new matrix.
        aim: what a line search from here has found out.
    """

    H: Matrix | None = None
    pair: tuple[Vector, Vector] | None = None
    spare: Matrix | None = None
    aim: Aim | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "spare": None, "aim": None}

    @property
    def live(self) -> bool:
        """Whether there are pairs; H is the identity without them."""
        return self.H is not None or self.pair is not None

    @np.errstate(all="ignore")
    def advance(
        self, w_new: Vector, g_new: Vector, w: Vector, g: Vector, penalty: ElasticNet
    ) -> tuple[InverseHessian, float, float, float]:
        """Take up the pair of two points and their NLL gradients.

        A pair without positive curvature, s.y <= 2.2e-16 y.y, is skipped: H stays positive definite.

        Returns:
            What follows, the max-norm of v_new, its Euclidean norm squared, and (w_new - w) . v_new.
        """
        v, v_new = penalty.smooth_gradient(w, g), penalty.smooth_gradient(w_new, g_new)
        s, y = w_new - w, v_new - v
        sy, yy = dot(s, y), dot(y, y)
        curved = EPSILON * yy < sy < math.inf and 0.0 < yy < math.inf
        aim = self._aimed(v)
        following = InverseHessian(aim.H, (s, y) if curved else None, aim.spare)
        return following, float(np.abs(v_new).max()), dot(v_new, v_new), dot(s, v_new)

    def cleared(self) -> InverseHessian:
        """Return the identity."""
        return InverseHessian()

    @np.errstate(all="ignore")
    def step(
        self, w: Vector, g: Vector, penalty: ElasticNet, alpha: float, out: Vector
    ) -> tuple[float, float, float, float]:
        """Write w + alpha d to ``out``, with d = -H v and v the gradient at w, which ``advance`` came to last.

        Returns:
            d . v, v . (out - w), |out|_1 and |out|_2 squared, the norms without weights that bear no penalty.
        """
        aim = self.aim or self._aimed(penalty.smooth_gradient(w, g))
        np.multiply(alpha, aim.d, out=out)
        out += w
        return aim.descent, alpha * aim.descent, *penalty.norms(out)

    def _aimed(self, v: Vector) -> Aim:
        if self.aim is None:
            H, spare = self._formed()
            d = -v if H is None else -product(H, v)
            self.aim = Aim(H, spare, d, dot(d, v))
        return self.aim

    def _formed(self) -> tuple[Matrix | None, Matrix | None]:
        """Return H with the pair, and the matrix that is then free."""
        if self.pair is None:
            return self.H, self.spare
        s, y = self.pair
        H = self.H
        if H is None:
            H = np.eye(s.size)
            tau = dot(s, y) / dot(y, y)  # Eq. 6.20
        else:
            tau = max(1.0, dot(s, y) / dot(y, product(H, y)))
        return updated(H, s, y, tau, np.empty_like(H) if self.spare is None else self.spare), H


class BFGS(QuasiNewton):
    """BFGS for smooth objectives of few features, some thousands: L2 penalty or none.

    Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 6.1, with the first H scaled by Eq. 6.20;
    line search of Algorithms 3.5 and 3.6, as in ``LBFGS``, the first step scaled by 1 / |gradient|.
    Departures: those of ``LBFGS``, with H the identity where that drops its history. And before H takes up a pair it is
    multiplied by tau = s.y / y'Hy (Oren & Luenberger 1974), if that is above 1: the curvature of log-linear models
    decreases on the way, and n directions are slow to learn that one by one. On topics of Reuters with 500 words
    this saves three quarters of the evaluations and more.
    Cost: one gradient or more, and O(n_features^2), per step. Memory: two matrices, 16 bytes * n_features^2; a pickled
    state has one.

    Converged when ``LBFGS`` is (see there).

    Args:
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1; one more may return to its best point.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the penalty has an L1 part, or when the memory of
            the machine does not hold the matrices.
    """

    def __init__(self, *, tolerance: float = 1e-5, gradient_tolerance: float = 1e-6, max_line_search: int = 20) -> None:
        super().__init__(tolerance, gradient_tolerance, max_line_search)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the penalty has an L1 part, or the memory of the machine does not hold the matrices.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        refuse_l1(problem, "bfgs")
        n = problem.n_features
        needed, present = 16 * n * n, memory_of_machine()
        if needed > present:
            message = (
                f"bfgs would need {needed / 2**30:.1f} GiB for two matrices of {n} x {n}, and this machine has "
                f"{present / 2**30:.1f} GiB of memory; use lbfgs"
            )
            raise OptionError(message)
        return super().init(problem, w0)

    def _no_pairs(self, n: int) -> InverseHessian:
        return InverseHessian()

    def _line_search(self, problem: Problem, state: QuasiNewtonState, alpha: float) -> tuple[Trial | None, float, int]:
        return strong_wolfe(
            lambda alpha: self._measure(problem, state, self._move(problem, state, alpha)),
            state.objective,
            alpha,
            self.max_line_search,
        )


def dot(a: Vector, b: Vector) -> float:
    """Return a . b; BLAS would sum in an order that depends on its threads."""
    return float(np.einsum("i,i->", a, b))


def product(H: Matrix, v: Vector) -> Vector:
    """Return H v; see ``dot``."""
    Hv: Vector = np.einsum("ij,j->i", H, v)
    return Hv


def updated(H: Matrix, s: Vector, y: Vector, tau: float, out: Matrix) -> Matrix:
    """Write (I - rho s y') tau H (I - rho y s') + rho s s' to ``out`` (Eq. 6.17 of tau H), and return it.

    Multiplied out it is tau H - (s u' + u s') with u = rho tau H y - rho (rho tau y'Hy + 1) s / 2, symmetric to the
    last bit.
    """
    rho, Hy = 1.0 / dot(s, y), tau * product(H, y)
    u = rho * Hy - (0.5 * rho * (rho * dot(y, Hy) + 1.0)) * s
    rows = max(BLOCK // s.size, 1)
    for start in range(0, s.size, rows):
        block = slice(start, start + rows)
        np.multiply(s[block, None], u, out=out[block])
        out[block] += u[block, None] * s
        np.subtract(H[block] if tau == 1.0 else tau * H[block], out[block], out=out[block])
    return out
