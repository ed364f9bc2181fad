"""Hybrid training step by step: the sample, its objective, and the steps of L-BFGS on it."""

from __future__ import annotations

import copy
import math
from itertools import pairwise

import numpy as np
import pytest

from loglinear import ChainObjective, Corpus
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.result import Status
from loglinear.solvers import LBFGS, Hybrid
from oracles.samples import PerSample, chunky

N, L2 = 20, 0.3
X, Y = chunky(N)


class Counted:
    """An objective that counts the evaluations of its samples."""

    def __init__(self, objective, size, counts):
        self.objective, self.size, self.counts = objective, size, counts
        self.n_features, self.n_samples = objective.n_features, objective.n_samples

    def value_and_gradient(self, w, out=None):
        self.counts.append(self.size)
        return self.objective.value_and_gradient(w, out)


class Recorded(ChainObjective):
    """A chain that keeps the batches that are made of it, and counts the evaluations of their samples."""

    def __init__(self):
        super().__init__(Corpus.encode(X, Y), threads=1)
        self.batches, self.counts = [], []

    def batch(self, samples, factor):
        self.batches.append((samples.tolist(), factor))
        return Counted(super().batch(samples, factor), len(samples), self.counts)

    def value_and_gradient(self, w, out=None):
        self.counts.append(N)
        return super().value_and_gradient(w, out)


class Sum:
    """F_B without its penalty: N / |B| times the sum over B, from the objectives of single samples."""

    def __init__(self, samples, chosen):
        self.terms, self.factor = [samples[i] for i in chosen], N / len(chosen)
        self.n_features, self.n_samples = samples[0].n_features, len(chosen)

    def value_and_gradient(self, w, out=None):
        parts = [each.value_and_gradient(w) for each in self.terms]
        gradient = self.factor * np.sum([g for _, g in parts], axis=0)
        if out is not None:
            out[...] = gradient
        return self.factor * sum(value for value, _ in parts), gradient


@pytest.fixture(scope="module")
def samples():
    return PerSample(X, Y).samples


@pytest.fixture(scope="module", params=[{}, {"growth": 1.7, "first": 3}], ids=["usual", "quick"])
def course(request):
    """The solver, its states, and the sample B of each of them."""
    objective, solver = Recorded(), Hybrid(**request.param)
    problem = Problem(objective, ElasticNet(l2=L2))
    state = solver.init(problem, np.zeros(objective.n_features))
    states = [copy.deepcopy(state)]  # a step recycles the arrays of the state before the last
    chosen = [objective.batches[-1][0]]
    evaluated = [sum(objective.counts)]
    while states[-1].size < N:
        objective.batches.clear()
        state = solver.step(problem, state)
        states.append(copy.deepcopy(state))
        (begun, factor), (new, larger_factor) = objective.batches
        assert begun == chosen[-1]
        assert (factor, larger_factor) == (N / len(begun), N / (len(begun) + len(new)))
        chosen.append(begun + new)
        evaluated.append(sum(objective.counts))
    return solver, problem, states, chosen, evaluated


def test_the_sample_grows_by_its_rule_until_it_is_everything(course):
    solver, _, states, chosen, _ = course
    assert len(chosen[0]) == solver.first
    for before, after in pairwise(chosen):
        assert len(after) == min(math.floor(solver.growth * len(before)) + 1, N)
        assert after[: len(before)] == before
    assert [state.size for state in states] == [len(each) for each in chosen]
    assert sorted(chosen[-1]) == list(range(N))
    assert chosen[-1] != sorted(chosen[-1])
    assert {state.status for state in states} == {Status.RUNNING}


def test_value_and_gradient_between_steps_are_those_of_the_sample_scaled_to_all_samples(course, samples):
    _, _, states, chosen, _ = course
    for state, batch in zip(states, chosen, strict=True):
        value, gradient = Sum(samples, batch).value_and_gradient(state.w)
        assert state.inner.nll == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(state.inner.gradient, gradient, atol=1e-9)
        assert state.inner.objective == pytest.approx(value + L2 / 2.0 * state.w @ state.w, rel=1e-10)
        assert state.inner.violation == pytest.approx(np.abs(gradient + L2 * state.w).max(), rel=1e-8)
        assert state.inner.norm == pytest.approx(np.linalg.norm(gradient + L2 * state.w), rel=1e-8)


def test_steps_are_those_of_lbfgs_on_the_sample_and_its_pairs_are_differences_on_one_sample(course, samples):
    _, _, states, chosen, _ = course
    penalty = ElasticNet(l2=L2)
    plain = Problem(Sum(samples, chosen[0]), penalty)
    first = LBFGS().step(plain, LBFGS().init(plain, np.zeros(plain.n_features)))
    np.testing.assert_allclose(states[1].w, first.w, atol=1e-12)
    products = []
    for (before, after), batch in zip(pairwise(states), chosen, strict=False):
        objective = Sum(samples, batch)
        (value, g), (lower, h) = (objective.value_and_gradient(state.w) for state in (before, after))
        s = after.w - before.w
        y = h - g + L2 * s
        assert lower + penalty.value(after.w) < value + penalty.value(before.w)
        products.append((s @ y, y @ y))
    history = states[-1].inner.history
    assert len(history.live) >= min(len(products), 5)
    for row, (sy, yy) in zip(history.live, products[-len(history.live) :], strict=True):
        assert history.SY[row, row] == pytest.approx(sy, rel=0.02)  # kept to 8 bits
        assert history.YY[row, row] == pytest.approx(yy, rel=0.02)


def test_passes_count_the_samples_that_were_evaluated(course):
    _, _, states, _, evaluated = course
    assert [state.evaluations for state in states] == evaluated
    assert [state.passes for state in states] == [each / N for each in evaluated]


def test_what_is_measured_is_of_all_samples(course):
    solver, problem, states, _, _ = course
    state = solver.measure(problem, states[2])
    value, gradient = problem.objective.value_and_gradient(state.w)
    assert (state.nll, state.objective) == (value, pytest.approx(value + problem.penalty.value(state.w)))
    assert state.violation == pytest.approx(np.abs(gradient + L2 * state.w).max())


def test_another_seed_takes_other_samples_first():
    firsts = []
    for seed in range(4):
        objective = Recorded()
        Hybrid(first=5, seed=seed).init(Problem(objective, ElasticNet(l2=L2)), np.zeros(objective.n_features))
        firsts.append(frozenset(objective.batches[0][0]))
    assert len(set(firsts)) == 4
