"""Classifiers of matrices with huge values: right probabilities, or a message that names the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from loglinear import DataError, MaxEnt

X = np.random.default_rng(0).normal(size=(30, 3))
KINDS = {"binary": (2, "softmax"), "multinomial": (3, "softmax"), "ovr": (3, "ovr")}
MODELS = {
    name: MaxEnt(l2=0.1, multi_class=multi_class).fit(X, np.arange(30) % k) for name, (k, multi_class) in KINDS.items()
}
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "explain")
SIGNS = np.array([[1, 1, 1], [-1, -1, 1], [1, -1, 1], [0, 0, -1]])


def refusal(call, *arguments):
    """Return the message with which a call refuses its arguments; empty if it accepts them."""
    try:
        call(*arguments)
    except DataError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_huge_values_are_right_or_the_row_is_named(kind, sparse):
    model, n_refused = MODELS[kind], 0
    for size in 10.0 ** np.array([0, 4, 100, 200, 299, 301, 307, 308]):
        for signs in SIGNS:
            rows = np.vstack([X[:2], size * signs])
            data = scipy.sparse.csr_array(rows) if sparse else rows
            messages = {refusal(getattr(model, method), data) for method in METHODS}
            if messages != {""}:
                (message,), n_refused = messages, n_refused + 1
                assert "values in row 2 of X times their weights" in message
                assert size > 1e299
                continue
            p = model.predict_proba(data)
            np.testing.assert_allclose(p.sum(axis=1), 1.0)
            np.testing.assert_allclose(np.exp(model.predict_log_proba(data)), p)
            np.testing.assert_allclose(p[np.arange(3), model.predict(data)], p.max(axis=1))
            assert np.isfinite(model.decision_function(data)).all()
            assert all(np.isfinite(token.difference) for token in model.explain(data).tokens)
    assert n_refused


def test_contributions_that_overflow_are_refused_though_their_sum_does_not():
    model = MaxEnt().fit(X, np.arange(30) % 3)
    model.coef_ = np.array([[1.5, 1.5, 0], [-1.5, -1.5, 0], [0, 0, 0]])
    huge = [[1e308, -1e308, 0.0]]
    assert model.predict_proba(huge).sum() == pytest.approx(1.0)
    with pytest.raises(DataError, match="in row 0 of X"):
        model.explain(huge)


@pytest.mark.filterwarnings("ignore::loglinear.DataWarning")  # the answers are no better than chance
def test_calibration_on_huge_values_ends_at_a_temperature_or_names_the_row():
    for size in (1e200, 1e299, 1e307):
        model = MaxEnt(l2=0.1).fit(X, np.arange(30) % 3)
        if message := refusal(model.calibrate, size * X, np.arange(30) % 3):
            assert "values in row" in message
        else:
            assert np.isfinite(model.temperature_)
            np.testing.assert_allclose(model.predict_proba(size * X).sum(axis=1), 1.0)
