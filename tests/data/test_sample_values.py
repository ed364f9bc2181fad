"""Laws of classes, weights and groups of samples: bad ones are a DataError that names the row and the remedy."""

from __future__ import annotations

import datetime
import decimal
import fractions
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

from loglinear import (
    ChainCRF,
    ClassifierObjective,
    Corpus,
    DataError,
    DataWarning,
    MaxEnt,
    OptionError,
    PairwiseMRF,
)
from loglinear.data.sample_values import classes_of, groups_of, numbers_of, weights_of_samples

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.arange(12) % 2
TEXTS = np.array(["n", "p"])[Y]
ATTRIBUTES = [["a"] if number > 0 else ["b"] for number in X[:, 0]]


def with_first(value, others=TEXTS):
    return [value, *others[1:].tolist()]


GOOD = {
    "list": Y.tolist(),
    "objects": Y.astype(object),
    "bytes": np.array([b"n", b"p"])[Y],
    "dates": np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")[Y],
    "Series with another index": pd.Series(Y, index=range(20, 32)),
    "DataFrame of one column": pd.DataFrame({"y": Y}),
    "nullable": pd.Series(Y).convert_dtypes(),
    "categories": pd.Categorical(TEXTS),
    "Arrow in pandas": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
    "sparse Series": pd.Series(pd.arrays.SparseArray(Y)),
    "polars": pl.Series(TEXTS.tolist()),
    "floats": Y.astype(float),
    "truth values": Y > 0,
}


@pytest.mark.parametrize("kind", GOOD)
def test_classes_of_any_library_train_the_same_weights(kind):
    y = GOOD[kind]
    model = MaxEnt().fit(X, y)
    np.testing.assert_array_equal(model.coef_, MaxEnt().fit(X, Y).coef_)
    assert model.score(X, y) == MaxEnt().fit(X, Y).score(X, Y)


BAD = {
    "numpy.matrix": (np.asmatrix(Y).T, "y is a numpy.matrix; give a dense array of one dimension: y.A1"),
    "sparse": (scipy.sparse.csr_array(Y[:, None]), r"y is a sparse matrix; give .*: y.toarray\(\)"),
    "table": (pd.DataFrame({"a": Y, "b": Y}), "y: expected one column, found a table of 2 columns; select one"),
    "two columns": (
        np.eye(2, dtype=int)[Y],
        r"y should be a 1d array, got an array of shape \(12, 2\); give one class per sample",
    ),
    "a row": (Y[None], r"shape \(1, 12\); give one class per sample"),
    "a number": (np.array(1), r"shape \(\); give one class per sample"),
    "records": (np.zeros(12, "i4,i4"), "y is an array of records; give one of its fields"),
    "NaN": (np.where(Y == 0, np.nan, 1.0), "y contains NaN in row 0; leave out samples without a class"),
    "NaN in a list": (with_first(float("nan"), Y), "y contains NaN in row 0"),
    "NaN among texts": (with_first(float("nan")), "y contains NaN in row 0"),
    "NA": (pd.array(with_first(None, Y), dtype="Int64"), "y contains NaN in row 0"),
    "NA among texts": (pd.Series(with_first(None), dtype="string"), "y contains NaN in row 0"),
    "NaT": (np.array([*["2020"] * 11, "NaT"], dtype="M8[D]"), "y contains NaN in row 11"),
    "None": (with_first(None), "a class is None; leave out samples without a class"),
    "null": (pl.Series(with_first(None)), "a class is None"),
    "infinity": (np.where(Y == 0, np.inf, 1.0), "y contains inf in row 0; give finite classes"),
    "real numbers": (Y + 0.5, "Unknown label type: continuous; y has real numbers, such as 0.5 in row 0, as in a regr"),
    "complex": (Y + 1j, "Complex data not supported: y has type complex128; give classes as strings"),
    "Decimal": (
        [*map(decimal.Decimal, Y.tolist())],
        "y has values of type Decimal; give strings, whole numbers or tru",
    ),
    "Fraction": ([*map(fractions.Fraction, Y.tolist())], "y has values of type Fraction; give strings"),
    "days": ([datetime.date(2020, 1, 1 + k) for k in Y], "y has values of type date; give strings"),
    "objects": ([object()] * 12, "y has values of type object; give strings"),
    "texts and numbers": ([1, "a"] * 6, "the classes have several types: int, str; use one type"),
    "truth values and numbers": ([True, 2] * 6, "the classes have several types: bool, int; use one type"),
    "bytes and texts": ([b"a", "a"] * 6, "the classes have several types: bytes, str; use one type"),
    "too few": (Y[:5], "y has 5 classes, but X has 12 samples .*; give one class per sample"),
    "none at all": (None, "requires y to be passed, but the target y is None"),
    "lists of several lengths": (np.array([[1], [1, 2]] * 6, dtype=object), "a class is the list"),
}


