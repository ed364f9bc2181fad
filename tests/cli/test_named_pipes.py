"""Outputs that are named pipes: signals end the wait for a reader, and models are not written to them."""

from __future__ import annotations

import os
import signal
import threading
from types import SimpleNamespace

import pytest

from loglinear.data.writing import write_output, write_text

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
LINES = "a A\nb B\n\nb B\n"


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


@pytest.fixture(scope="module")
def model(tmp_path_factory, done):
    folder = tmp_path_factory.mktemp("model")
    (folder / "data").write_text(LINES)
    done("train", folder / "data", "--preset", "pos", "-m", folder / "m", "-q")
    return folder


@pytest.fixture
def interrupted(monkeypatch):
    """A signal, as by Ctrl-C, comes as soon as a reader is waited for."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    waiting = SimpleNamespace(sleep=lambda seconds: signal.raise_signal(signal.SIGALRM))
    monkeypatch.setattr("loglinear.data.writing.time", waiting)
    yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("write", [write_output, write_text])
@pytest.mark.usefixtures("interrupted")
def test_a_signal_ends_the_wait_for_a_reader(pipe, write):
    with pytest.raises(KeyboardInterrupt):
        write(os.fspath(pipe), b"text")


@pytest.mark.parametrize("write", [write_output, write_text])
def test_a_reader_that_comes_late_gets_everything(pipe, write):
    texts = []
    reader = threading.Timer(0.1, lambda: texts.append(pipe.read_bytes()))
    reader.start()
    write(os.fspath(pipe), b"text" * 50_000)
    reader.join()
    assert texts == [b"text" * 50_000]


@pytest.mark.parametrize(
    "arguments",
    [
        ["tag", "m", "data", "-o", "pipe"],
        ["explain", "m", "data", "--html", "-o", "pipe"],
        ["evaluate", "m", "data", "-o", "pipe"],
        ["report", "m", "data", "-o", "pipe"],
        ["convert", "m", "pipe", "--to", "crfsuite"],
    ],
    ids=lambda arguments: arguments[0],
)
@pytest.mark.usefixtures("interrupted")
def test_commands_that_write_to_a_pipe_end_by_a_signal(run, model, pipe, arguments):
    places = {"m": model / "m", "data": model / "data", "pipe": pipe}
    finished = run(*(places.get(argument, argument) for argument in arguments))
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.endswith("loglinear: error: interrupted\n")


@pytest.mark.usefixtures("interrupted")
def test_the_data_of_the_demo_may_go_to_a_pipe(run, tmp_path):
    os.mkfifo(tmp_path / "train.txt")
    assert run("demo", "--write", tmp_path).returncode == 1


def test_a_model_is_not_written_to_a_named_pipe(misuse, model, pipe):
    refused = f"{pipe}: a named pipe; a model is replaced as a whole: give the name of a file"
    assert refused in misuse("train", model / "data", "--preset", "pos", "-m", pipe)
    assert refused in misuse("calibrate", model / "m", model / "data", "-o", pipe)
    assert refused in misuse("demo", "-m", pipe)
