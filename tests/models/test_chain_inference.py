"""Laws of the inference for chains: each draw is a training of its own, and scores are of sentences it has not seen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from loglinear import ChainCRF, ChainObjective, Corpus, DataError, DataWarning, OptionError
from loglinear.metrics import chunk_scores

LABELS = ["O", "B-X", "I-X"]


def sentences(n, seed=0):
    """Sentences whose labels depend on words, and follow a tagging scheme."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words, labels = [], ["O"]
        for _ in range(rng.integers(2, 6)):
            choice = rng.choice(LABELS) if labels[-1] != "O" else rng.choice(LABELS[:2])
            labels.append(str(choice))
            words.append([f"w={choice if rng.random() < 0.8 else rng.choice(LABELS)}"])
        X.append(words)
        y.append(labels[1:])
    return X, y


def weights(crf, names):
    """Weights of a chain by the names of its features."""
    table = {f"{name}  -> {label}": weight for (name, label), weight in crf.state_features_.items()}
    table |= {f"{before} -> {label}": weight for (before, label), weight in crf.transition_features_.items()}
    return np.array([table.get(name, 0.0) for name in names])


@pytest.fixture(scope="module")
def trained():
    X, y = sentences(40)
    return ChainCRF(l2=1.0).fit(X, y), X, y


def test_a_draw_has_the_weights_and_scores_of_its_sentences(trained):
    crf, X, y = trained
    inference = crf.inference(X, y, draws=4, random_state=3)
    np.testing.assert_allclose(inference.weights, weights(crf, inference.names))
    scores = []
    for number, drawn in enumerate(inference.draws):
        rows = np.sort(np.random.default_rng([3, number]).integers(40, size=40))
        own = ChainCRF(l2=1.0, tolerance=1e-12).fit([X[row] for row in rows], [y[row] for row in rows])
        np.testing.assert_allclose(drawn, weights(own, inference.names), atol=0.02)
        held = np.setdiff1d(np.arange(40), rows)
        scores.append(chunk_scores([y[row] for row in held], own.predict([X[row] for row in held]))["f1"])
    np.testing.assert_allclose(inference.scores["f1"], np.quantile(scores, [0.025, 0.975]))
    assert inference.log_likelihood == pytest.approx(crf.log_probability(X, y).sum())
    assert inference.n_samples == 40


def test_test_sentences_are_drawn_as_well(trained):
    crf, X, y = trained
    X_test, y_test = sentences(30, seed=9)
    inference = crf.inference(X, y, X_test=X_test, y_test=y_test, draws=30, level=0.9)
    low, high = inference.scores["accuracy"]
    assert low < crf.score(X_test, y_test) < high
    one, same = (crf.inference(X, y, X_test=X_test[:1] * n, y_test=y_test[:1] * n, draws=6) for n in (1, 5))
    assert one.scores == same.scores  # copies of a sentence are all there is to draw


def test_each_draw_has_test_sentences_of_its_own():
    X, y = [["a", "b"], ["b", "c"]] * 10, [["A", "A"]] * 18 + [["B", "B"]] * 2
    crf = ChainCRF(l2=100.0).fit(X, y)  # says A in every draw
    inference = crf.inference(X, y, X_test=[["a"], ["b"]], y_test=[["A"], ["B"]], draws=16, level=0.99)
    low, high = inference.scores["accuracy"]
    assert low < 0.1
    assert high > 0.9


def test_numbers_do_not_depend_on_threads(trained):
    _, X, y = trained
    first, second = (ChainCRF(n_jobs=n).fit(X, y).inference(X, y, draws=5) for n in (1, 3))
    assert np.array_equal(first.draws, second.draws)
    assert first.scores == second.scores


def test_an_l1_penalty_selects_again_in_each_draw(trained):
    _, X, y = trained
    inference = ChainCRF(l1=3.0).fit(X, y).inference(X, y, draws=10)
    assert (inference.draws == 0.0).any()
    np.testing.assert_allclose(inference.selected, (inference.draws != 0.0).mean(axis=0))
    text = str(inference)
    assert "selected" in text
    assert "accuracy: " in text
    assert max(map(len, text.splitlines())) <= 78
    assert "sentences" in inference._repr_html_()
    with pytest.raises(OptionError, match="without a penalty"):
        inference.likelihood_ratio()


def test_bad_input(trained, tmp_path):
    crf, X, y = trained
    with pytest.raises(DataError, match=r"of the .* features of the chain; give its training data"):
        crf.inference([[["other"], ["words"]]] * 3, [["O", "B-X"]] * 3)
    with pytest.raises(DataError, match=rf"X has {2 * len(X)} sentences, but the chain was trained on {len(X)};"):
        crf.inference(X * 2, y * 2)
    with pytest.raises(DataError, match="X_test: no sentences"):
        crf.inference(X, y, X_test=[], y_test=[])
    with pytest.raises(DataError, match="give X_test"):
        crf.inference(X, y, y_test=y)
    for options in ({"draws": 1}, {"level": 1.0}, {"random_state": -1}, {"draws": 10**8}):
        with pytest.raises(OptionError):
            crf.inference(X, y, **options)
    with pytest.raises(OptionError, match="prior"):
        ChainCRF().fit(X, y, prior=crf).inference(X, y)
    crf.save(tmp_path / "chain.loglinear")
    loaded = ChainCRF.load(tmp_path / "chain.loglinear")
    assert loaded.inference(X, y, draws=2).names == crf.inference(X, y, draws=2).names
    settings = json.loads(loaded.model_.settings) | {"temperature": 2.0}
    loaded.model_ = loaded.model_.rewritten(json.dumps(settings), factor=1.0)
    with pytest.raises(OptionError, match="calibrated"):
        loaded.inference(X, y)


def test_a_single_sentence_has_no_scores_which_a_warning_says():
    X, y = [["a", "b"]], [["A", "B"]]
    with pytest.warns(DataWarning, match="no draw leaves out a sentence, so there are no scores"):
        assert ChainCRF().fit(X, y).inference(X, y, draws=2).scores == {}


def test_a_sentence_that_is_drawn_twice_counts_twice():
    objective = ChainObjective(Corpus.encode(*sentences(5)))
    w = np.random.default_rng(0).normal(size=objective.n_features)
    value = objective.batch([0, 3, 3], 1.0).value_and_gradient(w)[0]
    assert value == pytest.approx(objective.sample_nlls(w)[[0, 3, 3]].sum())
