"""Laws of the estimators in scikit-learn's hands: splitters, scorers, joined predictions, routed weights."""

from __future__ import annotations

import json
import math
import pickle
import random
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._metadata_requests import SIMPLE_METHODS

from loglinear import (
    ChainCRF,
    ClassifierObjective,
    Corpus,
    DataError,
    DataWarning,
    GraphCRF,
    MaxEnt,
    OptionError,
    TextClassifier,
    evaluate,
)
from loglinear.compat.sklearn_crfsuite import CRF
from loglinear.metrics import chunk_f1_scorer

draw = random.Random(3)
X = [[[f"w={draw.choice('abcdef')}"] for _ in range(draw.randint(1, 6))] for _ in range(30)]
Y = [[draw.choice(["B-X", "I-X", "O"]) if draw.random() < 0.3 else "O" for _ in sentence] for sentence in X]
CORPUS = Corpus.encode(X, Y)
GROUP_OF = [at % 4 for at in range(len(X))]
WEIGHTS = np.linspace(0.1, 3.0, len(X)).tolist()
# Splitter and groups.
SPLITTERS = {
    "KFold": (KFold(3), None),
    "GroupKFold": (GroupKFold(3), GROUP_OF),
    "ShuffleSplit": (ShuffleSplit(2, random_state=0), None),
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("scoring", [None, chunk_f1_scorer])
def test_a_corpus_is_split_and_scored_as_the_lists_are(name, scoring):
    cv, groups = SPLITTERS[name]
    given = {"cv": cv, "groups": groups, "scoring": scoring, "error_score": "raise"}
    of_lists = cross_val_score(ChainCRF(), X, Y, **given)
    np.testing.assert_array_equal(cross_val_score(ChainCRF(), CORPUS, **given), of_lists)
    search = {"param_grid": {"l2": [0.01, 1.0]}, "cv": cv, "scoring": scoring, "error_score": "raise"}
    found = [GridSearchCV(ChainCRF(), **search).fit(*data, groups=groups) for data in ((X, Y), (CORPUS,))]
    assert found[0].best_score_ == found[1].best_score_


def test_a_corpus_is_split_into_training_and_test_data():
    train, test = train_test_split(CORPUS, test_size=0.3, random_state=0)
    _, _, _, gold = train_test_split(X, Y, test_size=0.3, random_state=0)
    assert (len(train), test.gold()) == (21, gold)


@pytest.mark.parametrize("data", [(X, Y), (CORPUS,)], ids=["lists", "corpus"])
@pytest.mark.parametrize("name", ["KFold", "GroupKFold"])
def test_cross_val_predict_gives_the_labels_of_each_sentence(data, name):
    cv, groups = SPLITTERS[name]
    found = cross_val_predict(ChainCRF(), *data, cv=cv, groups=groups)
    expected = [None] * len(X)
    for train, test in cv.split(X, groups=groups):
        crf = ChainCRF().fit([X[at] for at in train], [Y[at] for at in train])
        for at, labels in zip(test, crf.predict([X[at] for at in test]), strict=True):
            expected[at] = labels
    assert found.tolist() == expected


def test_cross_val_predict_gives_lists_where_all_sentences_have_one_length():
    sentences, labels = [[["a"], ["b"]]] * 6, [[1, 2]] * 6
    found = cross_val_predict(ChainCRF(), sentences, labels, cv=3)
    assert (found.shape, found.tolist()) == ((6,), labels)


@pytest.mark.parametrize("method", ["predict_marginals", "tag"])
@pytest.mark.parametrize(
    "data", [(X, Y), (CORPUS,), ([[["a"], ["b"]]] * 6, [["A", "B"]] * 6)], ids=["lists", "corpus", "one length"]
)
@pytest.mark.parametrize("kind", [ChainCRF, CRF])
def test_cross_val_predict_joins_the_probabilities_of_each_fold(kind, data, method):
    if kind is CRF and (method == "tag" or data == (CORPUS,)):
        pytest.skip("not in sklearn-crfsuite's interface")
    with sklearn.config_context(skip_parameter_validation=True):
        joined = cross_val_predict(kind(), *data, cv=KFold(3), method=method)

    def chosen(items, at):
        return items[at] if items is CORPUS else [items[each] for each in at]

    expected = []
    for train, test in KFold(3).split(data[0]):
        crf = kind().fit(*(chosen(items, train) for items in data))
        expected += getattr(crf, method)(chosen(data[0], test))
    assert (joined.shape, joined.tolist()) == ((len(data[0]),), expected)


def test_a_chain_has_no_predict_proba_and_names_what_to_use():
    crf = ChainCRF().fit(X, Y)
    assert not hasattr(crf, "predict_proba")
    words = r"ChainCRF has no predict_proba: .*; use predict_marginals \(a dict .* or marginals \(an array"
    with pytest.raises(AttributeError, match=words):
        crf.predict_proba(X)
    with pytest.raises(AttributeError, match=words):
        cross_val_predict(ChainCRF(), CORPUS, cv=KFold(3), method="predict_proba")


def test_predictions_are_lists():
    predicted = ChainCRF().fit(X, Y).predict(X)
    assert isinstance(predicted, list)
    assert json.loads(json.dumps(predicted)) == pickle.loads(pickle.dumps(predicted)) == predicted
    assert np.array(predicted).shape == (len(X),)


@pytest.mark.parametrize("data", [(X, Y), (CORPUS,)], ids=["lists", "corpus"])
def test_metrics_of_score_are_those_of_evaluate(data):
    crf = ChainCRF().fit(X, Y)
    scores = evaluate(Y, crf.predict(X))
    assert crf.score(*data) == crf.score(*data, metric="accuracy") == scores.accuracy
    assert crf.score(*data, metric="sentence_accuracy") == scores.sentence_accuracy
    assert crf.score(*data, metric="f1") == chunk_f1_scorer(crf, *data) == scores.f1
    for name in ("precision", "recall"):
        assert crf.score(*data, metric=name) == getattr(scores, name)
    weighted = sum(w for w, true, guess in zip(WEIGHTS, Y, crf.predict(X), strict=True) if true == guess) / sum(WEIGHTS)
    assert crf.score(*data, sample_weight=WEIGHTS, metric="sentence_accuracy") == pytest.approx(weighted)
    with pytest.raises(
        OptionError, match="metric='f2' is not one of accuracy, sentence_accuracy, precision, recall, f1"
    ):
        crf.score(*data, metric="f2")
    with pytest.raises(OptionError, match="does not support sample_weight"):
        crf.score(*data, sample_weight=WEIGHTS, metric="f1")
    tags = [["NN", *["VB"] * (len(each) - 1)] for each in X]
    with pytest.raises(DataError, match="needs tags such as B-PER"):
        ChainCRF().fit(X, tags).score(X, tags, metric="f1")


def test_scikit_learns_own_metrics_refuse_sequences_before_they_ask_the_estimator():
    with pytest.raises(ValueError, match="Sequence of sequences are no longer supported"):
        cross_val_score(ChainCRF(), X, Y, scoring="f1", error_score="raise")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("form", ["plain", "pipeline", "search"])
@pytest.mark.parametrize("kind", ["chain", "classifier"])
def test_sample_weights_are_routed_to_training_and_scoring(routing, kind, form):
    numbers = np.random.default_rng(0)
    data = (X, Y) if kind == "chain" else (numbers.normal(size=(30, 3)), numbers.integers(0, 2, 30))
    bare = ChainCRF if kind == "chain" else MaxEnt
    asked = bare().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    cv = KFold(3)
    if form == "search":
        asked = GridSearchCV(asked, {"l2": [1.0]}, cv=cv, error_score="raise").fit(*data, sample_weight=WEIGHTS)
        found = [asked.cv_results_[f"split{at}_test_score"][0] for at in range(3)]
    else:
        estimator = make_pipeline(asked) if form == "pipeline" else asked
        params = {"sample_weight": WEIGHTS}
        found = cross_validate(estimator, *data, cv=cv, params=params, error_score="raise")["test_score"]

    def chosen(items, at):
        return items[at] if isinstance(items, np.ndarray) else [items[each] for each in at]

    expected = []
    for train, test in cv.split(data[0]):
        fitted = bare().fit(*(chosen(each, train) for each in data), sample_weight=chosen(WEIGHTS, train))
        expected.append(fitted.score(*(chosen(each, test) for each in data), sample_weight=chosen(WEIGHTS, test)))
    np.testing.assert_allclose(found, expected)


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("kind", [ChainCRF, MaxEnt])
def test_every_method_that_takes_metadata_has_a_request(routing, kind):
    requests = kind().get_metadata_routing()
    taking = {name for name in SIMPLE_METHODS if getattr(requests, name).requests}
    assert {"fit", "partial_fit", "score"} <= taking
    for name in taking:
        estimator = getattr(kind(), f"set_{name}_request")(**dict.fromkeys(getattr(requests, name).requests, True))
        assert all(getattr(estimator.get_metadata_routing(), name).requests.values())


def test_set_output_is_for_transformers_in_the_same_pipeline():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.random.default_rng(0).normal(size=(20, 2)), columns=["p", "q"])
    pipeline = make_pipeline(StandardScaler(), MaxEnt()).set_output(transform="pandas")
    pipeline.fit(frame, [0, 1] * 10)
    assert pipeline[-1].feature_names_in_.tolist() == ["p", "q"]
    assert not hasattr(ChainCRF(), "set_output")


