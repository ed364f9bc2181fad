"""Bad input is refused in one line that says what is wrong, where, and what to do; it never crashes."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from loglinear import ModelFileError, _core
from loglinear.datasets import demo_paths

posix = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")

TINY = "the DT D\ndog NN N\n\nit PRP N\nbarks VBZ V\n"

# Name, format, content, line (None: the file as a whole), what the message has to say.
FILES = [
    ("too few columns", "columns", b"a DT D\nb NN N\n\nc PRP\n", 4, ["3 columns", "found 2", "label"]),
    ("too many columns", "columns", b"a DT D\r\n\r\nb NN N extra\r\n", 3, ["3 columns", "found 4"]),
    ("too few columns far away", "columns", b"a DT D\n\n" * 200_000 + b"b\n", 400_001, ["found 1;"]),
    ("one column", "columns", b"\na\nb\n", 2, ["at least 2 columns", "found 1"]),
    ("invalid UTF-8", "columns", b"a DT D\nb NN N\n\xe9t\xe9 NN N\n", 3, ["UTF-8", "convert"]),
    ("UTF-8 cut short", "columns", b"a DT D\nb NN \xf0\x9f\x98", 2, ["UTF-8"]),
    ("invalid UTF-8", "crfsuite", b"A\tx\nB\ty\xff\n", 2, ["UTF-8", "convert"]),
    ("UTF-16", "columns", "a DT D\n".encode("utf-16"), None, ["UTF-16", "convert"]),
    ("empty file", "columns", b"", None, ["no sentences", "empty"]),
    ("empty file", "crfsuite", b"", None, ["no sentences", "empty"]),
    ("empty file", "jsonl", b"", None, ["no sentences", "empty"]),
    ("blank lines alone", "columns", b"\n \n\t\n\r\n", None, ["no sentences", "blank lines"]),
    ("blank lines alone", "crfsuite", b"\n\n\r\n", None, ["no sentences", "blank lines"]),
    ("blank lines alone", "jsonl", b"\n  \n", None, ["no sentences", "blank lines"]),
    ("byte order mark alone", "columns", b"\xef\xbb\xbf", None, ["no sentences"]),
    ("too few cells", "conllu", b"# c\n1\ta\ta\tX\t_\t_\t_\t_\t_\t_\n\n1\ta\n", 4, ["10 tab-separated", "found 2"]),
    ("spaces for TABs", "conllu", b"1 a a X _ _ _ _ _ _\n", 1, ["10 tab-separated", "found 1"]),
    ("no number", "conllu", b"a\ta\ta\tX\t_\t_\t_\t_\t_\t_\n", 1, ["ID 'a'", "1-2"]),
    ("no label", "conllu", b"#\n1\ta\ta\t_\t_\t_\t_\t_\t_\t_\n", 2, ["UPOS", "conllu:xpos"]),
    ("invalid UTF-8", "conllu", b"#\n1\t\xe9\ta\tX\t_\t_\t_\t_\t_\t_\n", 2, ["UTF-8", "convert"]),
    ("comments alone", "conllu", b"# a\n\n# b\n", None, ["no sentences"]),
    ("damaged gzip", "columns", b"\x1f\x8b\x08\x00rubbish", None, ["damaged or cut short", "copy or download"]),
    ("damaged xz", "columns", b"\xfd7zXZ\x00rubbish", None, ["damaged or cut short"]),
    ("NaN value", "crfsuite", b"A\tx:1\nB\ty:nan\n", 2, ["'nan'", "finite number", "\\:"]),
    ("infinite value", "crfsuite", b"A\tx:inf\n", 1, ["'inf'", "finite number"]),
    ("overflowing value", "crfsuite", b"A\tx:1e999\n", 1, ["'1e999'", "finite number"]),
    ("junk value", "crfsuite", b"A\tx\n\nB\thttp://x\n", 3, ["'//x'", "finite number", "\\:"]),
    ("negative weight", "crfsuite", b"A\tx\n\n@weight:-1\nA\tx\n", 3, ["-1", "at least 0"]),
    ("NaN weight", "crfsuite", b"@weight:nan\nA\tx\n", 1, ["nan", "at least 0"]),
    ("junk weight", "crfsuite", b"@weight:\tA\tx\n", 1, ["at least 0"]),
    ("unknown declaration", "crfsuite", b"A\tx\n@home\tx\n", 2, ["@home", "@weight:NUMBER"]),
    ("malformed JSON", "jsonl", b'{"tokens": ["a"], "labels": ["A"]}\n\n{"tokens": ["a"\n', 3, ["JSON"]),
    ("no object", "jsonl", b"[1, 2]\n", 1, ["tokens", "looks like"]),
    ("no tokens", "jsonl", b'{"words": ["a"], "labels": ["A"]}\n', 1, ["tokens", "looks like"]),
    ("missing labels", "jsonl", b'{"tokens": ["a"], "labels": ["A"]}\n{"tokens": ["a"]}\n', 2, ["labels"]),
    ("labels of another length", "jsonl", b'{"tokens": ["a", "b"], "labels": ["A"]}\n', 1, ["2 tokens", "1 label"]),
    ("label that is no string", "jsonl", b'{"tokens": ["a"], "labels": [1.5]}\n', 1, ["label 0", "string"]),
    ("no possible label", "jsonl", b'{"tokens": ["a"], "labels": [[]]}\n', 1, ["label 0", "empty list", "null"]),
    ("NaN of JSON", "jsonl", b'\n{"tokens": [{"a": NaN}], "labels": ["A"]}\n', 2, []),
    ("Infinity of JSON", "jsonl", b'{"tokens": [{"a": -Infinity}], "labels": ["A"]}\n', 1, []),
    ("overflow in JSON", "jsonl", b'{"tokens": [{"a": 1e999}], "labels": ["A"]}\n', 1, ["number"]),
    ("null attribute", "jsonl", b'{"tokens": [{"a": null}], "labels": ["A"]}\n', 1, ["'a'", "leave it out"]),
    ("token of another type", "jsonl", b'{"tokens": [7], "labels": ["A"]}\n', 1, ["token 0", "dictionary"]),
    ("nested list of numbers", "jsonl", b'{"tokens": [{"a": [1]}], "labels": ["A"]}\n', 1, ["token 0", "'a'"]),
    ("negative weight", "jsonl", b'{"tokens": ["a"], "labels": ["A"], "weight": -0.5}\n', 1, ["weight", "at least 0"]),
    ("weight of another type", "jsonl", b'{"tokens": ["a"], "labels": ["A"], "weight": "2"}\n', 1, ["weight"]),
    ("invalid UTF-8", "jsonl", b'{"tokens": ["a"], "labels": ["A"]}\n{"tokens": ["\xff"], "labels": ["A"]}\n', 2, []),
    ("deep nesting", "jsonl", b'{"tokens": ' + b"[" * 100_000 + b"\n", 1, ["recursion"]),
    ("no attribute", "jsonl", b'{"tokens": [[]], "labels": ["A"]}\n', None, []),
]  # fmt: skip


@pytest.fixture
def train(tmp_path):
    """Arguments of a training on a file of this content, with a model that must not be touched."""
    (tmp_path / "m").write_bytes(b"old")
    yield lambda data, *more: ["train", data, "-m", tmp_path / "m", "-q", *more]
    assert (tmp_path / "m").read_bytes() == b"old"
    assert not [path.name for path in tmp_path.iterdir() if "tmp" in path.name or "part" in path.name]


@pytest.mark.parametrize(
    ("kind", "content", "line", "words"),
    [pytest.param(*row[1:], id=f"{row[1]}: {row[0]}") for row in FILES],
)
def test_bad_files_are_refused_with_file_and_line(misuse, train, tmp_path, kind, content, line, words):
    data = tmp_path / "data"
    data.write_bytes(content)
    preset = ["--preset", "pos"] if kind in ("columns", "conllu") else []
    message = misuse(*train(data, "-f", kind, *preset))
    if content != FILES[-1][2]:  # found in training, when the file is long closed
        assert str(data) in message
    assert re.findall(r"\bline (\d+)", message) == ([] if line is None else [str(line)])
    for word in words:
        assert word in message, message


def test_partly_known_labels_are_refused_where_single_ones_are_needed(misuse, train, tmp_path, sample):
    data, whole, json_lines = (tmp_path / name for name in ("data", "whole", "data.jsonl"))
    data.write_text("a DT D\nb NN N|V\n")
    whole.write_text(TINY)
    json_lines.write_text('{"tokens": [["a", "DT"], ["b", "NN"]], "labels": ["D", ["N", "V"]]}\n')
    preset = ["--preset", "pos", "--partial"]
    assert misuse(*train(whole, *preset, "--dev", data)).startswith(f"{data}, line 2: the label is partial; ")
    message = misuse("evaluate", "-m", sample.model, json_lines)
    assert message.startswith(f"{json_lines}, line 1: the label is partial; evaluation needs")
    several = "the label is one of several (N|V), which a classifier cannot learn from; leave out such samples, or give"
    assert misuse(*train(data, *preset, "--model-type", "maxent")).startswith(f"{data}, line 2: {several}")
    on_cluster = misuse(*train(whole, *preset, "--model-type", "maxent", "--workers", "2"))
    assert "--partial is not available for classifiers with --workers or --cluster" in on_cluster
    message = misuse(*train(whole, "--start", sample.model, "--model-type", "maxent"))
    assert message.startswith(f"{sample.model}: a chain model, not a classifier")
    assert f"{whole}: " in misuse(*train(whole, "--preset", "pos", "--start", whole))
    message = misuse(*train(json_lines, "--preset", "pos", "--model-type", "maxent"))
    assert message.startswith(f"{json_lines}, line 1: {several}")


@pytest.mark.parametrize("command", ["tag", "evaluate"])
def test_the_other_readers_say_the_same(misuse, sample, tmp_path, command):
    data = tmp_path / "data"
    data.write_bytes(b"a DT D\nb NN\n")
    message = misuse(command, "-m", sample.model, data)
    assert message.startswith(f"{data}, line 2: ")
    data.write_bytes(b"a DT D\nb NN \xff\n")
    assert misuse(command, "-m", sample.model, data).startswith(f"{data}, line 2: invalid UTF-8")
    message = misuse(command, "-m", sample.model, "-", input="a DT D\nb NN\n")
    assert message.startswith("<stdin>, line 2: ")


def test_what_cannot_be_opened_is_named(misuse, train, sample, tmp_path):
    (tmp_path / "folder").mkdir()
    tiny = tmp_path / "tiny"
    tiny.write_text(TINY)
    for name in ("nowhere", "folder", "tiny/x"):
        bad = tmp_path / name
        assert str(bad) in misuse(*train(bad, "--preset", "pos"))
        assert str(bad) in misuse(*train(tiny, "--preset", "pos", "--dev", bad))
        assert str(bad) in misuse(*train(tiny, "--template", bad))
        assert str(bad) in misuse("tag", "-m", sample.model, bad)
        assert str(bad) in misuse("tag", "-m", bad, tiny)
        assert str(bad) in misuse("inspect", bad)


# Template, line of the template in the message (None: no line; ...: either), what the message has to say.
TEMPLATES = [
    ("U0:%x[0,0]\nU1:%x[0,5]\nB\n", ..., ["line 2 of the template", "column 5", "2 columns"]),
    ("U0:%x[0,0]\nX1:%x[0,0]\n", 2, ["U, B, *"]),
    ("# comment\n\n  U0:%x[0,0]\n", 3, ["start with U"]),
    ("U0:%x[0,0\n", 1, ["%x[-1,0]"]),
    ("U0:%x\n", 1, ["%x[-1,0]"]),
    ("U0:%x[a,0]\n", 1, ["row 'a'"]),
    ("U0:%x[0,-1]\n", 1, ["column '-1'"]),
    ("U0:%x[0]\n", 1, ["%x[-1,0]"]),
    ("U0:%x[@0,0]\n", 1, ["@1"]),
    ("U0:%z[0,0]\n", 1, ["%z"]),
    ("U0:%x[0,0]\nB\nU0:100%\n", 3, ["'%'"]),
    ("U0:%t[0,0]\n", 1, ["%t[0,0,"]),
    ('U0:%t[0,0,"unclosed]\n', 1, ["expression"]),
    ('U0:%m[0,0,"("]\n', 1, ["regular expression", "escape literal"]),
    ('U0:%m[0,0,"[a"]\n', 1, ["regular expression", "escape literal"]),
    ('U0:%m[0,0,"a{9999999}"]\n', 1, ["regular expression"]),
    ("U0:%substrings[0,0,0]\n", 1, ["maximum length"]),
    ("# nothing\n\n", None, ["no U, B, * or T line"]),
    ("", None, ["no U, B, * or T line"]),
    ("pos", 1, ["U, B, *"]),
    ("U0:%x[0,18446744073709551615]\n", ..., ["column"]),
    ("U0:%x[0,99999999999999999999999]\n", 1, ["column"]),
    ("U0:%x[99999999999999999999999,0]\n", 1, ["row"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "words"), TEMPLATES)
def test_bad_templates_are_refused_with_their_line(misuse, train, tmp_path, text, line, words):
    template, data = tmp_path / "template", tmp_path / "data"
    template.write_text(text)
    data.write_text(TINY)
    message = misuse(*train(data, "--template", template))
    if line is not ...:
        assert re.findall(r"\bline (\d+)", message) == ([] if line is None else [str(line)])
    for word in words:
        assert word in message, message


def test_template_that_is_no_text_is_named(misuse, train, tmp_path):
    template, data = tmp_path / "template", tmp_path / "data"
    template.write_bytes(b"U0:%x[0,0]\n\xff\n")
    data.write_text(TINY)
    message = misuse(*train(data, "--template", template))
    assert str(template) in message
    assert "UTF-8" in message


OPTIONS = [
    (["--preset", "nope"], ["'nope'", "chunking"]),
    (["--preset", "ner-pos-chunk"], ["3 columns", "the data have 2; presets that fit: chunking"]),
    ([], ["add --preset ner", "--template FILE"]),
    (["--preset", "pos", "--format", "nope"], ["'nope'", "conllu", " or text"]),
    (["--preset", "pos", "--format", "crfsuite"], ["leave out the template"]),
    (["--preset", "pos", "--solver", "nope"], ["'nope'", "lbfgs, owlqn"]),
    (["--preset", "pos", "--solver", "lbfgs", "--l1", "1"], ["l1", "owlqn"]),
    (["--preset", "pos", "--l1", "-1"], ["--l1 -1", ">= 0"]),
    (["--preset", "pos", "--l1", "nan"], ["--l1 nan", ">= 0"]),
    (["--preset", "pos", "--l2", "nan"], ["--l2 nan", ">= 0"]),
    (["--preset", "pos", "--l2", "inf"], ["--l2 inf", "finite"]),
    (["--preset", "pos", "--l2=-0.5"], ["--l2 -0.5", ">= 0"]),
    (["--preset", "pos", "--min-count", "0"], ["--min-count 0", " 1"]),
    (["--preset", "pos", "--min-count", "-1"], ["--min-count -1", " 1"]),
    (["--preset", "pos", "--min-count", "99999999999"], ["--min-count 99999999999"]),
    (["--preset", "pos", "--order", "3"], ["--order 3", " 1 ", " 2"]),
    (["--preset", "pos", "--order", "2", "--solver", "sgd_l1", "--l1", "1"], ["order 1", "owlqn"]),
    (["--preset", "pos", "--tolerance", "-1"], ["--tolerance -1", ">= 0"]),
    (["--preset", "pos", "--tolerance", "nan"], ["--tolerance nan", ">= 0"]),
    (["--preset", "pos", "--solver", "sgd_l1", "-p", "learning_rate=0"], ["learning_rate=0", "> 0"]),
    (["--preset", "pos", "--solver", "sgd_l1", "-p", "decay=2"], ["decay=2", "at most 1"]),
    (["--preset", "pos", "--solver", "sgd_l1", "-p", "penalty=ridge"], ["penalty='ridge'", "cumulative"]),
    (["--preset", "pos", "--solver", "sgd_l1", "-p", "colour=red"], ["sgd_l1", "colour"]),
    (["--preset", "pos", "--solver", "sgd_l1", "-p", "passes"], ["NAME=VALUE", "passes"]),
    (["--preset", "pos", "--solver", "sgd_l1", "-p", "passes=2", "-p", "passes=3"], ["passes", "two values"]),
    (["--preset", "pos", "--solver", "sgd_l1", "--tolerance", "1e-3"], ["sgd_l1", "tolerance"]),
    (["--preset", "pos", "--solver", "two_stage", "--seed", "-1"], ["--seed -1"]),
    (["--preset", "pos", "--max-iterations", "-1"], ["--max-iterations -1", ">= 0"]),
    (["--preset", "pos", "--max-iterations", "1" + "0" * 30], ["--max-iterations 1000"]),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=lambda each: " ".join(each))
def test_bad_options_are_refused_with_value_and_remedy(misuse, train, tmp_path, options, words):
    data = tmp_path / "data"
    data.write_text(TINY)
    message = misuse(*train(data, *options))
    for word in words:
        assert word in message, message


USAGE = [
    (["--threads", "-1"], ["--threads", "at least 0", "'-1'"]),
    (["--threads", "x"], ["--threads", "'x'"]),
    (["--threads", "9" * 30], ["threads", "999"]),
    (["--l1", "x"], ["--l1", "'x'"]),
    (["--min-count", "1.5"], ["--min-count", "'1.5'"]),
    (["--max-iterations", "x"], ["--max-iterations", "'x'"]),
    (["--seed", "x"], ["--seed", "'x'"]),
    (["--nope"], ["--nope"]),
    (["--preset", "pos", "--template", "t"], ["--preset", "--template"]),
]


@pytest.mark.parametrize(("options", "words"), USAGE, ids=lambda each: " ".join(each))
def test_arguments_that_do_not_parse_are_misuse(misuse, train, tmp_path, options, words):
    """The first line says what is wrong, the second one where help is."""
    data = tmp_path / "data"
    data.write_text(TINY)
    preset = [] if "--preset" in options else ["--preset", "pos"]
    message = misuse(*train(data, *preset, *options), usage=True)
    for word in words:
        assert word in message, message


def test_messages_of_a_fresh_process_are_the_same(run, misuse, train, tmp_path):
    """The tables above are gone through in one process; here are some of them as users meet them."""
    data, template = tmp_path / "data", tmp_path / "template"
    data.write_bytes(b"a DT D\nb NN\n")
    assert misuse(*train(data, "--preset", "pos"), apart=True).startswith(f"{data}, line 2: expected 3 columns")
    data.write_text(TINY)
    template.write_text("U0:%x[0,0]\nX\n")
    assert misuse(*train(data, "--template", template), apart=True).startswith(f"{template}, line 2: ")
    finished = run(*train(data, "--preset", "pos", "--threads", "-1"), apart=True)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "error: argument -j/--threads" in finished.stderr


def test_place_that_cannot_hold_a_model_is_found_before_the_data_is_read(misuse, tmp_path):
    (tmp_path / "folder").mkdir()
    for name, word in (("nowhere/m", "does not exist"), ("folder", "a folder, not a file")):
        message = misuse("train", tmp_path / "no-data", "--preset", "pos", "-m", tmp_path / name)
        assert str(tmp_path / name) in message
        assert word in message
    if os.name == "posix" and os.geteuid() != 0:
        (tmp_path / "folder").chmod(0o500)
        message = misuse("train", tmp_path / "no-data", "--preset", "pos", "-m", tmp_path / "folder" / "m")
        assert "is not writable" in message


@pytest.mark.parametrize("option", ["--trace", "--output"])
@pytest.mark.parametrize("name", ["nowhere/x", "folder"])
def test_place_that_cannot_hold_another_output_is_named(misuse, sample, tmp_path, option, name):
    (tmp_path / "folder").mkdir()
    place = tmp_path / name
    if option == "--trace":
        message = misuse("train", sample.train, "--preset", "pos", "-m", tmp_path / "m", "-q", option, place)
    else:
        message = misuse("tag", "-m", sample.model, sample.test, option, place)
    remedy = {
        "nowhere/x": "its folder does not exist; create it first",
        "folder": "a folder, not a file; give the name of a file",
    }
    assert message == f"{place}: {remedy[name]}"


@pytest.mark.skipif(os.name != "posix" or os.uname().sysname != "Linux", reason="file names that are no text")
@pytest.mark.parametrize("role", ["train", "model", "template", "dev", "trace", "output"])
def test_file_names_need_not_be_text(done, sample, tmp_path, role):
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    places = {"train": sample.test, "dev": sample.test, "template": sample.template, "model": tmp_path / "m"}
    if role in ("train", "dev", "template"):
        odd.write_bytes(places[role].read_bytes())
    places = places | {"trace": tmp_path / "t", "output": tmp_path / "o", role: odd}
    done("train", places["train"], "--template", places["template"], "-m", places["model"], "--dev", places["dev"],
         "--trace", places["trace"], "--max-iterations", "2", "-q")  # fmt: skip
    done("tag", "-m", places["model"], places["train"], "-o", places["output"])
    done("evaluate", "-m", places["model"], places["train"])
    done("inspect", places["model"])
    assert places["output"].stat().st_size > 0
    assert places["trace"].stat().st_size > 0


# Models.


@pytest.fixture(scope="module")
def small_model(tmp_path_factory, done):
    """The file of a model of a few features of every kind."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "template").write_text("U:%x[0,0]\nB1:%x[0,0]\nB\n")
    (folder / "data").write_text(TINY)
    done("train", folder / "data", "--template", folder / "template", "-m", folder / "m", "-q")
    return (folder / "m").read_bytes()


