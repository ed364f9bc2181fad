"""Proximal Newton against OWL-QN, the optimality conditions, and its own subproblem written out."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import ClassifierObjective, MaxEnt
from loglinear.errors import OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import OWLQN, ProxNewton
from oracles.logistic import Logistic

TIGHT = ProxNewton(tolerance=0.0, gradient_tolerance=1e-8)


def problem(seed=0, n=120, d=30, *, l1=0.5, l2=0.0, intercept=1.0, weighted=False, threads=0, density=0.3):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=density, rng=rng, format="csr")
    y = (X @ rng.normal(size=d) * 3.0 + rng.logistic(size=n) > 0.5).astype(int)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], n) if weighted else None
    objective = ClassifierObjective(X, y, weights, n_classes=2, intercept=intercept, threads=threads)
    return Problem(objective, ElasticNet(l1, l2, objective.n_unpenalised))


@examples(60)
@given(
    seed=st.integers(0, 10_000),
    l1=st.sampled_from([0.05, 0.5, 3.0, 100.0]),
    l2=st.sampled_from([0.0, 0.3]),
    intercept=st.sampled_from([0.0, 1.0, 0.2]),
    weighted=st.booleans(),
)
def test_the_optimum_is_that_of_owlqn_and_meets_the_conditions(seed, l1, l2, intercept, weighted):
    given_problem = problem(seed, l1=l1, l2=l2, intercept=intercept, weighted=weighted)
    best = minimize(given_problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-9), stop=Stop(max_iterations=5000))
    found = minimize(given_problem, TIGHT, stop=Stop(max_iterations=300))
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(best.objective, rel=1e-9, abs=1e-9)
    _, gradient = given_problem.objective.value_and_gradient(found.w)
    assert given_problem.penalty.violation(found.w, gradient) < 1e-4
    objectives = [record.objective for record in found.trace]
    assert all(after <= before * (1.0 + 1e-13) for before, after in itertools.pairwise(objectives))


@pytest.mark.parametrize("intercept", [0.0, 0.7])
@pytest.mark.parametrize(("n", "d"), [(400, 12), (60, 40)])
def test_a_step_minimises_the_quadratic_model_over_its_working_set(n, d, intercept):
    """With many sweeps: those over the data alone (60 x 40), and those over the Hessian written out (400 x 12)."""
    given_problem = problem(1, n, d, l1=0.3, l2=0.1, intercept=intercept, density=0.9 if n > d else 0.3)
    objective, penalty = given_problem.objective, given_problem.penalty
    near = minimize(given_problem, TIGHT).w
    w = np.where(near != 0.0, near * 1.001, 0.0)  # so near that the whole step is taken
    nll, gradient = objective.value_and_gradient(w)
    p, design = objective.probabilities(w).ravel(), objective.design.toarray()
    hessian = design.T @ (design * (p * (1.0 - p))[:, None])
    moved, scores, g = w.copy(), objective.start(w)[1], gradient.copy()
    step = objective.newton_step(
        moved, scores, g, l1=penalty.l1, l2=penalty.l2, precision=1e-9, sweeps=20_000, least=1000
    )
    assert step.moved
    assert step.trials == 1
    assert step.sweeps > 10
    assert step.working_set <= d
    delta = moved - w
    model = gradient + hessian @ delta
    violation = penalty.pseudo_gradient(moved, model)
    chosen = (w != 0.0) | (np.abs(gradient) > penalty.l1)
    if intercept:
        chosen[-1] = True
    before = np.abs(penalty.pseudo_gradient(w, gradient)[chosen]).max()
    assert np.abs(violation[chosen]).max() <= 1e-8 * before
    assert not delta[~chosen].any()
    np.testing.assert_allclose(scores, objective.start(moved)[1], rtol=1e-10, atol=1e-12)
    expected, slope = objective.value_and_gradient(moved)
    assert step.nll == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(g, slope, rtol=1e-9, atol=1e-10)
    assert step.nll < nll + penalty.value(w)


def much_alike(intercept, l1):
    """A problem of 200 columns, each much like nine others."""
    rng = np.random.default_rng(0)
    topics = scipy.sparse.random_array((300, 20), density=0.15, rng=rng, format="csr")
    words = scipy.sparse.csr_array(np.repeat(np.eye(20), 10, axis=1))
    X = topics @ words + 0.1 * scipy.sparse.random_array((300, 200), density=0.02, rng=rng, format="csr")
    y = (X @ rng.normal(size=200) + 0.5 * rng.logistic(size=300) > 0.0).astype(int)
    objective = ClassifierObjective(X, y, n_classes=2, intercept=intercept)
    return Problem(objective, ElasticNet(l1, 0.05, objective.n_unpenalised))


@pytest.mark.parametrize("intercept", [0.0, 0.7])
def test_columns_that_are_much_alike_need_few_sweeps(intercept):
    """Sweeps from one coordinate to the next need more than 500."""
    given_problem = much_alike(intercept, 0.01)
    w = minimize(given_problem, ProxNewton(), stop=Stop(max_iterations=6)).w
    _, scores, gradient = given_problem.objective.start(w)
    step = given_problem.objective.newton_step(
        w, scores, gradient, l1=0.01, l2=0.05, precision=1e-3, sweeps=20_000, least=1000
    )
    assert step.moved
    assert 20 < step.sweeps < 150


@pytest.mark.parametrize("intercept", [0.0, 0.7])
def test_weights_that_become_0_on_the_way_leave_the_subproblem_as_it_is(intercept):
    given_problem = much_alike(intercept, 0.01)
    objective, penalty = given_problem.objective, given_problem.penalty
    w = minimize(much_alike(intercept, 0.005), ProxNewton()).w
    _, scores, gradient = objective.start(w)
    p, margins, moved, g = objective.probabilities(w).ravel(), np.abs(scores), w.copy(), gradient.copy()
    step = objective.newton_step(moved, scores, g, l1=0.01, l2=0.05, precision=1e-6, sweeps=20_000, least=1000)
    assert step.trials == 1
    assert step.sweeps < 400
    assert ((w != 0.0) & (moved == 0.0)).sum() >= 5
    bound = np.abs(p - objective.targets) * 0.5 * np.tanh(margins / 2.0) / margins
    design, delta = objective.design.toarray(), moved - w
    model = gradient + design.T @ (np.maximum(p * (1.0 - p), bound) * (design @ delta))
    before = np.abs(penalty.pseudo_gradient(w, gradient)).max()
    assert np.abs(penalty.pseudo_gradient(moved, model)).max() <= 2e-6 * before


@examples(20)
@given(seed=st.integers(0, 10_000), l1=st.sampled_from([0.01, 0.3, 3.0]), intercept=st.sampled_from([0.0, 1.0]))
def test_from_0_the_first_steps_are_with_a_stronger_penalty(seed, l1, intercept):
    given_problem = problem(seed, n=200, d=60, l1=l1, intercept=intercept)
    objective, solver = given_problem.objective, ProxNewton()
    state = solver.init(given_problem, np.zeros(objective.n_features))
    strength = np.abs(state.gradient[:60]).max() / 20.0
    assert state.l1 == strength
    w, scores, gradient = np.zeros(objective.n_features), state.scores.copy(), state.gradient.copy()
    objective.newton_step(w, scores, gradient, l1=max(strength, l1), l2=0.0, precision=0.1, sweeps=1000, least=50)
    following = solver.step(given_problem, state)
    assert following.w.tobytes() == w.tobytes()
    assert following.l1 == strength / 20.0
    status = ProxNewton(tolerance=100.0).step(given_problem, state).status
    assert status is (Status.RUNNING if strength > l1 else Status.CONVERGED)
    elsewhere = solver.init(given_problem, w)
    assert elsewhere.l1 == 0.0


def test_a_stronger_penalty_that_is_at_its_optimum_does_not_end_the_steps():
    stronger, given_problem = problem(l1=3.0), problem(l1=0.5)
    for solver in (TIGHT, ProxNewton(tolerance=1e-3)):
        w = minimize(stronger, solver).w
        state = replace(solver.init(given_problem, w), l1=3.0)
        following = ProxNewton().step(given_problem, state)
        end = minimize(given_problem, ProxNewton(), state=following)
        assert end.status is Status.CONVERGED
        assert end.objective == pytest.approx(minimize(given_problem, TIGHT).objective, rel=1e-6)


@pytest.mark.parametrize("size", [10.0, 60.0, 300.0])
def test_it_comes_back_from_far_on_the_wrong_side(size):
    """There second derivatives vanish, and Newton's step is out of all proportion."""
    given_problem = problem(1, l1=0.5)
    best = minimize(given_problem, TIGHT)
    found = minimize(given_problem, TIGHT, w0=-size * np.sign(best.w), stop=Stop(max_iterations=300))
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(best.objective, rel=1e-9)


