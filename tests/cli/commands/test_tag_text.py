"""Laws of `loglinear tag --text`: a line of JSON with the spans of each line of text, from files and pipes."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from loglinear import ChainCRF, MaxEnt, Tagger
from oracles.command_line import COMMAND
from oracles.patience import patience

TRAIN = "Ada B-PER\nLovelace I-PER\nwrote O\n. O\n\nIn O\nParis B-LOC\nshe O\nmet O\nBabbage B-PER\n. O\n"
TEXTS = ["Ada Lovelace met 𝒳 in Paris.", "", "\tBabbage, e\u0301te\u0301", "In Paris\x00 she wrote.", "—"]
TEMPLATE = "U0:%x[0,0]\nU1:%shape[0,0]\nU2:%x[-1,0]\nB\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, done):
    """Training data, a template, a model with a tokenizer, one without, and texts."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "train").write_text(TRAIN)
    (folder / "template").write_text(TEMPLATE)
    (folder / "texts").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(TEXTS).encode() + b"\r\n")
    train = ["train", folder / "train", "--template", folder / "template", "--l2", "0.1", "-q"]
    done(*train, "--tokenizer", "words", "-m", folder / "model")
    done(*train, "-m", folder / "bare")
    (folder / "substrings").write_text("U:%substrings[0,0,99]\nB\n")
    done("train", folder / "train", "--template", folder / "substrings", "-q", "-m", folder / "long")
    return folder


def records(printed):
    return [json.loads(line) for line in printed.splitlines()]


def expected(folder, texts=TEXTS, **options):
    spans = Tagger(folder / "model").tag_texts(texts, **options)
    return [{"text": text, "spans": [span._asdict() for span in row]} for text, row in zip(texts, spans, strict=True)]


def test_every_line_is_a_text_with_the_spans_that_python_finds(folder, done):
    found = records(done("tag", folder / "model", folder / "texts", "--text").stdout)
    assert found == expected(folder)
    assert [len(record["spans"]) for record in found] == [3, 0, 2, 1, 0]
    assert all(row["text"][span["start"] : span["end"]] == span["text"] for row in found for span in row["spans"])


def test_a_tokenizer_of_the_command_comes_first(folder, done):
    for model in ("model", "bare"):
        told = done("tag", folder / model, folder / "texts", "--text", "--tokenizer", "[A-Z]\\w+")
        assert records(told.stdout) == expected(folder, tokenizer="[A-Z]\\w+")
        assert ("replaces 'words', with which the model was trained" in told.stderr) == (model == "model")


