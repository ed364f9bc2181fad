"""Regularisation paths of classifiers by steps of ``ProxNewton``, each point in one native call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np

from .. import vectors
from ..gain import NEAR, has_settled
from ..gap import useful
from ..penalty import ElasticNet, varies
from ..problem import Movable, Numbers, Problem
from ..protocols import missing
from ..result import Result, Status
from ..stopping import Stop
from ..trace import Trace, TraceRecord
from ..vectors import Vector
from .auto import Auto
from .common.needs import suits
from .common.solver import Solver
from .grafting import GraftingLight
from .prox_newton import LEAST, NewtonSteps, ProxNewton

__all__ = ["MOST_ACTIVE", "intercept_alone", "newton_path", "path_solver"]

# By default a point has converged when a step promises to decrease the objective by at most this share.
BY_DEFAULT = ProxNewton(tolerance=1e-8, gradient_tolerance=0.0, precision=0.01)
# With three classes or more, Newton steps are slower than others from this number of non-zero weights on.
MOST_ACTIVE = 1000
# More steps than any point with an optimum needs. A single class has none: the intercept grows forever.
MOST_STEPS = 1000


class Reached(Protocol):
    """A point of a path, and the steps that led to it."""

    @property
    def w(self) -> Vector:
        """Weights, shape (n_features,)."""

    @property
    def nll(self) -> float:
        """Unpenalised NLL, nats."""

    @property
    def objective(self) -> float:
        """Penalised objective, nats."""

    @property
    def violation(self) -> float:
        """Max-norm of the subgradient of minimum norm, by the intercept itself."""

    @property
    def gap(self) -> float:
        """Upper bound of the distance of the objective from its optimum, nats."""

    @property
    def steps(self) -> int:
        """Steps made at this point."""

    @property
    def evaluations(self) -> int:
        """Evaluations of the objective at this point."""

    @property
    def converged(self) -> bool:
        """Whether a stopping rule was met, and not the limit of the steps."""

    @property
    def failed(self) -> bool:
        """Whether a line search failed."""


class Walk(Protocol):
    """A path on its way."""

    def minimise(self, l1: float, *, tolerance: float, gradient_tolerance: float, max_steps: int) -> Reached:
        """Minimise at a strength of the L1 penalty, from the weights of the strength before."""

    def left(self, l1: float) -> Reached:
        """Return the weights that Ctrl-C has left."""


class Walking(NewtonSteps, Protocol):
    """A classifier that can follow a path."""

    @property
    def targets(self) -> Numbers:
        """Classes of the samples, from 0, shape (n_samples,)."""

    @property
    def intercept(self) -> float:
        """Value of the intercept's column; 0 without an intercept."""

    def newton_path(self, w: Vector, *, l2: float, precision: float, sweeps: int, least: int) -> Walk:
        """Return the start of a path at some weights, with the options of ``newton_step``."""


def intercept_alone(problem: Problem) -> Vector | None:
    """Return the weights at the optimum of the intercept alone; None unless all classes have a weight."""
    objective = cast(Walking, problem.objective)
    if missing(objective, Walking) or not objective.n_unpenalised == problem.penalty.unpenalised == objective.n_outputs:
        return None
    counts = np.bincount(objective.targets, objective.weights, max(2, objective.n_outputs))
    if counts.min() <= 0.0:
        return None
    scores = np.log(counts / counts[0])
    w = np.zeros(problem.n_features)
    own = scores[1:] if objective.n_outputs == 1 else scores - scores.mean()
    w[w.size - own.size :] = own / objective.intercept
    return w


def path_solver(problem: Problem) -> Solver[Any]:
    """Return the solver that follows a path by default; the problem's l1 is ignored."""
    with_l1 = replace(problem, penalty=problem.penalty.with_l1(1.0))
    return BY_DEFAULT if suits(ProxNewton, with_l1) else GraftingLight()


