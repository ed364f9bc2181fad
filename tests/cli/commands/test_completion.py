"""Laws of `loglinear completion`."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from loglinear.cli.main import COMMANDS, command_parser
from loglinear.data.templates import PRESETS
from loglinear.solvers import SOLVERS, option_names


@pytest.fixture(scope="module")
def completed(done, tmp_path_factory):
    """What bash offers behind words, the last of which is unfinished."""
    script = tmp_path_factory.mktemp("completion") / "script"
    script.write_text(done("completion", "bash").stdout)

    def offers(*words):
        program = (
            f"source {script}; COMP_WORDS=(loglinear {' '.join(repr(word) for word in words)}); "
            f"COMP_CWORD={len(words)}; _loglinear; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        found = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
        assert not found.stderr
        return found.stdout.split()

    return offers


def test_commands_flags_and_values_are_offered(completed):
    assert completed("") == list(COMMANDS)
    assert completed("tr") == ["train"]
    assert set(completed("train", "--solver", "")) == {"auto", *SOLVERS}
    assert completed("train", "--preset", "chunk") == [name for name in PRESETS if name.startswith("chunk")]
    assert "--n-best" in completed("tag", "--n")
    assert completed("tag", "--probabilities", "s") == ["span", "sequence"]
    assert completed("completion", "z") == ["zsh"]
    assert completed("presets", "chu") == ["chunking"]
    assert completed("solvers", "owl") == ["owlqn"]


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("tag --layout wap", "wapiti"),
        ("evaluate --scheme BIL", "BILOU"),
        ("tag --constraints IOBE", "IOBES"),
        ("train --constraints au", "auto"),
        ("train --format conllu:x", "conllu:xpos"),
        ("train --keep b", "best"),
        ("train --multi-class o", "ovr"),
        ("train --invalid-labels r", "repair"),
        ("train --words bl", "blanks"),
        ("train --separator t", "tab"),
        ("train -p learning_r", "learning_rate="),
        ("train --set max_line", "max_line_search="),
        ("train --solver sag -p sampl", "sampling="),
        ("evaluate --mode st", "strict"),
        ("convert --to wap", "wapiti"),
    ],
)
def test_the_values_of_options_are_offered(completed, words, value):
    assert completed(*words.split()) == [value]


def test_only_the_options_of_the_solver_on_the_line_are_offered(completed):
    assert completed("train", "--solver", "owlqn", "-p", "") == [f"{name}=" for name in option_names(SOLVERS["owlqn"])]


def test_files_are_offered_elsewhere(completed, tmp_path):
    (tmp_path / "data.txt").touch()
    assert completed("train", f"{tmp_path}/da") == [f"{tmp_path}/data.txt"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_of_the_help_is_offered(completed, done, command):
    offered = completed(command, "--")
    shown = done(command, "--help").stdout
    assert "--help" in offered
    for flag in offered:
        assert flag in shown


def test_scripts_of_other_shells_are_whole(done, tmp_path):
    for shell in ("zsh", "fish"):
        script = done("completion", shell).stdout
        assert all(name in script for name in (*COMMANDS, *SOLVERS, "n-best"))
        (tmp_path / shell).write_text(script)
        if shutil.which(shell):
            subprocess.run([shell, "-n", tmp_path / shell], check=True)


def test_fish_knows_each_flag_and_whether_it_takes_a_value(done):
    lines = done("completion", "fish").stdout.splitlines()
    for command in COMMANDS:
        ours = [f"{line} " for line in lines if f"'__fish_seen_subcommand_from {command}'" in line]
        for action in command_parser(command)[1]._actions:
            names = [f"-{'l' if flag.startswith('--') else 's'} {flag.lstrip('-')}" for flag in action.option_strings]
            if names:
                (line,) = (line for line in ours if line.partition("' ")[2].startswith(f"{' '.join(names)} "))
                assert (" -r " in line) == (action.nargs != 0), line
