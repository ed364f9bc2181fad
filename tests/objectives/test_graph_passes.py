"""Passes over graphs: the gradient of each by enumeration, what SAG stores, and a chain written as a graph."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from examples import by_day
from loglinear import (
    ChainObjective,
    Corpus,
    ElasticNet,
    GraphCRF,
    OptionError,
    Problem,
    _core,
    grid_edges,
    minimize,
)
from loglinear.data.graphs import Graphs
from loglinear.errors import DataError, ObjectiveError
from loglinear.minimize import Stop
from loglinear.networks.exact import Exact
from loglinear.networks.inference import make_inference
from loglinear.objectives.graph import GraphLikelihood
from loglinear.result import Status
from loglinear.solvers import LBFGS, OWLQN, SAG, SG, SGDL1, AdaGrad, TwoStage
from oracles.network_enumeration import assignments
from oracles.samples import INFERENCES, Graphed

SAMPLINGS = ("uniform", "nus", "nus_star")


def lists(objective, sampling):
    """SAG's memory before the first step."""
    n, sizes = objective.n_samples, objective.per_sample().sag_sizes
    gradients = tuple(np.zeros(size, np.float32) for size in sizes)
    constants = np.ones(1 if sampling == "uniform" else n)
    return np.zeros(objective.n_features), gradients, constants, np.zeros(n, bool), np.zeros((0, 2), np.uint8)


def gradient(objective, sample, w):
    """A sample's gradient as passes have it: what a step of length 1 takes off the weights."""
    moved, unused = w.copy(), np.zeros_like(w)
    objective.per_sample().sg_pass(moved, unused, visits=np.array([sample]), rates=np.ones(1), l2=0.0)
    return w - moved


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("seed", range(8))
def test_the_gradient_of_a_graph_is_that_of_finite_differences(inference, seed):
    data, step = Graphed(seed, inference, labels=2 + seed % 2), 1e-5
    w = np.random.default_rng(seed).normal(size=data.whole.n_features)
    for sample in (2, 4, 5):
        alone, found = data.samples[sample], gradient(data.whole, sample, w)
        for k in np.random.default_rng(seed).permutation(w.size)[:6]:
            shift = np.where(np.arange(w.size) == k, step, 0.0)
            sides = [alone.value_and_gradient(w + side * shift)[0] for side in (1.0, -1.0)]
            assert found[k] == pytest.approx((sides[0] - sides[1]) / (2.0 * step), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_gradient_of_a_graph_is_that_of_enumeration_with_costs_missing_and_forbidden_labels(seed):
    rng = np.random.default_rng(seed)
    edges, forbidden = np.array([(0, 1), (1, 2), (2, 0), (2, 3)]), [(0, 2)]
    nodes, ties, costs = rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), rng.random(4)
    gold = np.array([1, -1, 1, 0])
    objective = GraphLikelihood(Graphs.of([(nodes, edges, ties)]), gold, 3, forbidden=forbidden, costs=costs)
    w = rng.normal(size=objective.n_features)
    every, one = assignments([3] * 4), np.eye(3)
    pairs = np.einsum("sea,seb->seab", one[every[:, edges[:, 0]]], one[every[:, edges[:, 1]]])
    by_node = np.einsum("snl,nf->sfl", one[every], nodes).reshape(len(every), -1)
    by_edge = np.einsum("seab,et->stab", pairs, ties).reshape(len(every), -1)
    features = np.concatenate([by_node, by_edge], axis=1)
    allowed = pairs[:, :, 0, 2].sum(axis=1) == 0
    wrong = ((every != gold) * costs)[:, gold >= 0].sum(axis=1)
    agrees = (every == gold)[:, gold >= 0].all(axis=1) & allowed

    def expected(scores, among):
        p = np.exp(scores - scores.max()) * among
        return p @ features / p.sum()

    scores = features @ w
    assert_allclose(gradient(objective, 0, w), expected(scores + wrong, allowed) - expected(scores, agrees), atol=1e-10)


