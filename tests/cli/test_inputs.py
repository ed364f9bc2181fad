"""Every command that reads a model takes it in its place or by a flag."""

import importlib

import pytest

from loglinear.cli.main import COMMANDS, command_parser

WITH_MODEL_AND_DATA = ["tag", "evaluate", "explain", "report"]


@pytest.fixture(scope="module")
def tagged(done, sample):
    return done("tag", sample.model, sample.test).stdout


@pytest.mark.parametrize(
    "arguments",
    ["M D", "D M", "-m M D", "D -m M", "M --data D", "--data D M", "--model M --data D", "M -j 1 D", "-m M -j 1 D"],
)
def test_model_and_data_are_found_wherever_they_are(done, sample, tagged, arguments):
    files = {"M": sample.model, "D": sample.test}
    assert done("tag", *(files.get(word, word) for word in arguments.split())).stdout == tagged


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("tag", "the model is missing; write loglinear tag MODEL [FILE]"),
        ("evaluate M", "a file is missing; write loglinear evaluate MODEL FILE"),
        ("tag -m M M D", "two models: -m M and M; give one"),
        ("inspect -m M M", "two models: M and M; give one"),
        ("tag -m M D D", "two files: D and D; give one"),
        ("tag M D --data D", "two files: D and --data D; give one"),
        ("convert M", "a file is missing; write loglinear convert MODEL FILE"),
        ("convert M x -o y", "two files: x and --output y; give one"),
        ("train -m M", "a file is missing; write loglinear train TRAIN..."),
        ("train D --data D -m M", "two files: D and --data D; give one"),
    ],
)
def test_files_that_are_missing_or_given_twice_are_named(misuse, sample, arguments, message):
    files = {"M": str(sample.model), "D": str(sample.test)}
    said = misuse(*(files.get(word, word) for word in arguments.split()), usage=True)
    for letter, path in files.items():
        said = said.replace(path, letter)
    assert said == message


def test_the_data_are_not_a_model_whatever_they_are_called(misuse, sample, tmp_path):
    for arguments in ((sample.model, sample.model), ("-m", sample.model, sample.model)):
        assert misuse("tag", *arguments) == f"{sample.model}: a loglinear model, not data; give a data file"
    renamed = tmp_path / "test.txt"
    renamed.write_bytes(sample.model.read_bytes())
    assert misuse("tag", sample.test, sample.test).startswith(f"{sample.test}: ")


def test_data_may_be_given_by_a_flag_to_every_command_that_reads_some():
    for name in COMMANDS:
        module, parser = command_parser(name)
        flags = {flag for action in parser._actions for flag in action.option_strings}
        inputs = parser.get_default("inputs")
        reads = set(importlib.import_module(f"loglinear.cli.commands.{name}").READS)
        if reads and (inputs is None or inputs.data in reads):
            assert "--data" in flags, name
        if "model" in reads:
            assert {"-m", "--model"} <= flags, name
        if module.WRITES and name not in ("train", "demo"):
            assert {"-o", "--output"} <= flags, name


def test_a_training_writes_its_model_to_the_output(done, tiny, tmp_path):
    for flag in ("-m", "--model", "-o", "--output"):
        done("train", "--data", tiny, "--preset", "pos", "-q", flag, tmp_path / flag)
    assert {path.name for path in tmp_path.iterdir()} >= {"-m", "--model", "-o", "--output"}


def test_a_converted_model_goes_to_its_place_or_to_the_output(done, sample, tmp_path):
    places = [(sample.model, "{}"), ("-m", sample.model, "{}"), (sample.model, "-o", "{}")]
    for at, words in enumerate(places):
        target = tmp_path / f"{at}.crfsuite"
        done("convert", *(target if word == "{}" else word for word in words))
        assert target.read_bytes() == (tmp_path / "0.crfsuite").read_bytes()
