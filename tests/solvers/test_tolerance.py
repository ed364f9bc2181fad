"""When batch solvers stop: at the first steps whose relative decrease is within the tolerance, and not before."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from loglinear import ChainObjective, ClassifierObjective, Corpus, ElasticNet, Problem, minimize
from loglinear.result import Status
from loglinear.solvers import LabelSets, label_sets, make_solver
from loglinear.solvers.common.quasi_newton import stopping_status
from oracles.samples import chunky

# Over how many steps the decrease is averaged, and the penalty.
WINDOWS = {
    "lbfgs": (5, ElasticNet(l2=0.5)),
    "bfgs": (5, ElasticNet(l2=0.5)),
    "owlqn": (5, ElasticNet(l1=0.5, l2=0.1)),
    "prox_newton": (1, ElasticNet(l1=0.5)),
    "prox_gradient": (5, ElasticNet(l1=0.5, l2=0.1)),
}


def classified(penalty):
    """A binary classifier whose samples weigh 50 each, so that objectives are far from 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 15))
    y = (X @ rng.normal(size=15) + rng.logistic(size=60) > 0.0).astype(int)
    return Problem(ClassifierObjective(X, y, np.full(60, 50.0), n_classes=2, intercept=False), penalty)


@pytest.mark.parametrize("tolerance", [3e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("name", WINDOWS)
def test_a_solver_stops_at_the_first_decrease_within_its_tolerance(name, tolerance):
    window, penalty = WINDOWS[name]
    found = minimize(classified(penalty), make_solver(name, tolerance=tolerance, gradient_tolerance=0.0))
    objectives = np.array([record.objective for record in found.trace])
    assert found.status.converged
    assert len(objectives) > window
    decreases = (objectives[:-window] - objectives[window:]) / window / np.abs(objectives[window:])
    assert decreases[-1] <= tolerance
    assert (decreases[:-1] > tolerance).all()


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_label_sets_stop_at_the_first_whole_round_whose_decrease_is_within_the_tolerance(monkeypatch, tolerance):
    # On these small data an evaluation on likely labels is no cheaper than a whole one.
    monkeypatch.setattr(label_sets, "MOST_COST", math.inf)
    problem = Problem(ChainObjective(Corpus.encode(*chunky(60))), ElasticNet(l1=0.3))
    steps = []
    solver = LabelSets(tolerance=tolerance, gradient_tolerance=0.0)
    # A round on a pruned objective of an earlier round, corrected, does not end the run: a new one may promise more.
    found = minimize(
        problem, solver, callbacks=[lambda record, state: steps.append(state.steps if state.made is None else 0)]
    )
    objectives = np.array([record.objective for record in found.trace])
    within = objectives[:-1] - objectives[1:] <= tolerance * objectives[1:]
    whole = np.array(steps[:-1]) >= solver.steps
    accepted = objectives[1:] < objectives[:-1]
    assert found.status.converged
    assert np.flatnonzero(within & whole & accepted).tolist() == [len(within) - 1]


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_rounds_with_another_set_each_stop_by_their_mean_decrease(tolerance):
    problem = Problem(ChainObjective(Corpus.encode(*chunky(60))), ElasticNet(l1=0.3))
    rounds = []
    solver = make_solver("gauss_seidel", select=5, tolerance=tolerance, gradient_tolerance=0.0)
    found = minimize(problem, solver, callbacks=[lambda record, state: rounds.append(state.recent)])
    assert found.state.status.converged
    rounds = [one for one, other in pairwise([*rounds, None]) if one != other]
    decreases = [(max(each) - min(each)) / 5 / abs(each[-1]) for each in rounds if len(each) == 6]
    assert len(decreases) > 1
    # The state that has ended keeps the objectives before its own.
    last = (*rounds[-1][-5:], found.objective)
    assert (max(last) - min(last)) / 5 / abs(last[-1]) <= tolerance
    assert min(decreases) > tolerance


def test_a_decrease_is_held_against_the_last_objective():
    falling = (10.0, 10.0, 10.0, 10.0, 10.0, 1.0)
    assert stopping_status(falling, 1.0, 1.0, 0.5, 0.0) is Status.RUNNING
    assert stopping_status(falling, 1.0, 1.0, 1.8, 0.0) is Status.CONVERGED
