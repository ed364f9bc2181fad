"""What labelled sentences consist of, and what is odd about them."""

from __future__ import annotations

import warnings

import pytest

from loglinear import ChainCRF, Corpus, DataError, DataWarning
from loglinear.data.survey import Survey, check_known

TEMPLATE = "U:%x[0,0]"


def survey(X, y):
    return Survey.of(Corpus.encode(X, y))


def oddities(X, y, **changes):
    return survey(X, y)._replace(**changes).oddities()


def test_a_survey_counts_the_tokens_of_each_label_the_most_frequent_first():
    found = survey([[["a"], ["b"], ["c"]], [["a"]]], [["A", "B", "B"], [None]])
    assert (found.n_sentences, found.n_tokens, found.n_attributes) == (2, 4, 3)
    assert dict(zip(found.labels, found.counts, strict=True)) == {"B": 2, "A": 1}
    assert survey([[["a"], ["b"]]], [[{"A", "B"}, "B"]]).counts == (1, 0)


def test_a_single_label_leaves_nothing_to_learn():
    X, y = [[["a"], ["b"]]] * 2, [["C", None], ["C", "C"]]
    (message,) = oddities(X, y)
    assert message == "the data have a single label, 'C', so there is nothing to learn; check the labels"
    assert "its label in the last column" in oddities(X, y, format="columns", is_repetitive=False)[0]
    assert survey(X, [["C", "D"]] * 2).nothing_to_learn is None


@pytest.mark.parametrize(
    ("X", "changes", "expected"),
    [
        (
            [[["a"], ["b"], ["a"]]],
            {"format": "columns"},
            "all 3 tokens are in one sentence; put a blank line after each",
        ),
        ([[["a"], ["b"]] * 51], {}, "all 102 tokens are in one sentence; X is a list of sentences"),
        ([[["a"], ["b"]]], {}, None),
        ([[["a"], ["b"]]] * 10, {}, "all 10 sentences have the same attributes"),
        ([[["a"], ["b"]]] * 2, {"format": "columns"}, "all 2 sentences have the same attributes"),
        ([[["a"], ["b"]]] * 9, {}, None),
        ([[["a"], ["b"]]] * 9 + [[["b"], ["a"]]], {}, None),
        ([[["a"], ["b"]]] * 9 + [[["a"], ["b"], ["a"]]], {}, None),
        ([[[], []]], {}, "no token has an attribute"),
    ],
)
def test_what_teaches_little_is_named(X, changes, expected):
    messages = oddities(X, [(["A", "B"] * len(each))[: len(each)] for each in X], **changes)
    assert len(messages) == (expected is not None), messages
    assert all(message.startswith(expected) for message in messages)


def test_sentences_whose_values_differ_are_not_the_same():
    X = [[{"length": float(number)}, {"length": 1.0}] for number in range(10)]
    assert oddities(X, [["A", "B"]] * 10) == []


@pytest.mark.parametrize(("rare", "is_odd"), [(2, False), (3, True)])
def test_labels_of_which_a_third_occur_once_are_named(rare, is_odd):
    labels = [f"L{number}" for number in range(8)]
    y = [labels, labels[rare:]]
    messages = oddities([[[label] for label in each] for each in y], y)
    assert len(messages) == is_odd
    if is_odd:
        assert messages[0].startswith("3 of 8 labels occur only once, such as L0, L1, L2; check the labels")


def test_a_file_whose_labels_all_occur_once_is_odd():
    X, y = [[["a"], ["b"]], [["c"]]], [["A", "B"], ["C"]]
    assert oddities(X, y) == []
    (message,) = oddities(X, y, format="columns")
    assert message.startswith("3 of 3 labels occur only once, such as A, B, C")


def test_a_chain_warns_of_the_oddities_of_its_data():
    with pytest.warns(DataWarning, match="a single label, 'A'"):
        ChainCRF().fit([[["a"], ["b"]], [["b"]]], [["A", "A"], ["A"]])
    with pytest.warns(DataWarning, match="no feature tells the labels apart"):
        ChainCRF(all_states=True, all_transitions=True).fit([[["a"]], [["a"]]], [["A"], ["B"]])


