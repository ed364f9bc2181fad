"""Laws of `loglinear tag --pretty`: the labels of `tag`, below the words, sentence by sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from loglinear import MaxEnt, PairwiseMRF, TextClassifier
from loglinear.metrics import chunks
from oracles.command_line import COMMAND, read_columns


def test_spans_are_those_of_the_labels_that_tag_writes(done, chunker, monkeypatch):
    monkeypatch.setenv("COLUMNS", "2000")
    shown = done("tag", chunker.model, chunker.test, "--pretty").stdout
    tagged = read_columns(done("tag", chunker.model, chunker.test).stdout)
    sentences = shown.rstrip("\n").split("\n\n")
    assert len(sentences) == len(tagged)
    for text, rows in zip(sentences, tagged, strict=True):
        above, below, *_ = [*text.splitlines(), ""]
        spans = chunks([row[-1] for row in rows])
        assert above.split() == [row[0] for row in rows]
        labels = [*re.finditer(r"└─* (\S+) ─*┘|(\S+)", below)]
        for label, (type_, start, end) in zip(labels, spans, strict=True):
            words = " ".join(row[0] for row in rows[start:end])
            assert (label[1] or label[2]) == type_
            assert above[label.start() :].startswith(words)
            assert label[2] or len(label[0]) == len(words)


def test_streams_and_files_and_widths_show_the_same_words(done, chunker, monkeypatch):
    text = chunker.test.read_text(encoding="utf-8")
    whole = done("tag", chunker.model, chunker.test, "--pretty").stdout
    assert done("tag", chunker.model, "-", "--pretty", input=text).stdout == whole
    assert done("tag", chunker.model, chunker.test, "--pretty", "--stream").stdout == whole
    monkeypatch.setenv("COLUMNS", "40")
    narrow = done("tag", chunker.model, chunker.test, "--pretty", terminal=True).stdout
    plain = re.sub(r"\x1b\[\d+m", "", narrow)
    assert plain != narrow
    assert max(map(len, plain.splitlines())) <= 40


def test_a_sentence_is_printed_as_soon_as_it_is_complete_and_lines_are_counted_on(sample):
    command = [*COMMAND, "tag", os.fspath(sample.model), "--pretty"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        for sentence, n in ((b"the DT\ndog NN\n\n", 2), (b"it PRP\n\n", 3)):
            process.stdin.write(sentence)
            process.stdin.flush()
            rows = [process.stdout.readline().decode() for _ in range(n)]
            assert sentence.split()[0].decode() in "".join(rows)
        process.stdin.write(b"bad \xff\n\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        said = process.stderr.read().decode()
        assert "<stdin>, line 6: " in said
        assert process.wait() == 2


def test_errors_in_a_stream_name_its_lines_after_the_sentences_before(run, sample):
    text = b"the DT\ndog NN\n\nit PRP\n\nbad \xff\n\n"
    finished = run("tag", sample.model, "-", "--pretty", input=text)
    assert finished.returncode == 2
    assert "<stdin>, line 6: " in finished.stderr
    assert "/tmp" not in finished.stderr


def test_samples_and_texts_have_their_labels_below(done, misuse, tmp_path):
    MaxEnt().fit([["w=the"], ["w=dog"]], ["D", "N"]).save(tmp_path / "maxent")
    (tmp_path / "data.crfsuite").write_text("D\tw=the\n\nN\tw=dog\n")
    assert done("tag", tmp_path / "maxent", tmp_path / "data.crfsuite", "--pretty").stdout == "w=the\nD\n\nw=dog\nN\n"
    TextClassifier().fit(["buy now", "see you"] * 2, ["spam", "ham"] * 2).save(tmp_path / "texts")
    texts = "buy this\n\nsee you\n"
    wanted = "buy this\n└─ spam\n\nsee you\n└─ ham\n"
    assert done("tag", tmp_path / "texts", "-", "--pretty", input=texts).stdout == wanted
    PairwiseMRF(l1=0.1).fit([["a", "x"], ["b", "y"]] * 9).save(tmp_path / "network")
    (tmp_path / "data.csv").write_text("x1,x2\na,\n")
    said = misuse("tag", tmp_path / "network", tmp_path / "data.csv", "--pretty")
    assert "`loglinear tag --pretty` does not support; leave out --pretty" in said


@pytest.mark.parametrize(
    "options",
    ["--marginals", "--n-best 2", "--probabilities token", "--layout crf++", "-o out", "--min-probability 0.5"],
)
def test_what_has_other_columns_is_refused(misuse, chunker, options):
    said = misuse("tag", chunker.model, chunker.test, "--pretty", *options.split())
    assert said.startswith("--pretty prints ")
    assert "leave out -" in said


def test_numpy_is_not_needed(sample):
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "from loglinear.cli.main import main\n"
        f"main(['tag', {str(sample.model)!r}, {str(sample.test)!r}, '--pretty'])"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "NOUN" in finished.stdout
