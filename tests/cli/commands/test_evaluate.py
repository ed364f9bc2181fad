"""Laws of `loglinear evaluate`."""

from __future__ import annotations

import json

import pytest

import loglinear
import loglinear.models.text_classifier
from loglinear.metrics import tagging_calibration
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


def test_labels_that_are_no_chunks_have_scores_of_labels_and_confusions(done, sample):
    scores = json.loads(done("evaluate", "-m", sample.model, sample.test, "--json").stdout)
    assert scores["precision"] is scores["recall"] is scores["f1"] is None
    assert scores["per_type"] == {}
    gold, predicted = tagged(done, sample.model, sample.test)
    evaluation = loglinear.evaluate(gold, predicted)
    assert scores == evaluation.to_dict()
    assert sum(sum(row.values()) for row in scores["confusion"].values()) == scores["n_tokens"]
    assert scores["per_label"]["NOUN"]["support"] == sum(scores["confusion"]["NOUN"].values()) > 0
    shown = done("evaluate", "-m", sample.model, sample.test).stdout
    assert "chunks" not in shown
    assert shown == evaluation.report() + "\n"


def test_a_matrix_is_shown_where_the_terminal_is_wide_enough(done, sample, monkeypatch):
    arguments = ("evaluate", "-m", sample.model, sample.test)
    assert "most frequent confusions" in done(*arguments).stdout
    monkeypatch.setenv("COLUMNS", "400")
    assert "rows gold, columns predicted" in done(*arguments).stdout


def test_strict_mode_is_that_of_seqeval(done, misuse, chunker):
    from seqeval import scheme
    from seqeval.metrics import v1

    arguments = ("evaluate", "-m", chunker.model, chunker.test, "--json", "--mode", "strict")
    gold, predicted = tagged(done, chunker.model, chunker.test)
    lenient = json.loads(done(*arguments[:-2]).stdout)
    for options, kind in (((), scheme.IOB2), (("--scheme", "IOB1"), scheme.IOB1)):
        scores = json.loads(done(*arguments, *options).stdout)
        expected = v1.precision_recall_fscore_support(
            gold, predicted, average="micro", mode="strict", scheme=kind, zero_division=0
        )
        assert [scores[name] for name in ("precision", "recall", "f1")] == pytest.approx(expected[:3])
        assert (scores["mode"], scores["scheme"]) == ("strict", kind.__name__)
    assert scores["f1"] != lenient["f1"]
    assert "not one of conlleval, strict" in misuse(*arguments[:-1], "lenient")
    assert "unknown tagging scheme 'XY'; choose from IOB" in misuse(*arguments, "--scheme", "XY")
    assert "does not belong to the scheme IOE2" in misuse(*arguments, "--scheme", "IOE2")


def conlleval_counts(text):
    """Numbers of tokens, right tokens, gold, predicted and right chunks, as the conlleval script reads its input."""
    from test_metrics import conlleval_chunks

    right = tokens = 0
    gold, predicted = [], []
    for line in [*text.split("\n"), ""]:
        cells = line.split(" ") if line else ["", "O", "O"]
        assert len(cells) >= 3
        right, tokens = right + bool(line and cells[-1] == cells[-2]), tokens + bool(line)
        gold.append(cells[-2])
        predicted.append(cells[-1])
    found, guessed = set(conlleval_chunks(gold)), set(conlleval_chunks(predicted))
    return tokens, right, len(found), len(guessed), len(found & guessed)


@pytest.mark.parametrize("place", ["file", "-"])
def test_output_is_what_conlleval_reads(done, chunker, tmp_path, place):
    output = tmp_path / "columns" if place == "file" else "-"
    finished = done("evaluate", "-m", chunker.model, chunker.test, "--json", "-o", output)
    text = output.read_text() if place == "file" else finished.stdout
    scores = json.loads(finished.stdout if place == "file" else finished.stderr)
    assert json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json").stdout) == scores
    tokens, right, found, guessed, both = conlleval_counts(text)
    assert scores["accuracy"] == right / tokens
    assert (scores["precision"], scores["recall"]) == (both / guessed, both / found)
    # The token's columns stand before the gold label.
    rows = [line.split(" ") for line in text.splitlines()]
    given = read_columns(chunker.test.read_text())
    assert [row[:-1] for row in rows if row != [""]] == [row for sentence in given for row in sentence]
    assert rows.count([""]) == len(given)


