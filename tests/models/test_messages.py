"""What the estimators say about data: in the words of their users, with the numbers that these know."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse

from loglinear import ChainCRF, Corpus, DataWarning, GraphCRF, MaxEnt, PairwiseMRF, TextClassifier
from loglinear.errors import LogLinearError

# Words and numbers of the layers below the estimators.
INNER = r"objective|gradient|w0|_core|targets|n_features|sentence \d+: token 0|edge \(\d\d|two of the \d+ variables"
PAIR = np.ones((2, 1))
GRAPHS = [(np.ones((3, 1)), [(0, 1), (1, 2)])] * 10
LABELS = [[0, 1, 0]] * 10

BAD = {
    "a sample that is no sample": (MaxEnt(), [["a"], 3], [0, 1], "sample 1 of X: a sample must be"),
    "NaN in a sample": (
        MaxEnt(),
        [{"a": 1.0}, {"a": np.nan}],
        [0, 1],
        "sample 1 of X: attribute 'a' has the value NaN",
    ),
    "a list in a sample": (MaxEnt(), [{"a": [1]}, {"a": 1}], [0, 1], "sample 0 of X: attribute 'a'"),
    "one class": (MaxEnt(), [[1.0], [2.0]], ["x", "x"], "only one class, 'x'"),
    "a dict of columns": (MaxEnt(), {"a": [1.0, 2.0]}, [0, 1], "^X has type dict, which is not a table; give a"),
    "a generator": (MaxEnt(), (row for row in [[1.0], [2.0]]), [0, 1], "^X has type generator, which is not a table"),
    "an array of records": (MaxEnt(), np.zeros(2, [("a", "f8")]), [0, 1], r"^X is an array of records; convert"),
    "a network of records": (PairwiseMRF(), np.zeros(2, [("a", "f8")]), None, r"^X is an array of records; convert"),
    "several labels": (MaxEnt(), [["a"], ["b"]], [(0, 1), (1,)], r"^a class is the tuple \(0, 1\), but a sample has"),
    "sets of labels": (MaxEnt(), [["a"], ["b"]], [{"x"}, {"x", "y"}], "^a class is the set {.*}, but a sample has"),
    "labels of texts": (
        TextClassifier(),
        ["a b", "c d"],
        [("x", "y"), ("x",)],
        "^a class is the tuple .*, but a sample",
    ),
    "texts without order": (TextClassifier(), {"a b", "c d"}, ["x", "y"], "^X is of type set, not a sequence of texts"),
    "classes without order": (
        MaxEnt(),
        [["a"], ["b"]],
        {"x", "y"},
        "^y: expected a sequence, such as a list, not the set",
    ),
    "a text for classes": (MaxEnt(), [["a"], ["b"]], "xy", "^y: expected a sequence, such as a list, not the str 'xy'"),
    "labels of nodes": (
        GraphCRF(),
        GRAPHS,
        [[(0, 1), 1, 0]] * 10,
        r"^graph 0: a label is the tuple \(0, 1\), but a node",
    ),
    "real numbers": (
        GraphCRF(),
        GRAPHS,
        [[0.5, 1.25, 0.5]] * 10,
        r"^the labels are real numbers \(0.5, 1.25\), as in a",
    ),
    "a class too few": (MaxEnt(), [["a"], ["b"]], [0], "y has 1 classes, but X has 2 samples"),
    "NaN in a token": (ChainCRF(), [[["a"]], [{"a": np.nan}]], [["A"], ["B"]], "sentence 1: token 0: attribute 'a'"),
    "a label too few": (ChainCRF(), [["a", "b"]], [["A"]], "sentence 0"),
    "a constant table": (PairwiseMRF(), [[0, 1], [0, 1]], None, "fewer than two columns vary: columns 0, 1 have"),
    "a table of empty rows": (PairwiseMRF(), [[None, None]] * 2, None, "no row has a value"),
    "both directions": (GraphCRF(), [*GRAPHS, (PAIR, [(0, 1), (1, 0)])], [*LABELS, [0, 1]], "graph 10 of X: edge"),
    "a loop": (GraphCRF(), [*GRAPHS, (PAIR, [(0, 0)])], [*LABELS, [0, 1]], r"graph 10 of X: edge \(0, 0\)"),
    "an edge to nowhere": (GraphCRF(), [*GRAPHS, (PAIR, [(0, 9)])], [*LABELS, [0, 1]], "graph 10 of X: edges"),
    "a label of a graph too few": (GraphCRF(), [*GRAPHS, (PAIR, [(0, 1)])], [*LABELS, [0]], "graph 10: labels"),
}


@pytest.mark.parametrize("case", BAD)
def test_data_that_cannot_be_used_are_refused_in_the_words_of_the_user(case):
    estimator, X, y, words = BAD[case]
    with pytest.raises(LogLinearError, match=words) as caught:
        estimator.fit(X, y)
    # The place of a chain's token is what its users know.
    assert isinstance(estimator, ChainCRF) or not re.search(INNER, str(caught.value))


def said(estimator, X, y):
    """Return the messages of the warnings of a training."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(X, y)
    for each in caught:
        assert not re.search("gradient|custom|sentence", str(each.message))
    return [str(each.message) for each in caught if each.category is DataWarning]


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.zeros((20, 2)), np.arange(20) % 2, "every value of X is 0"),
        (np.ones((20, 2)), np.arange(20) % 2, "no column of X varies"),
        (np.ones((300, 2)), np.arange(300) % 2, "no column of X varies"),
        (scipy.sparse.csr_array(np.ones((20, 1)) * [1, 0, 0]), np.arange(20) % 2, "no column of X varies"),
        (scipy.sparse.csr_array((20, 3)), np.arange(20) % 2, "every value of X is 0"),
        (np.random.default_rng(0).random((50, 3)), np.arange(50), "50 classes for 50 samples"),
        (np.random.default_rng(0).random((50, 3)), [f"id{k}" for k in range(50)], "50 classes for 50 samples"),
        ([["1.5", "2"], ["3", "4"]] * 10, [0, 1] * 10, "lists of strings such as '1.5'"),
        ([{"a", "b"}] * 20, [0, 1] * 10, "every sample has the same attributes"),
    ],
)
def test_nonsense_that_can_be_trained_on_warns(X, y, words):
    (message,) = said(MaxEnt(l2=1.0), X, y)
    assert words in message


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.vstack([np.ones((200, 2)), np.zeros((100, 2))]), np.arange(300) % 2),
        (np.random.default_rng(0).random((50, 3)), np.arange(50) % 25),
        ([["1.5", "a"], ["3", "4"]] * 10, [0, 1] * 10),
        ([["1"], ["3"]] * 10, [0, 1] * 10),
        ([["a"], []] * 10, [0, 1] * 10),
        ([{"a": 1.0}, {"a": 2.0}] * 10, [0, 1] * 10),
        ([["1", "2"], ["3"]] * 10, [0, 1] * 10),
        (np.random.default_rng(0).random((3, 2)), ["a", "b", "c"]),
    ],
)
def test_plausible_data_do_not_warn(X, y):
    assert not said(MaxEnt(l2=1.0), X, y)


