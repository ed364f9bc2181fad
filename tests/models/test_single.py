"""One sentence at once: the labels and probabilities are those of the road through a corpus."""

from __future__ import annotations

import pickle
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loglinear import ChainCRF, Corpus, DataError, OptionError
from oracles.patience import patience

WORDS = ["the", "dog", "barks", "big", "cats", "sleep", "Ada", "B", "unknown"]
LABELS = [["D", "N", "V"], ["D", "A", "N", "V"], ["N", "V"], ["N"]]
SENTENCES = [["the", "dog", "barks"], ["the", "big", "cats", "sleep"], ["cats", "sleep"], ["Ada"]]


def attributes(sentence):
    """Attributes of several kinds for each word."""
    return [
        {"w": word, "length": len(word) / 3, "shape": {"cap": word.istitle(), "ends": [word[-1]]}} for word in sentence
    ]


ROADS = {
    "attributes": ({}, attributes),
    "columns": ({"template": "U0:%x[-1,0]/%x[0,0]\nU1:%x[0,0]\nB:%x[0,0]\n"}, list),
    "second order": ({"order": 2}, attributes),
    "constraints": ({"constraints": [("N", "N"), (None, "V")]}, attributes),
    "integers": ({}, attributes),
}


@pytest.fixture(scope="module", params=ROADS)
def road(request):
    """A trained estimator, and the function that makes its tokens of words."""
    options, tokens = ROADS[request.param]
    y = [list(map(ord, labels)) for labels in LABELS] if request.param == "integers" else LABELS
    return ChainCRF(l2=0.5, **options).fit([tokens(each) for each in SENTENCES], y), tokens


@given(st.data())
def test_one_sentence_has_the_labels_and_marginals_of_the_corpus_of_it(road, data):
    crf, tokens = road
    sentences = [tokens(each) for each in data.draw(st.lists(st.lists(st.sampled_from(WORDS), max_size=6), max_size=3))]
    corpus = Corpus.encode(sentences, template=crf.template)
    wanted = crf.predict(corpus)
    assert [crf.predict_single(each) for each in sentences] == wanted
    assert [crf.predict_single(iter(each)) for each in sentences] == wanted
    assert crf.predict(sentences) == wanted
    for each, rows in zip(sentences, crf.predict_marginals(corpus), strict=True):
        assert crf.predict_marginals_single(each) == [pytest.approx(row, abs=1e-12) for row in rows]


def test_labels_are_of_the_type_they_were_given_in_and_the_list_is_new(road):
    crf, tokens = road
    first, second = (crf.predict_single(tokens(["cats", "sleep"])) for _ in range(2))
    assert first == second
    assert {type(label) for label in first} == {type(crf.classes_[0])}
    first.clear()
    assert crf.predict_single(tokens(["cats", "sleep"])) == second
    assert crf.predict_single([]) == crf.predict_marginals_single([]) == []


def test_constraints_are_those_that_the_parameter_names_now():
    X, y = [attributes(each) for each in SENTENCES], LABELS
    crf = ChainCRF(l2=0.5).fit(X, y)
    free = crf.predict_single(X[0])
    for constraints in ([("D", "N")], None, [("D", "N")], "none"):
        crf.constraints = constraints
        assert crf.predict_single(X[0]) == crf.predict(Corpus.encode(X[:1]))[0]
        assert (crf.predict_single(X[0]) == free) == (not isinstance(constraints, list))


def test_a_model_that_is_trained_again_takes_the_place_of_the_old_one():
    crf = ChainCRF(l2=0.5).fit([[["a"], ["b"]]], [["A", "C"]])
    assert crf.predict_single([["a"]]) == ["A"]
    crf.fit([[["a"], ["b"]]], [["B", "C"]])
    assert crf.predict_single([["a"]]) == ["B"]


