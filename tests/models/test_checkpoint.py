"""Trainings that are stopped and go on: nothing but the clock may tell them from trainings that never stopped."""

from __future__ import annotations

import json
import shutil
import signal
import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from loglinear import ChainCRF, Checkpoint, Corpus, MaxEnt
from loglinear.errors import DataError, OptionError
from loglinear.models import checkpoint_file
from loglinear.models.interrupts import Postponed
from loglinear.result import Status
from loglinear.solvers import OWLQN, SOLVERS, option_names
from loglinear.trace import Trace, TraceWriter
from oracles.samples import chunky

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
MATRIX, CLASSES = RNG.random((60, 9)) * (RNG.random((60, 9)) < 0.5), RNG.integers(0, 2, 60)
CHAIN, SAMPLES = chunky(30), (MATRIX, CLASSES)
# Iterations after which trainings are stopped, and the last one of all.
STOPS, LAST = (0, 1, 4, 6, 9, 13), 16
# Small problems are solved soon: nothing but the limit on iterations ends a training.
ENDLESS = {"tolerance": 0.0, "gradient_tolerance": 0.0, "passes": LAST}
OF_SOLVERS = {
    "clustered": {"fine_iterations": 3, "cluster_factor": 3, "num_rounds": 2, "coarse_window": 2},
    "grafting": {"per_step": 2},
    "two_stage": {"passes": 5},
    "pegasos": {},
}
PROBLEMS = {
    "chain, l1": (lambda **given: ChainCRF(l1=0.05, **given), CHAIN),
    "chain, l2": (lambda **given: ChainCRF(l2=0.05, **given), CHAIN),
    "samples, l1": (lambda **given: MaxEnt(l1=0.05, **given), SAMPLES),
    "samples, l2": (lambda **given: MaxEnt(l2=0.05, fit_intercept=False, **given), SAMPLES),
}


def trainings(name):
    """Yield problem, estimator and data for each problem that a solver can work on."""
    known = option_names(SOLVERS[name])
    options = {each: value for each, value in (ENDLESS | OF_SOLVERS.get(name, {})).items() if each in known}
    for problem, (make, data) in PROBLEMS.items():
        estimator = make(solver=name, solver_options=options, max_iterations=LAST)
        try:
            estimator.set_params(max_iterations=0).fit(*data)
        except OptionError:
            continue
        yield problem, estimator.set_params(max_iterations=LAST), data


def course(estimator):
    """The trace of a training without its clock, a line for each record, and how it ended."""
    result = estimator.result_
    lines = [json.loads(record.to_json()) | {"seconds": None} for record in result.trace]
    ends = (result.status, result.iterations, result.passes, result.gradient_evaluations, result.objective)
    return lines, (*ends, result.nll, result.violation, result.kept)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_resumed_training_is_bitwise_one_that_was_never_stopped(name, tmp_path):
    path, taken = tmp_path / "checkpoint", 0

    def keep(record, state):
        if path.exists():  # of the iteration before
            shutil.copy(path, tmp_path / str(record.iteration - 1))

    for problem, estimator, data in trainings(name):
        taken += 1
        path.unlink(missing_ok=True)
        expected = estimator.fit(*data).result_.w.tobytes(), *course(estimator)
        watched = estimator.fit(*data, checkpoint=Checkpoint(path, 0), callbacks=[keep])
        assert (watched.result_.w.tobytes(), *course(watched)) == expected
        stops = [stop for stop in STOPS if stop < watched.result_.iterations]
        assert len(stops) > 2, problem
        for stop in stops:
            shutil.copy(tmp_path / str(stop), path)
            seen = []
            rest = estimator.fit(
                *data, checkpoint=Checkpoint(path, resume=True), callbacks=[lambda r, s: seen.append(r.iteration)]
            )
            assert seen[0] == stop
            assert (rest.result_.w.tobytes(), *course(rest)) == expected, (problem, stop)
    assert taken
