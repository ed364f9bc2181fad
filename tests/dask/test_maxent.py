"""Classifiers on a cluster against those of one process."""

from __future__ import annotations

import json
import pickle
import warnings
from inspect import signature
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

import loglinear
from loglinear import Checkpoint, DataError, OptionError
from loglinear.dask import MaxEnt
from oracles.samples import chunky


def samples(n=120, columns=12, classes="abc"):
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(rng.random((n, columns)) * (rng.random((n, columns)) < 0.4))
    scores = X @ rng.normal(size=(columns, len(classes))) * 3 + rng.gumbel(size=(n, len(classes)))
    return X, np.array(list(classes))[scores.argmax(axis=1)]


def chunks(X, y, at=(0, 50, 51, 120)):
    return [(X[a:b], y[a:b]) for a, b in pairwise(at)]


@pytest.mark.parametrize("options", [{"l2": 0.5}, {"l1": 0.5}, {"l1": 0.5, "solver": "grafting_light"}])
@pytest.mark.parametrize(("classes", "intercept"), [("ab", True), ("abc", True), ("ab", False)])
def test_the_optimum_is_that_of_the_whole_matrix(client, options, classes, intercept):
    X, y = samples(classes=classes)
    options = {**options, "tolerance": 1e-13, "fit_intercept": intercept}
    there = MaxEnt(client=client, **options).fit(chunks(X, y))
    here = loglinear.MaxEnt(**options | {"solver": "owlqn"}).fit(X, y)
    assert there.result_.objective == pytest.approx(here.result_.objective, rel=1e-7)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=2e-3)
    # Without penalty the intercepts of several classes are known but for a number that all have in common.
    found, expected = (each.intercept_ - each.intercept_.mean() * (len(classes) > 2) for each in (there, here))
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert (there.predict(X) == here.predict(X)).mean() > 0.98


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
def test_columns_far_from_zero_end_at_the_optimum_of_the_whole_matrix(client, multi_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = (X @ rng.normal(size=(5, 3)) + rng.gumbel(size=(120, 3))).argmax(axis=1)
    options = {"l1": 0.5, "multi_class": multi_class, "tolerance": 1e-13}
    there = MaxEnt(client=client, **options).fit(chunks(X + 1000.0, y))
    here = loglinear.MaxEnt(**options, solver="owlqn").fit(X, y)
    for far, whole in zip(there.results_, here.results_, strict=True):
        assert far.objective == pytest.approx(whole.objective, rel=1e-7)


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
def test_a_training_starts_from_a_model(client, multi_class):
    X, y = samples(classes="abc")
    options = {"l2": 0.5, "tolerance": 1e-13, "multi_class": multi_class}
    old = loglinear.MaxEnt(**options).fit(X, y)
    there = MaxEnt(client=client, **options).fit(chunks(X, y), start=old)
    for before, after in zip(old.results_, there.results_, strict=True):
        assert after.trace[0].objective == pytest.approx(before.objective, rel=1e-9)
        assert after.start.n_shared == np.count_nonzero(before.w)


def test_the_options_are_those_of_one_process():
    for name, more in (
        ("__init__", {"client", "part_bytes"}),
        ("fit", {"format", "template", "separator", "label_column", "weight_column", "skip_comments", "tally"}),
    ):
        here, there = (signature(getattr(kind, name)).parameters for kind in (loglinear.MaxEnt, MaxEnt))
        assert {*there} - {*here} == more
        assert {key: there[key].default for key in here} == {key: each.default for key, each in here.items()}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"class_weight": {"a": 3.0, "c": 0.5}},
        {"class_weight": "balanced", "multi_class": "ovr"},
        {"keep": "best"},
        {"patience": 9},
    ],
)
@pytest.mark.parametrize("weighted", [True, False])
def test_weights_classes_and_development_data_count_as_in_one_process(client, options, weighted):
    X, y = samples(150)
    y[:120:5] = "a"  # more than others
    weights = np.random.default_rng(1).integers(0, 3, 120) * 0.5 if weighted else None
    at = (0, 50, 51, 120)
    given = [(*chunk, *([] if weights is None else [weights[a:b]])) for chunk, (a, b) in
             zip(chunks(X, y, at), pairwise(at), strict=True)]  # fmt: skip
    dev = {} if "multi_class" in options else {"X_dev": X[120:], "y_dev": y[120:]}
    options = {"l2": 0.01, "solver": "lbfgs", "tolerance": 1e-12, "max_iterations": 200, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = loglinear.MaxEnt(**options).fit(X[:120], y[:120], weights, **dev)
        there = MaxEnt(client=client, **options).fit(given, **dev)
        plain = loglinear.MaxEnt(**{**options, "class_weight": None}).fit(X[:120], y[:120], **dev)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), atol=1e-4)
    assert [result.kept for result in there.results_] == [result.kept for result in here.results_]
    if "patience" in options or "keep" in options:
        assert there.result_.iterations == here.result_.iterations
        assert [record.dev for record in there.result_.trace] == [record.dev for record in here.result_.trace]
        assert (here.result_.status.name == "DEV_SCORE_TURNED") == ("patience" in options)
    assert np.abs(here.coef_).max() > 0.1
    assert (np.abs(plain.coef_ - here.coef_).max() > 0.01) == (weighted or "class_weight" in options)


