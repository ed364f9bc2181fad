"""BFGS with a dense approximation of the inverse Hessian.

Symbols: H the approximation of the inverse Hessian, v the gradient of the penalised objective, s = w_new - w,
y = v_new - v, rho = 1 / s.y, d = -H v the direction, tau the factor of H before its update. The line search is in
``common/wolfe.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from ..options import whole_number
from ..penalty import Separable
from ..problem import Problem
from ..vectors import Vector
from .common.conditions import no_l1
from .common.curvature import units_if_uneven
from .common.memory import memory_of_machine
from .common.needs import Needs, check
from .common.quasi_newton import (
    EPSILON,
    MOST,
    Advanced,
    Line,
    Moved,
    QuasiNewtonState,
    attempts,
    check_tolerances,
    first_step,
    moved,
    starting_state,
    stuck,
)
from .common.state_schema import Sizes
from .common.wolfe import strong_wolfe

__all__ = ["BFGS", "InverseHessian", "updated"]

Matrix = npt.NDArray[np.float64]
# Entries of a block of rows, so that it stays in the processor's cache during its update.
BLOCK = 32_768


def fits_in_memory(problem: Problem) -> str:
    """The memory of the machine holds the matrices."""
    n = problem.n_features
    needed, present = 16 * n * n, memory_of_machine()
    if needed <= present:
        return ""
    return (
        f"would need {needed / 2**30:.1f} GiB for two {n} x {n} matrices, but this machine has "
        f"{present / 2**30:.1f} GiB of memory"
    )


class Aim(NamedTuple):
    """The direction d = -H v of a line search, and the matrices that it leaves.

    Attributes:
        H: with every pair; None for the identity.
        spare: the other matrix.
        d: shape (n,).
        descent: d . v.
        w: where the direction begins, shape (n,).
        penalty: of the problem.
    """

    H: Matrix | None
    spare: Matrix | None
    d: Vector
    descent: float
    w: Vector
    penalty: Separable

    @np.errstate(all="ignore")
    def move(self, alpha: float, out: Vector) -> Moved:
        """Write w + alpha d to ``out``."""
        np.multiply(alpha, self.d, out=out)
        out += self.w
        return Moved(self.descent, alpha * self.descent, *self.penalty.norms(out))


@dataclass
class InverseHessian:
    """H as a dense matrix, and the pair to update it with next.

    A line search forms the next H in the spare matrix and leaves this one alone, so that an interrupted step can be
    repeated. Pickled are H and the pair; the rest follows from them.

    Attributes:
        H: symmetric and positive definite, shape (n, n); None for the identity, in units.
        pair: s and y of the last step, which H does not include yet.
        spare: where the next H goes, shape (n, n); None for a new matrix.
        aim: the direction of the line search from here, once it is known.
        scale: unit of each weight, shape (n,); None for 1.
    """

    H: Annotated[Matrix, Sizes(("n_features", "n_features"))] | None = None
    pair: tuple[Vector, Vector] | None = None
    spare: Annotated[Matrix, Sizes(("n_features", "n_features"), finite=False)] | None = None
    aim: Aim | None = None
    scale: Vector | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "spare": None, "aim": None}

    @property
    def live(self) -> bool:
        """Whether there are pairs; H is the identity, in units, without them."""
        return self.H is not None or self.pair is not None

    @np.errstate(all="ignore")
    def direction(self, w: Vector, g: Vector, penalty: Separable) -> Aim:
        """Return d = -H v, with v the gradient at w, the point to which ``advance`` came last."""
        if self.aim is None:
            v = penalty.smooth_gradient(w, g)
            H, spare = self._formed()
            d = -self._started(v) if H is None else -product(H, v)
            self.aim = Aim(H, spare, d, dot(d, v), w, penalty)
        return self.aim

    @np.errstate(all="ignore")
    def advance(self, w_new: Vector, g_new: Vector, w: Vector, g: Vector, penalty: Separable) -> Advanced:
        """Update with the pair of two points and their NLL gradients.

        A pair without positive curvature, s.y <= 2.2e-16 y.y, is skipped: H stays positive definite.
        """
        v, v_new = penalty.smooth_gradient(w, g), penalty.smooth_gradient(w_new, g_new)
        s, y = w_new - w, v_new - v
        sy, yy = dot(s, y), dot(y, y)
        curved = EPSILON * yy < sy < math.inf and 0.0 < yy < math.inf
        aim = self.direction(w, g, penalty)
        following = InverseHessian(aim.H, (s, y) if curved else None, aim.spare, scale=self.scale)
        return Advanced(following, float(np.abs(v_new).max()), dot(v_new, self._started(v_new)), dot(s, v_new))

    def cleared(self) -> InverseHessian:
        """Return the identity, in units."""
        return InverseHessian(scale=self.scale)

    def _started(self, v: Vector) -> Vector:
        """Return H v, with H as it is without pairs."""
        return v if self.scale is None else self.scale**2 * v

    def _formed(self) -> tuple[Matrix | None, Matrix | None]:
        """Return H with the pair, and the matrix that is then free."""
        if self.pair is None:
            return self.H, self.spare
        s, y = self.pair
        H = self.H
        if H is None:
            H = np.diag(self._started(np.ones_like(s)))
            tau = dot(s, y) / dot(y, self._started(y))  # Eq. 6.20
        else:
            tau = max(1.0, dot(s, y) / dot(y, product(H, y)))
        return updated(H, s, y, tau, np.empty_like(H) if self.spare is None else self.spare), H


@dataclass(frozen=True, kw_only=True)
class BFGS:
    """BFGS for smooth objectives (L2 penalty or none) with at most a few thousand features.

    Source: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 6.1, with the first H scaled by Eq. 6.20;
    line search of Algorithms 3.5 and 3.6, as in ``LBFGS``, the first step scaled by 1 / |gradient|.

    Departures:

    - As in ``LBFGS``, with H the identity, in units, where ``LBFGS`` drops its history.
    - Before H is updated with a pair it is multiplied by tau = s.y / y'Hy (Oren & Luenberger 1974), if tau is above 1:
      the curvature of log-linear models decreases during training, and learning it direction by direction is slow. On
      topics of Reuters with 500 words this saves at least three quarters of the evaluations.

    Cost per step: one or more gradients, and O(n_features^2). Memory: two matrices, 16 bytes * n_features^2; a pickled
    state contains one.

    Converges by the criteria of ``LBFGS``.

    Args:
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.
        max_line_search: most evaluations in one line search, >= 1; one more may return to its best point.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the penalty has an L1 part, or when the memory of
            the machine does not hold the matrices.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import BFGS
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=BFGS()).fit(X, y).result_.status.name
        'CONVERGED'
    """

    tolerance: float = 1e-5
    gradient_tolerance: float = 1e-6
    max_line_search: int = 20

    needs: ClassVar[Needs] = Needs(conditions=(no_l1, fits_in_memory))

    def __post_init__(self) -> None:
        check_tolerances(self.tolerance, self.gradient_tolerance)
        whole_number("max_line_search", self.max_line_search, 1, MOST)

    def init(self, problem: Problem, w0: Vector) -> QuasiNewtonState:
        """Evaluate the objective at w0 (one gradient evaluation) and return the starting state; w0 is copied.

        Raises:
            OptionError: the penalty has an L1 part or is not one of single weights, or the memory of the machine does
                not hold the matrices.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        w = np.array(w0, dtype=np.float64)
        gradient = np.zeros_like(w)
        started = InverseHessian(scale=units_if_uneven(problem, w))
        return starting_state(self, problem, w, problem.evaluate(w, gradient), gradient, started)

    def step(self, problem: Problem, state: QuasiNewtonState) -> QuasiNewtonState:
        """Make one round of the loop of Algorithm 6.1. ``state`` is used up, unless an exception comes out."""
        evaluations, promised = 0, []
        for curvature in attempts(state.history):
            line = Line(problem, state, curvature)  # H includes the last pair, Eq. 6.17; d = -H v
            search = strong_wolfe(line, first_step(state, curvature), self.max_line_search)  # w_new = w + alpha d
            evaluations += search.evaluations
            promised.append(search.descent)
            if search.trial is not None:
                return moved(self, problem, state, search.trial, evaluations)  # s and y
        return stuck(state, promised[0], evaluations)


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
