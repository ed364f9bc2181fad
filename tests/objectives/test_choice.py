"""The likelihood of choices: enumeration of sets and orders, derivatives, classifiers as a special case."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from loglinear import ChoiceObjective, ClassifierObjective, ElasticNet, Problem, minimize, path
from loglinear.gap import duality_gap
from loglinear.solvers import SOLVERS, make_solver, suits
from loglinear.stopping import Stop

COLUMNS = 3


def alternatives(sizes, seed=0, columns=COLUMNS):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(groups), columns)).round(1)
    X[rng.random(X.shape) < 0.4] = 0.0
    order = rng.permutation(len(groups))
    return X[order], groups[order], rng


def marks(groups, rng, chosen):
    """1 for `chosen(m)` of the m alternatives of each group."""
    y = np.zeros(len(groups))
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        y[rng.choice(rows, chosen(len(rows)), replace=False)] = 1
    return y


def ranks(groups, rng, ranked):
    y = np.zeros(len(groups))
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        best = rng.permutation(rows)[: ranked(len(rows))]
        y[best] = np.arange(1, len(best) + 1)
    return y


def nll_of_sets(X, y, groups, w, weights):
    """NLL by all sets of as many alternatives as were chosen."""
    total = 0.0
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        scores, chosen = X[rows] @ w, y[rows] == 1
        sums = [sum(scores[list(each)]) for each in itertools.combinations(range(len(rows)), int(chosen.sum()))]
        total += weights[group] * (np.logaddexp.reduce(sums) - scores[chosen].sum())
    return total


def nll_of_orders(X, y, groups, w, weights):
    """NLL by the probabilities of all orders, added up over those that begin as ranked."""
    total = 0.0
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        scores = dict(zip(rows.tolist(), (X[rows] @ w).tolist(), strict=True))
        best = sorted(rows[y[rows] > 0].tolist(), key=lambda row: y[row])
        p = sum(
            math.prod(
                math.exp(scores[row]) / sum(math.exp(scores[other]) for other in order[at:])
                for at, row in enumerate(order)
            )
            for order in itertools.permutations(rows.tolist())
            if list(order[: len(best)]) == best
        )
        total -= weights[group] * math.log(p)
    return total


CASES = {
    "one": (marks, lambda m: 1, nll_of_sets),
    "several": (marks, lambda m: max(1, m // 2), nll_of_sets),
    "nearly all": (marks, lambda m: m - 1, nll_of_sets),
    "all ranked": (ranks, lambda m: m, nll_of_orders),
    "best two ranked": (ranks, lambda m: 2, nll_of_orders),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, np.asfortranarray])
def test_the_nll_is_that_of_all_sets_or_orders_and_derivatives_are_its_own(case, form):
    make, chosen, enumerated = CASES[case]
    X, groups, rng = alternatives([2, 3, 4, 5, 3, 4])
    y, by_group = make(groups, rng, chosen), rng.uniform(0.5, 2.0, 6)
    objective = ChoiceObjective(form(X), y, groups, by_group[groups], threads=1)
    for w in (np.zeros(COLUMNS), rng.normal(size=COLUMNS), 3.0 * rng.normal(size=COLUMNS)):
        value, gradient = objective.value_and_gradient(w)
        assert_allclose(value, enumerated(X, y, groups, w, by_group), rtol=1e-12)
        assert_allclose(objective.sample_nlls(w) @ objective.weights, value, rtol=1e-12)
        hessian, h = objective.hessian(w), 1e-5
        for k, step in enumerate(np.eye(COLUMNS) * h):
            ends = [enumerated(X, y, groups, w + sign * step, by_group) for sign in (1, -1)]
            assert_allclose(gradient[k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)
            ends = [objective.value_and_gradient(w + sign * step)[1] for sign in (1, -1)]
            assert_allclose(hessian[k], (ends[0] - ends[1]) / (2 * h), rtol=1e-6, atol=1e-7)
        assert_allclose(objective.hessian_diagonal(w), np.diag(hessian), rtol=1e-12)
        assert_allclose(X.T @ objective.residuals(w), gradient, rtol=1e-10, atol=1e-12)


def test_a_classifier_is_a_choice_among_classes_with_columns_of_their_own():
    rng = np.random.default_rng(1)
    X, targets, K = rng.normal(size=(30, 2)), rng.integers(0, 3, 30), 3
    classifier = ClassifierObjective(X, targets, n_classes=K, intercept=False, threads=1)
    copies = np.vstack([np.kron(row, np.eye(K)) for row in X])
    y = (np.tile(np.arange(K), 30) == np.repeat(targets, K)).astype(int)
    choices = ChoiceObjective(copies, y, np.repeat(np.arange(30), K), threads=1)
    w = rng.normal(size=2 * K)
    for mine, other in zip(choices.value_and_gradient(w), classifier.value_and_gradient(w), strict=True):
        assert_allclose(mine, other, rtol=1e-12)


def test_one_of_two_chosen_is_a_logistic_regression_of_differences():
    X, groups, rng = alternatives([2] * 20)
    y = marks(groups, rng, lambda m: 1)
    order = np.lexsort((-y, groups))
    differences = X[order[::2]] - X[order[1::2]]
    binary = ClassifierObjective(differences, np.ones(20, int), n_classes=2, intercept=False, threads=1)
    w = rng.normal(size=COLUMNS)
    value, gradient = ChoiceObjective(X, y, groups, threads=1).value_and_gradient(w)
    expected, slopes = binary.value_and_gradient(w)
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-12)


def test_choosing_all_but_k_is_choosing_k_by_opposite_columns():
    X, groups, rng = alternatives([5, 6, 4])
    y, w = marks(groups, rng, lambda m: 1), rng.normal(size=COLUMNS)
    value, gradient = ChoiceObjective(X, y, groups, threads=1).value_and_gradient(w)
    other, slopes = ChoiceObjective(-X, 1 - y, groups, threads=1).value_and_gradient(w)
    assert_allclose(value, other, rtol=1e-12)
    assert_allclose(gradient, slopes, rtol=1e-10, atol=1e-12)


def test_scores_of_ten_thousand_give_finite_numbers():
    X, groups, rng = alternatives([4, 5, 6])
    for make, chosen, _ in CASES.values():
        objective = ChoiceObjective(1e4 * X, make(groups, rng, chosen), groups, threads=1)
        value, gradient = objective.value_and_gradient(np.ones(COLUMNS))
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(objective.hessian(np.ones(COLUMNS))).all()
    assert objective.value_and_gradient(np.array([np.inf, 0.0, 0.0]))[0] == np.inf


def test_a_constant_that_is_added_to_a_group_changes_nothing():
    X, groups, rng = alternatives([3, 4, 5])
    y, w = marks(groups, rng, lambda m: 2), rng.normal(size=COLUMNS)
    own, far = (ChoiceObjective(matrix, y, groups, threads=1) for matrix in (X, X + 2000.0 * groups[:, None]))
    assert_allclose(own.hessian(w), far.hessian(w), rtol=1e-9)
    assert_allclose(own.value_and_gradient(w)[0], far.value_and_gradient(w)[0], rtol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
def test_results_are_the_same_bits_on_any_number_of_threads(form):
    X, groups, rng = alternatives([4] * 6000)
    y, w = np.zeros(len(groups)), rng.normal(size=COLUMNS)
    y[np.unique(groups, return_index=True)[1]] = 1
    results = []
    for threads in (1, 2, 3):
        objective = ChoiceObjective(form(X), y, groups, threads=threads)
        value, gradient = objective.value_and_gradient(w)
        results.append(np.concatenate([[value], gradient, objective.hessian(w).ravel()]))
    assert_array_equal(results[0], results[1])
    assert_array_equal(results[0], results[2])


# Solvers that suit choices; all others refuse.
BATCH = {"auto", "lbfgs", "owlqn", "prox_newton", "bfgs", "hybrid", "prox_gradient", "clustered"}
WITH_L1 = {"auto", "owlqn", "prox_newton", "grafting", "grafting_light", "gauss_seidel", "prox_gradient"}


def test_solvers_that_suit_choices_are_those_of_whole_batches():
    X, groups, rng = alternatives([3, 4, 5])
    objective = ChoiceObjective(X, marks(groups, rng, lambda m: 1), groups, threads=1)
    for penalty, expected in ((ElasticNet(l2=1.0), BATCH), (ElasticNet(l1=0.1), WITH_L1)):
        assert {name for name, kind in SOLVERS.items() if suits(kind, Problem(objective, penalty))} == expected


@pytest.mark.parametrize(
    ("name", "penalty"),
    [(name, ElasticNet(l2=0.5)) for name in sorted(BATCH)] + [(name, ElasticNet(l1=2.0)) for name in sorted(WITH_L1)],
)
def test_all_solvers_find_the_same_optimum(name, penalty):
    X, groups, rng = alternatives([3, 4, 5, 6] * 5, columns=6)
    objective = ChoiceObjective(X, marks(groups, rng, lambda m: 1 + m // 5), groups, threads=1)
    problem = Problem(objective, penalty)
    best = minimize(problem, make_solver("prox_newton", tolerance=0.0, precision=1e-6), stop=Stop(max_iterations=50))
    found = minimize(problem, make_solver(name), stop=Stop(max_iterations=500))
    assert found.objective <= best.objective * (1.0 + 1e-4)
    assert found.objective >= best.objective * (1.0 - 1e-9)


@pytest.mark.parametrize("name", ["owlqn", "prox_gradient"])
def test_weights_have_factors_of_the_penalty_and_signs(name):
    X, groups, rng = alternatives([3, 4, 5, 6] * 5, columns=6)
    objective = ChoiceObjective(X, marks(groups, rng, lambda m: 1 + m // 5), groups, threads=1)
    free = minimize(Problem(objective, ElasticNet(l1=0.2)), make_solver("prox_newton")).w
    signs = np.where(np.arange(6) < 3, -np.sign(free), 0).astype(np.int8)
    penalty = ElasticNet(l1=0.2, l2=0.1, factors=np.array([1.0, 0.0, 3.0, 1.0, 0.0, 3.0]), signs=signs)
    problem = Problem(objective, penalty)
    steps = minimize(problem, make_solver("prox_newton", tolerance=0.0, precision=1e-6), stop=Stop(max_iterations=50))
    other = minimize(problem, make_solver(name, tolerance=0.0), stop=Stop(max_iterations=500))
    assert_array_equal(steps.w[:3], 0.0)
    assert steps.violation < 1e-5
    assert other.objective == pytest.approx(steps.objective, rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_the_bound_of_the_distance_from_the_optimum_holds(case):
    make, chosen, _ = CASES[case]
    X, groups, rng = alternatives([3, 4, 5, 6] * 3)
    objective = ChoiceObjective(X, make(groups, rng, chosen), groups, threads=1)
    for penalty in (ElasticNet(l2=0.5), ElasticNet(l1=0.5, l2=0.1)):
        problem = Problem(objective, penalty)
        best = minimize(problem, make_solver("owlqn", tolerance=0.0, gradient_tolerance=1e-9)).objective
        for share in (0.9, 0.99, 1.0):
            w = share * minimize(problem, make_solver("owlqn", tolerance=1e-9)).w
            value, gradient = objective.value_and_gradient(w)
            distance = value + problem.penalty.value(w) - best
            assert duality_gap(problem, w, value, gradient) >= distance - 1e-9


def test_a_path_ends_at_the_optima_of_its_strengths():
    X, groups, rng = alternatives([3, 4, 5, 6] * 5, columns=6)
    objective = ChoiceObjective(X, marks(groups, rng, lambda m: 1), groups, threads=1)
    points = path(Problem(objective, ElasticNet()), [4.0, 1.0, 0.2]).points
    assert [point.n_active for point in points] == sorted(point.n_active for point in points)
    for point in points:
        alone = minimize(Problem(objective, ElasticNet(l1=point.l1)), make_solver("owlqn", tolerance=0.0))
        assert_allclose(point.result.objective, alone.objective, rtol=1e-6)


def test_parts_add_up_to_the_whole():
    X, groups, rng = alternatives([3, 4, 5, 6])
    objective = ChoiceObjective(X, ranks(groups, rng, lambda m: m), groups, threads=1)
    w, n = rng.normal(size=COLUMNS), objective.n_samples
    halves = [objective.batch(np.arange(at, n, 2), 3.0).value_and_gradient(w)[0] for at in (0, 1)]
    assert_allclose(sum(halves), 3.0 * objective.value_and_gradient(w)[0], rtol=1e-12)
    w[1] = 0.0
    some = objective.restrict(np.array([0, 2]))
    assert_allclose(some.value_and_gradient(w[[0, 2]])[0], objective.value_and_gradient(w)[0], rtol=1e-12)