def test_threads_do_not_matter_and_resuming_is_exact():
    whole = minimize(problem(2, 3000, 300, threads=1), ProxNewton())
    for threads in (2, 3):
        assert minimize(problem(2, 3000, 300, threads=threads), ProxNewton()).w.tobytes() == whole.w.tobytes()
    part = minimize(problem(2, 3000, 300), ProxNewton(), stop=Stop(max_iterations=3))
    rest = minimize(problem(2, 3000, 300), ProxNewton(), state=pickle.loads(pickle.dumps(part.state)))
    assert rest.w.tobytes() == whole.w.tobytes()
    assert rest.iterations == whole.iterations


def test_the_working_set_is_part_of_the_columns_and_in_the_trace():
    result = minimize(problem(3, 500, 2000, l1=1.0, density=0.02), ProxNewton())
    sizes = [record.working_set for record in result.trace]
    assert sizes[1] == 50
    assert max(sizes[1:]) < 2000
    assert result.trace[-1].nnz <= sizes[-1] + 1


def test_starting_elsewhere_ends_at_the_same_optimum():
    given_problem = problem(4)
    start = np.random.default_rng(0).normal(size=given_problem.n_features)
    ends = [minimize(given_problem, TIGHT, w0).objective for w0 in (None, start, 20.0 * start)]
    assert ends == pytest.approx([ends[0]] * 3, rel=1e-10)


