"""Laws of `ChainCRF.predict(X, n_best=...)`: the labellings of enumeration, in its order, with its probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, ChainFeatures, ChainObjective, Corpus, OptionError
from oracles.chain_enumeration import Chain, Token, named_features

TEMPLATE = "U:%x[0,0]\nB\nB:%x[0,0]\n"
WORDS, LABELS = "ab", "XYZ"
# Every word in every place, every label with every word.
TRAINING = Corpus.encode([list("aabb")] * 3, [list("XXYZ"), list("XXYY"), list("XZYX")], template=TEMPLATE)


def chain(weights, order):
    """A model with these weights for its features, as an estimator and as its oracle."""
    objective = ChainObjective(TRAINING, ChainFeatures(all_states=True, all_transitions=True, order=order))
    model = objective.model(np.resize(np.array(weights, dtype=float), objective.n_features), "{}")
    crf = ChainCRF(template=TEMPLATE, order=order)
    crf.model_, crf.classes_ = model, model.labels
    return crf, Chain(model.labels, named_features(model))


def enumerated(oracle, words):
    """Every labelling with its log-probability, best first; ties by the last label that differs."""
    tokens = [Token([(f"U:{word}", 1.0)], ["B", f"B:{word}"]) for word in words]
    scores, numbers = oracle.scores(tokens), {label: number for number, label in enumerate(oracle.labels)}
    every = list(zip(oracle.labellings(len(words)), scores - oracle.log_partition(tokens), strict=True))
    return sorted(every, key=lambda found: (-found[1], [numbers[label] for label in reversed(found[0])]))


sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
orders = st.sampled_from([1, 2])


@given(st.lists(st.integers(-2, 2), min_size=7, max_size=66), orders, sentences, st.integers(1, 90))
def test_labellings_and_the_order_of_ties_are_those_of_enumeration(weights, order, words, n):
    crf, oracle = chain(weights, order)
    [found] = crf.predict([words], n_best=n)
    expected = enumerated(oracle, words)[:n]
    assert [labels for labels, _ in found] == [list(labels) for labels, _ in expected]
    assert [p for _, p in found] == pytest.approx([p for _, p in expected], abs=1e-9)
    assert found[0][0] == crf.predict([words])[0]


@given(st.lists(st.floats(-5, 5), min_size=7, max_size=66), orders, sentences)
def test_probabilities_are_those_of_the_labellings_fall_and_sum_to_one(weights, order, words):
    crf, oracle = chain(weights, order)
    [found] = crf.predict([words], n_best=100)
    assert len({tuple(labels) for labels, _ in found}) == len(found) == len(LABELS) ** len(words)
    expected = {labels: p for labels, p in enumerated(oracle, words)}
    for labels, log_p in found:
        assert log_p == pytest.approx(expected[tuple(labels)], abs=1e-9)
        assert log_p == pytest.approx(crf.log_probability([words], [labels])[0], abs=1e-9)
    falling = [p for _, p in found]
    assert falling == sorted(falling, reverse=True)
    assert math.fsum(map(math.exp, falling)) == pytest.approx(1.0, abs=1e-9)
    assert found[0][0] == crf.predict([words])[0]


def test_a_model_without_weights_gives_labellings_in_the_order_of_its_labels():
    crf, _ = chain([0], 1)
    [found] = crf.predict([list("ab")], n_best=4)
    first, second, third = crf.classes_
    assert [labels for labels, _ in found] == [[first, first], [second, first], [third, first], [first, second]]


def test_sentences_come_in_their_order_on_any_number_of_threads():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=66)
    X = [list(rng.choice(list(WORDS), rng.integers(0, 12))) for _ in range(200)]
    crf, _ = chain(weights, 1)
    found = crf.predict(X, n_best=3)
    assert [labellings[0][0] for labellings in found] == crf.predict(X)
    assert {len(labellings) for sentence, labellings in zip(X, found, strict=True) if len(sentence) == 1} == {3}
    assert next(labellings for sentence, labellings in zip(X, found, strict=True) if not sentence) == [([], 0.0)]
    crf.n_jobs = 2
    assert crf.predict(X, n_best=3) == found
    assert crf.predict([], n_best=3) == []


@pytest.mark.parametrize(
    ("labels", "kind"), [(["N", "V"], str), ([3, -1], int), ([True, False], bool), ([np.int64(2), np.int64(5)], int)]
)
def test_labels_come_back_as_they_were_given(labels, kind):
    crf = ChainCRF().fit([[["a"], ["b"]], [["b"]]], [labels, labels[1:]])
    [found] = crf.predict([[["a"], ["b"]]], n_best=np.int64(9))
    assert len(found) == 4
    assert {type(label) for given, _ in found for label in given} == {kind}
    assert found[0][0] == crf.predict([[["a"], ["b"]]])[0] == labels


def test_forbidden_labellings_are_left_out_and_the_others_share_all_probability():
    # Only A B, and A alone, are allowed.
    crf = ChainCRF(constraints=[("A", "A"), ("B", "A"), ("B", "B"), (None, "B")])
    crf.fit([[["a"], ["b"]], [["a"]]], [["A", "B"], ["A"]])
    found = crf.predict([[["a"], ["b"]], [["a"]] * 3, [["b"]]], n_best=5)
    assert found == [[(["A", "B"], pytest.approx(0.0))], [], [(["A"], pytest.approx(0.0))]]
    free = ChainCRF().fit([[["a"], ["b"]], [["a"]]], [["A", "B"], ["A"]])
    assert len(free.predict([[["a"]] * 3], n_best=100)[0]) == 8


@pytest.mark.parametrize("n_best", [0, -1, True, False, 2.0, "5", 10_001])
def test_what_is_no_number_of_labellings_is_refused_with_a_remedy(n_best):
    crf, _ = chain([1], 1)
    with pytest.raises(OptionError, match=rf"n_best={n_best!r} is not a whole number from 1 to 10000; leave it out"):
        crf.predict([["a"]], n_best=n_best)
