"""The optimum of a likelihood near the weights of a training, and the inverse of its Hessian there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from ...errors import DataError
from ...result import Result
from ...vectors import Vector
from ...visible import listed

__all__ = [
    "GROWTH",
    "SINGULAR",
    "Likelihood",
    "Optimum",
    "Sums",
    "inverse_of",
    "optimum",
    "refuse_dependent",
    "unconverged",
]

# Newton steps at most, and the length of the last one in standard errors.
_STEPS, _SMALL = 25, 1e-6
# How far from the optimum weights of a training are at most, in standard errors.
_FAR = 1.0
# Reciprocal condition below which a Hessian is singular, and eigenvalues that columns depend on each other with.
_SINGULAR, _DEPENDENT = 1e-13, 1e-10
# Entries of a vector that a message names: this share of the largest.
_LARGE = 0.05
GROWTH = 0.5
"""Least change of a score by the last Newton step where weights grow without limit."""
SINGULAR = (
    "the Hessian of the likelihood is singular: probabilities of the training data are all near 0 or 1, so that "
    "weights are not determined; give a penalty (l2), or scale the columns to about 1"
)
"""What a Hessian says that has no inverse although no columns depend on each other."""


class Sums(NamedTuple):
    """Sums over samples at some theta: NLL, gradient and Hessian, without the penalty."""

    nll: float
    gradient: Vector
    matrix: Vector


class Likelihood(Protocol):
    """The likelihood of some data as a function of parameters theta, with a penalty."""

    def sums(self, theta: Vector) -> Sums:
        """Return NLL, gradient and Hessian."""

    def penalty_gradient(self, theta: Vector) -> Vector:
        """Return the gradient of the penalty."""

    def inverse(self, hessian: Vector, theta: Vector, nll: float) -> Vector:
        """Return the inverse of the Hessian with that of the penalty; raise DataError if it is singular."""

    def check_finite(self, theta: Vector, step: Vector, nll: float, *, is_last: bool) -> None:
        """Raise DataError if parameters grow for ever along a Newton step."""


class Optimum(NamedTuple):
    """An optimum: its parameters, with the NLL, Hessian H and (H + S)^-1 at the last step before it."""

    theta: Vector
    nll: float
    hessian: Vector
    inverse: Vector


def optimum(model: Likelihood, theta: Vector, *, l1: float, l2: float, unconverged: str = "") -> Optimum:
    """Return the optimum near the weights of a training, by Newton steps; after L1 these weights themselves.

    Args:
        model: the likelihood.
        theta: its parameters at the weights of the training.
        l1: strength of the L1 penalty.
        l2: strength of the L2 penalty.
        unconverged: how the training has ended, if it did not converge.

    Raises:
        DataError: weights are not determined, are infinite, or are far from the optimum; names columns.
    """
    for at in range(_STEPS):
        nll, gradient, hessian = model.sums(theta)
        inverse = model.inverse(hessian, theta, nll)
        step = -inverse @ (gradient + model.penalty_gradient(theta))
        length = _length(step, inverse)
        if not l1 and not l2:
            model.check_finite(theta, step, nll, is_last=length < _SMALL or at == _STEPS - 1)
        if at == 0:
            _check_near(length, unconverged)
        if l1 or length < _SMALL:
            return Optimum(theta if l1 else theta + step, nll, hessian, inverse)
        theta = theta + step
    message = f"Newton steps do not reach an optimum in {_STEPS} steps; scale the columns to about 1"
    raise DataError(message)


def _check_near(distance: float, unconverged: str) -> None:
    """Raise DataError if the weights of a training are some standard errors from the optimum."""
    if not distance <= _FAR:
        message = f"a weight is {distance:.3g} standard errors from its optimum on these data: "
        message += unconverged or "they are not the data of the training, or the training stopped early; give X, y and "
        if not unconverged:
            message += "sample_weight of the training, and train with a smaller tolerance"
        raise DataError(message)


def _length(step: Vector, inverse: Vector) -> float:
    """Return the largest change of a weight in its standard errors."""
    return float(np.max(np.abs(step) / np.sqrt(np.diag(inverse)), initial=0.0))


def inverse_of(curvature: Vector) -> Vector | None:
    """Return the inverse of a symmetric matrix; None unless it is positive definite, far enough from singular."""
    diagonal = np.diag(curvature)
    if not ((diagonal > 0.0).all() and np.isfinite(curvature).all()):
        return None
    scale = 1.0 / np.sqrt(diagonal)
    scaled = curvature * scale * scale[:, None]
    factor, failed = scipy.linalg.lapack.dpotrf(scaled, lower=1)
    norm = np.abs(scaled).sum(axis=0).max(initial=0.0)
    if failed or not scipy.linalg.lapack.dpocon(factor, norm, uplo="L")[0] > _SINGULAR:
        return None
    half, _ = scipy.linalg.lapack.dtrtri(factor, lower=1)
    half = np.tril(half) * scale
    return np.asarray(half.T @ half)


def refuse_dependent(gram: Vector, named: Callable[[int], str]) -> None:
    """Raise DataError if some columns depend on each other, by the products of columns of about the same size.

    Args:
        gram: the products, shape (n, n).
        named: returns what messages call a column.
    """
    values, vectors = np.linalg.eigh(gram)
    if values[0] > _DEPENDENT * values[-1]:
        return
    sizes = np.abs(vectors[:, 0])
    names = [named(int(at)) for at in np.flatnonzero(sizes > _LARGE * sizes.max())]
    message = f"{listed(names[:-1], 6)} and {names[-1]} are collinear: each is a combination of the others, so that "
    message += "their weights are not determined; leave out one, or give a penalty (l2)"
    raise DataError(message)


def unconverged(results: Sequence[Result]) -> str:
    """Return how the training of a model has ended, if it is known that it did not converge; else an empty text."""
    if not results or results[0].status.converged:
        return ""
    status = results[0].status.name.lower().replace("_", " ")
    return f"the training has not converged ({status}); raise max_iterations or choose another solver"