def test_what_it_cannot_do_is_refused_with_a_remedy():
    three = ClassifierObjective(np.eye(3, 200), [0, 1, 2], n_classes=3)
    for bad, word in (
        (Problem(three, ElasticNet(0.0, 1.0, 3)), "needs an L1 penalty, but l1=0, and 603 weights are more than 500"),
        (Problem(Logistic(5, 20), ElasticNet(1.0)), "owlqn"),
        (Problem(problem(d=500).objective, ElasticNet(0.0, 1.0, 1)), "lbfgs"),
        (Problem(problem().objective, ElasticNet(1.0)), "intercept"),
    ):
        with pytest.raises(OptionError, match=word):
            ProxNewton().init(bad, np.zeros(bad.n_features))
    for option in (
        {"tolerance": -1},
        {"precision": 1.0},
        {"precision": 0},
        {"max_sweeps": 0},
        {"gradient_tolerance": "x"},
    ):
        with pytest.raises(OptionError, match=next(iter(option))):
            ProxNewton(**option)


def test_a_step_evaluates_the_gradient_once():
    rng = np.random.default_rng(0)
    objective = ClassifierObjective(rng.normal(size=(40, 5)), rng.integers(0, 2, 40), n_classes=2)
    result = minimize(Problem(objective, ElasticNet(l1=1.0, unpenalised=1)), ProxNewton())
    assert result.gradient_evaluations == result.iterations + 1
    assert [record.gradient_evaluations for record in result.trace] == list(range(1, result.iterations + 2))


@pytest.mark.parametrize(("l2", "intercept"), [(0.0, 0.0), (0.02, 0.5)])
def test_a_step_on_almost_separable_data_goes_on_until_the_objective_falls_no_more(l2, intercept):
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((300, 40), density=0.3, rng=rng, format="csr")
    y = (X @ rng.normal(size=40) > 0.0).astype(int)
    objective = ClassifierObjective(X, y, n_classes=2, intercept=intercept)
    given_problem = Problem(objective, ElasticNet(0.02, l2, objective.n_unpenalised))
    w = np.zeros(objective.n_features)
    before, scores, gradient = objective.start(w)
    step = objective.newton_step(w, scores, gradient, l1=0.02, l2=l2, precision=0.1, sweeps=1000, least=100, stride=1)
    assert step.moved
    assert step.trials > 1
    nll, exact = objective.value_and_gradient(w)
    assert step.nll == pytest.approx(nll, rel=1e-12)
    np.testing.assert_allclose(gradient, exact, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores, objective.start(w)[1], rtol=1e-9, atol=1e-9)
    smooth = exact + np.where(np.arange(w.size) < 40, l2 * w + 0.02 * np.sign(w), 0.0)
    decrease = before - given_problem.penalised(w, nll, exact)[0]
    assert smooth @ w >= -0.1 * decrease


@pytest.mark.parametrize("n_classes", [2, 3])
def test_steps_that_promise_less_than_rounding_errors_still_lower_the_violation(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.random((15, 30)), np.arange(15) % n_classes
    model = MaxEnt(l1=0.01, solver=ProxNewton(tolerance=0.0, gradient_tolerance=0.0)).fit(X, y)
    assert model.result_.status is Status.CONVERGED
    assert model.result_.violation < 1e-12


@pytest.mark.parametrize("options", [{"l1": 0.01}, {"l1": 0.01, "l2": 0.01}, {"l2": 0.01}], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_tiny_data_end_within_rounding_errors_whether_samples_are_repeated_or_weighted(n_classes, options):
    rng = np.random.default_rng(1)
    X, y, times = rng.random((15, 30)), np.arange(15) % n_classes, rng.integers(0, 5, 15)
    weighted = MaxEnt(**options).fit(X, y, sample_weight=times)
    repeated = MaxEnt(**options).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8, atol=1e-10)
