"""Warnings of a look at a file to label: a sentence a line, no known words, no blank lines, no sentences."""

from __future__ import annotations

import os
import re

import pytest

from loglinear import MaxEnt

SENTENCES = "Jan Peeters woont in Gent .\n\nHoe gaat het met u ?\n"
WORDS = "Jan\nPeeters\n\nHoe\n"


@pytest.fixture(scope="module")
def word_model(tmp_path_factory, done):
    """A model that reads one column, trained on sentences of several tokens."""
    folder = tmp_path_factory.mktemp("words")
    (folder / "data").write_text("the D\ndog N\n\nit N\nbarks V\n")
    done("train", folder / "data", "--preset", "pos", "-m", folder / "m", "-q")
    return folder / "m"


@pytest.mark.parametrize("text", [SENTENCES, SENTENCES.replace("\n\n", "\n \t\n\n"), "Jan Peeters woont in Gent .\n"])
@pytest.mark.parametrize("piped", [False, True])
def test_a_sentence_a_line_is_warned_of(done, word_model, tmp_path, text, piped):
    if piped and os.name != "posix":
        pytest.skip("needs POSIX")
    (tmp_path / "f").write_text(text)
    place = ["--", "-"] if piped else [tmp_path / "f"]
    finished = done("tag", "-m", word_model, *place, input=text if piped else None)
    name = "<stdin>" if piped else tmp_path / "f"
    assert finished.stderr == (
        f"warning: {name}: every sentence is a single line, of which the model reads column 1; put one token per line "
        "and a blank line between sentences (tag --text labels raw text)\n"
    )
    assert finished.stdout.startswith("Jan Peeters woont in Gent .\t")


@pytest.mark.parametrize(
    "text", [WORDS, "Jan a b c d\nPeeters a b c d\n", "Jan slaapt\n\nJa hoor\n", SENTENCES + "Ja a b c d e\n", "", "\n"]
)
def test_tokens_a_line_are_not(done, word_model, tmp_path, text):
    (tmp_path / "f").write_text(text)
    assert "single line" not in done("tag", "-m", word_model, tmp_path / "f").stderr
    assert "single line" not in done("tag", "-m", word_model, input=text).stderr


def test_models_of_more_columns_and_of_single_tokens_do_not_cry_wolf(done, sample, tmp_path):
    (tmp_path / "data").write_text("the D\n\ndog N\n\nbarks V\n")
    done("train", tmp_path / "data", "--preset", "pos", "-m", tmp_path / "m", "-q")
    assert "single line" not in done("tag", "-m", tmp_path / "m", input=SENTENCES).stderr
    assert done("tag", "-m", sample.models["jsonl"], input='{"tokens": [{"w": "a b c d e f"}]}\n').stderr == ""


def test_long_standard_input_comes_through_whole(done, word_model, tmp_path):
    text = "the\ndog\n\n" * 30_000
    (tmp_path / "f").write_text(text)
    assert done("tag", "-m", word_model, input=text).stdout == done("tag", "-m", word_model, tmp_path / "f").stdout


VERBS = ["eats", "drinks", "sleeps", "runs", "sings", "reads", "sees", "walks", "falls", "waits", "asks", "dies"]
TRAINED = "".join(f"the D DT\ndog N NN\n{verb} V VB\n\n" for verb in VERBS)


