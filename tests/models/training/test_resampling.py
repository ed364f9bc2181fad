"""Edges of resampled data: what is drawn, how often edges come back, and a penalty by their stability."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from loglinear import PairwiseMRF
from loglinear.datasets import make_network
from loglinear.errors import OptionError
from loglinear.models.training import structure
from loglinear.models.training.resampling import bootstrap_rows, confidence_of, in_parallel, instability, subsample_rows

SAMPLE = make_network("random", n_variables=12, n_samples=400, strength=1.5, degree=2.5, random_state=0)


def test_rows_are_those_of_a_bootstrap_and_of_a_subsample():
    one, other = bootstrap_rows(1000, 3, 0), bootstrap_rows(1000, 3, 1)
    assert one.size == 1000
    assert (one != other).any()
    np.testing.assert_array_equal(one, bootstrap_rows(1000, 3, 0))
    # The share of rows that are drawn at least once is 1 - 1/e.
    assert np.unique(one).size == pytest.approx(632, abs=40)
    for n, size in ((1000, 316), (100, 80), (2, 1)):
        rows = subsample_rows(n, 3, 0)
        assert (np.unique(rows).size, rows.size) == (size, size)
        assert rows.max() < n


def test_what_is_made_side_by_side_comes_in_order():
    def make(k, stopped):
        time.sleep(0.02 * (3 - k % 4))
        return k * k

    assert list(in_parallel(make, 9, 3)) == [(k, k * k) for k in range(9)]


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_works_on_one_thread_where_networks_are_trained_side_by_side():
    with threadpool_limits(limits=2, user_api="blas"):
        assert max(blas_threads()) == 2
        assert list(in_parallel(lambda k, stopped: max(blas_threads()), 2, 2)) == [(0, 1), (1, 1)]
        assert max(blas_threads()) == 2


def test_closing_asks_those_at_work_to_end_and_begins_no_others():
    begun, ended = [], threading.Event()

    def make(k, stopped):
        begun.append(k)
        if k == 0:
            return k
        while not stopped(None, None):
            time.sleep(0.01)
        ended.set()
        return k

    samples = in_parallel(make, 50, 2)
    assert next(samples) == (0, 0)
    samples.close()
    assert ended.is_set()
    assert len(begun) <= 4


def test_an_error_in_a_thread_is_raised():
    def make(k, stopped):
        raise OptionError(str(k))

    with pytest.raises(OptionError, match="0"):
        list(in_parallel(make, 3, 2))


def test_confidence_counts_samples_and_bounds_strengths():
    def samples():
        for k in range(10):
            edges = [(0, 1)] + [(1, 3)] * (k < 4) + [(0, 2)] * (k == 9)
            yield np.array(edges), np.array([1.0 + k, 0.5, 7.0][: len(edges)])

    done = []
    found = confidence_of(samples(), 4, level=0.8, observe=done.append)
    assert found.edges.tolist() == [[0, 1], [1, 3], [0, 2]]
    np.testing.assert_allclose(found.shares, [1.0, 0.4, 0.1])
    np.testing.assert_allclose([found.lower[0], found.upper[0]], np.quantile(np.arange(1.0, 11.0), [0.1, 0.9]))
    assert found.lower[2] == found.lower[1] == 0.0
    assert (found.n, found.level, done) == (10, 0.8, list(range(1, 11)))
    assert (found[3, 1], found[1, 3], found[2, 3]) == (0.4, 0.4, 0.0)


def test_ctrl_c_ends_with_the_samples_that_are_done():
    def samples(n):
        yield from ((np.array([(0, 1)]), np.ones(1)) for _ in range(n))
        raise KeyboardInterrupt

    assert confidence_of(samples(3), 2, level=0.5).n == 3
    with pytest.raises(KeyboardInterrupt):
        confidence_of(samples(0), 2, level=0.5)


def test_instability_is_twice_the_mean_variance_of_an_edge():
    supports = [np.array([0, 3]), np.array([0]), np.array([0, 5]), np.array([0, 3])]
    # Shares 1, 1/2 and 1/4 of 10 pairs.
    assert instability(supports, 10) == pytest.approx((2 * 0.25 + 2 * 0.25 * 0.75) / 10)


@pytest.mark.parametrize(
    ("objective", "l1"),
    [("pseudolikelihood", 30.0), ("nodewise", 15.0), pytest.param("likelihood", 15.0, marks=pytest.mark.slow)],
)
def test_true_edges_come_back_and_threads_make_no_difference(objective, l1):
    options = {"l1": l1, "objective": objective, "inference": "exact" if objective == "likelihood" else None}
    network = PairwiseMRF(**options).fit(SAMPLE.X)
    found, again = (PairwiseMRF(**options, n_jobs=n).fit(SAMPLE.X).edge_confidence(SAMPLE.X, 12) for n in (1, 3))
    for name in ("edges", "shares", "lower", "upper"):
        np.testing.assert_array_equal(getattr(found, name), getattr(again, name))
    true = {tuple(edge) for edge in SAMPLE.edges.tolist()}
    shares = {tuple(edge): share for edge, share in zip(found.edges.tolist(), found.shares.tolist(), strict=True)}
    assert min(shares.get(edge, 0.0) for edge in true) > 0.5
    assert np.mean([share for edge, share in shares.items() if edge not in true] or [0.0]) < 0.5
    strengths = {tuple(edge): s for edge, s in zip(network.edges_.tolist(), network.strengths_.tolist(), strict=True)}
    inside = [
        low <= strengths[tuple(edge)] <= high
        for edge, low, high in zip(found.edges.tolist(), found.lower, found.upper, strict=True)
        if tuple(edge) in true and tuple(edge) in strengths
    ]
    assert np.mean(inside) > 0.8


def test_columns_that_are_left_out_keep_their_numbers_and_weights_count_samples():
    X = np.insert(SAMPLE.X, 0, 1, axis=1)
    with pytest.warns(UserWarning, match="ignored, because"):
        network = PairwiseMRF(l1=40.0).fit(X)
    plain = PairwiseMRF(l1=40.0).fit(SAMPLE.X).edge_confidence(SAMPLE.X, 5)
    found = network.edge_confidence(X, 5)
    np.testing.assert_array_equal(found.edges, plain.edges + 1)
    np.testing.assert_array_equal(found.shares, plain.shares)
    few = network.edge_confidence(X, 5, np.arange(len(X)) < 20)
    assert few.shares.sum() < found.shares.sum() / 4
    other = network.edge_confidence(X, 5, random_state=1)
    assert (other.shares.size, other.shares.sum()) != (found.shares.size, found.shares.sum())


@pytest.mark.parametrize("bad", [{"n": 1}, {"level": 1.0}, {"level": -0.1}, {"random_state": -1}])
def test_options_out_of_range_are_refused(bad):
    network = PairwiseMRF(l1=40.0).fit(SAMPLE.X)
    with pytest.raises(OptionError, match=next(iter(bad))):
        network.edge_confidence(SAMPLE.X, **bad)


def test_stars_takes_the_weakest_penalty_before_the_first_unstable_one():
    options = {"l1": 8, "ratio": 0.05, "subsamples": 4, "instability": 0.1}
    network = PairwiseMRF(l1="stars", path_options=options, random_state=5).fit(SAMPLE.X)
    points, n = network.path_.points, len(SAMPLE.X)
    rows = [subsample_rows(n, 5, k) for k in range(4)]
    worst, stable = 0.0, []
    for point in points:
        parts = [PairwiseMRF(l1=point.l1 * each.size / n, tolerance=1e-7).fit(SAMPLE.X[each]).edges_ for each in rows]
        worst = max(worst, instability([part @ [12, 1] for part in parts], 66))
        stable.append(worst <= 0.1)
    assert 1 < sum(stable) < len(points)
    assert [point.score is not None for point in points] == stable
    assert network.l1_ == [point.l1 for point, each in zip(points, stable, strict=True) if each][-1]
    for bad in ({"subsamples": 1}, {"instability": 0.6}):
        with pytest.raises(OptionError, match=next(iter(bad))):
            PairwiseMRF(l1="stars", path_options=bad).fit(SAMPLE.X)


def test_stars_survives_ctrl_c_with_the_subsamples_that_are_done(monkeypatch):
    made = []

    def few(make, n, threads):
        for k in range(3):
            made.append(k)
            yield k, make(k, lambda record, state: False)
        raise KeyboardInterrupt

    monkeypatch.setattr(structure, "in_parallel", few)
    network = PairwiseMRF(l1="stars")
    with pytest.raises(KeyboardInterrupt, match="the estimator has the weights"):
        network.fit(SAMPLE.X)
    assert made == [0, 1, 2]
    assert network.path_.interrupted
    assert network.path_.best.l1 == network.l1_


def test_edges_are_listed_by_share_then_strength_then_number():
    edges = np.array([[0, 1], [0, 2], [1, 2], [1, 3]])
    samples = [(edges, np.array([1.0, 2.0, 1.0, 9.0])), (edges[:3], np.array([1.0, 2.0, 1.0]))]
    assert confidence_of(samples, 4, level=0.9).edges.tolist() == [[0, 2], [0, 1], [1, 2], [1, 3]]
