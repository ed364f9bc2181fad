"""`CRF` and its companions: parameters, attributes, pickles, scikit-learn's tools, sklearn-crfsuite's habits."""

from __future__ import annotations

import gc
import inspect
import os
import pickle
import re

import numpy as np
import pycrfsuite as peer
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from loglinear.compat import pycrfsuite
from loglinear.compat.sklearn_crfsuite import CRF, metrics, scorers
from loglinear.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer

X = [
    [{"walk": 1, "shop": 0.5}, {"walk": 1}, {"walk": 1, "clean": 0.5}, {"shop": 0.5, "clean": 0.5}, {}],
    [{"clean": 1}, {"clean": 1, "shop": 0.1}, {"солнце": "не светит".encode(), "clean": 1}],
    [{"walk": 1, "shop": 0.5}, {"clean": 1}],
]
Y = [["sunny", "sunny", "sunny", "rainy", "rainy"], ["rainy", "rainy", "rainy"], ["sunny", "rainy"]]
ALGORITHMS = ["lbfgs", "l2sgd", "pa", "arow"]


@pytest.fixture(scope="module")
def crf():
    return CRF(c1=0.05, c2=0.05).fit(X, Y)


def test_parameters_are_sklearn_crfsuites():
    names = list(inspect.signature(CRF).parameters)
    assert names[:8] == [
        *("algorithm", "min_freq", "all_possible_states", "all_possible_transitions"),
        *("c1", "c2", "max_iterations", "num_memories"),
    ]
    assert len(names) == 28
    assert all(value in (None, False) for value in CRF().get_params().values())


def test_every_parameter_reaches_the_trainer():
    seen = {}

    class Looking(pycrfsuite.Trainer):
        def train(self, model, holdout=-1):
            seen.update(self.get_params())

    lbfgs = {"c1": 0.5, "c2": 0.25, "max_iterations": 3, "num_memories": 4, "epsilon": 0.5, "period": 5, "delta": 0.75}
    features = {"min_freq": 2.0, "all_possible_states": True, "all_possible_transitions": True}
    CRF("lbfgs", **lbfgs, **features, linesearch="Backtracking", max_linesearch=7, trainer_cls=Looking).fit(X, Y)
    assert {name: seen[name] for name in lbfgs} == lbfgs
    assert [seen[f"feature.{name}"] for name in ("minfreq", "possible_states", "possible_transitions")] == [2.0, 1, 1]
    assert (seen["linesearch"], seen["max_linesearch"]) == ("Backtracking", 7)
    names = ("eta", "rate", "samples", "candidates", "max_trials")
    CRF("l2sgd", **{f"calibration_{name}": 3 for name in names}, trainer_cls=Looking).fit(X, Y)
    assert [seen[f"calibration.{name}"] for name in names] == [3] * 5
    CRF("pa", pa_type=2, c=3.0, error_sensitive=False, averaging=False, trainer_cls=Looking).fit(X, Y)
    assert [seen[name] for name in ("type", "c", "error_sensitive", "averaging")] == [2, 3.0, False, False]
    CRF("arow", variance=2.0, gamma=3.0, trainer_cls=Looking).fit(X, Y)
    assert (seen["variance"], seen["gamma"]) == (2.0, 3.0)


def test_a_parameter_of_another_algorithm_is_a_value_error():
    with pytest.raises(ValueError, match="Parameter not found: gamma"):
        CRF("lbfgs", gamma=1.0).fit(X, Y)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_predictions_are_the_labels(algorithm):
    crf = CRF(algorithm).fit(X, Y)
    assert crf.predict(X) == Y
    assert crf.predict_single(X[0]) == Y[0]
    assert crf.score(X, Y) == 1.0


def test_predictions_are_lists_and_compare_as_arrays(crf):
    found = crf.predict(X)
    assert type(found[0]) is list
    assert (found == Y).all()
    assert not found != Y
    assert not (found == Y[:2]).any()
    assert (crf.predict(X[:1]) == Y[0]).all()
    array = np.array(found)
    assert (array.shape, array.dtype, array[1]) == ((3,), object, Y[1])


def test_predictions_of_many_sequences_are_those_of_each(crf):
    few = [*X, pycrfsuite.ItemSequence(X[0]), []]
    many = few * 400
    assert crf.predict(many) == [crf.predict_single(x) for x in few] * 400
    assert crf.predict(iter(many[:-1])) == [crf.predict_single(x) for x in few * 400][:-1]
    crf.tagger_.set(X[1])
    crf.predict([X[1], X[0]])
    assert crf.tagger_.tag() == crf.predict_single(X[0])
    assert crf.predict([]) == []
    with pytest.raises(TypeError, match=f"sentence {len(many)}"):
        crf.predict([*many, [5]])