def svmlight(folder, text):
    (folder / "data.svm").write_text(text)
    return folder / "data.svm"


def test_targets_of_regression_are_refused_from_files_as_from_arrays(tmp_path):
    path = svmlight(tmp_path, "1.5 1:1\n-2.25 2:1\n1.5 1:1\n")
    with pytest.raises(ValueError, match="continuous"):
        MaxEnt().fit([[1.0], [2.0], [1.0]], [1.5, -2.25, 1.5])
    with pytest.raises(ValueError, match=r"real numbers \(-2.25, 1.5\), as in a regression task"):
        MaxEnt().fit(Corpus.read(path))
    whole = MaxEnt(l2=1.0).fit(Corpus.read(svmlight(tmp_path, "1.0 1:1\n-1 2:1\n")))
    assert whole.classes_.tolist() == ["-1", "1.0"]


def test_samples_without_any_value_are_refused_without_advice_that_cannot_help(tmp_path):
    with pytest.raises(LogLinearError, match="no sample has an attribute with a value other than 0"):
        MaxEnt().fit(Corpus.read(svmlight(tmp_path, "1 1:0\n0 2:0\n")))


def test_lists_of_labels_warn_that_they_are_classes(tmp_path):
    path = svmlight(tmp_path, "1,2 1:1\n2 2:1\n1 1:1\n2,3 2:2\n")
    (message,) = said(MaxEnt(l2=1.0), Corpus.read(path), None)
    assert "'1,2' and '2,3'" in message


def test_json_lines_take_whole_numbers_and_truth_values_as_labels(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"tokens": [["a"], ["b"]], "labels": [1, 0]}\n{"tokens": [["b"]], "labels": [[0, 1]]}\n')
    assert Corpus.read(path).gold()[0] == ["1", "0"]
    path.write_text('{"tokens": [["a"], ["b"]], "labels": [true, false]}\n')
    corpus = Corpus.read(path)
    assert corpus.gold() == [["True", "False"]]
    assert sorted(corpus.labels) == sorted(map(str, ChainCRF().fit([[["a"], ["b"]]], [[True, False]]).classes_))
