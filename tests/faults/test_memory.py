"""Commands under limits of memory: they end in one line, never by a signal.

The limits lie above what the command needs on next to no data: below, libraries fail or hang while they are loaded.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from oracles.patience import patience

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs /proc and RLIMIT_AS as Linux has them"
)

# Runs the command line; with a limit of 0 it prints the most address space that the process had, in bytes.
PROGRAM = """
import atexit, resource, sys
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
else:
    def tell():
        line = next(line for line in open("/proc/self/status") if line.startswith("VmPeak"))
        print(1024 * int(line.split()[1]), file=sys.stderr)
    atexit.register(tell)
from loglinear.cli.main import main
main(sys.argv[2:])
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    words = [f"word{i}" for i in range(3000)]
    lines = (f"{words[i * 7919 % 3000]} {'ABCDE'[i * i % 5]}\n" + "\n" * (i % 9 == 0) for i in range(20_000))
    (folder / "data").write_text("".join(lines))
    (folder / "long").write_text("".join(f"word{i % 3000} A\n" for i in range(100_000)))
    rows = (",".join(str((i * k) % 7 % 2) for k in range(1, 30)) for i in range(20_000))
    (folder / "table.csv").write_text("\n".join([",".join(f"v{k}" for k in range(1, 30)), *rows]))
    (folder / "few").write_text("a A\n\nb B\n")
    (folder / "few.csv").write_text("v1,v2\n0,1\n1,0\n0,0\n1,1\n" * 5)
    (folder / "template").write_text("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nU:%shape[0,0]\nB\n")
    run(0, folder, "train", "data", "--template", "template", "-m", "model", "--max-iterations", "3")
    return folder


def run(limit, folder, *arguments):
    command = [sys.executable, "-c", PROGRAM, str(limit), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=patience(300), check=False)


COMMANDS = {
    "train": ("train", "data", "--template", "template", "-m", "other", "--max-iterations", "3", "-q"),
    "tag": ("tag", "-m", "model", "data", "-o", "tagged"),
    "tag a long sentence": ("tag", "-m", "model", "long", "-o", "tagged", "--marginals"),
    "evaluate": ("evaluate", "-m", "model", "data"),
    "structure": ("structure", "table.csv", "--l1", "200", "-m", "network"),
}
TINY = {"data": "few", "long": "few", "table.csv": "few.csv"}


def peak(folder, arguments):
    """Return the most address space that a command has, in bytes."""
    free = run(0, folder, *arguments)
    assert free.returncode == 0, free.stderr
    return int(free.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "settings"),
    [("train", 2), ("tag a long sentence", 2), *(pytest.param(name, 50, marks=pytest.mark.slow) for name in COMMANDS)],
)
def test_no_limit_of_memory_ends_a_command_by_a_signal(files, name, settings):
    least, most = peak(files, [TINY.get(word, word) for word in COMMANDS[name]]), peak(files, COMMANDS[name])
    for share in range(1, settings + 1):
        ended = run(least + (most - least) * share // (settings + 1), files, *COMMANDS[name])
        assert ended.returncode in (0, 1), (share, settings, ended.returncode, ended.stderr[-2000:])
        assert "Traceback" not in ended.stderr, (share, settings, ended.stderr[-2000:])
        assert ended.returncode == 0 or ended.stderr, (share, settings)


def test_a_sentence_of_a_million_tokens_takes_a_kilobyte_a_token(files):
    (files / "million").write_text("".join(f"word{i % 3000} A\n" for i in range(1_000_000)))
    arguments = ("tag", "-m", "model", "million", "-o", "tagged")
    assert peak(files, arguments) - peak(files, ("tag", "-m", "model", "few")) < 1e9
    assert (files / "tagged").read_bytes().count(b"\n") >= 1_000_000
