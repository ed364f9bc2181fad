"""Distributions over classes in `MaxEnt`: their forms, and that each counts for one sample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from loglinear import Corpus, DataError, MaxEnt, TextClassifier

X = [[f"w={i % 5}", f"v={i % 3}"] for i in range(30)]
P = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 30)
DICTS = [dict(zip("abc", row, strict=True)) for row in P.tolist()]


@pytest.mark.parametrize("y", [P, DICTS])
def test_an_attribute_counts_once_for_each_sample_and_not_for_each_class(y):
    """Each v is on 10 samples, each w on 6."""
    hard = MaxEnt(min_count=7).fit(X, [0, 1, 2] * 10)
    assert MaxEnt(min_count=7).fit(X, y).attributes_ == hard.attributes_ == ["v=0", "v=1", "v=2"]
    assert len(MaxEnt(min_count=6).fit(X, y).attributes_) == 8
    with pytest.raises(DataError, match="lower min_count"):
        MaxEnt(min_count=11).fit(X, y)


def test_a_sample_without_some_classes_counts_once_as_well():
    y = [{"a": 0.5, "b": 0.5, "c": 0.0} if i % 2 else "c" for i in range(30)]
    assert MaxEnt(min_count=10).fit(X, y).attributes_ == ["v=0", "v=1", "v=2"]


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
def test_partial_fit_counts_samples_and_not_their_classes(multi_class):
    """Learning a soft piece leaves the prior of the next piece what its hard samples, weighted, make it."""
    soft = MaxEnt(multi_class=multi_class).partial_fit(X[:15], P[:15], classes=[0, 1, 2])
    assert soft._evidence.n_seen == 15
    soft.partial_fit(X[15:], P[15:])
    assert soft._evidence.n_seen == 30
    assert soft.results_[0].prior.n_seen == 15
    assert soft._settings()["training"]["n_samples"] == 15


def test_evidence_estimated_from_a_soft_piece_is_that_of_the_same_samples_with_classes():
    """A distribution that is nearly certain is a class: the ratio of samples seen to those of the piece is the same."""
    certain = [{"a": 1.0 - 1e-9, "b": 5e-10, "c": 5e-10} if i % 2 else {"b": 1.0 - 1e-9, "c": 1e-9} for i in range(30)]
    hard = ["a" if i % 2 else "b" for i in range(30)]
    old = MaxEnt().fit(X, ["a", "b", "c"] * 10)
    models = [MaxEnt().fit(X, ["a", "b", "c"] * 10).partial_fit(X, y) for y in (certain, hard)]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-4, atol=1e-6)
    assert np.abs(models[0].coef_ - old.coef_).max() > 0.01


def test_certain_distributions_are_classes():
    certain = MaxEnt().fit(X, [{"a": 1.0}, {"b": 1}] * 15)
    np.testing.assert_array_equal(certain.coef_, MaxEnt().fit(X, ["a", "b"] * 15).coef_)
    assert certain.classes_.tolist() == ["a", "b"]


def test_columns_of_dicts_are_lists_of_them():
    expected = MaxEnt().fit(X, DICTS)
    objects = np.empty(30, dtype=object)
    objects[:] = DICTS
    for y in (pd.Series(DICTS, index=range(5, 35)), objects, tuple(DICTS), pl.Series(DICTS)):
        fitted = MaxEnt().fit(X, y)
        np.testing.assert_array_equal(fitted.coef_, expected.coef_)
        assert fitted.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("names", [["x", "z", "y"], [3, 7, 5]])
def test_the_columns_of_a_table_are_named_after_the_classes(names):
    table = pd.DataFrame(P, columns=names, index=range(5, 35))
    expected = MaxEnt().fit(X, [dict(zip(names, row, strict=True)) for row in P.tolist()])
    fitted = MaxEnt().fit(X, table)
    assert fitted.classes_.tolist() == expected.classes_.tolist() == sorted(names)
    np.testing.assert_array_equal(fitted.coef_, expected.coef_)
    if isinstance(names[0], str):
        assert MaxEnt().fit(X, pl.DataFrame(table)).classes_.tolist() == sorted(names)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.DataFrame(P, columns=["x", 1, "y"]), "names of the columns of y have several types: int, str; name the"),
        (pd.DataFrame(P, columns=["x", "y", "x"]), "'x'"),
        (pd.DataFrame(P[:, :2], columns=["x", "y"]), r"y, row 0: the probabilities add up to 0\.\d+"),
        ([{"a": 1, "b": 1}] * 30, r"row 0: the probabilities add up to 2\.0+, 1\.0+ more than 1"),
        ([{"a": float("nan"), "b": 1.0}] * 30, "row 0: a label has the probability NaN; probabilities are numbers"),
        (["a"] * 29 + [{}], "y, row 29: empty dict of labels"),
        ([{"a": 10**400}] * 30, "y, row 0: the probability of 'a' is 1000.*, which is not a number"),
        ([{"a": None}] * 30, "y, row 0: the probability of 'a' is None, which is not a number"),
    ],
)
def test_what_is_no_distribution_is_refused_with_its_row(y, message):
    with pytest.raises(DataError, match=message):
        MaxEnt().fit(X, y)


def test_a_loaded_classifier_keeps_how_it_combines_its_classes(tmp_path):
    """The probabilities depend on multi_class, which may be set after training and after loading."""
    MaxEnt().fit(X, [0, 1, 2] * 10).save(tmp_path / "m")
    loaded = MaxEnt.load(tmp_path / "m").set_params(multi_class="ovr", l2=7.0, min_count=5)
    loaded.save(tmp_path / "n")
    again = MaxEnt.load(tmp_path / "n")
    np.testing.assert_array_equal(again.predict_proba(X), loaded.predict_proba(X))
    assert (again.multi_class, again.l2, again.min_count) == ("ovr", MaxEnt.load(tmp_path / "m").l2, 1)


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovr"}, {"class_weight": "balanced"}])
def test_weights_of_tokens_are_weights_of_samples(options):
    words, labels, weights = ["a", "b", "a", "c"], ["X", "Y", "Y", "Z"], [2, 1, 3, 0]
    corpus = Corpus.encode(
        [[[word] for word in words], [["b"]]],
        [labels, ["Z"]],
        token_weight=[weights, None],
        sample_weight=[1.0, 4.0],
    )
    arguments = [[word] for word in [*words, "b"]], [*labels, "Z"], [*weights, 4]
    tight = {"tolerance": 0.0, "max_iterations": 1000, **options}
    of_corpus, of_lists = MaxEnt(**tight).fit(corpus), MaxEnt(**tight).fit(*arguments)
    np.testing.assert_array_equal(of_corpus.coef_, of_lists.coef_)
    np.testing.assert_array_equal(of_corpus.intercept_, of_lists.intercept_)


@pytest.mark.parametrize("form", [np.array, pd.DataFrame, pl.DataFrame])
def test_a_teacher_that_is_certain_gives_floats_that_are_one_hot(form):
    classes = np.arange(30) % 3
    of_floats, hard = (MaxEnt().fit(X, y) for y in (form(np.eye(3)[classes]), classes))
    np.testing.assert_allclose(of_floats.coef_, hard.coef_, atol=1e-12)
    whole = np.eye(3, dtype=int)[classes]
    for indicators in (whole, whole.astype(bool), np.eye(3)[classes] + np.eye(3)[classes][:, [1, 2, 0]]):
        with pytest.raises(DataError):
            MaxEnt().fit(X, form(indicators))


def test_texts_have_distributions_over_classes():
    texts = ["good film", "bad film", "good plot", "so so"]
    P = np.array([[0.1, 0.9], [1.0, 0.0], [0.3, 0.7], [0.5, 0.5]])
    dicts = [dict(zip("np", row, strict=True)) for row in P.tolist()]
    of_dicts, of_table = TextClassifier(l2=0.1).fit(texts, dicts), TextClassifier(l2=0.1).fit(texts, P)
    np.testing.assert_array_equal(of_dicts.coef_, of_table.coef_)
    copies, y, weights = zip(*[(t, c, p) for t, d in zip(texts, dicts, strict=True) for c, p in d.items()], strict=True)
    repeated = TextClassifier(l2=0.1).fit(copies, y, weights)
    np.testing.assert_allclose(of_dicts.predict_proba(texts), repeated.predict_proba(texts), atol=1e-5)
    by_piece = TextClassifier(l2=0.1).partial_fit(texts, dicts, classes=["n", "p"])
    np.testing.assert_allclose(by_piece.predict_proba(texts).sum(axis=1), 1.0)
