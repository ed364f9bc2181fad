"""Improved iterative scaling for maximum-entropy classifiers.

Symbols as in the paper: f_jk(x, y) = x_j [y = k] the features, f#(x) = sum over j of x_j, delta_jk the update of w_jk,
which solves

    sum over i of s_i p(k | x_i) x_ij exp(delta f#(x_i))  +  l2 (w_jk + delta)  =  sum over i of s_i [y_i = k] x_ij,

or E(delta) = b - l2 delta in short, with b = a - l2 w_jk, and a the count on the right. `docs/iterative-scaling.md`
derives it. With two classes and one output, k is class 1 alone: the features of class 0 are all zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Protocol, cast

import numpy as np
import numpy.typing as npt

from .. import vectors
from ..problem import Problem
from ..result import Status
from ..vectors import Vector
from .common.classifier import Classifier
from .common.conditions import no_l1
from .common.needs import Needs, check
from .common.quasi_newton import WINDOW, check_numbers, check_tolerances, stopping_status
from .common.state_schema import Sizes

__all__ = ["IIS", "Designed", "IISState", "Occurrences", "update"]

# A weight that would go to minus infinity moves until this fraction of its expected count is left.
FRACTION = 1e-3
# Newton's method stops at a step of this fraction of |delta|, or one that changes E by this fraction.
PRECISION = 1e-7
# Newton's method takes some five steps; a weight for which this number is not enough stays as it is.
MOST_NEWTON_STEPS = 100


class Designed(Classifier, Protocol):
    """A classifier with its design matrix."""

    @property
    def design(self) -> Any:
        """The x_ij, a SciPy CSR matrix, shape (n_samples, n_columns); n_features is n_columns * n_outputs."""


def not_negative(problem: Problem) -> str:
    """The features are finite and >= 0; looking costs a pass over the data."""
    design = cast(Designed, problem.objective).design
    bad = np.flatnonzero(~((design.data >= 0.0) & np.isfinite(design.data)))
    if not bad.size:
        return ""
    place = bad[np.argmin(design.indices[bad])]
    row = int(np.searchsorted(design.indptr, place, side="right")) - 1
    return (
        f"needs finite feature values >= 0, but column {design.indices[place]} has "
        f"{design.data[place]:g} in row {row}: shift the column"
    )


@dataclass(frozen=True)
class Occurrences:
    """The x_ij > 0 of samples with s_i > 0, column by column.

    Attributes:
        columns: numbers of the columns that have any, shape (m,).
        starts: number of the first entry of each, shape (m,).
        counts: number of entries of each, shape (m,).
        rows: i of each entry.
        amounts: s_i x_ij of each entry.
        totals: f#(x_i) of each entry.
        least: least f# of each column, shape (m,).
        most: greatest f# of each column, shape (m,).
    """

    columns: Annotated[npt.NDArray[np.int64], Sizes(("m",), below="n_features", ascending=True)]
    starts: Annotated[npt.NDArray[np.int64], Sizes(("m",))]
    counts: Annotated[npt.NDArray[np.int64], Sizes(("m",), least=1)]
    rows: Annotated[npt.NDArray[np.int32], Sizes(("entries",), below="n_samples")]
    amounts: Annotated[Vector, Sizes(("entries",))]
    totals: Annotated[Vector, Sizes(("entries",))]
    least: Annotated[Vector, Sizes(("m",))]
    most: Annotated[Vector, Sizes(("m",))]

    def mistake(self) -> str:
        """Return what contradicts itself; see `state_schema.Declared`."""
        ends = np.cumsum(self.counts)
        fits = (ends - self.counts == self.starts).all() and (ends[-1] if ends.size else 0) == self.rows.size
        return "" if fits else "the columns do not divide the entries"

    @classmethod
    def of(cls, design: Any, weights: Vector) -> Occurrences:
        """Return the occurrences in a CSR matrix, given the samples' weights."""
        matrix = design.tocsc()
        totals = np.asarray(design.sum(axis=1), np.float64).ravel()
        positive = (matrix.data > 0.0) & (weights[matrix.indices] > 0.0)
        column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))[positive]
        counts = np.bincount(column, minlength=matrix.shape[1])
        columns = np.flatnonzero(counts)
        counts = counts[columns]
        starts = np.cumsum(counts) - counts
        rows = matrix.indices[positive]
        amounts, totals = weights[rows] * matrix.data[positive], totals[rows]
        least, most = np.minimum.reduceat(totals, starts), np.maximum.reduceat(totals, starts)
        return cls(columns, starts, counts, rows, amounts, totals, least, most)

    def terms(self, factors: npt.NDArray[Any]) -> Vector:
        """Return s_i x_ij times the factor of sample i, for each entry."""
        terms: Vector = self.amounts * factors[self.rows]
        return terms

    def sums(self, terms: Vector) -> Vector:
        """Return the sum over each column of a number for each entry."""
        return np.add.reduceat(terms, self.starts)

    def expected(self, terms: Vector, delta: Vector) -> tuple[Vector, Vector]:
        """Return log E(delta) of each column and its derivative, the mean f#; ``terms`` are the s_i p(k | x_i) x_ij."""
        # The greatest exponent is taken out, so that nothing overflows.
        greatest = delta * np.where(delta > 0.0, self.most, self.least)
        exponents = np.repeat(delta, self.counts)
        exponents *= self.totals
        exponents -= np.repeat(greatest, self.counts)
        scaled = np.exp(exponents, out=exponents)
        scaled *= terms
        sums = self.sums(scaled)
        scaled *= self.totals
        return greatest + np.log(sums), self.sums(scaled) / sums


