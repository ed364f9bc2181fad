"""`loglinear train` with workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from loglinear import ChainCRF
from loglinear.data.parts import cut
from loglinear.models.training.chain_parts import train_parts
from loglinear.models.training.options import SolverOptions
from loglinear.objectives.parts import ChainParts
from oracles.samples import chunky


@pytest.fixture
def folder(tmp_path):
    """A folder of fifty files."""
    X, y = chunky(200)
    (tmp_path / "data").mkdir()
    for number in range(50):
        rows = zip(X[number::50], y[number::50], strict=True)
        lines = [json.dumps({"tokens": tokens, "labels": labels}) + "\n" for tokens, labels in rows]
        (tmp_path / "data" / f"part-{number:02d}.jsonl").write_text("".join(lines))
    return tmp_path / "data"


def command(*arguments):
    """A command line that runs `loglinear train`."""
    return [sys.executable, "-m", "loglinear", "train", *map(str, arguments)]


def ended(*arguments):
    return subprocess.run(command(*arguments), check=False, capture_output=True, text=True, timeout=120)


def test_a_folder_of_files_one_command_a_model(folder, tmp_path):
    model = tmp_path / "model"
    done = ended(
        folder, "--workers", 2, "--l2", 2, "--model", model, "--dev", folder / "part-00.jsonl", "--part-mb", 0.004
    )
    assert done.returncode == 0, done.stderr
    parts = cut(folder, part_bytes=int(0.004 * 2**20))
    assert 5 < len(parts) < 50
    assert f"{len(parts)} parts for 2 workers" in done.stderr
    assert "200 sentences" in done.stderr
    assert "slowest at part" in done.stderr
    assert "Traceback" not in done.stderr
    expected, _ = train_parts(ChainParts(parts), SolverOptions(l2=2.0))
    found = ChainCRF.load(model).model_
    weights = [sorted(each.state_features()) for each in (found, expected)]
    assert weights[0] == weights[1]
    assert np.isfinite([weight for *_, weight in weights[0]]).all()


def test_a_mistake_in_a_file_is_named_and_no_file_is_left(folder, tmp_path):
    (folder / "part-30.jsonl").write_text('{"tokens": [["a"]], "labels": ["A"]}\n{"tokens": 3}\n')
    done = ended(folder / "part-*.jsonl", "--workers", 1, "--model", tmp_path / "model")
    assert done.returncode == 2
    assert "part-30.jsonl, line 2" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.jsonl", "b.jsonl"], "one file of training data; for several, or a folder, give --workers N"),
        (["."], "give --workers N"),
        (["a.jsonl", "--workers", "2", "--cluster", "tcp://here:1"], "give one of them"),
        (["a.jsonl", "--workers", "0"], "workers=0 is not a whole number"),
        (["a.jsonl", "--workers", "2", "--model-type", "maxent"], "train chains"),
    ],
)
def test_misuse_is_a_clear_error(arguments, message, tmp_path):
    done = ended(*arguments, "--model", tmp_path / "model")
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_keeps_the_weights_reached(folder, tmp_path):
    # A terminal sends Ctrl-C to all processes of the group: the workers too.
    given = [folder, "--workers", 2, "--l1", 0.01, "--model", tmp_path / "model", "-p", "tolerance=1e-16"]
    program = subprocess.Popen(
        command(*given), stderr=subprocess.PIPE, text=True, start_new_session=True, stdin=subprocess.DEVNULL
    )
    for line in program.stderr:
        if "iteration" in line:
            break
    time.sleep(0.5)
    os.killpg(program.pid, signal.SIGINT)
    _, rest = program.communicate(timeout=30)
    assert program.returncode == 1, rest
    assert "written, with the weights reached" in rest
    assert sorted(ChainCRF.load(tmp_path / "model").classes_) == ["A", "B", "C"]