@pytest.mark.parametrize("tags", ["BIES", "BILU"])
@pytest.mark.parametrize("mode", ["conlleval", "strict"])
def test_output_of_other_schemes_is_iob2_with_the_same_chunks(done, tmp_path, tags, mode):
    b, i, e, s = tags
    gold = [f"{b}-X {i}-X {e}-X O", f"{s}-X {s}-Y {s}-Y O", f"O {b}-Y {e}-Y {s}-Y", f"{b}-X {e}-X {b}-X {e}-X"]
    words = ["a b c d", "x y y d", "d p q y", "a c a c"]
    blocks = [
        "".join(f"{w} {g}\n" for w, g in zip(ws.split(), gs.split(), strict=True))
        for ws, gs in zip(words, gold, strict=True)
    ]
    (tmp_path / "train").write_text("\n".join(blocks * 3))
    # Other gold labels than those of the training data: some chunks are wrong, and some are malformed.
    others = [block.replace("d O", f"d {i}-X").replace(f"{b}-Y", f"{i}-Y") for block in blocks]
    (tmp_path / "test").write_text("\n".join(others))
    done("train", tmp_path / "train", "--preset", "pos", "-m", tmp_path / "m", "-q")
    finished = done("evaluate", tmp_path / "m", tmp_path / "test", "--mode", mode, "--json", "-o", tmp_path / "columns")
    scores, text = json.loads(finished.stdout), (tmp_path / "columns").read_text()
    assert {line.split(" ")[-1][0] for line in text.splitlines() if line} <= set("BIO")
    _, _, found, guessed, both = conlleval_counts(text)
    assert (scores["precision"], scores["recall"]) == (both / guessed, both / found)
    assert 0.0 < scores["f1"] < 1.0
    assert "the labels in IOB2" in done("evaluate", tmp_path / "m", tmp_path / "test", "-o", "-").stderr


@pytest.mark.parametrize("kind", ["crfsuite", "jsonl"])
def test_output_of_formats_without_token_columns_numbers_the_tokens(done, sample, tmp_path, kind):
    path = sample.path("test", kind)
    scores = json.loads(done("evaluate", "-m", sample.models[kind], path, "--json", "-o", tmp_path / "columns").stdout)
    sentences = (tmp_path / "columns").read_text().removesuffix("\n\n").split("\n\n")
    rows = [[line.split(" ") for line in sentence.split("\n")] for sentence in sentences]
    assert [[row[0] for row in sentence] for sentence in rows] == [
        [str(n + 1) for n in range(len(sentence))] for sentence in rows
    ]
    gold, predicted = ([[row[at] for row in sentence] for sentence in rows] for at in (1, 2))
    assert loglinear.evaluate(gold, predicted).to_dict() == scores


def test_blanks_in_labels_do_not_make_columns_of_the_output(done, tmp_path):
    data = tmp_path / "data.jsonl"
    data.write_text('{"tokens": [["a"], ["b"]], "labels": ["proper noun", "verb"]}\n' * 3)
    done("train", data, "-f", "jsonl", "-m", tmp_path / "m", "-q")
    done("evaluate", "-m", tmp_path / "m", data, "-o", tmp_path / "out")
    assert (tmp_path / "out").read_text().split("\n")[0] == "1 proper_noun proper_noun"


def test_output_that_cannot_be_written_or_needs_a_second_reading_is_refused(done, misuse, sample, tmp_path):
    assert "folder does not exist" in misuse("evaluate", "-m", sample.model, sample.test, "-o", tmp_path / "no" / "f")
    content = sample.test.read_text()
    assert "save the input" in misuse("evaluate", "-m", sample.model, "-", "-o", tmp_path / "f", input=content)
    jsonl = sample.path("test", "jsonl").read_text()
    done("evaluate", "-m", sample.models["jsonl"], "-", "-o", tmp_path / "f", input=jsonl)
    assert (tmp_path / "f").exists()


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


