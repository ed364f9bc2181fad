"""Laws of `loglinear inspect`."""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest

import loglinear
from loglinear import _core
from loglinear.data.templates import PRESETS

KEYS = {
    "n_features", "n_active", "n_attributes", "labels",
    "solver", "status", "objective", "violation", "passes", "seconds",
}  # fmt: skip


def test_help_shows_an_example(done):
    assert "example: loglinear inspect" in done("inspect", "--help").stdout


@pytest.mark.parametrize("kind", ["columns", "crfsuite", "jsonl"])
def test_json_has_the_keys_of_the_contract(done, sample, kind):
    report = json.loads(done("inspect", sample.models[kind], "--json").stdout)
    assert set(report) >= KEYS
    model = _core.ChainModel.open(str(sample.models[kind]))
    assert report["n_active"] == model.n_features
    assert report["n_attributes"] == model.n_attributes
    counts = Counter(token[-1] for sentence in sample.data["train"] for token in sentence)
    assert report["labels"] == model.labels == sorted(counts, key=lambda label: (-counts[label], label))
    assert report["n_active"] <= report["n_features"]
    assert (report["solver"], report["status"], report["format"]) == ("auto", "converged", kind)
    assert report["objective"] > 0
    assert report["violation"] >= 0
    assert report["passes"] >= 1
    assert report["seconds"] >= 0
    assert report["n_sentences"] == len(sample.data["train"])
    assert report["template"] == (sample.template.read_text() if kind == "columns" else None)


def test_strongest_weights_come_first_and_are_those_of_python(done, sample):
    report = json.loads(done("inspect", sample.model, "--json", "--top", "7").stdout)
    crf = loglinear.ChainCRF.load(sample.model)
    for shown, weights in (
        ([(each["attribute"], each["label"], each["weight"]) for each in report["top_states"]], crf.state_features_),
        (
            [(each["from"], each["label"], each["weight"]) for each in report["top_transitions"]],
            crf.transition_features_,
        ),
    ):
        assert len(shown) == 7
        sizes = [abs(weight) for *_, weight in shown]
        assert sizes == sorted(map(abs, weights.values()), reverse=True)[:7]
        assert all(weights[a, b] == weight for a, b, weight in shown)


def test_report_for_people_names_the_same(done, sample):
    report = json.loads(done("inspect", sample.model, "--json", "--top", "3").stdout)
    shown = done("inspect", sample.model, "--top", "3").stdout
    assert f"{report['n_active']:,} of {report['n_features']:,}" in shown
    assert " ".join(report["labels"]) in shown
    for each in report["top_states"]:
        assert f"{each['weight']:+.4f}  {each['name']}  -> {each['label']}" in shown
    for each in report["top_transitions"]:
        assert f"{each['weight']:+.4f}  {each['from']} -> {each['label']}" in shown
    assert sample.template.read_text().rstrip() in shown


def test_people_see_a_preset_without_the_notes_in_its_comments(done, tmp_path):
    (tmp_path / "data").write_text("w A\nv B\n\n")
    done("train", tmp_path / "data", "--preset", "ner", "-m", tmp_path / "m", "-q")
    shown = done("inspect", tmp_path / "m").stdout
    template = shown.partition("\ntemplate\n")[2]
    lines = [line for line in PRESETS["ner"].text.splitlines() if line and not line.startswith("#")]
    assert template.splitlines() == lines
    assert json.loads(done("inspect", tmp_path / "m", "--json").stdout)["template"] == PRESETS["ner"].text
    done("encode", tmp_path / "data", "--preset", "ner", "-o", tmp_path / "corpus", "-q")
    assert done("inspect", tmp_path / "corpus").stdout.endswith(f"\ntemplate\n{template}")
    (tmp_path / "crfpp").write_text("#!crf++\n# words\nU00:%x[0,0]\n")
    done("train", tmp_path / "data", "--template", tmp_path / "crfpp", "-m", tmp_path / "m", "-q")
    assert done("inspect", tmp_path / "m").stdout.endswith("\ntemplate\n#!crf++\nU00:%x[0,0]\n")


