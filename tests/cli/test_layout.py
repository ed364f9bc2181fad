"""The warning that a file seems to hold a sentence a line, where the model takes a token a line."""

from __future__ import annotations

import os

import pytest

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
        "and a blank line between sentences\n"
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
