"""Biases of labels at tagging: the model with an attribute at every token; their choice on development data."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import ChainCRF, DataError, DataWarning, ModelFileError, OptionError, Tagger
from loglinear.metrics import chunk_scores
from loglinear.models.files.chain import weighted_features
from oracles.samples import chunky

BIAS = {"A": -0.5, "C": 1.25}


def trained(order=1, constraints=None, n=60):
    X, y = chunky(n)
    return ChainCRF(l2=0.5, order=order, constraints=constraints).fit(X, y), X, y


def with_an_attribute(crf):
    """The same model with the biases as weights of an attribute, and of the attribute alone."""
    states = {**crf.state_features_} | {("bias", label): score for label, score in BIAS.items()}
    return ChainCRF.of_weights(crf.classes_, states, crf.transition_features_)


def test_a_bias_is_the_weight_of_an_attribute_of_every_token():
    crf, X, _ = trained()
    twin, X_twin = with_an_attribute(crf), [[[*token, "bias"] for token in sentence] for sentence in X]
    plain = crf.predict(X)
    crf.label_bias = BIAS
    assert crf.predict(X) == twin.predict(X_twin) != plain
    assert [crf.predict_single(sentence) for sentence in X] == crf.predict(X)
    for mine, theirs in zip(crf.marginals(X), twin.marginals(X_twin), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    for mine, theirs in zip(crf.tag(X), twin.tag(X_twin), strict=True):
        assert mine.labels == theirs.labels
        assert mine.probability == pytest.approx(theirs.probability)
    assert crf.predict(X[:5], n_best=3)[0][0][0] == crf.predict(X[:5])[0]
    crf.label_bias = None
    assert crf.predict(X) == plain


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("constraints", [None, [("A", "C")]])
def test_a_file_keeps_the_bias_and_the_constraints(tmp_path, order, constraints):
    X, y = [[["a"], ["b"], ["c"]], [["b"], ["c"]]], [["A", "B", "C"], ["B", "C"]]
    crf = ChainCRF(order=order, constraints=constraints).fit(X, y)
    crf.label_bias = {"A": 3.0}
    crf.save(tmp_path / "m")
    loaded = ChainCRF.load(tmp_path / "m")
    assert loaded.label_bias == {"A": 3.0}
    assert loaded.predict_marginals(X) == crf.predict_marginals(X)
    assert Tagger(tmp_path / "m").tag(X[0]) == crf.predict_single(X[0])
    assert list(weighted_features(loaded.model_)) == list(weighted_features(crf.model_))
    loaded.label_bias = None
    assert loaded.predict_marginals(X) != crf.predict_marginals(X)
    loaded.save(tmp_path / "plain")
    assert ChainCRF.load(tmp_path / "plain").label_bias is None


def test_training_ignores_the_bias_and_labels_have_their_type():
    X, y = chunky(20)
    y = [["ABC".index(label) for label in row] for row in y]
    plain, biased = ChainCRF().fit(X, y), ChainCRF(label_bias={1: 2.0}).fit(X, y)
    np.testing.assert_array_equal(plain.result_.w, biased.result_.w)
    assert sum(label == 1 for row in biased.predict(X) for label in row) > sum(
        label == 1 for row in plain.predict(X) for label in row
    )


def test_an_integer_label_comes_back_from_a_file(tmp_path):
    crf = ChainCRF(label_bias={1: 2.0}).fit([[["a"], ["b"]]], [[0, 1]])
    crf.save(tmp_path / "m")
    assert ChainCRF.load(tmp_path / "m").label_bias == {1: 2.0}


def test_an_explanation_has_the_bias_among_its_contributions():
    crf, X, _ = trained()
    crf.label_bias = BIAS
    for token in crf.explain(X[0]):
        if token.label in BIAS or token.other in BIAS:
            shown = {part.name: part.weight for part in token.contributions}
            difference = BIAS.get(token.label, 0.0) - BIAS.get(token.other, 0.0)
            assert difference == 0.0 or shown["label bias"] == pytest.approx(difference)
            break
    else:
        pytest.fail("no token has the labels")


def test_other_programs_have_no_biases(tmp_path):
    crf, _, _ = trained()
    crf.label_bias = BIAS
    for format in ("crfsuite", "crf++-text", "crf++"):
        with pytest.raises(ModelFileError, match="biases of labels"):
            crf.export(tmp_path / "m", format)
    crf.label_bias = {}
    crf.export(tmp_path / "m", "crfsuite")


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        ({"Z": 1.0}, "names 'Z', which is not a label; the labels are"),
        ({"A": float("inf")}, r"label_bias\['A'\]=inf is out of range"),
        (0.5, "is neither None nor a dict"),
    ],
)
def test_bad_biases_are_refused(bias, message):
    crf, X, _ = trained(n=20)
    crf.label_bias = bias
    with pytest.raises(OptionError, match=message):
        crf.predict(X)


def noisy(n, seed):
    """Chunks on words that are entities one time in three."""
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, 9, 7) for _ in range(n)]
    X = [[[f"w{word}"] for word in sentence] for sentence in words]
    y = [["B-X" if word == 0 or (word < 4 and rng.random() < 0.33) else "O" for word in row] for row in words]
    return X, y


def test_tuning_finds_the_best_bias_of_the_grid():
    crf = ChainCRF(l2=1.0).fit(*noisy(150, 0))
    X_dev, y_dev = noisy(80, 1)
    plain = crf.score(X_dev, y_dev, metric="f1")
    assert crf.tune_bias(X_dev, y_dev) is crf
    tuned, chosen = crf.score(X_dev, y_dev, metric="f1"), crf.label_bias["O"]
    assert tuned > plain
    scores = []
    for bias in np.arange(-5.0, 5.01, 0.5):
        crf.label_bias = {"O": bias}
        scores.append(crf.score(X_dev, y_dev, metric="f1"))
    assert tuned >= max(scores)
    assert -5.0 <= chosen <= 5.0


def test_tuning_to_a_precision_keeps_it_and_takes_the_highest_recall():
    crf = ChainCRF(l2=1.0).fit(*noisy(150, 0))
    X_dev, y_dev = noisy(80, 1)
    crf.tune_bias(X_dev, y_dev, metric="recall at precision 0.95")
    strict = chunk_scores(y_dev, crf.predict(X_dev))
    assert strict["precision"] >= 0.95
    crf.label_bias = None
    crf.tune_bias(X_dev, y_dev, metric="recall at precision 0.3")
    lax = chunk_scores(y_dev, crf.predict(X_dev))
    assert lax["precision"] >= 0.3
    assert lax["recall"] > strict["recall"]


def test_a_precision_out_of_reach_is_worth_a_warning():
    X, y = noisy(40, 0)
    crf = ChainCRF().fit(X, y)
    wrong = [["B-X" if label == "O" else "O" for label in row] for row in y]
    with pytest.warns(DataWarning, match="no bias reaches this precision"):
        crf.tune_bias(X, wrong, metric="recall at precision 1")


def test_accuracy_of_several_labels_never_falls():
    crf, _, _ = trained(n=30)
    X_dev, y_dev = chunky(40, seed=9)
    before = crf.score(X_dev, y_dev)
    crf.tune_bias(X_dev, y_dev, metric="accuracy", labels=["A", "B"])
    assert set(crf.label_bias) == {"A", "B"}
    assert crf.score(X_dev, y_dev) >= before


def test_a_failed_tuning_leaves_the_bias():
    crf, X, y = trained(n=20)
    crf.label_bias = {"A": 1.0}
    with pytest.raises(OptionError, match="metric='F' is unknown"):
        crf.tune_bias(X, y, metric="F")
    with pytest.raises(OptionError, match="names 'Z'"):
        crf.tune_bias(X, y, metric="accuracy", labels=["Z"])
    assert crf.label_bias == {"A": 1.0}


def test_biases_under_which_the_labels_break_their_scheme_are_tried_as_well():
    X = [[["in"], ["New"], ["York"]], [["Bo"], ["in"], ["Rome"]]] * 5
    y = [["O", "B-LOC", "I-LOC"], ["B-PER", "O", "B-LOC"]] * 5
    crf = ChainCRF(l2=1.0).fit(X, y)
    crf.label_bias = {"I-LOC": 4.0}
    assert crf.predict(X[:1])[0][0].startswith("I-") or crf.predict(X[1:2])[0][0].startswith("I-")
    crf.tune_bias(X, y)
    assert "O" in crf.label_bias


@pytest.mark.parametrize("bias", [None, {"A": 3.0}])
@pytest.mark.parametrize("constraints", [[("A", "C"), ("C", "C"), ("B", None)], None, "none"])
def test_a_file_keeps_constraints_that_were_set_after_training(tmp_path, constraints, bias):
    """The model of the file is the fitted model: it predicts the same."""
    X, y = zip(*(pair for pair in zip(*chunky(60), strict=True) if pair[1][-1] != "A"), strict=True)
    for trained_under in (None, [("A", None)]):
        crf = ChainCRF(l2=0.5, constraints=trained_under).fit(X, y)
        crf.set_params(constraints=constraints, label_bias=bias)
        crf.save(tmp_path / "m")
        loaded = ChainCRF.load(tmp_path / "m")
        assert loaded.predict_marginals(X) == crf.predict_marginals(X)
        assert Tagger(tmp_path / "m").tag(X[0]) == crf.predict_single(X[0])
        assert [*map(tuple, loaded.constraints or ())] == ([] if isinstance(constraints, str) else constraints or [])
        loaded.save(tmp_path / "again")
        assert ChainCRF.load(tmp_path / "again").predict_marginals(X) == crf.predict_marginals(X)


def test_a_file_keeps_automatic_constraints_whenever_they_were_set(tmp_path):
    X, y = [[["a"], ["b"], ["c"]], [["b"], ["c"]]], [["B-X", "I-X", "O"], ["B-X", "O"]]
    for first, then in ((None, "auto"), ("auto", "auto"), ("auto", None), ("auto", "BIO")):
        crf = ChainCRF(constraints=first).fit(X, y).set_params(constraints=then)
        crf.save(tmp_path / "m")
        loaded = ChainCRF.load(tmp_path / "m")
        assert loaded.constraints == (then and "BIO")
        assert loaded.predict_marginals([[["c"], ["b"]]]) == crf.predict_marginals([[["c"], ["b"]]])


def test_a_file_records_the_options_of_the_training_whatever_was_set_after_it(tmp_path):
    """Only constraints and biases change a trained model; all other options say how it was made."""
    X, y = chunky(20)
    crf = ChainCRF(l1=0.25, class_weight={"A": 2.0}, min_count=2).fit(X, y)
    crf.set_params(l1=0.5, l2=3.0, class_weight=None, min_count=1, order=2, template="pos", max_iterations=7)
    crf.save(tmp_path / "m")
    loaded = ChainCRF.load(tmp_path / "m")
    assert (loaded.l1, loaded.l2, loaded.class_weight, loaded.min_count) == (0.25, 0.0, {"A": 2.0}, 2)
    assert (loaded.order, loaded.template) == (1, None)
    assert loaded.predict_marginals(X) == crf.predict_marginals(X)


@pytest.mark.parametrize(
    ("bias", "message"),
    [
        ({None: 1.0}, "names None, which is not a label; the labels are"),
        ({1: 1.0}, "names 1, which is not a label"),
        ({"A": 1e308}, r"label_bias\['A'\]=1e\+308 is out of range; give a number from -1e6 to 1e6"),
        ({"A": -1.1e6}, "is out of range"),
    ],
)
def test_biases_that_no_label_can_have_are_refused(bias, message):
    crf, X, _ = trained(n=10)
    crf.set_params(label_bias={"A": 1e6})
    assert crf.predict(X) == [["A"] * len(sentence) for sentence in X]
    assert all(row.sum() == pytest.approx(1.0) for rows in crf.marginals(X) for row in rows)
    with pytest.raises(OptionError, match=message):
        crf.set_params(label_bias=bias).predict(X)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (3, "labels=3 is not a list; give the labels"),
        ("A", "labels='A' is not a list"),
        ([], "has no label; name one"),
        (["A", "Z"], "names 'Z', which is not a label"),
        ([["A"]], r"names \['A'\], which is not a label"),
    ],
)
def test_labels_to_tune_are_labels(labels, message):
    crf, X, y = trained(n=10)
    with pytest.raises(OptionError, match=message):
        crf.tune_bias(X, y, metric="accuracy", labels=labels)
    assert crf.label_bias is None


def test_tuning_warns_of_the_best_biases_alone():
    """Biases that are tried and make the model predict other labels alone are no reason to warn."""
    X = [[["a"], ["b"]], [["a"], ["c"]], [["b"], ["a"]]] * 9
    crf = ChainCRF(l2=0.1).fit(X, [["B-X", "O"], ["B-X", "O"], ["O", "B-X"]] * 9)
    crf.tune_bias(X, [["O", "B-X"], ["O", "O"], ["O", "O"]] * 9)  # warnings are errors
    with pytest.warns(DataWarning, match="no label in common") as caught:
        crf.tune_bias(X, [["B-Q", "B-Q"]] * 27)
    assert len(caught) == 1


def test_the_present_bias_makes_no_difference_to_the_search_and_that_of_another_label_stays():
    crf = ChainCRF(l2=1.0).fit(*noisy(150, 0))
    X_dev, y_dev = noisy(80, 1)
    chosen = crf.tune_bias(X_dev, y_dev).label_bias
    for before in ({"O": 7.0}, {"O": -5.0}):
        crf.label_bias = before
        assert crf.tune_bias(X_dev, y_dev).label_bias == chosen
    crf.label_bias = {"B-X": 0.75}
    assert crf.tune_bias(X_dev, y_dev).label_bias["B-X"] == 0.75


def test_an_interrupted_search_leaves_the_model_as_it_is(monkeypatch):
    crf = ChainCRF(l2=1.0, label_bias={"O": -2.0}).fit(*noisy(60, 0))
    before = crf.calibrate(*noisy(40, 1), by="token").predict_marginals(noisy(5, 2)[0])

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("loglinear.metrics.evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        crf.tune_bias(*noisy(40, 1))
    assert crf.predict_marginals(noisy(5, 2)[0]) == before


def test_data_that_say_nothing_about_biases_are_named():
    crf = ChainCRF(l2=1.0).fit(*noisy(60, 0))
    for empty in ([], [[]]):
        with pytest.raises(DataError, match="have no token"):
            crf.tune_bias(empty, empty)
    with pytest.warns(DataWarning, match="have no chunk"):
        crf.tune_bias([[["w8"]]] * 3, [["O"]] * 3)
    crf.constraints = [(None, "O"), (None, "B-X")]
    with pytest.raises(DataError, match="allow no labelling"):
        crf.tune_bias(*noisy(20, 1))