def test_calibration_is_that_of_python(done, chunker):
    plain = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json").stdout)
    scores = json.loads(done("evaluate", "-m", chunker.model, chunker.test, "--json", "--calibration").stdout)
    rows = read_columns(chunker.test.read_text())
    taggings = loglinear.ChainCRF.load(chunker.model).tag([[row[:2] for row in sentence] for sentence in rows])
    tokens, spans, sequences = tagging_calibration([[row[-1] for row in sentence] for sentence in rows], taggings)
    assert scores.pop("calibration") == {
        "tokens": tokens.to_dict(),
        "spans": spans.to_dict(),
        "sequences": sequences.to_dict(),
    }
    assert scores == plain
    assert 0.0 < tokens.expected_error < 0.2
    shown = done("evaluate", "-m", chunker.model, chunker.test, "--calibration").stdout
    table = done("evaluate", "-m", chunker.model, chunker.test).stdout.rstrip("\n")
    assert (
        shown == f"{table}\n\n{tokens.report('tokens')}\n\n{spans.report('spans')}\n\n{sequences.report('sequences')}\n"
    )


def test_calibration_is_drawn(done, chunker, tmp_path):
    for name, first in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG")):
        done("evaluate", "-m", chunker.model, chunker.test, "--calibration", tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(first)


def test_without_a_scheme_no_spans_are_calibrated(done, sample, chunker):
    scores = json.loads(done("evaluate", "-m", sample.model, sample.test, "--json", "--calibration").stdout)
    assert set(scores["calibration"]) == {"tokens", "sequences"}
    arguments = ("evaluate", "-m", chunker.model, chunker.test, "--json", "--scheme", "none", "--calibration")
    assert set(json.loads(done(*arguments).stdout)["calibration"]) == {"tokens", "sequences"}


def test_calibration_of_classifiers_is_of_samples(done, misuse, sample, tmp_path):
    train = ("train", sample.train, "--template", sample.template, "--model-type", "maxent", "-m", tmp_path / "m", "-q")
    done(*train, "--max-iterations", "5")
    scores = json.loads(done("evaluate", "-m", tmp_path / "m", sample.test, "--json", "--calibration").stdout)
    assert scores["calibration"]["samples"]["n"] == scores["n_samples"]
    right = sum(each["n"] * each["accuracy"] for each in scores["calibration"]["samples"]["bins"] if each["n"])
    assert right / scores["n_samples"] == pytest.approx(scores["accuracy"])
    done(*train, "--max-iterations", "5", "--multi-class", "ovr")
    assert "leave out --calibration" in misuse("evaluate", "-m", tmp_path / "m", sample.test, "--calibration")


def test_calibration_of_texts(done, tmp_path):
    (tmp_path / "mails.tsv").write_text("spam\tbuy now\nham\tsee you\nspam\tbuy you\n")
    done("train", tmp_path / "mails.tsv", "--model-type", "maxent", "--format", "text", "-m", tmp_path / "m", "-q")
    scores = json.loads(
        done("evaluate", "-m", tmp_path / "m", tmp_path / "mails.tsv", "--json", "--calibration").stdout
    )
    classifier = loglinear.models.text_classifier.TextClassifier.load(tmp_path / "m")
    sure = classifier.predict_proba(["buy now", "see you", "buy you"]).max(axis=1).tolist()
    filled = [each for each in scores["calibration"]["samples"]["bins"] if each["n"]]
    assert sum(each["n"] * each["confidence"] for each in filled) == pytest.approx(sum(sure))


def test_calibration_that_cannot_be_is_refused(misuse, chunker, tmp_path):
    arguments = ("evaluate", "-m", chunker.model, chunker.test)
    assert "leave out --mode strict" in misuse(*arguments, "--mode", "strict", "--calibration")
    assert "must end in .svg" in misuse(*arguments, "--calibration", tmp_path / "picture")
    assert "folder does not exist" in misuse(*arguments, "--calibration", tmp_path / "no" / "a.svg")


def test_a_scheme_that_no_chunk_follows_is_warned_of(done, chunker):
    command = ["evaluate", "-m", chunker.model, chunker.test, "--mode", "strict"]
    assert done(*command).stderr == ""
    said = done(*command, "--scheme", "IOBES").stderr
    assert said == (
        f"warning: {chunker.test}: no gold chunk is well-formed in the scheme IOBES, so all chunk scores are 0; "
        "the labels look like IOB2: leave out --scheme\n"
    )
