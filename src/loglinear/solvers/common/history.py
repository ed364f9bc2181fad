"""The limited-memory approximation H of the inverse Hessian.

Sources: Nocedal & Wright, Numerical Optimization (2nd ed. 2006), Algorithm 7.4 (two-loop recursion) and Eq. 7.20
(scaling gamma); Byrd, Nocedal & Schnabel (Math. Programming 63, 1994), Theorem 2.2, where its two loops are products
with R^-1 and R^-T. Both run on inner products instead of vectors, as in Chen, Wang & Zhou (NIPS 2014, "Large-scale
L-BFGS using MapReduce"): with S'Y and Y'Y kept, a step takes two sweeps over the history, one for the inner products
of the newest y and of v with all rows, one for the combination of the rows. A new pair adds a column to R^-1, and the
inverse without the oldest pair is the rest of R^-1. The pairs are stored as bfloat16. H remains positive definite,
because it is formed exactly from the rounded pairs. On text data the number of iterations is the same as with float64,
and a step, which is bound by memory bandwidth, reads a quarter of the memory.

Symbols: s = w_new - w, y = the change of the gradient of the smooth part, v the pseudo-gradient at w_new, d the
direction, gamma = s.y / y.y, R the upper triangle of S'Y, alpha as in Algorithm 7.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ... import vectors
from ...penalty import Separable
from ...problem import Problem
from ...vectors import Rows, Vector
from .curvature import units_if_uneven
from .quasi_newton import EPSILON, Advanced, Moved
from .state_schema import Sizes

__all__ = ["Combination", "History", "empty_history"]


@dataclass(frozen=True)
class Combination:
    """The direction d = -H v as a combination of the pairs and of v; it becomes a vector only in ``move``.

    Attributes:
        history: whose rows are combined.
        on_s: coefficients of the live rows of S in H v, shape (k,).
        on_y: coefficients of the live rows of Y in H v, shape (k,).
        gamma: coefficient of v in H v.
        w: where the direction begins, shape (n,).
        g: gradient of the NLL at w, shape (n,).
        penalty: whose pseudo-gradient v is.
    """

    history: History
    on_s: Vector
    on_y: Vector
    gamma: float
    w: Vector
    g: Vector
    penalty: Separable

    def move(self, alpha: float, out: Vector) -> Moved:
        """Write w + alpha d to ``out`` in one sweep; with L1 it is pi(w + alpha pi(d; -v); xi).

        The sweep fuses these lines of Andrew & Gao (2007), Algorithm 1: the pseudo-gradient v, the last line of the
        two-loop recursion, the projection of d, and a trial of the constrained line search, the projection on the
        orthant xi included.
        """
        rows, at = self.history, (self.w, self.g, self.history.scale, self.penalty.strengths)
        return Moved(
            *vectors.quasi_newton_step(*at, rows.S, -self.on_s, rows.Y, -self.on_y, rows.live, -self.gamma, alpha, out)
        )


@dataclass
class History:
    """The newest pairs (s, y), at most ``memory`` of them, in a ring of memory + 1 rows.

    The spare row takes the next pair, so ``advance`` leaves the history that it is called on intact until the
    history that it returns is advanced in turn.

    Attributes:
        S: rows s, shape (memory + 1, n), bfloat16.
        Y: rows y, shape (memory + 1, n), bfloat16.
        SY: SY[i, j] = s_i . y_j for live rows with s_i not newer than y_j, shape (memory + 1, memory + 1).
        YY: YY[i, j] = y_i . y_j for live rows, likewise.
        inverse: R^-1 by the numbers of the live rows, shape (memory + 1, memory + 1).
        Sv: inner products of the live rows of S, in order, with the v of the last ``advance``.
        Yv: inner products of the live rows of Y, likewise.
        live: rows in use, oldest first.
        spare: the row that the next pair goes to.
        scale: unit of each weight, shape (n,); None for 1. The pairs, v and d are by weights in these units, in which
            the identity is H without pairs and, times gamma, what the recursion starts from.
    """

    S: Annotated[Rows, Sizes(("pairs", "n_features"), own=True)]
    Y: Annotated[Rows, Sizes(("pairs", "n_features"), own=True)]
    SY: Annotated[Vector, Sizes(("pairs", "pairs"), finite=False, own=True)]
    YY: Annotated[Vector, Sizes(("pairs", "pairs"), finite=False, own=True)]
    inverse: Annotated[Vector, Sizes(("pairs", "pairs"), finite=False, own=True)]
    Sv: Annotated[Vector, Sizes((None,), finite=False)] = field(default_factory=lambda: np.empty(0))
    Yv: Annotated[Vector, Sizes((None,), finite=False)] = field(default_factory=lambda: np.empty(0))
    live: Annotated[tuple[int, ...], Sizes(below="pairs", distinct=True)] = ()
    spare: Annotated[int, Sizes(below="pairs")] = 0
    scale: Annotated[Vector | None, Sizes(own=True)] = None

    @classmethod
    def empty(cls, memory: int, n: int, scale: Vector | None = None) -> History:
        """Return a history without pairs for vectors of length n; its pages are not touched before they are used."""
        rows, gram = (memory + 1, n), (memory + 1, memory + 1)
        pairs = np.zeros(rows, np.uint16), np.zeros(rows, np.uint16)
        return cls(*pairs, np.zeros(gram), np.zeros(gram), np.zeros(gram), scale=scale)

    def mistake(self) -> str:
        """Return what contradicts itself; see `state_schema.Declared`."""
        return "the spare row is in use" if self.spare in self.live else ""

    @property
    def memory(self) -> int:
        """Most pairs kept."""
        return len(self.SY) - 1

    def advance(self, w_new: Vector, g_new: Vector, w: Vector, g: Vector, penalty: Separable) -> Advanced:
        """Add the pair of two points and their NLL gradients; v is the pseudo-gradient at the new one.

        A full history drops its oldest pair. A pair without positive curvature, s.y <= 2.2e-16 y.y, is skipped:
        H stays positive definite. One sweep over memory fuses s, y, v and the inner products of y and v with all rows,
        which the next direction is made of.
        """
        k, spare = len(self.live), self.spare
        products = np.empty((2, 2 * k + 2))
        violation, squared, slope = vectors.secant_pair(
            w_new, g_new, w, g, self.scale, penalty.strengths, self.S, self.Y, self.live, spare, products
        )
        sy, yy = products[1, 2 * k :].tolist()
        if not (EPSILON * yy < sy < math.inf and 0.0 < yy < math.inf):
            history = replace(self, Sv=products[0, :k].copy(), Yv=products[0, k : 2 * k].copy())
            return Advanced(history, violation, squared, slope)
        first = max(k + 1 - self.memory, 0)
        (on_s, on_y), live = _columns(k, first), (*self.live, spare)[first:]
        rows, SY, YY = np.array(live), self.SY.copy(), self.YY.copy()
        SY[rows, spare] = products[1, on_s]
        YY[rows, spare] = YY[spare, rows] = products[1, on_y]
        # The last column of R^-1 is (-R^-1 c, 1) / s.y, with c the last column of R above s.y and R^-1 without it.
        inverse, others = self.inverse.copy(), rows[:-1]
        inverse[spare], inverse[spare, spare] = 0.0, 1.0 / sy
        inverse[others, spare] = inverse[others[:, None], others].dot(SY[others, spare]) / -sy
        # Of a full history, the row of the pair that was dropped is the only one not in use.
        spare = self.live[0] if first else next(row for row in range(self.memory + 1) if row not in live)
        on_v = products[0, on_s], products[0, on_y]
        history = History(self.S, self.Y, SY, YY, inverse, *on_v, live, spare, self.scale)
        return Advanced(history, violation, squared, slope)

    def onto(self, old: npt.NDArray[np.int64], new: npt.NDArray[np.int64], scale: Vector | None = None) -> History:
        """Return the history by other features.

        Args:
            old: numbers of the features that the pairs are by, ascending.
            new: numbers of the features wanted, ascending; the pairs are 0 at those that are not among the old ones.
            scale: unit of each feature, including the features of the history; None for 1.
        """
        if np.array_equal(old, new):
            return self
        _, from_old, to_new = np.intersect1d(old, new, assume_unique=True, return_indices=True)
        S, Y = (np.zeros((self.memory + 1, new.size), np.uint16) for _ in range(2))
        S[:, to_new], Y[:, to_new] = self.S[:, from_old], self.Y[:, from_old]
        history = replace(self, S=S, Y=Y, scale=None if scale is None else scale[new])
        return history if from_old.size == old.size else history._multiplied()

    @np.errstate(over="ignore", invalid="ignore")  # pairs that overflow are not used
    def in_units(self, scale: Vector | None) -> History:
        """Return the history with these units of the weights, shape (n,); None for 1."""
        factor = (1.0 if self.scale is None else self.scale) / (1.0 if scale is None else scale)
        S, Y = _rounded(_wide(self.S) * factor), _rounded(_wide(self.Y) / factor)
        return replace(self, S=S, Y=Y, scale=scale)._multiplied()

    @np.errstate(over="ignore", invalid="ignore")
    def _multiplied(self) -> History:
        """Return the history with the inner products of its rows, without pairs that have lost their curvature."""
        S, Y = _wide(self.S), _wide(self.Y)
        SY, YY = S @ Y.T, Y @ Y.T
        live = tuple(row for row in self.live if EPSILON * YY[row, row] < SY[row, row] < math.inf)
        spare = next(row for row in range(self.memory + 1) if row not in live)
        rows, inverse = np.array(live, dtype=np.intp), np.zeros_like(SY)
        inverse[rows[:, None], rows] = np.linalg.inv(np.triu(SY[rows[:, None], rows]))
        return replace(self, SY=SY, YY=YY, inverse=inverse, live=live, spare=spare)

    def cleared(self) -> History:
        """Return the history without its pairs."""
        return replace(self, Sv=np.empty(0), Yv=np.empty(0), live=())

    def direction(self, w: Vector, g: Vector, penalty: Separable) -> Combination:
        """Return d = -H v, with v the pseudo-gradient at w, the point to which ``advance`` came last.

        H is the identity while there are no pairs.
        """
        on_s, on_y, gamma = self._coefficients() if self.live else (np.empty(0), np.empty(0), 1.0)
        return Combination(self, on_s, on_y, gamma, w, g, penalty)

    def _coefficients(self) -> tuple[Vector, Vector, float]:
        """Return the weights of the live rows of S and Y and of v in H v: R^-T (s.y alpha - r.y), -gamma alpha."""
        rows = np.array(self.live)
        square, newest = (rows[:, None], rows), self.live[-1]
        inverse, gamma = self.inverse[square], float(self.SY[newest, newest] / self.YY[newest, newest])
        alpha = inverse.dot(self.Sv)
        r_y = gamma * (self.Yv - self.YY[square].dot(alpha))
        return (self.SY[rows, rows] * alpha - r_y).dot(inverse), -gamma * alpha, gamma


def _wide(rows: Rows) -> npt.NDArray[np.float64]:
    """Return rows of bfloat16 as float64."""
    return (rows.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def _rounded(rows: npt.NDArray[np.float64]) -> Rows:
    """Return rows as bfloat16, ties to even."""
    bits = rows.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@lru_cache
def _columns(k: int, first: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the columns of S and of Y in the products of ``secant_pair`` with k pairs, from pair ``first`` on."""
    return np.array([*range(first, k), 2 * k]), np.array([*range(k + first, 2 * k), 2 * k + 1])


def empty_history(memory: int, problem: Problem, w: Vector) -> History:
    """Return a history without pairs for a minimisation that starts at w, in units if the columns are uneven."""
    return History.empty(memory, w.size, units_if_uneven(problem, w))
