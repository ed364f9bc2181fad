"""Nodewise regressions: against scikit-learn, the pseudo-likelihood of one variable, and the rules that join them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from loglinear import PairwiseMRF
from loglinear.datasets import make_network
from loglinear.errors import OptionError
from loglinear.minimize import minimize
from loglinear.models.training.nodewise import nodewise
from loglinear.networks.numbering import Numbering
from loglinear.objectives.pseudolikelihood import PseudoLikelihood
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.solvers import OWLQN
from oracles.samples import linked_codes


def test_nodewise_regressions_are_those_of_scikit_learn():
    p, l1 = 8, 6.0
    numbering = Numbering([2] * p)
    codes, weights = linked_codes([2] * p, 400)
    result = nodewise(codes, numbering, ElasticNet(l1), weights=weights, tolerance=0.0, gradient_tolerance=1e-9)
    assert result.converged.all()
    assert result.violations.max() < 1e-4
    for i in range(p):
        # A column of this size instead of liblinear's intercept, which it would penalise.
        X = np.column_stack([np.delete(codes, i, 1), np.full(len(codes), 1e4)])
        model = LogisticRegression(
            l1_ratio=1.0, C=1.0 / l1, fit_intercept=False, solver="liblinear", tol=1e-10, max_iter=10**5, random_state=0
        )
        model.fit(X, codes[:, i], weights)
        own = np.delete(result.coefficients.toarray()[i], i)
        np.testing.assert_allclose(own, model.coef_[0][:-1], atol=2e-3)
        scores = result.w[numbering.n_interactions + i] + np.delete(codes, i, 1) @ own
        nll = log_loss(codes[:, i], scipy.special.expit(scores), sample_weight=weights, normalize=False)
        assert result.nll[i] == pytest.approx(nll, rel=1e-10)
        found = (
            l1 * np.abs(model.coef_[0][:-1]).sum()
            - model.predict_log_proba(X)[np.arange(len(codes)), codes[:, i]] @ weights
        )
        assert nll + l1 * np.abs(own).sum() <= found * (1.0 + 1e-9)


def test_nodewise_by_newton_steps_is_nodewise_by_the_pseudolikelihood_of_one_variable():
    states = [2, 3, 2, 2, 4]
    numbering = Numbering(states)
    codes, weights = linked_codes(states, 500, 0.1)
    tight = {"tolerance": 0.0, "gradient_tolerance": 1e-8}
    result = nodewise(codes, numbering, ElasticNet(3.0, 0.5), weights=weights, **tight)
    whole = PseudoLikelihood(codes, numbering, weights)
    for i in range(5):
        node, features = whole.core.node(i)
        width = states[i] - 1
        expected = minimize(Problem(node, ElasticNet(3.0, 0.5, width)), OWLQN(**tight))
        first, second = numbering.columns_of(features[:-width])
        own = result.coefficients.toarray()
        own = np.where(numbering.variable[first] == i, own[first, second], own[second, first])
        np.testing.assert_allclose(own, expected.w[:-width], atol=1e-5)
        assert result.nll[i] == pytest.approx(expected.nll, rel=1e-6)
        assert not result.coefficients.toarray()[np.ix_(numbering.variable == i, numbering.variable == i)].any()


def test_rules_join_the_two_weights_of_an_interaction():
    numbering = Numbering([2] * 10)
    codes, _ = linked_codes([2] * 10, 150)
    joined = {rule: nodewise(codes, numbering, ElasticNet(4.0), rule=rule) for rule in ("and", "or", "mean")}
    one = joined["and"].coefficients.toarray()
    first, second = numbering.columns_of(np.arange(numbering.n_interactions))
    a, b = one[first, second], one[second, first]
    assert ((a != 0) != (b != 0)).any()
    both, either = (a != 0) & (b != 0), (a != 0) | (b != 0)
    expected = {"mean": (a + b) / 2, "and": np.where(both, (a + b) / 2, 0), "or": np.where(both, (a + b) / 2, a + b)}
    for rule, result in joined.items():
        np.testing.assert_allclose(result.w[: numbering.n_interactions], expected[rule])
    assert np.count_nonzero(expected["or"]) == either.sum()


def test_nodewise_is_bitwise_the_same_on_any_number_of_threads():
    numbering = Numbering([2] * 30 + [3])
    codes, _ = linked_codes([2] * 30 + [3], 400, 0.05)
    results = [nodewise(codes, numbering, ElasticNet(5.0), threads=threads).w.tobytes() for threads in (1, 2, 4)]
    assert results[0] == results[1] == results[2]


def test_constant_variables_and_unobserved_ones_do_no_harm():
    numbering = Numbering([2] * 5)
    codes, _ = linked_codes([2] * 5)
    codes[:, 1], codes[:, 2], codes[:, 3] = 0, 1, -1
    result = nodewise(codes, numbering, ElasticNet(2.0))
    assert np.isfinite(result.w).all()
    assert not result.coefficients.toarray()[[1, 2, 3]].any()
    assert np.isfinite(PseudoLikelihood(codes, numbering).value_and_gradient(result.w)[0])


def test_bad_options_are_refused():
    numbering = Numbering([2, 2])
    with pytest.raises(OptionError, match="rule='xor'"):
        nodewise([[0, 1]], numbering, ElasticNet(1.0), rule="xor")
    with pytest.raises(OptionError, match="unpenalised=1"):
        nodewise([[0, 1]], numbering, ElasticNet(1.0, unpenalised=1))
    with pytest.raises(OptionError, match="tolerance"):
        nodewise([[0, 1]], numbering, ElasticNet(1.0), tolerance=-1.0)
    with pytest.raises(OptionError, match="gradient_tolerance"):
        nodewise([[0, 1]], numbering, ElasticNet(1.0), gradient_tolerance=-1.0)
    nodewise([[0, 1]], numbering, ElasticNet(1.0), tolerance=0.0, gradient_tolerance=0.0, max_steps=1)
    with pytest.raises(OptionError, match="max_steps"):
        nodewise([[0, 1]], numbering, ElasticNet(1.0), max_steps=0)


def test_without_an_l1_every_variable_has_the_regression_of_one_next_to_none():
    numbering = Numbering([2] * 4)
    codes, _ = linked_codes([2] * 4, 200)
    tight = {"tolerance": 0.0, "gradient_tolerance": 1e-9}
    without, almost = (nodewise(codes, numbering, ElasticNet(l1, 1.0), **tight) for l1 in (0.0, 1e-9))
    np.testing.assert_allclose(without.w, almost.w, atol=1e-6)


def test_a_path_of_regressions_begins_where_the_first_edge_appears():
    X = make_network("random", n_variables=5, n_samples=200, strength=1.5, degree=2.0, random_state=0).X
    first = PairwiseMRF(objective="nodewise", rule="or", path_options={"l1": 3}).fit(X).path_.points[0].l1
    for share, has_edges in ((1.01, False), (0.95, True)):
        assert bool(len(PairwiseMRF(objective="nodewise", rule="or", l1=share * first).fit(X).edges_)) == has_edges