@pytest.fixture(scope="module")
def two_columns(tmp_path_factory, done):
    """A model of words and parts of speech."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "data").write_text(TRAINED)
    done("train", folder / "data", "--preset", "ner", "-m", folder / "m", "-q")
    return folder / "m"


@pytest.mark.parametrize("command", ["tag", "evaluate"])
def test_a_text_without_known_words_is_warned_of(done, two_columns, tmp_path, command):
    def said(text, **options):
        (tmp_path / "f").write_text(text)
        return done(command, two_columns, tmp_path / "f", **options).stderr

    assert "the model knows" not in said(TRAINED)
    swapped = "".join("{1} {0} {2}\n".format(*line.split()) if line else "\n" for line in TRAINED.splitlines())
    warning = (
        "the model knows none of the 3 different words at the beginning; check the language, and that the columns are "
        "in the order of the training data\n"
    )
    assert said(swapped).startswith(f"warning: {tmp_path / 'f'}: {warning}")
    # One word of 36 is known; two of 36 are more than one in twenty.
    assert "the model knows 1 of the 4 different words" in said(swapped.replace("D the", "dog the", 1))
    assert "the model knows" not in said(swapped.replace("D the", "dog the", 2))
    # A few tokens, and numbers, say nothing about the words.
    assert "the model knows" not in said("XX a DT\n" * 18 + "YY a DT\n")
    assert "the model knows" not in said("12 a DT\n13 a DT\n" * 40)
    assert "the model knows none" in said("XX a DT\n" * 18 + "YY a DT\n" * 2)


def test_words_are_known_by_a_template_in_the_syntax_of_wapiti(done, tmp_path):
    (tmp_path / "data").write_text(TRAINED)
    (tmp_path / "template").write_text("#!wapiti\nU:w=%x[0,0]\nB\n")
    done("train", tmp_path / "data", "--template", tmp_path / "template", "-m", tmp_path / "m", "-q")
    assert "the model knows" not in done("evaluate", tmp_path / "m", tmp_path / "data").stderr


@pytest.mark.parametrize("command", ["tag", "evaluate"])
def test_an_svmlight_file_without_known_attributes_is_warned_of(done, tmp_path, command):
    trained = "a 1:0.5 2:1\nb 1:2 3:1\na 2:1 3:0.1\nb 1:1.5 2:0.2\n"
    (tmp_path / "f").write_text(trained)
    done("train", tmp_path / "f", "--model-type", "maxent", "--format", "svmlight", "-m", tmp_path / "m", "-q")

    def said(text):
        (tmp_path / "f").write_text(text)
        return done(command, tmp_path / "m", tmp_path / "f").stderr

    without = "no sample at the beginning has an attribute; the model reads"
    unknown = "the model knows none of the attributes at the beginning; it reads"
    empty = "a,1,2,3\nb,4,5,6\n" if command == "tag" else "a\nb\n"
    for strange, warning in ((empty, without), ("a 7:1\nb 8:2\n", unknown)):
        remedy = "svmlight's format, a label and attributes such as 3:0.5 between blanks\n"
        assert f"warning: {tmp_path / 'f'}: {warning} {remedy}" in said(strange)
    for known in (trained, "a 7:1\nb 3:2\n", "# a comment\na 3:1\n"):
        assert "the model knows" not in said(known)


SHIFTED = "columns are numbered from 1 to 3, as it seems"
SOUND = ["a 0:1 1:1\nb 2:2\n", "a 1:1\nb 2:1\n", "a 0:1\nb 3:2\n", "a 2:1\nb 3:1\n", "a 1:1\nb 7:1\n", "a 1:1\n"]


@pytest.mark.parametrize("l1", [0.0, 0.5])
@pytest.mark.parametrize("command", ["tag", "evaluate", "explain"])
def test_an_svmlight_file_that_counts_columns_from_1_is_warned_of(done, tmp_path, command, l1):
    MaxEnt(l1=l1).fit([[1.0, 0.5, 0.0], [-1.0, 0.3, 0.1]], ["a", "b"]).save(tmp_path / "m")

    def said(text):
        (tmp_path / "f").write_text(text)
        return done(command, tmp_path / "m", tmp_path / "f", "--format", "svmlight").stderr

    assert f"warning: {tmp_path / 'f'}: {SHIFTED}" in said("a 1:1 2:1\nb 3:2\n")
    # The first and the last column of sparse data may be missing, and training may have seen fewer columns.
    for sound in SOUND:
        assert said(sound) == ""


def test_columns_of_development_data_are_compared_with_those_of_the_training_data(done, tmp_path):
    def said(trained, dev):
        for name, text in {"train": trained, "dev": dev}.items():
            (tmp_path / name).write_text(text)
        usual = ["--model-type", "maxent", "--format", "svmlight", "-m", tmp_path / "m", "-q"]
        return done("train", tmp_path / "train", "--dev", tmp_path / "dev", *usual).stderr

    from_0, from_1 = "a 0:1 2:1\nb 1:2 2:3\n", "a 1:1 3:1\nb 2:2 3:3\n"
    assert f"{SHIFTED}, and those of the training data from 0" in said(from_0, from_1)
    for dev in (from_0, *SOUND):
        assert "columns are numbered" not in said(from_0, dev)
    assert "columns are numbered" not in said(from_1, from_1)


def test_samples_without_attributes_are_not_called_unknown(done, tmp_path):
    MaxEnt().fit([[1.0], [-1.0]], ["0", "1"]).save(tmp_path / "m")
    (tmp_path / "f").write_text("0\n0\n")
    said = done("tag", tmp_path / "m", tmp_path / "f", "--format", "svmlight").stderr
    assert "no sample at the beginning has an attribute" in said
    assert "knows none" not in said


@pytest.mark.parametrize("number", ["9" * 5000, "\u0661", "\u0663", "1_0", "1e400", "-1", "\u00b2"])
def test_places_of_an_svmlight_file_that_are_no_numbers_are_no_columns(run, tmp_path, number):
    MaxEnt().fit([[1.0, 0.5, 2.0], [-1.0, 0.3, 0.1]], ["a", "b"]).save(tmp_path / "m")
    (tmp_path / "f").write_text(f"a 1:1 {number}:1\nb 2:1\n", encoding="utf-8")
    said = run("tag", tmp_path / "m", tmp_path / "f", "--format", "svmlight").stderr
    assert not said or re.fullmatch(r"loglinear: error: .* is not an index:value pair such as 12:0.5\n", said)


def test_words_that_weights_of_strong_penalties_left_out_are_known_by_their_neighbours(done, tmp_path):
    (tmp_path / "f").write_text(TRAINED)
    done("train", tmp_path / "f", "--preset", "ner", "--l1", "2", "-m", tmp_path / "m", "-q")
    assert "the model knows" not in done("tag", tmp_path / "m", tmp_path / "f").stderr


@pytest.mark.parametrize("command", ["tag", "evaluate"])
def test_a_text_without_blank_lines_is_warned_of(done, two_columns, tmp_path, command):
    path = tmp_path / "f"
    for n, tokens in ((200, ""), (201, "all 201 tokens"), (20_000, "the first 7,2")):
        path.write_text("dog N NN\n" * n)
        said = done(command, two_columns, path).stderr
        warning = f"warning: {path}: {tokens}"
        assert warning in said if tokens else "one sentence" not in said
        assert ("are in one sentence; put a blank line after each sentence\n" in said) == bool(tokens)
    path.write_text("dog N NN\n" * 150 + "\n" + "dog N NN\n" * 150)
    assert "one sentence" not in done(command, two_columns, path).stderr


def test_samples_need_no_blank_lines(done, tmp_path):
    path = tmp_path / "f"
    path.write_text("dog N NN\nthe D DT\n" * 150)
    done("train", path, "--preset", "ner", "--model-type", "maxent", "-m", tmp_path / "m", "-q")
    assert "one sentence" not in done("tag", tmp_path / "m", path).stderr


@pytest.mark.parametrize(("cells", "is_told"), [(4, False), (5, True)])
def test_a_line_is_a_sentence_from_four_cells_beyond_those_of_the_model_on(done, word_model, tmp_path, cells, is_told):
    (tmp_path / "f").write_text(f"{' '.join('abcdefg'[:cells])}\n\n" * 2)
    assert ("single line" in done("tag", word_model, tmp_path / "f").stderr) == is_told


def test_a_sentence_is_long_from_ten_times_the_usual_length_on(done, tmp_path):
    path = tmp_path / "f"
    path.write_text(("dog N NN\n" * 29 + "the D DT\n\n") * 2)
    done("train", path, "--preset", "ner", "-m", tmp_path / "m", "-q")
    for n in (300, 301):
        path.write_text("dog N NN\n" * n)
        assert ("one sentence" in done("evaluate", tmp_path / "m", path).stderr) == (n > 300)


def test_lines_are_texts_from_two_blanks_on_one_side_of_a_tab_on(done, misuse, tmp_path):
    train = ("train", tmp_path / "f", "--preset", "pos", "-m", tmp_path / "m", "-q")
    others = str.maketrans("Xbcd", "Yefg")
    for line, is_text in (("X\ta b", False), ("X\ta b c", True), ("a b c\tX", True), ("X\ta b c\td", False)):
        (tmp_path / "f").write_text(f"{line}\n{line.translate(others)}\n")
        if is_text:
            assert "every line is a text with a label" in misuse(*train)
        else:
            done(*train)
    (tmp_path / "f").write_text("X\ta b c\n\nY\ta e f\n")
    done(*train)


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\n"])
def test_a_file_without_sentences_is_noted(done, two_columns, tmp_path, text):
    path = tmp_path / "f"
    path.write_text(text)
    said = done("tag", two_columns, path).stderr
    assert said == f"note: {path}: no sentences found; the file is empty or has only blank lines\n"
    assert done("tag", two_columns, input=text).stderr in ("", said.replace(str(path), "<stdin>"))
