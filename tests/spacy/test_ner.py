"""Laws of `loglinear_ner`: the entities are the model's, their probabilities exact, and other entities stay."""

from __future__ import annotations

import numpy as np
import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy
from loglinear import DataError, DataWarning, Tagger
from loglinear.spacy.probability import probability
from oracles.spacy_docs import TEXTS, WORDS, bio, chain, examples, gold, pipeline, trained


@pytest.fixture(scope="module")
def nlp():
    return trained("loglinear_ner")


@pytest.fixture(scope="module")
def crf():
    return chain()


def test_the_model_is_that_of_the_estimator_to_the_bit(nlp, crf):
    model = nlp.get_pipe("loglinear_ner").estimator.model_
    assert sorted(model.state_features()) == sorted(crf.model_.state_features())
    assert sorted(model.transition_features()) == sorted(crf.model_.transition_features())


@pytest.mark.parametrize("key", [None, "ents"])
def test_entities_are_those_of_the_tagger(nlp, crf, key):
    pipe = nlp.get_pipe("loglinear_ner")
    sentences = [*WORDS, ["Grace", "left", "New", "York"], [], ["."]]
    docs = [Doc(nlp.vocab, words=words) for words in sentences]
    former, pipe.spans_key = pipe.spans_key, key
    try:
        found = [bio(doc) for doc in nlp.pipe(docs, batch_size=3)]
    finally:
        pipe.spans_key = former
    assert found == Tagger(crf).tag_batch(sentences)
    assert all(token.ent_iob for doc in docs for token in doc)  # nothing is missing


def test_probabilities_of_entities_are_those_of_the_model(nlp, crf):
    for doc, tagging in zip(nlp.pipe(TEXTS), crf.tag(WORDS), strict=True):
        expected = [span.probability for span in tagging.spans]
        assert doc.spans["ents"].attrs["scores"].tolist() == expected
        assert [ent._.probability for ent in doc.ents] == expected
        assert [(span.label_, span.start, span.end) for span in doc.spans["ents"]] == [
            span[:3] for span in tagging.spans
        ]


def test_a_span_that_no_model_has_scored_has_no_probability(nlp):
    doc = nlp(TEXTS[0])
    assert probability(doc[2:3]) is None
    assert probability(Span(doc, 0, 2, label="LOC")) is None
    doc.spans["others"] = [doc[2:3]]
    assert probability(doc[2:3]) is None


def test_probabilities_survive_bytes_and_docbins(nlp):
    doc = nlp(TEXTS[0])
    (copy,) = spacy.tokens.DocBin(docs=[doc]).get_docs(nlp.vocab)
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert doc.ents
    for other in (copy, again):
        assert [ent._.probability for ent in other.ents] == [ent._.probability for ent in doc.ents]


def test_entities_and_blocked_tokens_that_a_doc_has_stay(nlp):
    doc = Doc(nlp.vocab, words=WORDS[1])
    ruled = Span(doc, 1, 3, label="RULE", kb_id="Q7")
    doc.set_ents([ruled], blocked=[doc[4:5]], default="missing")
    nlp(doc)
    assert [(ent.start, ent.end, ent.label_, ent.kb_id_) for ent in doc.ents] == [(1, 3, "RULE", "Q7")]
    assert [token.ent_iob for token in doc] == [2, 3, 1, 2, 3, 2, 2]
    assert doc.ents[0]._.probability is None
    assert len(doc.spans["ents"]) == 2  # what the model says is not lost


def test_with_overwrite_the_model_has_the_last_word(nlp):
    other = pipeline("loglinear_ner", config={"overwrite": True})
    other.get_pipe("loglinear_ner").estimator = nlp.get_pipe("loglinear_ner").estimator
    doc = Doc(other.vocab, words=WORDS[1])
    doc.set_ents([Span(doc, 1, 3, label="RULE")], blocked=[doc[4:5]])
    assert bio(other(doc)) == bio(nlp(TEXTS[1]))


def test_entity_rulers_work_before_and_after():
    nlp = trained("loglinear_ner")
    for place in ({"before": "loglinear_ner"}, {"after": "loglinear_ner"}):
        nlp.add_pipe("entity_ruler", name=str(place), **place).add_patterns([{"label": "VERB", "pattern": "lived"}])
        assert [ent.label_ for ent in nlp(TEXTS[0]).ents] == ["PER", "VERB", "LOC"]
        nlp.remove_pipe(str(place))


