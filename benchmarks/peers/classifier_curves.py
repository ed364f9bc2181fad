"""How fast programs train logistic regression: the objective against seconds, of loglinear and of its peers.

All minimise F(w) = sum over samples of -log p(y | x; w) + l1 |w|_1 + (l2 / 2) |w|^2 from the same compressed rows, and
seconds count from the call of `fit`, so checks, conversions and transpositions are in them. Three ways to a curve:

- own: the trace of one fit, a point for each step; evaluations that only the trace needs are not counted.
- traced: one fit of scikit-learn's lbfgs, newton-cg or newton-cholesky; each evaluation of its loss is a point.
- refitted: what tells nothing on its way is fitted anew with more iterations, or a smaller tolerance, each time. So is
  everything where several models make one objective, one against the rest.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._linear_loss import LinearModelLoss
from sklearn.multiclass import OneVsRestClassifier

from loglinear import MaxEnt
from loglinear.objectives.classifier import ClassifierObjective

clock = time.perf_counter

# Solvers of loglinear by penalty, with options, and whether their steps run on several threads.
OWN: dict[str, tuple[tuple[str, dict[str, Any], bool], ...]] = {
    "l2": (("lbfgs", {}, True), ("dual_cd", {}, False), ("sag", {}, False)),
    "l1": (("prox_newton", {}, True), ("owlqn", {}, True), ("two_stage", {}, True)),
}
# Those for two classes, or one against the rest; dual_cd knows no intercept either.
BINARY = ("prox_newton", "dual_cd")
# newton-cholesky factorises a matrix of this many rows and columns, or fewer.
CHOLESKY = 1000
TOLERANCES = tuple(10.0 ** (-half / 2) for half in range(25))
DECADES = TOLERANCES[2::2]
NEVER = 1e-14
MOST = 2**14


class Point(NamedTuple):
    """What a training has reached: seconds so far, F in nats, and the weights that are not zero, if counted.

    F is infinite where a fit diverged, or did not end in its time.
    """

    seconds: float
    objective: float
    nonzero: int | None = None


Curve = list[Point]


class Enough(Exception):
    """Stops a fit that has reached its goal, or its limit."""


@dataclass
class Case:
    """A problem: samples, classes from 0 on, penalty.

    kind is "binary", "softmax", or "ovr": as many binary problems as classes, whose objectives are summed.
    """

    name: str
    X: csr_array
    y: np.ndarray
    l1: float = 0.0
    l2: float = 0.0
    kind: str = "binary"
    intercept: bool = False

    @property
    def penalty(self) -> str:
        """The penalty's name, l1 or l2."""
        return "l1" if self.l1 else "l2"

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1

    @cached_property
    def likelihoods(self) -> list[ClassifierObjective]:
        """The negative log-likelihood, or those of the classes against the rest."""
        objective = ClassifierObjective(self.X, self.y, n_classes=self.n_classes, intercept=self.intercept)
        apart = self.kind == "ovr"
        return [objective.one_against_rest(target) for target in range(self.n_classes)] if apart else [objective]

    def point(self, seconds: float, coef: np.ndarray, intercept: Any) -> Point:
        """A point with the objective of a trained model, shapes as scikit-learn has them."""
        coef = np.reshape(coef, (-1, self.X.shape[1]))
        w = np.vstack([coef.T, np.reshape(intercept, (1, -1))]) if self.intercept else coef.T
        parts = w.T if self.kind == "ovr" else [w]
        pairs = zip(self.likelihoods, parts, strict=True)
        nll = sum(nll.value_and_gradient(np.ascontiguousarray(part).ravel())[0] for nll, part in pairs)
        penalty = self.l1 * np.abs(coef).sum() + 0.5 * self.l2 * np.square(coef).sum()
        objective = float(nll + penalty)
        return Point(seconds, objective if math.isfinite(objective) else math.inf, int(np.count_nonzero(coef)))


# -- own


def own_model(case: Case, solver: str | None, options: dict[str, Any], threads: int | None) -> MaxEnt:
    """An estimator of loglinear that goes on until it is stopped."""
    return MaxEnt(
        l1=case.l1,
        l2=case.l2,
        solver=solver,
        multi_class="ovr" if case.kind == "ovr" else "softmax",
        fit_intercept=case.intercept,
        max_iterations=None,
        solver_options={"tolerance": 0.0} | options,
        n_jobs=threads,
    )


def own(case: Case, model: MaxEnt, goal: float, limit: float) -> Curve:
    """The curve of one fit of loglinear."""
    curve: Curve = []
    before = 0.0
    start = clock()

    def note(record: Any, state: Any) -> bool:
        nonlocal before
        if not record.iteration:  # from the call of fit to the solver's start
            before = clock() - start - record.seconds
        curve.append(Point(before + record.seconds, record.objective, record.nnz))
        return record.objective <= goal or curve[-1].seconds > limit

    model.fit(case.X, case.y, callbacks=[note])
    last = verified(case, curve.pop(), model.coef_, model.intercept_)
    return [*curve, last]