TRANSLATED = [
    (ChainCRF, {"c1": 0.1, "c2": 0.05}, "'c1', 'c2'; use l1=0.1 for c1=0.1; use l2=0.1 for c2=0.05$"),
    (ChainCRF, {"c1": 0.1}, r"use l1=0.1 for c1=0.1; use l2=2 for c2=1 \(CRFsuite's default\)$"),
    (ChainCRF, {"algorithm": "l2sgd"}, "use solver='sag' for algorithm='l2sgd'$"),
    (ChainCRF, {"algorithm": "arow"}, r"leave out algorithm='arow' \(not a method of loglinear\)$"),
    (ChainCRF, {"all_possible_states": True}, "use all_states=True for all_possible_states=True$"),
    (ChainCRF, {"all_possible_transitions": True}, "use all_transitions=True for all_possible_transitions=True$"),
    (
        ChainCRF,
        {"num_memories": 3, "delta": 1e-5},
        "use solver_options={'memory': 3} for num_memories=3; use tolerance=1e-06 for delta=1e-05$",
    ),
    (ChainCRF, {"delta": 1e-5, "period": 0}, "use tolerance='delta / period' for delta=1e-05; leave out period=0"),
    (ChainCRF, {"delta": 1e-5, "period": 1}, "use tolerance=1e-05 for delta=1e-05; leave out period=1 "),
    (ChainCRF, {"delta": "small"}, "use tolerance='delta / period' for delta='small'$"),
    (ChainCRF, {"c2": True}, "use l2='2 \\* c2' for c2=True$"),
    (ChainCRF, {"min_freq": 2}, r"use min_count=2 for min_freq=2 \(it counts the tokens of an attribute, "),
    (ChainCRF, {"c1": 0.0}, "use l1=0.0 for c1=0.0$"),
    (ChainCRF, {"C": 10}, "argument 'C'$"),
    (GraphCRF, {"c2": 1}, "use l2=2.0 for c2=1$"),
    (MaxEnt, {"C": 10}, "use l2=0.1 for C=10$"),
    (MaxEnt, {"C": 0.5}, "use l2=2.0 for C=0.5$"),
    (MaxEnt, {"C": 0}, r"leave out C=0 \(C is above 0; l2 is 1 / C, so a large l2 is a strong penalty\)$"),
    (MaxEnt, {"l1_ratio": 1.0}, r"use l1=1.0 for l1_ratio=1.0 \(for C=1, scikit-learn's default\)$"),
    (MaxEnt, {"l1_ratio": 1.0, "C": 2.0}, "use l1=0.5 for C=2.0, l1_ratio=1.0$"),
    (MaxEnt, {"C": math.inf}, "use l2=0.0 for C=inf$"),
    (MaxEnt, {"Cs": 10, "cv": 5}, r"use l1='cv' for Cs=10, cv=5 \(5 folds; fit\(groups=\)"),
    (MaxEnt, {"scoring": "accuracy"}, "use l1='cv' for scoring='accuracy' "),
    (MaxEnt, {"n_splits": 5}, "use l1='cv' for n_splits=5 "),
    (MaxEnt, {"alpha": 0.5}, r"use l1='n \* lambda \* alpha', l2='n \* lambda \* \(1 - alpha\)' for alpha=0.5 "),
    (MaxEnt, {"warm_start": True}, r"leave out warm_start=True \(fit\(X, y, start=model\) is a warm start\)$"),
    (MaxEnt, {"coef_init": 1}, r"leave out coef_init=1 \(fit\(X, y, start=model\)"),
    (MaxEnt, {"intercept_scaling": 2}, r"leave out intercept_scaling=2 \(the intercept is not penalised\)$"),
    (MaxEnt, {"sample_weights": [1]}, r"leave out sample_weights=\[1\] \(give it to fit\(X, y, sample_weight=...\)\)$"),
    (MaxEnt, {"fit_intercepts": True}, r"argument 'fit_intercepts' \(did you mean fit_intercept\?\)$"),
    (MaxEnt, {"min_df": 2}, "argument 'min_df'$"),
    (TextClassifier, {"ngram_range": (1, 2)}, "use ngrams='1-2' for ngram_range=\\(1, 2\\)$"),
    (TextClassifier, {"ngram_range": (2, 2)}, "use ngrams='2' for ngram_range="),
    (
        TextClassifier,
        {"analyzer": "char_wb", "ngram_range": (2, 4)},
        "use words='characters:2-4' for analyzer='char_wb'; leave out ngram_range=",
    ),
    (TextClassifier, {"min_df": 2}, "use min_count=2 for min_df=2$"),
    (TextClassifier, {"min_df": 0.1}, r"leave out min_df=0.1 \(min_count is a number of texts\)$"),
    (TextClassifier, {"stop_words": "english"}, "leave out stop_words='english' "),
    (TextClassifier, {"lowercase": True, "max_features": 9}, "leave out lowercase=True .*; leave out max_features=9 "),
    (TextClassifier, {"sublinear_tf": True}, "use tfidf=True for sublinear_tf=True$"),
    (MaxEnt, {"C": "10"}, "use l2='1 / C' for C='10'$"),
    (MaxEnt, {"C": 10, "penalty": "l1"}, "use l1=0.1 for C=10, penalty='l1'$"),
    (
        MaxEnt,
        {"C": 2, "penalty": "elasticnet", "l1_ratio": 0.25},
        "use l1=0.125, l2=0.375 for C=2, penalty='elasticnet', l1_ratio=0.25$",
    ),
    (MaxEnt, {"penalty": None}, "use l2=0.0 for penalty=None$"),
    (MaxEnt, {"dual": True}, "use solver='dual_cd', fit_intercept=False for dual=True$"),
    (MaxEnt, {"dual": False}, "argument 'dual'$"),
    (MaxEnt, {"tol": 1e-3}, r"use tolerance=0.001 for tol=0.001 \(the relative decrease of the objective\)$"),
    (MaxEnt, {"max_iter": 50}, "use max_iterations=50 for max_iter=50$"),
    (MaxEnt, {"all_possible_states": True}, "argument 'all_possible_states'$"),
]


