"""Improved iterative scaling against its equations, its bound, and the optimum of L-BFGS."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear.errors import ObjectiveError, OptionError
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import IIS, LBFGS, make_solver
from loglinear.solvers.iis import Occurrences, update

LAWS = examples(60)
CASES = dict(
    seed=st.integers(0, 10_000),
    outputs=st.sampled_from([1, 2, 4]),
    l2=st.sampled_from([0.0, 0.01, 1.0, 30.0]),
    weighted=st.booleans(),
)


class Classifier:
    """A maximum-entropy classifier: softmax, or a logistic function with one output."""

    def __init__(self, design, targets, outputs, weights=None):
        self.design, self.targets, self.n_outputs = scipy.sparse.csr_matrix(design), np.asarray(targets), outputs
        self.n_samples, columns = self.design.shape
        self.n_features = columns * outputs
        self.weights = np.ones(self.n_samples) if weights is None else np.asarray(weights, float)

    def log_probabilities(self, w):
        scores = self.design @ w.reshape(-1, self.n_outputs)
        if self.n_outputs == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)

    def probabilities(self, w):
        return np.exp(self.log_probabilities(w))[:, -self.n_outputs :]

    def value_and_gradient(self, w, out=None):
        log_p = self.log_probabilities(w)
        residual = np.exp(log_p)
        residual[np.arange(self.n_samples), self.targets] -= 1.0
        residual *= self.weights[:, None]
        out = np.empty_like(w) if out is None else out
        out[...] = (self.design.T @ residual[:, -self.n_outputs :]).ravel()
        return float(-(self.weights @ log_p[np.arange(self.n_samples), self.targets])), out


class AllButLast(ElasticNet):
    """An L2 penalty that spares the last weight."""

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "unpenalised", 1)

    def value(self, w):
        return ElasticNet(l2=self.l2).value(w[:-1])

    def violation(self, w, g):
        return max(ElasticNet(l2=self.l2).violation(w[:-1].copy(), g[:-1].copy()), abs(g[-1]))


def classifier(seed, outputs, weighted=False, samples=12, columns=5, spread=1.0):
    """Random counts times random scales, some columns rare, the last constant; some weights are zero."""
    rng = np.random.default_rng(seed)
    design = rng.poisson(rng.uniform(0.1, 1.5, columns), (samples, columns)) * np.exp(spread * rng.normal(size=columns))
    weights = rng.choice([0.0, 0.3, 1.0, 2.5], samples, p=[0.1, 0.3, 0.3, 0.3]) if weighted else None
    targets = rng.integers(0, max(outputs, 2), samples)
    return Classifier(np.column_stack([design, np.ones(samples)]), targets, outputs, weights)


def sides(objective, w, delta, l2):
    """Both sides of the equation of each weight, one by one."""
    x, s, p = objective.design.toarray(), objective.weights, objective.probabilities(w)
    w, delta = (v.reshape(-1, objective.n_outputs) for v in (w, delta))
    left, right = np.zeros_like(w), np.zeros_like(w)
    for j, k in np.ndindex(w.shape):
        target = 1 if objective.n_outputs == 1 else k
        for i in range(objective.n_samples):
            left[j, k] += s[i] * p[i, k] * x[i, j] * np.exp(delta[j, k] * x[i].sum())
            right[j, k] += s[i] * (objective.targets[i] == target) * x[i, j]
        left[j, k] += l2 * (w[j, k] + delta[j, k])
    return left.ravel(), right.ravel()


def one_step(objective, w, l2):
    problem, solver = Problem(objective, ElasticNet(l2=l2)), IIS()
    return solver.step(problem, solver.init(problem, w)).w


@LAWS
@given(**CASES, scale=st.sampled_from([0.0, 1.0, 30.0]), spread=st.sampled_from([0.0, 1.0, 4.0]))
def test_no_step_increases_the_objective(seed, outputs, l2, weighted, scale, spread):
    objective = classifier(seed, outputs, weighted, spread=spread)
    w0 = scale * np.random.default_rng(seed).normal(size=objective.n_features)
    problem = Problem(objective, ElasticNet(l2=l2))
    solver = IIS(tolerance=0.0, gradient_tolerance=1e-9)
    found = [r.objective for r in minimize(problem, solver, w0, stop=Stop(max_iterations=20)).trace]
    assert all(after <= before + 1e-12 * abs(before) + 1e-14 for before, after in itertools.pairwise(found))


@LAWS
@given(**CASES)
def test_updates_solve_their_equations(seed, outputs, l2, weighted):
    objective = classifier(seed, outputs, weighted)
    w = np.random.default_rng(seed).normal(size=objective.n_features)
    delta = one_step(objective, w, l2) - w
    left, right = sides(objective, w, delta, l2)
    if not l2:
        expected = sides(objective, w, np.zeros_like(w), l2)[0]
        right = np.where(right == 0.0, 1e-3 * expected, right)
    np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-10 * (1.0 + l2))


@LAWS
@given(**CASES, length=st.sampled_from([0.01, 0.3, 2.0]))
def test_the_bound_is_above_the_change_of_the_objective(seed, outputs, l2, weighted, length):
    objective = classifier(seed, outputs, weighted)
    rng = np.random.default_rng(seed)
    w, delta = rng.normal(size=objective.n_features), length * rng.normal(size=objective.n_features)
    x, s = objective.design.toarray(), objective.weights
    totals = x.sum(axis=1)
    assume(totals.max() * delta.max() < 700.0)  # beyond, the bound is infinite
    counts = sides(objective, w, delta, l2)[1]
    steps = delta.reshape(-1, outputs)
    bound = -counts @ delta + l2 * (w @ delta + 0.5 * delta @ delta)
    for k in range(outputs):
        shares = x / totals[:, None] * np.expm1(steps[:, k] * totals[:, None])
        bound += s * objective.probabilities(w)[:, k] @ shares.sum(axis=1)
    change = objective.value_and_gradient(w + delta)[0] - objective.value_and_gradient(w)[0]
    change += 0.5 * l2 * ((w + delta) @ (w + delta) - w @ w)
    assert change <= bound + 1e-9 * (1.0 + abs(bound))


@LAWS
@given(seed=st.integers(0, 10_000), outputs=st.sampled_from([1, 3]))
def test_with_equal_totals_a_step_is_one_of_generalized_iterative_scaling(seed, outputs):
    rng = np.random.default_rng(seed)
    design = rng.uniform(size=(15, 4))
    design = np.column_stack([design, 5.0 - design.sum(axis=1)])
    objective = Classifier(design, np.arange(15) % max(outputs, 2), outputs)
    w = rng.normal(size=objective.n_features)
    expected, counts = sides(objective, w, np.zeros_like(w), 0.0)
    np.testing.assert_allclose(one_step(objective, w, 0.0) - w, np.log(counts / expected) / 5.0, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("outputs", "l2"), by_day(itertools.product([1, 2, 3], [0.3, 3.0]), lambda case: case in {(1, 0.3), (3, 3.0)})
)
def test_reaches_the_optimum_of_lbfgs(outputs, l2):
    problem = Problem(classifier(3, outputs, weighted=True, samples=40), ElasticNet(l2=l2))
    found = minimize(problem, IIS(tolerance=0.0, gradient_tolerance=1e-8), stop=Stop(max_iterations=20_000))
    optimum = minimize(problem, LBFGS(tolerance=0.0, gradient_tolerance=1e-9))
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(optimum.objective, rel=1e-10)
    np.testing.assert_allclose(found.w, optimum.w, atol=1e-6)


def test_the_default_tolerance_is_near_the_optimum():
    problem = Problem(classifier(3, 3, samples=40), ElasticNet(l2=1.0))
    found = minimize(problem, make_solver("iis"))
    assert found.status is Status.CONVERGED
    assert found.objective <= minimize(problem, LBFGS()).objective * 1.01


def test_an_unpenalised_intercept_is_at_its_optimum():
    objective = classifier(5, 1, samples=40)
    found = minimize(Problem(objective, AllButLast(l2=2.0)), IIS(tolerance=0.0, gradient_tolerance=1e-9))
    gradient = objective.value_and_gradient(found.w)[1]
    np.testing.assert_allclose(gradient[:-1], -2.0 * found.w[:-1], atol=1e-8)
    assert gradient[-1] == pytest.approx(0.0, abs=1e-8)


def test_a_weight_counts_like_as_many_samples():
    objective = classifier(7, 3)
    weights = np.random.default_rng(7).integers(0, 4, objective.n_samples)
    again = np.repeat(np.arange(objective.n_samples), weights)
    repeated = Classifier(objective.design[again], objective.targets[again], 3)
    objective.weights = weights.astype(float)
    w = np.random.default_rng(8).normal(size=objective.n_features)
    np.testing.assert_allclose(one_step(objective, w, 0.5), one_step(repeated, w, 0.5), rtol=1e-9)


def test_features_of_no_sample_stay_without_a_penalty_and_vanish_with_one():
    objective = Classifier([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]], [0, 1, 0], 1)
    w = np.array([0.2, 0.7])
    assert one_step(objective, w, 0.0)[1] == 0.7
    assert one_step(objective, w, 0.5)[1] == 0.0
    nothing = Classifier(np.zeros((3, 2)), [0, 1, 0], 1)
    assert minimize(Problem(nothing), IIS()).status is Status.CONVERGED


def test_without_a_penalty_the_count_of_a_feature_that_never_goes_with_its_class_is_divided_by_1000():
    objective = Classifier([[1.0, 2.0], [1.0, 0.0], [1.0, 0.0]], [0, 1, 0], 1)
    weights = []
    found = minimize(Problem(objective), IIS(), callbacks=[lambda record, state: weights.append(state.w[1])])
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(np.diff(weights), -np.log(1000.0) / 3.0)


@pytest.mark.parametrize("l2", [0.0, 1e-8, 1e8])
def test_equations_far_from_zero_are_solved_without_overflow(l2):
    totals = np.geomspace(1e-3, 1e5, 30)
    terms = np.geomspace(1e-300, 1e8, 30)
    column = scipy.sparse.csr_matrix(totals[:, None])
    occurrences = Occurrences.of(column, np.ones(30))
    for a, w, terms_of in itertools.product([1e-9, 1.0, 1e12], [-1e3, 0.0, 1e3], [terms, terms[::-1]]):
        b = a - l2 * w
        (delta,) = update(occurrences, terms_of, np.array([a]), np.array([l2]), np.array([w]))
        # The left-hand side crosses b within the rounding errors of delta and b.
        for sign in (-1.0, 1.0):
            near = delta + sign * 1e-9 * (abs(delta) + 1e-5)
            left = np.exp(np.log(terms_of) + near * totals).sum() + l2 * near
            assert sign * (left - b) >= -1e-12 * abs(b)


def test_resuming_from_a_checkpoint_is_exact():
    problem = Problem(classifier(11, 3, weighted=True), ElasticNet(l2=0.1))
    whole = minimize(problem, IIS(tolerance=0.0), stop=Stop(max_iterations=8))
    half = minimize(problem, IIS(tolerance=0.0), stop=Stop(max_iterations=4))
    rest = minimize(
        problem, IIS(tolerance=0.0), state=pickle.loads(pickle.dumps(half.state)), stop=Stop(max_iterations=8)
    )
    np.testing.assert_array_equal(rest.w, whole.w)
    assert rest.objective == whole.objective
    assert whole.gradient_evaluations == 9
    assert whole.passes == 9.0


def test_what_it_cannot_do_is_said():
    good = classifier(0, 1)
    with pytest.raises(OptionError, match=r"l1=1\); use owlqn"):
        minimize(Problem(good, ElasticNet(l1=1.0)), IIS())

    class Other:
        n_features, n_samples = 1, 1

        def value_and_gradient(self, w, out=None):
            raise NotImplementedError

    with pytest.raises(OptionError, match=r"iis needs a classifier .*, but this objective is not one; use lbfgs"):
        minimize(Problem(Other()), IIS())
    for bad in (-1.5, np.nan, np.inf):
        design = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, bad]])
        with pytest.raises(OptionError, match=rf"column 2 has {bad:g} in row 1"):
            minimize(Problem(Classifier(design, [0, 1], 1)), IIS())
    with pytest.raises(OptionError, match="column 1 has -3 in row 1"):  # the first of two
        minimize(Problem(Classifier(np.array([[1.0, 2.0, -4.0], [0.0, -3.0, 1.0]]), [0, 1], 1)), IIS())
    for options in ({"tolerance": -1.0}, {"gradient_tolerance": np.nan}):
        with pytest.raises(OptionError, match="tolerance="):
            IIS(**options)
    with pytest.raises(ObjectiveError, match="the objective is nan after 0 steps"):
        minimize(Problem(Classifier([[1.0]], [0], 1, [np.nan])), IIS())
