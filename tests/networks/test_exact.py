"""Laws of exact inference in pairwise networks, against enumeration."""

from __future__ import annotations

import copy
import itertools
import signal
import time

import numpy as np
import pytest
from scipy.special import logsumexp

from loglinear.errors import DataError, OptionError
from loglinear.networks.exact import Exact, is_narrow
from loglinear.networks.graph import Graph
from loglinear.networks.numbering import Numbering
from oracles.network_enumeration import Scored


def chain(n):
    return [(i, i + 1) for i in range(n - 1)]


def grid(rows, columns):
    at = np.arange(rows * columns).reshape(rows, columns)
    right, down = (at[:, :-1], at[:, 1:]), (at[1:], at[:-1])
    return [(int(i), int(j)) for first, second in (right, down) for i, j in zip(first.flat, second.flat, strict=True)]


# Numbers of states, and edges in either direction.
GRAPHS = {
    "one variable": ([3], []),
    "no edges": ([2, 4, 3], []),
    "tree": ([2, 3, 2, 4, 2, 3], [(1, 0), (1, 2), (3, 1), (3, 4), (5, 3)]),
    "cycle": ([2, 3, 4, 2, 3], [(0, 1), (2, 1), (2, 3), (3, 4), (4, 0)]),
    "components": ([3, 2, 2, 3, 2, 4, 2], [(4, 0), (0, 6), (6, 4), (5, 2)]),
    "complete": ([2, 3, 2, 3, 2, 2], list(itertools.combinations(range(6), 2))),
    "grid": ([2] * 16, grid(4, 4)),
    "mixed grid": ([2, 3, 2, 3, 2, 3, 2, 3, 2], grid(3, 3)),
}
TOLERANCE = 1e-11


class Model(Scored):
    """A network with scores, and exact inference in it."""

    def __init__(self, states, edges, scale=2.0, seed=0, threads=2):
        super().__init__(states, edges, scale, seed=seed)
        self.inference = self.network(threads)

    def exact(self, **options):
        return self.inference.exact(self.nodes, self.tables, **options)


@pytest.fixture(params=list(GRAPHS))
def model(request):
    return Model(*GRAPHS[request.param])


@pytest.mark.parametrize("scale", [0.0, 0.3, 5.0, 100.0])
@pytest.mark.parametrize("graph", list(GRAPHS))
def test_marginals_equal_enumeration(graph, scale):
    model = Model(*GRAPHS[graph], scale=scale)
    log_z, nodes, tables = model.exact()
    expected_log_z, expected_nodes, expected_tables = model.enumerated()
    assert log_z == pytest.approx(expected_log_z, rel=1e-13, abs=TOLERANCE)
    np.testing.assert_allclose(nodes, expected_nodes, atol=TOLERANCE)
    np.testing.assert_allclose(tables, expected_tables, atol=TOLERANCE)


def test_marginals_are_derivatives_of_log_z(model):
    model = copy.copy(model)  # the scores are changed, and other threads may use the same model
    model.nodes, model.tables = model.nodes.copy(), model.tables.copy()
    _, nodes, tables = model.exact()
    step = 1e-5
    for scores, marginals in ((model.nodes, nodes), (model.tables, tables)):
        for at in range(scores.size):
            values = []
            for sign in (1.0, -1.0):
                before = scores[at]
                scores[at] += sign * step
                values.append(model.exact()[0])
                scores[at] = before
            assert (values[0] - values[1]) / (2 * step) == pytest.approx(marginals[at], abs=1e-8)


def test_pair_marginals_equal_enumeration(model):
    x = model.assignments()
    p = np.exp(model.scores(x) - logsumexp(model.scores(x)))
    nodes, _ = model.indicators(x)
    pairs = model.inference.pair_marginals(model.nodes, model.tables)
    np.testing.assert_allclose(pairs, nodes.T @ (p[:, None] * nodes), atol=TOLERANCE)
    np.testing.assert_array_equal(pairs, pairs.T)


def test_most_probable_equals_enumeration(model):
    x = model.assignments()
    best = model.inference.most_probable(model.nodes, model.tables)
    assert best.dtype == np.int32
    np.testing.assert_array_equal(best, x[model.scores(x).argmax()])


def test_frequencies_of_samples_are_within_their_errors(model):
    n = 20_000
    samples = model.inference.sample(model.nodes * 0.5, model.tables * 0.5, n, seed=3)
    _, nodes, tables = model.inference.exact(model.nodes * 0.5, model.tables * 0.5)
    assert samples.shape == (n, model.states.size)
    assert samples.dtype == np.int32
    for indicators, p in zip(model.indicators(samples), (nodes, tables), strict=True):
        error = np.sqrt(p * (1.0 - p) / n)
        assert np.all(np.abs(indicators.mean(axis=0) - p) <= 5.0 * error + 1e-12)


