"""Laws of `loglinear_spancat`: every span that is probable enough, with the probability that enumeration gives it."""

from __future__ import annotations

from collections import defaultdict
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example

from examples import examples as tries
from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, DataWarning, OptionError
from loglinear.schemes import chunk_rule, chunks
from loglinear.spacy.candidates import as_chunks, probable_spans
from oracles.spacy_docs import WORDS, examples, pipeline, trained

TEMPLATE = "U:%x[0,0]\nB\nB:%x[0,0]\n"
SCHEMES = (["O", "B-X", "I-X", "B-Y", "I-Y"], ["O", "B", "I"], ["O", "B-X", "I-X", "E-X", "S-X"], ["O", "I-X", "I-Y"])


def chain(labels, weights):
    """A chain of every label and pair of labels, with these weights."""
    corpus = Corpus.encode([list("ab") * len(labels)], [labels + labels[::-1]], template=TEMPLATE)
    objective = ChainObjective(corpus, ChainFeatures(all_states=True, all_transitions=True))
    crf = ChainCRF(template=TEMPLATE)
    crf.model_ = objective.model(np.resize(np.array(weights, dtype=float), objective.n_features), "{}")
    crf.classes_ = crf.model_.labels
    return crf


def enumerated(crf, words):
    """The probability of every span, by the sum over all labellings."""
    probabilities: dict[tuple[str, int, int], float] = defaultdict(float)
    for labels, log_probability in crf.predict([words], n_best=10_000)[0]:
        for chunk in chunks(labels, mode="conlleval"):
            probabilities[chunk] += exp(log_probability)
    return probabilities


@pytest.mark.parametrize("labels", SCHEMES, ids=str)
@given(
    weights=st.lists(st.integers(-3, 3), min_size=11, max_size=41),
    words=st.lists(st.sampled_from("ab"), min_size=1, max_size=4),
    least=st.sampled_from([1e-9, 0.01, 0.2, 0.5, 1.0]),
)
@tries(40, deadline=None)
def test_spans_and_their_probabilities_are_those_of_enumeration(labels, weights, words, least):
    crf = chain(labels, weights)
    rule = chunk_rule(tuple(crf.model_.labels))
    found = probable_spans(crf.marginals([words])[0], crf.transition_marginals([words])[0], rule, least)
    expected = enumerated(crf, words)
    for span in found:
        assert span.probability == pytest.approx(expected[span[:3]], abs=1e-9)
    sure = {chunk for chunk, p in expected.items() if p > least + 1e-9}
    possible = {chunk for chunk, p in expected.items() if p > least - 1e-9}
    assert sure <= {span[:3] for span in found} <= possible


def test_probabilities_equal_those_that_the_estimator_gives_entities():
    nlp = trained("loglinear_spancat", config={"threshold": 0.001})
    crf = nlp.get_pipe("loglinear_spancat").estimator
    for words, tagging in zip(WORDS, crf.tag(WORDS), strict=True):
        doc = nlp(Doc(nlp.vocab, words=words))
        group = doc.spans["sc"]
        found = dict(zip(((s.label_, s.start, s.end) for s in group), group.attrs["scores"].tolist(), strict=True))
        assert len(found) == len(group) > len(tagging.spans)
        for span in tagging.spans:
            assert found[span[:3]] == pytest.approx(span.probability, abs=1e-9)


def test_spans_have_the_form_that_spacys_spancat_gives_them():
    nlp = trained("loglinear_spancat", config={"spans_key": "sc"})
    docs = [Doc(nlp.vocab, words=words) for words in ([], WORDS[0], ["\n", *WORDS[0]])]
    for doc, found in zip(nlp.pipe(docs), ([], [(0, 2), (4, 5)], [(1, 3), (5, 6)]), strict=True):
        group = doc.spans["sc"]
        assert [(span.start, span.end) for span in group] == found
        assert isinstance(group.attrs["scores"], np.ndarray)
        assert group.attrs["scores"].shape == (len(found),)
        assert [span._.probability for span in group] == group.attrs["scores"].tolist()
    assert nlp.get_pipe("loglinear_spancat").labels == ("LOC", "PER")
    scores = nlp.evaluate(examples(nlp))
    assert scores["spans_sc_f"] == 1.0


def test_of_overlapping_spans_the_longest_is_learned():
    assert as_chunks([("A", 0, 1), ("B", 0, 3), ("C", 2, 5), ("D", 4, 5), ("D", 4, 5)]) == (
        [("B", 0, 3), ("D", 4, 5)],
        2,
    )
    nlp = pipeline("loglinear_spancat")
    given = examples(nlp)
    given[0].reference.spans["sc"].append(Span(given[0].reference, 0, 1, label="FIRST"))
    with pytest.warns(DataWarning, match="1 span that overlaps a longer one is not learned"):
        nlp.initialize(lambda: given)
    assert nlp.get_pipe("loglinear_spancat").labels == ("LOC", "PER")


def test_spans_of_other_tokens_are_aligned_and_misfits_unknown(monkeypatch):
    nlp = pipeline("loglinear_spancat")
    pipe = nlp.get_pipe("loglinear_spancat")
    reference = Doc(nlp.vocab, words=["Ada", "met", "Alan", "now!"], spaces=[1, 1, 1, 0])
    reference.spans["sc"] = [Span(reference, 0, 1, label="A"), Span(reference, 3, 4, label="B")]
    predicted = Doc(nlp.vocab, words=["Ada", "met", "Alan", "now", "!"], spaces=[1, 1, 1, 0, 0])
    [labels] = pipe._data([Example(predicted, reference)], has_sentences=False)[1]
    assert labels == ["B-A", "O", "O", "B-B", "I-B"]
    predicted = Doc(nlp.vocab, words=["Ada", "met Alan", "now!"], spaces=[1, 1, 0])
    reference.spans["sc"] = [Span(reference, 0, 1, label="A"), Span(reference, 2, 3, label="B")]
    [labels] = pipe._data([Example(predicted, reference)], has_sentences=False)[1]
    assert labels == ["B-A", None, "O"]
    quick = pipe._data(examples(nlp), has_sentences=False)
    monkeypatch.setattr("loglinear.spacy.spancat.same_tokens", lambda example: False)
    assert pipe._data(examples(nlp), has_sentences=False) == quick


def test_chains_of_second_order_are_refused(tmp_path):
    with pytest.raises(OptionError, match="order=2 is not available: the probabilities of all spans need"):
        pipeline("loglinear_spancat", config={"options": {"order": 2}})
    ChainCRF(template="ner", order=2).fit([["a", "b", "c"]], [["B-A", "I-A", "O"]]).save(tmp_path / "m")
    with pytest.raises(OptionError, match="the model is of second order"):
        pipeline("loglinear_spancat", config={"model_path": str(tmp_path / "m")})


@pytest.mark.parametrize("threshold", [0.0, -1.0, 1.5])
def test_thresholds_are_probabilities_above_0(threshold):
    with pytest.raises(OptionError, match=r"threshold=.* is out of range; give a probability above 0"):
        pipeline("loglinear_spancat", config={"threshold": threshold})
