"""What solvers that go sample by sample give to each pass, and take over from the pass before."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from loglinear import ChainObjective, Corpus
from loglinear.minimize import Stop, minimize
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.solvers import ASG, SAG, SG, SGDL1, AdaGrad, Pegasos
from loglinear.solvers.common.per_sample import visiting
from oracles.samples import chunky

PASSES, RATE, L2 = 3, 0.2, 0.5
SOLVERS = [kind(learning_rate=RATE, passes=PASSES) for kind in (SG, ASG, Pegasos, AdaGrad, SGDL1)]


class Recorded(ChainObjective):
    """A chain that keeps what each of its passes is given, and the arrays that the pass leaves behind."""

    def __init__(self):
        super().__init__(Corpus.encode(*chunky(20)), threads=1)
        self.given, self.left = [], []

    def per_sample(self):
        return Passes(super().per_sample(), self)


class Passes:
    def __init__(self, passes, record):
        self.passes, self.record = passes, record

    def __getattr__(self, name):
        found = getattr(self.passes, name)
        if not name.endswith("_pass"):
            return found

        def recorded(*arrays, **options):
            copies = [np.copy(each) for each in arrays if not isinstance(each, tuple)]
            self.record.given.append((copies, options))
            answer = found(*arrays, **options)
            self.record.left.append(([np.copy(each) for each in arrays if not isinstance(each, tuple)], answer))
            return answer

        return recorded


def run(solver, l1=0.0, passes=PASSES):
    """The objective after some passes, and the result."""
    objective = Recorded()
    result = minimize(Problem(objective, ElasticNet(l1=l1, l2=L2)), solver, stop=Stop(max_iterations=passes))
    assert len(objective.given) == passes
    return objective, result


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: type(solver).__name__)
def test_each_pass_visits_every_sample_once_in_a_random_sequence_of_its_own(solver):
    sequences = []
    for seed in (0, 1):
        objective = run(type(solver)(learning_rate=RATE, passes=PASSES, seed=seed))[0]
        sequences += [options["visits"] for _, options in objective.given]
    n = objective.n_samples
    for visits in sequences:
        np.testing.assert_array_equal(np.sort(visits), np.arange(n))
        # A random sequence rises at about half of its steps.
        assert n / 5 < np.count_nonzero(np.diff(visits) > 0) < n * 4 / 5
    assert all((one != other).any() for one, other in itertools.combinations(sequences, 2))
    again = run(solver)[0]
    np.testing.assert_array_equal([options["visits"] for _, options in again.given], sequences[:PASSES])


@pytest.mark.parametrize("sampling", ["uniform", "nus_star"])
def test_each_pass_of_sag_draws_numbers_of_its_own(sampling):
    drawn = []
    for seed in (0, 1):
        drawn += [options["draws"] for _, options in run(SAG(sampling=sampling, seed=seed, tolerance=0.0))[0].given]
    assert all((one != other).all() for one, other in itertools.combinations(drawn, 2))
    assert all(0.3 < each.mean() < 0.7 for each in drawn)


def test_runs_that_lie_together_on_disk_are_visited_one_after_the_other_in_random_sequence():
    ends = np.array([7, 9, 20, 40])
    run_of = np.searchsorted(ends, np.arange(40), side="right")
    orders = set()
    for number in range(20):
        visits = visiting(0, number, 40, ends)
        np.testing.assert_array_equal(np.sort(visits), np.arange(40))
        order = [run for run, _ in itertools.groupby(run_of[visits])]
        assert sorted(order) == [0, 1, 2, 3]
        orders.add(tuple(order))
        last = visits[run_of[visits] == 3]
        assert 3 < np.count_nonzero(np.diff(last) > 0) < 16
    assert len(orders) > 5


@pytest.mark.parametrize("tail", [0.0, 0.3])
@pytest.mark.parametrize("schedule", ["exponential", "inverse"])
def test_the_learning_rate_of_sgd_l1_falls_from_update_to_update_over_all_passes(schedule, tail):
    solver = SGDL1(schedule=schedule, learning_rate=RATE, decay=0.7, tail=tail, passes=PASSES)
    objective = run(solver, l1=0.1)[0]
    n = objective.n_samples
    passed = np.arange(PASSES * n) / n
    # Tsuruoka et al. (2009), Eq. 6 and Eq. 5, and the tail.
    expected = RATE * 0.7**passed if schedule == "exponential" else RATE / (1.0 + passed)
    expected = expected + tail * RATE / (1.0 + passed)
    rates = np.concatenate([options["rates"] for _, options in objective.given])
    np.testing.assert_allclose(rates, expected, rtol=1e-12)


def test_the_steps_of_pegasos_fall_over_all_passes_and_those_of_sg_stay():
    objective = run(Pegasos(learning_rate=RATE, passes=PASSES))[0]
    n = objective.n_samples
    rates = np.concatenate([options["rates"] for _, options in objective.given])
    np.testing.assert_allclose(rates, RATE / (L2 / n * np.arange(1, PASSES * n + 1)), rtol=1e-12)
    objective = run(SG(learning_rate=RATE, passes=PASSES))[0]
    assert all((options["rates"] == np.full(n, RATE)).all() for _, options in objective.given)


@pytest.mark.parametrize("penalty", ["cumulative", "clipping_lazy"])
def test_sgd_l1_takes_weights_and_the_penalty_received_over_to_the_next_pass(penalty):
    objective, result = run(SGDL1(learning_rate=RATE, passes=PASSES, penalty=penalty), l1=0.7)
    for (before, answer), (after, options) in zip(objective.left, objective.given[1:], strict=False):
        w, q, u = after
        np.testing.assert_array_equal(w, before[0])
        np.testing.assert_array_equal(q, before[1])
        assert u == answer[0] > 0.0
        assert q.any()
        assert options["l1"] == pytest.approx(0.7 / objective.n_samples)
    assert [options["l2"] for _, options in objective.given] == [pytest.approx(L2 / objective.n_samples)] * PASSES
    np.testing.assert_array_equal(result.w, objective.left[-1][0][0])


@pytest.mark.parametrize("solver", [SOLVERS[0], SOLVERS[1], SOLVERS[3]], ids=["SG", "ASG", "AdaGrad"])
def test_the_weights_and_sums_of_a_pass_are_those_the_next_one_starts_with(solver):
    objective, result = run(solver)
    for (before, _), (after, options) in zip(objective.left, objective.given[1:], strict=False):
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
        assert after[1].any()
        assert options["l2"] == pytest.approx(L2 / objective.n_samples)
    w, sums = objective.left[-1][0]
    expected = sums / (PASSES * objective.n_samples) if isinstance(solver, ASG) else w
    np.testing.assert_allclose(result.w, expected, rtol=1e-12)
