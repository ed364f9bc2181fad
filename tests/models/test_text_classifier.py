"""Laws of classifiers of texts."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import MaxEnt, OptionError
from loglinear.data.texts import make_vectorizer
from loglinear.models.text_classifier import TextClassifier

TEXTS = ["buy now cheap", "cheap cheap pills", "see you at noon", "lunch at noon", "buy pills", "see you"]
LABELS = ["spam", "spam", "ham", "ham", "spam", "ham"]
NEW = ["pills at noon", "never seen words", "", "you buy"]


@pytest.mark.parametrize("tfidf", [False, True])
def test_a_loaded_classifier_says_what_the_trained_one_said(tmp_path, tfidf):
    vectorizer = make_vectorizer("1-2", tfidf=tfidf)
    X = vectorizer.fit_transform(TEXTS)
    trained = TextClassifier(MaxEnt(l1=0.1), vectorizer).fit(X, LABELS)
    trained.save(tmp_path / "model")
    loaded = TextClassifier.load(str(tmp_path / "model"))
    assert loaded.predict(NEW) == trained.predict(NEW)
    for own, other in zip(trained.predict_proba(NEW), loaded.predict_proba(NEW), strict=True):
        assert own == pytest.approx(other)
        assert sum(own.values()) == pytest.approx(1.0)
    # The classifier itself is one over a matrix, and stays so.
    assert trained.classifier.attributes_ is None
    assert np.array_equal(trained.classifier.predict(vectorizer.transform(TEXTS)), trained.predict(TEXTS))


def test_development_texts_are_scored(tmp_path):
    vectorizer = make_vectorizer()
    X = vectorizer.fit_transform(TEXTS)
    trained = TextClassifier(MaxEnt(), vectorizer).fit(X, LABELS, dev=(NEW[:1], ["spam"]))
    assert set(trained.classifier.result_.trace[0].dev) == {"accuracy"}


def test_a_model_of_other_samples_is_refused(tmp_path):
    MaxEnt().fit([["a"], ["b"]], ["x", "y"]).save(tmp_path / "model")
    with pytest.raises(OptionError, match="the model reads python, not text"):
        TextClassifier.load(str(tmp_path / "model"))