def test_samples_depend_on_the_seed_alone():
    one, four = (Model(*GRAPHS["mixed grid"], threads=threads) for threads in (1, 4))
    first = one.inference.sample(one.nodes, one.tables, 100, seed=7)
    np.testing.assert_array_equal(first, four.inference.sample(one.nodes, one.tables, 100, seed=7))
    # The first samples do not depend on how many follow.
    np.testing.assert_array_equal(first[:30], one.inference.sample(one.nodes, one.tables, 30, seed=7))
    assert np.any(first != one.inference.sample(one.nodes, one.tables, 100, seed=8))


def completed_by_enumeration(model, row):
    x = model.assignments()
    return model.enumerated(x[np.all((row < 0) | (x == row), axis=1)])


@pytest.mark.parametrize("weighted", [False, True])
def test_completed_equals_enumeration_of_what_is_hidden(model, weighted):
    rng = np.random.default_rng(1)
    n = 40
    data = rng.integers(0, model.states, size=(n, model.states.size), dtype=np.int32)
    data[rng.random(data.shape) < 0.4] = -1
    data[0], data[1] = 0, -1
    weights = rng.random(n) if weighted else None
    found = model.inference.completed(model.nodes, model.tables, data, weights=weights)
    expected = [completed_by_enumeration(model, row) for row in data]
    np.testing.assert_allclose(found.log_z, [each[0] for each in expected], atol=1e-10)
    np.testing.assert_allclose(found.beliefs, [each[1] for each in expected], atol=TOLERANCE)
    by_row = np.array([each[2] for each in expected])
    np.testing.assert_allclose(found.edges, by_row.sum(axis=0) if weights is None else weights @ by_row, atol=1e-10)
    assert found.unconverged == 0


def test_a_row_that_hides_all_has_the_marginals_of_the_network(model):
    data = np.full((1, model.states.size), -1, dtype=np.int32)
    found = model.inference.completed(model.nodes, model.tables, data)
    whole = model.exact()
    for mine, theirs in zip((found.log_z[0], found.beliefs[0], found.edges), whole, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=TOLERANCE)


@pytest.mark.parametrize("graph", list(GRAPHS))
def test_scores_of_ten_thousand_leave_everything_finite(graph):
    for seed in range(1 if graph == "grid" else 5):
        model = Model(*GRAPHS[graph], seed=seed)
        model.nodes, model.tables = (1e4 * np.sign(each) for each in (model.nodes, model.tables))
        x = model.assignments()
        scores = model.scores(x)
        log_z, nodes, tables = model.exact()
        assert log_z == pytest.approx(logsumexp(scores), rel=1e-13, abs=1e-9)
        p = np.exp(scores - logsumexp(scores))
        for found, indicators in zip((nodes, tables), model.indicators(x), strict=True):
            np.testing.assert_allclose(found, p @ indicators, atol=1e-9)
        pairs = model.inference.pair_marginals(model.nodes, model.tables)
        indicators = model.indicators(x)[0]
        np.testing.assert_allclose(pairs, indicators.T @ (p[:, None] * indicators), atol=1e-9)
        best = model.inference.most_probable(model.nodes, model.tables)
        assert model.scores(best[None])[0] == pytest.approx(scores.max())


def test_any_number_of_threads_gives_the_same_bits():
    results = []
    for threads in (1, 2, 4):
        model = Model([2] * 240, grid(8, 30), scale=1.0, threads=threads)
        data = np.random.default_rng(0).integers(-1, 2, size=(50, 240), dtype=np.int32)
        found = [*model.exact(), model.inference.pair_marginals(model.nodes, model.tables)]
        completed = model.inference.completed(model.nodes, model.tables, data)
        results.append([*found, completed.log_z, completed.beliefs, completed.edges, completed.unconverged])
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_long_chain_equals_forward_and_backward():
    n, r = 100_000, 3
    model = Model([r] * n, chain(n), scale=1.0)
    node, edge = model.nodes.reshape(n, r), model.tables.reshape(n - 1, r, r)
    forward, backward = node.copy(), np.zeros((n, r))
    for t in range(1, n):
        forward[t] += np.logaddexp.reduce(forward[t - 1][:, None] + edge[t - 1], axis=0)
    for t in range(n - 2, -1, -1):
        backward[t] = np.logaddexp.reduce(edge[t] + node[t + 1] + backward[t + 1], axis=1)
    expected = np.logaddexp.reduce(forward[-1])
    log_z, nodes, tables = model.exact()
    assert log_z == pytest.approx(expected, rel=1e-12)
    # Forward variables are in the hundred thousands, where doubles are 1e-11 apart.
    np.testing.assert_allclose(nodes.reshape(n, r), np.exp(forward + backward - expected), atol=1e-7)
    np.testing.assert_allclose(tables.reshape(n - 1, -1).sum(axis=1), 1.0, atol=1e-10)