def test_every_road_of_the_chunks_leads_to_the_same_weights(client):
    import dask.array

    from dask import delayed

    X, y = samples()
    weights = np.random.default_rng(1).random(120)
    given = [(*chunk, weights[a:b]) for chunk, (a, b) in zip(chunks(X, y), pairwise((0, 50, 51, 120)), strict=True)]
    expected = MaxEnt(l2=0.5, client=client).fit(given)
    assert not np.array_equal(MaxEnt(l2=0.5, client=client).fit(chunks(X, y)).coef_, expected.coef_)
    dense = dask.array.from_array(X.toarray(), chunks=((50, 1, 69), 12))
    labels = dask.array.from_array(y, chunks=((50, 1, 69),))
    column = dask.array.from_array(weights, chunks=((50, 1, 69),))
    for road in (([delayed(tuple)(pair) for pair in given],), (client.scatter(given),), (dense, labels, column)):
        found = MaxEnt(l2=0.5, client=client).fit(*road)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
    blocks = client.compute(expected.predict(dense), sync=True)
    np.testing.assert_array_equal(blocks, expected.predict(X))
    one = pickle.loads(pickle.dumps(expected.to_local()))
    assert type(one) is loglinear.MaxEnt
    np.testing.assert_array_equal(one.predict(X), expected.predict(X))


def test_files_of_samples_are_those_of_one_process(client, tmp_path):
    X, y = samples(90, 8)
    lines = [
        f"{label} " + " ".join(f"{column}:{value!r}" for column, value in enumerate(row.tolist()) if value)
        for label, row in zip(y, X.toarray(), strict=True)
    ]
    for number in range(3):
        (tmp_path / f"{number}.svm").write_text("\n".join(lines[number * 30 : number * 30 + 30]) + "\n")
    lines[60:60] = lines[90:90] = ["# no sample"] * 200
    (tmp_path / "all.svmlight").write_text("\n".join(lines) + "\n")
    there = MaxEnt(l2=0.5, client=client, part_bytes=500, tolerance=1e-12).fit(tmp_path / "*.svm")
    corpus = loglinear.Corpus.read(tmp_path / "all.svmlight")
    here = loglinear.MaxEnt(l2=0.5, tolerance=1e-12).fit(corpus)
    commented = MaxEnt(l2=0.5, client=client, part_bytes=500, tolerance=1e-12).fit(tmp_path / "all.svmlight")
    for model in (there, commented):
        assert model.attributes_ == here.attributes_
        assert model.classes_.tolist() == here.classes_.tolist()
        np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-3)
    there.save(tmp_path / "model")
    again = loglinear.MaxEnt.load(tmp_path / "model")
    assert again.predict(corpus).tolist() == here.predict(corpus).tolist()


def test_weights_of_sentences_in_files_are_those_of_their_tokens(client, tmp_path):
    X, y = chunky(40)
    for number in range(2):
        rows = [
            {"tokens": tokens, "labels": labels, "weight": 1.0 + at % 3}
            for at, (tokens, labels) in enumerate(zip(X[number::2], y[number::2], strict=True))
        ]
        (tmp_path / f"{number}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    paths = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    here = loglinear.MaxEnt(tolerance=1e-12).fit(loglinear.Corpus.concat(map(loglinear.Corpus.read, paths)))
    there = MaxEnt(client=client, tolerance=1e-12, part_bytes=paths[0].stat().st_size).fit(paths)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-5)