@pytest.mark.parametrize("inference", INFERENCES)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_d_is_the_sum_of_the_stored_marginals_of_nodes_and_edges(inference, sampling):
    data = Graphed(3, inference)
    objective, n = data.whole, data.whole.n_samples
    graphs = Graphs.of(data.X)
    memory, w = lists(objective, sampling), np.random.default_rng(1).normal(size=objective.n_features)
    d, (states, transitions, edges), *_ = memory
    assert states.size == 3 * len(graphs.nodes if isinstance(graphs.nodes, np.ndarray) else graphs.nodes.toarray())
    assert (transitions.size, edges.size) == (0, len(graphs.edges) * objective.n_pairs)
    rng = np.random.default_rng(0)
    for steps in (1, 2, 5, 30):
        options = {"sampling": sampling, "saga": False, "l1": 0.0, "l2": 0.1}
        objective.per_sample().sag_pass(w, *memory, draws=rng.random((steps, 2)), **options)
        summed = np.concatenate(
            [
                (graphs.nodes.T @ states.reshape(-1, 3).astype(float)).ravel(),
                (graphs.ties.T @ edges.reshape(len(graphs.edges), -1).astype(float)).ravel(),
            ]
        )
        assert_allclose(d, summed, atol=1e-12)
    # Steps of next to no length leave the weights alone: d becomes the gradient there.
    for i in range(n):
        memory[2][:] = 1e12
        draws = np.array([[0.0, (i + 0.5) / n]])
        objective.per_sample().sag_pass(w, *memory, draws=draws, sampling=sampling, saga=False, l1=0.0, l2=0.0)
    assert_allclose(d, sum(gradient(objective, k, w) for k in range(n)), atol=1e-5)


def patches(n=16, noise=0.8, seed=0):
    """Noisy images with an even corner."""
    rng, X, y = np.random.default_rng(seed), [], []
    for _ in range(n):
        image = np.zeros((3, 3), int)
        image[rng.integers(0, 3) :, rng.integers(0, 3) :] = 1
        noisy = image + noise * rng.normal(size=image.shape)
        X.append((np.column_stack([noisy.ravel(), np.ones(9)]), grid_edges(3, 3)))
        y.append(image.ravel())
    return X, y


def field(inference="exact", threads=0):
    X, y = patches()
    method = make_inference(inference)
    return GraphLikelihood(Graphs.of(X), np.concatenate(y), 2, inference=method, threads=threads)


@pytest.mark.parametrize(
    ("sampling", "l1", "inference"),
    by_day(
        [(sampling, l1, inference) for sampling in SAMPLINGS for l1 in (0.0, 0.5) for inference in ("exact", "trw")],
        lambda cell: (cell[0] == "nus_star" or cell[1] == 0.0) and cell[2] == "exact",
    ),
)
def test_sag_comes_to_the_optimum(sampling, l1, inference):
    problem = Problem(field(inference), ElasticNet(l1=l1, l2=1.0))
    batch = OWLQN(tolerance=0.0, gradient_tolerance=1e-5) if l1 else LBFGS(tolerance=0.0, gradient_tolerance=1e-6)
    best = minimize(problem, batch)
    found = minimize(problem, SAG(sampling, tolerance=1e-5), stop=Stop(max_iterations=2000))
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(best.objective, rel=1e-6)
    assert_allclose(found.w, best.w, atol=1e-2)


@pytest.mark.parametrize("inference", by_day(INFERENCES, lambda name: name == "exact"))
def test_sgd_l1_ends_near_the_optimum_with_weights_of_zero(inference):
    problem = Problem(field(inference), ElasticNet(l1=4.0))
    best = minimize(problem, OWLQN(tolerance=1e-9))
    found = minimize(problem, SGDL1(passes=100, decay=0.95, learning_rate=0.05))
    assert best.objective * (1.0 - 1e-6) <= found.objective <= 1.005 * best.objective
    assert 0 < np.count_nonzero(found.w) < found.w.size
    two = minimize(problem, TwoStage(tolerance=1e-9))
    assert two.objective == pytest.approx(best.objective, rel=1e-3)


SOLVERS = [
    SAG(tolerance=0.0),
    SAG("nus", tolerance=0.0),
    *(kind(passes=6, learning_rate=0.05) for kind in (SG, AdaGrad, SGDL1)),
]


@pytest.mark.parametrize(
    ("solver", "inference"),
    [(each, name) for each in SOLVERS for name in INFERENCES if name != "loopy_bp" or not isinstance(each, SAG)],
)
def test_resuming_is_exact_and_threads_do_not_matter(solver, inference):
    penalty = ElasticNet(l1=0.3 * isinstance(solver, SGDL1), l2=0.5)
    whole = minimize(Problem(field(inference), penalty), solver, stop=Stop(max_iterations=6))
    half = minimize(Problem(field(inference), penalty), solver, stop=Stop(max_iterations=3))
    saved = pickle.loads(pickle.dumps(half.state))
    rest = minimize(Problem(field(inference, threads=1), penalty), solver, state=saved, stop=Stop(max_iterations=6))
    assert_array_equal(rest.w, whole.w)
    many = minimize(Problem(field(inference, threads=4), penalty), solver, stop=Stop(max_iterations=6))
    assert_array_equal(many.w, whole.w)


