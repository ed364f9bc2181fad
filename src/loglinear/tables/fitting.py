"""Maximum likelihood of hierarchical models: which cells can have fitted counts, and the fitted counts.

Sources: Deming & Stephan (1940) for iterative proportional fitting; Fienberg & Rinaldo (2012) for the existence of the
maximum likelihood estimate. It exists if and only if no sum of columns of X is 0 in all cells with samples and negative
in some of the others. Otherwise the likelihood grows as the fitted counts of those cells go to 0, and parameters to
infinity; the fitted counts of the other cells have a limit, the extended estimate.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.sparse

from ..errors import ConvergenceWarning, warn
from ..vectors import Vector
from .contingency import ContingencyTable, Mask
from .design import Design
from .formula import Term, generators_of

__all__ = ["MOST_PARAMETERS", "Support", "iterated", "newton", "solved", "support_of"]

MOST_PARAMETERS = 2000
"""Largest number of parameters for which the information matrix is computed."""
# Eigenvalues below this share of the largest are 0, and entries of their vectors below `_ZERO`.
_RANK, _ZERO = 1e-9, 1e-7
# Entries of the rows of a linear program that takes a few seconds.
_MOST_ENTRIES = 10**6
_MOST_STEPS, _MOST_CYCLES = 100, 10_000


@dataclass(frozen=True)
class Support:
    """The cells whose fitted counts are above 0, and the parameters that they determine.

    Attributes:
        cells: these cells, in the shape of the table.
        rank: number of parameters that can be estimated, the constant included; None if it is not known.
        nominal: the same if all cells but structural zeros had samples: infinite parameters count, too.
        empty: margins of generators without samples, as a generator and the levels of its variables.
        unbounded: unit vectors, shape (n_parameters, k), along which parameters of `design` can move to infinity.
        direction: the sum of parameters along which the likelihood grows, shape (n_parameters,); None if there is none.
        impossible: unit vectors of sums of parameters that structural zeros leave without cells.
        is_checked: whether other infinite parameters than those of empty margins would have been found.
    """

    cells: Mask
    rank: int | None
    nominal: int | None
    empty: list[tuple[Term, tuple[int, ...]]] = field(default_factory=list)
    unbounded: Vector | None = None
    direction: Vector | None = None
    impossible: Vector | None = None
    is_checked: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether the parameters are all determined."""
        return all(vectors is None or not vectors.size for vectors in (self.unbounded, self.impossible))


def support_of(table: ContingencyTable, design: Design) -> Support:
    """Return the cells that the maximum likelihood estimate fits with counts above 0, and the rank of the model.

    Cost: of X' diag(t) X, and of a linear program over the cells without samples if the estimate does not exist.
    """
    empty: list[tuple[Term, tuple[int, ...]]] = []
    cells = table.possible.copy()
    for generator in generators_of(design.terms):
        others = tuple(axis for axis in range(table.counts.ndim) if axis not in generator)
        filled = table.counts.sum(axis=others, keepdims=True) > 0
        lacking = ~filled & table.possible.any(axis=others, keepdims=True)
        empty += [
            (
                generator,
                tuple(int(at) for at, axis in zip(place, range(table.counts.ndim), strict=True) if axis in generator),
            )
            for place in np.argwhere(lacking)
        ]
        cells &= filled
    observed = table.counts > 0
    n = design.n_parameters
    if cells.all():
        if observed.all():
            return Support(cells, n, n)
    if n > MOST_PARAMETERS:
        return Support(cells, n if cells.all() else None, n if table.possible.all() else None, empty)
    is_checked, void, direction = _beyond(design, observed, cells)
    cells = cells & ~void
    structural = _null(design.gram(table.possible.astype(np.float64)))
    null = _null(design.gram(cells.astype(np.float64))) if not cells.all() else structural
    # What structural zeros alone leave undetermined is not infinite.
    unbounded = null - structural @ (structural.T @ null)
    if direction is None and empty:
        _, _, direction = _beyond(design, observed, table.possible)
    nominal = n - structural.shape[1]
    return Support(cells, n - null.shape[1], nominal, empty, unbounded, direction, structural, is_checked)


def _null(gram: Vector) -> Vector:
    """Return a basis of the null space of a positive semidefinite matrix, shape (n, k)."""
    values, vectors = scipy.linalg.eigh(gram)
    return np.asarray(vectors[:, values <= _RANK * max(values[-1], 1.0)])


