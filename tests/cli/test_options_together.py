"""All combinations of the options of a command: success with a model that opens, or a misuse in a few lines."""

from __future__ import annotations

import argparse
import functools
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear.cli.commands import select, structure, train
from loglinear.solvers import FOR_RESEARCH, SOLVERS
from oracles.command_line import run_command

# Values of the options whose parser does not list them; {} is the folder of the files.
SHARED = {
    "max_sentence": ["10", "100000"], "label_column": ["1", "-1"], "preset": ["ner", "pos"],
    "template": ["{}/template"], "min_count": ["2"], "order": ["2", "3"],
    "constraints": ["auto", "bio", "bioes", "none"], "invalid_labels": ["skip", "repair"],
    "class_weight": ["B-X=2", "balanced", "O=0.5"], "dev": ["{}/dev"], "l1": ["0.01", "0.1", "5"],
    "l2": ["0", "0.001", "1"], "tolerance": ["0", "1e-3"], "threads": ["2"], "plot": ["{}/plot.svg"],
    "model": ["{}/model"], "tokenizer": ["words", "a("],
}  # fmt: skip
VALUES = {
    structure: {
        "edges": ["{}/edges.tsv"], "plot": ["{}/plot.svg", "{}/plot.html"], "model": ["{}/model"],
        "l1": ["ebic", "cv", "stars", "0.5", "20"], "l2": ["0.1"], "bins": ["2", "3"], "max_states": ["2", "4"],
        "random_state": ["1"], "cut": ["d=0.5", "d=0.5,1.5"], "references": ["a=y", "a=z"], "bootstrap": ["2", "3"],
        "nodes": ["{}/nodes.tsv"],
        "missing": ["?", "?,z"], "ignore": ["c", "c,d"], "delimiter": [",", ";"], "threads": ["2"],
    },
    select: SHARED | {
        "format": ["columns", "text", "doccano"], "size": ["3"], "path": ["3", "1,0.5"], "select": ["2"],
        "steps": ["2"], "table": ["{}/table.tsv"], "folds": ["2"], "smallest": ["{}/small.template"],
    },
    train: SHARED | {
        "format": ["columns", "text", "svmlight", "brat"], "weight_column": ["2"], "words": ["characters:1-2"],
        "ngrams": ["1-2"], "start": ["{}/older"], "prior": ["{}/older"], "prior_strength": ["2"],
        "multi_class": ["ovr"], "penalty_factor": ["*=2", "a=0"], "signs": ["*=+"], "l1_groups": ["families"],
        "solver": [*SOLVERS, *FOR_RESEARCH], "solver_options": ["passes=2", "memory=3"],
        "random_state": ["1"], "gap": ["0.01"], "max_iterations": ["2", "20"], "keep": ["best", "last"],
        "patience": ["2"], "report": ["{}/report.html"], "trace": ["{}/trace.jsonl"],
        "checkpoint": ["{}/checkpoint"], "checkpoint_minutes": ["0"],
        "l1": [*SHARED["l1"], "cv"], "l2": [*SHARED["l2"], "cv"], "folds": ["2"], "metric": ["accuracy"],
    },
}  # fmt: skip
# The data, what starts a cluster of processes, and what trains many networks.
APART = {"help", "places", "train", "table", "workers", "cluster", "part_mb"}
APART |= {"stability", "compare", "permutations"}


@st.composite
def flags(draw, command):
    """Some of the flags of a command, or about a third of all, with a value."""
    parser, fewer = argparse.ArgumentParser(), draw(st.sampled_from([3, 10, 20]))
    command.configure(parser)
    drawn = []
    for action in parser._actions:
        if action.dest in APART and action.dest not in VALUES[command]:
            continue
        choices = VALUES[command].get(action.dest, action.choices)
        assert choices or action.nargs == 0, f"say which values of {action.option_strings} to draw"
        if draw(st.integers(1, fewer)) == fewer:
            name = next(each for each in action.option_strings if each.startswith("--"))
            drawn.append(name if action.nargs == 0 else f"{name}={draw(st.sampled_from(list(choices)))}")
    return drawn


