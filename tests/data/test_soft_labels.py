"""Soft labels from votes, from scores and from n-best lists."""

from __future__ import annotations

import math

import pytest

from loglinear import ChainCRF, Corpus, DataError, OptionError
from loglinear.data.soft_labels import filled, from_n_best, normalized, votes
from oracles.samples import chunky


def test_normalised_dicts_are_accepted_and_others_are_not():
    y = [[{"A": 2, "B": 6}, "A"]]
    with pytest.raises(DataError, match="has the probability 2"):
        Corpus.encode([[["a"], ["b"]]], y)
    assert Corpus.encode([[["a"], ["b"]]], normalized(y)).gold() == [[{"A": 0.25, "B": 0.75}, "A"]]


def test_small_shares_are_left_out_but_never_all():
    assert normalized([[{"A": 5, "B": 3, "C": 2}]], least=0.25) == [[{"A": 0.625, "B": 0.375}]]
    assert normalized([[{"A": 0.4, "B": 0.3, "C": 0.3}]], least=0.9) == [[{"A": 1.0}]]
    with pytest.raises(OptionError, match="least=2"):
        normalized([], least=2)
    for bad in ({}, {"A": 0.0}, {"A": -1, "B": 2}, {"A": math.inf}):
        with pytest.raises(DataError, match="sentence 1, token 0"):
            normalized([["A"], [bad]])


def test_votes_are_shares_and_abstentions_count_for_nothing():
    one, two = [["A", "B", None], ["A"]], [["A", "A", None], [None]]
    assert votes([one, two]) == [["A", {"B": 0.5, "A": 0.5}, None], ["A"]]
    assert votes([one, two], weights=[3, 1]) == [["A", {"B": 0.75, "A": 0.25}, None], ["A"]]
    assert votes([one, two], weights=[0, 1]) == [["A", "A", None], [None]]
    with pytest.raises(DataError, match="different numbers"):
        votes([one, [["A"]]])
    with pytest.raises(DataError, match="weights"):
        votes([one, two], weights=[1])


def test_an_n_best_list_of_all_labellings_is_the_distribution_of_the_teacher():
    X, y = chunky(8)
    X, y = [sentence[:3] for sentence in X], [labels[:3] for labels in y]
    teacher = ChainCRF(l2=0.5).fit(X, y)
    rows, labels, weights = from_n_best(X, teacher.predict(X, n_best=27))
    assert sum(weights) == pytest.approx(len(X))
    student = ChainCRF(l2=1e-6, tolerance=1e-12, all_states=True, all_transitions=True, max_iterations=5000)
    student.fit(rows, labels, sample_weight=weights)
    for p, q in zip(teacher.predict_marginals(X), student.predict_marginals(X), strict=True):
        for mine, theirs in zip(p, q, strict=True):
            assert mine == pytest.approx(theirs, abs=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: normalized(3), "y: expected a sequence"),
        (lambda: normalized([{"a": 1}]), "y, sentence 0: expected a sequence.*, not the dict"),
        (lambda: normalized(["abc"]), "y, sentence 0: expected a sequence.*, not the str"),
        (
            lambda: normalized([[{"a": "x"}]]),
            "sentence 0, token 0: the probability of 'a' is 'x', which is not a number",
        ),
        (lambda: normalized([[{"a": None}]]), "the probability of 'a' is None"),
        (lambda: normalized([[{"a": 10**400}]]), "which is not a number"),
        (lambda: normalized([[{"a": 1e308, "b": 1e308}]]), "no positive, finite sum"),
        (lambda: normalized([[{"a": math.inf, "b": -math.inf}]]), "no positive, finite sum"),
        (lambda: votes(3), "annotators: expected a sequence"),
        (lambda: votes([["A", "B"]]), "annotator 0, sentence 0: expected a sequence"),
        (lambda: votes([[["A"]]], weights=2), "weights: expected a sequence"),
        (
            lambda: votes([[["A"]]], weights=["a"]),
            r"weights=\['a'\] must have a number >= 0 for each of the 1 annotators",
        ),
        (lambda: votes([[["A"]], [["B"]]], weights=[1e308, 1e308]), "with a finite sum"),
        (lambda: votes([[["A"]], [[{"A": 1.0}]]]), "sentence 0, token 0: the vote {'A': 1.0} is not a label; give one"),
        (lambda: votes([[["A", math.nan]]]), "sentence 0, token 1: the vote nan is not a label"),
        (lambda: from_n_best([["a"]], []), "1 sentences but 0 lists of label sequences"),
        (lambda: from_n_best([["a"]], [["A"]]), "labellings of sentence 0: 'A' is not a pair of labels and a log-prob"),
        (lambda: from_n_best([["a"]], [None]), "labellings of sentence 0: expected a sequence"),
        (
            lambda: from_n_best([["a"]], [[("A", 0.0)]]),
            "labellings of sentence 0: expected a sequence.*, not the str 'A'",
        ),
        (lambda: from_n_best([["a"]], [[(["A"], "x")]]), "the log-probability 'x' is not a number below infinity"),
        (lambda: from_n_best([["a"]], [[(["A"], math.nan)]]), "the log-probability nan is not"),
        (lambda: from_n_best([["a"]], [[(["A"], -math.inf)]]), "every log-probability is -inf"),
    ],
)
def test_other_shapes_and_types_are_refused_with_the_place(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_what_is_unknown_beside_soft_labels_gets_equal_probabilities():
    y = votes([[["A", None, "A"], [None]], [["B", None, "A"], [None]]])
    assert y == [[{"A": 0.5, "B": 0.5}, None, "A"], [None]]
    half = {"A": 0.5, "B": 0.5}
    assert filled(y) == [[half, half, "A"], [None]]
    assert filled([[half, {"C", "D"}, None]], labels=["C", "A"]) == [[half, {"C": 1.0}, {"C": 0.5, "A": 0.5}]]
    X = [[["a"], ["b"], ["c"]], [["d"]]]
    with pytest.raises(DataError, match=r"sentence 0 has .*leave out the sentence, or .*soft_labels\.filled"):
        ChainCRF().fit(X, y)
    assert ChainCRF().fit(X[:1], filled(y)[:1]).predict(X[:1])[0][2] == "A"
    with pytest.raises(DataError, match="sentence 0, token 1: no label is possible"):
        filled([[half, None]], labels=[])


@pytest.mark.parametrize("vote", [bytearray(b"A"), ("A",), ["A"], {"A"}, {"A": 1.0}, math.nan], ids=str)
def test_votes_that_are_no_labels_are_named_by_sentence_and_token(vote):
    with pytest.raises(DataError, match=r"sentence 1, token 1: the vote .* is not a label; give one label, or None"):
        votes([[["A"], ["A", "B"]], [["A"], [None, vote]]])
