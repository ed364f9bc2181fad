"""Chains one of whose attributes has very large or very small values, such as a year or a time stamp."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse

from loglinear import ChainCRF, ChainObjective, Corpus, ElasticNet, GraphCRF, MaxEnt, Problem, minimize
from loglinear.data.graphs import Graphs
from loglinear.data.parts import ListedPart
from loglinear.errors import ConvergenceWarning, ObjectiveError
from loglinear.gain import largest_gain
from loglinear.models.training.chain import evaluate_model, train_chain
from loglinear.models.training.options import SolverOptions
from loglinear.objectives.graph import GraphLikelihood
from loglinear.objectives.parts import ChainParts
from loglinear.solvers import BFGS, LBFGS, OWLQN, Auto, GraftingLight, auto

SIZES = [1e-9, 1.0, 1e4, 1.7e9]


def told_apart(size, seed=0):
    """Sentences whose labels an attribute each tells apart, beside an attribute with values near a size."""
    rng = np.random.default_rng(seed)
    y = [["AB"[k] for k in rng.integers(0, 2, 5)] for _ in range(40)]
    X = [[{f"w={label}": 1.0, "t": float(size * (1.0 + rng.random() / 7.0))} for label in labels] for labels in y]
    return X, y


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strengths", [{"l2": 2.0}, {"l1": 0.1, "l2": 0.2}, {"l1": 0.5}])
def test_a_chain_learns_beside_an_attribute_of_any_size(size, strengths):
    X, y = told_apart(size)
    crf = ChainCRF(**strengths).fit(X, y)
    assert crf.result_.status.converged
    assert crf.score(X, y) == 1.0
    assert MaxEnt(**strengths).fit([t for s in X for t in s], [t for s in y for t in s]).result_.status.converged


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("solvers", "penalty"),
    [((LBFGS, BFGS), ElasticNet(l2=0.5)), ((OWLQN, GraftingLight), ElasticNet(0.3, 0.1))],
)
def test_the_optimum_is_that_of_the_penalty_on_the_original_weights(size, solvers, penalty):
    problem = Problem(ChainObjective(Corpus.encode(*told_apart(size))), penalty)
    results = [minimize(problem, solver(tolerance=1e-9)) for solver in solvers]
    for result in results:
        # What a step along one weight could gain is a measure without units.
        nll, gradient = problem.objective.value_and_gradient(result.w)
        assert largest_gain(problem, result.w, gradient) < 1e-3 * result.objective
        assert result.objective == pytest.approx(nll + penalty.value(result.w))
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-4)


@pytest.mark.parametrize("size", [1e-9, 1.7e9])
def test_partial_labels_are_learnt_beside_an_attribute_of_any_size(size):
    X, y = told_apart(size)
    y[3][0], y[5][1] = None, {"A", "B"}
    crf = ChainCRF(l2=0.5).fit(X, y)
    assert crf.predict(X[:3]) == y[:3]


def graphs(size, seed=0):
    """Chains of five nodes whose labels two node features tell apart, and features of nodes and edges near a size."""
    rng = np.random.default_rng(seed)
    y = [rng.integers(0, 2, 5) for _ in range(30)]
    edges = [(k, k + 1) for k in range(4)]
    near = [size * (1.0 + rng.random((9, 1)) / 7.0) for _ in y]
    return [
        (np.hstack([np.eye(2)[labels], each[:5]]), edges, each[5:]) for labels, each in zip(y, near, strict=True)
    ], y


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("strengths", [{"l2": 2.0}, {"l1": 0.5}])
@pytest.mark.parametrize("sparse", [False, True])
def test_graphs_are_learnt_beside_features_of_any_size(size, strengths, sparse):
    X, y = graphs(size)
    X = [(scipy.sparse.csr_array(nodes), edges, ties) for nodes, edges, ties in X] if sparse else X
    crf = GraphCRF(**strengths).fit(X, y)
    assert crf.result_.status.converged
    assert crf.score(X, y) == 1.0


@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_curvature_of_graphs_without_edges_is_exact(n_labels):
    rng = np.random.default_rng(1)
    X = [(rng.normal(size=(4, 2)), []) for _ in range(5)]
    objective = GraphLikelihood(Graphs.of(X), rng.integers(0, n_labels, 20), n_labels)
    w = rng.normal(size=objective.n_features)
    steps = 1e-5 * np.eye(w.size)[: 2 * n_labels]
    slopes = [[objective.value_and_gradient(w + sign * step)[1] for sign in (1.0, -1.0)] for step in steps]
    exact = [(after - before)[k] / 2e-5 for k, (after, before) in enumerate(slopes)]
    np.testing.assert_allclose(objective.hessian_diagonal(w)[: len(exact)], exact, rtol=1e-6, atol=1e-8)


def test_a_graph_s_feature_is_named_if_the_solver_does_not_scale():
    X, y = graphs(1e6)
    with pytest.warns(UserWarning, match="values of (node feature 2|edge feature 0) reach"):
        GraphCRF(solver="adagrad").fit(X, y)


def test_the_largest_values_are_those_of_each_features_attribute():
    X = [[{"a": -3.0, "b": 0.5}, {"a": 2.0}], [{"b": 0.25, "c": 1e6}]]
    objective = ChainObjective(Corpus.encode(X, [["A", "B"], ["A"]]))
    expected = {None: 1.0, "a": 3.0, "b": 0.5, "c": 1e6}
    names = [feature.attribute for feature in objective.feature_names(np.arange(objective.n_features))]
    assert objective.largest_values().tolist() == [expected[name] for name in names]
    some = np.arange(0, objective.n_features, 2)
    assert objective.restrict(some).largest_values().tolist() == [expected[names[k]] for k in some]
    sample = objective.sample([1])
    names = [feature.attribute for feature in sample.feature_names(np.arange(sample.n_features))]
    assert dict(zip(names, sample.largest_values(), strict=True)).items() >= {"b": 0.25, "c": 1e6}.items()


@pytest.mark.parametrize("size", [1e-9, 1.7e9])
@pytest.mark.parametrize("strengths", [{"l2": 2.0}, {"l1": 0.1, "l2": 0.2}])
def test_data_in_parts_are_learnt_beside_an_attribute_of_any_size(size, strengths):
    X, y = told_apart(size)
    parts = ChainParts([ListedPart("a", X[:25], y[:25]), ListedPart("b", X[25:], y[25:])])
    model, result = train_chain(parts, SolverOptions(**strengths))
    assert result.status.converged
    assert evaluate_model(model, Corpus.encode(X, y)).accuracy == 1.0
    whole = ChainObjective(Corpus.encode(X, y))
    largest = dict(zip(map(str, parts.feature_names(np.arange(parts.n_features))), parts.largest_values(), strict=True))
    names = map(str, whole.feature_names(np.arange(whole.n_features)))
    assert largest == dict(zip(names, whole.largest_values(), strict=True))


def test_attributes_without_values_have_no_largest_values():
    assert ChainObjective(Corpus.encode([[["a"], ["b"]]], [["A", "B"]])).largest_values() is None


@pytest.mark.parametrize(("penalty", "name"), [(ElasticNet(l1=0.4), "owlqn"), (ElasticNet(l2=0.7), "lbfgs")])
def test_uneven_attributes_get_a_solver_that_scales(monkeypatch, penalty, name):
    monkeypatch.setattr(auto, "FEW_CELLS", 1)
    choice = Auto().choice(Problem(ChainObjective(Corpus.encode(*told_apart(1e4))), penalty))
    assert choice.name == name
    assert "uneven" in choice.why


def test_a_solver_that_does_not_scale_warns_of_the_attribute_and_its_values():
    X, y = told_apart(1e6)
    uneven = r"values of attribute 't' reach 1\.14e\+06, which solver sgd_l1 .*--solver"
    with pytest.warns(UserWarning, match=uneven), pytest.warns(ConvergenceWarning, match="diverged"):
        ChainCRF(l1=0.1, solver="sgd_l1").fit(X, y)
    with pytest.raises(ObjectiveError, match=r"diverged.*attribute 't' reach 1\.94e\+12"):
        ChainCRF(l1=0.1, solver="sgd_l1").fit(*told_apart(1.7e12))


@pytest.mark.parametrize("named", [False, True])
def test_a_classifier_whose_solver_does_not_scale_warns_of_the_column(named):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 100)
    X = np.column_stack([np.eye(3)[y], 1e6 * (1.0 + rng.random(100))])
    samples = [dict(zip(["a", "b", "c", "year"], map(float, row), strict=True)) for row in X] if named else X
    uneven = "values of attribute 'year' reach" if named else "values of column 3 reach"
    with pytest.warns(UserWarning, match=uneven), pytest.warns(ConvergenceWarning, match="diverged"):
        MaxEnt(l1=0.1, solver="sgd_l1").fit(samples, y)


@pytest.mark.parametrize("size", [1e100, 1e155, 1e160, 1e200, 1e300])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_whose_squares_overflow_end_a_training_with_a_warning(size, n_classes):
    X = size * np.random.default_rng(0).random((20, 3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MaxEnt(l2=1.0).fit(X, np.arange(20) % n_classes)
    if size == 1e100:  # Newton's method scales by itself, up to the overflow
        assert model.result_.status.converged
        return
    assert any(re.search(r"values of column \d reach .*e\+\d\d", str(each.message)) for each in caught)


def test_a_training_that_converges_does_not_warn_of_values():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChainCRF(l2=2.0).fit(*told_apart(1e6))
        ChainCRF(l1=0.1, solver="sgd_l1").fit(*told_apart(1.0))


def test_no_end_of_a_training_speaks_of_the_objective_of_an_author():
    from loglinear import Status

    for status in Status:
        assert "gradient" not in status.message
        assert "custom" not in status.message
