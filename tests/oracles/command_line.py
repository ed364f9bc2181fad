"""Runs of `python -m loglinear`, and texts for it in columns."""

from __future__ import annotations

import lzma
import os
import subprocess
import sys

COMMAND = [sys.executable, "-m", "loglinear"]

TEMPLATE = 'U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\nU3:%m[0,0,"..$"]\nB\n'


def run_command(*arguments, wrapper=(), **options):
    """Run the command line. Whatever happens, nobody gets to see a traceback or a panic."""
    command = [*wrapper, *COMMAND, *map(os.fspath, arguments)]
    options = {"capture_output": True, "encoding": "utf-8", "errors": "replace", "timeout": 30} | options
    if "stdin" not in options and "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    done = subprocess.run(command, **options)
    said = done.stderr if isinstance(done.stderr, str) else (done.stderr or b"").decode(errors="replace")
    for word in ("Traceback", "panicked", "Exception ignored", "internal error"):
        assert word not in said, said
    return done


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