def as_graphs():
    """A chain objective, the same over graphs, and the place there of each weight of the chain."""
    rng, names, labels = np.random.default_rng(4), ["a", "b", "c"], ["X", "Y", "Z"]
    sentences = [rng.random((rng.integers(1, 7), 3)) < 0.6 for _ in range(40)]
    gold = [rng.integers(0, 3, len(sentence)) for sentence in sentences]
    X = [[[names[k] for k in np.flatnonzero(token)] for token in sentence] for sentence in sentences]
    y = [[labels[k] for k in sentence] for sentence in gold]
    chain = ChainObjective(Corpus.encode(X, y), threads=1)
    edges = [np.column_stack([np.arange(len(each) - 1), np.arange(1, len(each))]) for each in sentences]
    graphs = Graphs.of([(nodes.astype(float), ends) for nodes, ends in zip(sentences, edges, strict=True)])
    graph = GraphLikelihood(graphs, np.concatenate(gold), 3, inference=Exact())
    places = []
    for feature in chain.feature_names(np.arange(chain.n_features)):
        first, *second = (labels.index(label) for label in feature.labels)
        places.append(9 + 3 * first + second[0] if second else 3 * names.index(feature.attribute) + first)
    return chain, graph, np.array(places)


PASSES = {
    "sg": SG(passes=3, learning_rate=0.1),
    "adagrad": AdaGrad(passes=3, learning_rate=0.3),
    "sgd_l1": SGDL1(passes=3, learning_rate=0.1),
    "clipping": SGDL1(penalty="clipping", passes=3, learning_rate=0.1),
    "line search": SGDL1(line_search=True, passes=3, learning_rate=0.1),
    **{f"sag, {sampling}": SAG(sampling, tolerance=0.0) for sampling in SAMPLINGS},
    "saga": SAG(saga=True, tolerance=0.0),
}


@pytest.mark.parametrize("name", PASSES)
def test_a_chain_written_as_a_graph_makes_the_passes_of_the_chain(name):
    chain, graph, places = as_graphs()
    assert sorted(places) == [*range(graph.n_features)]
    solver = PASSES[name]
    penalty = ElasticNet(l1=0.0 if name in ("sg", "adagrad") else 0.5, l2=0.4)
    one, other = (minimize(Problem(each, penalty), solver, stop=Stop(max_iterations=3)) for each in (chain, graph))
    # SAG stores marginals in single precision: of transitions their sum over a sentence, of edges each.
    assert_allclose(other.w[places], one.w, atol=1e-4 if isinstance(solver, SAG) else 1e-11)
    assert other.state.evaluations == one.state.evaluations


