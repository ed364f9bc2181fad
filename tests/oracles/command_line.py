"""Runs of the command line, in this process or in one of its own, and texts for it in columns."""

from __future__ import annotations

import contextlib
import lzma
import os
import subprocess
import sys
import tempfile
import threading
import time

from loglinear.cli.main import main
from oracles.patience import patience

COMMAND = [sys.executable, "-m", "loglinear"]

TEMPLATE = 'U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nU3:%m[0,0,"..$"]\nB\n'


def run_command(*arguments, input=None, cwd=None, apart=False, terminal=False, wrapper=(), **options):
    """Run the command line; a traceback or a panic fails the test, wherever it is.

    It runs in this process, with the standard streams replaced, unless it is to run apart: in an interpreter of its
    own, if need be behind a wrapper, or with other options of `subprocess.run`.

    Args:
        arguments: of the command line.
        input: text or bytes for its standard input, which is empty without.
        cwd: folder in which it runs.
        apart: run an interpreter of its own, as a wrapper or options do too.
        terminal: whether standard output says that it is a terminal; only in this process.
        wrapper: command that runs the command.
        options: of `subprocess.run`.

    Returns:
        What `subprocess.run` returns: the exit code, and what it wrote to stdout and stderr as texts.
    """
    command = [*COMMAND, *map(os.fspath, arguments)]
    sent = input.encode() if isinstance(input, str) else input or b""
    if not (apart or wrapper or options):
        with _folder(cwd or "."):
            return _run_here(command, sent, terminal=terminal)
    options = {"capture_output": True, "timeout": 60, "cwd": cwd} | options
    done = subprocess.run([*wrapper, *command], input=sent, check=False, **options)
    done.stdout, done.stderr = ((text or b"").decode(errors="replace") for text in (done.stdout, done.stderr))
    for word in ("Traceback", "panicked", "Exception ignored", "internal error"):
        assert word not in done.stderr, done.stderr
    return done


def _run_here(command, sent, *, terminal):
    """Run it in this process: what Python and the native module write to the descriptors 1 and 2 goes into files."""
    code = 0
    reading, writing = os.pipe()
    sender = threading.Thread(target=_send, args=(writing, sent))
    sender.start()
    streams = sys.stdin, sys.stdout, sys.stderr
    try:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
            with _descriptors(reading, out.fileno(), said.fileno()):
                sys.stdin = open(0, encoding="utf-8", closefd=False)
                sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
                if terminal:
                    sys.stdout.isatty = lambda: True
                try:
                    main(command[len(COMMAND) :])
                except SystemExit as ended:
                    code = ended.code or 0
                finally:
                    for stream in (sys.stdin, sys.stdout, sys.stderr):
                        stream.close()
                    sys.stdin, sys.stdout, sys.stderr = streams
            texts = []
            for file in (out, said):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
    finally:
        os.close(reading)
        sender.join()
    return subprocess.CompletedProcess(command, code, *texts)


def _send(writing, sent):
    """Write what standard input holds; whoever reads it may stop."""
    with contextlib.suppress(BrokenPipeError), open(writing, "wb") as pipe:
        pipe.write(sent)


@contextlib.contextmanager
def _descriptors(*files):
    """Put these files into the places of the descriptors 0, 1, 2 and so on, for a while."""
    kept = [os.dup(number) for number in range(len(files))]
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        yield
    finally:
        for number, file in enumerate(kept):
            os.dup2(file, number)
            os.close(file)


@contextlib.contextmanager
def _folder(path):
    """Make a folder the current one, for a while."""
    before = os.getcwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


def sentences(path, first, last):
    """Sentences of a file of the sample: lists of [word, XPOS, UPOS]."""
    blocks = lzma.open(path, "rt", encoding="utf-8").read().split("\n\n")
    return [[line.split("\t") for line in block.split("\n")] for block in blocks[first:last]]


def column_text(data):
    return "".join("".join("\t".join(row) + "\n" for row in sentence) + "\n" for sentence in data)


def chunked(data):
    """Noun and verb groups by rule, in IOB2: [word, UPOS, label]."""
    kinds = dict.fromkeys(("DET", "ADJ", "NOUN", "PROPN", "NUM"), "NP") | dict.fromkeys(("AUX", "VERB", "PART"), "VP")
    made = []
    for sentence in data:
        before, rows = None, []
        for word, _, tag in sentence:
            kind = kinds.get(tag)
            label = f"{'I' if kind == before else 'B'}-{kind}" if kind else "O"
            rows.append([word, tag, label])
            before = kind
        made.append(rows)
    return made


def read_columns(text):
    """Sentences of a column text: lists of rows."""
    return [[line.split() for line in block.split("\n")] for block in text.strip("\n").split("\n\n")]


class Interruptible:
    """A training that can be interrupted; killed when the test is over."""

    def __init__(self, *arguments, **options):
        command = [*COMMAND, "train", *map(os.fspath, arguments)]
        options = {"stdin": subprocess.DEVNULL} | options
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()
        self.process.wait()


def until(condition, seconds=20.0):
    """Wait for a condition."""
    deadline = time.monotonic() + patience(seconds)
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.01)
