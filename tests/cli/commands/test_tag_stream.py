"""Laws of `loglinear tag` as a coprocess: what has come is answered, whatever comes later."""

from __future__ import annotations

import gzip
import json
import os
import random
import select
import signal
import subprocess
import time

import pytest

import loglinear
from loglinear.data.lines import arriving_lines
from oracles.command_line import COMMAND
from oracles.patience import patience

pytestmark = pytest.mark.skipif(os.name != "posix", reason="waits for pipes as POSIX does")

SENTENCE = b"the DT\ndog NN\nbarks VBZ\n"


class Coprocess:
    """A tagger that is written to and read from in turn; killed when the test is over."""

    def __init__(self, model, *options):
        command = [*COMMAND, "tag", "-m", os.fspath(model), *map(os.fspath, options)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        self.process.wait()

    def write(self, text):
        self.process.stdin.write(text)

    def read(self, lines, seconds=20.0):
        """The next lines; fails if they do not come, or more than they."""
        found, deadline = b"", time.monotonic() + seconds
        while found.count(b"\n") < lines:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            assert ready, f"no answer but {found!r}"
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            assert part, self.process.stderr.read()
            found += part
        assert found.count(b"\n") == lines
        assert found.endswith(b"\n")
        return found.decode()

    def is_silent(self, seconds=0.15):
        return not select.select([self.process.stdout], [], [], seconds)[0]

    def end(self):
        """End the input; return the exit code and what was written since, to stdout and stderr."""
        self.process.stdin.close()
        out, said = self.process.stdout.read(), self.process.stderr.read()
        return self.process.wait(patience(20)), out.decode(), said.decode()


def test_a_sentence_is_answered_as_soon_as_its_blank_line_has_come(done, sample):
    expected = done("tag", "-m", sample.model, input=SENTENCE).stdout
    with Coprocess(sample.model) as tagger:
        for ending in (b"\n", b"\n\n", b" \t\r\n", b"\n\n\n"):
            tagger.write(SENTENCE)
            assert tagger.is_silent()
            tagger.write(ending)
            # N lines and an empty one, whether the client writes one blank line or two.
            assert tagger.read(4) == expected
            assert tagger.is_silent()
        # Byte by byte, the blank line in two halves.
        for at in range(len(SENTENCE)):
            tagger.write(SENTENCE[at : at + 1])
        tagger.write(b"\r")
        assert tagger.is_silent()
        tagger.write(b"\n")
        assert tagger.read(4) == expected
        # The end of the input in mid-sequence.
        tagger.write(b"the DT\ndog NN\nbarks VBZ")
        assert tagger.end() == (0, expected, "")


@pytest.mark.parametrize("kind", ["crfsuite", "jsonl", "conllu"])
def test_every_format_is_answered(done, sample, kind):
    token = b"1\tdog\t_\t_\tNN\t_\t0\troot\t_\t_\n"
    text = {
        "crfsuite": b"?\tw=dog\n?\tw=barks\n\n",
        "jsonl": b'{"tokens": [{"w": "dog"}, {"w": "barks"}]}\n',
        "conllu": b"# a comment\n" + token + token.replace(b"1", b"2", 1) + b"\n",
    }[kind]
    model = sample.models["columns" if kind == "conllu" else kind]
    expected = done("tag", "-m", model, "-f", kind, input=text).stdout
    with Coprocess(model, "-f", kind) as tagger:
        for _ in range(3):
            tagger.write(text[:-1])
            assert tagger.is_silent()
            tagger.write(text[-1:])
            assert tagger.read(expected.count("\n")) == expected
        assert tagger.end() == (0, "", "")


def test_samples_are_answered_line_by_line(done, tmp_path):
    (tmp_path / "svm").write_text("1 1:1\n2 2:1\n")
    done("train", tmp_path / "svm", "-f", "svmlight", "--model-type", "maxent", "-m", tmp_path / "m", "-q")
    with Coprocess(tmp_path / "m") as tagger:
        for _ in range(2):
            tagger.write(b"0 2:1\n0 1:1\n")
            assert tagger.read(2) == "2\n1\n"
        assert tagger.end() == (0, "", "")


def test_lines_of_texts_are_given_as_they_come(done, run, tmp_path):
    reading, writing = os.pipe()
    lines = arriving_lines(f"/dev/fd/{reading}")
    for text, expected in [(b"a\n", [b"a"]), (b"b\n\nc", [b"b", b""]), (b" d\r\n", [b"c d\r"])]:
        os.write(writing, text)
        assert next(lines) == expected
    os.write(writing, b"e")
    os.close(writing)
    assert list(lines) == [[b"e"]]
    os.close(reading)
    (tmp_path / "data").write_text("good\tfine day\nbad\tawful day\n")
    done("train", tmp_path / "data", "-f", "text", "--model-type", "maxent", "-m", tmp_path / "m", "-q")
    text = b"\nan awful thing\n\n\nfine\n\n"
    assert done("tag", "-m", tmp_path / "m", input=text).stdout == "\nbad\n\n\ngood\n"
    assert done("tag", "-m", tmp_path / "m", input=gzip.compress(text)).stdout == "\nbad\n\n\ngood\n"
    assert "<stdin>, line 2: invalid UTF-8" in run("tag", "-m", tmp_path / "m", input=b"fine\n\xff").stderr
    assert "<stdin>: no texts" in run("tag", "-m", tmp_path / "m", input=b"\n").stderr
    with Coprocess(tmp_path / "m") as tagger:
        for part, answer in ((b"\nfine\n\n", "\ngood\n"), (b"awful\n", "\nbad\n"), (b"\n\nfine\n", "\n\ngood\n")):
            tagger.write(part)
            assert tagger.read(answer.count("\n")) == answer
        assert tagger.end() == (0, "", "")


@pytest.mark.parametrize("options", [[], ["--n-best", "2"], ["--marginals"], ["-f", "conllu"]])
def test_the_output_does_not_depend_on_how_the_input_comes(done, sample, tmp_path, options):
    if "conllu" in options:
        word = "{at}\t{row[0]}\t_\t_\t{row[1]}\t_\t0\troot\t_\t_\n"
        blocks = [
            "".join(word.format(at=at, row=row) for at, row in enumerate(rows, 1)) for rows in sample.data["test"]
        ]
        text = "# begin\n" + "\n\n".join(blocks)
    else:
        text = sample.test.read_text()
    data = ("\ufeff" + text * 12).encode()
    (tmp_path / "file").write_bytes(data)
    expected = done("tag", "-m", sample.model, tmp_path / "file", *options).stdout
    assert done("tag", "-m", sample.model, *options, input=data).stdout == expected
    assert done("tag", "-m", sample.model, "--stream", tmp_path / "file", *options).stdout == expected
    draw = random.Random(5)
    with Coprocess(sample.model, *options) as tagger:
        reader = subprocess.Popen(["cat"], stdin=tagger.process.stdout, stdout=subprocess.PIPE)
        at = 0
        while at < len(data):
            size = draw.choice([1, 7, 100, 5000, 40_000])
            tagger.write(data[at : at + size])
            at += size
        tagger.process.stdin.close()
        assert reader.communicate(timeout=patience(20))[0].decode() == expected
        assert tagger.process.wait(patience(20)) == 0


def test_a_client_that_writes_everything_before_it_reads_does_not_hang(done, sample):
    data = sample.test.read_bytes() * 40
    expected = done("tag", "-m", sample.model, sample.test).stdout * 40
    assert len(expected) > 4 << 16  # more than both pipes hold
    with Coprocess(sample.model) as tagger:
        tagger.write(data)
        assert tagger.end()[:2] == (0, expected)


def test_a_mistake_is_named_by_its_line_in_the_whole_stream_after_the_answers_before_it(sample):
    with Coprocess(sample.model) as tagger:
        tagger.write(SENTENCE + b"\n\n")
        tagger.read(4)
        tagger.write(SENTENCE + b"\n" + SENTENCE + b"dog NN x\n\n" + SENTENCE + b"\n")
        tagger.read(4)
        # Without the end of the input: a client that waits for an answer gets the end of the output instead.
        assert tagger.process.wait(patience(20)) == 2
        assert tagger.process.stdout.read() == b""
        said = tagger.process.stderr.read().decode()
        assert said.startswith("loglinear: error: <stdin>, line 13: expected 2 columns as in the first line")


def test_the_number_of_columns_is_that_of_the_first_line_of_the_stream(done, misuse, sample):
    with Coprocess(sample.model) as tagger:
        tagger.write(SENTENCE + b"\n")
        tagger.read(4)
        tagger.write(b"dog\n\n")
        assert tagger.process.wait(patience(20)) == 2
        assert b"line 5: expected" in tagger.process.stderr.read()


def test_ctrl_c_and_a_reader_that_has_gone_end_it_without_a_traceback(sample):
    with Coprocess(sample.model) as tagger:
        tagger.write(SENTENCE + b"\n")
        tagger.read(4)
        tagger.process.send_signal(signal.SIGINT)
        assert tagger.process.wait(patience(20)) == 1
        assert tagger.process.stderr.read() == b"loglinear: error: interrupted\n"
    with Coprocess(sample.model) as tagger:
        tagger.write(SENTENCE + b"\n")
        tagger.read(4)
        tagger.process.stdout.close()
        tagger.write(SENTENCE + b"\n")
        assert tagger.process.wait(patience(20)) == 1
        assert tagger.process.stderr.read() == b""


def test_ctrl_c_ends_the_wait_for_a_reader_that_does_not_read(sample):
    with Coprocess(sample.model) as tagger:
        tagger.write(SENTENCE + b"\n")
        tagger.read(4)
        tagger.write((SENTENCE + b"\n") * 20_000)
        time.sleep(0.2)
        tagger.process.send_signal(signal.SIGINT)
        assert tagger.process.wait(patience(20)) == 1


def test_a_named_pipe_is_answered_and_compressed_input_is_read(done, sample, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with Coprocess(sample.model, tmp_path / "pipe") as tagger, open(tmp_path / "pipe", "wb", buffering=0) as pipe:
        pipe.write(SENTENCE + b"\n")
        assert tagger.read(4).startswith("the DT\t")
    expected = done("tag", "-m", sample.model, sample.test).stdout
    packed = gzip.compress(sample.test.read_bytes())
    assert done("tag", "-m", sample.model, input=packed).stdout == expected


def test_a_file_is_written_as_a_whole(done, misuse, sample, tmp_path):
    bad = SENTENCE + b"\ndog\n"
    misuse("tag", "-m", sample.model, "-o", tmp_path / "out", input=bad)
    assert not (tmp_path / "out").exists()
    said = misuse("tag", "-m", sample.model, sample.test, "-o", tmp_path / "out", "--stream")
    assert "leave out --stream or --output" in said


def test_the_warning_of_whole_sentences_waits_until_enough_has_come(done, sample, tmp_path):
    (tmp_path / "data").write_text("the D\ndog N\n\nit N\nbarks V\n")
    done("train", tmp_path / "data", "--preset", "pos", "-m", tmp_path / "m", "-q")
    # The first sentence has a single token of many columns; those to come have more tokens.
    with Coprocess(tmp_path / "m") as tagger:
        tagger.write(b"dog a b c d e\n\n")
        tagger.read(2)
        tagger.write(b"dog a b c d e\nbarks a b c d e\n\n")
        tagger.read(3)
        code, rest, stderr = tagger.end()
        assert (code, rest) == (0, "")
        assert "single line" not in stderr


def test_python_may_stream_too(sample, tmp_path):
    """What the look at the beginning raises is raised."""
    model = loglinear.ChainCRF.load(sample.model).model_

    def look(start):
        message = f"seen {len(start)}"
        raise RuntimeError(message)

    (tmp_path / "nothing").write_text("")
    with pytest.raises(RuntimeError, match="seen 0"):
        model.tag_file(str(tmp_path / "nothing"), stream=look)


def test_json_lines_keep_their_order(done, sample):
    rows = [{"tokens": [{"w": "dog"}] * (1 + at % 3), "id": at} for at in range(500)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    found = done("tag", "-m", sample.models["jsonl"], input=text).stdout.splitlines()
    assert [json.loads(line)["id"] for line in found] == list(range(500))
