"""Laws of the attributes of fitted estimators: all can be listed and read, and no write to them is lost."""

from __future__ import annotations

import inspect
import pickle
import sys

import numpy as np
import pytest

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
    assert name != "network" or members["graph_"].number_of_edges() == len(model.edges_)


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
    print(name, len(inspect.getmembers(model)) > 20, "graph_" in dir(model))
try:
    MODELS["network"].graph_
except Exception as error:
    print(error)
"""
    *lines, message = printed(missing, program)
    assert lines == [f"{name} True False" for name in NAMES]
    assert message == "PairwiseMRF.graph_ needs networkx; install it: pip install 'loglinear[network]'"


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