def test_the_size_of_a_graph_does_not_matter():
    """One node, no edges, and a graph without any feature."""
    X = [(np.ones((1, 1)), np.zeros((0, 2), int)), (np.zeros((2, 1)), np.array([[1, 0]]))] * 3
    y = [np.array([0]), np.array([1, 0])] * 3
    for l1, solver in [(0.0, "sag"), (0.2, "sag"), (0.2, "sgd_l1"), (0.0, "adagrad"), (0.0, "sg")]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            crf = GraphCRF(l1=l1, l2=0.5, solver=solver).fit(X, y)
        best = GraphCRF(l1=l1, l2=0.5).fit(X, y)
        assert crf.result_.objective == pytest.approx(best.result_.objective, rel=0.05)
    for solver in ("sag", "sgd_l1"):
        lone = GraphCRF(l2=0.5, solver=solver, max_iterations=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert np.isfinite(lone.fit([X[0], X[0]], [[0], [1]]).node_weights_).all()
        with pytest.raises(DataError, match="no graphs"):
            lone.fit([], [])


def test_values_that_are_far_too_large_are_an_error_or_end_in_finite_numbers():
    X, y = patches(4)
    X = [(1e200 * nodes, edges) for nodes, edges in X]
    objective = GraphLikelihood(Graphs.of(X), np.concatenate(y), 2)
    result = minimize(Problem(objective, ElasticNet(l2=1.0)), SAG(), stop=Stop(max_iterations=20))
    assert np.isfinite(result.w).all()


def test_a_batch_keeps_its_factor_in_passes():
    data = Graphed(1)
    w = np.random.default_rng(0).normal(size=data.whole.n_features)
    batch = data.whole.batch(np.array([2, 4]), 2.5)
    assert_allclose(gradient(batch, 1, w), 2.5 * gradient(data.whole, 4, w), atol=1e-12)


def test_a_graph_too_wide_for_exact_inference_is_refused():
    X, y = patches(2)
    objective = GraphLikelihood(Graphs.of(X), np.concatenate(y), 2, inference=Exact(limit=8))
    with pytest.raises(OptionError, match=r"exact inference .* more than the limit of 8"):
        objective.per_sample()


@pytest.mark.parametrize("solver", ["sag", "lbfgs"])
def test_the_remedy_for_too_wide_graphs_is_the_same_for_all_solvers(solver):
    crf = GraphCRF(l2=1.0, solver=solver, inference="exact", inference_options={"limit": 4})
    with pytest.raises(OptionError, match=r"^exact inference .*use the method loopy_bp, or fewer edges, or raise"):
        crf.fit(*patches(2))


def test_the_warning_of_unsettled_propagation_counts_evaluations_without_a_total():
    crf = GraphCRF(l2=0.5, solver="sg", inference="loopy_bp", inference_options={"max_iterations": 1})
    with pytest.warns(ConvergenceWarning, match=r"did not converge in \d+ evaluations; raise l2"):
        crf.fit(*patches(4))


@pytest.mark.parametrize("solver", ["sag", "lbfgs"])
def test_huge_values_of_an_edge_feature_are_named(solver):
    X, y = patches(4)
    X = [(nodes, edges, np.full((len(edges), 1), 1e308)) for nodes, edges in X]
    with pytest.raises(ObjectiveError, match=r"the values of edge feature 0 reach 1e\+308"):
        GraphCRF(l2=0.5, solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", ["sg", "sag"])
def test_an_interrupt_within_a_large_graph_ends_the_pass_and_leaves_a_state_to_resume(solver):
    rng, features, visits = np.random.default_rng(0), np.ones((2, 4)), np.zeros(20, np.int64)
    graphs = Graphs.of([(rng.normal(size=(3600, 4)), grid_edges(60, 60)), (features, np.array([(0, 1)]))])
    method = make_inference("loopy_bp", {"tolerance": 1e-12, "max_iterations": 100_000, "damping": 0.9})
    objective = GraphLikelihood(graphs, rng.integers(0, 4, 3602), 4, inference=method)
    w = rng.normal(size=objective.n_features)
    passes, other, memory = objective.per_sample(), np.zeros_like(w), lists(objective, "nus")

    def run(visits):
        if solver == "sag":
            draws = np.column_stack([np.zeros(len(visits)), (visits + 0.5) / 2.0])
            passes.sag_pass(w, *memory, draws=draws, sampling="nus", saga=False, l1=0.0, l2=0.1)
        else:
            passes.sg_pass(w, other, visits=visits, rates=np.full(len(visits), 0.01), l2=0.1)

    signalled = []

    def fire():
        signalled.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    alarm = threading.Timer(0.5, fire)
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        run(visits)
    assert time.monotonic() - signalled[0] < 3.0
    run(np.ones(3, np.int64))
    assert all(np.isfinite(array).all() for array in (w, other, memory[0], *memory[1], memory[2]))
    assert (memory[2] < 1e9).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sizes": [2, 2]}, "nodes or edges"),
        ({"edges": [[0, 3]]}, "edges must join two of the 3 nodes"),
        ({"edges": [[0, 2]]}, r"edge \(0, \d+\) does not join"),
        ({"labels": [0, 1, 2]}, "less than 2"),
        ({"labels": [0, 1]}, "labels: expected 3 entries, found 2"),
        ({"nodes": ([0, 1, 1, 1], [5], [1.0])}, "feature numbers"),
        ({"nodes": ([0, 1, 0, 1], [0], [1.0])}, "not compressed sparse rows of 3"),
        ({"ties": ([0, 0], [0], [1.0])}, "not compressed sparse rows of 1"),
        ({"costs": [1.0]}, "costs: expected 6 entries"),
        ({"appearances": [1.0, 1.0]}, "appearances: expected 1 entries"),
        ({"forbidden": [0.0]}, "forbidden: expected 4 entries"),
        ({"weight_of": [0, 1, 2, 9]}, "weights of pairs"),
        ({"propagation": (0.1, 1e-6, 10, "fast")}, "schedule is"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changed, message):
    arrays = {
        "sizes": [2, 1],
        "edges": [[0, 1]],
        "nodes": ([0, 1, 1, 1], [0], [1.0]),
        "ties": ([0, 1], [0], [1.0]),
        "labels": [0, 1, -1],
        "weight_of": [0, 1, 2, 3],
        "forbidden": [0.0] * 4,
    }

    def passes_of(arrays):
        kinds = {"costs": float, "appearances": float, "forbidden": float}
        plain = arrays.keys() - {"nodes", "ties", "propagation"}
        keywords = {name: np.array(arrays[name], kinds.get(name, np.int64)) for name in plain}
        for name in ("nodes", "ties"):
            at, ids, values = arrays[name]
            keywords[name] = np.array(at, np.int64), np.array(ids, np.int64), np.array(values, float)
        propagation = arrays.get("propagation")
        return _core.graph_passes(
            **keywords, propagation=propagation, n_labels=2, n_features=(1, 1), weight=1.0, limit=16
        )

    assert passes_of(arrays).n_samples == 2
    with pytest.raises(OptionError, match=message):
        passes_of(arrays | changed)
