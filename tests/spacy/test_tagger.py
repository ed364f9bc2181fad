"""Laws of `loglinear_tagger`: the tags are the model's, of words alone, and other tags stay."""

from __future__ import annotations

import pytest
from spacy.tokens import Doc
from spacy.training import Example

import spacy
from loglinear import ChainCRF, DataError, OptionError
from oracles.spacy_docs import TEXTS, WORDS, examples, gold, pipeline, trained

ATTRIBUTES = ("tag", "pos")


def given(attribute, words=WORDS):
    """The labels of sentences."""
    vocab = spacy.blank("xx").vocab
    return [[getattr(token, f"{attribute}_") for token in gold(vocab, sentence)] for sentence in words]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_tags_are_those_of_the_estimator(attribute):
    nlp = trained("loglinear_tagger", config={"attribute": attribute})
    crf = ChainCRF(template="pos").fit(WORDS, given(attribute))
    sentences = [*WORDS, ["Grace", "left"], []]
    docs = nlp.pipe(Doc(nlp.vocab, words=words) for words in sentences)
    assert [[getattr(token, f"{attribute}_") for token in doc] for doc in docs] == crf.predict(sentences)
    assert nlp.evaluate(examples(nlp))[f"{attribute}_acc"] == 1.0
    assert nlp.get_pipe("loglinear_tagger").labels == tuple(crf.classes_)


@pytest.mark.parametrize(("attribute", "whitespace"), [("tag", "_SP"), ("pos", "SPACE")])
def test_whitespace_has_its_own_tag(attribute, whitespace):
    nlp = trained("loglinear_tagger", config={"attribute": attribute})
    words = ["\n", *WORDS[0], " "]
    tags = [getattr(token, f"{attribute}_") for token in nlp(Doc(nlp.vocab, words=words))]
    plain = [getattr(token, f"{attribute}_") for token in nlp(Doc(nlp.vocab, words=WORDS[0]))]
    assert tags == [whitespace, *plain, whitespace]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_tags_that_a_doc_has_stay_unless_overwrite_is_set(attribute):
    nlp = trained("loglinear_tagger", config={"attribute": attribute})
    pipe = nlp.get_pipe("loglinear_tagger")
    expected = [getattr(token, f"{attribute}_") for token in nlp(TEXTS[0])]
    doc = nlp.make_doc(TEXTS[0])
    setattr(doc[0], f"{attribute}_", "X")
    assert [getattr(token, f"{attribute}_") for token in nlp(doc)] == ["X", *expected[1:]]
    pipe.overwrite = True
    assert [getattr(token, f"{attribute}_") for token in nlp(doc)] == expected


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_tags_of_other_tokens_are_aligned_and_missing_ones_unknown(attribute, monkeypatch):
    nlp = pipeline("loglinear_tagger", config={"attribute": attribute})
    pipe = nlp.get_pipe("loglinear_tagger")
    reference = Doc(nlp.vocab, words=["Ada", "met", "Alan!"], spaces=[1, 1, 0])
    for token, label in zip(reference, ("NOUN", "", "VERB"), strict=True):
        setattr(token, f"{attribute}_", label)
    predicted = Doc(nlp.vocab, words=["Ada", "met", "Alan", "!"], spaces=[1, 1, 0, 0])
    [labels] = pipe._data([Example(predicted, reference)], has_sentences=False)[1]
    assert labels == ["NOUN", None, "VERB", "VERB"]
    quick = pipe._data(examples(nlp), has_sentences=False)
    monkeypatch.setattr("loglinear.spacy.tagger.same_tokens", lambda example: False)
    assert pipe._data(examples(nlp), has_sentences=False) == quick


def test_docs_of_another_vocabulary_get_the_names_of_tags():
    nlp = trained("loglinear_tagger", config={"attribute": "tag"})
    doc = nlp.get_pipe("loglinear_tagger")(Doc(spacy.blank("xx").vocab, words=WORDS[0]))
    assert [token.tag_ for token in doc] == [token.tag_ for token in nlp(TEXTS[0])]


def test_what_cannot_be_learned_or_set_is_an_error():
    nlp = pipeline("loglinear_tagger")
    with pytest.raises(DataError, match=r"none of the 1 examples has tags \(token\.tag_\)"):
        nlp.initialize(lambda: [Example(Doc(nlp.vocab, words=["a"]), Doc(nlp.vocab, words=["a"]))])
    nlp = pipeline("loglinear_tagger", config={"attribute": "pos"})
    with pytest.raises(OptionError, match="label 'PP', which is not a part of speech of Universal Dependencies"):
        nlp.get_pipe("loglinear_tagger").estimator = ChainCRF(template="pos").fit([["a", "b"]], [["PP", "NOUN"]])
