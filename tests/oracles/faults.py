"""Runs of the command line in which one call of the operating system fails, or is the process's last, call after call.

`tests/faults/shim.c` makes the calls fail. A process with that library in front of the C library has a child for each
run, which begins with everything imported; `python -m oracles.faults` is that process.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from oracles.command_line import run_command

TESTS = Path(__file__).parents[1]

Files = dict[str, str]


@dataclass(frozen=True)
class Run:
    """A run of a command.

    Attributes:
        call: the call that failed or was the last one, and the path that it concerned; empty without a fault.
        code: the exit code; negative the signal that ended the process.
        out: what it wrote to stdout.
        said: what it wrote to stderr.
        files: digests of the files in the folder afterwards, by their names in it.
        after: the same when the command has run once more, without a fault, where the process was killed.
    """

    call: str
    code: int
    out: str
    said: str
    files: Files
    after: Files | None = None


def sweep(
    library: Path, folder: Path, arguments: list[object], kind: str, error: int = 0, *, every: bool = False
) -> tuple[Run, list[Run]]:
    """Run a command without a fault, and again and again with a fault in a call that concerns a folder.

    Args:
        library: the shim, compiled.
        folder: its files are the same before each run.
        arguments: of the command line.
        kind: of fault, as `faults_set` names them.
        error: the error that calls fail with, a value of errno.
        every: take every call, not only the first one of a name that concerns a file.

    Returns:
        The run without a fault, and the runs with one. Clocks stand still in them: files are the same bit by bit.
    """
    told = json.dumps([str(folder), list(map(str, arguments)), kind, error, every])
    environment = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "oracles.faults"]
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    whole, *runs = (Run(**each) for each in json.loads(done.stdout))
    return whole, runs


def contents(folder: Path) -> Files:
    """Digests of the files below a folder."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class _Runs:
    def __init__(self, folder: str, arguments: list[str], kind: str, error: int, every: bool) -> None:
        self.folder, self.arguments, self.kind, self.error, self.every = Path(folder), arguments, kind, error, every
        self.shim = ctypes.CDLL(None)
        self.shim.faults_calls.restype = ctypes.c_char_p

    def made(self) -> list[Run]:
        """The run without a fault, and those with one."""
        with tempfile.TemporaryDirectory() as kept:
            shutil.copytree(self.folder, kept, dirs_exist_ok=True)
            run_command(*self.arguments)  # imports all that the children need
            self._reset(kept)
            code, out, said, calls = self._in_child()
            runs = [Run("", code, out, said, contents(self.folder))]
            calls = [re.sub(r"\.loglinear-\w+", ".loglinear-?", line) for line in calls.splitlines()]
            for number, call in enumerate(calls, start=1):
                if self.every or call not in calls[: number - 1]:
                    self._reset(kept)
                    runs.append(self._run(number, call))
                if self.kind == "slow":
                    break  # all writes are
        return runs

    def _reset(self, kept: str) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(kept, self.folder)

    def _run(self, number: int, call: str) -> Run:
        answer = self._in_child(number, self.kind)
        files = contents(self.folder)
        if not isinstance(answer, int):
            return Run(call, *answer[:3], files)
        again = self._in_child()
        assert not isinstance(again, int), again
        assert again[0] == 0, again
        return Run(call, answer, "", "", files, contents(self.folder))

    def _in_child(self, number: int = 0, kind: str = "none") -> Any:
        """What a child answers: exit code, stdout, stderr, calls; or, as a negative number, the signal it died of."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                self.shim.faults_set(os.fsencode(self.folder), ctypes.c_long(number), kind.encode(), self.error)
                try:
                    done = run_command(*self.arguments)
                    answer = [done.returncode, done.stdout, done.stderr]
                except BaseException:
                    answer = [-1, "", traceback.format_exc()]
                text = json.dumps([*answer, self.shim.faults_calls().decode()])
                with open(writing, "w") as pipe:
                    pipe.write(text)
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading, "rb") as pipe:
            text = pipe.read()
        _, status = os.waitpid(child, 0)
        return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else json.loads(text)


if __name__ == "__main__":
    time.perf_counter = time.monotonic = lambda: 0.0
    print(json.dumps([asdict(run) for run in _Runs(*json.load(sys.stdin)).made()]))
