"""One model for each class against the rest, several at a time."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse

from loglinear import ClassifierObjective, MaxEnt
from loglinear.models import maxent
from loglinear.models.training import apart

N_CLASSES = 5


@pytest.fixture(autouse=True)
def few_cells(monkeypatch):
    """Small data are trained side by side as well."""
    monkeypatch.setattr(apart, "FEW_CELLS", 0)


def samples(*, dense: bool = False):
    """Random counts of words, and classes that depend on them."""
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((200, 60), density=0.1, rng=rng, format="csr")
    y = (X @ rng.standard_normal((60, N_CLASSES)) + rng.gumbel(size=(200, N_CLASSES))).argmax(axis=1)
    return X.toarray() if dense else X, y


@pytest.mark.filterwarnings("ignore:stopped at the iteration limit")
@pytest.mark.parametrize("settings", [{"l2": 0.1}, {"l1": 0.1}, {"solver": "sag", "max_iterations": 5}], ids=str)
@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_models_do_not_depend_on_the_number_of_threads(settings, dense):
    X, y = samples(dense=dense)
    models = [MaxEnt(multi_class="ovr", n_jobs=threads, **settings).fit(X, y) for threads in (1, 2, 3, 11)]
    for model in models[1:]:
        assert np.array_equal(model.coef_, models[0].coef_)
        assert np.array_equal(model.intercept_, models[0].intercept_)
        assert [result.status for result in model.results_] == [result.status for result in models[0].results_]


def test_classes_are_trained_at_the_same_time(monkeypatch):
    train, both = apart.ClassifierObjective.one_against_rest, threading.Barrier(2, timeout=20.0)

    def met(objective, target, threads=None):
        if target < 2:
            both.wait()
        assert threads == 1
        return train(objective, target, threads)

    monkeypatch.setattr(apart.ClassifierObjective, "one_against_rest", met)
    MaxEnt(multi_class="ovr", n_jobs=2).fit(*samples())


def test_with_more_threads_than_classes_each_has_its_part(monkeypatch):
    given, train = [], apart.ClassifierObjective.one_against_rest
    monkeypatch.setattr(
        apart.ClassifierObjective,
        "one_against_rest",
        lambda objective, target, threads=None: given.append(threads) or train(objective, target, threads),
    )
    MaxEnt(multi_class="ovr", n_jobs=11).fit(*samples())
    assert given == [2] * N_CLASSES


def test_ctrl_c_leaves_what_is_complete_and_no_weights_of_the_rest(monkeypatch):
    ended = threading.Event()

    def interrupted(make, n, threads):
        make(0, lambda record, state: False)
        make(1, lambda record, state: record.iteration == 2)
        yield 0, None
        ended.set()
        raise KeyboardInterrupt

    monkeypatch.setattr(apart, "in_parallel", interrupted)
    model, whole = MaxEnt(multi_class="ovr", n_jobs=2), MaxEnt(multi_class="ovr", n_jobs=1).fit(*samples())
    with pytest.raises(KeyboardInterrupt, match="the estimator has"):
        model.fit(*samples())
    assert ended.is_set()
    statuses = [result.status.name for result in model.results_]
    assert statuses == ["CONVERGED"] + ["INTERRUPTED"] * (N_CLASSES - 1)
    assert model.n_iter_.tolist() == [whole.n_iter_[0], 2, 0, 0, 0]
    assert np.array_equal(model.coef_[0], whole.coef_[0])
    assert not model.coef_[2:].any()


@pytest.mark.thread_unsafe
def test_ctrl_c_trains_no_further_class(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 400)), np.arange(3000) % 30
    trained, train = [], maxent.train

    def counting(*arguments, **options):
        trained.append(1)
        if len(trained) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return train(*arguments, **options)

    monkeypatch.setattr(maxent, "train", counting)
    model = MaxEnt(multi_class="ovr", n_jobs=2)
    with pytest.raises(KeyboardInterrupt, match="the estimator has"):
        model.fit(X, y)
    assert len(trained) < 10
    rest = model.results_[-1]
    assert (rest.status.name, rest.iterations, rest.gradient_evaluations) == ("INTERRUPTED", 0, 0)
    assert not model.coef_[-1].any()
    # As often as the class: 100 of 3000, and half a sample for each side.
    assert model.intercept_[-1] == pytest.approx(np.log(100.5 / 2900.5))
    p = 1.0 / (1.0 + np.exp(-model.intercept_[-1]))
    assert rest.nll == pytest.approx(-100 * np.log(p) - 2900 * np.log1p(-p))
    assert "interrupted" in str(rest)


def test_warnings_name_the_line_that_trains_and_come_in_the_order_of_the_classes():
    X, y = samples()
    seen = []
    for threads in (1, 2):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            MaxEnt(multi_class="ovr", l1=5.0, n_jobs=threads).fit(X, y)
        assert {warning.filename for warning in caught} == {__file__}
        seen.append([str(warning.message) for warning in caught])
    assert seen[0] == seen[1]
    assert len(seen[0]) > 1


def test_the_error_of_the_first_class_that_fails_is_raised():
    X, y = samples()
    objective = ClassifierObjective(X, y, n_classes=N_CLASSES, threads=2)

    def train(k, one, callbacks, stays):
        message = f"class {k}"
        raise ValueError(message)

    with pytest.raises(ValueError, match="class 0"):
        list(apart.train_apart(objective, N_CLASSES, train))
