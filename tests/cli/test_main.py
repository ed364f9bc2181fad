"""The command line without a command, and in an interpreter of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from loglinear import __version__
from loglinear.cli.main import COMMANDS, command_parser
from loglinear.cli.spelling import as_flags, flags_alone
from loglinear.cli.wrapping import HelpFormatter
from oracles.patience import patience


def test_every_command_has_help_with_an_example(done):
    overview = done("--help", apart=True).stdout
    for name in COMMANDS:
        assert f"  {name}" in overview
        assert "example: " in done(name, "--help").stdout
    assert done("--version").stdout.split() == ["loglinear", __version__]


def test_the_module_of_every_command_is_imported_whatever_was_imported_before():
    """A process for each command would notice the same, and take twenty times as long."""
    program = """
import importlib, sys
from loglinear.cli.main import COMMANDS
before = {*sys.modules}
for name in COMMANDS:
    importlib.import_module(f"loglinear.cli.commands.{name}")
    for module in {*sys.modules} - before:
        if module.startswith("loglinear.") and "_core" not in module:  # which starts once in a process
            del sys.modules[module]
print("imported")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("imported\n", "")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_help_fits_the_terminal_except_for_commands_to_copy(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in COMMANDS:
        text = command_parser(name)[1].format_help()
        help_text = text.partition("\n\nexample: ")[0]
        prose = [line for line in help_text.partition("\n\n")[2].splitlines() if "  loglinear " not in line]
        assert max(map(len, prose)) < columns, name
        assert "\n\nexample: " in text


def test_help_keeps_the_columns_of_lists_and_joins_the_lines_of_paragraphs():
    formatter = HelpFormatter("loglinear", width=42)
    formatter.add_text(
        "A paragraph\nof two lines, which is too long.\n\nlist:\n  one  first item\n  two  second item, of "
        "two\n       lines\n  run  loglinear train with a command that is long\nAfter it.\n\nexample: a  b\n         c"
    )
    assert formatter.format_help().splitlines() == [
        "A paragraph of two lines, which is too",
        "long.",
        "",
        "list:",
        "  one  first item",
        "  two  second item, of two lines",
        "  run  loglinear train with a command that is long",
        "After it.",
        "",
        "example: a  b",
        "         c",
    ]


def test_no_command_is_misuse_that_shows_the_commands(run):
    finished = run()
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "evaluate" in finished.stderr


@pytest.mark.parametrize("arguments", [["tain"], ["--nope"], ["help", "tain"]])
def test_command_that_does_not_exist_is_named(run, arguments):
    name = arguments[-1]
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stdout == ""
    first, last = finished.stderr.splitlines()
    assert first.startswith(f"loglinear: error: unknown command {name!r}")
    assert last == "see `loglinear --help`"


def test_an_interpreter_of_its_own_does_what_is_done_in_this_process(done, sample, tmp_path):
    """Most tests run commands in the process of the tests; here are some of them as users start them."""
    said = []
    for apart in (False, True):
        model = tmp_path / f"model {apart}"
        done("train", sample.train, "--preset", "pos", "-m", model, "--max-iterations", "5", "-q", apart=apart)
        tagged = done("tag", "-m", model, input="dog NN\nbarks VBZ\n", apart=apart).stdout
        assert tagged.count("\n") == 3
        evaluated = done("evaluate", "-m", model, sample.test, apart=apart).stdout
        inspected = done("inspect", model, "--top", "5", apart=apart).stdout.split("strongest attributes")[1]
        said.append((tagged, evaluated, inspected))
    assert said[0] == said[1]


def test_help_on_a_command_is_its_help(done):
    assert done("help", "presets").stdout == done("presets", "--help").stdout
    assert done("help").stdout == done("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("trian x", "train"),
        ("train x -m m --presett ner", "--preset"),
        ("train x -m m --modle-type=maxent", "--model-type"),
        ("train x -m m --model-type maxnt", "maxent"),
        ("tag x y --probabilities tokens", "token"),
        ("completion bsh", "bash"),
        ("tag x y --layout wapti", "wapiti"),
    ],
)
def test_what_is_unknown_gets_a_suggestion(misuse, arguments, meant):
    assert f"(did you mean {meant}?)" in misuse(*arguments.split(), usage=True)


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("--preset nre", "ner"),
        ("--preset ner --solver owlqm", "owlqn"),
        ("--preset ner --solver owlqn -p memry=3", "memory"),
        ("--preset ner --format colums", "columns"),
        ("--preset ner --constraints BOI", "BIO"),
        ("--preset ner --dev {data} --keep bst", "best"),
        ("--model-type maxent -f text --words wrods", "words"),
        ("--model-type maxent -f text --words charcters:2-4", "characters:2-4"),
    ],
)
def test_an_unknown_value_gets_a_suggestion(misuse, tiny, tmp_path, arguments, meant):
    options = arguments.format(data=tiny).split()
    assert f"(did you mean {meant}?)" in misuse("train", tiny, "-m", tmp_path / "m", "-q", *options)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--c1 0.1 --c2 0.05", "--c1 0.1 --c2 0.05; use --l1 0.1 for --c1 0.1; use --l2 0.1 for --c2 0.05"),
        ("--c2=1", "--c2=1; use --l2 2.0 for --c2 1"),
        ("--all-possible-transitions", "; use --all-transitions for --all-possible-transitions"),
        ("--num-memories 3", "; use -p memory=3 for --num-memories 3"),
        ("--C 10 --penalty l1", "; use --l1 0.1 for --C 10, --penalty l1"),
        ("--typo 3", "unrecognized arguments: --typo 3"),
    ],
)
def test_flags_of_other_programs_are_translated(misuse, flags, words):
    assert misuse("train", "data", "-m", "model", *flags.split(), usage=True).endswith(words)