def verified(case: Case, point: Point, coef: np.ndarray, intercept: Any) -> Point:
    """The last point of a curve, checked against the weights that the fit ended with.

    Raises:
        ValueError: their objective is another one.
    """
    found = case.point(point.seconds, coef, intercept)
    if not math.isclose(found.objective, point.objective, rel_tol=1e-6):
        message = f"{case.name}: a program reports {point.objective!r} where the objective is {found.objective!r}"
        raise ValueError(message)
    return found


# -- traced


def peer(case: Case, solver: str, **options: Any) -> LogisticRegression:
    """scikit-learn's estimator of the same problem."""
    settings = {"tol": NEVER, "max_iter": 100_000, "random_state": 0} | options
    if case.l1:
        settings["l1_ratio"] = 1.0
    return LogisticRegression(C=1.0 / (case.l1 or case.l2), solver=solver, fit_intercept=case.intercept, **settings)


def traced(case: Case, model: LogisticRegression, goal: float, limit: float) -> Curve:
    """The curve of one fit: every loss that the solver asks for, which is F over the number of samples."""
    curve: Curve = []
    coef: np.ndarray | None = None

    def noting(method: Callable[..., Any]) -> Callable[..., Any]:
        def noted(loss: LinearModelLoss, coefficients: Any = None, *rest: Any, **named: Any) -> Any:
            nonlocal coef
            coef = named["coef"] if coefficients is None else coefficients
            result = method(loss, coef, *rest, **{key: value for key, value in named.items() if key != "coef"})
            mean = result[0] if isinstance(result, tuple) else result
            curve.append(Point(clock() - start, mean * len(case.y)))
            if curve[-1].objective <= goal or curve[-1].seconds > limit:
                raise Enough
            return result

        return noted

    watched = {name: noting(getattr(LinearModelLoss, name)) for name in ("loss", "loss_gradient")}
    with mock.patch.multiple(LinearModelLoss, **watched):
        start = clock()
        try:
            model.fit(case.X, case.y)
        except Enough:
            assert coef is not None
            matrix = coef.reshape((-1 if case.kind == "softmax" else 1, case.X.shape[1] + case.intercept), order="F")
            last = verified(case, curve.pop(), matrix[:, : case.X.shape[1]], matrix[:, case.X.shape[1] :])
        else:
            last = case.point(clock() - start, model.coef_, model.intercept_)
    return [*curve, last]


# -- refitted


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises Enough when the seconds are over, or, in code that is not Python's, as soon as it returns."""
    over = False

    def stop(number: int, frame: Any) -> None:
        nonlocal over
        over = True
        raise Enough

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    except SystemError:
        if over:  # what Numba makes of it
            raise Enough from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def growing(factor: float) -> Iterator[int]:
    """Numbers of iterations: 1, 2, ..., each at least one more and about a factor more than the one before."""
    k = 1
    while k <= MOST:
        yield k
        k = max(k + 1, round(k * factor))


def refitted(
    case: Case, fit: Callable[[Any], tuple[Any, Any]], settings: Callable[[], Iterable[Any]], goal: float, limit: float
) -> Curve:
    """The curve of fits with one setting after the other; one that takes half of the limit, or fails, is the last."""
    curve: Curve = []
    for setting in settings():
        start = clock()
        try:
            with within(limit):
                weights = fit(setting)
        except Enough:
            return [*curve, Point(clock() - start, math.inf)]
        curve.append(case.point(clock() - start, *weights))
        # What more iterations do not change has stopped by itself.
        halted = isinstance(setting, int) and len({point.objective for point in curve[-3:]}) == 1 < len(curve) - 1
        reached = curve[-1].objective <= goal or curve[-1].objective == math.inf
        if reached or halted or curve[-1].seconds > limit / 2:
            break
    return curve


def fitted(case: Case, model: BaseEstimator, **settings: Any) -> tuple[Any, Any]:
    """Weights of an estimator fitted with some settings."""
    model = clone(model).set_params(**settings).fit(case.X, case.y)
    if isinstance(model, OneVsRestClassifier):
        return [[np.ravel(getattr(each, name)) for each in model.estimators_] for name in ("coef_", "intercept_")]
    return model.coef_, model.intercept_


def by_iterations(case: Case, model: BaseEstimator, factor: float) -> Program:
    """Fits with growing max_iter."""
    settings = partial(growing, factor)
    return Program(partial(refitted, case, lambda k: fitted(case, model, max_iter=k), settings), refitted=True)


def by_tolerance(case: Case, model: BaseEstimator, name: str, tolerances: Iterable[float]) -> Program:
    """Fits with falling tolerance."""
    run = partial(refitted, case, lambda value: fitted(case, model, **{name: value}), lambda: tolerances)
    return Program(run, refitted=True)


def skglm_lbfgs(case: Case, iterations: int) -> tuple[Any, Any]:
    """The L-BFGS of skglm, which has no intercept."""
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    solver = LBFGS(tol=NEVER, max_iter=iterations)
    return solver.solve(case.X.tocsc(), 2.0 * case.y - 1.0, Logistic(), L2(case.l2 / len(case.y)))[0], 0.0


