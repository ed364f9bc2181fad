"""Conditional random fields on graphs."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from examples import by_day
from loglinear import (
    ChainCRF,
    DataError,
    ElasticNet,
    GraphCRF,
    MaxEnt,
    ModelFileError,
    OptionError,
    PairwiseMRF,
    Problem,
    _core,
    grid_edges,
    minimize,
)
from loglinear.data.graphs import Graphs
from loglinear.networks.exact import Exact
from loglinear.networks.loopy_bp import LoopyBP
from loglinear.networks.tree_reweighted import TreeReweighted
from loglinear.objectives import graph as graph_objective
from loglinear.objectives.graph import LOOPY, GraphField, GraphLikelihood
from loglinear.solvers import SOLVERS
from loglinear.solvers.common.per_sample import visiting
from oracles.network_enumeration import assignments

RANDOM = np.random.default_rng(0)


def graph(n, edges, seed=0, ties=0):
    random = np.random.default_rng(seed)
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    parts = (random.normal(size=(n, 3)), edges)
    return (*parts, random.normal(size=(len(edges), ties))) if ties else parts


TREE = [(0, 1), (1, 2), (3, 1), (3, 4)]
LOOP = [(0, 1), (1, 2), (2, 3), (3, 0)]


def data(shapes=((5, TREE), (4, LOOP), (1, [])), ties=0, labels=3):
    X = [graph(n, edges, k, ties) for k, (n, edges) in enumerate(shapes)]
    return X, [np.random.default_rng(k + 9).integers(0, labels, n) for k, (n, _) in enumerate(shapes)]


def enumerated(X, y, w, labels):
    """NLL by going through all labellings."""
    return enumerated_with_gradient(X, y, w, labels)[0]


def enumerated_with_gradient(X, y, w, labels):
    """NLL and its gradient by going through all labellings."""
    total, gradient = 0.0, np.zeros_like(w)
    for parts, gold in zip(X, y, strict=True):
        nodes, edges = parts[:2]
        ties = parts[2] if len(parts) == 3 else np.ones((len(edges), 1))
        every = assignments([labels] * len(gold))
        one = np.eye(labels)
        pairs = np.einsum("sea,seb->seab", one[every[:, edges[:, 0]]], one[every[:, edges[:, 1]]])
        features = np.concatenate(
            [
                np.einsum("snl,nf->sfl", one[every], nodes),
                np.einsum("seab,ef->sfab", pairs, ties).reshape(len(every), -1, labels),
            ],
            axis=1,
        ).reshape(len(every), -1)
        scores = features @ w
        own = np.flatnonzero((every == gold).all(axis=1)).item()
        log_z = np.logaddexp.reduce(scores)
        total += log_z - scores[own]
        gradient += np.exp(scores - log_z) @ features - features[own]
    return total, gradient


@pytest.mark.parametrize("ties", [0, 2])
def test_the_likelihood_is_that_of_enumeration_and_its_gradient_finite_differences(ties):
    X, y = data(ties=ties)
    objective = GraphLikelihood(Graphs.of(X), np.concatenate(y), 3)
    w = np.random.default_rng(1).normal(size=objective.n_features)
    assert objective.value_and_gradient(w)[0] == pytest.approx(enumerated(X, y, w, 3), rel=1e-10)
    error = check_grad(lambda x: objective.value_and_gradient(x)[0], lambda x: objective.value_and_gradient(x)[1], w)
    assert error < 1e-4


def test_belief_propagation_is_exact_on_trees():
    X, y = data([(5, TREE), (3, [(0, 1), (2, 1)])])
    exact, loopy = (GraphLikelihood(Graphs.of(X), np.concatenate(y), 3, inference=i) for i in (Exact(), LOOPY))
    w = np.random.default_rng(2).normal(size=exact.n_features)
    assert loopy.value_and_gradient(w)[0] == pytest.approx(exact.value_and_gradient(w)[0], rel=1e-6)
    assert_allclose(loopy.value_and_gradient(w)[1], exact.value_and_gradient(w)[1], atol=1e-4)
    assert loopy.unconverged == 0


def test_on_chains_it_is_the_chain_crf():
    random = np.random.default_rng(3)
    X, y, sentences = [], [], []
    for _ in range(30):
        n = int(random.integers(2, 7))
        on = random.random((n, 3)) < 0.5
        X.append((on.astype(float), np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)))
        y.append(random.choice(["a", "b", "c"], n))
        sentences.append([[f"f{k}" for k in np.flatnonzero(row)] for row in on])
    options = {"l2": 1.0, "tolerance": 0.0, "max_iterations": 300}
    on_graphs = GraphCRF(**options).fit(X, y)
    chain = ChainCRF(all_states=True, all_transitions=True, **options).fit(sentences, [list(each) for each in y])
    assert on_graphs.result_.objective == pytest.approx(chain.result_.objective, rel=1e-8)
    assert [list(each) for each in on_graphs.predict(X)] == [list(each) for each in chain.predict(sentences)]


def patches(n, side, strength, noise, seed=0):
    """Noisy images of patches: labels of a grid whose neighbours like to be the same."""
    edges = grid_edges(side, side)
    network = _core.Network(np.full(side * side, 2), edges)
    tables = np.tile([strength, -strength, -strength, strength], len(edges))
    y = network.gibbs(
        np.zeros(2 * side * side), tables, np.zeros((n, side * side), int), sweeps=500, thin=500, seed=seed
    )
    flipped = np.random.default_rng(seed).random(y.shape) < noise
    seen = np.where(flipped, 1 - y, y).astype(float)
    return [(np.stack([np.ones(side * side), row], axis=1), edges) for row in seen], list(y)


@pytest.mark.parametrize("ties", [0, 2])
def test_tree_reweighted_it_is_a_bound_and_its_gradient_finite_differences(ties):
    X, y = data(ties=ties)
    objective = GraphLikelihood(Graphs.of(X), np.concatenate(y), 3, inference=TreeReweighted(tolerance=1e-11))
    exact = GraphLikelihood(Graphs.of(X), np.concatenate(y), 3, inference=Exact())
    assert (objective.is_convex, objective.exact) == (True, False)
    w = np.random.default_rng(1).normal(size=objective.n_features)
    bound, value = (each.value_and_gradient(w)[0] for each in (objective, exact))
    assert value < bound < 1.2 * value
    error = check_grad(lambda x: objective.value_and_gradient(x)[0], lambda x: objective.value_and_gradient(x)[1], w)
    assert error < 1e-4
    assert objective.unconverged == 0


@pytest.mark.parametrize("inference", by_day(["exact", "loopy_bp", "trw"], lambda name: name != "exact"))
def test_a_grid_is_cleaned_of_noise(inference):
    X, y = patches(40, 10, 0.4, 0.3)
    model = GraphCRF(inference=inference).fit(X[:20], y[:20])
    assert model.exact_ == (inference == "exact")
    noisy = np.mean([(x[0][:, 1] == z).mean() for x, z in zip(X[20:], y[20:], strict=True)])
    probable = zip(model.predict_proba(X[20:]), y[20:], strict=True)
    assert np.mean([(each.argmax(axis=1) == z).mean() for each, z in probable]) > noisy + 0.02
    table = model.edge_weights_[0]
    strength = (table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]) / 4.0
    # The bound is looser where labels hold together more, so that training by it holds back.
    assert strength == pytest.approx(0.3 if inference == "trw" else 0.4, abs=0.1)


def test_labels_are_never_more_probable_than_certain():
    image = np.zeros((8, 8), int)
    image[2:6, 2:6] = 1
    graphs = Graphs.of([(np.ones((64, 1)), grid_edges(8, 8))])
    objective = GraphLikelihood(graphs, image.ravel(), 2, inference=LOOPY)
    for strength in (0.1, 0.5, 1.0, 2.0, 5.0):
        w = strength * np.array([0.0, 0.0, 1.0, -1.0, -1.0, 1.0])
        assert objective.value_and_gradient(w)[0] > -1e-6


def test_training_takes_the_larger_log_z_of_uniform_messages_and_of_those_near_the_labels():
    image = np.zeros((6, 6), int)
    image[1:4, 1:5] = 1
    edges = grid_edges(6, 6)
    network = _core.Network(np.full(36, 2), edges)
    graphs = Graphs.of([(np.stack([np.ones(36), image.ravel()], axis=1), edges)])
    objective = GraphLikelihood(graphs, image.ravel(), 2, inference=LOOPY)
    gold = np.stack([image.ravel() == 0, image.ravel() == 1], axis=1).ravel()
    won = set()
    # How much neighbours hold together, how much nodes speak for the image, and for its ground.
    for strength, own, ground in ((0.3, 0.6, 0.0), (1.0, 0.0, 0.0), (2.0, 1.0, 0.3)):
        w = np.array([ground, -ground, -own, own, strength, -strength, -strength, strength])
        scores = GraphField(graphs, 2, LOOPY, threads=1).scores(w)
        near = network.loopy_bp(scores[0] + 20.0 * gold, scores[1], max_iterations=50).messages
        uniform, other = (
            network.loopy_bp(*scores, damping=0.1, tolerance=1e-6, messages=start).log_z for start in (None, near)
        )
        score = scores[0][gold].sum() + sum(
            scores[1][4 * e + 2 * image.ravel()[i] + image.ravel()[j]] for e, (i, j) in enumerate(edges)
        )
        assert objective.value_and_gradient(w)[0] == pytest.approx(max(uniform, other) - score, abs=1e-6)
        # Where no labels are known, messages start uniform.
        assert GraphField(graphs, 2, LOOPY, threads=1).marginals(w)[0] == pytest.approx(uniform, abs=1e-9)
        if abs(uniform - other) > 0.1:
            won.add("uniform" if uniform > other else "labels")
    assert won == {"uniform", "labels"}


def test_sparse_features_and_probabilities():
    X, y = data()
    dense = GraphCRF().fit(X, y)
    sparse = GraphCRF().fit([(scipy.sparse.csr_array(n), e) for n, e in X], y)
    assert_allclose(dense.node_weights_, sparse.node_weights_, atol=1e-6)
    for proba, labels in zip(dense.predict_proba(X), y, strict=True):
        assert proba.shape == (len(labels), 3)
        assert_allclose(proba.sum(axis=1), 1.0)


def test_results_are_the_same_on_any_number_of_threads():
    X, y = data()
    one, two = (GraphCRF(n_jobs=n).fit(X, y) for n in (1, 2))
    assert (one.result_.w == two.result_.w).all()
    assert clone(one).get_params() == one.get_params()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([], [], "no graphs"),
        ([3], [[0]], "graph 0 of X is not a tuple"),
        ([(np.ones((2, 1)), [(0, 2)])], [[0, 1]], "refer to nodes 0 to 1"),
        ([(np.full((2, 1), np.nan), [(0, 1)])], [[0, 1]], "finite"),
        ([(np.ones((2, 1)), [(0, 1)])], [[0]], "graph 0: labels have shape"),
        ([(np.ones((2, 1)), [(0, 1)])], [[0, 0]], "only one label"),
        (
            [(np.ones((2, 1)), [(0, 1)]), (np.ones((2, 2)), [(0, 1)])],
            [[0, 1], [0, 1]],
            "graph 1 of X has 2 node features, but graph 0 has 1",
        ),
        ([(np.ones((2, 1)), [(0, 1)], np.ones((2, 1)))], [[0, 1]], "edge features must be"),
    ],
)
def test_bad_graphs_are_named(X, y, message):
    with pytest.raises(DataError, match=message):
        GraphCRF().fit(X, y)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(1, 1)], r"edge \(1, 1\) joins a node to itself"),
        ([(0, 1), (1, 0)], r"edge \(0, 1\) is there in both directions; keep one"),
        ([(1, 0), (1, 0)], r"edge \(1, 0\) is there twice"),
    ],
)
def test_loops_and_repeated_edges_are_named_by_the_numbers_of_their_graph(edges, message):
    X = [(np.ones((3, 1)), [(0, 1), (1, 2)])] * 10
    bad = (np.ones((2, 1)), edges)
    with pytest.raises(DataError, match=f"^graph 10 of X: {message}"):
        GraphCRF().fit([*X, bad], [[0, 1, 0]] * 10 + [[0, 1]])
    with pytest.raises(DataError, match=f"^graph 0 of X: {message}"):
        GraphCRF(l2=1.0).fit(X, [[0, 1, 0]] * 10).predict([bad])


@pytest.mark.parametrize("labels", [["a", "b", "a"], [7, 8, 7], [None, None, None]])
def test_labels_of_which_the_model_knows_none_are_refused(labels):
    X = [(np.ones((3, 1)), [(0, 1), (1, 2)])] * 10
    crf = GraphCRF(l2=1.0).fit(X, [[0, 1, 0]] * 10)
    with pytest.raises(DataError, match="no node has a label of the model"):
        crf.score(X, [labels] * 10)


@pytest.mark.parametrize("label", ["a", float("nan")])
def test_labels_of_several_types_are_refused(label):
    with pytest.raises(DataError, match=r"graph 1: (some labels so far are strings|a label is NaN; write None)"):
        GraphCRF().fit([(np.ones((2, 1)), [(0, 1)])] * 2, [[0, 1], [0, label]])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[True, False], [1, 2]], "graph 1: some labels so far are truth values"),
        ([["a", "b"], [b"a", b"b"]], "graph 1: some labels so far are strings"),
        ([np.array([1j, 2j]), [1j, 2j]], "graph 0: Complex data not supported"),
        ([np.array([1, 2]), np.array([1j, 2j], np.complex64)], "graph 1: Complex data not supported"),
    ],
)
def test_graphs_take_the_types_of_labels_that_classifiers_take(labels, message):
    graphs = [(np.eye(2), [[0, 1]])] * 2
    with pytest.raises(DataError, match=message):
        GraphCRF().fit(graphs, labels)
    with pytest.raises(DataError):
        MaxEnt().fit(np.tile(np.eye(2), (2, 1)), [label for each in labels for label in each])
    GraphCRF().fit(graphs, [[1, 2], [np.int64(2), 1.0]])


def test_an_inference_that_does_not_exist_is_named():
    X, y = data()
    with pytest.raises(OptionError, match=r"inference='gibbs'.*loopy_bp"):
        GraphCRF(inference="gibbs").fit(X, y)


def test_options_of_the_inference_reach_it_and_are_kept_in_the_file(tmp_path):
    X, y = data([(4, LOOP)])
    with pytest.warns(ConvergenceWarning) as caught:
        model = GraphCRF(inference="loopy_bp", inference_options={"max_iterations": 2}).fit(X, y)
    assert any("belief propagation did not converge" in str(each.message) for each in caught)
    model.save(tmp_path / "m")
    assert GraphCRF.load(tmp_path / "m").inference_options == {"max_iterations": 2}
    with pytest.raises(OptionError, match="limit of 8"):
        GraphCRF(inference="exact", inference_options={"limit": 8}).fit(X, y)
    narrow = GraphCRF(inference="exact", inference_options={"limit": 16}).fit(*data([(5, TREE)]))
    with pytest.raises(OptionError, match="limit of 16"):
        narrow.predict(X)
    for inference, options, message in (
        ("trw", {"speed": 1}, "not valid for trw"),
        ("auto", {"limit": 8}, "named method"),
    ):
        with pytest.raises(OptionError, match=message):
            GraphCRF(inference=inference, inference_options=options).fit(X, y)


def test_other_features_at_prediction_are_refused():
    X, y = data()
    model = GraphCRF().fit(X, y)
    with pytest.raises(DataError, match="expects 3 and 1"):
        model.predict([(np.ones((2, 5)), [(0, 1)])])


@pytest.mark.parametrize(("inference", "named"), [("exact", False), ("loopy_bp", True), ("trw", False)])
def test_a_training_by_belief_propagation_that_does_not_converge_is_told_of_kinks(inference, named):
    X, y = data()
    with pytest.warns(ConvergenceWarning) as caught:
        GraphCRF(l2=0.1, max_iterations=1, inference=inference).fit(X, y)
    assert any("belief propagation is not smooth: raise l2" in str(each.message) for each in caught) == named


def given_labels(y, share=0.5, seed=0):
    """The labels with some of them missing, None."""
    random = np.random.default_rng(seed)
    found = [np.where(random.random(len(each)) < share, None, each) for each in y]
    found[0][0] = y[0][0]
    return found


def marginal(X, y, w, labels):
    """NLL of the known labels, those of -1 summed over, by going through all labellings."""
    total = 0.0
    for parts, gold in zip(X, y, strict=True):
        every = assignments([labels] * len(gold))
        known = np.flatnonzero(gold >= 0)
        every = every[(every[:, known] == gold[known]).all(axis=1)]
        values = [enumerated([parts], [labelling], w, labels) for labelling in every]
        total -= np.logaddexp.reduce(-np.array(values))
    return total


@pytest.mark.parametrize("inference", [Exact(), LOOPY], ids=["exact", "loopy_bp"])
def test_missing_labels_are_summed_over(inference):
    X, y = data([(5, TREE), (4, [(0, 1), (1, 2), (2, 3)]), (1, [])])
    y = [np.where(np.random.default_rng(k).random(len(each)) < 0.5, -1, each) for k, each in enumerate(y)]
    objective = GraphLikelihood(Graphs.of(X), np.concatenate(y), 3, inference=inference)
    assert not objective.is_convex
    w = np.random.default_rng(1).normal(size=objective.n_features)
    assert objective.value_and_gradient(w)[0] == pytest.approx(marginal(X, y, w, 3), rel=1e-6)
    error = check_grad(lambda x: objective.value_and_gradient(x)[0], lambda x: objective.value_and_gradient(x)[1], w)
    assert error < 1e-3


def test_inference_is_counted_that_has_not_settled_with_or_without_the_known_labels():
    X, y = data([(4, LOOP)])
    hidden = np.where(np.arange(4) < 1, y[0], -1)
    for labels, runs in ((y[0], 1), (hidden, 2)):
        objective = GraphLikelihood(Graphs.of(X), labels, 3, inference=LoopyBP(max_iterations=1))
        objective.value_and_gradient(np.random.default_rng(1).normal(size=objective.n_features))
        assert objective.unconverged == runs


def test_an_evaluation_does_not_depend_on_earlier_ones():
    X, y = data([(16, grid_edges(4, 4))])
    objectives = [GraphLikelihood(Graphs.of(X), y[0], 3, inference=LoopyBP(tolerance=1e-3)) for _ in range(2)]
    w = np.random.default_rng(1).normal(size=objectives[0].n_features)
    objectives[0].value_and_gradient(-w)
    (one, first), (other, second) = (each.value_and_gradient(w) for each in objectives)
    assert one == other
    np.testing.assert_array_equal(first, second)


def test_an_estimator_learns_from_labels_of_which_some_are_missing():
    X, y = patches(20, 6, 0.4, 0.1)
    some = given_labels(y)
    model = GraphCRF().fit(X, some)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, y) > 0.85
    known = np.concatenate([each != None for each in some])  # noqa: E711 - element by element
    right = np.concatenate(model.predict(X)) == np.concatenate(y)
    assert model.score(X, some) == pytest.approx(right[known].mean())


@pytest.mark.parametrize("ties", [0, 2])
def test_symmetric_weights_do_not_tell_the_ends_of_an_edge_apart(ties):
    X, y = data(ties=ties)
    objective = GraphLikelihood(Graphs.of(X), np.concatenate(y), 3, symmetric=True)
    assert objective.n_features == 3 * 3 + max(ties, 1) * 6
    w = np.random.default_rng(1).normal(size=objective.n_features)
    tables = np.zeros((max(ties, 1), 3, 3))
    first, second = np.triu_indices(3)
    tables[:, first, second] = tables[:, second, first] = w[9:].reshape(-1, 6)
    whole = np.concatenate([w[:9], tables.ravel()])
    assert objective.value_and_gradient(w)[0] == pytest.approx(enumerated(X, y, whole, 3), rel=1e-10)
    error = check_grad(lambda x: objective.value_and_gradient(x)[0], lambda x: objective.value_and_gradient(x)[1], w)
    assert error < 1e-4
    model = GraphCRF(symmetric=True).fit(X, y)
    np.testing.assert_array_equal(model.edge_weights_, model.edge_weights_.transpose(0, 2, 1))
    turned = [(parts[0], parts[1][:, ::-1], *parts[2:]) for parts in X]
    for one, other in zip(model.predict_proba(X), model.predict_proba(turned), strict=True):
        assert_allclose(one, other, atol=1e-12)


def test_forbidden_pairs_have_no_probability():
    X, _ = data([(5, TREE), (4, LOOP)])
    y = [np.array(["a", "b", "c", "a", "b"]), np.array(["a", "b", "c", "c"])]
    model = GraphCRF(constraints=[("b", "a"), ("c", "b")]).fit(X, y)
    for each, (_, edges) in zip(model.predict(X), X, strict=True):
        pairs = {(each[i], each[j]) for i, j in edges}
        assert not pairs & {("b", "a"), ("c", "b")}
    # The NLL is that over the labellings that are left.
    w = model.result_.w
    total = 0.0
    for parts, gold in zip(X, y, strict=True):
        every = assignments([3] * len(gold))
        first, second = every[:, parts[1][:, 0]], every[:, parts[1][:, 1]]
        allowed = every[~(((first == 1) & (second == 0)) | ((first == 2) & (second == 1))).any(axis=1)]
        values = [-enumerated([parts], [labelling], w, 3) for labelling in allowed]
        right = -enumerated([parts], [np.searchsorted(model.classes_, gold)], w, 3)
        total += np.logaddexp.reduce(values) - right
    assert model.result_.nll == pytest.approx(total, rel=1e-8)
    with pytest.raises(DataError, match=r"graph 1: the labels b - c of an edge are forbidden by the constraints"):
        GraphCRF(constraints=[("b", "c")], symmetric=True).fit(X[1:] + X[1:], [np.array(["a", "a", "a", "a"]), y[1]])
    for bad in ([("a", "z")], [("a",)], ["abc"], [1]):
        with pytest.raises(OptionError, match="constraints="):
            GraphCRF(constraints=bad).fit(X, y)


def test_costs_raise_the_scores_of_wrong_labels_in_log_z():
    X, y = data([(5, TREE), (1, [])])
    gold = np.concatenate(y)
    costs = np.random.default_rng(3).random(len(gold))
    objective = GraphLikelihood(Graphs.of(X), gold, 3, costs=costs)
    w = np.random.default_rng(1).normal(size=objective.n_features)
    total, at = 0.0, 0
    for parts, labels in zip(X, y, strict=True):
        every = assignments([3] * len(labels))
        own = costs[at : at + len(labels)]
        at += len(labels)
        values = [-enumerated([parts], [each], w, 3) + ((each != labels) * own).sum() for each in every]
        total += np.logaddexp.reduce(values) + enumerated([parts], [labels], w, 3)
    assert objective.value_and_gradient(w)[0] == pytest.approx(total, rel=1e-10)
    error = check_grad(lambda x: objective.value_and_gradient(x)[0], lambda x: objective.value_and_gradient(x)[1], w)
    assert error < 1e-4


def test_a_rare_class_is_found_more_often_if_it_costs_more():
    random = np.random.default_rng(0)
    X, y = [], []
    for _ in range(60):
        labels = (random.random(12) < 0.1).astype(int)
        X.append((np.stack([np.ones(12), labels + random.normal(size=12)], axis=1), np.zeros((0, 2), int)))
        y.append(labels)
    found = {}
    for name, weight in (("plain", None), ("balanced", "balanced"), ("given", {0: 0.0, 1: 3.0})):
        found[name] = np.concatenate(GraphCRF(class_weight=weight).fit(X, y).predict(X)).sum()
    by_node = GraphCRF().fit(X, y, node_weight=[np.where(each, 3.0, 0.0) for each in y])
    assert found["plain"] < found["balanced"]
    assert found["plain"] < found["given"] == np.concatenate(by_node.predict(X)).sum()
    with pytest.raises(OptionError, match="class_weight="):
        GraphCRF(class_weight="heavy").fit(X, y)
    with pytest.raises(
        OptionError, match=r"class_weight\[.*\]=1e\+308 is out of range; give a number from 0 to 1e\+06"
    ):
        GraphCRF(class_weight=dict.fromkeys(np.unique(np.concatenate(y)).tolist(), 1e308)).fit(X, y)
    with pytest.raises(DataError, match="node_weight"):
        GraphCRF().fit(X, y, node_weight=[np.full(12, -1.0)] * 60)
    with pytest.raises(DataError, match="graph 0: weights have shape"):
        GraphCRF().fit(X, y, node_weight=[np.ones(3)] * 60)


def test_predictions_come_as_networkx_graphs():
    X, y = data()
    model = GraphCRF().fit(X, y)
    graphs, labels, sure = model.predict_graphs(X), model.predict(X), model.predict_proba(X)
    assert [len(graph) for graph in graphs] == [5, 4, 1]
    for graph, parts, own, p in zip(graphs, X, labels, sure, strict=True):
        assert {(data["first"], data["second"]) for *_, data in graph.edges(data=True)} == set(
            map(tuple, parts[1].tolist())
        )
        assert [graph.nodes[node]["label"] for node in range(len(own))] == own.tolist()
        for node in range(len(own)):
            assert graph.nodes[node]["probability"] == pytest.approx(p[node, own[node]])
    tree = graphs[0]
    w, n = model.result_.w, len(tree)
    every = assignments([3] * n)
    weight = np.exp([-enumerated(X[:1], [each], w, 3) for each in every])
    for i, j in TREE:
        both = weight[(every[:, i] == labels[0][i]) & (every[:, j] == labels[0][j])].sum()
        assert tree.edges[i, j]["probability"] == pytest.approx(both, rel=1e-6)


def test_a_saved_model_answers_as_before(tmp_path):
    X, y = data(ties=2)
    named = [np.array(["noun", "verb", "other"])[each] for each in y]
    for options in ({}, {"symmetric": True, "l1": 0.1, "inference": "loopy_bp"}, {"class_weight": "balanced"}):
        model = GraphCRF(**options).fit(X, named)
        model.save(tmp_path / "m.loglinear")
        again = GraphCRF.load(tmp_path / "m.loglinear")
        for one, other in zip(model.predict_proba(X), again.predict_proba(X), strict=True):
            np.testing.assert_array_equal(one, other)
        assert [each.tolist() for each in model.predict(X)] == [each.tolist() for each in again.predict(X)]
        np.testing.assert_array_equal(model.edge_weights_, again.edge_weights_)
        assert (again.exact_, again.n_iter_) == (model.exact_, model.n_iter_)
        assert repr(again) == repr(model)
        with pytest.raises(NotFittedError, match="model files do not contain the result of the training"):
            again.result_  # noqa: B018
        assert {name: again.get_params()[name] for name in options} == options
    constrained = GraphCRF(constraints=[("verb", "verb")]).fit([graph(2, [(0, 1)])], [np.array(["noun", "verb"])])
    constrained.save(tmp_path / "c")
    assert GraphCRF.load(tmp_path / "c").constraints == [["verb", "verb"]]
    with pytest.raises(ModelFileError, match="not a network model"):
        PairwiseMRF.load(tmp_path / "c")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"classes": [1]}, "classes"),
        ({"classes": [2, 1, 0]}, "ascending"),
        ({"classes": [0, 1, 2, 3]}, "the weights of nodes"),
        ({"n_node_features": 4}, "the weights of nodes"),
        ({"symmetric": True}, "the weights of edges"),
        ({"symmetric": 1}, "symmetric"),
        ({"inference": "gibbs"}, "inference"),
        ({"inference_options": [1]}, "inference_options"),
        ({"inference": "trw", "inference_options": {"speed": 1}}, "inference_options"),
        ({"constraints": [[0, 7]]}, "constraints"),
        ({"exact": None}, "exact"),
    ],
)
def test_a_damaged_file_is_refused(changed, message, tmp_path):
    X, y = data(ties=2)
    model = GraphCRF().fit(X, y)
    model.save(tmp_path / "m")
    file = _core.read_network(str(tmp_path / "m"))
    settings = json.loads(file.settings) | changed
    weights = file.node_weights, file.edge_weights
    _core.write_network(str(tmp_path / "m"), json.dumps(settings), file.edges.reshape(-1, 2), *weights)
    with pytest.raises(ModelFileError, match=message):
        GraphCRF.load(tmp_path / "m")


def test_weights_that_are_not_finite_and_edges_in_the_file_are_refused(tmp_path):
    X, y = data()
    model = GraphCRF().fit(X, y)
    model.save(tmp_path / "m")
    file = _core.read_network(str(tmp_path / "m"))
    for n_edges, factor in ((1, 1.0), (0, np.nan)):
        edges, nodes = np.array([[0, 1]] * n_edges, np.uint32).reshape(-1, 2), file.node_weights * factor
        _core.write_network(str(tmp_path / "bad"), file.settings, edges, nodes, file.edge_weights)
        with pytest.raises(ModelFileError):
            GraphCRF.load(tmp_path / "bad")
    with pytest.raises(DataError, match="cannot be saved"):
        GraphCRF().fit([graph(2, [(0, 1)])], [np.array([b"a", b"b"])]).save(tmp_path / "bytes")


@pytest.mark.parametrize("ties", [0, 2])
def test_passes_go_graph_by_graph(ties):
    X, y = data([(5, TREE), (4, LOOP), (1, []), (3, [(0, 1)])], ties=ties)
    gold, costs = np.concatenate(y), np.random.default_rng(3).random(13)
    whole = GraphLikelihood(Graphs.of(X), gold, 3, symmetric=True, forbidden=[], costs=costs)
    w = np.random.default_rng(1).normal(size=whole.n_features)
    stops = np.cumsum([len(each) for each in y])
    alone = []
    for k, stop in enumerate(stops):
        own = costs[stop - len(y[k]) : stop]
        one = GraphLikelihood(Graphs.of(X[k : k + 1]), y[k], 3, symmetric=True, costs=own)
        alone.append(one)
        value, gradient = one.value_and_gradient(w)
        found = whole.sample(np.array([k])).value_and_gradient(w)
        assert found[0] == pytest.approx(value)
        assert_allclose(found[1], gradient, atol=1e-12)
    total = whole.value_and_gradient(w)
    assert total[0] == pytest.approx(sum(each.value_and_gradient(w)[0] for each in alone))
    some = whole.batch(np.array([3, 0]), 2.5).value_and_gradient(w)
    assert some[0] == pytest.approx(2.5 * sum(alone[k].value_and_gradient(w)[0] for k in (0, 3)))
    assert_allclose(some[1], 2.5 * sum(alone[k].value_and_gradient(w)[1] for k in (0, 3)), atol=1e-12)
    large = GraphLikelihood(Graphs.of(X), gold, 3, symmetric=True, costs=1e3 * (1.0 + costs))
    assert large.batch(np.arange(4), 2.5).cost_constant == pytest.approx(2.5 * large.cost_constant)
    assert large.cost_constant > 1e4

    passes, visits, rates, l2 = whole.per_sample(), np.array([2, 0, 3, 1]), np.array([0.1, 0.2, 0.05, 0.3]), 0.4
    assert (passes.n_samples, passes.n_features, passes.run_ends) == (4, w.size, None)
    assert whole.per_sample() is passes
    expected, iterates = w.copy(), np.ones_like(w)
    for k, rate in zip(visits, rates, strict=True):
        gradient = alone[k].value_and_gradient(expected)[1]
        expected = (1.0 - rate * l2) * expected - rate * gradient
        iterates += expected
    moved, added = w.copy(), np.ones_like(w)
    passes.sg_pass(moved, added, visits=visits, rates=rates, l2=l2)
    assert_allclose(moved, expected, atol=1e-12)
    assert_allclose(added, iterates, atol=1e-12)
    expected, squares = w.copy(), np.ones_like(w)
    for k in visits:
        gradient = alone[k].value_and_gradient(expected)[1]
        squares = squares + gradient**2
        alpha = 0.7 / (0.5 + np.sqrt(squares))
        expected = (expected - alpha * gradient) / (1.0 + alpha * l2)
    moved, added = w.copy(), np.ones_like(w)
    passes.adagrad_pass(moved, added, visits=visits, rate=0.7, delta=0.5, l2=l2)
    assert_allclose(moved, expected, atol=1e-12)
    assert_allclose(added, squares, atol=1e-12)


def by_enumeration(name, X, y, w, visits, rate, l2):
    """The weights after visits to graphs, and the average of all iterates, with gradients by enumeration."""
    w, squares, sum = w.copy(), np.zeros_like(w), np.zeros_like(w)
    for t, k in enumerate(visits, 1):
        g = enumerated_with_gradient(X[k : k + 1], y[k : k + 1], w, 3)[1]
        if name == "adagrad":
            squares += g**2
            alpha = rate / (1.0 + np.sqrt(squares))
            w = (w - alpha * g) / (1.0 + alpha * l2)
        else:
            alpha = rate / (l2 * t) if name == "pegasos" else rate
            w = (1.0 - alpha * l2) * w - alpha * g
        sum += w
    return sum / len(visits) if name == "asg" else w


@pytest.mark.parametrize("ties", [0, 2])
@pytest.mark.parametrize("name", ["sg", "asg", "pegasos", "adagrad"])
def test_passes_follow_the_gradients_of_enumeration(name, ties):
    X, y = data([(5, TREE), (4, LOOP), (1, []), (3, [(0, 1)])], ties=ties)
    problem = Problem(GraphLikelihood(Graphs.of(X), np.concatenate(y), 3), ElasticNet(l2=0.8))
    w0 = np.random.default_rng(1).normal(size=problem.n_features)
    solver = SOLVERS[name](learning_rate=0.05, passes=3, seed=5)
    found = minimize(problem, solver, w0).w
    visits = np.concatenate([visiting(5, number, 4) for number in range(3)])
    assert_allclose(found, by_enumeration(name, X, y, w0, visits, 0.05, 0.2), atol=1e-9)


def test_the_hybrid_ends_where_the_gradient_of_enumeration_vanishes():
    X, y = data([(5, TREE), (4, LOOP), (1, []), (3, [(0, 1)])])
    problem = Problem(GraphLikelihood(Graphs.of(X), np.concatenate(y), 3), ElasticNet(l2=0.8))
    w = minimize(problem, SOLVERS["hybrid"](tolerance=1e-12)).w
    assert_allclose(enumerated_with_gradient(X, y, w, 3)[1] + 0.8 * w, 0.0, atol=1e-4)


def test_inference_is_chosen_once_for_all_graphs(monkeypatch):
    monkeypatch.setattr(graph_objective, "EVALUATION", 16)
    grid = (16, grid_edges(4, 4))
    X, y = data([(4, LOOP), grid, (5, TREE)], labels=2)
    whole, loop = (GraphLikelihood(Graphs.of(X[:n]), np.concatenate(y[:n]), 2) for n in (3, 1))
    assert (whole.exact, loop.exact) == (False, True)
    w = np.random.default_rng(1).normal(size=whole.n_features)
    alone = [whole.sample(np.array([k])) for k in range(3)]
    values = [each.value_and_gradient(w) for each in alone]
    value, gradient = whole.value_and_gradient(w)
    assert value == pytest.approx(sum(each for each, _ in values), rel=1e-7)
    assert_allclose(gradient, sum(each for _, each in values), atol=1e-4)
    # Exactly, the first graph has another likelihood: choosing graph by graph would minimise another function.
    assert abs(values[0][0] - loop.value_and_gradient(w)[0]) > 1e-3
    expected, sum_ = w.copy(), np.zeros_like(w)
    for k in (1, 0, 2):
        expected = 0.96 * expected - 0.1 * alone[k].value_and_gradient(expected)[1]
    whole.per_sample().sg_pass(w, sum_, visits=np.array([1, 0, 2]), rates=np.full(3, 0.1), l2=0.4)
    assert_allclose(w, expected, atol=1e-12)


@pytest.mark.parametrize("solver", ["sg", "asg", "pegasos", "adagrad", "hybrid"])
def test_trainers_that_go_graph_by_graph_come_near_the_optimum(solver):
    X, y = patches(30, 5, 0.4, 0.2)
    best = GraphCRF(l2=1.0).fit(X, y).result_.objective
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = GraphCRF(l2=1.0, solver=solver).fit(X, y)
    assert best - 1e-3 <= found.result_.objective <= 1.03 * best
    missing = [np.where(np.arange(25) < 5, None, each) for each in y]
    with pytest.raises(OptionError, match="convex"):
        GraphCRF(l2=1.0, solver="asg").fit(X, missing)


@pytest.mark.parametrize("solver", ["asg", "pegasos"])
def test_averages_over_a_convex_objective_are_not_taken_under_loopy_belief_propagation(solver):
    X, y = patches(2, 3, 0.4, 0.2)
    with pytest.raises(OptionError, match=f"{solver} needs a convex objective, but .*inference .*; use lbfgs"):
        GraphCRF(l2=1.0, solver=solver, inference="loopy_bp").fit(X, y)
    for inference in ("exact", "trw"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert GraphCRF(l2=1.0, solver=solver, inference=inference).fit(X, y).n_iter_ > 0


@pytest.mark.parametrize("names", [["noun", "verb", "other"], [3, 5, 9], [0.0, 1.0, 2.0]])
def test_class_weights_of_any_type_are_those_of_the_file(tmp_path, names):
    X, y = data()
    y = [np.array(names)[each] for each in y]
    model = GraphCRF(class_weight={names[0]: 3.0, np.array(names)[1]: np.float64(0.5)}).fit(X, y)
    model.save(tmp_path / "m")
    for _ in range(2):
        loaded = GraphCRF.load(tmp_path / "m")
        assert loaded.class_weight == model.class_weight
        loaded.save(tmp_path / "m")
    np.testing.assert_array_equal(loaded.fit(X, y).node_weights_, model.node_weights_)


def test_class_weights_of_truth_values_are_those_of_the_file(tmp_path):
    X, y = data()
    model = GraphCRF(class_weight={True: 3.0}).fit(X, [each > 0 for each in y])
    model.save(tmp_path / "m")
    assert GraphCRF.load(tmp_path / "m").class_weight == {True: 3.0}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (5, "node_weight: expected a sequence.*; give a sequence of numbers for each graph"),
        ("ab", "node_weight: expected a sequence"),
        ({0: [1.0]}, "node_weight: expected a sequence"),
        ([["x"] * 5, [1] * 4, [1]], "node_weight of graph 0 is not a number in row 0: 'x'; give finite numbers >= 0"),
        ([[1] * 5, [1, None, 1, 1], [1]], "graph 1, node 1: the node_weight nan is out of range; give a number from 0"),
        ([[1] * 5, [1] * 4, [1e7]], "graph 2, node 0: the node_weight 10000000.0 is out of range; .* to 1e.06"),
        ([[1] * 5, {1, 2, 3, 4}, [1]], "node_weight of graph 1 is not a number"),
        ([[1] * 5, {0: 1.0}, [1]], "node_weight of graph 1 is not a number"),
        ([[1] * 5, 3.0, [1]], "graph 1: weights have shape"),
        ([[1] * 5, [[1], [1, 2]], [1]], "node_weight of graph 1 cannot be read as an array"),
        ([[1] * 5], "weights for 1 graphs, but X has 3"),
    ],
    ids=str,
)
def test_bad_weights_of_nodes_are_named(weights, message):
    X, y = data()
    with pytest.raises(DataError, match=message):
        GraphCRF().fit(X, y, node_weight=weights)


@pytest.mark.parametrize("bad", [5, None, "ab", {1: 2}, [5], [None], ["ab"], [[5]], [{1}], [object]], ids=str)
def test_bad_graphs_and_labels_are_data_errors(bad):
    X, y = data()
    for arguments in ((bad, y), (X, bad)):
        for method in (GraphCRF().fit, GraphCRF().fit(X, y).score, GraphCRF().fit(X, y).report):
            with pytest.raises(DataError):
                method(*arguments)
    with pytest.raises(DataError):
        GraphCRF().fit(X, y).predict(bad)


def test_costs_of_nodes_and_classes_are_at_most_the_largest_cost_together():
    X, y = [(np.eye(2), [[0, 1]])] * 4, [[0, 1], [0, 1], [1, 1], [0, 0]]
    largest = GraphCRF(l2=1.0, class_weight={0: 1e6, 1: 1e6}).fit(X, y)
    beyond = GraphCRF(l2=1.0, class_weight={0: 1e6, 1: 1e6}).fit(X, y, node_weight=[np.full(2, 1e3)] * 4)
    np.testing.assert_array_equal(beyond.node_weights_, largest.node_weights_)
    assert beyond.result_.objective == largest.result_.objective


def test_large_costs_neither_hide_the_optimum_nor_break_constraints():
    random = np.random.default_rng(0)
    X = [(np.stack([np.ones(6), random.normal(size=6)], axis=1), np.array([[0, 1], [2, 3], [4, 5]])) for _ in range(30)]
    first = np.array([1, 0] * 3)  # only the first node of an edge may have label 1
    y = [(features[:, 1] + random.normal(size=6) > 1.0) * first for features, _ in X]
    options = {"constraints": [(1, 1)], "l2": 1.0}
    best = GraphCRF(**options, class_weight={0: 0.0, 1: 200.0}, tolerance=1e-12, max_iterations=5000).fit(X, y)
    large = GraphCRF(**options, class_weight={0: 0.0, 1: 1e6}).fit(X, y)
    np.testing.assert_allclose(large.node_weights_, best.node_weights_, rtol=0.01, atol=0.01)
    assert best.node_weights_.max() > 0.5


def test_class_weights_of_a_field_leave_costs_of_nodes_without_a_label():
    labels = np.array([1, -1, 0, 0, 0])
    for class_weight, expected in (({"b": 3.0}, [3, 1, 1, 1, 1]), ("balanced", [2, 1, 2 / 3, 2 / 3, 2 / 3])):
        crf = GraphCRF(class_weight=class_weight)
        crf.classes_ = np.array(["a", "b"])
        np.testing.assert_allclose(crf._costs(labels, None, None), expected)
