"""Models have the names of the files of their training."""

from __future__ import annotations

import json

from loglinear import PairwiseMRF
from loglinear.models.files.chain import open_model


def test_a_command_stores_the_names_of_its_files(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one.txt", "two.txt", "dev.txt"):
        (tmp_path / name).write_text("the D\ndog N\n\nit P\nbarks V\n\n")
    (tmp_path / "a b.template").write_text("U:%x[0,0]\nB\n")
    (tmp_path / "table.csv").write_text("a,b\n" + "x,y\nu,v\n" * 9)
    flags = ["--template", "a b.template", "--dev", "dev.txt", "-q", "-m", "m"]
    expected = {"training": ["one.txt", "two.txt"], "development": ["dev.txt"], "template": ["a b.template"]}
    for kind in ("chain", "maxent"):
        done("train", "one.txt", "two.txt", *flags, "--model-type", kind)
        assert open_model("m")[1]["files"] == expected
    done("train", "one.txt", "--preset", "pos", "-q", "-m", "m")
    assert open_model("m")[1]["files"] == {"training": ["one.txt"]}
    (tmp_path / "texts.tsv").write_text("spam\tbuy now\nham\tsee you\n" * 5)
    done("train", "texts.tsv", "--model-type", "maxent", "--format", "text", "-q", "-m", "m")
    assert open_model("m")[1]["files"] == {"training": ["texts.tsv"]}
    done("structure", "table.csv", "-m", "m", "-q", "--l1", "0.1")
    assert PairwiseMRF.load("m")._notes == {"files": {"training": ["table.csv"]}}
    assert json.loads(done("inspect", "m", "--json").stdout)["n_samples"] == 18