@pytest.mark.parametrize("top", ["0", "1000000"])
def test_any_number_of_weights(done, sample, top):
    report = json.loads(done("inspect", sample.model, "--json", "--top", top).stdout)
    assert len(report["top_states"]) == (
        len(loglinear.ChainCRF.load(sample.model).state_features_) if len(top) > 3 else 0
    )


def test_attribute_conditioned_transitions_are_among_the_transitions(done, tiny, tmp_path):
    (tmp_path / "template").write_text("B1:%x[0,0]\n")
    done("train", tiny, "--template", tmp_path / "template", "-m", tmp_path / "m")
    report = json.loads(done("inspect", tmp_path / "m", "--json").stdout)
    assert {(each["attribute"], each["from"], each["label"]) for each in report["top_transitions"]} == {
        ("B1:dog", "D", "N"), ("B1:barks", "N", "V"),
    }  # fmt: skip
    assert "word = dog  D -> N" in done("inspect", tmp_path / "m").stdout


def test_triples_of_a_second_order_chain_are_among_the_transitions(done, tmp_path):
    (tmp_path / "data").write_text("the DT D\ndog NN N\nbarks VBZ V\n")
    done("train", tmp_path / "data", "--preset", "pos", "--order", "2", "-m", tmp_path / "m")
    report = json.loads(done("inspect", tmp_path / "m", "--json", "--top", "100").stdout)
    triples = [each for each in report["top_transitions"] if "before" in each]
    assert [(each["before"], each["from"], each["label"]) for each in triples] == [("D", "N", "V")]
    weight = loglinear.ChainCRF.load(tmp_path / "m").triple_features_["D", "N", "V"]
    assert triples[0]["weight"] == weight != 0.0
    assert report["order"] == 2
    assert f"{weight:+.4f}  D -> N -> V" in done("inspect", tmp_path / "m").stdout


def test_names_that_the_terminal_cannot_show_are_no_reason_to_crash(done, tmp_path):
    data = tmp_path / "data"
    data.write_text("Ä\té😀\tx\nB\ty\n", encoding="utf-8")
    done("train", data, "-f", "crfsuite", "-m", tmp_path / "m")
    assert "é😀" in done("inspect", tmp_path / "m", env=os.environ | {"PYTHONIOENCODING": "utf-8"}).stdout
    assert "-> B" in done("inspect", tmp_path / "m", env=os.environ | {"PYTHONIOENCODING": "ascii"}).stdout


def test_a_negative_number_of_weights_is_refused(misuse, sample):
    assert "--top: '-3' is not a whole number of at least 0" in misuse(
        "inspect", sample.model, "--top", "-3", usage=True
    )


@pytest.mark.parametrize("limit", [0, 1])
def test_the_end_of_a_training_is_told_in_words(done, chunker, tmp_path, limit):
    options = ["--preset", "ner", "-m", tmp_path / "m", "-q", "--max-iterations", limit]
    done("train", chunker.train, *map(str, options))
    shown = done("inspect", tmp_path / "m").stdout
    assert "ended            stopped at the iteration limit, before convergence; " in shown
    assert ("; 1 iteration, " in shown) == (limit == 1)
    assert ("; 0 iterations, 1 pass, " in shown) == (limit == 0)
    done("train", chunker.train, *map(str, options[:-2]), "--dev", chunker.test, "--patience", "2")
    shown = done("inspect", tmp_path / "m").stdout
    assert "ended            finished: the development score no longer improves; " in shown


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ([], "texts            words, counted\n"),
        (["--ngrams", "2"], "texts            sequences of 2 words, counted\n"),
        (
            ["--ngrams", "1-2", "--tfidf"],
            "texts            sequences of 1 to 2 words, weighted by tf-idf\n",
        ),
    ],
)
def test_text_models_tell_how_texts_are_read(done, tmp_path, options, line):
    (tmp_path / "mails").write_text("spam\tbuy now\nham\tsee you\nspam\tbuy you\n")
    done(
        "train", tmp_path / "mails", "--model-type", "maxent", "--format", "text", "-m", tmp_path / "m", "-q", *options
    )
    assert line in done("inspect", tmp_path / "m").stdout