@pytest.mark.parametrize(
    ("arguments", "commands"),
    [
        ("tag m f --preset ner", "--preset is an option of train, audit, select and encode"),
        ("train f -m m --cut a=3", "--cut is an option of structure"),
        ("inspect m --marginals", "--marginals is an option of tag"),
        ("demo --n-best=3", "--n-best is an option of tag"),
    ],
)
def test_an_option_of_other_commands_names_them(misuse, arguments, commands):
    assert misuse(*arguments.split(), usage=True).endswith(f"; {commands}")


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ("train f -m m --n-jobs 2", "; use --threads N"),
        ("tag m f --n_jobs=2", "; use --threads N"),
        ("train f -m m --cv 5", "use --l1 cv or --l2 cv of train, with --folds N"),
        ("train f -m m --path 5", "--path is an option of select, which trains CRFs; in Python, path(...) is for "),
        (
            "select f --model-type maxent",
            "--model-type is an option of train; select trains CRFs, and in Python MaxEnt(",
        ),
        (
            "select f --l1 cv",
            "'cv' is not a number; `loglinear train --l1 cv` chooses the strength by cross-validation",
        ),
        ("tag m f --probabilities", "; give token, span or sequence; for a classifier, use --marginals"),
        ("tag m --probabilities f", "'f' is not one of token, span, sequence; for a classifier, use --marginals"),
    ],
)
def test_what_is_available_elsewhere_is_said_where_it_is_asked_for(misuse, arguments, remedy):
    assert remedy in misuse(*arguments.split(), usage=True)


def test_other_values_of_l1_get_no_advice_on_cross_validation(misuse):
    assert misuse("train", "f", "-m", "m", "--l1", "x", usage=True).endswith("argument --l1: 'x' is not a number")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--l1 -1", "--l1 -1.0 is not a valid penalty"),
        ("--seed -1", "--seed -1 is not"),
        ("--invalid-labels skp", "--invalid-labels skp is not one of"),
        ("--words characters:2 --ngrams 2", "--ngrams 2 is not available with --words characters:2,"),
        ("-p memory=0 --solver owlqn", "memory=0 is not"),
        ("--patience 3", "--patience 3 needs development data; give --dev"),
        ("--keep best", "--keep best needs development data; give --dev"),
    ],
)
def test_messages_about_options_spell_them_as_flags(misuse, tiny, tmp_path, options, words):
    assert misuse("train", tiny, "--preset", "pos", "-m", tmp_path / "m", *options.split()).startswith(words)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("choose words='characters:1-3' (--words characters:1-3), or", "choose --words characters:1-3, or"),
        ("lower min_count (--min-count)", "lower --min-count"),
        ("skip them with skip_comments=True (--skip-comments)", "skip them with --skip-comments"),
        ("use invalid_labels='repair' or 'skip' (--invalid-labels), or", "use --invalid-labels repair or skip, or"),
        ("give fit_intercept=False (--no-intercept)", "give --no-intercept"),
        ("so set fit_intercept=True (leave out --no-intercept)", "so leave out --no-intercept"),
        ("trained on a matrix; leave out prior (--prior)", "trained on a matrix; leave out --prior"),
        ("give JSON lines (--format jsonl)", "give JSON lines (--format jsonl)"),
        ("add constraints='auto' (--constraints auto)", "add --constraints auto"),
    ],
)
def test_a_flag_replaces_the_parameter_before_it(message, told):
    assert flags_alone(message) == told
    assert as_flags(message, {"constraints": ["--constraints"], "fit": []}) == told


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("tfidf=True is not available", "--tfidf is not available"),
        ("use tfidf=False (leave out --tfidf)", "leave out --tfidf"),
        ("min_count=2 reads twice; leave out min_count", "--min-count 2 reads twice; leave out --min-count"),
        ("leave out one, or leave out the template", "leave out one, or leave out the template"),
        ("class_weight={'O': 1e+308, 'B-X': 2} makes", "--class-weight O=1e+308 --class-weight B-X=2 makes"),
        ("class_weight={'O': 1e+308, 'B-... makes", "--class-weight makes"),
        ("class_weight['X']=-1.0 is out of range", "--class-weight X=-1.0 is out of range"),
        ("class_weight={} makes", "--class-weight makes"),
        (
            "a is not available with l1_groups; leave out l1_groups",
            "a is not available with --l1-groups; leave out --l1-groups",
        ),
        ("l1_groups: no; of l1_groups", "--l1-groups: no; of l1_groups"),
    ],
)
def test_parameters_of_any_type_are_spelt_as_flags(message, told):
    names = ("tfidf", "min_count", "class_weight", "template", "l1_groups")
    assert as_flags(message, {name: [f"--{name.replace('_', '-')}"] for name in names}) == told


