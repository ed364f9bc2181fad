"""Which programs train logistic regression, and how the problem is stated for each.

F(w) = sum over samples of -log p(y | x; w) + l1 |w|_1 + (l2 / 2) |w|^2, the intercept free, reads as follows:

- scikit-learn, celer: C = 1 / (l1 + l2), and scikit-learn's l1_ratio = l1 / (l1 + l2).
- skglm, glmnet, adelie: the mean of the samples' losses, so alpha or lambda = (l1 + l2) / n, and the share of l1 beside
  it; nothing is standardised. adelie divides the loss of a softmax by the number of classes K too, so lambda / K. It
  has penalties of whole rows of a softmax's weights only, which are the same without L1.
- snapml: regularizer = l1 or l2. It has no elastic net, and penalises the intercept.

A peer that is not installed is left out; `missing_peers` names it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from classifier_curves import (
    DECADES,
    TOLERANCES,
    Curve,
    Enough,
    Program,
    by_iterations,
    by_tolerance,
    clock,
    fitted,
    growing,
    own,
    refitted,
    traced,
)
from classifier_problems import Case
from scipy.sparse import csc_matrix, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from loglinear import MaxEnt

# Modules of the peers, and the packages that contain them.
PEERS = {
    "sklearn": "scikit-learn",
    "skglm": "skglm",
    "celer": "celer",
    "adelie": "adelie",
    "glmnet": "python-glmnet",
    "snapml": "snapml",
}
# Solvers of loglinear by penalty, with options, and whether their steps run on several threads.
OWN: dict[str, tuple[tuple[str, dict[str, Any], bool], ...]] = {
    "l2": (
        ("auto", {}, True),
        ("lbfgs", {}, True),
        ("bfgs", {}, True),
        ("dual_cd", {}, False),
        ("sag", {}, False),
    ),
    "l1": (("auto", {}, True), ("prox_newton", {}, True), ("owlqn", {}, True), ("two_stage", {}, True)),
}
# Those for two classes, or one against the rest; dual_cd has no intercept either.
BINARY = ("prox_newton", "dual_cd")
# Tolerances of glmnet and adelie, which bound the square of a change.
SQUARES = tuple(10.0**-power for power in range(1, 21))
# Methods with a matrix of this many rows and columns, or fewer.
SQUARE = ("bfgs",)
MOST_SQUARE = 1000
DEFAULT = "loglinear as it comes"
NEVER = 1e-14

Weights = tuple[Any, Any]


def missing_peers() -> list[str]:
    """The packages of peers that are not installed."""
    return [package for module, package in PEERS.items() if find_spec(module) is None]


def is_square(case: Case) -> bool:
    """Whether a matrix with a row and a column for each weight is small."""
    return case.X.shape[1] * (case.n_classes if case.kind == "softmax" else 1) <= MOST_SQUARE


# -- loglinear


def default_model(case: Case, threads: int | None) -> MaxEnt:
    """An estimator of loglinear that only knows the problem: solver and tolerances as they come."""
    kind = "ovr" if case.kind == "ovr" else "softmax"
    return MaxEnt(l1=case.l1, l2=case.l2, multi_class=kind, fit_intercept=case.intercept, n_jobs=threads)


def own_model(case: Case, solver: str, options: dict[str, Any], threads: int | None) -> MaxEnt:
    """An estimator of loglinear that goes on until it is stopped."""
    settings = {"solver": solver, "max_iterations": None, "solver_options": {"tolerance": 0.0} | options}
    return default_model(case, threads).set_params(**settings)


def own_fit(case: Case, model: MaxEnt, tolerance: float) -> Weights:
    return fitted(case, model, solver_options={"tolerance": tolerance})


def default_fit(case: Case, threads: int, *_: float, solver: str = "auto") -> Curve:
    """The end of a fit of loglinear as it comes; goal and limit do not matter."""
    model = default_model(case, threads).set_params(solver=solver)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = clock()
        model.fit(case.X, case.y)
        seconds = clock() - start
    return [case.point(seconds, model.coef_, model.intercept_)]


def own_solvers(case: Case) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The solvers of loglinear that suit a problem, as in `OWN`."""
    for solver, options, parallel in OWN["l1" if case.l1 else "l2"]:
        unfit = (case.kind == "softmax" and solver in BINARY) or (case.intercept and solver == "dual_cd")
        if not unfit and (solver not in SQUARE or is_square(case)):
            yield solver, options, parallel


def own_programs(case: Case, threads: Iterable[int]) -> dict[str, Program]:
    """The solvers of loglinear, on so many threads."""
    programs = {}
    for solver, options, parallel in own_solvers(case):
        for number in threads if parallel else (1,):
            model = own_model(case, solver, options, number)
            if case.kind == "ovr":
                fits = partial(refitted, case, partial(own_fit, case, model), lambda: TOLERANCES)
            else:
                fits = partial(own, case, model)
            programs[f"loglinear {solver}, {number} thread(s)"] = Program(fits, number)
    return programs


