"""Ways to run the command line, and small slices of the embedded sample to run it on."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from loglinear.datasets import demo_paths
from oracles.command_line import TEMPLATE, chunked, column_text, run_command, sentences


@pytest.fixture(scope="session")
def run():
    """Run the command line, in this process unless told otherwise."""
    return run_command


@pytest.fixture(scope="session")
def done():
    """Run what has to succeed."""

    def succeed(*arguments, **options):
        finished = run_command(*arguments, **options)
        assert finished.returncode == 0, finished.stderr
        return finished

    return succeed


@pytest.fixture(scope="session")
def misuse():
    """Run what has to be refused in one line; returns the line. An error of `usage` has a second one: where help is."""

    def refuse(*arguments, code=2, usage=False, **options):
        finished = run_command(*arguments, **options)
        said = finished.stderr
        assert (finished.returncode, finished.stdout) == (code, ""), said
        line, *after = said.splitlines()
        assert said.endswith("\n")
        if usage:
            assert re.fullmatch(r"see `loglinear( \w+)? --help`", "\n".join(after)), said
        else:
            assert not after, said
        found = re.match(r"loglinear( \w+)?: error: " if usage else "loglinear: error: ", line)
        assert found, said
        return line[found.end() :]

    return refuse


@pytest.fixture(scope="session")
def sample(tmp_path_factory, done):
    """The same sentences in the three formats, and a model trained on each by the command line."""
    folder = tmp_path_factory.mktemp("sample")
    train, test = demo_paths()
    data = {"train": sentences(train, 0, 120), "test": sentences(test, 0, 40)}
    models = {}
    (folder / "template").write_text(TEMPLATE)
    for name, part in data.items():
        (folder / f"{name}.columns").write_text(column_text(part), encoding="utf-8")
        with (folder / f"{name}.crfsuite").open("w", encoding="utf-8") as file:
            for sentence in part:
                for at, (word, _, tag) in enumerate(sentence):
                    before = sentence[at - 1][0] if at else "<s>"
                    cells = [f"w={word}", f"end={word[-2:]}", f"before={before}"]
                    escaped = [cell.replace("\\", "\\\\").replace(":", "\\:") for cell in cells]
                    file.write("\t".join([tag, *escaped]) + "\n")
                file.write("\n")
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for sentence in part:
                tokens = [{"w": word, "end": word[-2:], "capital": word.istitle()} for word, _, _ in sentence]
                file.write(json.dumps({"tokens": tokens, "labels": [row[2] for row in sentence]}) + "\n")
    for kind in ("columns", "crfsuite", "jsonl"):
        models[kind] = folder / f"{kind}.model"
        options = ["--template", folder / "template"] if kind == "columns" else []
        done("train", folder / f"train.{kind}", "-f", kind, *options, "-m", models[kind], "--tolerance", "1e-3", "-q")
    return SimpleNamespace(
        folder=folder, data=data, models=models, model=models["columns"], template=folder / "template",
        train=folder / "train.columns", test=folder / "test.columns", path=lambda part, kind: folder / f"{part}.{kind}",
    )  # fmt: skip


@pytest.fixture(scope="session")
def chunker(tmp_path_factory, done):
    """Chunked sentences and a chunker that makes mistakes."""
    folder = tmp_path_factory.mktemp("chunker")
    train, test = demo_paths()
    found = SimpleNamespace(train=folder / "train.txt", test=folder / "test.txt", model=folder / "model")
    found.train.write_text(column_text(chunked(sentences(train, 0, 80))), encoding="utf-8")
    found.test.write_text(column_text(chunked(sentences(test, 0, 60))), encoding="utf-8")
    done("train", found.train, "--preset", "ner", "--l1", "1", "-m", found.model, "--tolerance", "1e-2", "-q")
    return found


@pytest.fixture
def tiny(tmp_path):
    """Two sentences, enough to train on, in the current test's folder."""
    path = tmp_path / "tiny.txt"
    path.write_text("the DT D\ndog NN N\n\nit PRP N\nbarks VBZ V\n")
    return path


@pytest.fixture
def full_device(tmp_path):
    """A device that is always full, without putting the system's own at risk of being replaced."""
    path = tmp_path / "full"
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    if os.geteuid() != 0:
        path.symlink_to("/dev/full")
        return path
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        path.open("wb").close()
    except OSError as error:
        pytest.skip(f"cannot make a device: {error}")
    return path


@pytest.fixture
def hang_up_counts():
    """SIGHUP reaches the commands that a test starts, also where the tests run under nohup, which ignores it."""
    hang_up = getattr(signal, "SIGHUP", None)  # not on Windows
    before = hang_up and signal.signal(hang_up, signal.SIG_DFL)
    yield
    if hang_up:
        signal.signal(hang_up, before)