def test_a_single_label_is_told_where_labels_are_unknown():
    with pytest.warns(DataWarning) as caught:
        ChainCRF().fit([[["a"], ["b"]], [["b"], ["a"]]], [[None, "C"], ["C", None]])
    assert [str(each.message) for each in caught] == [
        "the data have a single label, 'C', so there is nothing to learn; check the labels"
    ]


KNOWN = ["B-X", "O"]


def test_gold_labels_of_which_a_model_knows_none_are_an_error():
    X, y = [["a", "b"], ["c"]], [["NN", "DT"], ["NN"]]
    corpus = Corpus.encode(X, y, template=TEMPLATE)
    with pytest.raises(
        DataError, match="test file: the model knows none of the labels NN, DT; its labels are B-X, O; ch"
    ):
        check_known(corpus, KNOWN, "test file")
    crf = ChainCRF(template=TEMPLATE).fit(X, [["B-X", "O"], ["O"]])
    for scored in (crf.score, crf.report):
        with pytest.raises(DataError, match="the model knows none of the labels NN, DT"):
            scored(X, y)
    with pytest.raises(DataError, match="X_dev: the model knows none of the labels NN, DT"):
        ChainCRF(template=TEMPLATE).fit(X, [["B-X", "O"], ["O"]], X_dev=X, y_dev=y)


def test_long_labels_are_shortened_in_messages():
    corpus = Corpus.encode([["a"]], [["x" * 50]], template=TEMPLATE)
    with pytest.raises(DataError, match=f"knows none of the labels {'x' * 39}…; its labels are B-X, O;"):
        check_known(corpus, KNOWN, "dev")


def test_many_tokens_with_labels_that_a_model_does_not_know_are_a_warning():
    corpus = Corpus.encode([["a"] * 10], [["O"] * 9 + ["NN"]], template=TEMPLATE)
    message = "dev: 10 % of the tokens have labels that the model does not know and count as errors: NN"
    with pytest.warns(DataWarning, match=message):
        check_known(corpus, KNOWN, "dev")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_known(corpus, KNOWN, "dev", least=0.2)
        check_known(corpus, [*KNOWN, "NN"], "dev", least=0.0)


def test_code_without_a_module_is_warned_as_well():
    code = "from loglinear import ChainCRF\nChainCRF().fit([[['a'], ['b']]], [['A', 'A']])"
    with pytest.warns(DataWarning, match="a single label, 'A'") as caught:
        exec(code, {})
    assert (caught[0].filename, caught[0].lineno) == ("<string>", 2)


def test_many_labels_that_differ_only_in_case_are_one_message():
    pairs = [label for name in ("van", "den", "het", "een", "dat", "die") for label in [name] * 10 + [name.title()] * 2]
    message = "6 pairs of labels differ only in case, such as 'van' and 'Van', 'den' and 'Den'; write them alike"
    (said,) = [text for text in oddities([[["a"]], [["b"]]] * 36, [[label] for label in pairs]) if "in case" in text]
    assert said.startswith("6 pairs of labels differ only in case, such as '")
    assert len(said) == len(message)
    words = [[name] for letter in "abcdefg" for name in (letter * 3, letter.upper() + letter * 2)]
    (said,) = oddities([[["a"]], [["b"]]] * 7, words)
    assert "14 of 14 labels occur only once" in said


@pytest.mark.parametrize(
    ("format", "said"),
    [
        ("columns", "a blank line after each sentence"),
        ("jsonl", "each sentence on a separate line"),
        ("doccano", "each line of a text is a sentence"),
        ("spacy", "add more docs"),
        ("spacy:tags", "add more docs"),
    ],
)
def test_the_remedy_for_a_single_sentence_fits_the_format(format, said):
    (message,) = Survey(format, 1, 4, 4, ("A", "B"), (2, 2)).oddities()
    assert said in message