# -- one strength, or several for a path


def peer(case: Case, solver: str, **options: Any) -> LogisticRegression:
    """scikit-learn's estimator of the same problem."""
    settings = {"tol": NEVER, "max_iter": 100_000, "random_state": 0} | options
    if case.l1:
        settings["l1_ratio"] = case.l1_ratio
    return LogisticRegression(C=1.0 / case.strength, solver=solver, fit_intercept=case.intercept, **settings)


def glmnet_weights(case: Case, strengths: Sequence[float], tolerance: float = 1e-7) -> list[Weights]:
    """The weights of glmnet at falling sums of both strengths.

    Raises:
        Enough: it found none at the last one.
    """
    from glmnet import LogitNet

    path = np.asarray(strengths) / len(case.y)
    settings = {"standardize": False, "fit_intercept": case.intercept, "n_splits": 0, "tol": tolerance}
    model = LogitNet(alpha=case.l1_ratio, lambda_path=path, **settings).fit(case.X, case.y)
    if model.coef_path_.shape[-1] < len(path):
        raise Enough
    return [(model.coef_path_[..., i], model.intercept_path_[..., i]) for i in range(len(path))]


def adelie_weights(case: Case, strengths: Sequence[float], tolerance: float = 1e-7) -> list[Weights]:
    """The weights of adelie at falling sums of both strengths, on one thread: more are slower on busy cores.

    Raises:
        Enough: it found none at the last one.
    """
    import adelie

    path = np.asarray(strengths) / len(case.y)
    if case.kind == "softmax":
        glm, path = adelie.glm.multinomial(np.eye(case.n_classes)[case.y]), path / case.n_classes
    else:
        glm = adelie.glm.binomial(case.y.astype(np.float64))
    width = case.X.shape[1]
    X = np.asfortranarray(case.X) if case.is_dense else adelie.matrix.sparse(csc_matrix(case.X), method="naive")
    settings = {"tol": tolerance, "irls_tol": tolerance, "early_exit": False, "progress_bar": False}
    penalty = {"alpha": case.l1_ratio, "penalty": np.ones(width), "intercept": case.intercept}
    state = adelie.grpnet(X, glm, lmda_path=path, **penalty, **settings)
    betas = state.betas.toarray()
    if len(betas) < len(path):
        raise Enough
    coefs = betas.reshape((len(path), width, -1)).transpose(0, 2, 1)
    return list(zip(coefs, state.intercepts, strict=True))


def last(weights: Callable[..., list[Weights]], case: Case, tolerance: float) -> Weights:
    """The weights at the strengths of the problem itself."""
    return weights(case, [case.strength], tolerance)[-1]


# -- the other programs


def peers(case: Case, processes: int) -> dict[str, Program]:
    """The peers that can solve the problem, and solve no other: no penalty on the intercept."""
    if case.kind == "ovr":
        return one_vs_rest_peers(case, processes)
    others = binary_peers(case) if case.kind == "binary" else {}
    return scikit_learn_peers(case) | others | path_peers(case)


def scikit_learn_peers(case: Case) -> dict[str, Program]:
    """The solvers of scikit-learn."""
    programs = {}
    if not case.l1:
        for solver in ["lbfgs", "newton-cg"] + ["newton-cholesky"] * is_square(case):
            programs[f"scikit-learn {solver}"] = Program(partial(traced, case, peer(case, solver)))
    if case.is_dense or not case.intercept:
        for solver in ["sag"] * (not case.l1) + ["saga"]:
            programs[f"scikit-learn {solver}"] = by_iterations(case, peer(case, solver, tol=0.0), 2.0)
    if case.kind == "binary" and not case.intercept and not (case.l1 and case.l2):
        programs["scikit-learn liblinear"] = by_iterations(case, peer(case, "liblinear"), 1.3)
        if not case.l1:
            model = peer(case, "liblinear", dual=True)
            programs["scikit-learn liblinear, dual"] = by_iterations(case, model, 1.5)
    return programs


def binary_peers(case: Case) -> dict[str, Program]:
    """The programs skglm, celer and snapml, on binary problems."""
    programs: dict[str, Program] = {}
    only_l1 = case.l1 and not case.l2
    if find_spec("skglm") is not None:
        programs |= skglm_peers(case)
    if find_spec("celer") is not None and only_l1 and not case.intercept:
        import celer

        model = celer.LogisticRegression(C=1.0 / case.l1, solver="celer-pn", max_iter=100)
        programs["celer celer-pn"] = by_tolerance(case, model, "tol", DECADES)
    if find_spec("snapml") is not None and (only_l1 or not case.l1) and not case.intercept:
        for dual in [False] + [True] * (not case.l1):
            fit = partial(snapml_weights, case, dual)
            name = "snapml" + ", dual" * dual
            programs[name] = Program(partial(refitted, case, fit, lambda: DECADES), refitted=True)
    return programs