def test_a_chunk_without_samples_changes_neither_weights_nor_the_type_of_the_classes(client):
    X, y = samples(classes=(1, 2, 3))
    expected = MaxEnt(client=client).fit(chunks(X, y))
    model = MaxEnt(client=client).fit([(X[:0], []), *chunks(X, y), (X[:0], [])])
    assert model.classes_.dtype == expected.classes_.dtype == np.array([1]).dtype
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)


def test_a_checkpoint_resumes(client, tmp_path):
    X, y = samples()
    whole = MaxEnt(l2=0.01, client=client).fit(chunks(X, y))
    with pytest.warns(Warning, match="limit"):
        MaxEnt(l2=0.01, client=client, max_iterations=4).fit(chunks(X, y), checkpoint=Checkpoint(tmp_path / "c", 0))
    again = MaxEnt(l2=0.01, client=client).fit(chunks(X, y), checkpoint=Checkpoint(tmp_path / "c", resume=True))
    np.testing.assert_array_equal(again.coef_, whole.coef_)


def test_mistakes_are_named(client):
    X, y = samples()
    model = MaxEnt(client=client)
    with pytest.raises(DataError, match=r"chunk 1: X has shape \(1, 12\), but y has shape \(2,\)"):
        model.fit([(X[:5], y[:5]), (X[5:6], y[5:7])])
    with pytest.raises(DataError, match="12 columns, others 3"):
        model.fit([(X[:5], y[:5]), (X[5:9, :3], y[5:9])])
    with pytest.raises(DataError, match="only one class"):
        model.fit([(X[:2], ["a", "a"])])
    with pytest.raises(OptionError, match="sequence of pairs"):
        model.fit(X, y)
    with pytest.raises(DataError, match="chunk 0: a sample weight is not a finite number >= 0"):
        model.fit([(X[:3], y[:3], [1.0, -1.0, 1.0])])
    with pytest.raises(DataError, match=r"chunk 0: X has shape \(3, 12\), but weights has shape \(2,\)"):
        model.fit([(X[:3], y[:3], [1.0, 1.0])])
    with pytest.raises(OptionError, match="multi_class"):
        MaxEnt(client=client, multi_class="one").fit(chunks(X, y))


@pytest.mark.smoke
def test_a_prior_is_refused_with_the_reason(client):
    with pytest.raises(OptionError, match="prior is not available for classifiers on a cluster"):
        MaxEnt(client=client).fit([([[0.0], [1.0]], ["a", "b"])], prior=loglinear.MaxEnt().fit([[0.0], [1.0]], [0, 1]))


def test_a_column_of_weights_is_read_by_the_workers(client, tmp_path):
    rows = [f"{number % 4} w{number % 7} {'AB'[number % 3 == 0]}\n\n" for number in range(60)]
    (tmp_path / "data").write_text("".join(rows))
    options = {"template": "U:%x[0,0]\n", "weight_column": 0}
    corpus = loglinear.Corpus.read(tmp_path / "data", **options)
    here = loglinear.MaxEnt(tolerance=1e-12).fit(corpus)
    there = MaxEnt(client=client, tolerance=1e-12, part_bytes=100).fit([tmp_path / "data"], **options)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-6)
    chain = loglinear.ChainCRF(tolerance=1e-12).fit(corpus)
    spread = loglinear.dask.ChainCRF(client=client, tolerance=1e-12, part_bytes=100).fit([tmp_path / "data"], **options)
    assert spread.result_.objective == pytest.approx(chain.result_.objective, rel=1e-9)


def test_arrays_of_other_chunks_are_refused_and_those_of_the_same_are_trained(client):
    from dask import array

    X, y = samples(120)
    X, weights = X.toarray(), np.ones(120)
    whole = array.from_array(X, chunks=(40, -1))
    for wrong in (
        (array.from_array(X, chunks=(40, 6)), array.from_array(y, chunks=40), None),
        (whole, array.from_array(y, chunks=30), None),
        (whole, array.from_array(y, chunks=40), array.from_array(weights, chunks=60)),
    ):
        with pytest.raises(DataError, match="same row chunks"):
            MaxEnt(client=client).fit(*wrong)
    there = MaxEnt(client=client, tolerance=1e-12).fit(whole, array.from_array(y, chunks=40))
    here = loglinear.MaxEnt(tolerance=1e-12).fit(X, y)
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-4)
