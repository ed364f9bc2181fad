"""Temperature scaling: the optimum of a likelihood by one number, and nothing else of the model changes."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import minimize_scalar

from loglinear import ChainCRF, Corpus, MaxEnt, TextClassifier
from loglinear.errors import DataError, DataWarning, OptionError
from loglinear.metrics import tagging_calibration

LABELS = ["B-X", "I-X", "O"]


def sentences(n, seed, noise):
    """Return sentences whose labels follow from their words, but for a share of random ones."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = rng.integers(6, size=rng.integers(2, 6))
        X.append([[f"w={word}"] for word in words])
        y.append([LABELS[rng.integers(3)] if rng.random() < noise else LABELS[word % 3] for word in words])
    return X, y


@pytest.fixture(scope="module", params=[1, 2])
def crf(request):
    """A chain that is too sure of its answers: its training data have no noise."""
    return ChainCRF(l2=0.03, order=request.param).fit(*sentences(40, 0, 0.0))


def copy_of(crf):
    same = ChainCRF(**crf.get_params())
    same.model_, same.classes_ = crf.model_, crf.classes_
    return same


DEV = sentences(60, 1, 0.3)


def losses(crf, temperature):
    """Return the three losses of the development data at a temperature, straight from marginals of a model at it."""
    changed = copy_of(crf)
    changed.model_ = changed.model_.rewritten(changed.model_.settings, factor=1.0 / temperature)
    X, y = DEV
    sequence = -changed.log_probability(X, y).sum()
    token = -sum(
        math.log(p[label])
        for row, labels in zip(changed.predict_marginals(X), y, strict=True)
        for p, label in zip(row, labels, strict=True)
    )
    spans = tagging_calibration(y, changed.tag(X)).spans.answers
    return {
        "sequence": sequence,
        "token": token,
        "span": -sum(math.log(p if right else 1.0 - p) for p, right, _ in spans),
    }


@pytest.mark.parametrize("by", ["sequence", "token", "span"])
def test_the_temperature_is_the_best_one(crf, by):
    calibrated = copy_of(crf).calibrate(*DEV, by=by)
    best = minimize_scalar(lambda t: losses(crf, math.exp(t))[by], bracket=(0.0, 1.0), tol=1e-9)
    assert math.log(calibrated.temperature_) == pytest.approx(best.x, abs=2e-4)
    assert calibrated.temperature_ > 1.3
    assert calibrated.predict(DEV[0]) == crf.predict(DEV[0])
    assert calibrated.calibrate(*DEV, by=by).temperature_ == pytest.approx(calibrated.temperature_, rel=1e-9)


def test_probabilities_are_powers_of_those_before(crf):
    calibrated = copy_of(crf).calibrate(*DEV, by="sequence")
    one = [[["w=1"]]]
    before = np.array([crf.log_probability(one, [[label]])[0] for label in LABELS])
    after = np.array([calibrated.log_probability(one, [[label]])[0] for label in LABELS])
    expected = before / calibrated.temperature_
    np.testing.assert_allclose(after, expected - np.logaddexp.reduce(expected), rtol=1e-9)


def test_the_file_holds_the_temperature(crf, tmp_path):
    calibrated = copy_of(crf).calibrate(*DEV)
    calibrated.save(tmp_path / "m")
    loaded = ChainCRF.load(tmp_path / "m")
    assert loaded.temperature_ == calibrated.temperature_
    np.testing.assert_array_equal(loaded.log_partition(DEV[0]), calibrated.log_partition(DEV[0]))
    twice = loaded.calibrate(*sentences(60, 2, 0.9), by="sequence")
    assert twice.temperature_ > calibrated.temperature_
    assert ChainCRF(l2=0.03).fit(*DEV).temperature_ == 1.0


def test_biases_are_divided_too(crf):
    biased = copy_of(crf).set_params(label_bias={"O": 0.7})
    calibrated = copy_of(biased).calibrate(*DEV, by="token")
    assert calibrated.label_bias == {"O": pytest.approx(0.7 / calibrated.temperature_)}
    assert calibrated.label_bias == json.loads(calibrated.model_.settings)["label_bias"]
    assert calibrated.predict(DEV[0]) == biased.predict(DEV[0])
    # A bias of 0 changes nothing, and the model is the same after a change and its return.
    before, bias = calibrated.log_partition(DEV[0]), calibrated.label_bias
    for other in ({**bias, "B-X": 0.0}, None, bias):
        calibrated.label_bias = other
        np.testing.assert_equal(calibrated.log_partition(DEV[0]) == before, other is not None)