@dataclass(frozen=True, kw_only=True)
class IISState:
    """State of iterative scaling; saving it (pickle) is a checkpoint. A step leaves its argument as it was.

    Attributes:
        w: weights, shape (n_features,).
        objective: penalised, nats.
        nll: unpenalised, nats.
        violation: max-norm of the gradient of the penalised objective at w.
        iteration: steps taken, each with one gradient evaluation.
        status: RUNNING or CONVERGED.
        recent: objectives of the last steps, at most 6, the newest last.
        occurrences: the design matrix by columns, m of them not empty.
        counts: the right-hand sides a, shape (n_outputs, m).
    """

    w: Vector
    objective: float
    nll: float
    violation: float
    iteration: int
    status: Status
    recent: tuple[float, ...]
    occurrences: Occurrences
    counts: Annotated[Vector, Sizes((None, None))]

    @property
    def gradient_evaluations(self) -> int:
        """One at the start, and one a step."""
        return self.iteration + 1

    @property
    def passes(self) -> float:
        """Effective passes over the data; the evaluation of the probabilities in each step is not counted."""
        return float(self.gradient_evaluations)


@dataclass(frozen=True)
class IIS:
    """IIS: improved iterative scaling, for classifiers whose features are >= 0, with an L2 penalty or none.

    Source: Berger, Della Pietra & Della Pietra (1996), section 3.4; Della Pietra, Della Pietra & Lafferty (1997); with
    an L2 penalty, a Gaussian prior, Chen & Rosenfeld (2000). Where f# is the same for all samples, and there is no
    penalty, this is generalized iterative scaling (Darroch & Ratcliff 1972).

    Departures:

    - The equation of a weight is solved by Newton's method on the better of two forms (``update``).
    - Without a penalty the weight of a feature that never occurs with its class would go to minus infinity: each step
      divides its expected count by 1000 instead.

    Cost: a step takes one evaluation of the gradient, one of the probabilities, and about five exponentials for each
    entry of the design matrix and each output. It never increases the objective, and converges linearly:
    lbfgs is much faster. Memory: 20 bytes for each entry of the design matrix, and as much again during a step.

    Converged when one of these holds (F penalised objective, t the step):

    - (F[t-5] - F[t]) / 5 <= tolerance * |F[t]|, the mean relative decrease over the last 5 steps (t >= 5);
    - violation <= gradient_tolerance * max(1, |w|), and 1e-4 |F| / |w|, the max-norm of the gradient against the
      Euclidean norm of w;
    - a step does not change w.

    Args:
        tolerance: bound on the mean relative decrease; 0 switches this test off.
        gradient_tolerance: bound on the violation; 0 asks for an exact zero.

    Raises:
        OptionError: an option is out of its range; from ``init`` when the objective is not a classifier, a
            feature is negative or not finite, or there is an L1 penalty.

    Example:
        >>> from loglinear import MaxEnt
        >>> from loglinear.solvers import IIS
        >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 2.0]], ["a", "b", "a"]
        >>> MaxEnt(l2=0.1, solver=IIS(), fit_intercept=False).fit(X, y).result_.status.name
        'CONVERGED'
    """

    tolerance: float = 1e-5
    gradient_tolerance: float = 1e-6

    needs: ClassVar[Needs] = Needs(objective=(Designed,), conditions=(no_l1, not_negative))

    def __post_init__(self) -> None:
        check_tolerances(self.tolerance, self.gradient_tolerance)

    def init(self, problem: Problem, w0: Vector) -> IISState:
        """Count the features and evaluate the objective at w0 (one gradient evaluation); w0 is copied.

        Raises:
            OptionError: see the class.
            ObjectiveError: the objective or its gradient is not finite at w0.
        """
        check(self, problem)
        objective = cast(Designed, problem.objective)
        occurrences = Occurrences.of(objective.design, objective.weights)
        classes = range(objective.n_outputs) if objective.n_outputs > 1 else [1]
        state = IISState(
            w=np.array(w0, dtype=np.float64),
            objective=math.inf,
            nll=math.inf,
            violation=math.inf,
            iteration=0,
            status=Status.RUNNING,
            recent=(),
            occurrences=occurrences,
            counts=np.stack([occurrences.sums(occurrences.terms(objective.targets == k)) for k in classes]),
        )
        return self._evaluated(problem, state)

    def step(self, problem: Problem, state: IISState) -> IISState:
        """Solve the equations of all weights at the probabilities of the state, and update the weights."""
        objective = cast(Designed, problem.objective)
        occurrences, columns = state.occurrences, state.occurrences.columns
        w = state.w.reshape(-1, objective.n_outputs)
        l2 = _strengths(problem).reshape(w.shape)
        # Features that no sample has only count in the penalty, whose minimum is 0.
        w_new = np.where(l2 > 0.0, 0.0, w)
        # A probability of zero has underflowed: E would not grow with delta.
        p = np.maximum(objective.probabilities(state.w), np.finfo(np.float64).tiny)
        for k, a in enumerate(state.counts):
            terms = occurrences.terms(p[:, k])
            w_new[columns, k] = w[columns, k] + update(occurrences, terms, a, l2[columns, k], w[columns, k])
        following = self._evaluated(problem, replace(state, w=w_new.ravel(), iteration=state.iteration + 1))
        if np.array_equal(following.w, state.w):
            return replace(following, status=Status.CONVERGED)
        return following

    def _evaluated(self, problem: Problem, state: IISState) -> IISState:
        gradient = np.zeros_like(state.w)
        nll = problem.evaluate(state.w, gradient)
        objective, violation = problem.penalised(state.w, nll, gradient)
        check_numbers(objective, violation, f"after {state.iteration} steps")
        recent = (*state.recent[-WINDOW:], objective)
        norm = math.sqrt(vectors.norms(state.w)[1])
        return replace(
            state,
            objective=objective,
            nll=nll,
            violation=problem.violation(state.w, gradient, violation),
            status=stopping_status(
                recent, violation, norm, self.tolerance, self.gradient_tolerance, problem.size_of(objective)
            ),
            recent=recent,
        )


