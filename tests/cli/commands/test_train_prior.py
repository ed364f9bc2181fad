"""`loglinear train --prior`: chains, classifiers and texts around an older model."""

from __future__ import annotations

import json

import pytest

from loglinear import ChainCRF, MaxEnt, TextClassifier
from oracles.command_line import run_command as run

OLD = "the DET\ndog NOUN\nbarks VERB\n\ndogs NOUN\nbark VERB\n"
NEW = "the DET\nbark NOUN\n\nRex NAME\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "old.txt").write_text(OLD)
    (tmp_path / "new.txt").write_text(NEW)
    (tmp_path / "old.tsv").write_text("+\tgood film\n-\tbad film\n")
    (tmp_path / "new.tsv").write_text("+\tfine plot\n-\tawful plot\n")
    return tmp_path


def train(*arguments):
    done = run("train", *map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_a_prior_gives_the_template_and_keeps_what_the_new_data_lack(files, kind):
    old, new, same = (files / f"{name}.loglinear" for name in ("old", "new", "same"))
    train(files / "old.txt", "--model-type", kind, "--preset", "pos", "-m", old)
    said = train(files / "new.txt", "--model-type", kind, "--prior", old, "--prior-strength", 2, "-m", new)
    assert f"features have a prior from {old}, strength 2; 1 label is new" in said
    train(files / "new.txt", "--model-type", kind, "--prior", old, "--prior-strength", "inf", "-m", same)
    kinds = {"chain": ChainCRF, "maxent": MaxEnt}
    before, after, kept = (kinds[kind].load(path) for path in (old, new, same))
    if kind == "chain":
        assert kept.state_features_ == before.state_features_
        lacking = [name for name in before.state_features_ if "barks" in name[0]]
        assert lacking
        assert all(after.state_features_[name] == before.state_features_[name] for name in lacking)
    inspected = run("inspect", str(new)).stdout
    assert "prior            " in inspected
    assert "strength 2" in inspected
    assert json.loads(run("inspect", str(same), "--json").stdout)["prior"]["strength"] is None
    assert "strength inf" in run("inspect", str(same)).stdout


def test_texts_around_an_older_model(files):
    old, new = files / "old.loglinear", files / "new.loglinear"
    options = "--model-type", "maxent", "--format", "text"
    train(files / "old.tsv", *options, "-m", old)
    train(files / "new.tsv", *options, "--prior", old, "--prior-strength", 2, "-m", new)
    assert TextClassifier.load(new).predict(["good", "awful"]).tolist() == ["+", "-"]


def test_misuse_of_a_prior_says_what_to_do(files):
    old = files / "old.loglinear"
    train(files / "old.txt", "--preset", "pos", "-m", old)
    arguments = str(files / "new.txt"), "-m", str(files / "new.loglinear")
    for flags, message in (
        (["--prior-strength", "2"], "needs a prior"),
        (["--prior", str(old), "--prior-strength", "2", "--l2", "1"], "--l2 and --prior-strength cannot be combined"),
        (["--prior", str(old), "--start", str(old)], "both start and prior"),
        (["--prior", str(old), "--prior-strength=-1"], "--prior-strength"),
        (["--prior", str(old), "--solver", "sgd_l1"], "sgd_l1 needs"),
        (["--prior", str(old), "--preset", "ner"], "has another template"),
    ):
        done = run("train", *arguments, *flags)
        assert done.returncode == 2
        assert message in done.stderr


def test_the_command_of_a_report_trains_around_the_same_weights(files, tmp_path):
    pytest.importorskip("jinja2")
    old, new, page = files / "old.loglinear", files / "new.loglinear", tmp_path / "page.html"
    train(files / "old.txt", "--preset", "pos", "-m", old)
    train(files / "new.txt", "--prior", old, "--l2", 3, "-m", new)
    assert run("report", new, "--data", files / "new.txt", "-o", page).returncode == 0
    assert f"--prior {old} --prior-strength 3" in page.read_text()
    assert "--l2" not in page.read_text()


def test_a_prior_of_another_kind_or_with_biases_speaks_of_flags(files):
    old, new = files / "old.loglinear", files / "new.loglinear"
    train(files / "old.txt", "--model-type", "maxent", "--preset", "pos", "-m", old)
    done = run("train", files / "new.txt", "--model-type", "maxent", "--multi-class", "ovr", "--prior", old, "-m", new)
    assert done.returncode == 2
    assert "was trained with --multi-class softmax, whose weights mean something else; set --multi-class" in done.stderr
    assert done.stderr.rstrip().endswith("or give it as --start")
    train(files / "old.txt", "--preset", "pos", "-m", old)
    crf = ChainCRF.load(old)
    crf.label_bias = {"NOUN": -0.5}
    crf.save(old)
    said = run("train", files / "new.txt", "--prior", old, "-m", new, "-q", apart=True).stderr
    assert f"warning: prior: {old} has biases of labels" in said
    assert "--label-bias NOUN=-0.5 of `loglinear tag`" in said
