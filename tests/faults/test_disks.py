"""A disk that is full, that fails, or that takes its time, and a process that is killed, at every call that writes."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from examples import by_day
from oracles.faults import contents, sweep


def command(name, small, folder):
    """The arguments of a command that writes into a folder, and what is in the folder before."""
    options = ["-m", folder / "model", "--max-iterations", "2", "-j", "1", "-q"]
    train = ["train", small.data, "--preset", "ner", *options]
    if name in ("train", "tag", "convert", "report"):
        (folder / "model").write_bytes(b"old")
    if "corpus" in name:
        shutil.copytree(small.corpus, folder / "corpus")
    encode = ["encode", small.more, "-o", folder / "corpus", "-j", "1", "-q"]
    return {
        "train": [*train, "--trace", folder / "trace"],
        "checkpoint": [*train, "--checkpoint", folder / "checkpoint", "--checkpoint-minutes", "0", "--resume"],
        "select": [
            *("select", small.data, "--preset", "ner", "--size", "20", "-m", folder / "model", "-j", "1", "-q"),
            *("--table", folder / "table", "--plot", folder / "plot.svg"),
        ],
        "structure": [
            *("structure", small.table, "--l1", "1", "-m", folder / "model", "--edges", folder / "edges", "-j", "1"),
            *("--plot", folder / "plot.svg", "-q"),
        ],
        "tag": ["tag", "-m", small.model, small.more, "-o", folder / "model", "-j", "1"],
        "report": ["report", small.model, "--data", small.more, "-o", folder / "model", "-j", "1"],
        "convert": ["convert", small.model, folder / "model", "--to", "crfsuite"],
        "encode": [*encode, "--preset", "ner"],
        "another corpus": [*encode, "--preset", "ner"],
        "a longer corpus": [*encode, "--append"],
        "train on a corpus": ["train", folder / "corpus", *options],
    }[name]


COMMANDS = [
    *("train", "checkpoint", "select", "structure", "tag", "report", "convert", "encode", "another corpus"),
    *("a longer corpus", "train on a corpus"),
]
# Commands that are tried by day.
FEW = ("train",)


def nightly(names):
    """The names, those that are tried by night alone marked."""
    return by_day(names, lambda name: name in FEW)


@pytest.fixture
def swept(shim, small, tmp_path):
    """Runs of a command with faults of a kind."""

    def run(name, kind, error=0, **options):
        folder = tmp_path / "results"
        folder.mkdir()
        arguments = command(name, small, folder)
        before = parts(contents(folder), folder)
        whole, runs = sweep(shim, folder, arguments, kind, error, **options)
        assert whole.code == 0, whole.said
        assert runs
        after = parts(whole.files, folder)
        return SimpleNamespace(folder=folder, before=before, after=after, whole=whole, runs=runs)

    return run


def parts(files, folder):
    """The files by the first part of their names: a corpus has several. The file of a lock does not count."""
    found = {}
    for name, digest in files.items():
        if not name.endswith("/lock"):
            found.setdefault(name.split("/")[0], {})[name] = digest
    return found


def old_or_new(found, files, *, but=lambda name: False):
    """All results are as they were, or complete; there is nothing else."""
    there = parts(files, found.folder)
    for name, part in there.items():
        if not but(name):
            assert part in (found.before.get(name), found.after.get(name)), name
    assert found.before.keys() <= there.keys()


def growing(name):
    """Whether a file is written after every step of a training; what runs that go on make of it is looked at."""
    return name in ("trace", "checkpoint")


def check_failures(found, reason):
    """Each run has failed in one line, which names a file; only failures of checkpoints and traces are warnings."""
    for run in found.runs:
        old_or_new(found, run.files, but=growing)
        if not run.said:
            # A temporary file without a name could not be made in a folder; one with a name did as well.
            assert run.call == f"open {found.folder / 'corpus'}", run
            assert (run.code, run.files) == (0, found.whole.files), run
            continue
        *warned, line = run.said.splitlines()
        if any(growing(Path(each.split(": ")[1]).name) for each in run.said.splitlines()):
            assert all(each.startswith("warning: ") and reason in each for each in warned), run
            if run.code == 0:
                assert line.startswith("warning: "), run
                assert reason in line, run
                continue
        else:
            assert warned == [], run
        assert (run.code, run.out) == (1, ""), run
        assert line.startswith(f"loglinear: error: {found.folder}{os.sep}"), run


@pytest.mark.parametrize("name", nightly(COMMANDS))
def test_a_full_disk_leaves_what_was_there(swept, name):
    check_failures(swept(name, "stay", errno.ENOSPC), "No space left on device")


@pytest.mark.slow
@pytest.mark.parametrize("name", nightly(COMMANDS))
def test_a_disk_that_fails_once_leaves_what_was_there(swept, name):
    check_failures(swept(name, "fail", errno.EIO, every=True), "Input/output error")


@pytest.mark.parametrize("name", nightly(COMMANDS))
def test_writes_that_are_short_or_interrupted_are_continued(swept, name):
    found = swept(name, "slow")
    (run,) = found.runs
    assert (run.code, run.said) == (0, found.whole.said)
    assert run.files == found.whole.files


@pytest.mark.parametrize("name", nightly(["train", "tag", "encode"]))
def test_an_error_names_the_file_that_was_to_be_written(swept, name):
    found = swept(name, "fail", errno.ENOSPC)
    for run in found.runs:
        kinds = {name: ["loglinear: error", "warning"][: 1 + growing(name)] for name in found.after}
        said = [f"{kind}: {found.folder / name}: " for name in found.after for kind in kinds[name]]
        named = [each for each in said if run.said.startswith(each)]
        assert len(named) == 1, run


def test_an_error_is_told_in_the_words_of_the_system(swept):
    for run in swept("tag", "fail", errno.EIO).runs:
        assert run.said.endswith(": Input/output error\n"), run


def is_temporary(name):
    return name.startswith(".loglinear-") or name.endswith(".part")


# A corpus that a killed run has made longer would be made longer again.
@pytest.mark.parametrize("name", nightly([n for n in COMMANDS if n != "a longer corpus"]))
def test_a_killed_process_leaves_what_was_there_and_the_next_one_completes_it(swept, name):
    found = swept(name, "kill-after")
    for run in found.runs:
        assert run.code == -signal.SIGKILL
        old_or_new(found, run.files, but=lambda name: growing(name) or is_temporary(name))
        # Temporary files of the native half are another test's business.
        again = {name: part for name, part in parts(run.after, found.folder).items() if name[0] != "."}
        assert again == found.after, run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tag", "encode"])
def test_the_next_run_removes_what_a_killed_one_has_left(swept, name):
    for run in swept(name, "kill-after").runs:
        assert not [name for name in run.after if is_temporary(name)], run