def newton_path(
    problem: Problem, solver: Solver[Any] | None, stop: Stop, w0: Callable[[], Vector]
) -> Callable[[float], Result] | None:
    """Return the function that minimises at one strength of the L1 penalty after the other; None for other problems.

    A trace has only the record of its end. Ctrl-C ends a point with the weights of its last step.

    Args:
        problem: objective and penalty; its l1 is ignored.
        solver: ``ProxNewton``, or None or ``Auto`` for a rule that is stricter than the solver's default.
        stop: limits of each point; only steps can be limited.
        w0: returns the weights to start from.
    """
    with_l1 = replace(problem, penalty=problem.penalty.with_l1(1.0))
    is_suited = isinstance(problem.penalty, ElasticNet) and not varies(problem.penalty)
    is_suited = is_suited and not missing(problem.objective, Walking)
    if not is_suited or not suits(ProxNewton, with_l1) or stop != Stop(max_iterations=stop.max_iterations):
        return None
    if isinstance(solver, Auto):
        solver = BY_DEFAULT if solver.tolerance is None else ProxNewton(tolerance=solver.tolerance)
    solver = BY_DEFAULT if solver is None else solver
    if not isinstance(solver, ProxNewton):
        return None
    w, original = w0(), None
    near = problem.near_zero(w)
    if near is not None:
        original, (problem, w) = cast(Movable, problem.objective), near
    objective = cast(Walking, problem.objective)
    walk = objective.newton_path(
        w, l2=problem.penalty.l2, precision=solver.precision, sweeps=solver.max_sweeps, least=LEAST
    )
    max_steps = MOST_STEPS if stop.max_iterations is None else stop.max_iterations
    little = 0.0 if objective.has_small_gram(1.0) else solver.gradient_tolerance
    return _Points(problem, original, walk, solver.tolerance, little, max_steps).at


@dataclass(frozen=True)
class _Points:
    """A path on its way, and the rules that end each point.

    Attributes:
        problem: the one that is followed.
        original: objective of the weights to return, if ``problem`` is over columns from which numbers are subtracted.
    """

    problem: Problem
    original: Movable | None
    walk: Walk
    tolerance: float
    gradient_tolerance: float
    max_steps: int

    def at(self, l1: float) -> Result:
        """Minimise at the next strength."""
        began = time.perf_counter()
        try:
            reached = self.walk.minimise(
                l1,
                tolerance=self.tolerance,
                gradient_tolerance=self.gradient_tolerance,
                max_steps=self.max_steps,
            )
        except KeyboardInterrupt:
            return self._result(l1, self.walk.left(l1), Status.INTERRUPTED, time.perf_counter() - began)
        seconds = time.perf_counter() - began
        status = Status.CONVERGED if reached.converged else Status.MAX_ITERATIONS
        return self._result(l1, reached, Status.LINE_SEARCH_FAILED if reached.failed else status, seconds)

    def _result(self, l1: float, reached: Reached, status: Status, seconds: float) -> Result:
        w, objective, nll, violation = reached.w, reached.objective, reached.nll, reached.violation
        gap, is_moved = useful(reached.gap, objective), self.problem.shift is not None
        is_unclear = status is Status.CONVERGED and (gap is None or gap > NEAR * objective)
        penalised = self.problem
        if is_moved or is_unclear or penalised.n_classes > 1:
            penalised = replace(penalised, penalty=penalised.penalty.with_l1(l1))
            w = penalised.centred(w)
            objective = min(objective, nll + penalised.penalty.value(w))
        if is_moved or is_unclear:
            gradient = np.empty_like(w)
            evaluated = penalised.evaluate(w, gradient)
            if is_moved:  # by columns as they were given
                violation = penalised.violation(w, gradient)
            if is_unclear and not has_settled(penalised, w, evaluated, gradient, gap):
                status = Status.STALLED
        steps, evaluations = reached.steps, reached.evaluations
        if self.original is not None:
            w = self.original.weights_of(*cast(Movable, self.problem.objective).coefficients(w))
        nnz = vectors.count_nonzero(w)
        last = TraceRecord(steps, float(evaluations), evaluations, seconds, objective, nll, nnz, violation, gap=gap)
        return Result(
            w=w,
            status=status,
            trace=Trace([last]),
            objective=objective,
            nll=nll,
            violation=violation,
            iterations=steps,
            passes=float(evaluations),
            gradient_evaluations=evaluations,
            seconds=seconds,
            state=None,
            gap=gap,
            unbounded="",
        )
