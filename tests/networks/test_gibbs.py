"""Gibbs sampling against enumeration."""

from __future__ import annotations

import _thread
import threading
from typing import Any

import numpy as np
import pytest

from examples import by_day
from loglinear._core import Network
from loglinear.errors import OptionError
from loglinear.networks.exact import Exact
from loglinear.networks.gibbs import EFFECTIVE, Gibbs, _longest
from loglinear.networks.graph import Graph, Moments, Report
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Enumerated, Scored

LOOPS = [(0, 1), (2, 1), (1, 3), (4, 3), (3, 5), (6, 0), (2, 6), (5, 4), (0, 3)]


@pytest.mark.parametrize("states", [[2] * 5, [2, 3, 2, 4, 3]])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gibbs_samples_have_the_exact_marginals(states: list[int], dtype: Any) -> None:
    model = Scored(states, [(0, 1), (2, 1), (1, 3), (4, 3), (0, 2), (0, 4)], 0.7)
    chains, kept, first = 100, 400, 25
    start = np.zeros((chains, 5), dtype=dtype)
    options = {"sweeps": 2 * (first + kept), "thin": 2, "seed": 3}
    samples = model.network(2).gibbs(model.nodes, model.tables, start, **options)
    assert samples.shape == (chains * (first + kept), 5)
    assert samples.dtype == np.int32
    samples = samples.reshape(chains, -1, 5)[:, first:].reshape(-1, 5)
    means = np.hstack(model.indicators(samples)).reshape(chains, kept, -1).mean(axis=1)
    # Chains are independent: their means give the standard error, whatever the correlation within one.
    error = means.std(axis=0, ddof=1) / np.sqrt(chains)
    assert (np.abs(means.mean(axis=0) - np.concatenate(model.enumerated()[1:])) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("states", [[2] * 7, [2, 3, 4, 2, 3, 2, 5]])
def test_gibbs_samples_depend_on_seed_and_chain_alone(states: list[int]) -> None:
    model = Scored(states, LOOPS, 0.5)
    start = np.zeros((6, 7), dtype=np.int64)

    def draw(chains: int, threads: int, **options: Any) -> np.ndarray:
        sweeps = {"sweeps": 600} | options
        return model.network(threads).gibbs(model.nodes, model.tables, start[:chains], **sweeps)

    every = draw(6, 1)
    for threads in (2, 5):
        np.testing.assert_array_equal(draw(6, threads), every)
    np.testing.assert_array_equal(draw(2, 1), every[:1200])
    # Thinning leaves samples out, and changes none.
    np.testing.assert_array_equal(draw(1, 1, sweeps=600, thin=7), every[:600][6::7])
    assert (draw(6, 1, seed=1) != every).any()
    assert (every[:600] != every[600:1200]).any()


def test_gibbs_chains_stay_where_scores_pin_them() -> None:
    model = Scored([2, 3, 2], [(0, 1), (1, 2)], 1.0)
    model.nodes[:] = [-1e4, 1e4, -1e4, 1e4, -1e4, 1e4, -1e4]
    samples = model.network().gibbs(model.nodes, model.tables, np.zeros((2, 3), dtype=np.int64), sweeps=10)
    np.testing.assert_array_equal(samples, np.tile([1, 1, 0], (20, 1)))


@pytest.mark.parametrize(
    ("start", "options", "message"),
    [
        (np.zeros((1, 6), dtype=np.int64), {}, "start: expected 7 columns"),
        (np.zeros((1, 7)), {}, "int32 or int64"),
        (np.full((1, 7), 2), {}, "start: state 2 of variable 0 is outside 0..2"),
        (np.full((1, 7), -1, dtype=np.int32), {}, "start: state -1"),
        (np.full((1, 7), 1 << 40), {}, "start: state"),
        (np.zeros((1, 7), dtype=np.int64), {"thin": 0}, "thin is 0"),
        (np.zeros((1, 7), dtype=np.int64), {"sweeps": -1}, "sweeps is -1"),
        (np.zeros((1, 7), dtype=np.int64), {"seed": -1}, "seed is -1"),
        (np.zeros((1, 7), dtype=np.int64), {"sweeps": 1 << 60}, "do not fit in memory"),
    ],
)
def test_bad_arguments_of_gibbs_are_refused(start: Any, options: dict[str, Any], message: str) -> None:
    model = Scored([2] * 7, LOOPS, 1.0)
    with pytest.raises(OptionError, match=message):
        model.network().gibbs(model.nodes, model.tables, start, **({"sweeps": 1} | options))


def test_bad_scores_are_refused() -> None:
    model = Scored([2] * 7, LOOPS, 1.0)
    start = np.zeros((1, 7), dtype=np.int64)
    with pytest.raises(OptionError, match="node_scores: expected 14 entries"):
        model.network().gibbs(np.zeros(3), model.tables, start, sweeps=1)
    tables = np.where(np.arange(model.tables.size) == 2, np.inf, model.tables)
    with pytest.raises(OptionError, match=r"edge_scores\[2\] is inf"):
        model.network().gibbs(model.nodes, tables, start, sweeps=1)


def test_networks_without_variables_have_samples_without_values() -> None:
    empty = Network(np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    samples = empty.gibbs(np.zeros(0), np.zeros(0), np.zeros((0, 0), dtype=np.int64), sweeps=3)
    assert samples.shape == (0, 0)


def learned(
    numbering: Numbering, edges: list[tuple[int, int]], scale: float, seed: int = 0
) -> tuple[Enumerated, Graph, Any]:
    """A network whose weights are numbered as in training, by enumeration; its graph and scores."""
    graph = Graph(numbering, np.array(edges, dtype=np.int64))
    w = np.random.default_rng(seed).normal(size=numbering.n_features) / 2.0
    w[: numbering.n_interactions] *= 2.0 * scale
    w[np.setdiff1d(np.arange(numbering.n_interactions), graph.interactions)] = 0.0
    return Enumerated(numbering, w), graph, graph.scores(w[graph.interactions], w[numbering.n_interactions :])


def check_moments(found: Moments, truth: Enumerated, log_z: float, probabilities: float) -> None:
    """Compare log Z, and the probabilities of all states but the first ones, which nobody reads."""
    assert found.log_z == pytest.approx(truth.log_z, abs=log_z)
    columns = Graph(truth.numbering, np.empty((0, 2), np.int64)).columns
    np.testing.assert_allclose(found.nodes[columns], (truth.p @ truth.features)[-columns.size :], atol=probabilities)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_way_from_the_samples_is_made_in_steps_that_each_keep_enough_of_them(seed: int) -> None:
    numbering = Numbering([2, 3] * 4)
    truth, graph, scores = learned(numbering, [(i, i + 1) for i in range(7)] + [(0, 7), (2, 6)], 5.0, seed)
    alone = Enumerated(numbering, np.where(np.arange(numbering.n_features) < numbering.n_interactions, 0.0, truth.w))
    assert 1.0 / (truth.p**2 / alone.p).sum() < EFFECTIVE / 5  # too far for a single step
    found = Gibbs(chains=3000, sweeps=5, seed=seed).moments(graph, scores, Report("gibbs"), whole=False)
    check_moments(found, truth, 0.3, 0.1)


def test_a_step_is_the_longest_that_keeps_enough_samples() -> None:
    random = np.random.default_rng(0)
    for scale in (0.1, 1.0, 5.0, 50.0):
        change = scale * random.normal(size=1000)
        share = _longest(change, 0.8)
        weights = np.exp(share * change)
        assert weights.sum() ** 2 / (1000 * (weights**2).sum()) >= EFFECTIVE
        if share < 0.8:
            weights = np.exp(1.01 * share * change)
            assert weights.sum() ** 2 / (1000 * (weights**2).sum()) < EFFECTIVE
        else:
            assert scale < 2.0


def test_samples_serve_for_networks_nearby_and_new_ones_are_drawn_for_others() -> None:
    numbering, edges, gibbs = (
        Numbering([2, 3, 2, 2, 3]),
        [(0, 1), (1, 2), (2, 3), (0, 3), (0, 4)],
        Gibbs(chains=4000, sweeps=10),
    )
    drawn = []
    for scale in (0.5, 0.55, 0.6, 5.0, 5.1):
        truth, graph, scores = learned(numbering, edges, scale)
        check_moments(gibbs.moments(graph, scores, Report("gibbs"), whole=False), truth, 0.15, 0.06)
        drawn.append(gibbs._draws)
    assert drawn[0] == drawn[1] == drawn[2] < drawn[3] == drawn[4]


@pytest.mark.thread_unsafe
def test_interrupts_end_long_runs() -> None:
    model = Scored([2] * 7, LOOPS, 1.0)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    sweeps = {"sweeps": 1 << 40, "thin": 1 << 40}
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.network().gibbs(model.nodes, model.tables, np.zeros((1, 7), dtype=np.int64), **sweeps)
    timer.join()


@pytest.mark.parametrize(
    ("states", "scale"),
    by_day([([2] * 6, 0.7), ([2, 3, 2, 4, 2, 3], 0.7), ([2, 3, 2, 4, 2, 3], 1.5)], lambda cell: cell[1] == 1.5),
)
def test_moments_are_those_of_any_tables_of_edges(states, scale):
    # First rows and columns of the tables are not 0, and log Z is reached over several annealed networks.
    model = Scored(states, [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)], scale)
    graph, scores = Graph(Numbering(states), model.edges), (model.nodes, model.tables)
    found = Gibbs(chains=20_000, sweeps=30).moments(graph, scores, Report("gibbs"), whole=True)
    exact = Exact().moments(graph, scores, Report("exact"), whole=True)
    assert found.log_z == pytest.approx(model.enumerated()[0], abs=0.1)
    np.testing.assert_allclose(found.nodes, exact.nodes, atol=0.03)
    np.testing.assert_allclose(found.edges, exact.edges, atol=0.03)
    np.testing.assert_allclose(found.products, exact.products, atol=0.03)
    # A graph with other edges begins at these samples; the tables of both are laid out for all their edges.
    other = Scored(states, [(0, 5), (1, 2), (2, 3)], scale, seed=1)
    gibbs = Gibbs(chains=20_000, sweeps=30)
    gibbs.moments(graph, scores, Report("gibbs"), whole=False)
    there = Graph(Numbering(states), other.edges)
    after = gibbs.moments(there, (other.nodes, other.tables), Report("gibbs"), whole=False)
    assert after.log_z == pytest.approx(other.enumerated()[0], abs=0.2)
