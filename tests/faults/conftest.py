"""Small data and models, the commands that write files, and the library that makes a disk fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from loglinear.datasets import demo_paths
from oracles.command_line import chunked, column_text, run_command, sentences

TABLE = "a,b,c\n" + "".join(f"{at % 2},{(at // 2 + at % 5) % 2},{at % 3}\n" for at in range(60))


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """The library of `shim.c`, to be loaded before the C library."""
    compiler = shutil.which("cc")
    if compiler is None or not Path("/proc/self/fd").exists():
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", source, "-o", library, "-ldl"], check=True)
    return library


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """Sentences, a table, a model of each, and an encoded corpus."""
    folder = tmp_path_factory.mktemp("small")
    found = SimpleNamespace(
        folder=folder, data=folder / "data.txt", more=folder / "more.txt", table=folder / "table.csv",
        gaps=folder / "gaps.csv", model=folder / "model", network=folder / "network", corpus=folder / "corpus",
    )  # fmt: skip
    train, test = demo_paths()
    found.data.write_text(column_text(chunked(sentences(train, 0, 20))), encoding="utf-8")
    found.more.write_text(column_text(chunked(sentences(test, 0, 10))), encoding="utf-8")
    found.table.write_text(TABLE)
    found.gaps.write_text("a,b,c\n0,,1\n,1,2\n")
    for arguments in (
        ["train", found.data, "--preset", "ner", "-m", found.model, "--max-iterations", "3"],
        ["structure", found.table, "--l1", "1", "-m", found.network, "--edges", folder / "edges"],
        ["encode", found.data, "--preset", "ner", "-o", found.corpus],
    ):
        done = run_command(*arguments, "-q")
        assert done.returncode == 0, done.stderr
    return found