def update(occurrences: Occurrences, terms: Vector, a: Vector, l2: Vector, w: Vector) -> Vector:
    """Return the delta that solves the equation of each of the m columns, for one output.

    Newton's method on h(delta) = E(delta) + l2 delta - b, and on g(delta) = log E(delta) - log(b - l2 delta) where
    b - l2 delta > 0. Both are increasing and convex with the same root, so the tangent at any point meets zero at the
    root or right of it. The smaller of the two is used: after the first step delta decreases to the root, fast where E
    rules (g is nearly linear) and where the penalty does (h is).

    Args:
        occurrences: the design matrix by columns.
        terms: s_i p(k | x_i) x_ij of each entry, > 0.
        a: s_i [y_i = k] x_ij summed over each column, shape (m,).
        l2: strength of the penalty on each weight, shape (m,).
        w: weights, shape (m,).
    """
    b = np.where((a == 0.0) & (l2 == 0.0), FRACTION * occurrences.sums(terms), a - l2 * w)
    delta, moving = np.zeros_like(b), np.ones(b.shape, np.bool_)
    for _ in range(MOST_NEWTON_STEPS):
        with np.errstate(all="ignore"):
            log_e, mean = occurrences.expected(terms, delta)
            remaining = b - l2 * delta
            g_step = (log_e - np.log(remaining)) / (mean + l2 / remaining)
            # h over E where that is above 1, so that it does not overflow.
            e, scale = np.exp(np.minimum(log_e, 0.0)), np.exp(-np.maximum(log_e, 0.0))
            h_step = (e - scale * remaining) / (e * mean + scale * l2)
        step = np.where(moving, np.fmax(g_step, h_step), 0.0)
        delta -= step
        moving &= np.abs(step) > PRECISION * (np.abs(delta) + 1.0 / mean)
        if not moving.any():
            break
    return np.where(moving, 0.0, delta)


def _strengths(problem: Problem) -> Vector:
    """Return the strength of the L2 penalty on each weight; the last ``unpenalised`` bear none."""
    strengths = np.full(problem.n_features, problem.penalty.l2)
    strengths[problem.n_features - problem.penalty.unpenalised :] = 0.0
    return strengths
