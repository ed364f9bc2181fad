"""Laws of `loglinear convert`, and of commands that take other programs' models."""

from __future__ import annotations

import json
from pathlib import Path

import pycrfsuite
import pytest

WAPITI = Path(__file__).parents[2] / "models" / "wapiti"


@pytest.fixture(scope="module")
def crfsuite_model(tmp_path_factory):
    """A model that python-crfsuite trained on attribute files, and the file."""
    folder = tmp_path_factory.mktemp("crfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["w=the"], ["w=dog"], ["w=barks"]], ["DET", "NOUN", "VERB"])
    trainer.train(str(folder / "m.crfsuite"))
    (folder / "data.crfsuite").write_text("DET\tw=the\nNOUN\tw=dog\nVERB\tw=barks\n\n")
    return folder / "m.crfsuite", folder / "data.crfsuite"


def test_crfsuites_models_are_tagged_evaluated_and_inspected_as_they_are(done, crfsuite_model):
    model, data = crfsuite_model
    assert done("tag", "--model", model, data).stdout == "DET\nNOUN\nVERB\n\n"
    assert json.loads(done("evaluate", "--model", model, data, "--json").stdout)["accuracy"] == 1.0
    assert "a model of CRFsuite" in done("inspect", model).stdout
    assert json.loads(done("inspect", model, "--json").stdout)["imported"] == "crfsuite"


def test_to_our_format_and_back_is_the_same_file(done, crfsuite_model, tmp_path):
    model, data = crfsuite_model
    done("convert", model, tmp_path / "m.loglinear")
    assert done("tag", "--model", tmp_path / "m.loglinear", data).stdout == "DET\nNOUN\nVERB\n\n"
    done("convert", tmp_path / "m.loglinear", tmp_path / "back.crfsuite")
    assert (tmp_path / "back.crfsuite").read_bytes() == model.read_bytes()


def test_wapitis_models_label_columns(done, tmp_path):
    labelled = done("tag", "--model", WAPITI / "model.txt", WAPITI / "test.txt").stdout
    assert labelled == (WAPITI / "labelled.txt").read_text()
    done("convert", WAPITI / "model.txt", tmp_path / "m.wapiti")
    assert done("tag", "--model", tmp_path / "m.wapiti", WAPITI / "test.txt").stdout == labelled


def test_training_starts_at_wapitis_model_and_template(done, tmp_path):
    finished = done("train", "--start", WAPITI / "model.txt", WAPITI / "train.txt", "--model", tmp_path / "m")
    assert "features start from" in finished.stderr
    template = json.loads(done("inspect", tmp_path / "m", "--json").stdout)["template"]
    assert template.startswith("#!wapiti\nu00:%x[0,0]\n")


def test_a_template_is_not_lost_without_a_word(done, sample, tmp_path):
    finished = done("convert", sample.models["columns"], tmp_path / "m.crfsuite")
    assert "does not contain the template" in finished.stderr


def test_misuse_is_refused(misuse, sample, crfsuite_model, tmp_path):
    model, _ = crfsuite_model
    assert "add --to" in misuse("convert", model, tmp_path / "m.bin")
    own = sample.models["columns"]
    assert f"{own}: a model, not texts" in misuse("convert", own, tmp_path / "m.jsonl", "--to", "doccano")
    assert "#!wapiti" in misuse("convert", model, tmp_path / "m.wapiti")
    assert "would overwrite" in misuse("convert", model, model)
    (tmp_path / "bad.crfsuite").write_bytes(model.read_bytes()[:-5])
    assert "bytes are left" in misuse("inspect", tmp_path / "bad.crfsuite")
