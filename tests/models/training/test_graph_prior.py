"""Fields on graphs trained around an older one: the optimum, the limits of the strength, what stays and is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from loglinear import ChainCRF, DataError, GraphCRF, OptionError
from oracles.network_enumeration import assignments

EDGES = np.array([[0, 1], [1, 2], [2, 0], [2, 3]])
TIGHT = {"solver": "lbfgs", "solver_options": {"tolerance": 0.0, "gradient_tolerance": 1e-9}}


def data(seed, n=6, labels=3):
    """Graphs of four nodes with a loop, two node features, two edge features, and random labels."""
    random = np.random.default_rng(seed)
    X = [(random.normal(size=(4, 2)), EDGES, random.normal(size=(4, 2))) for _ in range(n)]
    return X, [random.integers(labels, size=4) for _ in range(n)]


def flat(crf, symmetric=False):
    """All weights, those of pairs of labels once if they are symmetric."""
    n = len(crf.classes_)
    pairs = np.triu_indices(n) if symmetric else np.unravel_index(np.arange(n * n), (n, n))
    return np.concatenate([crf.node_weights_.ravel(), crf.edge_weights_[:, pairs[0], pairs[1]].ravel()])


def nll(w, X, y, labels, symmetric):
    """By enumeration of all labellings."""
    at, every, total = 2 * labels, assignments(np.full(4, labels)), 0.0
    matrix = np.zeros((2, labels, labels))
    if symmetric:
        first, second = np.triu_indices(labels)
        matrix[:, first, second] = matrix[:, second, first] = w[at:].reshape(2, -1)
    else:
        matrix = w[at:].reshape(2, labels, labels)
    for (nodes, edges, ties), gold in zip(X, y, strict=True):
        of_nodes, of_edges = nodes @ w[:at].reshape(2, labels), np.tensordot(ties, matrix, axes=1)

        def scores(z, of_nodes=of_nodes, of_edges=of_edges, edges=edges):
            pairs = of_edges[np.arange(len(edges)), z[:, edges[:, 0]], z[:, edges[:, 1]]]
            return of_nodes[np.arange(4), z].sum(axis=1) + pairs.sum(axis=1)

        total += np.logaddexp.reduce(scores(every)) - scores(gold[None, :])[0]
    return total


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("strength", [0.3, 20.0])
def test_the_optimum_is_that_of_the_centred_penalty_in_scipy(symmetric, strength):
    old = GraphCRF(symmetric=symmetric, inference="exact").fit(*data(1, labels=2))
    X, y = data(2, labels=2)
    new = GraphCRF(symmetric=symmetric, inference="exact", **TIGHT).fit(X, y, prior=old, prior_strength=strength)
    c = flat(old, symmetric)
    oracle = scipy.optimize.minimize(
        lambda w: nll(w, X, y, 2, symmetric) + 0.5 * strength * ((w - c) ** 2).sum(), c, options={"gtol": 1e-6}
    )
    assert new.result_.objective == pytest.approx(oracle.fun, rel=1e-8)
    np.testing.assert_allclose(flat(new, symmetric), oracle.x, atol=1e-4)
    assert new.result_.gap < 1e-6


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("inference", ["exact", "trw", "loopy_bp"])
def test_an_infinite_strength_gives_the_old_model_and_0_a_training_from_scratch(symmetric, inference):
    options = {"symmetric": symmetric, "inference": inference}
    old = GraphCRF(**options).fit(*data(1))
    X, y = data(2, n=40)
    same = GraphCRF(**options).fit(X, y, prior=old, prior_strength=math.inf)
    np.testing.assert_array_equal(flat(same), flat(old))
    assert [list(labels) for labels in same.predict(X)] == [list(labels) for labels in old.predict(X)]
    near = GraphCRF(**options, **TIGHT).fit(X, y, prior=old, prior_strength=1e6)
    np.testing.assert_allclose(flat(near), flat(old), atol=1e-3)
    if inference == "exact":
        scratch = GraphCRF(**options, l2=0.0, **TIGHT).fit(X, y)
        free = GraphCRF(**options, **TIGHT).fit(X, y, prior=old, prior_strength=0)
        np.testing.assert_allclose(free.predict_proba(X), scratch.predict_proba(X), atol=1e-6)


def test_labels_that_the_new_data_lack_stay_and_new_ones_enter(tmp_path):
    X, y = data(1)
    old = GraphCRF().fit(X, [np.array(["a", "c", "d"])[labels] for labels in y])
    old.save(tmp_path / "old")
    X, y = data(2)
    y = [np.array(["b", "b", "c"])[labels] for labels in y]
    new, of_file = (GraphCRF().fit(X, y, prior=prior, prior_strength=3.0) for prior in (old, tmp_path / "old"))
    np.testing.assert_array_equal(flat(new), flat(of_file))
    assert new.classes_.tolist() == ["a", "b", "c", "d"]
    assert (new.result_.prior.strength, new.result_.prior.new_labels) == (3.0, ["b"])
    kept = GraphCRF().fit(X, y, prior=old, prior_strength=math.inf)
    at = [0, 2, 3]
    np.testing.assert_array_equal(kept.node_weights_[:, at], old.node_weights_)
    np.testing.assert_array_equal(kept.edge_weights_[:, at][:, :, at], old.edge_weights_)
    assert not kept.node_weights_[:, 1].any()
    assert not kept.edge_weights_[:, 1].any()
    new.save(tmp_path / "new")
    np.testing.assert_array_equal(flat(GraphCRF.load(tmp_path / "new")), flat(new))
    alone = GraphCRF().fit(X[:1], [["a"] * 4], prior=old, prior_strength=1.0)
    assert alone.classes_.tolist() == ["a", "c", "d"]


def test_the_l1_penalty_leaves_some_old_weights_exactly_and_l2_is_the_default_strength():
    old = GraphCRF().fit(*data(1))
    same = flat(GraphCRF(l1=1.0).fit(*data(2), prior=old)) == flat(old)
    assert same.any()
    assert not same.all()
    assert GraphCRF(l2=7.0).fit(*data(2), prior=old).result_.prior.strength == 7.0


def test_what_does_not_go_together_is_refused():
    X, y = data(2)
    old = GraphCRF().fit(*data(1))
    with pytest.raises(OptionError, match=r"prior_strength=1 needs a prior"):
        GraphCRF().fit(X, y, prior_strength=1)
    with pytest.raises(OptionError, match="prior_strength=-1"):
        GraphCRF().fit(X, y, prior=old, prior_strength=-1)
    with pytest.raises(OptionError, match="are ordered; set symmetric=False"):
        GraphCRF(symmetric=True).fit(X, y, prior=old)
    with pytest.raises(DataError, match="have 3 node features and 2 edge features, but the older model has 2 and 2"):
        GraphCRF().fit([(np.ones((4, 3)), EDGES, np.ones((4, 2)))], [[0, 1, 1, 0]], prior=old)
    with pytest.raises(DataError, match="labels have type str, but the older model has labels of type int"):
        GraphCRF().fit(X, [labels.astype(str) for labels in y], prior=old)
    with pytest.raises(OptionError, match="is neither a GraphCRF nor the path"):
        GraphCRF().fit(X, y, prior=ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]))
    with pytest.raises(DataError, match="have no labels"):
        GraphCRF().fit(X[:1], [[None] * 4], prior=old)
    with pytest.raises(OptionError, match=r"sg needs .*use"):
        GraphCRF(solver="sg").fit(X, y, prior=old)
