"""Ctrl-C and SIGTERM while a command reads its data or learns: one line, exit code 1, results whole or as before."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from itertools import product

import pytest

from examples import by_day
from loglinear import Corpus
from oracles.command_line import COMMAND, run_command, until
from oracles.patience import patience

fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")  # not on Windows

# By day Ctrl-C is tried in the tests of the commands.
NUMBERS = [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]


def ended(arguments, number, *, when):
    """Start a command, send it a signal once something holds, return its exit code and what it said."""
    command, pipe = [*COMMAND, *map(os.fspath, arguments)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            when(process)
            process.send_signal(number)
            process.wait(patience(30))  # while standard input is open: its end would let the command go on
            out, said = process.stdout.read(), process.stderr.read()
        finally:
            process.kill()
    assert b"Traceback" not in said
    return process.returncode, out.decode(), said.decode()


def fed(text):
    """Send text to a command's standard input, and leave it waiting for more."""

    def when(process):
        process.stdin.write(text)
        process.stdin.flush()
        until(lambda: not any(fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))), 60)
        time.sleep(0.2)

    return when


def shown(word):
    """Wait until a command says something of its work."""

    def when(process):
        while word not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.1)

    return when


@pytest.mark.parametrize("number", NUMBERS)
# `select` reads as `train` does.
@pytest.mark.parametrize(
    "name", by_day(["train", "select", "structure", "encode", "tag"], lambda name: name != "select")
)
def test_a_command_that_reads_ends_and_leaves_the_old_results(small, tmp_path, name, number):
    result = tmp_path / "r"
    arguments = {
        "train": ["-", "--preset", "ner", "-m", result],
        "select": ["-", "--preset", "ner", "-m", result],
        "structure": ["-", "-m", result],
        "encode": ["-", "--preset", "ner", "-o", result],
        "tag": ["-m", small.model, "-o", result],
    }[name]
    text = small.table.read_bytes() if name == "structure" else small.data.read_bytes()
    if name == "encode":
        assert run_command("encode", small.more, "--preset", "ner", "-o", result, "-q").returncode == 0
    else:
        result.write_bytes(b"old")
    code, out, said = ended([name, *arguments], number, when=fed(text))
    assert (code, out, said) == (1, "", "loglinear: error: interrupted\n")
    if name == "encode":
        assert len(Corpus.open(result)) == 10
    else:
        assert result.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["r"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["train", "select", "structure"])
def test_a_command_that_learns_ends_with_what_it_has(small, tmp_path, name, number):
    results = [tmp_path / "m"] if name == "train" else [tmp_path / "m", tmp_path / "t"]
    table, many = tmp_path / "table.csv", tmp_path / "many.txt"
    # Training goes on for many seconds after it has said anything.
    if name == "structure":
        lines = [",".join(str((at * k * k // 7 + at // k) % 3) for k in range(1, 25)) for at in range(6000)]
        table.write_text("\n".join([",".join(f"v{k}" for k in range(24)), *lines]) + "\n")
    if name == "train":
        many.write_bytes(60 * small.data.read_bytes())
    data = os.listdir(tmp_path)
    sentences = [small.data, "--preset", "ner", "--tolerance", "0"]
    arguments = {
        "train": [many, *sentences[1:], "--l1", "0.001", "--max-iterations", "10000000", "-m", *results],
        "select": [*sentences, "--l1", "0.0001", "--path", "100000", "-m", results[0], "--table", results[-1]],
        "structure": [table, "--l1", "0.01", "-m", results[0], "--edges", results[-1]],
    }[name]
    code, out, said = ended([name, *arguments], number, when=shown(b"iteration"))
    assert (code, out) == (1, ""), said
    places = ", ".join(map(str, results))
    assert said.endswith(f"loglinear: interrupted; wrote {places} with the weights reached so far\n"), said
    assert run_command("inspect", results[0]).returncode == 0
    assert sorted(os.listdir(tmp_path)) == sorted([*data, *(path.name for path in results)])


def is_open(process, path):
    """Whether a process has opened a file."""
    folder = f"/proc/{process.pid}/fd"
    return any(os.path.realpath(f"{folder}/{number}") == os.fspath(path) for number in os.listdir(folder))


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs Linux")
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("name", "writer"),
    by_day(
        list(product(["train", "evaluate", "structure", "encode", "tag"], ["no writer", "a writer that stalls"])),
        lambda case: case[0] in ("train", "tag"),
    ),
)
def test_a_command_that_waits_for_a_named_pipe_ends(small, tmp_path, name, writer, number):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = {
        "train": [pipe, "--preset", "ner", "-m", tmp_path / "r", "-q"],
        "evaluate": [pipe, "-m", small.model],
        "structure": [pipe, "-m", tmp_path / "r"],
        "encode": [pipe, "--preset", "ner", "-o", tmp_path / "r"],
        "tag": [pipe, "-m", small.model],
    }[name]
    writers = []

    def when(process):
        # Python's own `open` waits for a writer; the native one has opened the pipe.
        if writer == "no writer" and name == "structure":
            time.sleep(patience(2))
            return
        if writer == "no writer":
            until(lambda: is_open(process, pipe), 60)
        else:
            writers.append(os.open(pipe, os.O_WRONLY))
            os.write(writers[0], small.data.read_bytes()[:40])
        time.sleep(0.3)

    code, out, said = ended([name, *arguments], number, when=when)
    for descriptor in writers:
        os.close(descriptor)
    assert (code, out) == (1, "")
    assert said.splitlines()[-1] == "loglinear: error: interrupted"
    assert os.listdir(tmp_path) == ["pipe"]