def _beyond(design: Design, observed: Mask, cells: Mask) -> tuple[bool, Mask, Vector | None]:
    """Return whether it was possible to look, the cells that no estimate fits with counts above 0, and the direction.

    The direction d has X d = 0 in the cells with samples and X d <= 0 in the others, < 0 in as many as possible: the
    likelihood grows along it. None if there is none.
    """
    none = np.zeros_like(cells)
    zeros = np.flatnonzero(cells & ~observed)
    basis = _null(design.gram(observed.astype(np.float64))) if zeros.size else np.empty((0, 0))
    if not basis.size:
        return True, none, None
    if zeros.size * design.n_parameters > _MOST_ENTRIES:
        return False, none, None
    rows = design.rows(zeros) @ basis
    rows[np.abs(rows) < _ZERO] = 0.0
    moving = np.abs(rows).max(axis=1) > 0
    if not moving.any():
        return True, none, None
    zeros, rows = zeros[moving], rows[moving]
    m, k = rows.shape
    # rows d + s <= 0 with 0 <= s <= 1: the largest sum has s = 1 wherever some direction is negative.
    bounds = [(None, None)] * k + [(0.0, 1.0)] * m
    costs = np.concatenate([np.zeros(k), -np.ones(m)])
    constraints = scipy.sparse.hstack([scipy.sparse.csr_array(rows), scipy.sparse.eye_array(m)], format="csr")
    program = scipy.optimize.linprog(costs, A_ub=constraints, b_ub=np.zeros(m), bounds=bounds, method="highs")
    if program.x is None:
        return False, none, None
    falling = program.x[k:] > 0.5
    if not falling.any():
        return True, none, None
    none.flat[zeros[falling]] = True
    return True, none, np.asarray(basis @ program.x[:k])


def solved(information: Vector, right: Vector, *, is_whole: bool) -> Vector:
    """Return the solution of equations with a positive semidefinite matrix, of least norm if there are several."""
    if is_whole:
        try:
            return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(information), right))
        except scipy.linalg.LinAlgError:
            pass
    return np.asarray(inverse(information) @ right)


def inverse(information: Vector) -> Vector:
    """Return the inverse of a positive semidefinite matrix, the pseudo-inverse if it is singular."""
    # The matrix has the scale of the counts; unit diagonals make small eigenvalues comparable.
    scale = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    values, vectors = scipy.linalg.eigh(information / np.outer(scale, scale))
    nonzero = values > _RANK * 1e-2 * values[-1]
    half = vectors[:, nonzero] / np.sqrt(values[nonzero])
    return np.asarray(half @ half.T / np.outer(scale, scale))


def newton(counts: Vector, design: Design, support: Support, tolerance: float) -> tuple[Vector, int]:
    """Return the fitted counts by Newton's method, which is Fisher scoring here, and its number of steps.

    Args:
        counts: the counts.
        design: the parameters of the model, in the coding of effects.
        support: the cells to fit.
        tolerance: largest difference of a sum of counts from its fitted value, relative to the number of samples.
    """
    cells = support.cells
    target = design.sums(counts)
    mu = np.where(cells, counts + 0.5, 0.0)
    w = _weights(design, mu, np.where(cells, np.log(np.where(cells, mu, 1.0)), 0.0), support)
    limit = tolerance * max(counts.sum(), 1.0)
    value, mu = _likelihood(counts, design, w, cells)
    for step in range(1, _MOST_STEPS + 1):
        gradient = target - design.sums(mu)
        if np.abs(gradient).max() <= limit:
            return mu, step
        direction = solved(design.gram(mu), gradient, is_whole=support.is_whole)
        size = 1.0
        while True:
            new, fitted = _likelihood(counts, design, w + size * direction, cells)
            if new >= value - 1e-12 * abs(value) or size < 1e-10:
                break
            size /= 2
        if size < 1e-10:
            break
        w, value, mu = w + size * direction, new, fitted
    largest = float(np.abs(target - design.sums(mu)).max())
    warn(f"Newton's method did not converge: a margin is off by {largest:.3g} samples", ConvergenceWarning)
    return mu, _MOST_STEPS


def _weights(design: Design, mu: Vector, eta: Vector, support: Support) -> Vector:
    return solved(design.gram(mu), design.sums(mu * eta), is_whole=support.is_whole)


def _likelihood(counts: Vector, design: Design, w: Vector, cells: Mask) -> tuple[float, Vector]:
    """Return the Poisson log-likelihood, without a constant, and the fitted counts."""
    eta = design.scores(w)
    with np.errstate(over="ignore"):
        mu = np.where(cells, np.exp(eta), 0.0)
    return float((counts * eta).sum() - mu.sum()), mu


def iterated(counts: Vector, terms: Iterable[Term], support: Support, tolerance: float) -> tuple[Vector, int]:
    """Return the fitted counts by iterative proportional fitting, and its number of cycles.

    A cycle scales the fitted counts to the observed margin of each generator in turn. One cycle is enough for a
    decomposable model whose generators are in a suitable order.
    """
    generators = generators_of(terms)
    mu = support.cells.astype(np.float64)
    everywhere = range(counts.ndim)
    sums = [tuple(axis for axis in everywhere if axis not in generator) for generator in generators]
    targets = [counts.sum(axis=axes, keepdims=True) for axes in sums]
    limit = tolerance * max(counts.sum(), 1.0)
    difference = np.inf
    for cycle in range(1, _MOST_CYCLES + 1):
        difference = 0.0
        for axes, target in zip(sums, targets, strict=True):
            fitted = mu.sum(axis=axes, keepdims=True)
            if cycle > 1:
                difference = max(difference, float(np.abs(fitted - target).max()))
            mu *= np.divide(target, fitted, out=np.zeros_like(target), where=fitted > 0)
        if len(generators) == 1 or (cycle > 1 and difference <= limit):
            return mu, cycle
    message = f"iterative proportional fitting did not converge in {_MOST_CYCLES:,} cycles: a margin is off by "
    warn(f"{message}{difference:.3g} samples; use method='newton'", ConvergenceWarning)
    return mu, _MOST_CYCLES