def test_a_model_that_is_as_sure_as_it_is_right_stays():
    X, y = sentences(300, 3, 0.3)
    crf = ChainCRF(l2=0.01).fit(X, y)
    calibrated = copy_of(crf).calibrate(X, y, by="sequence")
    assert calibrated.temperature_ == 1.0
    assert calibrated.model_ is crf.model_


def test_training_data_without_mistakes_are_warned_of():
    X, y = sentences(200, 0, 0.0)
    crf = ChainCRF(l2=1.0).fit(X, y)
    with pytest.warns(DataWarning, match=r"temperature of 0.0\d+, near the end of the search: the model makes no mis"):
        crf.calibrate(X, y, by="sequence")


def test_bad_input_is_named(crf):
    with pytest.raises(OptionError, match=r"by='spans' is not one of span, token, sequence \(did you mean span"):
        copy_of(crf).calibrate(*DEV, by="spans")
    with pytest.raises(DataError, match="the model has the labels of no sentence"):
        copy_of(crf).calibrate([[["w=1"]]], [["NEW"]])
    with pytest.raises(DataError, match="the model finds no span in the development data"):
        copy_of(crf).calibrate([[["w=2"]]], [["O"]])
    plain = ChainCRF(l2=0.1).fit([[["a"], ["b"]]], [["A", "B"]])
    with pytest.raises(OptionError, match="by='span' needs labels that follow a tagging scheme"):
        plain.calibrate([[["a"]]], [["A"]], by="span")


def test_sentences_with_unknown_labels_are_left_out_with_a_warning(crf):
    X, y = DEV
    mixed = [["NEW", *labels[1:]] if at % 3 == 0 else labels for at, labels in enumerate(y)]
    with pytest.warns(DataWarning, match="20 of 60 sentences have labels or transitions that the model does not have"):
        calibrated = copy_of(crf).calibrate(X, mixed)
    kept = [at for at in range(60) if at % 3]
    expected = copy_of(crf).calibrate([X[at] for at in kept], [y[at] for at in kept])
    assert calibrated.temperature_ == expected.temperature_


@pytest.mark.parametrize("kind", ["texts", "attributes", "corpus", "sparse"])
def test_classifiers_are_calibrated_on_samples_of_any_kind(kind):
    texts, y = ["fine nice", "awful bad"] * 20, ["A", "B"] * 20
    y_dev = ["B", "A"] * 5 + ["A", "B"] * 15
    if kind == "texts":
        calibrated = TextClassifier(l2=0.01).fit(texts, y).calibrate(texts, y_dev)
        p = calibrated.predict_proba(texts[:1])
    else:
        X = [text.split() for text in texts]
        corpora = Corpus.encode([[row] for row in X], [[label] for label in y_dev])
        if kind == "sparse":
            X = scipy.sparse.csr_array(np.eye(2)[np.arange(40) % 2])
        model = MaxEnt(l2=0.01).fit(X, y)
        calibrated = model.calibrate(corpora) if kind == "corpus" else model.calibrate(X, y_dev)
        p = calibrated.predict_proba(X[:1])
    np.testing.assert_allclose(p, [[0.75, 0.25]], atol=1e-3)


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_have_the_best_temperature(multi_class, classes, tmp_path):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 4))
    y = np.array([f"c{k}" for k in range(classes)])[np.argmax(X[:, :classes] + rng.normal(size=(300, classes)), axis=1)]
    model = MaxEnt(l2=1e-3, multi_class=multi_class).fit(X[:25], y[:25])
    X, y = X[25:], y[25:]
    columns = np.searchsorted(model.classes_, y)

    def loss(t):
        changed = MaxEnt(**model.get_params()).fit(X, y)
        changed.coef_, changed.intercept_ = model.coef_ / math.exp(t), model.intercept_ / math.exp(t)
        return -changed.predict_log_proba(X)[np.arange(len(y)), columns].sum()

    best = minimize_scalar(loss, bracket=(0.0, 1.0), tol=1e-6)
    predicted = model.predict(X)
    model.calibrate(X, y)
    assert math.log(model.temperature_) == pytest.approx(best.x, abs=2e-4)
    assert (model.predict(X) == predicted).all()
    model.save(tmp_path / "m")
    loaded = MaxEnt.load(tmp_path / "m")
    assert loaded.temperature_ == model.temperature_
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    assert model.fit(X, y).temperature_ == 1.0
    with pytest.raises(DataError, match="the model has the class of no sample"):
        model.calibrate(X, np.full(len(y), "other"))
