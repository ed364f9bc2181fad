"""What a value-and-gradient of logistic regression takes, beside scikit-learn's and beside one read of the data."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from classifier_curves import clock
from classifier_problems import Case
from classifier_programs import PEERS, adelie_weights, default_model, glmnet_weights, last, own_model, peer
from comparison import Answer, Goal, Row, alternate, compare, number
from sklearn._loss import HalfBinomialLoss, HalfMultinomialLoss
from sklearn.linear_model import LogisticRegression
from sklearn.linear_model._linear_loss import LinearModelLoss

from loglinear.objectives.classifier import ClassifierObjective

THREADS = tuple(sorted({1, os.cpu_count() or 1}))
FIT_ITERATIONS = 20
EVALUATION_SECONDS = 0.3
# An evaluation should take at most this many times as long as a read of the data.
MOST_READS = 1.3


def typical(call: Callable[[], Any]) -> Answer:
    """Median seconds of a call."""
    call()
    seconds: list[float] = []
    while len(seconds) < 3 or sum(seconds) < EVALUATION_SECONDS:
        start = clock()
        call()
        seconds.append(clock() - start)
    return {"seconds": statistics.median(seconds)}


# -- evaluations


def own_fit(case: Case, threads: int) -> Answer:
    """A fit by loglinear's L-BFGS, a share of which goes to each evaluation."""
    model = own_model(case, "lbfgs", {}, threads).set_params(max_iterations=FIT_ITERATIONS)
    start = clock()
    model.fit(case.X, case.y)
    return {"seconds": (clock() - start) / model.result_.gradient_evaluations}


def peer_fit(case: Case) -> Answer:
    """A fit by scikit-learn's L-BFGS, likewise."""
    evaluate, count = LinearModelLoss.loss_gradient, 0

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        return evaluate(*arguments, **named)

    with mock.patch.object(LinearModelLoss, "loss_gradient", counted):
        start = clock()
        peer(case, "lbfgs", max_iter=FIT_ITERATIONS).fit(case.X, case.y)
        return {"seconds": (clock() - start) / count}


def evaluations(case: Case, repeats: int) -> tuple[list[Row], Answer]:
    """What an evaluation takes, by itself and as a share of a fit."""
    binary, y = case.kind == "binary", case.y.astype(np.float64)
    base = HalfBinomialLoss() if binary else HalfMultinomialLoss(n_classes=case.n_classes)
    evaluate = LinearModelLoss(base_loss=base, fit_intercept=False).loss_gradient
    # Both have the weights of a column side by side.
    w = np.random.default_rng(0).normal(0.0, 0.01, case.X.shape[1] * (1 if binary else case.n_classes))
    tasks = {"peer_fit": partial(peer_fit, case)}
    for n in THREADS:
        objective = ClassifierObjective(case.X, case.y, n_classes=case.n_classes, intercept=False, threads=n)
        tasks[f"own_{n}"] = partial(typical, partial(objective.value_and_gradient, w, np.empty_like(w)))
        tasks[f"peer_{n}"] = partial(typical, partial(evaluate, w, case.X, y, None, case.l2 / len(y), n))
        tasks[f"own_fit_{n}"] = partial(own_fit, case, n)
        if case.is_dense:
            tasks[f"read_{n}"] = partial(reading, case.X, n)
            tasks[f"triad_{n}"] = partial(triad, case.X, n)
    answers = alternate(repeats, **tasks)
    taken = {name: [1000 * answer["seconds"] for answer in runs] for name, runs in answers.items()}
    rows = []
    for n in THREADS:
        for m in THREADS[THREADS.index(n) :]:
            title = f"{case.name}: value and gradient, {n} thread(s), scikit-learn's on {m}"
            rows.append(compare(title, "ms", taken[f"peer_{m}"], taken[f"own_{n}"], goal=Goal(3)))
        title = f"{case.name}: a fit by L-BFGS over its evaluations, {n} thread(s)"
        rows.append(compare(title, "ms", taken["peer_fit"], taken[f"own_fit_{n}"], goal=Goal(3)))
        if case.is_dense:
            for name, what in {"read": "one read of X", "triad": "a triad of as many bytes as X"}.items():
                title = f"{case.name}: value and gradient, {n} thread(s), {what} on as many"
                goal = Goal(round(1 / MOST_READS, 2))
                rows.append(compare(title, "ms", taken[f"{name}_{n}"], taken[f"own_{n}"], goal=goal))
    return rows, answers


