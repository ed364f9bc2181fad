"""What becomes of a process whose model file another one cuts short, changes or replaces."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from loglinear import ChainCRF, ModelFileError
from oracles.patience import patience

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGBUS"), reason="the system has no SIGBUS")

# Opens a model, waits until the file is cut short or replaced, and labels a sentence.
PROGRAM = """
import sys
from loglinear import ChainCRF
crf = ChainCRF.load(sys.argv[1])
print("opened", flush=True)
sys.stdin.readline()
print(crf.predict([[["short"], ["other"]]])[0])
"""


def model(path, *, length):
    """A model of 80 attributes whose names have ``length`` letters."""
    X = [[["short"], ["other"], *([f"{i:02}" + length * "x"] for i in range(80))]]
    crf = ChainCRF(l2=1.0).fit(X, [["A", *81 * ["B"]]])
    crf.save(path)
    return str(crf.predict([[["short"], ["other"]]])[0])


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """The file of a model that is large enough to be mapped, and what the model answers."""
    path = tmp_path_factory.mktemp("mapped") / "model"
    answer = model(path, length=1 << 20)
    assert path.stat().st_size > 64 << 20
    return path, answer


def after(path, change):
    """Return the exit code and the last line of a process that uses the model after a change of its file."""
    command = [sys.executable, "-c", PROGRAM, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "opened\n"
        change()
        out, _ = process.communicate("go\n", timeout=patience(120))
        return process.returncode, out.strip()


def test_small_models_are_read(tmp_path):
    path = tmp_path / "model"
    expected = model(path, length=10)
    assert after(path, lambda: os.truncate(path, 0)) == (0, expected)


def test_a_mapped_model_can_be_replaced_but_not_cut_short(mapped, tmp_path):
    path, expected = shutil.copy(mapped[0], tmp_path / "model"), mapped[1]
    assert after(path, lambda: model(path, length=20)) == (0, expected)
    shutil.copy(mapped[0], path)
    code, _ = after(path, lambda: os.truncate(path, 0))
    assert code == -signal.SIGBUS


def test_a_model_that_was_cut_short_before_is_refused(mapped, tmp_path):
    path = shutil.copy(mapped[0], tmp_path / "model")
    for size in (path.stat().st_size - 1, 4096, 0):
        os.truncate(path, size)
        with pytest.raises(ModelFileError, match=re.escape(str(path))):
            ChainCRF.load(path)
