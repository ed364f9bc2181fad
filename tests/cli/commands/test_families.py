"""Penalties of families, and the worth of lines, on the command line."""

from __future__ import annotations

import pytest

from loglinear import ChainCRF
from oracles.command_line import run_command

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]\nnoise:%x[0,1]\nB\n"


def run(*arguments, code=0):
    done = run_command(*map(str, arguments))
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("families")
    words = ["the", "dog", "barks", "a", "cat", "sleeps"] * 2
    tags = ["DT", "NN", "VB"] * 4
    for name, shift in (("train.txt", 0), ("dev.txt", 3)):
        sentences = []
        for n in range(12):
            start = (n + shift) % 6
            lines = [f"{words[k]} {(n + k) % 3} {tags[k]}" for k in range(start, start + 4)]
            sentences.append("\n".join(lines) + "\n\n")
        (folder / name).write_text("".join(sentences))
    (folder / "template").write_text(TEMPLATE)
    return folder


def test_train_takes_factors_signs_and_groups(data):
    model = data / "model"
    flags = ["--penalty-factor", "U01=2", "--penalty-factor", "noise=4", "--sign", "U00=+:NN", "--sign", "noise=-"]
    run("train", data / "train.txt", "--template", data / "template", "--l1", "0.1", *flags, "-m", model)
    crf = ChainCRF.load(model)
    assert crf.penalty_factor == {"U01": 2.0, "noise": 4.0}
    assert crf.signs == {"U00": {"NN": "+"}, "noise": "-"}
    weights = crf.state_features_
    assert all(weight >= 0.0 for (name, label), weight in weights.items() if name.startswith("U00:") and label == "NN")
    assert all(weight <= 0.0 for (name, _), weight in weights.items() if name.startswith("noise:"))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--penalty-factor", "U01"], "U01: not of the form NAME=NUMBER"),
        (["--penalty-factor", "U01=2", "--penalty-factor", "U01=3"], "U01 has two values"),
        (["--penalty-factor", "U01=-2"], "-2"),
        (["--penalty-factor", "U02=2"], "--penalty-factor: no attribute or family is called 'U02' (did you mean U0"),
        (["--sign", "U01=0"], "not of the form NAME=+"),
        (["--sign", "U01=+", "--sign", "U01=-:NN"], "U01 has two signs"),
        (["--sign", "U01=+:XX"], "--sign: there is no label 'XX'"),
        (["--l1-groups", "families"], "needs an L1 penalty"),
        (["--sign", "U01=+", "--solver", "sag"], "sag"),
    ],
)
def test_bad_flags_are_refused(data, flags, message):
    done = run("train", data / "train.txt", "--template", data / "template", *flags, "-m", data / "no", code=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_lines_are_measured_and_the_smallest_template_is_written(data):
    small, table, plot = data / "small", data / "table.tsv", data / "lines.svg"
    flags = ["--template", data / "template", "--l1", "0.1", "--lines", "--folds", "3"]
    done = run("select", data / "train.txt", *flags, "--smallest", small, "-o", table, "--plot", plot)
    rows = [line.split("\t") for line in table.read_text().splitlines()]
    assert rows[0] == ["family", "weights", "worth", "error", "loss", "kept"]
    assert {row[0] for row in rows[1:]} == {"U00", "U01", "noise", "transitions"}
    assert "\nkept: the smallest within one standard error" in done.stderr
    kept = {row[0] for row in rows[1:] if row[-1] == "yes"}
    assert {line.partition(":")[0] for line in small.read_text().split()} - {"B"} == kept - {"transitions"}
    assert "times a training with all families" in done.stderr
    assert plot.read_text().startswith("<?xml")


def test_lasso_orders_lines_on_development_data(data):
    flags = ["--template", data / "template", "--l1", "0.1", "--lines=lasso", "--dev", data / "dev.txt", "-q"]
    done = run("select", data / "train.txt", *flags)
    assert done.stdout.splitlines()[0].split("\t") == ["family", "weights", "worth", "error", "entry", "loss", "kept"]


def test_a_file_after_lines_is_told_where_to_go():
    done = run("select", "--lines", "train.txt", code=2)
    assert "'train.txt' is not leave-out or lasso; write --lines=leave-out, or put TRAIN before --lines" in done.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--folds", "3"], "--folds is for the lines of a template; add --lines"),
        (["--lines", "--path"], "--path is not available with --lines"),
        (["--lines", "--folds", "1"], "--folds 1 is not a whole number from 2"),
        (["--lines", "--folds", "3", "--dev", "dev.txt"], "--folds and --dev exclude each other"),
        (["--lines", "--solver", "grafting"], "--solver is not available with --lines"),
    ],
)
def test_flags_that_do_not_fit_together_are_refused(data, flags, message):
    done = run("select", data / "train.txt", "--template", data / "template", *flags, code=2)
    assert message in done.stderr
