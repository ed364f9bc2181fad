"""A fit that raises leaves the estimator as it was; only a training that was interrupted leaves its own model."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import loglinear
from loglinear import (
    ChainCRF,
    ConditionalLogit,
    ConvergenceWarning,
    DataError,
    GraphCRF,
    LogLinearError,
    MaxEnt,
    OptionError,
    PairwiseMRF,
    TextClassifier,
)
from loglinear.models.estimator import Estimator

GRAPH = (np.array([[1.0], [2.0], [-1.0]]), np.array([[0, 1], [1, 2]]))
WIDER = (np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 3.0]]), np.array([[0, 1], [1, 2]]))
VOTES = [[a, b, a ^ b ^ c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 4
# An estimator, data to fit it to, and other data to fail on, with other columns and classes.
FITS = {
    "MaxEnt": (MaxEnt, ([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], list("aba")), ([["x"], ["y"], ["x"]], [1, 2, 1])),
    "MaxEnt, ovr": (
        partial(MaxEnt, multi_class="ovr"),
        ([["x"], ["y"], ["z"]], list("abc")),
        ([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [2.0, 5.0, 1.0]], [1, 2, 3]),
    ),
    "TextClassifier": (TextClassifier, (["good film", "bad film"], ["+", "-"]), (["one", "two", "more"], [1, 2, 3])),
    "ChainCRF": (ChainCRF, ([[["a"], ["b"]]], [["X", "Y"]]), ([[["c"], ["d"], ["a"]]], [["V", "W", "Z"]])),
    "GraphCRF": (GraphCRF, ([GRAPH], [[0, 1, 1]]), ([WIDER], [["b", "a", "c"]])),
    "ConditionalLogit": (
        ConditionalLogit,
        ([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], [0, 1, 0], [1, 1, 1]),
        ([["x"], ["y"], ["x"], ["z"]], [1, 0, 0, 1], ["a", "a", "b", "b"]),
    ),
    "PairwiseMRF": (partial(PairwiseMRF, l1=1.0), (VOTES, None), ([["p", "q"], ["q", "p"], ["p", "p"]] * 9, None)),
}


class Fault(Exception):
    """What a test raises in the middle of a fit."""


def cats():
    rng, k = np.random.default_rng(0), np.arange(90) % 3
    X = rng.normal(size=(90, 4))
    X[np.arange(90), k] += 4.0
    return X, np.array(["cat", "dog", "fox"])[k], np.array(["z", "b", "a"])[k], k


def failing_at(kind, k, error):
    """Return a subclass of an estimator that raises at the k-th attribute that it sets."""
    names = []

    def put(self, name, value):
        names.append(name)
        if len(names) == k + 1:
            raise error(name)
        object.__setattr__(self, name, value)

    return type(kind.__name__, (kind,), {"__setattr__": put, "__doc__": kind.__doc__})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("error", [Fault, KeyboardInterrupt])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_that_fails_anywhere_leaves_the_estimator_as_it_was(name, error):
    make, data, others = FITS[name]
    fitted = make().fit(*data)
    before = dict(vars(fitted))
    for k in range(50):
        model = object.__new__(failing_at(type(fitted), k, error))
        vars(model).update(before)
        with pytest.raises(error) as raised:
            model.fit(*others)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[each] is before[each] for each in before)
        if raised.value.args == ("_results",):
            break
    assert raised.value.args == ("_results",)


@pytest.mark.parametrize("name", FITS)
def test_a_first_fit_that_fails_leaves_an_estimator_that_is_not_fitted(name, monkeypatch):
    make, data, _ = FITS[name]
    model = make()
    before = dict(vars(model))

    def fail(self, *results):
        raise Fault

    monkeypatch.setattr(Estimator, "_set_results", fail)
    with pytest.raises(Fault):
        model.fit(*data)
    assert vars(model) == before


def test_all_estimators_restore_themselves():
    kinds = [kind for kind in vars(loglinear).values() if isinstance(kind, type) and issubclass(kind, Estimator)]
    tested = {type(make()) for make, _, _ in FITS.values()}
    assert {kind for kind in kinds if "fit" in vars(kind)} == tested


@pytest.mark.parametrize(
    "bad",
    [
        lambda X, y, k: ((X, y), {"groups": k}),
        lambda X, y, k: ((X, y), {"X_dev": X, "y_dev": y[:-1]}),
        lambda X, y, k: ((X, y), {"X_dev": X[:, :2], "y_dev": y}),
        lambda X, y, k: ((X[:, :2], 0 * k), {}),
        lambda X, y, k: ((X[:, :2], y, -np.ones(90)), {}),
        lambda X, y, k: ((X[:, :2], y[:-1]), {}),
        lambda X, y, k: ((X[:, :2] * np.nan, y), {}),
        lambda X, y, k: (([["a"], ["b"]], [0, 0]), {}),
        lambda X, y, k: ((X, y), {"start": MaxEnt().fit(X[:, :2], y)}),
    ],
)
def test_after_a_refit_on_bad_data_a_classifier_predicts_as_before(bad):
    X, y, others, k = cats()
    model = MaxEnt().fit(X, y)
    arguments, options = bad(X, others, k)
    with pytest.raises(LogLinearError):
        model.fit(*arguments, **options)
    assert np.array_equal(model.predict(X), y)
    assert model.classes_.tolist() == ["cat", "dog", "fox"]
    assert model.n_features_in_ == 4


def test_a_classifier_whose_first_fit_has_failed_says_that_it_is_not_fitted():
    X, y, _, k = cats()
    model = MaxEnt()
    with pytest.raises(OptionError):
        model.fit(X, y, groups=k)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_other_labels_of_the_development_data_leave_a_chain_as_it_was():
    model = ChainCRF().fit([[["a"], ["b"]]], [["X", "Y"]])
    with pytest.raises(DataError):
        model.fit([[["a"], ["b"]]], [["V", "W"]], X_dev=[[["a"]]], y_dev=[[1]])
    assert model.classes_ == ["X", "Y"]
    assert model.predict([[["a"], ["b"]]]) == [["X", "Y"]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FITS)
def test_an_interrupted_training_leaves_its_own_model(name):
    make, data, others = FITS[name]

    def interrupt(record, state):
        if record.iteration == 1:
            raise KeyboardInterrupt

    model, whole = make().fit(*data), make().fit(*others)
    with pytest.raises(KeyboardInterrupt, match="the estimator has the weights so far"):
        model.fit(*others, callbacks=[interrupt])
    assert getattr(model, "results_", None) or model.result_
    assert getattr(model, "_format", None) == getattr(whole, "_format", None)
    for attribute in {"classes_", "n_features_in_"} & {*vars(whole)}:
        assert np.array_equal(vars(model)[attribute], vars(whole)[attribute])
    repr(model), model._repr_html_()


def test_a_complete_model_stays_where_its_warning_is_an_error():
    X, y, others, _ = cats()
    model = MaxEnt().fit(X, y).set_params(max_iterations=1, solver="lbfgs")
    with pytest.raises(ConvergenceWarning):
        model.fit(X, others)
    assert model.classes_.tolist() == ["a", "b", "z"]
    assert model.n_iter_.tolist() == [1]


def test_a_path_does_not_outlive_the_choice_of_its_strength():
    X = [["p", "q"], ["q", "p"], ["p", "p"]] * 30
    model = PairwiseMRF(l1="ebic", path_options={"l1": [2.0, 1.0, 0.5]}, solver_options={}).fit(X)
    assert model.path_
    assert not hasattr(model.set_params(l1=1.0).fit(X), "path_")


def test_the_weights_of_a_result_are_read_only():
    result = MaxEnt().fit([[0.0], [1.0]], ["a", "b"]).result_
    with pytest.raises(ValueError, match="read-only"):
        result.w[0] = 1.0
