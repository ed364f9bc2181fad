"""Laws of labels that are not strings: they come back as they were given, through every method and every file."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from loglinear import ChainCRF, ChainObjective, Corpus, DataError, MaxEnt, evaluate
from loglinear.data.labels import typed
from loglinear.models.files.settings import settings_text

X = [[["a"], ["b", "x"], ["a"]], [["b"], ["c"]], [["c", "x"], ["a"], ["b"]], [["c"]]]
Y = [["N", "V", "N"], ["V", "D"], ["D", "N", "V"], ["D"]]
# Every label twice: as a string, and as a value of another type.
VALUES = {"int": {"N": 3, "V": 0, "D": -1}, "bool": {"N": True, "V": False, "D": True}}


def renamed(value_of):
    return [[value_of[label] for label in sentence] for sentence in Y]


@pytest.fixture(params=VALUES)
def values(request):
    return VALUES[request.param]


@pytest.mark.parametrize("order", [1, 2])
def test_integers_train_the_model_of_their_names_and_come_back_as_integers(order):
    value_of = VALUES["int"]
    crf = ChainCRF(order=order).fit(X, renamed(value_of))
    named = ChainCRF(order=order).fit(X, [[str(label) for label in sentence] for sentence in renamed(value_of)])
    assert crf.classes_ == [int(name) for name in named.classes_]
    assert crf.predict(X) == [[int(name) for name in sentence] for sentence in named.predict(X)]
    assert {type(label) for sentence in crf.predict(X) for label in sentence} == {int}
    for ours, other in zip(crf.predict_marginals(X), named.predict_marginals(X), strict=True):
        assert ours == [{int(name): p for name, p in token.items()} for token in other]
    assert crf.state_features_ == {(a, int(name)): w for (a, name), w in named.state_features_.items()}
    for name in ("transition_features_", "triple_features_"):
        found, other = getattr(crf, name), getattr(named, name)
        assert found == {tuple(map(int, labels)): w for labels, w in other.items()}
    np.testing.assert_array_equal(
        crf.log_probability(X, renamed(value_of)),
        named.log_probability(X, [[str(label) for label in sentence] for sentence in renamed(value_of)]),
    )
    assert crf.score(X, renamed(value_of)) == named.score(
        X, [[str(label) for label in sentence] for sentence in renamed(value_of)]
    )


def test_bigram_features_have_the_labels_type():
    crf = ChainCRF(template="U:%x[0,0]\nB:%x[0,0]\n").fit([["a", "b"], ["b", "a"]], [[1, 2], [2, 1]])
    assert crf.bigram_features_
    assert {type(label) for _, *labels in crf.bigram_features_ for label in labels} == {int}


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        np.array,
        lambda row: [np.int64(label) for label in row],
        lambda row: [np.int8(label) for label in row],
        lambda row: np.array(row, dtype=object),
        lambda row: (label for label in row),
    ],
)
def test_arrays_and_other_sequences_are_label_sequences(form):
    expected = ChainCRF().fit(X, renamed(VALUES["int"]))
    crf = ChainCRF().fit(iter(X), (form(row) for row in renamed(VALUES["int"])))
    assert crf.predict(X) == expected.predict(X)
    assert crf.classes_ == expected.classes_
    assert {type(label) for label in crf.classes_} == {int}


@pytest.mark.parametrize("form", [np.array, lambda row: [np.str_(label) for label in row]])
def test_numpy_strings_are_strings(form):
    crf = ChainCRF().fit(X, [form(row) for row in Y])
    assert crf.predict(X) == ChainCRF().fit(X, Y).predict(X)
    assert {type(label) for label in crf.classes_} == {str}
    assert crf.score(X, [form(row) for row in Y]) == crf.score(X, Y)


def test_truth_values_come_back(values):
    crf = ChainCRF().fit(X, renamed(values))
    assert {label for sentence in crf.predict(X) for label in sentence} <= set(values.values())
    assert {type(label) for label in crf.classes_} == {type(values["N"])}
    assert crf.score(X, [np.array(row) for row in renamed(values)]) == crf.score(X, renamed(values))


def test_saving_and_pickling_keep_the_labels_type(values, tmp_path):
    crf = ChainCRF().fit(X, renamed(values))
    crf.save(tmp_path / "m")
    for other in (ChainCRF.load(tmp_path / "m"), pickle.loads(pickle.dumps(crf))):
        assert other.classes_ == crf.classes_
        assert {type(label) for label in other.classes_} == {type(values["N"])}
        assert other.predict(X) == crf.predict(X)
        assert other.predict_marginals(X) == crf.predict_marginals(X)
    assert json.loads(crf.model_.settings)["label_type"] == type(values["N"]).__name__
    assert json.loads(ChainCRF().fit(X, Y).model_.settings)["label_type"] == "str"


def test_names_are_not_copied():
    names = [["3", "0"], ["-1"]]
    assert typed(names, "str") is names
    assert typed(names, "int") == [[3, 0], [-1]]
    assert typed([["True", "False"]], "bool") == [[True, False]]


def test_a_model_file_without_the_setting_has_strings(tmp_path):
    objective = ChainObjective(Corpus.encode(X, renamed(VALUES["int"])))
    objective.model(np.ones(objective.n_features), settings_text("chain", {})).save(str(tmp_path / "m"))
    assert set(ChainCRF.load(tmp_path / "m").classes_) == {"3", "0", "-1"}


def test_a_corpus_remembers_the_labels_type(values):
    corpus = Corpus.encode(X, renamed(values))
    assert corpus.label_type == type(values["N"]).__name__
    assert corpus.gold() == renamed(values)
    assert corpus[[2, 0]].gold() == [renamed(values)[2], renamed(values)[0]]
    assert set(corpus.labels) == set(values.values())
    assert ChainCRF().fit(corpus).predict(corpus) == ChainCRF().fit(X, renamed(values)).predict(X)
    assert MaxEnt().fit(corpus).classes_.tolist() == sorted({*values.values()})


def test_rows_of_a_matrix_have_labels_of_any_type():
    rows = np.random.default_rng(0).normal(size=(6, 2))
    corpus = Corpus.from_matrix(rows, [2, 1, 3], np.array([10, 9, 10, 10, 9, 9]))
    assert corpus.gold() == [[10, 9], [10], [10, 9, 9]]
    assert {type(label) for label in ChainCRF().fit(corpus).classes_} == {int}
    with pytest.raises(DataError, match="2 has type int, but earlier labels have type str"):
        Corpus.from_matrix(rows, [6], ["a", 2, "a", "a", "a", "a"])


def test_evaluation_search_and_development_data_work_with_integers():
    y = renamed(VALUES["int"])
    crf = ChainCRF().fit(X, y, X_dev=X, y_dev=y)
    assert evaluate(y, crf.predict(X)).accuracy == crf.score(X, y)
    search = GridSearchCV(clone(crf), {"l2": [0.1, 1.0]}, cv=KFold(2)).fit(X, y)
    assert {type(label) for sentence in search.predict(X) for label in sentence} == {int}
    trace = ChainCRF(l2=1e-3, tolerance=1e-9).fit(X, y, X_dev=X, y_dev=y).result_.trace
    assert 1.0 in [record.dev["accuracy"] for record in trace if record.dev]


@pytest.mark.parametrize("method", ["score", "log_probability"])
def test_labels_of_another_type_than_the_models_are_refused(method):
    crf = ChainCRF().fit(X, renamed(VALUES["int"]))
    with pytest.raises(DataError, match="the labels have type str, but the model has labels of type int"):
        getattr(crf, method)(X, Y)
    with pytest.raises(DataError, match="the labels have type int, but the model has labels of type str"):
        getattr(ChainCRF().fit(X, Y), method)(X, renamed(VALUES["int"]))
    with pytest.raises(DataError, match="have type str, but the model has labels of type int"):
        ChainCRF().fit(X, renamed(VALUES["int"]), X_dev=X, y_dev=Y)


@pytest.mark.parametrize(
    "y", [[7, 5, 7], np.array([7, 5, 7]), ["p", "q", "p"], np.array(["p", "q", "p"]), [np.str_("p"), "q", "p"]]
)
def test_classes_of_a_classifier_come_back(y, tmp_path):
    samples = [["a"], ["b"], ["a", "c"]]
    classifier = MaxEnt(l2=0.01).fit(samples, y)
    assert classifier.predict(samples).tolist() == list(y)
    classifier.save(tmp_path / "m")
    assert MaxEnt.load(tmp_path / "m").predict(samples).tolist() == list(y)


@pytest.mark.parametrize("form", [list, lambda y: np.array(y, dtype=object)])
def test_classes_of_several_types_are_refused(form):
    samples = [["a"], ["b"], ["a", "c"]]
    with pytest.raises(DataError, match="a class is None"):
        MaxEnt().fit(samples, form([None, "p", "q"]))
    with pytest.raises(DataError, match="have several types: int, str"):
        MaxEnt().fit(samples, form([1, "p", 2]))
