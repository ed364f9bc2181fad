"""Whole paths of 100 L1 penalties: seconds, and how far the worst point is from the optimum."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

import numpy as np
from classifier_curves import clock
from classifier_problems import Case
from classifier_programs import Weights, adelie_weights, by_columns, glmnet_weights
from comparison import Answer, alternate, number

from loglinear import ElasticNet, Problem, path
from loglinear.objectives.classifier import ClassifierObjective
from loglinear.path import falling, largest_l1
from loglinear.solvers import ProxNewton, Solver
from loglinear.stopping import Stop

STRENGTHS = 100
# The smallest strength over the largest.
RATIO = 0.01
ACCURATE = 1e-10

PathWeights = Callable[[Case, Sequence[float]], list[Weights]]


def strengths_of(case: Case) -> list[float]:
    """The strengths, from the smallest one at which all weights are 0 down."""
    return falling(largest_l1(own_problem(case, 0)), STRENGTHS, RATIO).tolist()


# -- programs


def own_problem(case: Case, threads: int) -> Problem:
    """The objective of a classifier as `MaxEnt` makes it, and its penalty."""
    intercept = "scaled" if case.intercept else False
    objective = ClassifierObjective(case.X, case.y, n_classes=case.n_classes, intercept=intercept, threads=threads)
    return Problem(objective, ElasticNet(unpenalised=objective.n_unpenalised), objective.n_outputs)


def own_path(threads: int, solver: Solver | None, case: Case, strengths: Sequence[float]) -> list[Weights]:
    """The path of loglinear."""
    problem = own_problem(case, threads)
    points = path(problem, strengths, solver=solver, stop=Stop(max_iterations=1000)).points
    return [problem.objective.coefficients(point.result.w) for point in points]


def skglm_path(case: Case, strengths: Sequence[float], tolerance: float = 1e-4) -> list[Weights]:
    """One strength after the other by skglm, each from the weights of the one before."""
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(tol=tolerance, fit_intercept=case.intercept, warm_start=True)
    X, points = by_columns(case.X), []
    for strength in strengths:
        model.set_params(alpha=strength / len(case.y)).fit(X, case.y)
        points.append((model.coef_.copy(), np.copy(model.intercept_)))
    return points


def celer_path(case: Case, strengths: Sequence[float], tolerance: float = 1e-6) -> list[Weights]:
    """The path of celer, which has no intercept."""
    import celer

    X = by_columns(case.X)
    coefs = celer.celer_path(X, 2.0 * case.y - 1.0, "logreg", alphas=np.asarray(strengths), tol=tolerance)[1]
    return [(coef, 0.0) for coef in coefs.T]


def path_programs(case: Case, threads: Sequence[int]) -> dict[str, PathWeights]:
    """The programs that can follow the path, those of several accuracies more than once."""
    programs: dict[str, PathWeights] = {}
    for number_of_threads in threads:
        programs[f"loglinear, {number_of_threads} thread(s)"] = partial(own_path, number_of_threads, None)
    programs[f"loglinear prox_newton, {threads[-1]} thread(s)"] = partial(own_path, threads[-1], ProxNewton())
    ways = {"glmnet": glmnet_weights}
    if case.kind == "binary":  # of a softmax, adelie has penalties of whole rows only
        ways |= {"adelie": adelie_weights, "skglm": skglm_path}
    if not case.intercept:
        ways["celer"] = celer_path
    for name, weights in ways.items():
        if find_spec(name) is not None:
            programs[name] = weights
            programs[f"{name}, tolerance {ACCURATE:g}"] = partial(weights, tolerance=ACCURATE)
    return programs


# -- measurements


def objectives(case: Case, strengths: Sequence[float], points: Sequence[Weights]) -> np.ndarray:
    """F at each point of a path; infinite at those that a program left out."""
    values = np.full(len(strengths), np.inf)
    for i, (strength, (coef, intercept)) in enumerate(zip(strengths, points, strict=False)):
        values[i] = case.nll(coef, intercept) + strength * np.abs(coef).sum()
    return values


def followed(name: str, case: Case, weights: PathWeights, strengths: Sequence[float]) -> Answer:
    """Seconds of a whole path, and the objective at each point; why there is none, if a program failed."""
    print("  path,", name, file=sys.stderr, flush=True)
    start = clock()
    try:
        points = weights(case, strengths)
    except Exception as error:  # whatever a peer raises is the measurement
        return {"seconds": np.inf, "objectives": np.full(len(strengths), np.inf), "why": repr(error)}
    seconds = clock() - start
    return {"seconds": seconds, "objectives": objectives(case, strengths, points)}


def paths(case: Case, repeats: int, threads: Sequence[int]) -> Answer:
    """The whole path by all programs; prints a table of it."""
    strengths = strengths_of(case)
    deep = partial(own_path, threads[-1], ProxNewton(tolerance=ACCURATE))
    programs = path_programs(case, threads)
    tasks = {name: partial(followed, name, case, weights, strengths) for name, weights in programs.items()}
    answers = alternate(repeats, **tasks)
    reference = followed("reference", case, deep, strengths)["objectives"]
    best = np.min([reference, *(run["objectives"] for runs in answers.values() for run in runs)], axis=0)
    print(f"{case.name}: {STRENGTHS} strengths from {strengths[0]:.6g} to {strengths[-1]:.6g}\n")
    print("| program | seconds | worst point above the best | at strength |\n| --- | ---: | ---: | ---: |")
    record: Answer = {"strengths": strengths, "best": best.tolist()}
    for name, runs in answers.items():
        above = np.max([run["objectives"] / best - 1.0 for run in runs], axis=0)
        seconds = statistics.median(run["seconds"] for run in runs)
        record[name] = {"seconds": [run["seconds"] for run in runs], "above": above.tolist()}
        worst = int(above.argmax())
        print(f"| {name} | {number(seconds)} | {above[worst]:.1e} | {strengths[worst]:.4g} |")
        for why in dict.fromkeys(run["why"] for run in runs if "why" in run):
            print(f"\n{name} failed: {why}\n")
    print()
    return record
