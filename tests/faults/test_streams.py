"""Commands whose standard output is closed, full or without a reader; results in folders that are missing, or files."""

from __future__ import annotations

import os
from itertools import product

import pytest

from examples import by_day
from oracles.command_line import run_command
from oracles.patience import patience

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a shell")

# Commands that print, with what is printed on {model}, {data} and so on.
PRINTING = {
    "tag": ["tag", "-m", "{model}", "{more}"],
    "tag n-best": ["tag", "-m", "{model}", "{more}", "--n-best", "2"],
    "stream": ["tag", "-m", "{model}", "{more}", "--stream"],
    "fill": ["tag", "-m", "{network}", "{gaps}"],
    "explain": ["explain", "-m", "{model}", "{more}"],
    "evaluate": ["evaluate", "-m", "{model}", "{more}"],
    "evaluate a network": ["evaluate", "-m", "{network}", "{table}"],
    "report": ["report", "{model}", "--data", "{more}", "-o", "-"],
    "select": ["select", "{data}", "--preset", "ner", "--size", "5", "-q"],
    "structure": ["structure", "{table}", "--l1", "1", "-q"],
    "convert": ["convert", "{model}", "-", "--to", "crfsuite"],
    "inspect": ["inspect", "{model}"],
    "inspect a corpus": ["inspect", "{corpus}", "--json"],
    "solvers": ["solvers"],
    "solver": ["solvers", "owlqn", "--json"],
    "presets": ["presets"],
    "preset": ["presets", "ner"],
    "doctor": ["doctor"],
    "completion": ["completion", "bash"],
    "demo": ["demo"],
    "help": ["--help"],
    "version": ["--version"],
    "help on a command": ["train", "--help"],
}
DAY = ("tag", "stream", "explain", "select", "convert", "help")
CASES = [pytest.param(name, marks=[pytest.mark.slow] * (name not in DAY)) for name in PRINTING]


def run_with(small, name, redirected):
    arguments = [each.format(**vars(small)) for each in PRINTING[name]]
    return run_command(*arguments, wrapper=["bash", "-c", f'"$@" {redirected}', "bash"], timeout=patience(60))


@pytest.mark.parametrize("name", CASES)
def test_a_full_disk_at_standard_output_is_one_line_and_exit_code_1(small, name):
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    done = run_with(small, name, ">/dev/full")
    *before, line = done.stderr.splitlines()
    assert done.returncode == 1, done.stderr
    assert line.startswith("loglinear: error: ")
    assert line.endswith("No space left on device")
    assert before == [] or name == "demo"


@pytest.mark.parametrize("name", CASES)
def test_a_closed_standard_output_is_an_output_without_a_reader(small, name):
    done = run_with(small, name, ">&-")
    assert done.returncode == 1, done.stderr
    assert done.stderr == "" or name == "demo"


def test_what_prints_nothing_needs_no_standard_output(small, tmp_path):
    arguments = ["tag", "-m", small.model, small.more, "-o", tmp_path / "labels"]
    done = run_command(*arguments, wrapper=["sh", "-c", '"$@" >&-', "sh"])
    assert done.returncode == 0
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())
    assert (tmp_path / "labels").stat().st_size


@pytest.mark.parametrize("name", CASES)
def test_a_reader_that_has_gone_ends_a_command_quietly(small, name):
    done = run_with(small, name, "| true; exit ${PIPESTATUS[0]}")
    assert done.returncode in (0, 1)
    assert done.stderr == "" or name == "demo"


# Arguments that name a file to write, each with the rest of its command.
WRITING = {
    "train": (["{data}", "--preset", "ner", "-q"], ["-m", "--trace", "--checkpoint", "--report"]),
    "tag": (["{more}", "-m", "{model}"], ["-o"]),
    "select": (["{data}", "--preset", "ner", "-q"], ["-m", "--table", "--plot"]),
    "structure": (["{table}", "-q"], ["-m", "--edges", "--plot"]),
    "encode": (["{data}", "--preset", "ner", "-q"], ["-o"]),
    "report": (["{model}", "--data", "{more}"], ["-o"]),
}
PLACES = [(name, option) for name, (_, options) in WRITING.items() for option in options]


@pytest.mark.parametrize("missing", [True, False], ids=["missing", "a file"])
@pytest.mark.parametrize(("name", "option"), PLACES)
def test_a_folder_that_is_missing_or_a_file_is_named_before_the_work(small, tmp_path, name, option, missing):
    place = tmp_path / "folder"
    if not missing:
        place.write_bytes(b"a file")
    path = place / ("plot.svg" if option == "--plot" else "result")
    arguments = [each.format(**vars(small)) for each in WRITING[name][0]]
    others = [] if name != "train" or option == "-m" else ["-m", tmp_path / "m"]
    done = run_command(name, *arguments, *others, option, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"loglinear: error: {path}: ")
    assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == ([] if missing else ["folder"])


TRAIN = ["train", "{data}", "--preset", "ner", "--tolerance", "1e-2", "-m"]


@pytest.mark.parametrize("redirected", ["2>&1 | head -1; exit ${PIPESTATUS[0]}", "2>/dev/full", "2>&-"])
def test_messages_that_cannot_be_written_do_not_end_a_training(small, tmp_path, redirected):
    if "full" in redirected and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    arguments = [each.format(**vars(small)) for each in TRAIN]
    wrapper = ["bash", "-c", f'"$@" {redirected}', "bash"]
    done = run_command(*arguments, tmp_path / "model", wrapper=wrapper, timeout=patience(60))
    assert done.returncode == 0, done
    expected = run_command(*arguments, tmp_path / "expected", "-q")
    assert expected.returncode == 0
    labelled = [run_command("tag", "-m", tmp_path / name, small.more).stdout for name in ("model", "expected")]
    assert labelled[0] == labelled[1] != ""


# Commands that write their result to {result}.
TO_FILES = {
    "tag": ["tag", "-m", "{model}", "{more}", "-o", "{result}"],
    "evaluate": ["evaluate", "-m", "{model}", "{more}", "-o", "{result}"],
    "structure": ["structure", "{table}", "--l1", "1", "--edges", "{result}"],
    "select": ["select", "{data}", "--preset", "ner", "--size", "5", "--table", "{result}"],
    "encode": ["encode", "{data}", "--preset", "ner", "-o", "{result}"],
}


@pytest.mark.parametrize(
    ("name", "redirected"),
    by_day(
        list(product(TO_FILES, ["2>/dev/full", "2>&-", "2> >(exec 0<&-)"])),
        lambda case: case[0] == "tag" or case in (("encode", "2>/dev/full"), ("evaluate", "2> >(exec 0<&-)")),
    ),
)
def test_messages_that_cannot_be_written_do_not_change_a_result(small, tmp_path, name, redirected):
    if "full" in redirected and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    codes = []
    for place, wrapper in (("result", ["bash", "-c", f'"$@" {redirected}', "bash"]), ("expected", [])):
        arguments = [each.format(**vars(small), result=tmp_path / place) for each in TO_FILES[name]]
        codes.append(run_command(*arguments, wrapper=wrapper, timeout=patience(60)).returncode)
    assert codes == [0, 0]
    result, expected = tmp_path / "result", tmp_path / "expected"
    if name == "encode":
        assert sorted(os.listdir(result)) == sorted(os.listdir(expected))
    else:
        assert result.read_bytes() == expected.read_bytes() != b""
