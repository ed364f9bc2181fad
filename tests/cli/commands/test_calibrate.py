"""`loglinear calibrate` writes the model that `calibrate` of Python makes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import loglinear
from oracles.command_line import read_columns


@pytest.mark.parametrize("by", [None, "token", "sequence"])
def test_the_model_is_that_of_python(done, chunker, tmp_path, by):
    rows = read_columns(chunker.test.read_text())
    X, y = [[row[:2] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]
    crf = loglinear.ChainCRF.load(chunker.model).calibrate(X, y, by=by)
    flags = () if by is None else ("--by", by)
    printed = json.loads(done("calibrate", chunker.model, chunker.test, *flags, "--json", "-o", tmp_path / "m").stdout)
    written = loglinear.ChainCRF.load(tmp_path / "m")
    assert printed["temperature"] == written.temperature_ == crf.temperature_
    np.testing.assert_array_equal(written.log_partition(X), crf.log_partition(X))
    shown = json.loads(done("evaluate", tmp_path / "m", chunker.test, "--json", "--calibration").stdout)["calibration"]
    assert printed["after"] == {name: of["expected_calibration_error"] for name, of in shown.items()}
    table = done("calibrate", chunker.model, chunker.test, *flags, "-o", tmp_path / "m").stdout.splitlines()
    assert table[0].split()[:2] == [
        "temperature",
        f"{printed['temperature']:.4g}{':' if crf.temperature_ == 1 else ''}",
    ]
    assert [line.split()[0] for line in table[2:]] == ["tokens", "spans", "sequences"]
    if crf.temperature_ != 1.0:
        assert "temperature" in done("inspect", tmp_path / "m").stdout


def test_texts_are_calibrated(done, tmp_path):
    text = "good\tfine nice\nbad\tawful bad\n"
    (tmp_path / "train.txt").write_text(text * 10)
    (tmp_path / "dev.txt").write_text(text * 10 + "bad\tfine nice\ngood\tawful bad\n" * 4)
    done(
        "train",
        tmp_path / "train.txt",
        "-f",
        "text",
        "--model-type",
        "maxent",
        "--l2",
        "0.01",
        "-m",
        tmp_path / "m",
        "-q",
    )
    done("calibrate", tmp_path / "m", tmp_path / "dev.txt", "-o", tmp_path / "c")
    lines = [line.split("\t") for line in (tmp_path / "dev.txt").read_text().splitlines()]
    model = loglinear.TextClassifier.load(tmp_path / "c")
    p = model.predict_proba([text for _, text in lines]).max(axis=1)
    np.testing.assert_allclose(p, 20 / 28, rtol=1e-3)  # as often as these answers are right


def test_what_cannot_be_calibrated_is_named(misuse, done, chunker, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,1\n0,0\n" * 10)
    done("structure", tmp_path / "t.csv", "--l1", "0.01", "-m", tmp_path / "n")
    assert "only chains and classifiers have a temperature" in misuse(
        "calibrate", tmp_path / "n", tmp_path / "t.csv", "-o", tmp_path / "o"
    )
    (tmp_path / "dev").write_text("a\tNN\tNEW\n\n")
    assert "the model knows none of the labels NEW" in misuse(
        "calibrate", chunker.model, tmp_path / "dev", "-o", tmp_path / "o"
    )
    assert not (tmp_path / "o").exists()


def test_a_bias_is_tuned_stored_shown_and_replaced(done, chunker, tmp_path):
    rows = read_columns(chunker.test.read_text())
    X, y = [[row[:2] for row in sentence] for sentence in rows], [[row[-1] for row in sentence] for sentence in rows]
    metric = "recall at precision 0.633"
    crf = loglinear.ChainCRF.load(chunker.model).tune_bias(X, y, metric=metric)
    command = ("calibrate", chunker.model, chunker.test, "--tune-bias", metric, "-o", tmp_path / "m")
    printed = json.loads(done(*command, "--json").stdout)
    written = loglinear.ChainCRF.load(tmp_path / "m")
    assert written.temperature_ == printed["temperature"]
    assert written.predict(X) == crf.predict(X)
    assert printed["label_bias"] == crf.label_bias != {"O": 0.0}
    scores = loglinear.evaluate(y, crf.predict(X))
    assert printed["scores"]["after"]["recall"] == scores.recall
    lines = done(*command).stdout.splitlines()
    assert lines[0] == f"label bias O={crf.label_bias['O']:g}"
    assert [line.split()[0] for line in lines[2:6]] == ["accuracy", "precision", "recall", "f1"]
    assert f"label bias       O={written.label_bias['O']:g}" in done("inspect", tmp_path / "m").stdout
    without = json.loads(done("evaluate", tmp_path / "m", chunker.test, "--json", "--label-bias", "O=0").stdout)
    before = json.loads(done("evaluate", chunker.model, chunker.test, "--json").stdout)
    assert without == before
    assert without["f1"] == printed["scores"]["before"]["f1"]


def test_a_bias_that_cannot_be_tuned_is_named(misuse, done, chunker, tmp_path):
    (tmp_path / "train.txt").write_text("good\tfine nice\nbad\tawful bad\n" * 10)
    command = ("train", tmp_path / "train.txt", "-f", "text", "--model-type", "maxent", "-m", tmp_path / "m", "-q")
    done(*command)
    told = misuse("calibrate", tmp_path / "m", tmp_path / "train.txt", "-o", tmp_path / "o", "--tune-bias", "f1")
    assert "is a text classifier; leave out --tune-bias" in told
    told = misuse("evaluate", tmp_path / "m", tmp_path / "train.txt", "--label-bias", "bad=1")
    assert "leave out --label-bias" in told
    told = misuse("calibrate", chunker.model, chunker.test, "-o", tmp_path / "o", "--tune-bias", "F2")
    assert "'F2' is unknown; choose f1, accuracy" in told