def test_no_message_that_a_command_shows_gives_python_a_remedy(misuse, done, tiny, tmp_path):
    """The messages that helpers of the library share with commands, each provoked."""
    done("train", tiny, "--preset", "pos", "-m", tmp_path / "m", "-q")
    (tmp_path / "mails.tsv").write_text("ham\thello you\nspam\tbuy now\nham\tyou\nspam\tnow\n")
    texts = ("--model-type", "maxent", "--format", "text", "-q")
    done("train", tmp_path / "mails.tsv", *texts, "-m", tmp_path / "t")
    (tmp_path / "samples").write_text("ham a\nspam b\n")
    samples = ("--model-type", "maxent", "--preset", "pos", "-q")
    done("train", tmp_path / "samples", *samples, "-m", tmp_path / "s")
    mails, out = (tmp_path / "mails.tsv", *texts), ("-m", tmp_path / "new")
    told = [
        misuse("train", *mails, "--tfidf", "--prior", tmp_path / "t", *out),
        misuse("train", tmp_path / "samples", *samples, "--no-intercept", "--prior", tmp_path / "s", *out),
        misuse("train", *mails, "--start", tmp_path / "t", "--prior", tmp_path / "t", *out),
        misuse("rank", tmp_path / "m", tiny, "--by", "span"),
        misuse("rank", tmp_path / "m", tiny, "--by", "span", "--total"),
        misuse("encode", "-", "--preset", "pos", "--min-count", "2", "-o", tmp_path / "c", input="a b\n"),
    ]
    wanted = [
        "--tfidf is not available with older words, whose values would change; leave out --tfidf",
        "has an intercept; leave out --no-intercept",
        "so leave out --start",
        "--by span needs labels of a tagging scheme such as B-PER, I-PER, O; use --by sequence",
        "--total is not available with --by span",
        "leave out --min-count",
    ]
    assert [remedy for message, remedy in zip(told, wanted, strict=True) if remedy not in message] == []


def test_a_file_that_is_missing_gets_a_suggestion_and_a_folder_a_remedy(misuse, tiny, tmp_path):
    missing = tmp_path / f"{tiny.name}t"
    assert misuse("structure", missing) == f"{missing}: No such file or directory (did you mean {tiny.name}?)"
    assert misuse("structure", tmp_path) == f"{tmp_path}: a folder, not a file; give the name of a file"
    assert misuse("train", tiny, "--preset", "pos", "--dev", tmp_path, "-m", tmp_path / "m", "-q") == (
        f"{tmp_path}: a folder, not a file; give the name of a file"
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("train f", "add -m MODEL (model file to write)"),
        ("report m f", "add -o FILE (HTML file to write)"),
        ("completion", "add shell"),
    ],
)
def test_a_missing_argument_is_named_with_its_meaning(misuse, arguments, words):
    assert misuse(*arguments.split(), usage=True) == words


@pytest.mark.parametrize(
    ("options", "words"), [("--order two", "'two' is not a whole number"), ("--l1 a", "'a' is not a number")]
)
def test_what_is_no_number_is_said_in_words(misuse, options, words):
    assert misuse("train", "f", "-m", "m", *options.split(), usage=True).endswith(words)


def test_what_is_neither_a_number_nor_a_criterion_is_said_once(misuse):
    told = "argument --l1: 'many' is neither a number nor ebic, cv or stars"
    assert misuse("structure", "f", "--l1", "many", usage=True) == told


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_while_the_command_line_is_imported_is_no_traceback():
    """An interrupt in the imports, simulated by a module that sends it."""
    program = (
        "import builtins, signal, runpy\n"
        "usual = builtins.__import__\n"
        "def interrupting(name, *rest, **options):\n"
        "    if name == 'argparse':\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return usual(name, *rest, **options)\n"
        "builtins.__import__ = interrupting\n"
        "runpy.run_module('loglinear', run_name='__main__')\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=patience(60), check=False
    )
    assert (finished.returncode, finished.stderr) == (1, "loglinear: error: interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="needs signals of POSIX")
def test_ctrl_c_while_the_interpreter_finalizes_changes_no_exit_code():
    program = (
        "import atexit, os, signal, sys\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from loglinear.__main__ import main\n"
        "sys.argv[1:] = ['tag', 'nothing']\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert "KeyboardInterrupt" not in ended.stderr
