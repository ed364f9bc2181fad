"""Dual coordinate descent against L-BFGS, and the relations between primal and dual variables."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from examples import examples
from loglinear import ClassifierObjective, MaxEnt
from loglinear.errors import OptionError
from loglinear.gap import useful
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import LBFGS, DualCD
from oracles.logistic import Logistic


def problem(seed=0, *, l2=1.0, weighted=False, n=80, d=20):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.4, rng=rng, format="csr")
    y = (X @ rng.normal(size=d) * 3.0 + rng.logistic(size=n) > 0.0).astype(int)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else None
    return Problem(ClassifierObjective(X, y, weights, n_classes=2, intercept=False), ElasticNet(l2=l2))


CASES = dict(seed=st.integers(0, 10_000), l2=st.sampled_from([0.1, 1.0, 30.0]), weighted=st.booleans())


@examples(40)
@given(**CASES)
def test_it_converges_to_the_optimum_of_lbfgs(seed, l2, weighted):
    given_problem = problem(seed, l2=l2, weighted=weighted)
    best = minimize(given_problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-9))
    found = minimize(given_problem, DualCD(tolerance=1e-3), stop=Stop(max_iterations=5000))
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("tolerance", [9e-4, 1e-6, 1e-10])
@pytest.mark.parametrize("l2", [0.1, 10.0])
def test_any_tolerance_is_reached(l2, tolerance):
    found = minimize(problem(l2=l2), DualCD(tolerance=tolerance), stop=Stop(max_iterations=2000))
    assert found.status is Status.CONVERGED
    assert found.state.apart <= tolerance
    assert found.state.gap <= 100.0 * tolerance**2 + 1e-12 * found.objective


@examples(40)
@given(**CASES, passes=st.integers(0, 6))
def test_w_and_the_dual_objective_follow_from_alpha(seed, l2, weighted, passes):
    given_problem = problem(seed, l2=l2, weighted=weighted)
    objective = given_problem.objective
    state = minimize(given_problem, DualCD(tolerance=0.0), stop=Stop(max_iterations=passes)).state
    alpha, odds = state.alpha.T
    bound, signs = objective.weights / l2, np.where(objective.targets == 1, 1.0, -1.0)
    live = bound > 0.0
    np.testing.assert_allclose(alpha[live], (bound * expit(odds))[live], rtol=1e-12)
    rest = bound * expit(-odds)
    assert (alpha[live] > 0.0).all()
    assert (rest[live] > 0.0).all()
    np.testing.assert_allclose(state.w, objective.design.T @ (alpha * signs), rtol=1e-9, atol=1e-10)
    # Weak duality: the dual objective bounds the primal from below.
    entropy = sum((part[live] * np.log(part[live] / bound[live])).sum() for part in (alpha, rest))
    dual = -l2 * (0.5 * state.w @ state.w + entropy)
    assert dual <= state.objective + 1e-9 * abs(state.objective)
    assert state.gap == pytest.approx(state.objective - dual, rel=1e-6, abs=1e-9 * abs(state.objective))


@examples(40)
@given(**CASES, passes=st.integers(1, 30))
def test_the_gap_bounds_the_distance_from_the_optimum(seed, l2, weighted, passes):
    given_problem = problem(seed, l2=l2, weighted=weighted)
    best = minimize(given_problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-9))
    found = minimize(given_problem, DualCD(tolerance=0.0), stop=Stop(max_iterations=passes))
    gap = found.state.gap
    assert gap >= found.objective - best.objective - 1e-9 * abs(best.objective)
    assert found.gap == useful(gap, found.objective)
    _, gradient = given_problem.objective.value_and_gradient(found.w)
    np.testing.assert_allclose(found.state.whole_gradient, gradient, rtol=1e-9, atol=1e-9)


def test_the_end_needs_no_evaluation_beside_the_measurement(monkeypatch):
    def evaluated(*_: object) -> float:
        raise AssertionError("evaluated")

    monkeypatch.setattr(Problem, "evaluate", evaluated)
    monkeypatch.setattr(ClassifierObjective, "sample_nlls", evaluated)
    found = minimize(problem(), DualCD(), stop=Stop(max_iterations=1000))
    assert found.status is Status.CONVERGED
    assert found.gap < 1e-2


def test_the_same_seed_gives_the_same_passes_and_resuming_is_exact():
    whole = minimize(problem(), DualCD(seed=3))
    assert minimize(problem(), DualCD(seed=3)).w.tobytes() == whole.w.tobytes()
    assert minimize(problem(), DualCD(seed=4)).w.tobytes() != whole.w.tobytes()
    part = minimize(problem(), DualCD(seed=3), stop=Stop(max_iterations=2))
    rest = minimize(problem(), DualCD(seed=3), state=pickle.loads(pickle.dumps(part.state)))
    assert rest.w.tobytes() == whole.w.tobytes()


def test_starting_at_the_optimum_it_stays_there():
    best = minimize(problem(), LBFGS(tolerance=0.0, gradient_tolerance=1e-9))
    again = minimize(problem(), DualCD(), best.w)
    assert again.iterations == 1
    np.testing.assert_allclose(again.w, best.w, atol=1e-5)


def test_the_estimator_runs_it_and_what_it_cannot_do_is_refused_with_a_remedy():
    X, y = np.random.default_rng(0).random((60, 8)), np.arange(60) % 3
    ovr = MaxEnt(multi_class="ovr", fit_intercept=False, solver="dual_cd", max_iterations=5000).fit(X, y)
    best = MaxEnt(multi_class="ovr", fit_intercept=False, tolerance=0.0).fit(X, y)
    np.testing.assert_allclose(ovr.coef_, best.coef_, atol=1e-2)
    for model in (MaxEnt(solver="dual_cd"), MaxEnt(solver="dual_cd", fit_intercept=False)):
        with pytest.raises(OptionError, match="lbfgs"):
            model.fit(X, y)
    for bad, word in (
        (Problem(problem().objective, ElasticNet(1.0, 1.0)), "owlqn"),
        (Problem(problem().objective), "l2 > 0"),
        (Problem(Logistic(5, 20), ElasticNet(l2=1.0)), "lbfgs"),
    ):
        with pytest.raises(OptionError, match=word):
            DualCD().init(bad, np.zeros(bad.n_features))
    for option in ({"tolerance": -1}, {"seed": -1}):
        with pytest.raises(OptionError, match=next(iter(option))):
            DualCD(**option)
