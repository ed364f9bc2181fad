"""Classifiers on a cluster against those of one process."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse

import loglinear
from loglinear import Checkpoint, DataError, OptionError
from loglinear.dask import MaxEnt


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


def test_every_road_of_the_chunks_leads_to_the_same_weights(client):
    import dask.array

    from dask import delayed

    X, y = samples()
    given = chunks(X, y)
    expected = MaxEnt(l2=0.5, client=client).fit(given)
    dense = dask.array.from_array(X.toarray(), chunks=((50, 1, 69), 12))
    labels = dask.array.from_array(y, chunks=((50, 1, 69),))
    for road in (([delayed(tuple)(pair) for pair in given],), (client.scatter(given),), (dense, labels)):
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
    (tmp_path / "all.svmlight").write_text("\n".join(lines) + "\n")
    there = MaxEnt(l2=0.5, client=client, part_bytes=500, tolerance=1e-12).fit(tmp_path / "*.svm")
    corpus = loglinear.Corpus.read(tmp_path / "all.svmlight")
    here = loglinear.MaxEnt(l2=0.5, tolerance=1e-12).fit(corpus)
    assert there.attributes_ == here.attributes_
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-3)
    there.save(tmp_path / "model")
    again = loglinear.MaxEnt.load(tmp_path / "model")
    assert again.predict(corpus).tolist() == here.predict(corpus).tolist()


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
    with pytest.raises(DataError, match=r"chunk 1: X of shape \(1, 12\) and y of shape \(2,\)"):
        model.fit([(X[:5], y[:5]), (X[5:6], y[5:7])])
    with pytest.raises(DataError, match="12 columns, others 3"):
        model.fit([(X[:5], y[:5]), (X[5:9, :3], y[5:9])])
    with pytest.raises(DataError, match="only one class"):
        model.fit([(X[:2], ["a", "a"])])
    with pytest.raises(OptionError, match="sequence of chunks"):
        model.fit(X, y)
