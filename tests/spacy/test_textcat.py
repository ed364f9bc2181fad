"""Laws of `loglinear_textcat`: the categories are the classifier's, exclusive ones alone."""

from __future__ import annotations

import math

import pytest
from spacy.training import Example

from loglinear import ChainCRF, DataError, OptionError, TextClassifier
from loglinear.data.spacy_docs import category
from oracles.spacy_docs import TEXTS, examples, pipeline, trained

LABELS = ["city" if "Y" in text else "town" for text in TEXTS]


@pytest.mark.parametrize("config", [{}, {"words": "characters:2-3", "tfidf": True, "l1": 0.05, "l2": 0.1}])
def test_categories_are_those_of_the_classifier(config):
    nlp = trained("loglinear_textcat", config=config)
    classifier = TextClassifier(**config).fit(TEXTS, LABELS)
    texts = [*TEXTS, "He left New York .", "", " \n "]
    for doc, row in zip(nlp.pipe(texts), classifier.predict_proba(texts), strict=True):
        assert list(doc.cats) == ["city", "town"]
        assert list(doc.cats.values()) == row.tolist()
    assert nlp.get_pipe("loglinear_textcat").labels == ("city", "town")


def test_evaluate_gives_the_scores_of_spacy():
    nlp = trained("loglinear_textcat")
    scores = nlp.evaluate(examples(nlp))
    assert (scores["cats_score"], scores["cats_score_desc"]) == (1.0, "macro F")


def test_categories_of_other_pipes_stay():
    nlp = trained("loglinear_textcat")
    doc = nlp.make_doc(TEXTS[0])
    doc.cats["other"] = 0.5
    assert set(nlp(doc).cats) == {"other", "city", "town"}


def test_what_a_category_is():
    assert category({"a": 0.0, "b": 1.0}) == "b"
    assert category({"a": 0.25, "b": 0.75, "c": 0.0}) == {"a": 0.25, "b": 0.75}
    assert category({"a": 0.0}) is category({}) is None
    for cats in ({"a": 1.0, "b": 1.0}, {"a": 0.4}, {"a": 1.5, "b": -0.5}, {"a": math.nan}, {"a": math.inf, "b": 1.0}):
        with pytest.raises(DataError, match="are not exclusive"):
            category(cats)


def test_distributions_are_learned_and_docs_without_a_category_left_out():
    nlp = pipeline("loglinear_textcat")
    cats = [{"city": 1.0}, {"city": 0.25, "town": 0.75}, {}, {"town": 1.0, "city": 0.0}]
    given = [Example.from_dict(nlp.make_doc(text), {"cats": of}) for text, of in zip(TEXTS, cats, strict=False)]
    nlp.initialize(lambda: given)
    texts = [TEXTS[0], TEXTS[1], TEXTS[3]]
    classifier = TextClassifier().fit(texts, [{"city": 1.0}, {"city": 0.25, "town": 0.75}, {"town": 1.0}])
    assert list(nlp("New York").cats.values()) == classifier.predict_proba(["New York"])[0].tolist()


def test_what_cannot_be_learned_or_set_is_an_error(tmp_path):
    nlp = pipeline("loglinear_textcat")
    with pytest.raises(DataError, match=r"none of the 1 examples has a category \(doc\.cats\)"):
        nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a"), {})])
    with pytest.raises(DataError, match="component 'loglinear_textcat': example 0: the categories a: 1, b: 1 are not"):
        nlp.initialize(lambda: [Example.from_dict(nlp.make_doc("a"), {"cats": {"a": 1.0, "b": 1.0}})])
    TextClassifier().fit(["a", "b"], [0, 1]).save(tmp_path / "numbers")
    with pytest.raises(OptionError, match="the classes of the model are numbers"):
        pipeline("loglinear_textcat", config={"model_path": str(tmp_path / "numbers")})
    ChainCRF(template="pos").fit([["a", "b"]], [["A", "B"]]).save(tmp_path / "chain")
    with pytest.raises(ValueError, match="a chain model, not a classifier"):
        pipeline("loglinear_textcat", config={"model_path": str(tmp_path / "chain")})