def test_a_wide_grid_is_quick_and_consistent():
    model = Model([2] * 300, grid(10, 30), scale=1.0)
    assert model.inference.largest_table() <= 12.0
    started = time.perf_counter()
    _, nodes, tables = model.exact()
    assert time.perf_counter() - started < 5.0
    nodes, tables = nodes.reshape(-1, 2), tables.reshape(-1, 2, 2)
    np.testing.assert_allclose(tables.sum(axis=2), nodes[model.edges[:, 0]], atol=TOLERANCE)
    np.testing.assert_allclose(tables.sum(axis=1), nodes[model.edges[:, 1]], atol=TOLERANCE)
    pairs = model.inference.pair_marginals(model.nodes, model.tables).reshape(300, 2, 300, 2)
    np.testing.assert_allclose(pairs.sum(axis=3), np.broadcast_to(nodes[:, :, None], (300, 2, 300)), atol=TOLERANCE)
    np.testing.assert_allclose([pairs[i, :, j] for i, j in model.edges], tables, atol=TOLERANCE)


def test_too_wide_networks_name_the_size_of_their_table():
    model = Model([2] * 8, list(itertools.combinations(range(8), 2)))
    assert model.inference.largest_table() == 8.0
    assert model.inference.largest_table(limit=255) == np.inf
    for name in ("exact", "pair_marginals", "most_probable"):
        with pytest.raises(OptionError, match=r"256 = 2\^8\.0 entries.*limit of 255.*loopy_bp"):
            getattr(model.inference, name)(model.nodes, model.tables, limit=255)
    data = np.full((1, 8), -1, dtype=np.int32)
    with pytest.raises(OptionError, match=r"row 0: .*256 = 2\^8\.0 entries"):
        model.inference.completed(model.nodes, model.tables, data, limit=255)
    assert np.isfinite(model.exact(limit=256)[0])


@pytest.mark.parametrize("size", ["complete", "random"])
def test_dense_networks_are_given_up_soon(size):
    n, edges = 400, list(itertools.combinations(range(400), 2))
    if size == "random":
        n = 5000
        ends = np.random.default_rng(0).integers(0, n, size=(50_000, 2))
        edges = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    model = Model([2] * n, edges)
    started = time.perf_counter()
    with pytest.raises(OptionError, match=r"more than 2\^32 entries.*loopy_bp"):
        model.exact()
    assert time.perf_counter() - started < 10.0
    assert model.inference.largest_table() == np.inf


@pytest.mark.thread_unsafe
def test_ctrl_c_ends_long_work():
    model = Model([2] * 1200, grid(12, 100))
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        started = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            model.inference.pair_marginals(model.nodes, model.tables)
        assert time.perf_counter() - started < 5.0
    finally:
        signal.signal(signal.SIGALRM, before)


def test_bad_input_is_named():
    model = Model(*GRAPHS["tree"])
    with pytest.raises(OptionError, match="node_scores: expected 16 entries, found 3"):
        model.inference.exact(np.zeros(3), model.tables)
    with pytest.raises(OptionError, match=r"edge_scores\[0\] is NaN"):
        model.inference.exact(model.nodes, model.tables * np.nan)
    data = np.zeros((2, 6), dtype=np.int32)
    with pytest.raises(OptionError, match="data have 5 columns; the network has 6 variables"):
        model.inference.completed(model.nodes, model.tables, np.ascontiguousarray(data[:, :5]))
    with pytest.raises(OptionError, match="3 weights for 2 rows"):
        model.inference.completed(model.nodes, model.tables, data, weights=np.ones(3))
    with pytest.raises(OptionError, match=r"weights\[1\] is inf"):
        model.inference.completed(model.nodes, model.tables, data, weights=np.array([1.0, np.inf]))
    with pytest.raises(OptionError, match='method is "mean_field"'):
        model.inference.completed(model.nodes, model.tables, data, method="mean_field")
    for wrong in (2, -2):
        data[1, 2] = wrong
        with pytest.raises(DataError, match=f"row 1, variable 2: state {wrong} must be in 0..2"):
            model.inference.completed(model.nodes, model.tables, data)


def test_a_network_is_narrow_up_to_the_limit_itself():
    network = Model([4, 4], [(0, 1)]).inference
    assert is_narrow(network, 16)
    assert not is_narrow(network, 8)


def test_the_limit_holds_for_samples_with_missing_values_as_well():
    graph, scores = Graph(Numbering([4, 4]), np.array([[0, 1]])), (np.zeros(8), np.zeros(16))
    hidden = np.full((1, 2), -1, dtype=np.int32)
    assert Exact(limit=16).completed(graph, scores, hidden).log_z[0] == pytest.approx(np.log(16))
    with pytest.raises(OptionError, match="limit of 8"):
        Exact(limit=8).completed(graph, scores, hidden)