@pytest.mark.parametrize(("kind", "given", "words"), TRANSLATED)
def test_parameters_of_other_programs_are_translated(kind, given, words):
    with pytest.raises(TypeError, match=words):
        kind(**given)


def test_parameters_of_other_programs_are_translated_in_a_search():
    with pytest.raises(OptionError, match=r"ChainCRF has no parameter 'c2'; use l2=1\.0 for c2=0\.5"):
        GridSearchCV(ChainCRF(), {"c2": [0.5]}, cv=2).fit(X, Y)
    with pytest.raises(OptionError, match="has no parameter 'c2'; use"):
        ChainCRF().set_params(l1=0.1, c2=0.5)
    with pytest.raises(ValueError, match="has no parameter 'typo'; choose from all_states, "):
        ChainCRF().set_params(typo=1)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(6).reshape(3, 2).astype("M8[s]"), "Dates are not supported: X has type datetime64"),
        (np.arange(6).reshape(3, 2).astype("m8[s]"), "Spans of time are not supported: X has type timedelta64"),
        (np.ones((3, 2)) + 1j, "Complex data not supported: X has type complex128"),
        (np.ma.masked_greater(np.arange(6.0).reshape(3, 2), 4), "X is a masked array"),
    ],
)
def test_arrays_that_no_weight_can_be_given_to_are_refused_by_fit_and_predict(X, message):
    y = ["a", "b", "a"]
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(X, y)
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(np.arange(6.0).reshape(3, 2), y).predict(X)
    with pytest.raises(DataError, match=message):
        ClassifierObjective(X, [0, 1, 0], n_classes=2)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        (3, "class_weight=3 is neither None, 'balanced' nor a dict of classes and their weights"),
        ("balance", "class_weight='balance' is neither None"),
        ({"a": -1}, r"class_weight\['a'\]=-1 is out of range; give a finite number >= 0"),
    ],
)
def test_weights_of_classes_that_make_no_sense_are_refused_by_the_name_of_the_class(class_weight, message):
    with pytest.raises(OptionError, match=message):
        MaxEnt(class_weight=class_weight).fit([[0.0], [1.0]], ["a", "b"])


