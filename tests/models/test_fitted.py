"""Laws of the attributes of fitted estimators: all can be listed and read, and no write to them is lost."""

from __future__ import annotations

import copy
import inspect
import io
import pickle
import re
import sys

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, TextClassifier, grid_edges
from loglinear.compat.sklearn_crfsuite import CRF
from oracles.missing import BUT_NUMPY, printed

# Data.
SENTENCES = [["a"], ["b"]], [["b"]]
LABELS = ["A", "B"], ["B"]
IMAGE = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
GRAPH = IMAGE.reshape(-1, 1), grid_edges(2, 3)
ROWS = [["rain", "wet"], ["rain", "wet"], ["sun", "dry"], ["sun", "wet"], ["rain", "dry"], ["sun", "dry"]]
CLASSES = ["a", "b", "c", "a", "b", "c"]


def fitted():
    return {
        "chain": ChainCRF().fit(SENTENCES, LABELS),
        "crfsuite": CRF().fit(SENTENCES, LABELS),
        "graph": GraphCRF().fit([GRAPH], [IMAGE.astype(int).ravel()]),
        "network": PairwiseMRF(l1=0.1).fit(ROWS),
        "matrix": MaxEnt().fit(np.arange(12.0).reshape(6, 2) % 5, CLASSES),
        "ovr": MaxEnt(multi_class="ovr").fit([[name] for name in CLASSES], CLASSES),
        "texts": TextClassifier().fit(["good film", "bad film"], ["+", "-"]),
    }


# Laws.
NAMES = ["chain", "crfsuite", "graph", "network", "matrix", "ovr", "texts"]


@pytest.fixture(scope="module")
def models():
    return fitted()


@pytest.mark.parametrize("name", [*NAMES, "loaded network", "loaded matrix"])
def test_every_attribute_of_a_fitted_estimator_is_listed_and_read(name, models, tmp_path):
    model = models[name.removeprefix("loaded ")]
    if name.startswith("loaded"):
        model.save(tmp_path / "model")
        model = type(model).load(tmp_path / "model")
    members = dict(inspect.getmembers(model))
    assert {*members} <= {*dir(model)}
    assert [attribute for attribute in vars(model) if attribute not in members] == []


def test_every_attribute_is_listed_and_read_without_any_package_that_an_extra_installs(models, tmp_path):
    models["chain"].save(tmp_path / "model")
    program = f"""
import inspect
from loglinear import ChainCRF
for model in (ChainCRF().fit({SENTENCES!r}, {LABELS!r}), ChainCRF.load(sys.argv[1])):
    members = dict(inspect.getmembers(model))
    print({{*vars(model)}} <= {{*members}} <= {{*dir(model)}})
"""
    assert printed(BUT_NUMPY, program, tmp_path / "model") == ["True"] * 2


def test_every_attribute_is_listed_and_read_where_scikit_learn_alone_is_installed():
    missing = {*BUT_NUMPY} - {"scipy", "sklearn", "threadpoolctl"}
    program = f"""
import inspect
import numpy as np
from loglinear import ChainCRF, GraphCRF, MaxEnt, PairwiseMRF, TextClassifier, grid_edges
from loglinear.compat.sklearn_crfsuite import CRF
{inspect.getsource(sys.modules[__name__]).partition("# Data.")[2].partition("# Laws.")[0]}
MODELS = fitted()
for name, model in MODELS.items():
    print(name, len(inspect.getmembers(model)) > 20)
try:
    MODELS["network"].to_networkx()
except Exception as error:
    print(error)
"""
    *lines, message = printed(missing, program)
    assert lines == [f"{name} True" for name in NAMES]
    assert message == "PairwiseMRF.to_networkx needs networkx; install it: pip install 'loglinear[network]'"


DERIVED = {
    "graph": ["node_weights_", "edge_weights_"],
    "network": ["node_weights_", "weights_", "strengths_", "edges_"],
}


@pytest.mark.parametrize(("name", "attribute"), [(name, one) for name, each in DERIVED.items() for one in each])
def test_what_predictions_do_not_depend_on_cannot_be_written_to(name, attribute, models):
    for model in (models[name], pickle.loads(pickle.dumps(models[name]))):
        values = getattr(model, attribute)
        with pytest.raises(AttributeError):
            setattr(model, attribute, values)
        assert len(values) > 0
        assert not isinstance(values, list)
        for array in values if isinstance(values, tuple) else [values]:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@pytest.mark.parametrize("attribute", ["coef_", "intercept_", "classes_"])