def skglm_peers(case: Case) -> dict[str, Program]:
    """The solvers of skglm: one for L2 alone, one for penalties with L1."""
    from skglm import SparseLogisticRegression

    if case.l1:
        settings = {"alpha": case.strength / len(case.y), "l1_ratio": case.l1_ratio, "tol": NEVER}
        model = SparseLogisticRegression(**settings, fit_intercept=case.intercept)
        fit = partial(skglm_prox_newton, case, model)
        return {"skglm ProxNewton": Program(partial(refitted, case, fit, partial(growing, 1.1)), refitted=True)}
    lbfgs = partial(refitted, case, partial(skglm_lbfgs, case), partial(growing, 1.3))
    return {} if case.intercept else {"skglm LBFGS": Program(lbfgs, refitted=True)}


def by_columns(X: Any) -> Any:
    """The same matrix with the values of a column side by side, as skglm needs it, and celer's path."""
    return np.asfortranarray(X) if isinstance(X, np.ndarray) else X.tocsc()


def skglm_prox_newton(case: Case, model: Any, iterations: int) -> Weights:
    model = clone(model).set_params(max_iter=iterations).fit(by_columns(case.X), case.y)
    return model.coef_, model.intercept_


def skglm_lbfgs(case: Case, iterations: int) -> Weights:
    """The L-BFGS of skglm, which has no intercept."""
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    solver = LBFGS(tol=NEVER, max_iter=iterations)
    penalty = L2(case.l2 / len(case.y))
    return solver.solve(by_columns(case.X), 2.0 * case.y - 1.0, Logistic(), penalty)[0], 0.0


def snapml_weights(case: Case, dual: bool, tolerance: float) -> Weights:
    """The weights of snapml, which would penalise the intercept."""
    import snapml

    settings = {"regularizer": case.strength, "penalty": "l1" if case.l1 else "l2", "tol": tolerance, "dual": dual}
    # The primal goes by columns, the dual by rows.
    X = case.X if case.is_dense else (csr_matrix if dual else csc_matrix)(case.X)
    model = snapml.LogisticRegression(**settings, max_iter=100_000, fit_intercept=False).fit(X, case.y)
    return np.ravel(model.coef_), 0.0


def path_peers(case: Case) -> dict[str, Program]:
    """The programs glmnet and adelie, here at a single strength."""
    programs = {}
    # adelie writes out a sparse matrix once for each class.
    to_adelie = case.kind == "binary" or (case.is_dense and not case.l1)
    ways = {"glmnet": glmnet_weights} | ({"adelie": adelie_weights} if to_adelie else {})
    for name, weights in ways.items():
        if find_spec(name) is not None:
            fit = partial(last, weights, case)
            programs[name] = Program(partial(refitted, case, fit, lambda: SQUARES), refitted=True)
    return programs


def one_vs_rest_peers(case: Case, processes: int) -> dict[str, Program]:
    """OneVsRestClassifier over solvers of scikit-learn, and once in several processes."""
    models = {
        name: OneVsRestClassifier(peer(case, name, max_iter=1000))
        for name in ("lbfgs", "newton-cg", "liblinear", "saga", "sag")
    }
    models["liblinear, dual"] = OneVsRestClassifier(peer(case, "liblinear", dual=True, max_iter=1000))
    models[f"lbfgs, {processes} processes"] = OneVsRestClassifier(peer(case, "lbfgs", max_iter=1000), n_jobs=processes)
    programs = {}
    for name, model in models.items():
        programs[f"scikit-learn {name}"] = by_tolerance(case, model, "estimator__tol", TOLERANCES)
    return programs


def warm_up(processes: int) -> None:
    """Has peers imported and compiled, and threads and processes started, before anything is timed."""
    samples, y = np.random.default_rng(0).integers(0, 2, (200, 50)).astype(np.float64), np.arange(200) % 2
    sparse = csr_array(samples)
    sparse.indices, sparse.indptr = (array.astype(np.int32) for array in (sparse.indices, sparse.indptr))
    for X in (samples, sparse):
        for setting in ({"l1": 1.0}, {"l1": 1.0, "intercept": True}, {"l2": 1.0}):
            few = Case("first", X, y, **setting)
            for program in (binary_peers(few) | path_peers(few)).values():
                program.run(-np.inf, 10.0)
    fitted(few, own_model(few, "lbfgs", {}, None), max_iterations=3)
    few = Case("processes", sparse, np.arange(200) % 3, l2=1.0, kind="ovr")
    fitted(few, OneVsRestClassifier(peer(few, "lbfgs"), n_jobs=processes))