def test_marginals_are_python_crfsuites(crf):
    tagger = peer.Tagger()
    tagger.open(crf.modelfile.name)
    for x, rows in zip(X, crf.predict_marginals(X), strict=True):
        tagger.set(x)
        assert rows == crf.predict_marginals_single(x)
        assert len(rows) == len(x)
        for at, row in enumerate(rows):
            assert row == pytest.approx({label: tagger.marginal(label, at) for label in tagger.labels()}, abs=1e-9)


def test_attributes_are_none_before_fit():
    crf = CRF()
    names = (
        "tagger_",
        "classes_",
        "size_",
        "num_attributes_",
        "attributes_",
        "state_features_",
        "transition_features_",
    )
    assert [getattr(crf, name) for name in names] == [None] * 7
    assert crf.training_log_ is None
    for call in (crf.predict, crf.predict_marginals):
        with pytest.raises(NotFittedError, match="call fit"):
            call(X)


def test_attributes_are_those_of_the_file(crf):
    info = peer.Tagger()
    info.open(crf.modelfile.name)
    info = info.info()
    assert crf.classes_ == ["sunny", "rainy"]
    assert crf.size_ == os.path.getsize(crf.modelfile.name)
    assert crf.num_attributes_ == len(crf.attributes_) == len(info.attributes)
    assert crf.attributes_ == sorted(info.attributes, key=lambda name: int(info.attributes[name]))
    assert crf.state_features_ == info.state_features
    assert crf.transition_features_ == info.transitions
    assert crf.training_log_.last_iteration["loss"] > 0
    assert isinstance(crf.tagger_, pycrfsuite.Tagger)


def test_weights_are_explained(crf):
    text = crf.explain_weights(top=2)
    assert text.splitlines()[0] == "transitions"
    assert "label rainy" in text
    assert max(map(len, text.split("label ")[1:])) < 200


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pickle_has_the_model(algorithm):
    crf = CRF(algorithm).fit(X, Y)
    name = crf.modelfile.name
    data = pickle.dumps(crf)
    del crf
    gc.collect()
    assert not os.path.exists(name)
    copy = pickle.loads(data)
    assert copy.predict(X) == Y
    assert copy.algorithm == algorithm
    assert os.path.exists(copy.modelfile.name)
    copy.modelfile.cleanup()
    assert copy.modelfile.name is None


def test_a_named_file_stays_and_is_opened_without_fit(tmp_path):
    path = str(tmp_path / "model.crfsuite")
    crf = CRF(model_filename=path, c2=0.01).fit(X, Y)
    assert crf.modelfile.name == path
    data = pickle.dumps(crf)
    crf.modelfile.cleanup()
    del crf
    gc.collect()
    for other in (CRF(model_filename=path), pickle.loads(data)):
        assert other.score(X, Y) == 1.0
    tagger = peer.Tagger()
    tagger.open(path)
    assert tagger.tag(X[0]) == Y[0]


def test_temporary_files_stay_if_asked_for():
    crf = CRF(keep_tempfiles=True, max_iterations=1).fit(X, Y)
    name = crf.modelfile.name
    del crf
    gc.collect()
    assert os.path.exists(name)
    os.unlink(name)


def test_fitting_again_replaces_the_model():
    crf = CRF(c2=0.01).fit(X, Y)
    first, known = crf.modelfile.name, crf.classes_
    crf.fit([[["a"], ["b"]]], [["A", "B"]])
    assert (known, crf.classes_) == (["sunny", "rainy"], ["A", "B"])
    assert not os.path.exists(first)
    assert list(crf.attributes_) == ["a", "b"]


def test_a_clone_has_the_parameters_and_no_model(crf):
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    assert copy.tagger_ is None
    assert clone(CRF().set_params(c1=0.5)).c1 == 0.5


def test_a_subclass_is_a_crf():
    class Own(CRF):
        def __init__(self, factor=2.0, c1=None):
            super().__init__(c1=c1, c2=0.01, max_iterations=20)
            self.factor = factor

    own = clone(Own(factor=3.0)).fit(X, Y)
    assert isinstance(own, CRF)
    assert (own.factor, own.c2, own.score(X, Y)) == (3.0, 0.01, 1.0)


