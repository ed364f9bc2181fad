"""Loopy belief propagation against enumeration, finite differences and exact inference."""

from __future__ import annotations

import _thread
import itertools
import threading
from typing import Any

import numpy as np
import pytest

from loglinear._core import LoopyBeliefs, Network
from loglinear.errors import OptionError
from loglinear.networks.graph import Graph, Report
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Scored

TREE = [(0, 1), (2, 1), (1, 3), (4, 3), (3, 5), (6, 0)]
LOOPS = [*TREE, (2, 6), (5, 4), (0, 3)]
STATES = [[2] * 7, [2, 3, 4, 2, 3, 2, 5]]


class Model(Scored):
    """A network with scores, and belief propagation in it."""

    def bp(self, *, threads: int = 1, **options: Any) -> LoopyBeliefs:
        return self.network(threads).loopy_bp(self.nodes, self.tables, **options)

    def exact(self) -> tuple[float, np.ndarray]:
        """Log Z, and the probabilities of all states and pairs of states, by enumeration."""
        log_z, *probabilities = self.enumerated()
        return log_z, np.concatenate(probabilities)


def arrays(found: LoopyBeliefs) -> tuple[Any, ...]:
    return found.log_z, found.nodes, found.edges, found.messages


@pytest.mark.parametrize("schedule", ["flooding", "residual"])
@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("scale", [0.5, 3.0, 150.0])
def test_trees_are_exact(states: list[int], scale: float, schedule: str) -> None:
    model = Model(states, TREE, scale)
    found = model.bp(schedule=schedule, tolerance=1e-10)
    exact_log_z, exact = model.exact()
    assert found.log_z == pytest.approx(exact_log_z, rel=1e-12)
    np.testing.assert_allclose(np.concatenate([found.nodes, found.edges]), exact, atol=1e-11)
    assert found.residual <= 1e-10
    # The longest path has 4 edges; one more iteration finds that nothing changes.
    assert found.iterations <= 5
    assert found.n_messages <= 5 * 2 * len(TREE)


@pytest.mark.parametrize("states", STATES)
def test_edges_without_scores_change_nothing(states: list[int]) -> None:
    with_edge = Model(states, [*TREE, (2, 5)], 1.0)
    table = states[2] * states[5]
    with_edge.tables[-table:] = 0.0
    without = Model(states, TREE, 1.0)
    without.nodes, without.tables = with_edge.nodes, with_edge.tables[:-table]
    a, b = with_edge.bp(tolerance=1e-12), without.bp(tolerance=1e-12)
    assert a.log_z == pytest.approx(b.log_z, rel=1e-13)
    np.testing.assert_allclose(a.nodes, b.nodes, atol=1e-13)
    first = np.concatenate([[0], np.cumsum(states)])
    beliefs = [a.nodes[first[i] : first[i + 1]] for i in (2, 5)]
    np.testing.assert_allclose(a.edges[-table:], np.outer(*beliefs).ravel(), atol=1e-13)


@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("damping", [0.0, 0.3, 0.5])
def test_derivatives_of_log_z_are_beliefs(states: list[int], damping: float) -> None:
    model = Model(states, LOOPS, 0.8)
    options = {"tolerance": 1e-12, "damping": damping}
    beliefs = np.concatenate(arrays(model.bp(**options))[1:3])
    step, found = 1e-5, []
    for scores in (model.nodes, model.tables):
        for k in range(scores.size):
            value = scores[k]
            ends = []
            for scores[k] in (value + step, value - step):
                ends.append(model.bp(**options).log_z)
            scores[k] = value
            found.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(found, beliefs, atol=1e-8)


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_odds_and_ratios_agree(scale: float) -> None:
    """A variable of three states without neighbours asks for ratios."""
    model = Model([2] * 7, LOOPS, scale)
    other = Model([2] * 7 + [3], LOOPS, scale)
    other.nodes, other.tables = np.concatenate([model.nodes, np.zeros(3)]), model.tables
    for options in ({}, {"damping": 0.4}, {"damping": 0.5, "max_iterations": 3}, {"schedule": "residual"}):
        odds, ratios = model.bp(tolerance=1e-10, **options), other.bp(tolerance=1e-10, **options)
        assert ratios.log_z == pytest.approx(odds.log_z + np.log(3), rel=1e-12)
        np.testing.assert_allclose(ratios.nodes[:-3], odds.nodes, atol=1e-12)
        np.testing.assert_allclose(ratios.edges, odds.edges, atol=1e-12)
        np.testing.assert_allclose(ratios.messages, odds.messages, atol=1e-12)
        assert ratios.iterations == odds.iterations
        assert ratios.residual == pytest.approx(odds.residual, rel=1e-3, abs=1e-14)