@pytest.mark.parametrize("data", [X, ATTRIBUTES], ids=["matrix", "attributes"])
@pytest.mark.parametrize("kind", BAD)
def test_values_that_are_no_classes_are_a_data_error(kind, data):
    y, message = BAD[kind]
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(data, y)


@pytest.mark.parametrize("kind", [kind for kind in BAD if kind not in ("none at all", "truth values and numbers")])
def test_classes_to_compare_with_are_checked_as_those_of_training(kind):
    y, message = BAD[kind]
    model = MaxEnt().fit(X, Y)
    with pytest.raises(DataError, match=message):
        model.score(X, y)
    with pytest.raises(DataError, match=re.sub(r"\by\b", "(y|y_dev)", message)):
        MaxEnt().fit(X, Y, X_dev=X, y_dev=y)


@pytest.mark.parametrize("use", ["score", "fit"])
def test_texts_are_not_compared_to_numbers(use):
    model = MaxEnt().fit(X, Y)
    with pytest.raises(
        DataError, match=r"y\S* has classes such as '0', but the model's are such as 0; give classes of the"
    ):
        model.score(X, Y.astype(str)) if use == "score" else MaxEnt().fit(X, Y, X_dev=X, y_dev=Y.astype(str))
    assert model.score(X, Y > 0) == model.score(X, Y)


def test_a_column_of_a_matrix_is_taken_for_classes_with_a_warning():
    for y in (Y[:, None], Y[:, None].tolist()):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed when a 1d array was expected"):
            model = MaxEnt().fit(X, y)
        np.testing.assert_array_equal(model.coef_, MaxEnt().fit(X, Y).coef_)


def changed(value):
    weights = np.ones(12)
    weights[3] = value
    return weights


BAD_WEIGHTS = {
    "NaN": (changed(np.nan), "contains? NaN in row 3; give finite numbers >= 0"),
    "negative": (changed(-1.0), r"is negative in row 3 \(-1.0\); give finite numbers >= 0"),
    "infinite": (changed(np.inf), r"is infinite in row 3 \(inf\); give finite numbers >= 0"),
    "zeros": (np.zeros(12), "is zero for every sample; give a weight above 0 to the samples that count"),
    "too large": (np.full(12, 1e308), "the sum of .* is too large for a float; divide the weights by a power of 10"),
    "texts": (["1"] * 11 + ["a"], "is not a number in row 11: 'a'; give finite numbers >= 0"),
    "a text": ("balanced", "is not a number in row 0: 'balanced'"),
    "None": ([1.0, None, *[1.0] * 10], "contains NaN in row 1"),
    "null": (pl.Series([1.0, None, *[1.0] * 10]), "contains NaN in row 1"),
    "too few": (np.ones(5), r"has shape \(5,\), but X has 12 samples; give one weight per sample"),
    "two-dimensional": (np.ones((12, 1)), r"has shape \(12, 1\), but X has 12 samples"),
    "complex": (np.ones(12) + 0j, "has type complex128; give finite numbers >= 0"),
    "complex objects": ([1 + 0j, *[None] * 11], r"has type complex128|is not a number in row 0: \(1\+0j\)"),
    "dates": (np.ones(12, dtype="M8[s]"), r"has type datetime64\[s\]"),
    "dict": ({0: 1.0}, "is not a number in row 0: {0: 1.0}"),
    "sparse": (scipy.sparse.csr_array(np.ones((12, 1))), "is a sparse matrix; give a dense array"),
    "numpy.matrix": (np.asmatrix(np.ones(12)), "is a numpy.matrix; give a dense array"),
    "records": (np.zeros(12, "f8,f8"), "is an array of records"),
    "lists": ([[1], [1, 2]] * 6, "cannot be read as an array"),
    "large integers": ([10**400] * 12, "is not a number in row 0"),
    "masked": (np.ma.masked_less(np.arange(12.0), 3.0), "is a masked array"),
}


@pytest.mark.parametrize("use", ["fit", "attributes", "score", "network"])
@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_weights_that_are_no_finite_numbers_are_a_data_error(kind, use):
    weights, message = BAD_WEIGHTS[kind]
    uses = {
        "fit": lambda: MaxEnt().fit(X, Y, sample_weight=weights),
        "attributes": lambda: MaxEnt().fit(ATTRIBUTES, Y, sample_weight=weights),
        "score": lambda: MaxEnt().fit(X, Y).score(X, Y, weights),
        "network": lambda: PairwiseMRF(l1=1.0).fit((X > 0).tolist(), sample_weight=weights),
    }
    with pytest.raises(DataError, match=f"sample_weight.*{message}|{message}"):
        uses[use]()


