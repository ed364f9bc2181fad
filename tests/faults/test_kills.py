"""Commands killed at random moments: results are old or complete, and the next run brings the work to its end."""

from __future__ import annotations

import os
import random
import subprocess
import time

import pytest

from loglinear import Trace, _core
from oracles.command_line import COMMAND, run_command
from oracles.faults import contents

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
KILLS = [pytest.param(2, id="day"), pytest.param(50, id="night", marks=pytest.mark.slow)]


def killed(arguments, seconds):
    """Start a command and kill it after a time; whether it was still at work."""
    process = subprocess.Popen(
        [*COMMAND, *map(os.fspath, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() != 0


def seconds_of(arguments):
    """How long a command takes."""
    began = time.monotonic()
    done = run_command(*arguments, apart=True)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - began


def weights(path):
    """All weights of a model, exactly."""
    model = _core.ChainModel.open(os.fspath(path))
    return model.state_features(), model.transition_features(), model.bigram_features()


@pytest.mark.parametrize("kills", KILLS)
def test_a_training_that_is_killed_again_and_again_ends_with_the_same_model(small, tmp_path, kills):
    limit = 60
    train = ["train", small.data, "--preset", "ner", "--l1", "0.1", "--tolerance", "0", "--max-iterations", str(limit)]
    train += ["-j", "1", "-q"]
    whole, model, trace = tmp_path / "whole", tmp_path / "model", tmp_path / "trace"
    longest = seconds_of([*train, "-m", whole, "--trace", tmp_path / "trace of whole"])
    options = ["-m", model, "--trace", trace, "--checkpoint", tmp_path / "checkpoint", "--checkpoint-minutes", "0"]
    chance, number = random.Random(kills), 0
    while number < kills:
        model.write_bytes(b"old")
        if number % 5 == 0:
            (tmp_path / "checkpoint").unlink(missing_ok=True)
        if killed([*train, *options, "--resume"], longest * chance.uniform(0.2, 1.2)):
            number += 1
        else:  # nothing is left to be killed
            (tmp_path / "checkpoint").unlink(missing_ok=True)
        if model.read_bytes() != b"old":
            assert weights(model) == weights(whole)
        if trace.exists():
            assert [each.iteration for each in Trace.read(trace)] == list(range(len(Trace.read(trace))))
    assert run_command(*train, *options, "--resume").returncode == 0
    assert weights(model) == weights(whole)
    courses = [[each.objective for each in Trace.read(path)] for path in (trace, tmp_path / "trace of whole")]
    assert courses[0] == courses[1]
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".part")]


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize(
    "name",
    [pytest.param("select", marks=pytest.mark.slow), pytest.param("structure", marks=pytest.mark.slow), "encode"],
)
def test_a_command_that_is_killed_leaves_old_or_complete_results(small, tmp_path, name, kills):
    folder = tmp_path / "results"
    folder.mkdir()
    arguments = {
        "select": [
            "select",
            small.data,
            "--preset",
            "ner",
            "--size",
            "40",
            "-m",
            folder / "m",
            "--table",
            folder / "t",
        ],
        "structure": ["structure", small.table, "--l1", "1", "-m", folder / "m", "--edges", folder / "t"],
        "encode": ["encode", *[small.data] * 20, "--preset", "ner", "-o", folder / "c"],
    }[name] + ["-q", "-j", "1"]
    longest = seconds_of(arguments)
    whole = contents(folder)
    chance, number = random.Random(kills), 0
    while number < kills:
        for old in folder.glob("[mt]"):
            old.write_bytes(b"old")
        number += killed(arguments, longest * chance.uniform(0.2, 1.1))
        files = {path: digest for path, digest in contents(folder).items() if not path.startswith(".loglinear-")}
        assert files.keys() <= whole.keys()
        if name == "encode":
            assert files in ({}, whole)
        elif (folder / "m").read_bytes() != b"old":
            opened = run_command("inspect", folder / "m")
            assert opened.returncode == 0, opened.stderr
        if (folder / "t").exists() and name == "structure" and (folder / "t").read_bytes() != b"old":
            assert files["t"] == whole["t"]
    assert run_command(*arguments).returncode == 0
    assert {path for path in contents(folder) if not path.startswith(".loglinear-")} == whole.keys()