def warm_up(processes: int) -> None:
    """Has skglm compiled, and threads and processes started, before anything is timed."""
    from skglm import SparseLogisticRegression

    samples = np.random.default_rng(0).integers(0, 2, (200, 50)).astype(np.float64)
    few = Case("compilation", csr_array(samples), np.arange(200) % 2, l2=1.0)
    few.X.indices, few.X.indptr = (array.astype(np.int32) for array in (few.X.indices, few.X.indptr))
    for intercept in (False, True):
        fitted(few, SparseLogisticRegression(alpha=1e-3, max_iter=20, fit_intercept=intercept))
    skglm_lbfgs(few, 3)
    fitted(few, own_model(few, "lbfgs", {}, None), max_iterations=3)
    few = Case("processes", few.X, np.arange(200) % 3, l2=1.0, kind="ovr")
    fitted(few, OneVsRestClassifier(peer(few, "lbfgs"), n_jobs=processes))


# -- which


@dataclass(frozen=True)
class Program:
    """What makes a curve, given a goal and a limit of seconds.

    threads is None for a peer. A peer that is refitted may be timed between two settings.
    """

    run: Callable[[float, float], Curve]
    threads: int | None = None
    refitted: bool = False


def own_programs(case: Case, threads: Iterable[int]) -> dict[str, Program]:
    """The solvers of loglinear, on so many threads."""
    programs = {}
    for solver, options, parallel in OWN[case.penalty]:
        if (case.kind == "softmax" and solver in BINARY) or (case.intercept and solver == "dual_cd"):
            continue
        for number in threads if parallel else (1,):
            model = own_model(case, solver, options, number)
            if case.kind == "ovr":
                fits = partial(refitted, case, partial(own_fit, case, model), lambda: TOLERANCES)
            else:
                fits = partial(own, case, model)
            programs[f"loglinear {solver}, {number} thread(s)"] = Program(fits, number)
    return programs


def own_fit(case: Case, model: MaxEnt, tolerance: float) -> tuple[Any, Any]:
    return fitted(case, model, solver_options={"tolerance": tolerance})


def peers(case: Case, processes: int) -> dict[str, Program]:
    """The peers that can solve the problem, and solve no other: no penalty on the intercept."""
    if case.kind == "ovr":
        return one_vs_rest_peers(case, processes)
    programs = {}
    binary, width = case.kind == "binary", case.X.shape[1]
    if case.l2:
        solvers = ["lbfgs", "newton-cg"] + ["newton-cholesky"] * (binary and width <= CHOLESKY)
        for solver in solvers:
            programs[f"scikit-learn {solver}"] = Program(partial(traced, case, peer(case, solver)))
    if not case.intercept:
        for solver in ["sag"] * bool(case.l2) + ["saga"]:
            programs[f"scikit-learn {solver}"] = by_iterations(case, peer(case, solver, tol=0.0), 2.0)
    if binary and not case.intercept:
        programs["scikit-learn liblinear"] = by_iterations(case, peer(case, "liblinear"), 1.3)
        if case.l2:
            model = peer(case, "liblinear", dual=True)
            programs["scikit-learn liblinear, dual"] = by_iterations(case, model, 1.5)
    return programs | (other_peers(case) if binary else {})


def other_peers(case: Case) -> dict[str, Program]:
    """The programs skglm and celer, on binary problems."""
    import celer
    from skglm import SparseLogisticRegression

    if case.l2:
        lbfgs = partial(refitted, case, partial(skglm_lbfgs, case), partial(growing, 1.3))
        return {} if case.intercept else {"skglm LBFGS": Program(lbfgs, refitted=True)}
    alpha = case.l1 / len(case.y)
    model = SparseLogisticRegression(alpha=alpha, tol=NEVER, fit_intercept=case.intercept)
    programs = {"skglm ProxNewton": by_iterations(case, model, 1.1)}
    if not case.intercept:
        model = celer.LogisticRegression(C=1.0 / case.l1, solver="celer-pn", max_iter=100)
        programs["celer celer-pn"] = by_tolerance(case, model, "tol", DECADES)
    return programs


def one_vs_rest_peers(case: Case, processes: int) -> dict[str, Program]:
    """OneVsRestClassifier over solvers of scikit-learn, and once in several processes."""
    options: dict[str, dict[str, Any]] = {"lbfgs": {}, "newton-cg": {}, "liblinear": {}, "saga": {}, "sag": {}}
    models = {name: OneVsRestClassifier(peer(case, name, max_iter=1000)) for name in options}
    models["liblinear, dual"] = OneVsRestClassifier(peer(case, "liblinear", dual=True, max_iter=1000))
    models[f"lbfgs, {processes} processes"] = OneVsRestClassifier(peer(case, "lbfgs", max_iter=1000), n_jobs=processes)
    programs = {}
    for name, model in models.items():
        programs[f"scikit-learn {name}"] = by_tolerance(case, model, "estimator__tol", TOLERANCES)
    return programs
