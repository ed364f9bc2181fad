"""Laws of `loglinear encode`, and of commands that take an encoded corpus in place of a file."""

from __future__ import annotations

import json
import os

import pytest

from loglinear import ChainCRF, Corpus


@pytest.fixture
def corpus(done, sample, tmp_path):
    """The training data, encoded."""
    finished = done("encode", sample.train, "--template", sample.template, "-o", tmp_path / "c")
    assert finished.stderr.startswith(f"{tmp_path / 'c'}: 120 sentences, ")
    return tmp_path / "c"


def test_a_model_trained_on_a_corpus_is_the_one_trained_on_the_file(done, sample, corpus, tmp_path):
    shared = ["--solver", "owlqn", "--l1", "0.5", "-q"]
    done("train", corpus, *shared, "-m", tmp_path / "a")
    done("train", sample.train, "--template", sample.template, *shared, "-m", tmp_path / "b")
    shown = [json.loads(done("inspect", tmp_path / name, "--json", "--top", "9999").stdout) for name in "ab"]
    for each in shown:
        del each["seconds"]
    assert shown[0] == shown[1]


def test_evaluate_tag_and_inspect_take_a_corpus(done, misuse, sample, corpus):
    model = sample.models["columns"]
    from_file, from_corpus = (
        json.loads(done("evaluate", "-m", model, path, "--json").stdout) for path in (sample.train, corpus)
    )
    assert from_corpus == from_file
    tagged = done("tag", "-m", model, sample.train).stdout.splitlines()
    assert done("tag", "-m", model, corpus).stdout.splitlines() == [line.split("\t")[-1] for line in tagged]
    assert "tagged with labels only" in misuse("tag", "-m", model, corpus, "--marginals")
    shown = json.loads(done("inspect", corpus, "--json").stdout)
    assert (shown["n_sentences"], shown["labels"]) == (120, Corpus.open(corpus).labels)
    assert "files            whole" in done("inspect", corpus).stdout
    ids = corpus / "state_ids.u32"
    content = ids.read_bytes()
    ids.write_bytes(content[:8] + bytes([content[8] ^ 1]) + content[9:])
    for command in (
        ("inspect", corpus),
        ("train", corpus, "-m", corpus.parent / "m", "-q"),
        ("evaluate", "-m", model, corpus),
    ):
        assert "state_ids.u32: the file is damaged from byte 0" in misuse(*command)


def test_files_pipes_and_corpora_are_joined(done, sample, tmp_path):
    text = sample.train.read_text()
    options = ["--template", sample.template, "-q"]
    done("encode", "-", "-o", tmp_path / "a", *options, input=text)
    done("encode", sample.train, sample.train, "-o", tmp_path / "b", *options)
    done("encode", sample.train, "--append", "-o", tmp_path / "a", "-q")
    done("encode", tmp_path / "a", "-o", tmp_path / "c", *options)
    found = [Corpus.open(tmp_path / name) for name in "abc"]
    assert [len(each) for each in found] == [240] * 3
    assert len({each.core.checksum for each in found}) == 1


def test_rare_attributes_are_left_out(done, sample, tmp_path):
    options = ["--template", sample.template, "-o", tmp_path / "c"]
    finished = done("encode", sample.train, "--min-count", "3", *options)
    assert "on 3 tokens or more" in finished.stderr
    few = Corpus.open(tmp_path / "c").n_attributes
    done("encode", sample.train, *options)
    assert few < Corpus.open(tmp_path / "c").n_attributes


def test_misuse_is_refused_and_leaves_nothing(misuse, done, sample, tmp_path):
    data, template = sample.train, ["--template", sample.template]
    assert "need a template" in misuse("encode", data, "-o", tmp_path / "c")
    assert "already exists" in misuse("encode", data, *template, "-o", data)
    assert "its folder does not exist" in misuse("encode", data, *template, "-o", tmp_path / "no" / "c")
    assert "line 2" in misuse("encode", "-", *template, "-o", tmp_path / "c", input="a b c\na b\n")
    assert "reads its input twice" in misuse(
        "encode", "-", *template, "--min-count", "2", "-o", tmp_path / "c", input="a b\n"
    )
    assert "leave out --append" in misuse("encode", data, "--append", "--min-count", "2", "-o", tmp_path / "c")
    assert "a loglinear model, not data" in misuse("encode", sample.models["columns"], *template, "-o", tmp_path / "c")
    assert os.listdir(tmp_path) == []
    assert "not an encoded corpus" in misuse("encode", data, "--append", "-o", tmp_path)


def test_odd_data_are_told_as_by_a_training(done, tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("word tag\nRita N\nmet V\n")
    said = done("encode", path, "--preset", "pos", "-o", tmp_path / "c").stderr
    assert f"warning: {path}: the first line has the label 'tag': is it a header? remove it" in said
    assert f"warning: {path}: all 3 tokens are in one sentence" in said
    path.write_text("Rita N\nmet N\n\nRita N\n")
    said = done("encode", path, "--preset", "pos", "-o", tmp_path / "c").stderr
    assert f"warning: {path}: the data have a single label, 'N'" in said


def test_costs_of_tokens_are_encoded_and_train_the_model_of_the_text(done, misuse, tmp_path):
    path, template = tmp_path / "data", tmp_path / "template"
    rows = [("Ann", 2, "B-PER"), ("left", 0.5, "O"), ("Oslo", 3.25, "B-LOC"), ("Ann", 0, "O")] * 3
    path.write_text("".join(f"{word} {cost} {label}\n\n" for word, cost, label in rows))
    template.write_text("U0:%x[0,0]\nU1:%x[1,0]\n")
    encode, train = ("--template", template, "-q"), ("--l2", "0.1", "-q", "-m", tmp_path / "m")
    done("encode", path, path, "--weight-column", "1", "-o", tmp_path / "a", *encode)
    done("encode", path, "--weight-column", "1", "-o", tmp_path / "b", *encode)
    done("encode", path, "--append", "-o", tmp_path / "b", "-q")
    done("encode", path, "--weight-column", "1", "--min-count", "2", "-o", tmp_path / "c", *encode)
    done("encode", tmp_path / "c", path, "--weight-column", "1", "-o", tmp_path / "d", *encode)
    weights = []
    for data in ([tmp_path / "a"], [tmp_path / "b"], [tmp_path / "d"], [path, path, "--weight-column", "1", *encode]):
        done("train", *data, *train)
        weights.append(ChainCRF.load(tmp_path / "m").state_features_)
    assert weights[0] == weights[1] == weights[2] == weights[3]
    done("encode", path, "--label-column", "2", "-o", tmp_path / "e", *encode)
    done("train", tmp_path / "e", *train)
    assert ChainCRF.load(tmp_path / "m").state_features_ != weights[0]
    refused = misuse("encode", path, "--unlabelled", "--weight-column", "1", "-o", tmp_path / "f", *encode)
    assert "--weight-column is for labelled data: costs are of wrong labels; leave it out" in refused
