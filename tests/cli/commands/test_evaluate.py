"""Laws of `loglinear evaluate`."""

from __future__ import annotations

import json

import pytest

import loglinear
from oracles.command_line import read_columns


def tagged(done, model, path):
    """Gold and predicted labels, from what `tag` prints for a labelled column file."""
    rows = read_columns(done("tag", "-m", model, path).stdout)
    return ([[row[at] for row in sentence] for sentence in rows] for at in (-2, -1))


def test_help_shows_an_example(done):
    assert "example: loglinear evaluate" in done("evaluate", "--help").stdout


def test_json_has_the_keys_of_the_contract(done, chunker):
    scores = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json").stdout)
    assert {"accuracy", "sentence_accuracy", "precision", "recall", "f1", "per_type"} <= set(scores)
    for name in ("accuracy", "sentence_accuracy", "precision", "recall", "f1"):
        assert 0.0 < scores[name] < 1.0, name
    assert set(scores["per_type"]) == {"NP", "VP"}
    for each in scores["per_type"].values():
        assert {"precision", "recall", "f1", "support"} <= set(each)


def test_numbers_are_those_of_the_metrics_on_what_tag_prints(done, chunker):
    scores = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json").stdout)
    gold, predicted = tagged(done, chunker.model, chunker.test)
    assert gold != predicted
    assert scores == loglinear.evaluate(gold, predicted).to_dict()


def test_chunk_scores_are_those_of_seqeval(done, chunker):
    seqeval = pytest.importorskip("seqeval.metrics")
    scores = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json").stdout)
    gold, predicted = tagged(done, chunker.model, chunker.test)
    assert scores["precision"] == pytest.approx(seqeval.precision_score(gold, predicted))
    assert scores["recall"] == pytest.approx(seqeval.recall_score(gold, predicted))
    assert scores["f1"] == pytest.approx(seqeval.f1_score(gold, predicted))
    assert scores["accuracy"] == pytest.approx(seqeval.accuracy_score(gold, predicted))


def test_labels_that_are_no_chunks_have_accuracies_alone(done, sample):
    scores = json.loads(done("evaluate", "-m", sample.model, sample.test, "--json").stdout)
    assert scores["precision"] is scores["recall"] is scores["f1"] is None
    assert scores["per_type"] == {}
    gold, predicted = tagged(done, sample.model, sample.test)
    assert scores == loglinear.evaluate(gold, predicted).to_dict()
    assert "chunks" not in done("evaluate", "-m", sample.model, sample.test).stdout


def test_accuracy_is_that_of_the_estimators_score(done, sample):
    scores = json.loads(done("evaluate", "-m", sample.model, sample.test, "--json").stdout)
    corpus = loglinear.Corpus.read(sample.test, template=sample.template.read_text())
    assert scores["accuracy"] == loglinear.ChainCRF.load(sample.model).score(corpus)


def test_table_for_people_shows_the_same_numbers(done, chunker):
    scores = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json").stdout)
    lines = [line.split() for line in done("evaluate", "-m", chunker.model, chunker.test).stdout.splitlines()]
    by_name = {line[0]: line for line in lines if line}
    assert by_name["accuracy"][-1] == f"{100 * scores['accuracy']:.2f}"
    assert by_name["overall"][1:4] == [f"{100 * scores[name]:.2f}" for name in ("precision", "recall", "f1")]
    noun = scores["per_type"]["NP"]
    assert by_name["NP"][1:] == [f"{100 * noun[name]:.2f}" for name in ("precision", "recall", "f1")] + [
        str(noun["support"])
    ]


@pytest.mark.parametrize("kind", ["columns", "crfsuite", "jsonl"])
def test_every_format_and_standard_input(done, sample, kind):
    path = sample.path("test", kind)
    printed = done("evaluate", "-m", sample.models[kind], path, "--json").stdout
    assert 0.5 < json.loads(printed)["accuracy"] < 1.0
    assert done("evaluate", "-m", sample.models[kind], "-", "--json", input=path.read_text()).stdout == printed


def test_labels_unknown_to_the_model_count_as_missed_with_a_warning(done, sample, tmp_path):
    path = tmp_path / "strange"
    path.write_text("the DT DET\ndog NN STRANGE\n\nthe DT DET\n")
    finished = done("evaluate", "-m", sample.model, path, "--json")
    (line,) = finished.stderr.splitlines()
    assert line.startswith("warning: ")
    assert str(path) in line
    assert line.endswith("STRANGE")
    scores = json.loads(finished.stdout)
    assert scores["accuracy"] == pytest.approx(2 / 3)
    assert scores["sentence_accuracy"] == 0.5


def test_words_of_a_segmentation_have_no_type(done, tmp_path):
    data = tmp_path / "data"
    data.write_text("a B\nb E\nc S\n\na B\nb E\nd S\n")
    done("train", data, "--preset", "segmentation", "-m", tmp_path / "m", "-q")
    scores = json.loads(done("evaluate", "-m", tmp_path / "m", data, "--json").stdout)
    assert scores["scheme"] == "BMES"
    assert scores["f1"] == 1.0
    assert scores["per_type"][""]["support"] == 4
    assert "words" in done("evaluate", "-m", tmp_path / "m", data).stdout
