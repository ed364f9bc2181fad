"""The origin of a model: the day of its training."""

from __future__ import annotations

import time

import pytest

from loglinear import ChainCRF, MaxEnt, PairwiseMRF
from loglinear.models.files.chain import open_model
from loglinear.models.files.origin import training_date


def test_the_day_is_the_one_of_the_training_and_not_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    X, y = [[["a"], ["b"]]] * 2, [["A", "B"]] * 2
    crf, classifier = ChainCRF().fit(X, y), MaxEnt().fit([["a"], ["b"]], ["A", "B"])
    network = PairwiseMRF(l1=0.1).fit([["a", "b"], ["c", "d"]] * 4)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    for model, name in ((crf, "crf"), (classifier, "classifier")):
        model.save(tmp_path / name)
        assert open_model(str(tmp_path / name))[1]["training"]["date"] == "1970-01-02"
    network.save(tmp_path / "network", files={"training": ["table.csv"]})
    again = PairwiseMRF.load(tmp_path / "network")
    assert again._training["date"] == "1970-01-02"
    again.save(tmp_path / "copy")
    assert PairwiseMRF.load(tmp_path / "copy")._notes == {"files": {"training": ["table.csv"]}}


@pytest.mark.parametrize("text", ["", "now", "-1", "9" * 400])
def test_a_variable_that_is_not_a_time_is_ignored(monkeypatch, text):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", text)
    today = {time.strftime("%Y-%m-%d", time.gmtime()) for _ in range(2)}
    assert training_date() in today