def test_model_cut_short_at_any_byte_is_refused(small_model):
    assert _core.ChainModel.from_bytes(small_model).n_features > 5
    for length in range(len(small_model)):
        with pytest.raises(ModelFileError):
            _core.ChainModel.from_bytes(small_model[:length])
    with pytest.raises(ModelFileError):
        _core.ChainModel.from_bytes(small_model + b"\0")


@pytest.mark.parametrize("flip", [0x01, 0x20, 0x80, 0xFF])
def test_model_with_any_byte_flipped_is_refused(small_model, flip):
    damaged = bytearray(small_model)
    for at in range(len(damaged)):
        damaged[at] ^= flip
        with pytest.raises(ModelFileError):
            _core.ChainModel.from_bytes(bytes(damaged))
        damaged[at] ^= flip
    assert bytes(damaged) == small_model


def test_damaged_model_files_are_named(misuse, small_model, tmp_path):
    model, data = tmp_path / "m", tmp_path / "data"
    data.write_text(TINY)
    n = len(small_model)
    cut = [small_model[:length] for length in (1, 7, 8, 15, 16, 100, n // 2, n - 8, n - 1)]
    flipped = [
        small_model[:at] + bytes([small_model[at] ^ 0xFF]) + small_model[at + 1 :] for at in (0, 9, n // 2, n - 1)
    ]
    for content in [*cut, *flipped]:
        model.write_bytes(content)
        message = misuse("tag", "-m", model, data)
        assert message.startswith(f"{model}: ")
        assert "damaged or cut short" in message or "not a loglinear model" in message
    for arguments in (["evaluate", "-m", model, data], ["inspect", model]):
        assert misuse(*arguments).startswith(f"{model}: ")


def test_files_that_are_no_models_are_named(misuse, sample, tmp_path):
    model = tmp_path / "m"
    foreign = {"text": TINY.encode() * 100, "zeros": bytes(4096), "pickle": b"\x80\x04\x95" * 30, "empty": b""}
    for content in foreign.values():
        model.write_bytes(content)
        message = misuse("tag", "-m", model, sample.test)
        assert message.startswith(f"{model}: ")
        assert re.search(r"no(t a)? loglinear model", message)


def test_format_that_does_not_suit_the_model_is_refused(misuse, sample, tmp_path):
    assert "template" in misuse("tag", "-m", sample.model, "-f", "crfsuite", sample.path("test", "crfsuite"))
    assert "template" in misuse("tag", "-m", sample.models["crfsuite"], "-f", "columns", sample.test)
    assert "template" in misuse("evaluate", "-m", sample.models["jsonl"], "-f", "columns", sample.test)
    message = misuse("evaluate", "-m", sample.model, "-f", "jsonl", sample.path("test", "jsonl"))
    assert f"{sample.path('test', 'jsonl')}, line 1: token 0" in message
    message = misuse("tag", "-m", sample.models["jsonl"], sample.test)
    assert f"{sample.test}, line 1: " in message
    for command in ("tag", "evaluate", "train"):
        model = tmp_path / "m" if command == "train" else sample.model
        said = misuse(command, "-m", model, "-f", "nope", sample.test)
        assert said.startswith("format 'nope' is unknown; choose columns, ")
        assert said.endswith(" or text")
    said = misuse("tag", "-m", sample.model, "-f", "crfsuite", sample.test)
    assert "leave out" not in said
    assert "forms them with its template" in said


def test_data_with_fewer_columns_than_the_model_looks_at(misuse, done, tmp_path):
    data = tmp_path / "data"
    data.write_text("a b L\na b M\n")
    done("train", data, "--preset", "chunking", "-m", tmp_path / "m", "-q")
    data.write_text("a\n")
    message = misuse("tag", "-m", tmp_path / "m", data)
    assert str(data) in message
    assert "column 1" in message


# Numbers.


@pytest.mark.filterwarnings("default:no (feature|attribute) is left", "default:the values of attribute")
@pytest.mark.parametrize("value", ["1e150", "1e308", "-1e300", "1e-300"])
@pytest.mark.parametrize("penalty", ["--l1", "--l2"])
def test_extreme_values_give_finite_weights(done, tmp_path, value, penalty):
    data, trace = tmp_path / "data", tmp_path / "t"
    data.write_text(f"A\tx:{value}\nB\ty:{value}\n\nB\tx:-1\nA\tz\n")
    done("train", data, "-f", "crfsuite", "-m", tmp_path / "m", penalty, "1", "--trace", trace)
    shown = done("tag", "-m", tmp_path / "m", data, "--marginals").stdout
    assert "nan" not in shown.lower()
    assert "NaN" not in done("inspect", tmp_path / "m", "--json").stdout
    assert "null" not in trace.read_text()


def test_more_labels_than_memory_holds_is_no_crash(run, tmp_path):
    """Whoever forgets the label column has as many labels as words."""
    if os.name != "posix" or os.uname().sysname != "Linux":
        pytest.skip("needs a limit on memory")
    data = tmp_path / "data"
    data.write_text("".join(f"w{at} L{at}\n" for at in range(20_000)))
    limit = ["sh", "-c", 'ulimit -v 2000000; exec "$@"', "sh"]
    finished = run("train", data, "--preset", "segmentation", "-m", tmp_path / "m", "-q", "--max-iterations", "1",
                   wrapper=limit)  # fmt: skip
    assert finished.returncode in (1, 2)
    assert finished.stderr.startswith("loglinear: error: ")


# Disks.


def test_model_on_a_full_disk_fails_with_its_name(misuse, sample, full_device):
    message = misuse("train", sample.train, "--preset", "pos", "-m", full_device, "-q", "--max-iterations", "2", code=1)
    assert message == f"{full_device}: No space left on device"
    assert stat.S_ISCHR(full_device.stat().st_mode)


def test_labels_on_a_full_disk_fail_with_its_name(misuse, sample, full_device):
    message = misuse("tag", "-m", sample.model, sample.test, "-o", full_device, code=1)
    assert message == f"{full_device}: No space left on device"
    assert stat.S_ISCHR(full_device.stat().st_mode)


def test_trace_on_a_full_disk_is_a_warning_with_its_name(run, sample, full_device, tmp_path):
    finished = run("train", sample.train, "--preset", "pos", "-m", tmp_path / "m", "-q", "--max-iterations", "2",
                   "--trace", full_device)  # fmt: skip
    assert stat.S_ISCHR(full_device.stat().st_mode), "the device was replaced by a file"
    assert finished.returncode == 0
    assert finished.stderr == f"warning: {full_device}: No space left on device; training continues without a trace\n"


@posix
def test_trace_to_a_device_leaves_the_device(done, sample, tmp_path):
    """`--trace /dev/null`, run by root, must not replace the null device with a file."""
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        device.open("wb").close()
    except OSError as error:
        pytest.skip(f"cannot make a device: {error}")
    done(
        "train", sample.test, "--preset", "pos", "-m", tmp_path / "m", "-q", "--max-iterations", "2", "--trace", device
    )
    assert stat.S_ISCHR(device.stat().st_mode)


@posix
@pytest.mark.parametrize("arguments", [["presets"], ["presets", "pos"], ["inspect"], ["tag"], ["evaluate"], ["--help"]])
def test_results_on_a_full_disk_are_a_failure(run, sample, arguments):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    more = {
        "inspect": [sample.model],
        "tag": ["-m", sample.model, sample.test],
        "evaluate": ["-m", sample.model, sample.test],
    }
    finished = run(*arguments, *more.get(arguments[0], []), wrapper=["sh", "-c", 'exec "$@" > /dev/full', "sh"])
    assert finished.returncode == 1
    assert finished.stderr.startswith("loglinear: error: ")
    assert finished.stderr.endswith("No space left on device\n")
    assert finished.stderr.count("\n") == 1


LIMIT = ["sh", "-c", 'ulimit -f 4; exec "$@"', "sh"]


@posix
def test_disk_that_fills_up_leaves_the_old_file_and_nothing_else(misuse, sample, tmp_path):
    train = demo_paths()[1]
    for name, arguments in (
        ("m", ["train", train, "--preset", "pos", "-m", tmp_path / "m", "-q", "--max-iterations", "2"]),
        ("o", ["tag", "-m", sample.model, train, "-o", tmp_path / "o"]),
    ):
        (tmp_path / name).write_bytes(b"old")
        assert misuse(*arguments, code=1, wrapper=LIMIT) == f"{tmp_path / name}: File too large"
        assert (tmp_path / name).read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "o"]


@posix
def test_a_trace_that_fills_the_disk_is_named_and_leaves_the_model(run, tiny, tmp_path, full_device):
    model, expected = tmp_path / "m", tmp_path / "expected"
    train = ["train", tiny, "--preset", "pos"]
    finished = run(*train, "-m", model, "--trace", full_device)
    (warning,) = (line for line in finished.stderr.splitlines() if str(full_device) in line)
    assert warning == f"warning: {full_device}: No space left on device; training continues without a trace"
    assert f"wrote {model}" in finished.stderr
    assert finished.returncode == 0
    assert run(*train, "-m", expected, "-q").returncode == 0
    labelled = [run("tag", "-m", path, tiny).stdout for path in (model, expected)]
    assert labelled[0] == labelled[1] != ""


@posix
def test_a_report_that_fills_the_disk_is_named_and_leaves_the_model(run, tiny, tmp_path, full_device):
    pytest.importorskip("jinja2")
    train = ["train", tiny, "--preset", "pos", "-q", "-m", tmp_path / "m"]
    finished = run(*train, "--report", full_device)
    reason = f"{full_device}: No space left on device; the model is written, but no report"
    assert (finished.returncode, finished.stderr) == (0, f"warning: {reason}\n")
    assert run("tag", "-m", tmp_path / "m", tiny).returncode == 0


@posix
def test_a_trace_or_report_that_cannot_be_created_is_an_error_before_the_work(misuse, tiny, tmp_path):
    pytest.importorskip("jinja2")
    for option in ("--trace", "--report"):
        said = misuse("train", tiny, "--preset", "pos", "-m", tmp_path / "m", "-q", option, tmp_path / "no" / "file")
        assert str(tmp_path / "no") in said
        assert not (tmp_path / "m").exists()
