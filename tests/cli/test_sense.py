"""Well-formed nonsense: what was read is summarised, odd data are told, and what cannot teach a model is an error."""

from __future__ import annotations

import io
import json
import os

import pytest

from loglinear import ChainCRF
from loglinear.cli.progress import Progress
from loglinear.cli.reading import show
from loglinear.data.corpus import Corpus
from loglinear.data.survey import Survey
from oracles.command_line import run_command

ENTITIES = "Rita NNP B-PER\nmet VBD O\nOlaf NNP B-PER\n\nOslo NNP B-LOC\nslept VBD O\n\n"


class Terminal(io.StringIO):
    """Standard error of a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def entities(tmp_path):
    """A column file with entities, and a model of it."""
    path, model = tmp_path / "train.txt", tmp_path / "model"
    path.write_text(ENTITIES)
    done = run_command("train", path, "--preset", "ner-pos-chunk", "-m", model, "-q")
    assert done.returncode == 2  # columns of another template
    done = run_command("train", path, "--preset", "ner", "-m", model)
    assert done.returncode == 0, done.stderr
    return path, model, done.stderr


def written(tmp_path, text, name="data.txt"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_summary_shows_what_was_read_in_60_columns(entities):
    path, _, said = entities
    first, attributes, labels, *_ = said.splitlines()
    assert first == f"{path}: 2 sentences, 5 tokens"
    assert attributes.endswith(" attributes of 1 of 2 columns; the label is the last")
    assert labels == "  3 labels: B-PER 40 %, O 40 %, B-LOC 20 %"
    assert all(len(line) <= 60 for line in (attributes, labels))


def test_a_summary_is_as_wide_as_the_terminal(monkeypatch, tmp_path):
    names = [f"label-{number:020d}" for number in range(5)]
    corpus = Corpus.read(written(tmp_path, "".join(f"w {name}\n" for name in names)), template="ner")
    for width in (40, 60, 120, 400):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stderr", terminal := Terminal())
        show("data", Survey.of(corpus), Progress(None))
        lines = terminal.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert (len(lines) == 3) == (width == 400)
    assert lines[-1].count(" 20 %") == 5


def test_a_summary_names_the_five_most_frequent_labels_and_cuts_long_names(done, tmp_path):
    names = ["label-" + "x" * 40, *(f"L{number}" for number in range(9))]
    rows = [f"w {name}\nv {names[0]}\n\n" for name in names for _ in range(2)]
    said = done("train", written(tmp_path, "".join(rows)), "--preset", "ner", "-m", tmp_path / "m").stderr
    start = said.index("  10 labels: ")
    lines = said[start:].split("\n1")[0].split("\n")[:2]
    assert all(len(line) <= 60 for line in lines)
    assert lines[0] == "  10 labels: label-xxxxxxxxxxxxxxxxxxxxx... 55 %, L0 5 %,"
    assert lines[1] == "    L1 5 %, L2 5 %, L3 5 %, ..."
    assert "label" not in done("train", tmp_path / "data.txt", "--preset", "ner", "-m", tmp_path / "m", "-q").stderr


@pytest.mark.parametrize("command", ["train", "select"])
def test_plain_text_is_an_error_that_says_how_labelled_data_look(misuse, tmp_path, command):
    path = written(tmp_path, "Hello world\nGoodbye world\n")
    options = ["-m", tmp_path / "m"] if command == "train" else []
    assert misuse(command, path, "--preset", "ner", *options) == (
        f"{path}: the data have a single label, 'world', so there is nothing to learn; put one token per line, with "
        "its label in the last column, or set --label-column or --format"
    )
    assert not (tmp_path / "m").exists()
    samples = [command, path, "--preset", "ner", "--model-type", "maxent", *options]
    assert command == "select" or "a single label, 'world'" in misuse(*samples)


def test_odd_data_are_a_warning_once(done, tmp_path):
    rows = [f"w{number} L{number}" for number in range(9)]
    said = done("train", written(tmp_path, "\n".join(rows)), "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    assert said.splitlines() == [
        "warning: all 9 tokens are in one sentence; put a blank line after each sentence",
        "warning: 9 of 9 labels occur only once, such as L0, L1, L2, L3, L4, ...; check which column holds the labels",
    ]


def test_labels_of_spans_are_in_no_column(done, tmp_path):
    spans = [{"text": f"Name{at} called", "label": [[0, 5, f"T{at}"]]} for at in range(9)]
    path = written(tmp_path, "".join(f"{json.dumps(text)}\n" for text in spans), "export.jsonl")
    said = done("train", path, "--format", "doccano", "--preset", "ner", "-m", tmp_path / "m", "-q").stderr
    assert said.endswith("labels occur only once, such as B-T0, B-T1, B-T2, B-T3, B-T4, ...; check the labels\n")


def unlabelled(tmp_path):
    """The file of `entities` without its last column."""
    return written(tmp_path, "".join(f"{line.rpartition(' ')[0]}\n" for line in ENTITIES.splitlines()), "dev.txt")


def test_a_file_without_labels_is_not_scored(misuse, entities, tmp_path):
    path, model, _ = entities
    dev = unlabelled(tmp_path)
    expected = (
        f"{dev}: the model knows none of the labels NNP, VBD; its labels are B-PER, O, B-LOC; put one token per line, "
        "with its label in the last column, or set --label-column or --format"
    )
    assert misuse("evaluate", "-m", model, dev) == expected
    pytest.importorskip("jinja2")
    assert misuse("report", model, "--data", dev, "-o", tmp_path / "page.html") == expected
    assert misuse("train", path, "--preset", "ner", "-m", model, "--dev", dev, "-q") == expected
    assert misuse("select", path, "--preset", "ner", "--dev", dev, "-q") == expected


def test_labels_that_a_model_does_not_know_are_named_with_their_share(done, entities, tmp_path):
    path, model, _ = entities
    dev = written(tmp_path, ENTITIES.replace("B-LOC", "B-GPE"), "dev.txt")
    expected = f"warning: {dev}: 20 % of the tokens have labels that the model does not know and count as errors: B-GPE"
    assert expected in done("evaluate", "-m", model, dev).stderr
    said = done("train", path, "--preset", "ner", "-m", model, "--dev", dev, "-q").stderr
    assert said.startswith(expected)
    assert said.count("\n") == 1


def test_invalid_labels_are_an_error_with_the_line_and_the_flag_that_repairs_them(misuse, done, tmp_path):
    path = written(tmp_path, "a O\nb O\n\nRita I-PER\nmet O\n\nRita B-PER\nmet O\n\n")
    train = ["train", path, "--preset", "ner", "--constraints", "BIO", "-m", tmp_path / "m", "-q"]
    message = misuse(*train)
    assert message.startswith(f"{path}, line 4: the constraints forbid I-PER at the start of")
    assert "1 label does not fit" in message
    assert "use --invalid-labels repair or skip" in message
    said = done(*train, "--invalid-labels", "repair").stderr
    assert said.startswith("warning: repaired 1 label in 1 of 3 sentences; ")
    assert "left out 1 of 3 sentences" in done(*train, "--invalid-labels", "skip").stderr
    assert "needs constraints" in misuse("train", path, "--preset", "ner", "-m", "m", "--invalid-labels", "skip")


@pytest.fixture
def from_python(tmp_path):
    """Models trained in Python on lists, with a template and without."""
    X, y = [["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]]
    ChainCRF(template="pos").fit(X, y).save(tmp_path / "template")
    ChainCRF().fit([[["a"], ["b"]]] * 2, y).save(tmp_path / "attributes")
    return tmp_path


def test_a_model_trained_in_python_with_a_template_reads_columns(done, from_python):
    model = from_python / "template"
    assert done("tag", "-m", model, input="a\nb\n").stdout == "a\tA\nb\tB\n\n"
    gold = written(from_python, "a A\nb B\n")
    assert "accuracy" in done("evaluate", "-m", model, gold).stdout
    lines = written(from_python, '{"tokens": ["a", "b"]}\n', "data.jsonl")
    assert json.loads(done("tag", "-m", model, lines).stdout)["predicted"] == ["A", "B"]
    refused = run_command("tag", "-m", model, input='{"tokens": ["a", "b"]}\n')
    assert refused.returncode == 2
    assert refused.stderr.startswith("loglinear: error: <stdin>: these are JSON lines, not columns; add --format jsonl")
    labelled = written(from_python, '{"tokens": ["a", "b"], "labels": ["A", "B"]}\n')
    refused = run_command("train", labelled, "--preset", "ner", "-m", from_python / "m")
    assert "these are JSON lines" in refused.stderr


def test_an_error_of_reading_says_which_format_was_guessed_and_from_what(misuse, from_python, tiny):
    attributes = misuse("tag", "-m", from_python / "attributes", input="a\nb\n")
    assert attributes.endswith(
        "(read as jsonl, because the model was trained in Python without a template; --format sets another)"
    )
    refused = misuse("tag", "-m", from_python / "template", "-f", "crfsuite", input="a\n")
    assert refused.endswith("; give a file in the format of the training data, columns")
    lines = written(from_python, "a A\n\n", "data.jsonl")
    assert misuse("tag", "-m", from_python / "template", lines).endswith(
        "(read as jsonl, by its extension; --format sets another)"
    )
    ragged = written(from_python, "a b c\nd e\n")
    train = ["train", ragged, "--preset", "ner", "-m", from_python / "m"]
    assert misuse(*train).endswith("(read as columns, the default; --format sets another)")
    assert "--format sets" not in misuse(*train, "--format", "columns")


def test_texts_to_label_that_begin_with_labels_are_a_warning(done, tmp_path):
    train, model = written(tmp_path, "spam\tbuy now\nham\tsee you\nspam\tbuy pills\nham\tsee me\n"), tmp_path / "m"
    done("train", train, "--model-type", "maxent", "--format", "text", "-m", model, "-q")
    assert "every line begins with a label, which is read as part of the text" in done("tag", "-m", model, train).stderr
    assert not done("tag", "-m", model, input="spam\tbuy\nsee you\n").stderr


def test_attribute_files_without_attributes_are_a_warning(done, tmp_path):
    train, model = written(tmp_path, "A\ta\nB\tb\n\nA\ta\nB\tb\n\nA\ta\n\n", "train.crfsuite"), tmp_path / "m"
    done("train", train, "-m", model, "-q")
    assert "no token has an attribute" in done("tag", "-m", model, input="Hello world\nGoodbye\n").stderr
    assert not done("tag", "-m", model, train).stderr


@pytest.mark.parametrize("format", ["text", "svmlight"])
def test_samples_with_other_labels_are_not_scored(done, misuse, tmp_path, format):
    line = "{0}\tbuy {0}\n" if format == "text" else "{} 1:1\n"
    train, dev = (
        written(tmp_path, "".join(line.format(label) for label in labels), name)
        for labels, name in ((("1", "2", "1", "2"), "train"), (("7", "8"), "dev"))
    )
    options = ["--model-type", "maxent", "--format", format, "-m", tmp_path / "m", "-q"]
    expected = f"{dev}: the model knows none of the labels 7, 8; its labels are 1, 2; "
    assert misuse("train", train, *options, "--dev", dev).startswith(expected)
    done("train", train, *options)
    assert misuse("evaluate", "-m", tmp_path / "m", dev).startswith(expected)
    half = written(tmp_path, line.format("1") + line.format("7"), "half")
    assert "50 % of the " in done("evaluate", "-m", tmp_path / "m", half).stderr
    assert "50 % of the " in done("train", train, *options, "--dev", half).stderr


@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("more", [[], ["--calibration"]])
def test_a_mark_for_an_unknown_label_is_not_scored(done, tmp_path, separator, more):
    text = "Rita B\nmet ?\n\nNew O\n\nYork B\n\n".replace(" ", separator)
    path, model = written(tmp_path, text), tmp_path / "m"
    done("train", path, "--preset", "pos", "--partial", "-m", model, "-q")
    scored = done("evaluate", model, path, "-o", tmp_path / "o", *more)
    assert "1 token without a gold label" in scored.stderr
    assert "?" not in scored.stdout
    assert "?" not in (tmp_path / "o").read_text()
    developed = done("train", path, "--preset", "pos", "--partial", "--dev", path, "-m", model)
    assert "warning" not in developed.stderr


def test_a_mark_that_the_model_knows_is_a_label(done, tmp_path):
    path, model = written(tmp_path, "Rita B\nmet ?\n\nOlaf B\nran ?\n\n"), tmp_path / "m"
    done("train", path, "--preset", "pos", "-m", model, "-q")
    scored = done("evaluate", model, path)
    assert "without a gold label" not in scored.stderr
    assert "\n?  " in scored.stdout


def test_columns_to_label_are_counted_by_the_separator_that_reads_them(done, tmp_path):
    path, model = written(tmp_path, "York\tNNP\tB-LOC\nis\tVBZ\tO\n\n"), tmp_path / "m"
    done("train", path, "--preset", "ner", "-m", model, "-q")
    plain = written(tmp_path, "New York\tNNP\nis\tVBZ\n\n", "plain.txt")
    assert done("tag", model, plain).stderr == ""
    labelled = written(tmp_path, "New York\tNNP\tB-LOC\nis\tVBZ\tO\n\n", "labelled.txt")
    assert "the last column is taken for the gold labels" in done("tag", model, labelled).stderr


@pytest.mark.parametrize("header", ["word NE", "FORM UPOS", "token bioes", "form xpos"])
def test_a_header_of_annotators_is_told(done, tmp_path, header):
    path = written(tmp_path, f"{header}\nRita B-PER\nmet O\n\nOlaf B-PER\nran O\n")
    said = done("train", path, "--preset", "ner", "-m", tmp_path / "m").stderr
    assert f"the first line has the label {header.split()[1]!r}: is it a header?" in said


def test_a_tag_for_names_is_no_header(done, tmp_path):
    path = written(tmp_path, "Bonn NE\nlebt VV\n\nMit AP\nWord NE\n\n")
    assert "header" not in done("train", path, "--preset", "pos", "-m", tmp_path / "m").stderr


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("# newdoc\nRita B-PER\nmet O\n\nOlaf B-PER\nran O\n", "line 1 looks like a comment ('# newdoc')"),
        ("Rita B-PER\nmet O\n\n# x\nOlaf B-PER\nran O\n", "line 4 looks like a comment ('# x')"),
        ("<doc id=1>\nRita B-PER\n\n<doc id=1>\nran O\n", "line 1 looks like markup ('<doc id=1>')"),
        ("Rita_N met_V\n\nOlaf_N ran_V\n\nSue_N sat_V\n", "every cell looks like 'Rita_N': put one token per line"),
        ("B-PER Rita\nO met\n\nB-LOC York\nO met\n", "like words; add --label-column 0\n"),
    ],
)
def test_lines_without_a_token_and_labels_in_the_first_column_are_told(done, tmp_path, text, warning):
    said = done("train", written(tmp_path, text), "--preset", "ner", "-m", tmp_path / "m").stderr
    assert warning in said


@pytest.mark.parametrize(
    "text",
    [
        "# SYM\nRita N\n\n1 NUM\n# SYM\n",
        "New_York N_P\nmet V_F\n\nRita N_S\n",
        "< SYM\nRita N\n\nO X\n> SYM\n",
        "O B-PER\nO O\n",
    ],
)
def test_words_that_resemble_comments_markup_and_labels_are_words(done, tmp_path, text):
    said = done("train", written(tmp_path, text), "--preset", "ner", "-m", tmp_path / "m").stderr
    assert "looks like" not in said


@pytest.mark.parametrize(
    ("line", "options"),
    [("{}\tgood text\n", ["-f", "text"]), ("{}\tw=a\n", ["-f", "crfsuite"]), ("w {}\n", ["--preset", "pos"])],
)
def test_real_numbers_are_no_classes_in_any_file(run, tmp_path, line, options):
    path = written(tmp_path, "".join(map(line.format, ["1.5", "-2.25", "3"])))
    finished = run("train", path, *options, "--model-type", "maxent", "-m", tmp_path / "m")
    assert finished.returncode == 2
    assert "are real numbers (-2.25, 1.5, 3), as in a regression task" in finished.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs /dev/fd")
def test_the_header_of_a_pipe_is_told(done, tmp_path):
    end, start = os.pipe()
    os.write(start, b"word tag\nRita N\n\n# N\nmet V\n")
    os.close(start)
    said = done("train", f"/dev/fd/{end}", "--preset", "ner", "-m", tmp_path / "m").stderr
    os.close(end)
    assert "the first line has the label 'tag': is it a header?" in said


def test_real_numbers_as_labels_of_tokens_are_told(done, tmp_path):
    path = written(tmp_path, "Rita N 0.98\nmet V 0.9\n\nSue N 0.97\nran V 0.9\n")
    said = done("train", path, "--preset", "pos", "-m", tmp_path / "m").stderr
    assert "warning: the labels are real numbers (0.9, 0.97, 0.98); put one token per line, with its label in" in said
    assert "occur only once" not in said


def test_labels_in_the_first_column_of_a_file_to_tag_are_told(done, tmp_path):
    done("train", written(tmp_path, "Rita N\nmet V\n\nSue N\nran V\n"), "--preset", "pos", "-m", tmp_path / "m", "-q")
    path = written(tmp_path, "N Rita\nV met\n")
    warning = f"warning: {path}: column 0 looks like the labels, not like words; add --label-column 0\n"
    assert warning in done("tag", tmp_path / "m", path).stderr
    assert "column 0 looks" not in done("tag", tmp_path / "m", path, "--label-column", "0").stderr
    assert "column 0 looks" not in done("tag", tmp_path / "m", written(tmp_path, "N N\nV V\n")).stderr
