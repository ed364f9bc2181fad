"""Factors of samples that balance the intercept of a classifier: the optimum behind them, and what it costs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from loglinear import ClassifierObjective, ElasticNet, MaxEnt, Problem
from loglinear.errors import OptionError
from loglinear.gap import no_bound
from loglinear.objectives import balance
from loglinear.objectives.balance import best_shift, flows, is_affordable, shifted, stationary


def samples(n, size, sharpness=1.0, seed=0):
    """Probabilities of samples, their classes, all of which occur, and their weights."""
    rng = np.random.default_rng(seed)
    scores = sharpness * rng.normal(size=(n, size))
    targets = (scores + rng.gumbel(size=scores.shape) + rng.normal(size=size)).argmax(axis=1).astype(np.uint32)
    targets[:size] = np.arange(size)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True), targets, rng.random(n) + 0.1


class Counted(np.ndarray):
    """An array that counts the operations of all that is computed from it."""

    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(each) for each in inputs]
        result = getattr(ufunc, method)(*plain, **{k: v for k, v in kwargs.items() if k != "out"})
        most = max([each.size for each in plain] + [np.size(result)])
        Counted.operations += np.size(result) * plain[0].shape[-1] if ufunc is np.matmul else most
        if "out" in kwargs:
            kwargs["out"][0][...] = result
            return kwargs["out"][0]
        return np.asarray(result).view(Counted)


@pytest.mark.parametrize(("n", "size", "sharpness"), [(30, 2, 1.0), (30, 3, 8.0), (1000, 10, 1.0), (900, 300, 3.0)])
def test_the_best_shift_makes_expected_counts_those_of_the_classes(n, size, sharpness):
    shares, targets, weights = samples(n, size, sharpness)
    expected = weights @ shifted(shares, best_shift(shares, targets, weights))
    counts = np.bincount(targets, weights, size)
    np.testing.assert_allclose(expected, counts, rtol=0.0, atol=1e-9 * counts.sum())


@pytest.mark.parametrize("step", [1.0, 30.0, 700.0])
def test_shifted_probabilities_are_those_of_the_objective_with_another_intercept(step):
    objective = ClassifierObjective(np.arange(12.0).reshape(4, 3), [0, 1, 2, 2], n_classes=3, intercept=0.5)
    w, b = np.linspace(-1.0, 1.0, objective.n_features), step * np.array([1.0, -0.5, 0.25])
    there = w.copy()
    there[-3:] += b / objective.intercept
    expected = objective.probabilities(there)
    np.testing.assert_allclose(shifted(objective.probabilities(w), b), expected, rtol=1e-12 * step, atol=1e-200)


def test_flows_are_the_expected_counts_of_the_samples_of_each_class():
    shares, targets, weights = samples(50, 4)
    for c in range(4):
        of_class = targets == c
        np.testing.assert_allclose(flows(shares, targets, weights)[c], weights[of_class] @ shares[of_class], rtol=1e-13)


@pytest.mark.parametrize("size", [20, 80, 320])
def test_factors_cost_a_bounded_number_of_passes_whatever_the_number_of_classes(size):
    n = max(size**2 // balance.MOST_FOR_SAMPLES, 2 * size)
    assert is_affordable(n, size)
    shares, targets, weights = samples(n, size)
    Counted.operations = 0
    best_shift(shares.view(Counted), targets, weights.view(Counted))
    stationary(flows(shares, targets, weights).view(Counted))
    assert n * size < Counted.operations < 600 * n * size


def test_many_classes_of_few_samples_get_no_factors(monkeypatch):
    monkeypatch.setattr("loglinear.objectives.classifier.best_shift", None)  # not called
    size = balance.FEW_CLASSES + 1
    assert not is_affordable(size, size)
    objective = ClassifierObjective(np.eye(size), np.arange(size), n_classes=size)
    reason = no_bound(Problem(objective, ElasticNet(l2=1.0, unpenalised=size)))
    assert reason == "257 classes are too many for 257 samples"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(OptionError, match=f"gap=0.1 is not available: {reason}"):
            MaxEnt(l2=1.0, gap=0.1).fit(np.eye(size), np.arange(size))
        result = MaxEnt(l2=1.0, max_iterations=1).fit(np.eye(size), np.arange(size)).result_
    assert result.gap is None
    assert f"unknown: {reason}" in result.account


def test_products_with_the_hessian_are_limited(monkeypatch):
    shares, targets, weights = samples(200, 10, 3.0)
    taken = []
    step = balance._newton_step
    monkeypatch.setattr(balance, "PRODUCTS", 4)
    monkeypatch.setattr(balance, "_newton_step", lambda *given: taken.append(step(*given)[1]) or step(*given))
    best_shift(shares, targets, weights)
    assert 0 < sum(taken) <= 4
