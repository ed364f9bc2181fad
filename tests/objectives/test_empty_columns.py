"""Columns of a sparse matrix without entries: the classifier is the one of all other columns, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from loglinear import Checkpoint, ClassifierObjective, MaxEnt
from loglinear.data.matrix import with_entries

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

USED = np.array([3, 4, 17, 30, 31, 32, 50, 77, 78, 90, 120, 121, 150, 199])


def samples(n=150, n_classes=3, width=200, seed=0):
    """Samples of which only the columns USED have entries, and their classes."""
    rng = np.random.default_rng(seed)
    few = rng.normal(size=(n, USED.size)) * (rng.random((n, USED.size)) < 0.3)
    y = (few[:, :n_classes] * 2.0 + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    rows, columns = few.nonzero()
    return scipy.sparse.csr_array((few[rows, columns], (rows, USED[columns])), shape=(n, width)), y


def assert_same(wide, narrow):
    assert wide.coef_.shape == (narrow.coef_.shape[0], 200)
    assert wide.n_features_in_ == 200
    np.testing.assert_array_equal(wide.coef_[:, USED], narrow.coef_)
    np.testing.assert_array_equal(wide.intercept_, narrow.intercept_)
    assert not np.delete(wide.coef_, USED, axis=1).any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"l2": 0.0},
        {"l1": 0.5},
        {"l1": 0.3, "l2": 0.2, "fit_intercept": False},
        {"l2": 0.5, "solver": "lbfgs"},
        {"l1": 0.5, "solver": "owlqn"},
        {"l1": 0.5, "solver": "prox_newton"},
        {"l1": 0.5, "solver": "grafting_light"},
        {"l2": 0.5, "solver": "sag", "fit_intercept": False},
        {"l1": 0.2, "solver": "sgd_l1"},
        {"l2": 0.5, "multi_class": "ovr"},
        {"l1": "cv"},
    ],
    ids=str,
)
def test_the_weights_are_those_without_empty_columns(options, n_classes):
    X, y = samples(n_classes=n_classes)
    wide, narrow = MaxEnt(**options).fit(X, y), MaxEnt(**options).fit(X[:, USED], y)
    assert_same(wide, narrow)
    assert [one.objective for one in wide.results_] == [one.objective for one in narrow.results_]
    np.testing.assert_array_equal(wide.predict_proba(X), narrow.predict_proba(X[:, USED]))


def test_a_saved_model_has_all_columns(tmp_path):
    X, y = samples()
    model = MaxEnt(l1=0.3).fit(X, y)
    model.save(tmp_path / "m.loglinear")
    loaded = MaxEnt.load(tmp_path / "m.loglinear")
    np.testing.assert_array_equal(loaded.coef_, model.coef_)


def test_training_from_a_model_begins_at_its_weights_of_columns_with_entries():
    X, y = samples()
    other, labels = samples(seed=1)
    old = MaxEnt(l2=0.3).fit(other, labels)
    begun = MaxEnt(l2=0.5, max_iterations=0).fit(X, y, start=old)
    np.testing.assert_allclose(begun.coef_, old.coef_, atol=1e-12)
    assert str(begun.result_.start).startswith("45 of 45 features")
    exact = MaxEnt(l2=0.5).fit(X, y, start=old)
    np.testing.assert_allclose(exact.coef_, MaxEnt(l2=0.5).fit(X, y).coef_, atol=1e-4)


def test_without_a_penalty_the_weights_of_empty_columns_stay_where_they_start():
    X, y = samples()
    full = scipy.sparse.csr_array(np.random.default_rng(0).normal(size=(150, 200)))
    old = MaxEnt(l2=10.0).fit(full, y)
    empty = np.delete(np.arange(200), USED)
    begun = MaxEnt(l2=0.0, max_iterations=3).fit(X, y, start=old)
    np.testing.assert_allclose(begun.coef_[:, empty], old.coef_[:, empty], atol=1e-12)


def test_scores_on_development_data_and_checkpoints_go_by_all_columns(tmp_path):
    X, y = samples()
    other, labels = samples(seed=1)
    dev = {"X_dev": other, "y_dev": labels}
    wide = MaxEnt(l2=0.5, solver="lbfgs").fit(X, y, **dev)
    narrow = MaxEnt(l2=0.5, solver="lbfgs").fit(X[:, USED], y, X_dev=other[:, USED], y_dev=labels)
    assert [row.dev for row in wide.result_.trace] == [row.dev for row in narrow.result_.trace]
    checkpoint = Checkpoint(tmp_path / "model.checkpoint", resume=True)
    MaxEnt(l2=0.5, solver="lbfgs", max_iterations=4).fit(X, y, checkpoint=checkpoint)
    resumed = MaxEnt(l2=0.5, solver="lbfgs").fit(X, y, checkpoint=checkpoint)
    assert checkpoint.iteration > 4
    np.testing.assert_array_equal(resumed.coef_, MaxEnt(l2=0.5, solver="lbfgs").fit(X, y).coef_)


def test_few_empty_columns_and_damaged_matrices_are_left_as_they_are():
    X, y = samples()
    narrow = ClassifierObjective(X, y, n_classes=3, spares_empty=True)
    assert narrow.kept.tolist() == USED.tolist()
    assert narrow.n_features == (USED.size + 1) * 3
    assert ClassifierObjective(X, y, n_classes=3).kept is None
    assert ClassifierObjective(X[:, : 2 * USED.size], y, n_classes=3, spares_empty=True).width == 2 * USED.size
    columns, ids = with_entries(np.array([5, 1, 5]), 6)
    assert (columns.tolist(), ids.tolist(), ids.dtype) == ([1, 5], [1, 0, 1], np.uint32)
    for kind in (np.int32, np.int64):
        columns, ids = with_entries(np.array([7, 0, 2, 7, 7, 0, 2, 2], dtype=kind)[::2], 8)
        assert (columns.tolist(), ids.tolist()) == ([2, 7], [1, 0, 1, 0])
        assert with_entries(np.array([-1, 1], dtype=kind), 9) is None
        assert with_entries(np.array([9, 1], dtype=kind), 9) is None
    assert with_entries(np.array([5, 1, 5]), 3) is None
    assert with_entries(np.array([-1, 1]), 9) is None
    assert with_entries(np.array([0, 1]), 3) is None
    assert with_entries(np.array([], dtype=int), 3) is None


def test_messages_name_columns_by_their_numbers_in_X():
    X, y = samples()
    large = np.ones(200)
    large[USED[7]] = 1e6
    with pytest.warns(UserWarning, match=f"the values of column {USED[7]} reach"):
        MaxEnt(l2=0.5, solver="sgd_l1", fit_intercept=False).fit(scipy.sparse.csr_array(X * large[None, :]), y)
