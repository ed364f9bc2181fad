"""What notebooks show of estimators."""

import re
from html import unescape

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, Tagger, grid_edges

X, y = [["Dogs", "bark"], ["Cats", "sleep"]], [["NOUN", "<b>"], ["NOUN", "<b>"]]


def rows(estimator):
    """The rows of the table, and the call above it."""
    shown = estimator._repr_html_()
    cells = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td></tr>', shown)
    return {name: unescape(text) for name, text in cells}, unescape(re.search(r"<code>([^<]*)</code>", shown)[1])


def fitted():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(30, 4))
    labels = (dense[:, 0] > 0).astype(int)
    graph = (rng.normal(size=(6, 2)), grid_edges(2, 3))
    table = np.stack([labels, labels ^ (rng.random(30) < 0.1)], 1)
    yield "ChainCRF", ChainCRF(template="pos").fit(X, y), "labels", "2: <b>, NOUN"
    yield "MaxEnt", MaxEnt(l2=0.5).fit(dense, labels), "classes", "2: 0, 1"
    yield (
        "MaxEnt, ovr",
        MaxEnt(multi_class="ovr").fit(dense, labels + (dense[:, 1] > 0)).sparsify(),
        "classes",
        "3: 0, 1, 2",
    )
    yield "PairwiseMRF", PairwiseMRF(l1=0.1).fit(table), "edges", "1 of 1 possible"
    yield "GraphCRF", GraphCRF(l2=0.5).fit([graph], [[0, 1, 1, 0, 0, 1]]), "labels", "2: 0, 1"


@pytest.mark.parametrize(
    ("estimator", "name", "text"), [each[1:] for each in fitted()], ids=[each[0] for each in fitted()]
)
def test_a_fitted_estimator_shows_its_labels_its_size_and_how_training_ended(estimator, name, text):
    found, above = rows(estimator)
    assert repr(estimator) == above
    assert found[name] == text
    assert found["ended"].startswith("converged")
    assert any(
        int(found[each].replace(",", "")) > 0
        for each in ("features with a weight", "weights of edges")
        if each in found
    )


def test_an_estimator_that_is_not_fitted_shows_its_parameters():
    for estimator in (ChainCRF(l1=0.5), MaxEnt(l2=3.0), PairwiseMRF(bins=3), GraphCRF(l1=2.0)):
        shown = estimator._repr_html_()
        assert repr(estimator) in shown
        assert "not fitted yet" in shown
        assert eval(repr(estimator)).get_params() == estimator.get_params()


def test_a_model_from_a_file_shows_what_its_file_knows(tmp_path):
    crf = ChainCRF(template="pos", l1=0.1).fit(X, y)
    crf.save(tmp_path / "m.loglinear")
    loaded = ChainCRF.load(tmp_path / "m.loglinear")
    assert rows(loaded)[0] | {"result_": "Result"} == rows(crf)[0]
    assert "template='pos'" in rows(loaded)[1]
    MaxEnt().fit([["a"], ["b"]], [0, 1]).save(tmp_path / "c.loglinear")
    assert rows(MaxEnt.load(tmp_path / "c.loglinear"))[0]["classes"] == "2: 0, 1"


def test_many_labels_are_counted():
    labels = [f"L{k:03d}" for k in range(50)]
    found, _ = rows(MaxEnt(l2=1.0).fit([[label] for label in labels * 3], labels * 3))
    assert found["classes"].startswith("50: L000, ")
    assert found["classes"].endswith("L019, …")


def test_a_pipeline_shows_the_estimator_in_it():
    assert "MaxEnt" in make_pipeline(StandardScaler(), MaxEnt(l2=2.0))._repr_html_()
    shown = make_pipeline(ChainCRF(template="pos").fit(X, y))._repr_html_()
    assert "min_count" in shown
    if hasattr(BaseEstimator, "_get_fitted_attr_html"):  # scikit-learn 1.9
        assert "classes_" in shown


def test_fitted_attributes_are_shown_with_type_and_shape(tmp_path):
    model = MaxEnt(l2=0.5).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.5]], [0, 1, 2])
    found, _ = rows(model)
    assert found["coef_"] == "ndarray of float64, shape (3, 2)"
    assert found["classes_"] == "ndarray of int64, shape (3,)"
    assert found["n_features_in_"] == "2"
    assert {name for name in found if name.endswith("_")} == set(
        "attributes_ classes_ coef_ cross_validation_ intercept_ l1_ l2_ n_features_in_ n_iter_ result_ results_ "
        "temperature_".split()
    )
    model.save(tmp_path / "m.loglinear")
    found, _ = rows(MaxEnt.load(tmp_path / "m.loglinear"))
    assert "coef_" in found
    assert "result_" not in found


def test_a_tagger_says_how_much_it_knows():
    crf = ChainCRF(template="pos").fit(X, y)
    assert repr(Tagger(crf)) == f"<Tagger of 2 labels, {crf.model_.n_features:,} features>"
