"""Penalties with factors and signs of single weights: the conditions of the optimum, and the optimum of others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize as scipy_minimize

from examples import by_day
from loglinear import (
    ChainObjective,
    ClassifierObjective,
    Corpus,
    ElasticNet,
    OptionError,
    Problem,
    minimize,
    path,
    vectors,
)
from loglinear.path import largest_l1
from loglinear.penalty import GroupLasso
from loglinear.solvers import LBFGS, OWLQN, Auto, Grafting, GraftingLight, LabelSets, ProxGradient, ProxNewton
from loglinear.solvers.grafting import GaussSeidel

EXACT = {"tolerance": 0.0, "gradient_tolerance": 1e-7}
SOLVERS = {
    "owlqn": lambda: OWLQN(**EXACT),
    "prox_newton": lambda: ProxNewton(tolerance=1e-14, gradient_tolerance=1e-9),
    "prox_gradient": lambda: ProxGradient(**EXACT),
    "grafting": lambda: Grafting(inner=OWLQN(memory=40, **EXACT)),
    "grafting_light": lambda: GraftingLight(inner=OWLQN(memory=40, **EXACT)),
    "gauss_seidel": lambda: GaussSeidel(select=3, inner=OWLQN(memory=40, **EXACT)),
    "label_sets": lambda: LabelSets(inner=OWLQN(memory=20, **EXACT)),
    "auto": lambda: Auto(tolerance=1e-12),
}


def classifier(seed, n_classes=2, n=80, d=7, sparse=False):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * (random.uniform(size=(n, d)) < 0.6)
    scores = X @ random.normal(size=(d, n_classes)) + random.gumbel(size=(n, n_classes))
    if sparse:
        from scipy.sparse import csr_array

        X = csr_array(X)
    return ClassifierObjective(X, scores.argmax(axis=1), n_classes=n_classes)


def chain(seed, n=12):
    random = np.random.default_rng(seed)
    sentences = [[[f"w={random.integers(6)}", f"x={random.integers(3)}"] for _ in range(5)] for _ in range(n)]
    labels = [[str((int(token[0][-1]) + random.integers(2)) % 3) for token in tokens] for tokens in sentences]
    return ChainObjective(Corpus.encode(sentences, labels), threads=1)


def varied(objective, seed, l1, l2, *, signs=True):
    """Return a penalty with random factors, some of them 0, and random signs."""
    random = np.random.default_rng(seed)
    n = objective.n_features - objective.n_unpenalised
    factors = random.choice([0.0, 0.5, 1.0, 3.0], n, p=[0.15, 0.3, 0.25, 0.3])
    factors[0], signed = 0.0, random.integers(-1, 2, n)
    signed[0] = 0
    return ElasticNet(l1, l2, objective.n_unpenalised, factors=factors, signs=signed if signs else None)


def assert_optimal(problem, w, tolerance=1e-4):
    """The conditions of Karush, Kuhn & Tucker, weight by weight, from nothing but the gradient."""
    penalty, n = problem.penalty, problem.n_features - problem.penalty.unpenalised
    gradient = problem.objective.value_and_gradient(w)[1]
    assert_allclose(gradient[n:], 0.0, atol=tolerance)
    factors = np.ones(n) if penalty.factors is None else penalty.factors
    signs = np.zeros(n) if penalty.signs is None else penalty.signs
    w, l1 = w[:n], penalty.l1 * factors
    slope = gradient[:n] + penalty.l2 * factors * w
    assert (w * signs >= 0.0).all()
    assert_allclose((slope + l1 * np.sign(w))[w != 0.0], 0.0, atol=tolerance)
    zero = w == 0.0
    assert (slope >= -l1 - tolerance)[zero & (signs >= 0)].all()
    assert (slope <= l1 + tolerance)[zero & (signs <= 0)].all()


def optimum(problem):
    """The least objective by SciPy's L-BFGS-B over the positive and the negative part of each weight."""
    penalty, size = problem.penalty, problem.n_features
    n = size - penalty.unpenalised
    factors = np.zeros(size)
    factors[:n] = 1.0 if penalty.factors is None else penalty.factors
    signs = np.zeros(size)
    signs[:n] = 0.0 if penalty.signs is None else penalty.signs

    def value(parts):
        up, down = parts[:size], parts[size:]
        nll, gradient = problem.objective.value_and_gradient(up - down)
        smooth = gradient + penalty.l2 * factors * (up - down)
        value = nll + penalty.l1 * factors @ (up + down) + penalty.l2 / 2 * factors @ (up - down) ** 2
        return value, np.concatenate([smooth, -smooth]) + penalty.l1 * np.tile(factors, 2)

    bounds = [(0.0, 0.0 if sign < 0 else None) for sign in signs] + [(0.0, 0.0 if sign > 0 else None) for sign in signs]
    options = {"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-9}
    return scipy_minimize(value, np.zeros(2 * size), jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun


CASES = [
    (name, kind, l1, l2)
    for name in SOLVERS
    for kind in ("two", "three", "sparse", "chain")
    for l1, l2 in ((0.7, 0.0), (0.4, 0.3), (0.0, 0.5))
    if not (l1 == 0.0 and name in ("grafting", "grafting_light", "gauss_seidel"))
    if not (kind == "chain" and name == "prox_newton")
    if not (kind != "chain" and name == "label_sets")
]
OBJECTIVES = {
    "two": classifier,
    "three": lambda seed: classifier(seed, 3),
    "sparse": lambda seed: classifier(seed, sparse=True),
    "chain": chain,
}


@pytest.mark.parametrize(
    ("name", "kind", "l1", "l2"), by_day(CASES, lambda case: case[1:] in (("two", 0.4, 0.3), ("chain", 0.4, 0.3)))
)
def test_the_conditions_hold_and_the_optimum_is_that_of_bounded_variables(name, kind, l1, l2):
    objective = OBJECTIVES[kind](3)
    problem = Problem(objective, varied(objective, 5, l1, l2), 3 if kind == "three" else 1)
    found = minimize(problem, SOLVERS[name]())
    assert found.status.converged
    assert found.objective == pytest.approx(optimum(problem), rel=1e-6)
    assert_optimal(problem, found.w, 1e-3 if name == "auto" else 3e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_random_problems_meet_the_conditions(seed):
    for kind, make in OBJECTIVES.items():
        objective = make(seed)
        problem = Problem(objective, varied(objective, seed, 0.3 * (seed % 3), 0.1 + 0.2 * (seed % 2)))
        for name in ("owlqn", "prox_gradient", *(("prox_newton",) if kind != "chain" else ("label_sets",))):
            found = minimize(problem, SOLVERS[name]())
            assert_optimal(problem, found.w, 1e-3)


def test_lbfgs_has_the_optimum_with_factors_and_refuses_signs():
    objective = classifier(1)
    problem = Problem(objective, varied(objective, 2, 0.0, 0.5, signs=False))
    found = minimize(problem, LBFGS(**EXACT))
    assert_optimal(problem, found.w)
    assert found.objective == pytest.approx(optimum(problem), rel=1e-8)
    with pytest.raises(OptionError, match="lbfgs does not support signs; use owlqn"):
        minimize(Problem(objective, varied(objective, 2, 0.0, 0.5)), LBFGS())


@pytest.mark.parametrize("name", ["sag", "sgd_l1", "bfgs", "dual_cd"])
def test_solvers_that_cannot_say_so_and_name_others(name):
    from loglinear.solvers import make_solver

    objective = classifier(1)
    l1 = 0.5 if name == "sgd_l1" else 0.0
    problem = Problem(objective, ElasticNet(l1, 0.5, objective.n_unpenalised, factors=np.full(7, 2.0)))
    with pytest.raises(OptionError, match=rf"{name} .*; use .*owlqn"):
        minimize(problem, make_solver(name))


def test_factors_of_l1_are_those_of_scaled_columns():
    random = np.random.default_rng(0)
    X, factors = random.normal(size=(60, 5)), np.array([0.5, 1.0, 2.0, 4.0, 0.1])
    y = (X[:, 0] - X[:, 2] + random.normal(size=60) > 0).astype(int)
    own, scaled = (ClassifierObjective(data, y, n_classes=2) for data in (X, X / factors))
    found = minimize(Problem(own, ElasticNet(1.5, 0.0, 1, factors=factors)), SOLVERS["owlqn"]())
    other = minimize(Problem(scaled, ElasticNet(1.5, 0.0, 1)), SOLVERS["owlqn"]())
    assert found.objective == pytest.approx(other.objective, rel=1e-9)
    assert_allclose(found.w[:5] * factors, other.w[:5], atol=1e-4)


def test_factors_of_one_and_no_signs_are_no_factors():
    penalty = ElasticNet(0.5, 0.1, 1, factors=np.ones(4), signs=np.zeros(4, int))
    assert penalty.strengths == (0.5, 0.1, 1)
    assert penalty.factors is None
    assert penalty.signs is None


def test_threads_do_not_change_a_bit():
    corpus = chain(4).corpus
    weights = []
    for threads in (1, 2):
        objective = ChainObjective(corpus, threads=threads)
        problem = Problem(objective, varied(objective, 1, 0.2, 0.1))
        weights.append(minimize(problem, OWLQN()).w)
    assert_array_equal(*weights)


def test_a_start_with_wrong_signs_begins_at_zero():
    objective = classifier(2)
    signs = np.array([1, -1, 0, 1, 0, -1, 1])
    problem = Problem(objective, ElasticNet(0.1, 0.1, 1, signs=signs))
    found = minimize(problem, SOLVERS["owlqn"](), np.append(-5.0 * signs, 0.3))
    assert found.trace[0].objective < np.inf
    assert_optimal(problem, found.w)


@pytest.mark.parametrize("signs", [False, True])
def test_the_largest_strength_is_the_first_at_which_penalised_weights_are_zero(signs):
    objective = classifier(6)
    penalty = varied(objective, 9, 1.0, 0.1, signs=signs)
    problem = Problem(objective, penalty)
    largest, penalised = largest_l1(problem), penalty.factors > 0.0
    above = minimize(Problem(objective, penalty.with_l1(1.001 * largest)), SOLVERS["owlqn"]())
    below = minimize(Problem(objective, penalty.with_l1(0.98 * largest)), SOLVERS["owlqn"]())
    assert not above.w[:-1][penalised].any()
    assert above.w[:-1][~penalised].any()
    assert below.w[:-1][penalised].any()


def test_the_points_of_a_path_meet_the_conditions():
    objective = classifier(6)
    problem = Problem(objective, varied(objective, 9, 1.0, 0.1))
    for point in path(problem, 4, ratio=0.1).points:
        at = Problem(objective, problem.penalty.with_l1(point.l1))
        assert_optimal(at, point.result.w, 2e-2)


def test_groups_with_factors_and_signs_meet_their_conditions():
    objective = classifier(8, d=9)
    groups, factors = np.repeat([0, 1, 2], 3), np.repeat([1.0, 0.0, 2.0], 3)
    signs = np.array([1, -1, 1, 0, 1, -1, -1, 1, 0])
    penalty = GroupLasso(2.0, 0.2, 1, groups, factors=factors, signs=signs)
    found = minimize(Problem(objective, penalty), ProxGradient(**EXACT))
    assert found.status.converged
    w, gradient = found.w[:-1], objective.value_and_gradient(found.w)[1][:-1]
    slope = gradient + 0.2 * factors * w
    assert (w * signs >= 0.0).all()
    assert w[3:6].any()
    for group in range(3):
        of = groups == group
        least = 2.0 * np.sqrt(3) * factors[of][0]
        pulls = np.where((w[of] == 0.0) & (signs[of] * slope[of] > 0.0), 0.0, slope[of])
        if w[of].any():
            assert_allclose(pulls, -least * w[of] / np.linalg.norm(w[of]), atol=1e-3)
        else:
            assert np.linalg.norm(pulls) <= least + 1e-6
    strong = minimize(
        Problem(objective, penalty.with_l1(1.001 * largest_l1(Problem(objective, penalty)))), ProxGradient(**EXACT)
    )
    assert not strong.w[:3].any()
    assert not strong.w[6:9].any()


@pytest.mark.parametrize("grouped", [False, True])
def test_prox_is_the_minimiser(grouped):
    random = np.random.default_rng(1)
    factors, signs = np.array([2.0, 2.0, 0.0]), np.array([1, 0, -1])
    kinds = {"groups": np.array([0, 0, 1])} if grouped else {}
    penalty = (GroupLasso if grouped else ElasticNet)(0.7, 0.3, factors=factors, signs=signs, **kinds)
    for _ in range(5):
        v, step = random.normal(size=3) * 3.0, 0.8
        found = penalty.prox(v.copy(), step)

        def value(u, v=v, step=step):
            return ((u - v) ** 2).sum() / (2.0 * step) + penalty.value(u)

        others = found + random.normal(size=(2000, 3)) * 10.0 ** random.uniform(-4, 0, size=(2000, 1))
        assert value(found) <= min(map(value, others)) + 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factors": [1.0, -1.0]}, "factors are not a list of finite numbers >= 0"),
        ({"factors": [1.0, np.inf]}, "factors are not a list of finite numbers >= 0"),
        ({"signs": [2, 0]}, "signs are not a list of 1, 0 and -1"),
        ({"factors": [1.0, 2.0], "signs": [1]}, "2 factors and 1 signs"),
    ],
)
def test_bad_factors_and_signs_are_refused(options, message):
    with pytest.raises(OptionError, match=message):
        ElasticNet(1.0, **options)


def test_factors_of_another_length_are_refused():
    with pytest.raises(OptionError, match="2 factors for 7 penalised weights"):
        minimize(Problem(classifier(1), ElasticNet(1.0, 0.0, 1, factors=[1.0, 2.0])), OWLQN())


def test_weights_of_a_group_have_one_factor():
    with pytest.raises(OptionError, match="weights of a group have different factors"):
        GroupLasso(1.0, groups=np.array([0, 0]), factors=[1.0, 2.0])


def test_the_least_strength_that_holds_weights_at_zero_counts_factors_and_signs():
    penalty = ElasticNet(factors=[2.0, 0.0, 1.0, 1.0], signs=[0, 0, 1, 1])
    assert penalty.largest(np.array([-5.0, 9.0, 4.0, -1.0])) == 2.5
    groups = GroupLasso(groups=np.array([0, 0, 1, 2]), factors=[2.0, 2.0, 0.0, 1.0], signs=[0, 1, 0, 1])
    assert groups.largest(np.array([-6.0, 8.0, 9.0, 4.0])) == pytest.approx(3.0 / np.sqrt(2.0))


def test_label_sets_work_on_the_features_that_violate_the_conditions():
    objective = chain(1)
    problem = Problem(objective, varied(objective, 1, 0.5, 0.0))
    solver = LabelSets(first=None)
    state = solver.init(problem, np.zeros(objective.n_features))
    steep = np.flatnonzero(problem.penalty.pseudo_gradient(state.w, state.gradient))
    assert_array_equal(solver._at_work(problem, state), steep)
    assert 0 < steep.size < objective.n_features


@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.3), (0.4, 0.0), (0.4, 0.3)])
def test_sweeps_with_factors_of_one_have_the_same_bits(l1, l2):
    random = np.random.default_rng(0)
    n, memory = 3000, 3
    w, g, before, g_before = (random.normal(size=n) * (random.uniform(size=n) < 0.7) for _ in range(4))
    results = []
    for strengths in ((l1, l2, 5), (l1, l2, 5, np.ones(n - 5), np.zeros(n - 5, np.int8))):
        out, moved, products = np.zeros(n), np.zeros(n), np.zeros((2, 2))
        S, Y = np.zeros((2, memory, n), np.uint16)
        size = vectors.pseudo_gradient(w, g, strengths, out)
        pair = vectors.secant_pair(w, g, before, g_before, None, strengths, S, Y, [], 0, products)
        ones = np.array([0.3])
        move = vectors.quasi_newton_step(w, g, None, strengths, S, ones, Y, -ones, [0], -1.0, 0.7, moved)
        arrays = (out, moved, products.ravel(), S.ravel(), Y.ravel())
        results.append(np.concatenate([size, pair, move[2:], *arrays]))
    assert_array_equal(*results)
