"""An objective as a function of the change from old weights: against SciPy, optimality conditions and the bound."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import by_day, examples
from loglinear import ChainFeatures, ChainObjective, ClassifierObjective, Corpus, ElasticNet, Problem, Stop, minimize
from loglinear.errors import OptionError
from loglinear.gap import duality_gap, no_bound
from loglinear.objectives.prior import from_prior
from loglinear.problem import Curved, Movable, Restrictable
from loglinear.protocols import satisfies
from loglinear.solvers import BFGS, LBFGS, OWLQN, Grafting, GraftingLight, ProxGradient, make_solver
from oracles.samples import sentences

LAW = examples(25, suppress_health_check=[HealthCheck.too_slow])
TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-9}


def chain(seed, order=1):
    X, y = sentences(8, seed)
    return ChainObjective(Corpus.encode(X, y), ChainFeatures(order=order, all_transitions=True), threads=1)


def classifier(seed, n_classes, intercept=True, n=30, d=5):
    rng = np.random.default_rng(seed)
    X = scipy.sparse.random_array((n, d), density=0.5, rng=rng, format="csr")
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return ClassifierObjective(X, y, n_classes=n_classes, intercept=intercept, threads=1)


KINDS = {
    "chain": chain,
    "second order": lambda seed: chain(seed, order=2),
    "two classes": lambda seed: classifier(seed, 2),
    "three classes": lambda seed: classifier(seed, 3),
}


def old_weights(objective, seed, share=0.7):
    rng = np.random.default_rng(seed + 1)
    return rng.normal(size=objective.n_features) * (rng.random(objective.n_features) < share)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0.3, 10.0])
def test_the_optimum_is_that_of_the_centred_penalty_in_scipy(kind, strength):
    objective = KINDS[kind](3)
    c = old_weights(objective, 3)

    def centred(w):
        nll, gradient = objective.value_and_gradient(w)
        return nll + 0.5 * strength * (w - c) @ (w - c), gradient + strength * (w - c)

    oracle = scipy.optimize.minimize(centred, c, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    result = minimize(Problem(from_prior(objective, c), ElasticNet(l2=strength, unpenalised=0)), LBFGS(**TIGHT))
    assert result.objective == pytest.approx(oracle.fun, rel=1e-10)
    np.testing.assert_allclose(c + result.w, oracle.x, atol=1e-5)


# By day each solver with one of the penalties on each kind, in turn.
L1_SOLVERS, STRENGTHS = [OWLQN, ProxGradient, Grafting, GraftingLight], [(0.4, 0.0), (0.2, 0.5)]


@pytest.mark.parametrize(
    ("kind", "penalty", "solver"),
    by_day(
        product(KINDS, STRENGTHS, L1_SOLVERS),
        lambda case: ([*KINDS].index(case[0]) + STRENGTHS.index(case[1]) + L1_SOLVERS.index(case[2])) % 2 == 0,
    ),
)
def test_l1_around_old_weights_meets_the_optimality_conditions(kind, penalty, solver):
    objective = KINDS[kind](4)
    c, (l1, l2) = old_weights(objective, 4), penalty
    options = {"tolerance": 0.0} if solver is not ProxGradient else {"tolerance": 1e-14}
    problem = Problem(from_prior(objective, c), ElasticNet(l1, l2, unpenalised=0))
    w = c + minimize(problem, solver(**options), stop=Stop(max_iterations=4000)).w
    _, g = objective.value_and_gradient(w)
    moved = w != c
    assert moved.any()
    assert not moved.all()
    slack = 3e-3
    np.testing.assert_allclose((g + l2 * (w - c))[moved], -l1 * np.sign(w - c)[moved], atol=slack)
    assert np.abs(g[~moved]).max() <= l1 + slack


@LAW
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from([*KINDS]),
    strengths=st.sampled_from([(0.3, 0.0), (2.0, 0.0), (0.0, 0.5), (0.0, 5.0), (0.2, 0.1)]),
    spared=st.booleans(),
    has_units=st.booleans(),
)
def test_the_bound_is_above_the_distance(seed, kind, strengths, spared, has_units):
    objective = KINDS[kind](seed)
    units = np.random.default_rng(seed).uniform(0.3, 2.0, objective.n_features) if has_units else None
    changed = from_prior(objective, old_weights(objective, seed), units=units)
    free = objective.n_unpenalised if spared else 0
    problem = Problem(changed, ElasticNet(*strengths, free))
    assert not no_bound(problem)
    solver = OWLQN(**TIGHT) if strengths[0] else LBFGS(**TIGHT)
    optimum = minimize(problem, solver, stop=Stop(max_iterations=3000))
    rng = np.random.default_rng(seed)
    n = problem.n_features
    for d in (np.zeros(n), rng.normal(size=n), optimum.w + 0.01 * rng.normal(size=n), optimum.w):
        nll, gradient = changed.value_and_gradient(d)
        value = nll + problem.penalty.value(d)
        gap = duality_gap(problem, d, nll, gradient)
        assert gap >= value - optimum.objective - 1e-11 * max(value, 1.0)
    if strengths[1] >= 0.1:
        assert gap <= 1e-7 * value


@pytest.mark.parametrize("kind", KINDS)
def test_some_changes_leave_all_other_weights_at_their_old_values(kind):
    objective = KINDS[kind](5)
    c = old_weights(objective, 5, share=0.3)
    changed = from_prior(objective, c)
    free = objective.n_unpenalised
    rng = np.random.default_rng(5)
    n = objective.n_features
    features = np.union1d(rng.choice(n, n // 2, replace=False), np.arange(n - free, n))
    restricted = changed.restrict(features)
    d = rng.normal(size=features.size)
    w = c.copy()
    w[features] += d
    nll, gradient = objective.value_and_gradient(w)
    out = np.empty(features.size)
    value, own = restricted.value_and_gradient(d, out)
    assert own is out
    assert value == pytest.approx(nll)
    np.testing.assert_allclose(own, gradient[features], atol=1e-9)
    narrower = restricted.restrict(np.arange(1, features.size))
    w = c.copy()
    w[features[1:]] += d[1:]
    assert narrower.value_and_gradient(d[1:])[0] == pytest.approx(objective.value_and_gradient(w)[0])


@pytest.mark.parametrize("kind", KINDS)
def test_units_are_strengths_of_single_weights(kind):
    objective = KINDS[kind](10)
    c, rng = old_weights(objective, 10), np.random.default_rng(10)
    precision = rng.uniform(0.2, 5.0, c.size)

    def penalised(w):
        nll, gradient = objective.value_and_gradient(w)
        return nll + 0.5 * precision @ (w - c) ** 2, gradient + precision * (w - c)

    oracle = scipy.optimize.minimize(penalised, c, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    changed = from_prior(objective, c, units=1.0 / np.sqrt(precision))
    result = minimize(Problem(changed, ElasticNet(l2=1.0, unpenalised=0)), LBFGS(**TIGHT))
    assert result.objective == pytest.approx(oracle.fun, rel=1e-10)
    np.testing.assert_allclose(changed.weights_at(result.w), oracle.x, atol=1e-4)
    some = np.arange(c.size)[::2] if objective.n_unpenalised == 0 else np.arange(c.size)[1:]
    d = rng.normal(size=some.size)
    everywhere = np.zeros(c.size)
    everywhere[some] = d
    value, gradient = changed.value_and_gradient(everywhere)
    restricted = changed.restrict(some)
    assert restricted.value_and_gradient(d)[0] == pytest.approx(value)
    np.testing.assert_allclose(restricted.value_and_gradient(d)[1], gradient[some], atol=1e-9)
    step = 1e-4 * np.eye(c.size)[0]
    slope = changed.value_and_gradient(everywhere + step)[1][0] - changed.value_and_gradient(everywhere - step)[1][0]
    if "classes" in kind:
        assert changed.hessian_diagonal(everywhere)[0] == pytest.approx(slope / 2e-4, rel=1e-5)


def test_abilities_are_those_of_the_objective_at_the_old_weights():
    objective = classifier(6, 3)
    c = old_weights(objective, 6)
    changed = from_prior(objective, c)
    d = np.random.default_rng(6).normal(size=c.size)
    np.testing.assert_array_equal(changed.hessian_diagonal(d), objective.hessian_diagonal(c + d))
    np.testing.assert_array_equal(changed.sample_nlls(d), objective.sample_nlls(c + d))
    np.testing.assert_array_equal(changed.balanced(d).gradient, objective.balanced(c + d).gradient)
    assert changed.is_convex
    assert changed.n_threads == objective.n_threads

    class Bare:
        n_features, n_samples = 2, 1

        def value_and_gradient(self, w, out=None):
            return float((w - 3) @ (w - 3)), 2 * (w - 3)

    bare = from_prior(Bare(), np.array([1.0, 2.0]))
    assert not any(satisfies(bare, ability) for ability in (Curved, Movable, Restrictable))
    assert minimize(Problem(bare), LBFGS()).w.round(3).tolist() == [2.0, 1.0]


def test_columns_far_from_zero_move_with_the_old_weights():
    rng = np.random.default_rng(7)
    X = np.column_stack([2000.0 + rng.normal(size=40), rng.normal(size=40)])
    objective = ClassifierObjective(X, rng.integers(3, size=40), n_classes=3, threads=1)
    c = objective.weights_of(rng.normal(size=(3, 2)) * 0.01, rng.normal(size=3))
    changed = from_prior(objective, c)
    near = changed.near_zero()
    coef, intercept = 0.01 * rng.normal(size=(3, 2)), rng.normal(size=3)
    value = changed.value_and_gradient(changed.weights_of(coef, intercept))[0]
    assert near.value_and_gradient(near.weights_of(coef, intercept))[0] == pytest.approx(value)


@pytest.mark.parametrize("name", ["sgd_l1", "sag", "label_sets", "prox_newton", "dual_cd"])
def test_solvers_that_need_native_passes_are_refused_by_name(name):
    objective = KINDS["two classes" if name in ("prox_newton", "dual_cd") else "chain"](8)
    l1 = 0.0 if name in ("dual_cd", "sag") else 0.1
    problem = Problem(from_prior(objective, old_weights(objective, 8)), ElasticNet(l1=l1, l2=1.0, unpenalised=0))
    with pytest.raises(OptionError, match=f"{name} needs .*use (owlqn|lbfgs)"):
        minimize(problem, make_solver(name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("l1", [0.0, 0.2])
def test_auto_and_bfgs_find_the_same_optimum(kind, l1):
    objective = KINDS[kind](9)
    problem = Problem(from_prior(objective, old_weights(objective, 9)), ElasticNet(l1, 1.0, unpenalised=0))
    best = minimize(problem, OWLQN(**TIGHT)).objective
    for solver in [make_solver("auto")] if l1 else [make_solver("auto"), BFGS()]:
        assert minimize(problem, solver).objective == pytest.approx(best, rel=1e-4)