def write_columns(path, kind):
    """Sentences of a word, a cost and a label; as `kind` says, some labels are partial or break the scheme."""
    rng, lines = np.random.default_rng(len(str(path.name))), []
    for _ in range(8):
        for _ in range(rng.integers(1, 5)):
            word = rng.choice(["a", "b", "c"])
            lines.append(f"{word} {rng.integers(1, 4)} {'B-X' if word == 'a' else 'O'}\n")
        lines.append("\n")
    if kind != "plain":
        lines[0] = "b 1 " + {"partial": "?", "several": "O|B-X", "invalid": "I-Y"}[kind] + "\n"
    path.write_text("".join(lines))


def write_table(path, kind):
    """A table of four columns, the last of numbers; as `kind` says, values are missing or two columns are equal."""
    rng, rows = np.random.default_rng(0), ["a,b,c,d"]
    for number in range(30):
        a = rng.integers(2)
        b = a if kind == "copied" or rng.random() < 0.8 else 1 - a
        rows.append(f"{'xy'[a]},{'xy'[b]},{'pqr'[rng.integers(3)]},{a + rng.integers(3)}")
        if kind == "missing" and number % 5 == 0:
            rows[-1] = f"?,,{'pqr'[number % 3]},{a}"
    path.write_text("\n".join(rows) + "\n")


@functools.cache
def older_model():
    """The file of a chain that was trained on such sentences."""
    with tempfile.TemporaryDirectory() as folder:
        write_columns(data := Path(folder, "data"), "plain")
        Path(folder, "template").write_text("U:%x[0,0]\nB\n")
        assert not run_command("train", data, f"--template={folder}/template", f"--model={folder}/model").returncode
        return Path(folder, "model").read_bytes()


def law_of(command, drawn, write, kind):
    """The command succeeds or says in at most three lines that it is used wrongly; its model opens."""
    name = command.__name__.rpartition(".")[2]
    with tempfile.TemporaryDirectory() as folder:
        data, model = Path(folder, "data"), Path(folder, "model")
        write(data, kind)
        if command is not structure:
            write(Path(folder, "dev"), "plain")
            Path(folder, "template").write_text("U:%x[0,0]\nB\n")
            if any("older" in flag for flag in drawn):
                Path(folder, "older").write_bytes(older_model())
        given = {flag.partition("=")[0] for flag in drawn}
        needed = {train: ["--model={}/model"], select: ["--dev={}/dev"]}.get(command, [])
        if command is not structure and not given & {"--template", "--preset", "--format"}:
            needed = ["--template={}/template", *needed]
        drawn = [*drawn, *(flag for flag in needed if flag.partition("=")[0] not in given)]
        drawn = [flag.replace("{}", folder) for flag in drawn]
        done = run_command(name, data, *drawn)
        assert done.returncode in (0, 2), (drawn, done.stderr)
        if done.returncode == 2:
            lines = [line for line in done.stderr.splitlines() if "error" in line or line.startswith("see ")]
            assert 1 <= len(lines) <= 2, (drawn, done.stderr)
        elif f"--model={model}" in drawn:
            inspected = run_command("inspect", model)
            assert inspected.returncode == 0, (drawn, inspected.stderr)


@given(flags(structure), st.sampled_from(["plain", "missing", "copied"]))
@examples(72)
def test_structure_with_all_options(drawn, kind):
    law_of(structure, drawn, write_table, kind)


@given(flags(select), st.sampled_from(["plain", "partial", "several", "invalid"]))
@examples(80)
def test_select_with_all_options(drawn, kind):
    law_of(select, drawn, write_columns, kind)


@given(flags(train), st.sampled_from(["plain", "partial", "several", "invalid"]))
@examples(120)
def test_train_with_all_options(drawn, kind):
    law_of(train, drawn, write_columns, kind)