@pytest.mark.parametrize("space", ["\n", "  ", "\n\n\t"])
def test_whitespace_tokens_do_not_count(nlp, space):
    words = [space, "Ada", space, "Lovelace", "lived", space, "in", "London", space]
    doc = nlp(Doc(nlp.vocab, words=words))
    assert [(ent.start, ent.end, ent.label_) for ent in doc.ents] == [(1, 4, "PER"), (7, 8, "LOC")]
    sequence = ["Ada", "Lovelace", "lived", "in", "London"]
    plain = nlp(Doc(nlp.vocab, words=sequence))
    assert [ent._.probability for ent in doc.ents] == [ent._.probability for ent in plain.ents]
    # In training as well.
    pipe, example = nlp.get_pipe("loglinear_ner"), Example(Doc(nlp.vocab, words=words), doc)
    assert pipe._data([example], has_sentences=False) == ([sequence], [["B-PER", "I-PER", "O", "O", "B-LOC"]])
    assert not nlp(Doc(nlp.vocab, words=[space])).ents


def test_sentences_are_labelled_on_their_own_unless_by_sentence_is_off(nlp, crf):
    words = WORDS[0] + WORDS[5]
    starts = [at in (0, len(WORDS[0])) for at in range(len(words))]
    pipe = nlp.get_pipe("loglinear_ner")
    for by_sentence, sequences in ((True, [WORDS[0], WORDS[5]]), (False, [words])):
        pipe.by_sentence = by_sentence
        doc = nlp(Doc(nlp.vocab, words=words, sent_starts=starts))
        expected = [span.probability for tagging in crf.tag(sequences) for span in tagging.spans]
        assert doc.spans["ents"].attrs["scores"].tolist() == expected
    pipe.by_sentence = True


def test_training_has_the_sentences_that_labelling_will_have():
    words = WORDS[0] + WORDS[5]
    starts = [at in (0, len(WORDS[0])) for at in range(len(words))]

    def data(nlp, predicted_starts=None):
        reference = gold(nlp.vocab, words)
        for token, start in zip(reference, starts, strict=True):
            token.is_sent_start = start
        example = Example(Doc(nlp.vocab, words=words, sent_starts=predicted_starts), reference)
        X = []
        pipe = nlp.get_pipe("loglinear_ner")
        original, pipe._data = pipe._data, lambda *given, **named: X.append(original(*given, **named)[0]) or X[0:0]
        with pytest.raises(ValueError, match="unpack"):
            pipe.initialize(lambda: [example], nlp=nlp)
        return X[0]

    assert data(pipeline("loglinear_ner")) == [words]
    assert data(pipeline("loglinear_ner"), starts) == [WORDS[0], WORDS[5]]
    assert data(pipeline("sentencizer", "loglinear_ner")) == [WORDS[0], WORDS[5]]
    assert data(pipeline("loglinear_ner", "sentencizer")) == [words]


def test_examples_without_the_boundaries_that_labelling_will_have_give_a_warning(recwarn):
    words = WORDS[0] + WORDS[5]

    def data(nlp, **options):
        pipe = nlp.get_pipe("loglinear_ner")
        doc = gold(nlp.vocab, words)
        for token, start in zip(doc, options.get("starts", []), strict=False):
            token.is_sent_start = start
        pipe.by_sentence = options.get("by_sentence", True)
        return pipe._data([Example(Doc(nlp.vocab, words=words), doc)], has_sentences=options.get("has_sentences", True))

    nlp = pipeline("loglinear_ner")
    for options in ({"has_sentences": False}, {"by_sentence": False}, {"starts": [True] + [False] * len(words)}):
        data(nlp, **options)
    assert not recwarn
    with pytest.warns(DataWarning, match="1 of 1 examples have several sentences but no boundaries"):
        assert data(nlp)[0] == [words]


