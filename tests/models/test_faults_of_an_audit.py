"""Faults that an audit put in and that no test noticed: each has a law here."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from loglinear import (
    ChainCRF,
    ChainFeatures,
    ChainObjective,
    Checkpoint,
    ClassifierObjective,
    Corpus,
    ElasticNet,
    GraphCRF,
    PairwiseMRF,
    Problem,
    Stop,
    minimize,
)
from loglinear.compat.pycrfsuite import _training
from loglinear.data.parts import ListedPart
from loglinear.datasets import make_network
from loglinear.gap import duality_gap
from loglinear.models.training import checkpoint as checkpoint_module
from loglinear.models.training.resampling import confidence_of
from loglinear.objectives.parts import ChainParts
from loglinear.solvers import OWLQN


@pytest.mark.parametrize("y", [[["O", "I-X"], ["I-X", "O"]], [["O", "B-X"], ["B-X", "I-X"]]])
def test_auto_constraints_of_parts_are_the_scheme_of_the_joined_labels(y):
    X, features = [[["a"], ["b"]], [["a"], ["c"]]], ChainFeatures(constraints="auto")
    whole = ChainObjective(Corpus.encode(X, y), features)
    parts = ChainParts([ListedPart(str(k), X[k : k + 1], y[k : k + 1]) for k in range(2)], features)
    assert parts.features.constraints == whole.features.constraints


def test_a_path_of_regressions_begins_where_the_first_edge_appears():
    X = make_network("random", n_variables=5, n_samples=200, strength=1.5, degree=2.0, random_state=0).X
    first = PairwiseMRF(objective="nodewise", rule="or", path_options={"l1": 3}).fit(X).path_.points[0].l1
    for share, has_edges in ((1.01, False), (0.95, True)):
        assert bool(len(PairwiseMRF(objective="nodewise", rule="or", l1=share * first).fit(X).edges_)) == has_edges


def test_minutes_between_checkpoints_are_minutes(tmp_path, monkeypatch):
    path, now, existed = tmp_path / "checkpoint", [0.0], []
    monkeypatch.setattr(checkpoint_module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_time(record, state):
        existed.append(path.exists())
        now[0] += 5.0

    X, y = [[["a"], ["b"]], [["b"], ["c"], ["a"]]], [["A", "B"], ["B", "A", "A"]]
    crf = ChainCRF(tolerance=0.0, max_iterations=6)
    with pytest.warns(match="iteration limit"):
        crf.fit(X, y, checkpoint=Checkpoint(path, minutes=1.0), callbacks=[pass_time])
    assert not any(existed)
    assert path.exists()


def test_l2sgd_keeps_the_weights_of_the_lowest_loss(monkeypatch):
    def passes(problem, solver, callbacks):
        for k, loss in enumerate([9.0, 3.0, 1.0, 2.0]):
            record = SimpleNamespace(iteration=k, objective=loss)
            callbacks[0](record, SimpleNamespace(w=np.full(2, float(k))))
        return SimpleNamespace(status=None)

    monkeypatch.setattr(_training, "minimize", passes)
    monkeypatch.setattr(_training, "Problem", lambda objective, penalty: None)
    options = {"max_iterations": 10, "period": 5, "delta": 0.0, "c2": 1.0}
    messages = mock.MagicMock()
    objective = SimpleNamespace(n_features=2, n_samples=1)
    w = _training._l2sgd(objective, "l2sgd", options, messages, lambda w: None)
    np.testing.assert_array_equal(w, [2.0, 2.0])
    messages.line.assert_any_call("Loss: 1.000000")


def test_edges_are_listed_by_share_then_strength_then_number():
    edges = np.array([[0, 1], [0, 2], [1, 2], [1, 3]])
    samples = [(edges, np.array([1.0, 2.0, 1.0, 9.0])), (edges[:3], np.array([1.0, 2.0, 1.0]))]
    assert confidence_of(samples, 4, level=0.9).edges.tolist() == [[0, 2], [0, 1], [1, 2], [1, 3]]


def test_class_weights_of_a_field_leave_costs_of_nodes_without_a_label():
    labels = np.array([1, -1, 0, 0, 0])
    for class_weight, expected in (({"b": 3.0}, [3, 1, 1, 1, 1]), ("balanced", [2, 1, 2 / 3, 2 / 3, 2 / 3])):
        crf = GraphCRF(class_weight=class_weight)
        crf.classes_ = np.array(["a", "b"])
        np.testing.assert_allclose(crf._costs(labels, None, None), expected)


@pytest.mark.parametrize("l1", [1e-3, 0.02, 0.3, 2.0])
@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_the_gap_is_a_bound_under_weak_and_strong_penalties(l1, l2):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(12, 3)), rng.integers(0, 2, 12)
        problem = Problem(ClassifierObjective(X, y, n_classes=2, intercept=False), ElasticNet(l1=l1, l2=l2))
        best = minimize(problem, OWLQN(tolerance=0.0, gradient_tolerance=1e-9), stop=Stop(max_iterations=300))
        for share in (0.0, 0.3, 0.7, 0.9, 0.97, 0.99, 1.01, 1.1):
            w = share * best.w
            nll, gradient = problem.objective.value_and_gradient(w)
            distance = nll + problem.penalty.value(w) - best.objective
            assert duality_gap(problem, w, nll, gradient) >= distance - 1e-9