@pytest.mark.parametrize(
    ("classes", "class_weight", "message"),
    [
        ([0, 1], {"0": 1}, r"are 0, 1 \(the name has type str, the class has type int; write 0\)$"),
        (["0", "1"], {0: 1}, r"are '0', '1' \(the name has type int, the class has type str; write '0'\)$"),
        ([0, 1], {"x": 1}, "the classes are 0, 1$"),
    ],
)
def test_names_of_classes_of_another_type_are_pointed_out(classes, class_weight, message):
    with pytest.raises(OptionError, match=message):
        MaxEnt(class_weight=class_weight).fit([[0.0], [1.0]], classes)
    graphs = [([[0.0], [1.0]], [(0, 1)])]
    with pytest.raises(OptionError, match=message):
        GraphCRF(class_weight=class_weight).fit(graphs, [classes])


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        ("liblinear", r"'liblinear'; choose from auto, prox_newton, dual_cd \(`loglinear solvers` lists all\)$"),
        ("lbgfs", r"'lbgfs' \(did you mean lbfgs\?\); choose from auto, lbfgs, .*, prox_gradient \(`loglinear"),
    ],
)
def test_unknown_solvers_bring_up_those_that_fit(solver, message):
    with pytest.raises(OptionError, match=message):
        MaxEnt(solver=solver).fit([[0.0], [1.0]], [0, 1])


