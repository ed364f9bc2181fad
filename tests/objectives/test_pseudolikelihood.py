"""Pseudo-likelihood: against enumeration of conditionals, finite differences, scikit-learn and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from examples import examples
from loglinear.errors import DataError, OptionError
from loglinear.minimize import minimize
from loglinear.networks.numbering import Numbering
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.solvers import LBFGS, OWLQN, Grafting, GraftingLight
from oracles.samples import linked_codes

TIGHT = {"tolerance": 0.0, "gradient_tolerance": 1e-8}


def design(codes, numbering, weights):
    """Values of all columns, shape (n, D)."""
    X = np.zeros((codes.shape[0], numbering.n_columns))
    for column, i in enumerate(numbering.variable):
        there, state = codes[:, i] >= 0, column - numbering.first[i] + 1
        share = weights @ (codes[:, i] == state) / max(weights @ there, 1e-300)
        X[:, column] = np.where(there, codes[:, i] == state, share)
    return X


def by_definition(codes, numbering, weights, w):
    """The sum of -weight log p(x_i | others), from all conditional distributions."""
    scores = w[numbering.n_interactions :] + design(codes, numbering, weights) @ numbering.matrix(w)
    total = 0.0
    for i in range(numbering.n_variables):
        own = np.pad(scores[:, numbering.first[i] : numbering.first[i + 1]], [(0, 0), (1, 0)])
        log_p = scipy.special.log_softmax(own, axis=1)[np.arange(len(codes)), codes[:, i]]
        total -= weights @ np.where(codes[:, i] >= 0, log_p, 0.0)
    return total


def problem(codes, numbering, weights, l1, l2=0.0, threads=0):
    objective = PseudoLikelihood(codes, numbering, weights, threads=threads)
    return Problem(objective, ElasticNet(l1, l2, objective.n_unpenalised))


@examples(40)
@given(
    states=st.lists(st.sampled_from([2, 2, 2, 3, 5, 20]), min_size=1, max_size=40),
    n=st.sampled_from([1, 7, 256, 300]),
    missing=st.sampled_from([0.0, 0.2]),
    density=st.sampled_from([0.02, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_value_is_the_sum_of_conditional_log_probabilities_and_gradient_its_derivative(
    states, n, missing, density, seed
):
    numbering = Numbering(states)
    codes, weights = linked_codes(states, n, missing, seed)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=numbering.n_features) * 0.3 * (rng.random(numbering.n_features) < density)
    value, gradient = PseudoLikelihood(codes, numbering, weights).value_and_gradient(w)
    assert value == pytest.approx(by_definition(codes, numbering, weights, w), rel=1e-12)
    d, h = rng.normal(size=w.size), 1e-5
    ends = [by_definition(codes, numbering, weights, w + step * d) for step in (h, -h)]
    slope = (ends[0] - ends[1]) / (2.0 * h)
    assert gradient @ d == pytest.approx(slope, rel=1e-6, abs=1e-6 * (1.0 + value))


def test_every_derivative_is_that_of_finite_differences():
    states = [2, 3, 2, 4, 2]
    numbering = Numbering(states)
    codes, weights = linked_codes(states, 60, 0.1)
    w = np.random.default_rng(1).normal(size=numbering.n_features) * 0.5
    gradient = PseudoLikelihood(codes, numbering, weights).value_and_gradient(w)[1]
    expected = scipy.optimize.approx_fprime(w, lambda w: by_definition(codes, numbering, weights, w), 1e-7)
    np.testing.assert_allclose(gradient, expected, atol=2e-4)


def test_with_binary_variables_it_is_the_sum_of_log_losses():
    numbering = Numbering([2] * 6)
    codes, weights = linked_codes([2] * 6)
    w = np.random.default_rng(2).normal(size=numbering.n_features)
    p = scipy.special.expit(w[numbering.n_interactions :] + codes @ numbering.matrix(w))
    losses = [log_loss(codes[:, i], p[:, i], sample_weight=weights, normalize=False) for i in range(6)]
    value = PseudoLikelihood(codes, numbering, weights).value_and_gradient(w)[0]
    assert value == pytest.approx(sum(losses), rel=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_restricted_objective_is_the_whole_one_with_the_other_weights_0(missing):
    states = [2, 2, 3, 2, 4, 2, 2]
    numbering = Numbering(states)
    codes, weights = linked_codes(states, 700, missing)
    whole = PseudoLikelihood(codes, numbering, weights)
    rng = np.random.default_rng(3)
    for share in (0.0, 0.1, 0.5, 1.0):
        kept = np.flatnonzero(rng.random(numbering.n_features) < share)
        w = np.zeros(numbering.n_features)
        w[kept] = rng.normal(size=kept.size)
        value, gradient = whole.value_and_gradient(w)
        own, restricted = whole.restrict(kept).value_and_gradient(w[kept])
        assert own == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(restricted, gradient[kept], atol=1e-10)
        some = np.arange(0, kept.size, 2)
        twice = whole.restrict(kept).restrict(some)
        once = whole.restrict(kept[some])
        assert twice.value_and_gradient(w[kept[some]])[0] == once.value_and_gradient(w[kept[some]])[0]


def test_terms_of_the_variables_add_up_to_the_whole():
    states = [2, 3, 2, 4]
    numbering = Numbering(states)
    codes, weights = linked_codes(states, 300, 0.1)
    whole = PseudoLikelihood(codes, numbering, weights)
    w = np.random.default_rng(4).normal(size=numbering.n_features)
    value, gradient = whole.value_and_gradient(w)
    for i in range(4):
        node, features = whole.core.node(i)
        assert np.all(np.diff(features) > 0)
        own, slopes = node.value_and_gradient(w[features])
        value -= own
        gradient[features] -= slopes
    assert abs(value) < 1e-9
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


@pytest.mark.parametrize("density", [0.02, 1.0])
def test_results_are_bitwise_the_same_on_any_number_of_threads(density):
    states = [2, 3] * 60
    numbering = Numbering(states)
    codes, weights = linked_codes(states, 1500, 0.05)
    rng = np.random.default_rng(5)
    w = rng.normal(size=numbering.n_features) * 0.1 * (rng.random(numbering.n_features) < density)
    kept = np.flatnonzero(rng.random(numbering.n_features) < 0.1)
    results = []
    for threads in (1, 2, 4):
        objective = PseudoLikelihood(codes, numbering, weights, threads=threads)
        assert objective.n_threads == threads
        value, gradient = objective.value_and_gradient(w)
        own, restricted = objective.restrict(kept).value_and_gradient(w[kept])
        results.append((value, gradient.tobytes(), own, restricted.tobytes()))
    assert results[0] == results[1] == results[2]


def test_the_optimum_with_l2_is_that_of_one_regression_on_shared_columns():
    p, numbering = 5, Numbering([2] * 5)
    codes, weights = linked_codes([2] * 5, 200)
    whole = Problem(PseudoLikelihood(codes, numbering, weights), ElasticNet(0.0, 3.0))
    w = minimize(whole, LBFGS(**TIGHT)).w
    rows = np.zeros((p, len(codes), numbering.n_features))
    for i in range(p):
        for j in range(p):
            if i != j:
                rows[i][:, numbering.block(min(i, j), max(i, j))[0, 0]] = codes[:, j]
        rows[i][:, numbering.n_interactions + i] = 1.0
    model = LogisticRegression(C=1.0 / 3.0, fit_intercept=False, tol=1e-12, max_iter=10**5, solver="newton-cg")
    model.fit(rows.reshape(-1, numbering.n_features), codes.T.ravel(), np.tile(weights, p))
    np.testing.assert_allclose(w, model.coef_[0], atol=1e-5)


@pytest.mark.parametrize("solver", [OWLQN, GraftingLight, Grafting])
@pytest.mark.parametrize("states", [[2] * 12, [2, 3, 4, 2, 3, 2]])
def test_solvers_end_at_the_l1_optimum(solver, states):
    numbering, l1 = Numbering(states), 8.0
    codes, weights = linked_codes(states, 400, 0.05)
    whole = problem(codes, numbering, weights, l1)
    result = minimize(whole, solver(**TIGHT))
    gradient = whole.objective.value_and_gradient(result.w)[1]
    # Condition (3) of Zhu, Lao & Xing (2010), and no gradient where there is no penalty.
    slopes, w = gradient[: numbering.n_interactions], result.w[: numbering.n_interactions]
    assert 0 < np.count_nonzero(w) < w.size
    assert np.all(np.abs(slopes[w == 0.0]) <= l1 + 1e-4)
    np.testing.assert_allclose(slopes[w != 0.0], -l1 * np.sign(w[w != 0.0]), atol=1e-4)
    np.testing.assert_allclose(gradient[numbering.n_interactions :], 0.0, atol=1e-4)


def test_the_l1_optimum_is_that_of_scipy_on_split_weights():
    numbering, l1 = Numbering([2, 3, 2, 2]), 4.0
    codes, weights = linked_codes([2, 3, 2, 2], 200)
    whole = problem(codes, numbering, weights, l1)
    n = numbering.n_features
    prices = np.where(np.arange(n) < numbering.n_interactions, l1, 0.0)

    def split(u):
        value, gradient = whole.objective.value_and_gradient(u[:n] - u[n:])
        return value + prices @ (u[:n] + u[n:]), np.concatenate([gradient + prices, prices - gradient])

    bounds = [(0.0, None)] * (2 * n)
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10**4}
    found = scipy.optimize.minimize(split, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    result = minimize(whole, GraftingLight(**TIGHT))
    assert result.objective == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(result.w, found.x[:n] - found.x[n:], atol=1e-3)


def test_large_weights_keep_their_precision_and_infinite_ones_are_infinitely_bad():
    numbering = Numbering([2, 3])
    w = np.zeros(numbering.n_features)
    w[numbering.n_interactions :] = [1e4, -1e4, 0.0]
    value, gradient = PseudoLikelihood([[0, 1]], numbering).value_and_gradient(w)
    assert value == pytest.approx(2e4 + np.log(2.0))
    np.testing.assert_allclose(gradient[numbering.n_interactions :], [1.0, -1.0, 0.5])
    for bad in (np.inf, np.nan):
        assert PseudoLikelihood([[0, 1]], numbering).value_and_gradient(np.full(w.size, bad))[0] == np.inf


@pytest.mark.parametrize(
    ("codes", "weights", "message"),
    [
        ([[0, 2]], None, "sample 0 has state 2 of variable 1, which has states 0 to 1"),
        ([[0, -2]], None, "sample 0 has state -2"),
        ([[2**40, 0]], None, "sample 0 has state 1099511627776"),
        ([[0.0, 1.0]], None, "whole numbers"),
        ([[0, 1, 1]], None, r"shape \(1, 3\)"),
        (np.empty((0, 2), int), None, "one sample or more"),
        ([[0, 1]], [1.0, 1.0], "1 samples, but 2 weights"),
        ([[0, 1]], [[1.0]], r"weights have type float64 and shape \(1, 1\)"),
        ([[0, 1]], [-1.0], "weight -1.0 of sample 0"),
        ([[0, 1]], [np.nan], "weight nan of sample 0"),
    ],
)
def test_bad_data_are_refused(codes, weights, message):
    with pytest.raises(DataError, match=message):
        PseudoLikelihood(codes, Numbering([2, 2]), weights)


def test_bad_options_are_refused():
    numbering = Numbering([2, 2])
    objective = PseudoLikelihood([[0, 1]], numbering)
    for features in ([3], [-1], [1, 0], [1, 1]):
        with pytest.raises(OptionError, match="feature numbers"):
            objective.restrict(np.array(features))
    with pytest.raises(OptionError, match="3 entries"):
        objective.value_and_gradient(np.zeros(2))
    with pytest.raises(OptionError, match="variable 2 is out of range"):
        objective.core.node(2)