def test_what_can_be_written_to_changes_the_predictions(attribute):
    X = np.arange(12.0).reshape(6, 2) % 5
    model = MaxEnt().fit(X, CLASSES)
    before = model.predict_log_proba(X).tolist(), model.predict(X).tolist()
    values = getattr(model, attribute)
    values[...] = values[::-1].copy()
    assert (model.predict_log_proba(X).tolist(), model.predict(X).tolist()) != before


# Pickles.
def numpy_names(pickled):
    """Return the modules of NumPy that a pickle names, pickles inside it included."""
    return {*re.findall(rb"numpy[.\w]*", pickled)} - {b"numpy"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("protocol", [2, 4, pickle.HIGHEST_PROTOCOL])
def test_pickles_name_no_module_of_numpy_that_another_version_lacks(name, protocol, models):
    model = models[name]
    pickled = pickle.dumps(model, protocol)
    assert numpy_names(pickled) == set()
    same_attributes(pickle.loads(pickled), model)


def same_attributes(again, model):
    """Compare the attributes of two estimators, to the last bit."""
    assert type(again) is type(model)
    assert {*vars(again)} == {*vars(model)}
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray):
            other = getattr(again, name)
            assert (other.dtype, other.flags.f_contiguous, other.tolist()) == (
                value.dtype,
                value.flags.f_contiguous,
                value.tolist(),
            )
    for other, result in zip(vars(again).get("_results", ()), vars(model).get("_results", ()), strict=True):
        assert other.w.tobytes() == result.w.tobytes()


@pytest.mark.parametrize("l1", [np.float64(0.1), "cv"])
@pytest.mark.parametrize("classes", [[1.0, 2.0], ["", "x"], [True, False], np.array(["a", "b"], object), [b"", b"y"]])
def test_numbers_and_arrays_of_any_type_are_pickled_without_private_names(l1, classes):
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = np.asarray(classes)[(X[:, 0] > 0.0).astype(int)]
    for sparse in (False, True):
        model = MaxEnt(l1=l1).fit(X, y)
        if sparse:
            model.sparsify()
        assert numpy_names(pickle.dumps(model)) == set()
        again = pickle.loads(pickle.dumps(model))
        same_attributes(again, model)
        assert type(again.l1) is type(model.l1)


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, clone, lambda model: joblib_round(model)])
def test_copies_answer_as_the_original(copied, models):
    for name in ("chain", "matrix", "graph", "network"):
        model = copied(models[name])
        assert model is not models[name]
        assert model.get_params() == models[name].get_params()
        if copied is not clone:
            same_attributes(model, models[name])


def test_arrays_keep_their_order_in_memory_and_odd_shapes(models):
    model = copy.copy(models["matrix"])
    arrays = [np.zeros((2, 3), order="F"), np.empty((0, 2)), np.array("x"), np.array([[1, "a"], [None, [2]]], object).T]
    model.extra_ = [*arrays, np.datetime64("2020-01-02"), np.str_("")]
    again = pickle.loads(pickle.dumps(model))
    assert [array.flags.f_contiguous for array in again.extra_[:4]] == [array.flags.f_contiguous for array in arrays]
    assert repr(again.extra_) == repr(model.extra_)
    again.extra_[0][0] = 1.0  # can be written to


def joblib_round(model):
    """Return a model that joblib has written and read."""
    out = io.BytesIO()
    joblib.dump(model, out)
    out.seek(0)
    return joblib.load(out)


def test_a_shallow_copy_shares_the_arrays_and_not_the_attributes(models):
    model = copy.copy(models["matrix"])
    assert model.coef_ is models["matrix"].coef_
    model.coef_ = None
    assert models["matrix"].coef_ is not None


def test_parameters_that_only_another_pickler_knows_are_left_to_it():
    class Strength(float):
        pass

    model = MaxEnt(l1=Strength(0.5)).fit(np.arange(12.0).reshape(6, 2) % 5, CLASSES)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(model)
    again = pickle.loads(pytest.importorskip("cloudpickle").dumps(model))
    assert again.l1 == 0.5
    same_attributes(again, model)