def test_separable_data_without_a_penalty_have_no_best_weights_which_a_warning_says():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    with pytest.warns(DataWarning, match="grow without limit; give a penalty"):
        MaxEnt(l2=0.0).fit(X, y)
    with pytest.warns(DataWarning, match="separate a part .* grow without limit"):
        MaxEnt(l2=0.0).fit([*X, [1.5], [1.5]], [*y, 0, 1])
    MaxEnt(l2=0.0).fit([*X, [1.2], [1.8]], [*y, 1, 0])
    MaxEnt(l2=1e-3).fit(X, y)


NOISY = np.random.default_rng(0).standard_normal((60, 4))
CLASSES = (NOISY[:, 0] + np.random.default_rng(1).logistic(size=60) > 0.0).astype(int)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_copy_of_a_generator_draws_the_seed(make):
    def weights(random_state):
        return MaxEnt(solver="sag", max_iterations=2, random_state=random_state).fit(NOISY, CLASSES).coef_

    generator = make(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(weights(generator), weights(generator))
        np.testing.assert_array_equal(weights(generator), weights(make(0)))
        assert not np.array_equal(weights(generator), weights(make(1)))
    draw = generator.randint if isinstance(generator, np.random.RandomState) else generator.integers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(weights(make(0)), weights(int(draw(2**31 - 1))))


def test_a_model_file_has_the_seed_that_a_generator_draws(tmp_path):
    model = MaxEnt(random_state=np.random.RandomState(0)).fit(NOISY, CLASSES)
    model.save(tmp_path / "model.loglinear")
    loaded = MaxEnt.load(tmp_path / "model.loglinear")
    assert loaded.random_state == np.random.RandomState(0).randint(2**31 - 1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ((label for label in CLASSES), "y is a generator, which can be gone through only once; give list.y."),
        (iter(CLASSES.tolist()), "y is a list_iterator, which can be gone through only once; give list.y."),
        ([10**30 if label else 3 for label in CLASSES], "a class is a number of 100 bits; give the classes as strings"),
    ],
)
def test_classes_that_no_array_holds_are_refused(y, message):
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(NOISY, y)


def test_class_weights_that_leave_nothing_to_learn_from_are_refused():
    with pytest.raises(OptionError, match=r"class_weight=\{0: 0, 1: 0.0\} gives no class with samples a weight"):
        MaxEnt(class_weight={0: 0, 1: 0.0}).fit(NOISY, CLASSES)


@pytest.mark.parametrize("name", ["multinomial", "auto"])
def test_scikit_learns_names_of_softmax_are_explained(name):
    with pytest.raises(OptionError, match=f"multi_class='{name}' is not one of softmax, ovr; \"softmax\" is the model"):
        MaxEnt(multi_class=name).fit(NOISY, CLASSES)


@pytest.mark.parametrize("kind", [MaxEnt, ChainCRF])
def test_how_much_to_print_is_a_number(kind):
    data = (NOISY, CLASSES) if kind is MaxEnt else (X, Y)
    with pytest.raises(OptionError, match="verbose='x' is not a whole number of at least 0"):
        kind(verbose="x").fit(*data)


def test_the_number_of_iterations_cannot_be_changed():
    model = MaxEnt().fit(NOISY, CLASSES)
    with pytest.raises(ValueError, match="read-only"):
        model.n_iter_[0] = 99