def test_searches_and_cross_validation_work():
    many = X * 4, Y * 4
    assert cross_val_score(CRF(c2=0.01), *many, cv=3, scoring=scorers.sequence_accuracy).mean() == 1.0
    scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=["sunny", "rainy"])
    search = GridSearchCV(CRF(), {"c2": [0.01, 100.0]}, cv=2, scoring=scorer).fit(*many)
    assert search.best_params_ == {"c2": 0.01}
    assert list(cross_val_predict(CRF(c2=0.01), *many, cv=2)) == many[1]


def test_development_data_are_a_holdout_group():
    crf = CRF(max_iterations=2).fit(X[:2], Y[:2], X_dev=X[2:], y_dev=[["sunny", "cloudy"]])
    last = crf.training_log_.last_iteration
    assert last["item_accuracy"].denominator in (1, 2)
    # CRFsuite's dictionary of labels is that of all data.
    assert crf.classes_ == ["sunny", "rainy", "cloudy"]
    assert set(last["scores"]) == set(crf.classes_)


@pytest.mark.parametrize("given", [{"X_dev": X}, {"y_dev": Y}])
def test_half_of_development_data_is_an_error(given):
    with pytest.raises(ValueError, match="X_dev and y_dev"):
        CRF().fit(X, Y, **given)


def test_lines_and_table(capsys):
    crf = CRF(verbose=True, max_iterations=2).fit(X[:2], Y[:2], X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:7] for line in lines if line.startswith("Iter")] == ["Iter 1 ", "Iter 2 "]
    assert "Acc(item/seq)=" in next(line for line in lines if line.startswith("Iter"))
    table = lines[lines.index(next(line for line in lines if line.startswith("Label"))) :]
    assert [line.split()[0] for line in table[2:4]] == ["rainy", "sunny"]
    assert table[2].split()[-1] == "6"
    assert isinstance(crf.training_log_, type(LinePerIterationTrainer().logparser or crf.training_log_))


@pytest.mark.parametrize("algorithm", ["lbfgs", "l2sgd", "ap", "pa", "arow"])
@pytest.mark.parametrize("dev", [False, True])
def test_lines_and_table_have_the_numbers_of_the_log_and_no_others(capsys, algorithm, dev):
    given = {"X_dev": X, "y_dev": [*Y[:2], ["sunny", "cloudy"]]} if dev else {}
    log = CRF(algorithm, verbose=True, max_iterations=3).fit(X[:2], Y[:2], **given).training_log_
    printed = capsys.readouterr().out.splitlines()
    shown = {"loss": "8.2f", "active_features": "5", "avg_precision": "0.3f", "avg_recall": "0.3f", "avg_f1": "0.3f",
             "item_accuracy_float": "0.3f", "instance_accuracy_float": "0.3f", "feature_norm": "8.2f"}  # fmt: skip
    lines = [line for line in printed if line.startswith("Iter")]
    for line, info in zip(lines, log.iterations, strict=True):
        numbers = re.findall(r"(?<![\w.])-?[\d.]+", line.replace("=", " "))
        expected = [info["num"], f"{info['time']:.2f}", *(format(info[n], shown[n]) for n in shown if n in info)]
        assert numbers == [str(number).strip() for number in expected], line
        assert ("avg_f1" in info) == dev
    heads = [at for at, line in enumerate(printed) if line.startswith("Label")]
    assert len(heads) == dev
    for line in printed[heads[0] + 2 : heads[0] + 5] if dev else ():
        label, *numbers = line.split()
        score = log.last_iteration["scores"][label]
        of_label = [f"{value:0.3f}" for value in score[3:] if value is not None]
        assert numbers == [*of_label, str(score.ref)]
    assert not dev or [line.split()[0] for line in printed[heads[0] + 2 : heads[0] + 5]] == ["cloudy", "rainy", "sunny"]
    assert not dev or len({len(line) for line in printed[heads[0] : heads[0] + 5]}) == 1


def test_scores():
    truth, guess = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert metrics.flat_accuracy_score(truth, guess) == 3 / 5
    for score in (metrics.flat_precision_score, metrics.flat_recall_score):
        assert score(truth, guess, average="micro") == 3 / 5
    assert metrics.flat_f1_score(truth, guess, average="macro") == pytest.approx(2 / 3)
    assert metrics.flat_fbeta_score(truth, guess, 1, average="macro") == pytest.approx(2 / 3)
    assert "weighted avg" in metrics.flat_classification_report(truth, guess, labels=["x", "y"], digits=3)
    assert metrics.sequence_accuracy_score(truth, guess) == 0
    assert metrics.sequence_accuracy_score([], []) == 0
    assert metrics.sequence_accuracy_score([[1, 2], [3], [4, 5], [6]], [[1, 2], [4], [5, 4], [6]]) == 2 / 4