@pytest.mark.parametrize("weights", ["ab", [1.0, None], np.ones((2, 1)), {1: 2}, np.ones(2) + 0j, [b"1", b"2"]])
def test_weights_of_an_objective_are_numbers(weights):
    with pytest.raises(DataError, match="weight"):
        ClassifierObjective([[0.0], [1.0]], [0, 1], weights, n_classes=2)


def test_good_weights_of_any_library_are_read_as_they_are():
    for weights in (
        [1, 2],
        pl.Series([1, 2]),
        pd.DataFrame({"w": [1, 2]}),
        [decimal.Decimal(1), fractions.Fraction(2)],
    ):
        assert weights_of_samples(weights, 2).tolist() == [1.0, 2.0]
    assert weights_of_samples(2, 3).tolist() == [2.0] * 3
    mine = np.ones(2)
    assert weights_of_samples(mine, 2) is not mine
    assert numbers_of(mine, "x") is mine
    assert classes_of(Y) is Y


@pytest.mark.parametrize("options", [{"sample_weight": 1.0 - Y}, {"class_weight": {1: 0.0}}])
def test_weights_of_a_single_class_train_with_a_warning(options):
    fit = {name: options[name] for name in options if name == "sample_weight"}
    with pytest.warns(DataWarning, match="only samples of class 0 have a weight above 0, so the model predicts this"):
        model = MaxEnt(class_weight=options.get("class_weight")).fit(X, Y, **fit)
    assert (model.predict(X) == 0).all()


@pytest.mark.parametrize("class_weight", [{5: 1.0}, {"0": 2.0}, {None: 1.0}, {float("nan"): 1.0}, {0: 1.0, pd.NA: 2.0}])
def test_weights_of_unknown_classes_are_refused(class_weight):
    with pytest.raises(OptionError, match=r"class_weight=.* names .*, which is not a class; the classes are 0, 1"):
        MaxEnt(class_weight=class_weight).fit(X, Y)
    MaxEnt(class_weight={0: 1.0, 1: 2.0, 5: 3.0}).fit(X, Y)


@pytest.mark.parametrize("name", ["class_weight", "multi_class", "l1", "l2", "n_jobs", "solver", "tolerance", "gap"])
@pytest.mark.parametrize("value", [np.array([1.0, 2.0]), [1.0], {"a": 1}, 1j, b"1"])
def test_options_that_are_arrays_or_collections_are_option_errors(name, value):
    with pytest.raises(OptionError, match=name):
        MaxEnt(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.where(Y == 0, np.nan, Y), r"groups cannot be told apart \(a group is missing in row 0\); give numbers"),
        (with_first(None), r"groups cannot be told apart \(a group is missing in row 0\)"),
        (pl.Series(with_first(None)), "a group is missing in row 0"),
        (pd.array(with_first(None, Y), dtype="Int64"), "a group is missing in row 0"),
        (with_first(pd.NA), "a group is missing in row 0"),
        (np.array(["NaT", *["2020"] * 11], dtype="M8[D]"), "a group is missing in row 0"),
        ([1, "1"] * 6, r"they have several types: int, str\); give numbers or strings, all of one type"),
        ([[1], [1, 2]] * 6, "groups cannot be read as an array"),
        (iter(Y), "groups is a .*, which can be gone through only once"),
        (scipy.sparse.csr_array(Y[:, None]), "groups is a sparse matrix"),
    ],
)
def test_groups_that_cannot_be_told_apart_are_refused(groups, message):
    with pytest.raises(DataError, match=message):
        MaxEnt(l1="cv").fit(X, Y, groups=groups)


def test_groups_are_numbered():
    assert groups_of(pd.DataFrame({"g": ["b", "a", "b"]}), 3).tolist() == [1, 0, 1]


@pytest.mark.parametrize("metric", ["accuracy", "sentence_accuracy"])
def test_scores_need_a_labelled_sample_with_a_weight(metric):
    sentence, given = [["a"], ["b"]], [["A", "B"], [None, None]]
    chain = ChainCRF(l2=0.1).fit([sentence] * 4, [["A", "B"]] * 4)
    with pytest.raises(DataError, match="sample_weight is zero for every sentence with labels; give a weight above 0"):
        chain.score([sentence] * 2, given, sample_weight=[0, 1], metric=metric)
    assert chain.score([sentence] * 2, given, sample_weight=[1, 0], metric=metric) == 1.0
    classifier = MaxEnt(l2=0.1).fit(sentence * 4, ["A", "B"] * 4)
    corpus = Corpus.encode([sentence], [["A", None]])
    with pytest.raises(DataError, match="sample_weight is zero for every labelled sample; give a weight above 0"):
        classifier.score(corpus, sample_weight=[0, 1])
    assert classifier.score(corpus, sample_weight=[1, 0]) == 1.0


def test_another_number_of_columns_is_refused_in_one_sentence():
    with pytest.raises(DataError, match="as input; give the columns of the training data"):
        MaxEnt(l2=0.1).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1]).predict([[1.0]])