@pytest.mark.slow
def test_a_pipe_is_answered_line_by_line(folder):
    command = [*COMMAND, "tag", folder / "model", "--text"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as child:
        for text in TEXTS[:3]:
            print(text, file=child.stdin, flush=True)
            assert records(child.stdout.readline()) == expected(folder, [text])
        child.stdin.close()
        assert child.wait(patience(20)) == 0


def test_outputs_and_streams_are_the_same(folder, done, tmp_path):
    printed = done("tag", folder / "model", folder / "texts", "--text").stdout
    assert done("tag", folder / "model", folder / "texts", "--text", "--stream").stdout == printed
    done("tag", folder / "model", folder / "texts", "--text", "-o", tmp_path / "out", "-j", "2")
    assert (tmp_path / "out").read_text(encoding="utf-8") == printed


def test_less_probable_spans_are_left_out(folder, done):
    least = max(span["probability"] for record in expected(folder) for span in record["spans"])
    finished = done("tag", folder / "model", folder / "texts", "--text", "--min-probability", repr(least))
    found = records(finished.stdout)
    assert [span["probability"] for record in found for span in record["spans"]] == [least]
    assert [record["text"] for record in found] == TEXTS
    assert "5 of 6 spans are below a probability of" in finished.stderr


def test_people_see_tokens_with_labels_below(folder, done):
    printed = done("tag", folder / "model", folder / "texts", "--text", "--pretty").stdout
    assert printed.startswith("Ada Lovelace met 𝒳   in Paris .\n└── PER ───┘     PER    LOC\n\nBabbage")


def test_constraints_and_biases_hold_for_texts(folder, done):
    printed = done("tag", folder / "model", folder / "texts", "--text", "--label-bias", "O=50").stdout
    assert not any(record["spans"] for record in records(printed))
    done("tag", folder / "model", folder / "texts", "--text", "--constraints", "BIO")


REFUSED = [
    (["--marginals"], "leave out --marginals"),
    (["--probabilities", "span"], "leave out --probabilities"),
    (["--n-best", "2"], "leave out --n-best"),
    (["--layout", "crf++"], "--layout crf++"),
    (["-v", "1"], "leave out -v"),
    (["--below", "O"], "leave out --below"),
    (["--min-probability", "0.5", "--rest", "rest"], "leave out --rest"),
    (["--format", "columns"], "leave out --format"),
    (["--label-column", "0"], "leave out --label-column"),
    (["--min-probability", "2"], "--min-probability 2 is not a probability"),
    (["--tokenizer", "wrds"], "did you mean words?"),
    (["--tokenizer", "a*"], "--tokenizer a* can match the empty string"),
    (["--tokenizer", "("], "--tokenizer ( is not a valid regular expression"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED, ids=lambda value: value if isinstance(value, str) else "")
def test_options_that_say_nothing_of_texts_are_refused(folder, misuse, options, reason):
    assert reason in misuse("tag", folder / "model", folder / "texts", "--text", *options)


def test_models_that_cannot_cut_texts_say_what_to_do(folder, misuse, done, tmp_path):
    texts = folder / "texts"
    assert "add --tokenizer words" in misuse("tag", folder / "bare", texts, "--text")
    assert "add --text" in misuse("tag", folder / "model", texts, "--tokenizer", "words")
    MaxEnt().fit([{"a": 1.0}, {"b": 1.0}], ["A", "B"]).save(tmp_path / "maxent")
    assert "leave out --text" in misuse("tag", tmp_path / "maxent", texts, "--text")
    ChainCRF().fit([[["a"], ["b"]]], [["A", "B"]]).save(tmp_path / "attributes")
    assert "no template" in misuse("tag", tmp_path / "attributes", texts, "--text", "--tokenizer", "words")
    done("encode", folder / "train", "--template", folder / "template", "-o", tmp_path / "corpus")
    assert "encoded corpus" in misuse("tag", folder / "model", tmp_path / "corpus", "--text")


def test_trainings_that_cannot_label_text_say_why(folder, misuse, run, tmp_path):
    train = ["train", folder / "train", "-m", tmp_path / "model", "-q", "--tokenizer"]
    assert "did you mean words?" in misuse(*train, "wrods", "--preset", "ner")
    (tmp_path / "two").write_text("U:%x[0,0]/%x[0,1]\n")
    (tmp_path / "train").write_text("a x A\nb y B\n")
    columns = ["train", tmp_path / "train", "-m", tmp_path / "model", "-q", "--tokenizer", "words"]
    assert "looks at 2 columns" in misuse(*columns, "--template", tmp_path / "two")
    assert "leave it out" in misuse(*train, "words", "--preset", "ner", "--model-type", "maxent")
    warned = run(*train, "whitespace", "--template", folder / "template").stderr
    assert "the tokenizer 'whitespace' does not suit the training data" in warned


def test_bad_texts_are_named_by_their_line(folder, misuse, run, tmp_path):
    bad = tmp_path / "bad"
    bad.write_bytes(b"Ada\nLovel\xff\n")
    assert "bad, line 2: invalid UTF-8" in misuse("tag", folder / "model", bad, "--text")
    streamed = run("tag", folder / "model", bad, "--text", "--stream")
    assert (streamed.returncode, records(streamed.stdout)) == (2, expected(folder, ["Ada"]))
    bad.write_text(f"Ada\n{'a' * 20_000}\n")
    refused = misuse("tag", folder / "long", bad, "--text", "--tokenizer", "words")
    assert refused.startswith(f"{bad}, line 2: token 0: a cell of 20000 characters is too long")
    bad.write_bytes(b"")
    empty = run("tag", folder / "model", bad, "--text")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "the file is empty" in empty.stderr
    bad.write_text("Ada\n" * 12)
    assert "every line is a single word" in run("tag", folder / "model", bad, "--text").stderr
    bad.write_bytes(b"a " * (1 << 20))
    assert "MiB" in misuse("tag", folder / "model", bad, "--text", "--max-sentence", "1")


def test_inspect_shows_the_tokenizer_and_how_to_train_again(folder, done):
    assert "tokenizer        words" in done("inspect", folder / "model").stdout
    assert json.loads(done("inspect", folder / "model", "--json").stdout)["tokenizer"] == "words"
    assert "--tokenizer words" in done("inspect", folder / "model", "--card").stdout
    assert "tokenizer" not in json.loads(done("inspect", folder / "bare", "--json").stdout)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a reader that goes away")
def test_a_reader_that_goes_away_ends_the_command_quietly(folder):
    command = f"yes 'Ada wrote.' | {' '.join(map(str, COMMAND))} tag {folder / 'model'} --text | head -1"
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=patience(30), check=True)
    assert records(finished.stdout) == expected(folder, ["Ada wrote."])
    assert finished.stderr == ""
