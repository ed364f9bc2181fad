"""What explanations are given of: empty samples, generators, and things that are no samples at all."""

from __future__ import annotations

import numpy as np
import pytest

from loglinear import ChainCRF, DataError, MaxEnt, TextClassifier

METHODS = ["explain", "predict", "predict_proba", "predict_log_proba", "decision_function"]
STRANGE = {
    "empty": ([], "X is empty; give one or more samples"),
    "text": ("The dog", "X is of type str, not a list of samples"),
    "none": (None, "X is None, not a list of samples"),
    "number": (3, "X is of type int, not a list of samples"),
    "mapping": ({"a": 1}, "X is of type dict, not a list of samples"),
    "generator": ((sample for sample in [["a"]]), "X is of type generator, not a list of samples"),
    "matrix": ([[1.0]], "X is a matrix, but the classifier was trained on attributes"),
}


@pytest.fixture(scope="module")
def classifier():
    return MaxEnt(l2=0.1).fit([["a"], ["b"], ["b"]], ["A", "B", "B"])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", STRANGE)
def test_what_are_no_samples_of_attributes_is_named(classifier, kind, method):
    X, message = STRANGE[kind]
    with pytest.raises(DataError) as refusal:
        getattr(classifier, method)(X)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("method", METHODS)
def test_samples_without_attributes_are_those_beside_others(classifier, method):
    alone, beside = (getattr(classifier, method)(X)[:2] for X in ([[], []], [[], [], ["a"]]))
    if method == "explain":
        alone, beside = ([token.difference for token in tokens] for tokens in (alone, beside))
    np.testing.assert_array_equal(alone, beside)


@pytest.mark.parametrize(
    "given",
    [
        lambda: (token for token in [["a"], ["b"]]),
        lambda: iter([["a"], ["b"]]),
        lambda: [(cell for cell in "a"), iter("b")],
        lambda: ((cell for cell in word) for word in "ab"),
    ],
)
def test_a_sentence_that_can_be_read_once_is_explained(given):
    crf = ChainCRF(template="pos").fit([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]])
    assert str(crf.explain(given())) == str(crf.explain([["a"], ["b"]]))
    assert crf.explain(given()).labels == ["A", "B"]


def test_texts_that_can_be_read_once_are_explained():
    classifier = TextClassifier().fit(["a good film", "a bad film"], ["+", "-"])
    texts = ["a good film", "bad"]
    assert str(classifier.explain(text for text in texts)) == str(classifier.explain(texts))
    report = classifier.report(iter(texts), ["+", "+"])
    assert report.mistakes == classifier.report(texts, ["+", "+"]).mistakes != []