def reading(X: np.ndarray, threads: int) -> Answer:
    """One read of a table from memory, as its sum by NumPy, on several threads."""
    parts = np.array_split(X, threads)
    with ThreadPoolExecutor(threads) as pool:
        return typical(lambda: sum(pool.map(np.sum, parts)))


def triad(X: np.ndarray, threads: int) -> Answer:
    """The sum of two arrays into a third one, which together have as many bytes as X: the bandwidth of STREAM's add."""
    third = np.split(X.ravel()[: X.size // 3 * 3], 3)
    third[2] = np.empty_like(third[2])
    parts = list(zip(*(np.array_split(array, threads) for array in third), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        return typical(lambda: list(pool.map(lambda part: np.add(part[0], part[1], out=part[2]), parts)))


# -- what comes before the first step


def import_seconds(statement: str) -> Answer:
    """Seconds of an import in a new process."""
    code = f"import time; start = time.perf_counter(); {statement}; print(time.perf_counter() - start)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return {"seconds": float(run.stdout)}


def own_start(case: Case, threads: int) -> Answer:
    """Seconds of checks and conversions, before the solver begins, and of the whole fit as it comes."""
    before = 0.0

    def note(record: Any, state: Any) -> None:
        nonlocal before
        if not record.iteration:
            before = clock() - start - record.seconds

    model = default_model(case, threads)
    start = clock()
    model.fit(case.X, case.y, callbacks=[note])
    return {"before": before, "seconds": clock() - start}


def peer_start(case: Case) -> Answer:
    """The same of scikit-learn's LogisticRegression: before the first evaluation of its loss."""
    evaluate, first = LinearModelLoss.loss_gradient, 0.0

    def noted(*arguments: Any, **named: Any) -> Any:
        nonlocal first
        first = first or clock()
        return evaluate(*arguments, **named)

    model = LogisticRegression(C=1.0 / case.strength, fit_intercept=case.intercept)
    with mock.patch.object(LinearModelLoss, "loss_gradient", noted):
        start = clock()
        model.fit(case.X, case.y)
    return {"before": first - start, "seconds": clock() - start}


def beginnings(case: Case, repeats: int, missing: list[str]) -> Answer:
    """Seconds of import, of checks and of whole fits as they come; prints a table of them."""
    imports = {"loglinear": "from loglinear import MaxEnt", "scikit-learn": "import sklearn.linear_model"}
    fits: dict[str, Callable[[], Answer]] = {
        "loglinear": partial(own_start, case, THREADS[-1]),
        "scikit-learn": partial(peer_start, case),
    }
    for name, weights in {"glmnet": glmnet_weights, "adelie": adelie_weights}.items():
        if PEERS[name] not in missing:
            imports[name] = f"import {name}"
            fits[name] = partial(timed, partial(last, weights, case, 1e-7))
    tasks = {f"import {name}": partial(import_seconds, text) for name, text in imports.items()}
    # The first of several fits has the caches to fill.
    answers = alternate(repeats, **tasks) | alternate(3 * repeats + 3, **fits)
    print(f"\n{case.name}, before the first step:\n")
    print("| program | import, s | checks and conversions, ms | whole fit, ms |\n| --- | ---: | ---: | ---: |")
    for name in imports:
        seconds = [answer["seconds"] for answer in answers[f"import {name}"]]
        before = [1000 * answer["before"] for answer in answers[name] if "before" in answer]
        whole = statistics.median(1000 * answer["seconds"] for answer in answers[name])
        checks = number(statistics.median(before)) if before else "-"
        print(f"| {name} | {number(statistics.median(seconds))} | {checks} | {number(whole)} |")
    print()
    return answers


def timed(call: Callable[[], Any]) -> Answer:
    start = clock()
    call()
    return {"seconds": clock() - start}
