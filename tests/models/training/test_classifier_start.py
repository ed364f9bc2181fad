"""Laws of training a classifier from a model: shared weights are the start, and the optimum is the same."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from loglinear import ChainCRF, Corpus, DataError, MaxEnt, OptionError, TextClassifier
from loglinear.errors import ModelFileError
from loglinear.models.files import maxent as maxent_file

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
CLASSES = {2: np.where(X @ RNG.normal(size=4) > 0, "b", "a"), 3: np.array([*"abc"])[np.abs(X[:, :3]).argmax(axis=1)]}
TIGHT = {"tolerance": 0.0, "solver": "lbfgs", "solver_options": {"gradient_tolerance": 1e-9}, "l2": 0.5}
NAMES = [[f"w={'pqrs'[k]}" for k in np.argsort(row)[:2]] for row in X]
TEXTS = [" ".join(name.replace("=", "") for name in names) for names in NAMES]
DATA = {"matrix": (MaxEnt, X), "attributes": (MaxEnt, NAMES), "texts": (TextClassifier, TEXTS)}


@pytest.mark.parametrize("multi_class", ["softmax", "ovr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", DATA)
def test_the_same_data_start_at_the_optimum_from_a_model_and_from_its_file(
    kind, fit_intercept, n_classes, multi_class, tmp_path
):
    bare, samples = DATA[kind]
    options = {**TIGHT, "multi_class": multi_class, "fit_intercept": fit_intercept}
    old = bare(**options).fit(samples, CLASSES[n_classes])
    old.save(tmp_path / "old")
    for start in (old, bare.load(tmp_path / "old"), tmp_path / "old"):
        new = bare(**options).fit(samples, CLASSES[n_classes], start=start)
        for before, after in zip(old.results_, new.results_, strict=True):
            assert after.trace[0].objective == pytest.approx(before.objective, rel=1e-12)
            assert after.start.n_shared == after.start.n_features == after.w.size
        np.testing.assert_allclose(new.coef_, old.coef_, atol=1e-7)
    old.fit(samples, CLASSES[n_classes], start=old)
    assert all(result.iterations <= 1 for result in old.results_)


def test_columns_and_classes_of_the_same_names_start_at_the_weights_of_the_model():
    old = MaxEnt(**TIGHT).fit(NAMES, CLASSES[3])
    samples = [[name for name in names if name != "w=p"] + ["w=new"] for names in NAMES]
    classes = np.where(CLASSES[3] == "a", "d", CLASSES[3])
    new = MaxEnt(max_iterations=0, **TIGHT)
    with pytest.warns(UserWarning, match="iteration limit"):
        new.fit(samples, classes, start=old)
    start = new.result_.start
    assert (start.n_shared, start.n_features, start.new_labels) == (2 * (3 + 1), 3 * (4 + 1), ["d"])
    names = [new.attributes_.index(name) for name in old.attributes_ if name != "w=p"]
    older = [k for k, name in enumerate(old.attributes_) if name != "w=p"]
    np.testing.assert_allclose(new.coef_[np.ix_([0, 1], names)], old.coef_[np.ix_([1, 2], older)], rtol=1e-12)
    assert str(start) == "8 of 15 features start from the older model; 1 label is new"
    assert json.loads(maxent_file.model_of(new._contents(new.attributes_)).settings)["training"]["start"] == vars(start)


def test_a_classifier_of_texts_starts_from_itself_with_its_old_words():
    model = TextClassifier(**TIGHT).fit(TEXTS, CLASSES[3])
    n_words = len(model.words_)
    start = model.fit([f"{text} aa" for text in TEXTS], CLASSES[3], start=model).result_.start
    assert (start.n_shared, start.n_features) == (3 * (n_words + 1), 3 * (n_words + 2))


@pytest.mark.parametrize(("older", "newer"), [(2, 3), (3, 2)])
def test_another_number_of_classes_keeps_the_probabilities_of_the_shared_ones(older, newer):
    old = MaxEnt(**TIGHT).fit(X, CLASSES[older])
    with pytest.warns(UserWarning, match="iteration limit"):
        new = MaxEnt(**{**TIGHT, "max_iterations": 0}).fit(X, CLASSES[newer], start=old)
    np.testing.assert_allclose(
        np.diff(new.predict_log_proba(X)[:, :2]), np.diff(old.predict_log_proba(X)[:, :2]), atol=1e-12
    )


def test_columns_of_tables_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=[*"pqrs"])
    old = MaxEnt(**TIGHT).fit(table, CLASSES[3])
    for samples in (table[[*"srqp"]], X):
        again = MaxEnt(**TIGHT).fit(samples, CLASSES[3], start=old)
        assert again.result_.trace[0].objective == pytest.approx(old.result_.objective, rel=1e-12)


def test_what_cannot_be_started_at_is_refused(tmp_path):
    old = MaxEnt().fit(X, CLASSES[3])
    with pytest.raises(DataError, match="the classes have type int, but the older model has classes of type str"):
        MaxEnt().fit(X, [0, 1, 2] * 20, start=old)
    with pytest.raises(DataError, match="X contains attributes, but the older model was trained on a matrix; leave"):
        MaxEnt().fit(NAMES, CLASSES[3], start=old)
    with pytest.raises(DataError, match="X is a matrix, but the older model was trained on attributes; leave"):
        MaxEnt().fit(X, CLASSES[3], start=MaxEnt().fit(NAMES, CLASSES[3]))
    with pytest.raises(DataError, match="X has 3 columns, but the older model has 4; give the same columns, or tables"):
        MaxEnt().fit(X[:, :3], CLASSES[3], start=old)
    with pytest.raises(NotFittedError):
        MaxEnt().fit(X, CLASSES[3], start=MaxEnt())
    with pytest.raises(OptionError, match="start=7 is neither a MaxEnt nor the path of a model file"):
        MaxEnt().fit(X, CLASSES[3], start=7)
    with pytest.raises(OSError, match="nowhere"):
        MaxEnt().fit(X, CLASSES[3], start=tmp_path / "nowhere")
    ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]).save(tmp_path / "chain")
    with pytest.raises(ModelFileError, match="chain: a chain model, not a classifier"):
        MaxEnt().fit(X, CLASSES[3], start=tmp_path / "chain")


def test_another_template_is_told():
    words, labels = [["p"], ["q"]], [["A"], ["B"]]
    old = MaxEnt().fit(Corpus.encode([[word] for word in words], labels, template="U1:%x[0,0]\n"))
    with pytest.warns(UserWarning, match="the older model has another template .leave out the new one") as told:
        MaxEnt().fit(Corpus.encode([[word] for word in words], labels, template="U2:%x[0,0]\n"), start=old)
    assert told[0].filename == __file__