@pytest.mark.parametrize("states", STATES)
def test_schedules_find_the_same_fixed_point(states: list[int]) -> None:
    model = Model(states, LOOPS, 0.7)
    flooding, residual = (model.bp(tolerance=1e-12, schedule=name) for name in ("flooding", "residual"))
    for a, b in zip(arrays(flooding), arrays(residual), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


def grid(rows: int, columns: int) -> list[tuple[int, int]]:
    numbers = np.arange(rows * columns).reshape(rows, columns)
    across = zip(numbers[:, :-1].ravel(), numbers[:, 1:].ravel(), strict=True)
    down = zip(numbers[:-1].ravel(), numbers[1:].ravel(), strict=True)
    return [(int(i), int(j)) for i, j in itertools.chain(across, down)]


@pytest.mark.parametrize("states", [[2], [2, 3]])
@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_numbers_of_threads_make_no_difference(states: list[int], damping: float) -> None:
    model = Model(states * (5000 // len(states)), grid(50, 100), 1.0)
    one, *others = (model.bp(threads=threads, max_iterations=20, damping=damping) for threads in (1, 2, 5))
    for other in others:
        for a, b in zip(arrays(one), arrays(other), strict=True):
            np.testing.assert_array_equal(a, b)
        assert (one.iterations, one.residual, one.n_messages) == (other.iterations, other.residual, other.n_messages)


@pytest.mark.parametrize("schedule", ["flooding", "residual"])
@pytest.mark.parametrize("states", STATES)
@pytest.mark.parametrize("edges", [TREE, LOOPS])
@pytest.mark.parametrize("scale", [300.0, 1e4])
def test_large_scores_are_finite(edges: Any, states: list[int], scale: float, schedule: str) -> None:
    model = Model(states, edges, scale)
    for scores in (model.nodes, model.tables):
        scores[:] = scale * np.sign(scores)
    found = model.bp(schedule=schedule, max_iterations=50)
    log_z, nodes, tables, messages = arrays(found)
    assert np.isfinite([log_z, found.residual]).all()
    for array in (nodes, tables, messages):
        assert np.isfinite(array).all()
    sizes = model.states[model.edges].prod(axis=1)
    sums = [part.sum() for part in np.split(tables, np.cumsum(sizes)[:-1])]
    np.testing.assert_allclose(sums, 1.0, rtol=1e-9)
    if edges is TREE:
        exact_log_z, exact = model.exact()
        assert log_z == pytest.approx(exact_log_z, rel=1e-12)
        np.testing.assert_allclose(np.concatenate([nodes, tables]), exact, atol=1e-8)


@pytest.mark.parametrize("schedule", ["flooding", "residual"])
@pytest.mark.parametrize("states", STATES)
def test_a_warm_start_ends_sooner_at_the_same_fixed_point(states: list[int], schedule: str) -> None:
    model = Model(states, LOOPS, 0.7)
    options: dict[str, Any] = {"tolerance": 1e-11, "schedule": schedule}
    messages = model.bp(**options).messages
    assert model.bp(messages=messages, **options).iterations == 1
    model.nodes *= 1.001
    cold, warm = model.bp(**options), model.bp(messages=messages, **options)
    assert warm.n_messages < cold.n_messages
    for a, b in zip(arrays(cold), arrays(warm), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("states", STATES)
def test_wild_starts_do_no_harm(states: list[int]) -> None:
    model = Model(states, LOOPS, 0.7)
    best = model.bp(tolerance=1e-12)
    for value in (1e300, -1e300):
        found = model.bp(tolerance=1e-12, messages=np.full_like(best.messages, value))
        assert found.log_z == pytest.approx(best.log_z, rel=1e-10)


def frustrated() -> Model:
    """Seven variables of which every two want to differ, each with a weak wish of its own."""
    model = Model([2] * 7, list(itertools.combinations(range(7), 2)), 0.1)
    model.tables[:] = np.tile([0.0, 3.0, 3.0, 0.0], len(model.edges))
    return model


@pytest.mark.parametrize("schedule", ["flooding", "residual"])
def test_running_out_of_iterations_shows_in_the_residual(schedule: str) -> None:
    found = frustrated().bp(schedule=schedule, max_iterations=100)
    # The last update of the residual schedule may go a few messages beyond the limit.
    assert 100 <= found.iterations <= 101
    assert 100 * 42 <= found.n_messages < 101 * 42
    assert found.residual > 1e-3
    assert np.isfinite(found.nodes).all()


@pytest.mark.thread_unsafe
def test_interrupts_end_long_runs() -> None:
    model = frustrated()
    runs = [
        lambda: model.bp(tolerance=0.0, max_iterations=1 << 40),
        lambda: model.bp(tolerance=0.0, max_iterations=1 << 40, schedule="residual"),
    ]
    for run in runs:
        timer = threading.Timer(0.2, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run()
        timer.join()


def test_damping_makes_frustrated_messages_settle() -> None:
    assert frustrated().bp(damping=0.9).residual <= 1e-6


def test_networks_without_edges_or_variables_are_exact() -> None:
    model = Model([2, 3], [], 1.0)
    for schedule in ("flooding", "residual"):
        found = model.bp(schedule=schedule)
        assert found.log_z == pytest.approx(model.exact()[0])
        np.testing.assert_allclose(found.nodes, model.exact()[1])
    nothing = np.zeros(0)
    empty = Network(np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64))
    assert empty.loopy_bp(nothing, nothing).log_z == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.0}, "damping is 1"),
        ({"damping": -0.1}, "damping"),
        ({"damping": float("nan")}, "damping"),
        ({"tolerance": -1.0}, "tolerance is -1"),
        ({"tolerance": float("inf")}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": -5}, "max_iterations is -5"),
        ({"schedule": "random"}, 'schedule is "random"; it must be'),
        ({"messages": np.zeros(3)}, "messages: expected 18 entries, found 3"),
        ({"messages": np.full(18, np.nan)}, r"messages\[0\] is NaN"),
        ({"messages": np.zeros(36)[::2]}, "contiguous"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Model([2] * 7, LOOPS, 1.0).bp(**options)


def test_bad_scores_are_refused() -> None:
    model = Model([2] * 7, LOOPS, 1.0)
    network = model.network()
    with pytest.raises(OptionError, match="node_scores: expected 14 entries"):
        network.loopy_bp(np.zeros(3), model.tables)
    with pytest.raises(OptionError, match=r"edge_scores\[2\] is inf"):
        network.loopy_bp(model.nodes, np.where(np.arange(model.tables.size) == 2, np.inf, model.tables))
    with pytest.raises(OptionError, match="too large"):
        network.loopy_bp(np.tile([1e308, -1e308], 7), model.tables)


def test_messages_start_where_the_last_run_on_the_same_graph_ended():
    model = Scored([2, 3, 2, 3], [(0, 1), (1, 2), (2, 3), (0, 3)], 0.8)
    scores, bp, report = (model.nodes, model.tables), LoopyBP(), Report("loopy_bp")
    graph, other = (Graph(Numbering(model.states), model.edges) for _ in range(2))
    spent = []
    for each in (graph, graph, other):
        before = report.iterations
        bp.moments(each, scores, report, whole=False)
        spent.append(report.iterations - before)
    assert spent[1] <= 2 < spent[0] == spent[2]
    assert report.runs == 3
