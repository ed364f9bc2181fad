"""Inputs are never written over: outputs that are the file of an input, or of another output, are refused."""

from __future__ import annotations

import argparse
import importlib
import os

import pytest

from loglinear.cli.main import COMMANDS

INPUT = "the DT D\ndog NN N\n\nit PRP N\nbarks VBZ V\n"

# Arguments in front of files, an input and the same file as an output; what the message names.
CLASHES = [
    (["train", "F", "--preset", "ner", "--model", "F"], "TRAIN", "--model"),
    (["train", "G", "--preset", "ner", "--dev", "F", "--model", "F"], "--dev", "--model"),
    (["train", "G", "--template", "F", "--model", "F"], "--template", "--model"),
    (["train", "F", "--preset", "ner", "--model", "M", "--trace", "F"], "TRAIN", "--trace"),
    (["train", "G", "--preset", "ner", "-m", "same.x", "--trace", "same.x"], "--model", "--trace"),
    (["train", "G", "--preset", "ner", "-m", "same.x", "--trace", "../{folder}/same.x"], "--model", "--trace"),
    (["evaluate", "--model", "G", "F", "--output", "F"], "FILE", "--output"),
    (["evaluate", "--model", "F", "G", "--output", "F"], "--model", "--output"),
    (["tag", "--model", "F", "G", "-o", "F"], "--model", "--output"),
    (["tag", "--model", "G", "F", "-o", "F"], "FILE", "--output"),
    (["structure", "F", "--edges", "F"], "DATA", "--output"),
    (["structure", "F", "--model", "F"], "DATA", "--model"),
    (["structure", "F", "--plot", "F"], "DATA", "--plot"),
    (["structure", "G", "--plot", "a.svg", "--edges", "a.svg"], "--plot", "--output"),
    (["select", "F", "-o", "F"], "TRAIN", "--output"),
    (["select", "F", "--model", "F"], "TRAIN", "--model"),
]


@pytest.mark.parametrize(("arguments", "read", "written"), CLASHES)
def test_output_that_is_an_input_or_another_output_is_refused(misuse, tmp_path, monkeypatch, arguments, read, written):
    monkeypatch.chdir(tmp_path)
    for name in "FG":
        (tmp_path / name).write_text(INPUT)
    said = misuse(*(argument.format(folder=tmp_path.name) for argument in arguments))
    assert read in said
    assert written in said
    assert (tmp_path / "F").read_text() == INPUT


def test_stdin_is_not_read_twice(misuse):
    assert "DATA and --compare would read stdin more than once" in misuse("structure", "-", "--compare", "-")
    assert "TRAIN would read stdin more than once" in misuse("train", "-", "-", "--preset", "ner", "--model", "m")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_that_is_a_file_is_read_or_written(name):
    module = importlib.import_module(f"loglinear.cli.commands.{name}")
    parser = argparse.ArgumentParser()
    module.configure(parser)
    files = {each.dest for each in parser._actions if each.metavar in ("FILE", "MODEL", "TRAIN", "DATA", "PICTURE")}
    files -= {"places"}
    assert files == {*module.READS, *module.WRITES}


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_links_and_standard_input_are_the_files_behind_them(misuse, sample, tmp_path):
    words = tmp_path / "words"
    words.write_text("The\n")
    (tmp_path / "link").symlink_to(words)
    misuse("tag", "--model", sample.model, words, "-o", tmp_path / "link")
    misuse("tag", "--model", sample.model, "-o", words, wrapper=("sh", "-c", f"exec \"$@\" <'{words}'", "sh"))
    assert words.read_text() == "The\n"


@pytest.mark.skipif(os.name != "posix", reason="needs /dev/null")
def test_a_device_may_be_shared(done, tiny):
    done("train", tiny, "--preset", "pos", "-m", os.devnull, "--trace", os.devnull, "-q")


@pytest.mark.parametrize(
    "command", [["tag"], ["evaluate"], ["train", "--preset", "pos"], ["structure", "--edges", "e"]]
)
def test_a_model_is_no_data(misuse, sample, command):
    model = [] if command[0] == "structure" else ["--model", sample.model if len(command) == 1 else "m"]
    assert misuse(*command, sample.model, *model) == f"{sample.model}: a loglinear model, not data; give a data file"