def test_a_sentence_whose_every_labelling_is_forbidden_has_no_labels():
    crf = ChainCRF(l2=0.5).fit([[["a"], ["b"]]], [["A", "B"]])
    crf.constraints = [(None, "A"), (None, "B")]
    assert crf.predict_single([["a"], ["b"]]) == crf.predict(Corpus.encode([[["a"], ["b"]]]))[0] == [None, None]


def test_labelling_leaves_the_estimator_and_its_pickle_as_they_were(road):
    crf, tokens = road
    before, size = dict(vars(crf)), len(pickle.dumps(crf))
    crf.predict_single(tokens(["the"]))
    assert vars(crf) == before
    assert len(pickle.dumps(crf)) == size
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict_single(tokens(["the", "dog"])) == crf.predict_single(tokens(["the", "dog"]))


MISTAKES = {
    "str": ("dog", "sequence"),
    "set": ({"dog"}, "expected a sequence"),
    "number": (5, "expected a sequence"),
    "number as a token": ([["a"], 5], "token 1: a token must be a str, a sequence of str or a dict"),
    "number as a name": ([["a"], [5]], "token 1: an attribute is not a str"),
    "bytes as a key": ([{b"a": 1}], "token 0: an attribute's key is not a str"),
    "not finite": ([{"a": float("nan")}], "token 0: attribute 'a' has the value NaN"),
    "not finite inside": ([{"a": {"b": float("inf")}}], "token 0: attribute 'b' has the value inf"),
    "no value": ([{"a": None}], "token 0: attribute 'a': a value must be a number"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_names_its_token(mistake):
    sentence, message = MISTAKES[mistake]
    crf = ChainCRF(l2=0.5).fit([[["a"], ["b"]]], [["A", "B"]])
    with pytest.raises(DataError, match=message):
        crf.predict_single(sentence)
    with pytest.raises(DataError, match=message):
        crf.predict_marginals_single(sentence)
    with pytest.raises(DataError, match=r"sentence 1") as short:
        crf.predict([[["a"]], sentence])
    with pytest.raises(DataError) as long:
        Corpus.encode([[["a"]], sentence])
    assert str(short.value) == str(long.value)
    # What was read before the mistake is forgotten.
    assert crf.predict_single([["b"]]) == ["B"]


def test_too_few_columns_are_a_mistake():
    crf = ChainCRF(template="U:%x[0,1]\n").fit([[["a", "x"]], [["b", "y"]]], [["A"], ["B"]])
    with pytest.raises(DataError, match="token 0 has 1 of the 2 columns"):
        crf.predict_single([["a"]])
    assert crf.predict_single([["b", "y"]]) == ["B"]


def test_options_are_checked_for_a_short_input_as_well():
    crf = ChainCRF(l2=0.5).fit([[["a"], ["b"]]], [["A", "B"]])
    crf.n_jobs = "many"
    with pytest.raises(OptionError):
        crf.predict([[["a"]]])
    with pytest.raises(Exception, match="not fitted"):
        ChainCRF().predict_single([])


@pytest.mark.parametrize("kind", [tuple, iter])
def test_sentences_may_come_in_any_iterable(kind):
    crf = ChainCRF(l2=1.0).fit([[["a"], ["b"]], [["b"]]], [["x", "y"], ["y"]])
    sentences = [[["b"], ["a"]], [], [["a"]]]
    assert crf.predict(kind(sentences)) == crf.predict(sentences) == [["y", "x"], [], ["x"]]


def test_threads_get_the_labels_of_their_own_sentences():
    text, labels = [attributes(each) for each in SENTENCES], LABELS
    crf = ChainCRF(l2=0.5).fit(text, labels)
    wanted = [crf.predict_single(each) for each in text]
    # So long that other threads run meanwhile.
    long = [each * 6_000 for each in text[:2]]
    found, failed = [], []

    def work(number):
        try:
            for turn in range(200):
                each = (number + turn) % len(text)
                assert crf.predict_single(text[each]) == wanted[each]
            found.append(len(crf.predict_single(long[number % 2])))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=patience(60))
    assert failed == []
    assert sorted(found) == sorted(2 * [len(each) for each in long])