def test_an_entity_that_sentences_cut_begins_again():
    nlp = pipeline("loglinear_ner")
    words = ["New", "York", "in", "York"]
    doc = Doc(nlp.vocab, words=words, sent_starts=[True, True, False, False])
    doc.set_ents([Span(doc, 0, 2, label="LOC")])
    example = Example(Doc(nlp.vocab, words=words, sent_starts=[True, True, False, False]), doc)
    X, y = nlp.get_pipe("loglinear_ner")._data([example], has_sentences=True)
    assert (X, y) == ([["New"], ["York", "in", "York"]], [["B-LOC"], ["B-LOC", "O", "O"]])


def test_missing_and_misaligned_annotation_is_unknown():
    nlp = pipeline("loglinear_ner")
    pipe = nlp.get_pipe("loglinear_ner")
    doc = Doc(nlp.vocab, words=["Ada", "met", "Alan", "today"])
    doc.set_ents([Span(doc, 0, 1, label="PER")], missing=[doc[2:3]], blocked=[doc[3:4]])
    [known] = pipe._data([Example(Doc(nlp.vocab, words=[token.text for token in doc]), doc)], has_sentences=False)[1]
    assert known == ["B-PER", "O", None, None]
    # The tokens of the pipeline cut the entity elsewhere.
    predicted = Doc(nlp.vocab, words=["Ada", "met", "Al", "an", "today", "!"], spaces=[1, 1, 0, 1, 0, 0])
    reference = Doc(nlp.vocab, words=["Ada", "met", "Alan", "today!"], spaces=[1, 1, 1, 0])
    reference.set_ents([Span(reference, 0, 1, label="PER"), Span(reference, 2, 4, label="DAY")])
    [aligned] = pipe._data([Example(predicted, reference)], has_sentences=False)[1]
    assert aligned == ["B-PER", "O", "B-DAY", "I-DAY", "I-DAY", "I-DAY"]
    with pytest.warns(UserWarning, match="W030"):
        reference = Example.from_dict(nlp.make_doc("Ada met Alan"), {"entities": [(0, 3, "PER"), (8, 11, "PER")]})
    [labels] = pipe._data([reference], has_sentences=False)[1]
    assert labels == ["B-PER", "O", None]


def test_both_ways_to_read_labels_agree(monkeypatch):
    nlp = pipeline("loglinear_ner")
    pipe = nlp.get_pipe("loglinear_ner")
    given = examples(nlp)
    given[3].reference.set_ents(given[3].reference.ents[:1], missing=[given[3].reference[2:3]])
    quick = pipe._data(given, has_sentences=False)
    monkeypatch.setattr("loglinear.spacy.ner.same_tokens", lambda example: False)
    assert pipe._data(given, has_sentences=False) == quick


def test_examples_without_entities_are_left_out_and_none_is_an_error():
    nlp = pipeline("loglinear_ner")
    bare = [Example(Doc(nlp.vocab, words=words), Doc(nlp.vocab, words=words)) for words in WORDS]
    with pytest.raises(
        DataError, match=r"component 'loglinear_ner': none of the 16 examples has entities \(doc\.ents\); give"
    ):
        nlp.initialize(lambda: bare)
    nlp.initialize(lambda: [*bare, *examples(nlp)])
    assert nlp.get_pipe("loglinear_ner").estimator.predict(WORDS) == chain().predict(WORDS)


def test_evaluate_gives_the_scores_of_spacy(nlp):
    scores = nlp.evaluate(examples(nlp))
    assert (scores["ents_f"], scores["ents_per_type"]["LOC"]["p"]) == (1.0, 1.0)
    wrong = examples(nlp)
    for example in wrong[:8]:
        example.reference.set_ents([])
    scores = nlp.evaluate(wrong)
    assert scores["ents_p"] == pytest.approx(0.5)
    assert scores["ents_r"] == 1.0


def test_results_do_not_depend_on_batches_or_threads(nlp):
    pipe = nlp.get_pipe("loglinear_ner")
    expected = [doc.spans["ents"].attrs["scores"] for doc in nlp.pipe(TEXTS)]
    for batch_size, n_jobs in ((1, None), (5, 1), (100, 2)):
        pipe.estimator.n_jobs = n_jobs
        found = [doc.spans["ents"].attrs["scores"] for doc in nlp.pipe(TEXTS, batch_size=batch_size)]
        assert all(map(np.array_equal, found, expected))
    pipe.estimator.n_jobs = None
