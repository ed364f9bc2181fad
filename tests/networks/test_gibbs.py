"""Gibbs sampling against enumeration."""

from __future__ import annotations

import _thread
import threading
from typing import Any

import numpy as np
import pytest

from loglinear._core import Network
from loglinear.errors import OptionError
from oracles.network_enumeration import Scored

LOOPS = [(0, 1), (2, 1), (1, 3), (4, 3), (3, 5), (6, 0), (2, 6), (5, 4), (0, 3)]


@pytest.mark.parametrize("states", [[2] * 5, [2, 3, 2, 4, 3]])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_gibbs_samples_have_the_exact_marginals(states: list[int], dtype: Any) -> None:
    model = Scored(states, [(0, 1), (2, 1), (1, 3), (4, 3), (0, 2), (0, 4)], 0.7)
    chains, kept = 100, 400
    start = np.zeros((chains, 5), dtype=dtype)
    options = {"sweeps": 2 * kept, "thin": 2, "burn_in": 50, "seed": 3}
    samples = model.network(2).gibbs(model.nodes, model.tables, start, **options)
    assert samples.shape == (chains * kept, 5)
    assert samples.dtype == np.int32
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
    # Thinning and burning in leave samples out, and change none.
    np.testing.assert_array_equal(draw(1, 1, sweeps=597, thin=7, burn_in=3), every[3:600][6::7])
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
        (np.zeros((1, 6), dtype=np.int64), {}, "start has 6 columns; 7 variables"),
        (np.zeros((1, 7)), {}, "int32 or int64"),
        (np.full((1, 7), 2), {}, "start has state 2 of variable 0, outside 0..2"),
        (np.full((1, 7), -1, dtype=np.int32), {}, "start has state -1"),
        (np.full((1, 7), 1 << 40), {}, "start has state"),
        (np.zeros((1, 7), dtype=np.int64), {"thin": 0}, "thin is 0"),
        (np.zeros((1, 7), dtype=np.int64), {"sweeps": -1}, "sweeps is -1"),
        (np.zeros((1, 7), dtype=np.int64), {"burn_in": -1}, "burn_in is -1"),
        (np.zeros((1, 7), dtype=np.int64), {"seed": -1}, "seed is -1"),
        (np.zeros((1, 7), dtype=np.int64), {"sweeps": 1 << 60}, "do not fit the memory"),
    ],
)
def test_bad_arguments_of_gibbs_are_refused(start: Any, options: dict[str, Any], message: str) -> None:
    model = Scored([2] * 7, LOOPS, 1.0)
    with pytest.raises(OptionError, match=message):
        model.network().gibbs(model.nodes, model.tables, start, **({"sweeps": 1} | options))


def test_bad_scores_are_refused() -> None:
    model = Scored([2] * 7, LOOPS, 1.0)
    start = np.zeros((1, 7), dtype=np.int64)
    with pytest.raises(OptionError, match="node_scores have 3 entries; 14"):
        model.network().gibbs(np.zeros(3), model.tables, start, sweeps=1)
    tables = np.where(np.arange(model.tables.size) == 2, np.inf, model.tables)
    with pytest.raises(OptionError, match=r"edge_scores\[2\] is inf"):
        model.network().gibbs(model.nodes, tables, start, sweeps=1)


def test_networks_without_variables_have_samples_without_values() -> None:
    empty = Network(np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    samples = empty.gibbs(np.zeros(0), np.zeros(0), np.zeros((0, 0), dtype=np.int64), sweeps=3)
    assert samples.shape == (0, 0)


def test_interrupts_end_long_runs() -> None:
    model = Scored([2] * 7, LOOPS, 1.0)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.network().gibbs(model.nodes, model.tables, np.zeros((1, 7), dtype=np.int64), sweeps=0, burn_in=1 << 40)
    timer.join()
