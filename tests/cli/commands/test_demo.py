"""Laws of `loglinear demo`."""

from __future__ import annotations

import lzma
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from loglinear.cli.progress import Progress
from loglinear.datasets import demo_paths


@pytest.mark.slow
def test_demo_is_accurate_and_its_model_tags(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    finished = done("demo")
    accuracy = re.search(r"accuracy on [\d,]+ unseen words: ([\d.]+) %", finished.stdout)
    assert accuracy is not None, finished.stdout
    assert float(accuracy[1]) > 90.0
    assert finished.stderr.startswith("ud-english-ewt-train.txt.xz: ")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.loglinear"]
    lines = finished.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("The quick"))
    words, tags = lines[at].split(), lines[at + 1].split()
    assert tags[0] == "DET"
    tagged = done("tag", "-m", "demo.loglinear", input="\n".join(words) + "\n").stdout
    assert [line.split("\t") for line in tagged.strip().split("\n")] == [
        list(pair) for pair in zip(words, tags, strict=True)
    ]
    # It ends with what to try next; the command on its own model works as it stands.
    (command,) = [line for line in lines if line.strip().startswith("loglinear inspect")]
    assert "strongest attributes" in done(*shlex.split(command)[1:]).stdout


# `.ci/run` runs the demonstration where only NumPy is installed, too.
@pytest.mark.slow
def test_the_demonstration_needs_no_scipy(tmp_path):
    program = "import sys; sys.modules |= dict.fromkeys(('scipy', 'sklearn', 'threadpoolctl'));"
    program += "from loglinear.datasets import demo_paths; from loglinear.__main__ import main; main()"
    path = tmp_path / "demo.loglinear"
    finished = subprocess.run([sys.executable, "-c", program, "demo", "-m", path], capture_output=True, text=True)
    assert (finished.returncode, path.exists()) == (0, True), finished.stderr


def test_the_written_data_are_the_sample(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(path) != os.fspath(tmp_path))
    (tmp_path / "sample").mkdir()
    (tmp_path / "sample" / "train.txt").write_text("of an earlier run")
    said = done("demo", "--write", "sample/").stdout
    assert "CC BY-SA 4.0" in said
    texts = {path.name: path.read_text(encoding="utf-8") for path in (tmp_path / "sample").iterdir()}
    unpacked = [lzma.open(path, "rt", encoding="utf-8").read() for path in demo_paths()]
    assert texts == dict(zip(("train.txt", "test.txt"), unpacked, strict=True))
    assert [path.name for path in tmp_path.iterdir()] == ["sample"]  # no model


def test_a_missing_folder_is_made(done, tmp_path):
    done("demo", "--write", tmp_path / "new folder")
    assert {path.name for path in (tmp_path / "new folder").iterdir()} == {"train.txt", "test.txt"}


@pytest.mark.parametrize(
    ("folder", "problem"),
    [
        ("nowhere/sample", ": its folder does not exist; create it first"),
        ("file", ": a file, not a folder; give the name of a folder"),
        ("full", "/test.txt: a folder, not a file; give the name of a file"),
        ("closed", "/train.txt: the folder is not writable; choose another one"),
    ],
)
def test_a_folder_that_cannot_hold_the_data_is_refused(misuse, tmp_path, monkeypatch, folder, problem):
    (tmp_path / "file").touch()
    (tmp_path / "full" / "test.txt").mkdir(parents=True)
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: not os.fspath(path).endswith("closed"))
    assert misuse("demo", "--write", tmp_path / folder) == os.fspath(tmp_path / folder) + problem.replace("/", os.sep)
    assert not list(tmp_path.rglob("train.txt"))


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_to_nowhere_is_named(misuse, tmp_path):
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    said = misuse("demo", "--write", link)
    assert said == f"{link}: a link to nowhere, which does not exist; create that folder first"


def test_an_empty_name_of_a_folder_is_misuse(misuse):
    assert misuse("demo", "--write", "") == "--write is empty; give the name of a folder"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux")
@pytest.mark.parametrize("arguments", [["demo", "--write", "x"], ["presets"], ["solvers"]])
def test_a_full_standard_output_is_named(tmp_path, arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "loglinear", *arguments]
        finished = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert finished.stderr == "loglinear: error: <stdout>: No space left on device\n"
    assert finished.returncode == 1


def test_data_and_a_model_are_not_written_together(misuse, tmp_path):
    assert "not allowed with" in misuse("demo", "--write", tmp_path, "--model", tmp_path / "m", usage=True)


def test_help_shows_an_example(done):
    assert "example: loglinear demo" in done("demo", "--help").stdout


@pytest.mark.parametrize("model", ["nowhere/m", "."])
def test_place_that_cannot_hold_a_model_is_found_before_the_training(run, tmp_path, model):
    finished = run("demo", "-m", tmp_path / model)
    assert finished.returncode == 2
    assert os.fspath(tmp_path / model) in finished.stderr
    assert finished.stderr.startswith("loglinear: error: ")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_demo_fails_and_says_what_it_wrote(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = Progress.__call__

    def interrupting(self, record, state):
        shown(self, record, state)
        if record.iteration == 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "__call__", interrupting)
    finished = run("demo")
    assert finished.returncode == 1
    assert "accuracy" not in finished.stdout
    assert finished.stderr.endswith("loglinear: interrupted; wrote demo.loglinear with the weights reached so far\n")
    assert (tmp_path / "demo.loglinear").exists()
