"""Names of the columns of tables: a model that was saved, pickled or copied knows them as the fitted one does."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from loglinear import DataError, MaxEnt, ModelFileError, PairwiseMRF
from oracles.model_file import ModelFile

pandas = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
NAMES = ["age", "mean radius", "Größe", "2"]
TABLE = pandas.DataFrame(RNG.normal(size=(60, 4)) * [1.0, 2.0, 3.0, 4.0], columns=NAMES)
CLASSES = np.array([*"abc"])[np.abs(TABLE.to_numpy()[:, :3]).argmax(axis=1)]
STATES = pandas.DataFrame((RNG.random((90, 3)) < 0.5).astype(int), columns=["wet", "rain", "cold"])
MODELS = {"classifier": (MaxEnt(l2=0.5), TABLE, CLASSES), "network": (PairwiseMRF(l1=1.0), STATES, None)}
WAYS = {
    "file": lambda model, path: (model.save(path), type(model).load(path))[1],
    "file of the file": lambda model, path: WAYS["file"](WAYS["file"](model, path), path),
    "pickle": lambda model, path: pickle.loads(pickle.dumps(model)),
    "copy": lambda model, path: copy.deepcopy(model),
    "pickle of the file": lambda model, path: pickle.loads(pickle.dumps(WAYS["file"](model, path))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_copy_of_a_model_takes_the_columns_of_its_training_and_refuses_others(kind, way, tmp_path):
    bare, X, y = MODELS[kind]
    model = copy.deepcopy(bare).fit(X, y)
    twin = WAYS[way](model, tmp_path / "model")
    assert twin.feature_names_in_.tolist() == [*X.columns]
    assert twin.feature_names_in_.dtype == object
    for called, right in zip(twin.predict_proba(X), model.predict_proba(X), strict=True):
        np.testing.assert_array_equal(called, right)
    for other in (X[[*X.columns[::-1]]], X.rename(columns={X.columns[0]: "other"}), X[[*X.columns[:-1]]]):
        with pytest.raises(DataError) as told:
            model.predict(other)
        with pytest.raises(DataError) as told_by_twin:
            twin.predict(other)
        assert str(told_by_twin.value) == str(told.value)


def test_columns_of_a_file_are_matched_by_name(tmp_path):
    options = {"tolerance": 0.0, "solver": "lbfgs", "solver_options": {"gradient_tolerance": 1e-9}, "l2": 0.5}
    old = MaxEnt(**options).fit(TABLE, CLASSES)
    old.save(tmp_path / "old")
    for start in (tmp_path / "old", MaxEnt.load(tmp_path / "old")):
        again = MaxEnt(**options).fit(TABLE[NAMES[::-1]], CLASSES, start=start)
        assert again.result_.trace[0].objective == pytest.approx(old.result_.objective, rel=1e-12)
        fewer = MaxEnt(**options).fit(TABLE[NAMES[1:]].assign(new=1.0), CLASSES, start=start)
        assert fewer.result_.start.n_shared == 3 * (3 + 1)


def test_files_without_names_of_columns_are_read_as_before(tmp_path):
    MaxEnt().fit(TABLE, CLASSES).save(tmp_path / "model")
    _without(tmp_path / "model", "column_names")
    old = MaxEnt.load(tmp_path / "model")
    assert not hasattr(old, "feature_names_in_")
    assert old.predict(TABLE.to_numpy()[:, ::-1]).shape == (60,)
    MaxEnt().fit(TABLE.to_numpy(), CLASSES).save(tmp_path / "matrix")
    assert not hasattr(MaxEnt.load(tmp_path / "matrix"), "feature_names_in_")


@pytest.mark.parametrize(
    "names", [["a"], ["a", "b", "c", "a"], ["a", "b", "c", "d", "e"], [1, 2, 3, 4], "abcd", {"a": 1}], ids=str
)
def test_names_that_do_not_fit_the_columns_are_refused(names, tmp_path):
    path = tmp_path / "model"
    MaxEnt().fit(TABLE, CLASSES).save(path)
    _with(path, column_names=names)
    with pytest.raises(ModelFileError, match=r"model: setting column_names"):
        MaxEnt.load(path)


def test_names_that_no_file_can_hold_are_refused_when_a_model_is_saved(tmp_path):
    names = pandas.Index(["r\udc80", "rain", "cold"], dtype=object)
    for model in (
        MaxEnt().fit(pandas.DataFrame(TABLE.to_numpy()[:, :3], columns=names), CLASSES),
        PairwiseMRF(l1=1.0).fit(pandas.DataFrame(STATES.to_numpy(), columns=names)),
    ):
        with pytest.raises(DataError, match=r"a name or class .* not valid Unicode .*udc80.*; rename it"):
            model.save(tmp_path / "model")
        assert not (tmp_path / "model").exists()


def _with(path: Path, **settings: object) -> None:
    """Change settings of a model's file."""
    file = ModelFile.of_bytes(path.read_bytes())
    file.settings = file.settings | settings
    path.write_bytes(file.to_bytes())


def _without(path: Path, name: str) -> None:
    """Leave a setting out of a model's file, as an older program did."""
    file = ModelFile.of_bytes(path.read_bytes())
    assert name in file.settings
    file.settings = {key: value for key, value in file.settings.items() if key != name}
    path.write_bytes(file.to_bytes())
