"""Commands whose standard output is closed, full or has no reader; results in folders that are missing, or that are files."""

from __future__ import annotations

import os

import pytest

from oracles.command_line import run_command

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
SLOW = ("demo", "report", "solver", "evaluate a network", "tag n-best", "inspect a corpus")
CASES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PRINTING]


def run_with(small, name, redirected):
    arguments = [each.format(**vars(small)) for each in PRINTING[name]]
    return run_command(*arguments, wrapper=["bash", "-c", f'"$@" {redirected}', "bash"], timeout=60)


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
def test_a_closed_standard_output_is_no_traceback(small, name):
    done = run_with(small, name, ">&-")
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1] == "loglinear: error: <stdout>: Bad file descriptor", done.stderr


@pytest.mark.parametrize("name", CASES)
def test_a_reader_that_has_gone_ends_a_command_quietly(small, name):
    done = run_with(small, name, "| true; exit ${PIPESTATUS[0]}")
    assert done.returncode in (0, 1)
    assert done.stderr == "" or name == "demo"
