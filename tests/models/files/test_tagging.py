"""Laws of `ChainCRF.tag`: probabilities of labels, spans and labellings are enumeration's."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, Span, Tagging
from loglinear.errors import OptionError
from loglinear.schemes import chunk_rule, chunks
from oracles.chain_enumeration import Chain, Token, named_features

TEMPLATE = "U0:%x[0,0]\nB1:%x[0,1]\nB\n"
# Labels of each scheme, with one type more than one label has.
SCHEMES = {
    "IOB": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "IOB without types": ["O", "B", "I"],
    "IOE2": ["O", "I-X", "E-X", "I-Y", "E-Y"],
    "IOBES": ["O", "B-X", "I-X", "E-X", "S-X", "I-Y"],
    "BILOU": ["O", "B-X", "I-X", "L-X", "U-X", "U-Y"],
    "BMES": ["B", "M", "E", "S"],
    "BMES6": ["B", "B2", "B3", "M", "E", "S"],
}
WORDS = ["a", "b", "c"]


def random_crf(labels, order, scale, seed):
    """A model with these labels and random weights of about this size."""
    rng = np.random.default_rng(seed)
    columns = [[[str(rng.choice(WORDS)), str(rng.choice(WORDS))] for _ in labels] for _ in range(4)]
    corpus = Corpus.encode(columns, [rng.permutation(labels).tolist() for _ in columns], template=TEMPLATE)
    objective = ChainObjective(corpus, ChainFeatures(order=order, all_states=True, all_transitions=True))
    crf = ChainCRF(order=order)
    crf.model_ = objective.model(scale * rng.normal(size=objective.n_features), "{}")
    crf.classes_ = crf.model_.labels
    return crf


def tokens_of(sentence):
    return [Token([(f"U0:{a}", 1.0)], [f"B1:{b}"] if t else []) for t, (a, b) in enumerate(sentence)]


sentences = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)).map(list), min_size=1, max_size=4)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", SCHEMES)
@given(sentences, st.integers(0, 10**6), st.sampled_from([0.5, 2.0, 500.0]), st.sampled_from(["viterbi", "marginal"]))
def test_probabilities_are_those_of_enumeration(scheme, order, sentence, seed, scale, decode):
    crf = random_crf(SCHEMES[scheme], order, scale, seed)
    (tagging,) = crf.tag([sentence], decode=decode)
    chain = Chain(crf.classes_, named_features(crf.model_))
    tokens = tokens_of(sentence)
    labellings, p = chain.labellings(len(sentence)), chain.probabilities(tokens)
    close = {"rel": 1e-9, "abs": 1e-9 if scale < 100.0 else 1e-7}
    # The labels, by themselves and as a whole.
    marginals = chain.marginals(tokens)
    places = [crf.classes_.index(label) for label in tagging.labels]
    assert tagging.probabilities == pytest.approx(marginals[range(len(places)), places].tolist(), **close)
    of = p[labellings.index(tuple(tagging.labels))]
    assert tagging.probability == pytest.approx(of, **close)
    best = p.max() if decode == "viterbi" else marginals.max(axis=1).tolist()
    assert (of if decode == "viterbi" else tagging.probabilities) == pytest.approx(best, **close)
    # The spans are the chunks of the labels, and a span is as probable as all labellings with this chunk together.
    assert [span[:3] for span in tagging.spans] == chunks(tagging.labels, mode="conlleval", scheme=scheme.split()[0])
    found = [set(chunks(labels, scheme.split()[0])) for labels in labellings]
    expected = [sum(p[at] for at, inside in enumerate(found) if span[:3] in inside) for span in tagging.spans]
    assert [span.probability for span in tagging.spans] == pytest.approx(expected, **close)


@given(st.sampled_from(sorted(SCHEMES)), st.data())
def test_the_rule_of_chunks_reads_what_chunks_reads(scheme, data):
    labels = SCHEMES[scheme]
    sequence = data.draw(st.lists(st.sampled_from(labels), max_size=8))
    types, begins = chunk_rule(tuple(labels))
    found, before = [], -1
    for t, place in enumerate(map(labels.index, sequence)):
        begun = begins[(before + 1) * len(labels) + place]
        if begun:
            found.append((types[place], t, t + 1))
        elif types[place] is not None:
            assert types[before] == types[place]
            found[-1] = (*found[-1][:2], t + 1)
        before = place
    assert found == chunks(sequence, scheme.split()[0])


X = [[["w=Ada"], ["w=Lovelace"], ["w=wrote"]], [["w=She"], ["w=sang"]], []]
Y = [["B-PER", "I-PER", "O"], ["O", "O"], []]


@pytest.mark.parametrize("order", [1, 2])
def test_answers_agree_with_the_other_methods(order):
    crf = ChainCRF(order=order, l2=0.1).fit(X, Y)
    for decode in ("viterbi", "marginal"):
        tagged = crf.tag(X, decode=decode)
        labels = [tagging.labels for tagging in tagged]
        assert labels == crf.predict(X, decode=decode)
        for tagging, rows in zip(tagged, crf.predict_marginals(X), strict=True):
            expected = [row[label] for label, row in zip(tagging.labels, rows, strict=True)]
            assert tagging.probabilities == pytest.approx(expected, rel=1e-12)
        expected = crf.log_probability(X, labels)
        assert [tagging.log_probability for tagging in tagged] == pytest.approx(expected, rel=1e-9)
        assert [tagging.probability for tagging in tagged] == pytest.approx(np.exp(expected), rel=1e-9)
    assert crf.tag(X[:1]) == crf.tag(X)[:1]
    assert crf.tag(Corpus.encode(X)) == crf.tag(X)
    assert crf.tag([]) == []
    assert crf.tag([[]]) == [Tagging([], [], [], 0.0)]


@pytest.mark.parametrize("order", [1, 2])
@given(sentences, st.integers(0, 10**6), st.sampled_from(["viterbi", "marginal"]))
def test_constraints_leave_the_probabilities_of_what_they_allow(order, sentence, seed, decode):
    crf = random_crf(SCHEMES["IOB"], order, 1.0, seed)
    crf.constraints = "BIO"
    (tagging,) = crf.tag([sentence], decode=decode)
    chain = Chain(crf.classes_, named_features(crf.model_))
    labellings, p = chain.labellings(len(sentence)), chain.probabilities(tokens_of(sentence))
    p *= [all(each[0] != "I" or before[1:] == each[1:] for before, each in pairwise(("O", *y))) for y in labellings]
    p /= p.sum()
    assert tagging.probability == pytest.approx(p[labellings.index(tuple(tagging.labels))], abs=1e-12)
    found = [set(chunks(labels, "IOB")) for labels in labellings]
    expected = [sum(p[at] for at, inside in enumerate(found) if span[:3] in inside) for span in tagging.spans]
    assert [span.probability for span in tagging.spans] == pytest.approx(expected, abs=1e-12)
    at = [sum(p[k] for k, y in enumerate(labellings) if y[t] == label) for t, label in enumerate(tagging.labels)]
    assert tagging.probabilities == pytest.approx(at, abs=1e-12)


def test_a_sentence_without_an_allowed_labelling_has_no_labels_and_probability_zero():
    forbidden = [("O", "O"), ("B-X", "O"), ("B-X", "B-X")]
    crf = ChainCRF(constraints=forbidden).fit([[["a"], ["b"]]], [["O", "B-X"]])
    X = [[["a"]] * 3]
    for decode in ("viterbi", "marginal"):
        assert crf.predict(X, decode=decode) == [[None] * 3]
        (tagging,) = crf.tag(X, decode=decode)
        assert tagging == Tagging([None] * 3, [0.0] * 3, [], -math.inf)
        assert tagging.probability == 0.0


def test_a_span_of_one_type_is_a_tuple_with_names():
    (tagging,) = ChainCRF(l2=0.01).fit(X, Y).tag(X[:1])
    assert tagging.spans == [Span("PER", 0, 2, tagging.spans[0].probability)]
    assert tagging.probability < tagging.spans[0].probability < min(tagging.probabilities[:2])
    assert tagging.spans[0].probability > 0.8


def test_labels_without_a_scheme_have_no_spans_and_keep_their_type():
    crf = ChainCRF().fit([[["a"], ["b"]], [["b"]]], [[3, 4], [4]])
    (tagging,) = crf.tag([[["a"], ["b"]]])
    assert (tagging.labels, tagging.spans) == ([3, 4], [])
    assert crf.predict([[["a"], ["b"]]], decode="marginal") == [[3, 4]]


def test_labels_of_largest_marginal_may_be_another_labelling_than_the_most_probable_one():
    # A A has 0.4, B A and B B have 0.3 each: at the first token B has 0.6.
    X = [[["x"], ["y"]]]
    corpus = Corpus.encode(X * 2, [["A", "A"], ["B", "B"]])
    objective = ChainObjective(corpus, ChainFeatures(all_states=True, all_transitions=True))
    scores = {("A", "A"): math.log(0.4), ("A", "B"): -50.0, ("B", "A"): math.log(0.3), ("B", "B"): math.log(0.3)}
    names = objective.feature_names(range(objective.n_features))
    crf = ChainCRF()
    crf.model_ = objective.model(np.array([scores.get(name.labels, 0.0) for name in names]), "{}")
    crf.classes_ = crf.model_.labels
    assert crf.predict(X) == [["A", "A"]]
    assert crf.predict(X, decode="marginal") == [["B", "A"]]
    (tagging,) = crf.tag(X, decode="marginal")
    assert tagging.probabilities == pytest.approx([0.6, 0.7])
    assert tagging.probability == pytest.approx(0.3)


def test_ties_go_to_the_first_label():
    crf = random_crf(["A", "B", "C"], 1, 0.0, 0)
    first = crf.classes_[0]
    for decode in ("viterbi", "marginal"):
        assert crf.predict([[["a", "a"]] * 3], decode=decode) == [[first] * 3]
        assert crf.tag([[["a", "a"]] * 3], decode=decode)[0].probability == pytest.approx(3.0**-3)


@pytest.mark.parametrize("method", ["predict", "tag"])
def test_an_unknown_way_to_decode_is_refused(method):
    crf = random_crf(["A", "B"], 1, 1.0, 0)
    with pytest.raises(OptionError, match=r"decode='best' is not one of viterbi, marginal"):
        getattr(crf, method)([[["a", "a"]]], decode="best")


def test_the_best_labellings_and_the_best_labels_are_not_asked_for_together():
    crf = random_crf(["A", "B"], 1, 1.0, 0)
    with pytest.raises(OptionError, match=r"n_best is not available with decode='marginal'"):
        crf.predict([[["a", "a"]]], n_best=2, decode="marginal")
