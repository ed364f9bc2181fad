"""Laws of text that fits the terminal."""

from __future__ import annotations

import io

import pytest

from loglinear.cli.wrapping import columns_of, fitted, unbroken

TEXTS = [
    "warning: data.txt: 3 of 10 texts have no letters or digits, such as the one on line 7; leave them out of the data",
    "ner             Named entities, from words, their substrings and shape (1 column; Tsuruoka (2009), Section 4.2)",
    "                 on 15,806 sentences, 202,644 tokens, which is a text that has to be indented as far as it was",
    "name  " + "x" * 200 + " is too long to be broken",
    "wrote m; label a file with one token per line: loglinear tag /a/long/path/of/a/model.loglinear FILE",
    "auto chooses among the others; `loglinear inspect /a/long/path/of/a/model MODEL` shows what it has chosen",
]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("width", [40, 60, 120])
@pytest.mark.parametrize("text", TEXTS)
def test_lines_fit_the_terminal_with_the_same_words_and_are_indented_after_the_first(monkeypatch, text, width):
    monkeypatch.setenv("COLUMNS", str(width))
    first, *others = fitted(text, Terminal()).split("\n")
    assert " ".join([first, *others]).split() == text.split()
    assert all(line.startswith("  ") for line in others)
    assert all(len(line) <= width or "xxx" in line or "loglinear " in line for line in [first, *others])


def test_text_beside_a_name_stays_in_its_column(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    first, *others = fitted(TEXTS[1], Terminal()).split("\n")
    assert first.index("Named") == 16
    assert all(len(line) - len(line.lstrip()) == 16 for line in others)


@pytest.mark.parametrize("width", range(20, 60, 7))
def test_states_stay_whole(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    items = ["age=< 30", "income=[30, 41)", "q1=not at all", "size=>= 4"] * 3
    text = f"reference states: {', '.join(map(unbroken, items))}"
    lines = fitted(text, Terminal()).split("\n")
    assert all(any(item in line for line in lines) for item in items)
    assert len(lines) > 3
    assert fitted(text, io.StringIO()) == f"reference states: {', '.join(items)}"


def test_commands_stay_whole(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert "\n  loglinear tag /a/long/path/of/a/model.loglinear FILE" in fitted(TEXTS[4], Terminal())
    assert "`loglinear inspect /a/long/path/of/a/model MODEL`" in fitted(TEXTS[5], Terminal())


def test_short_lines_and_files_are_left_as_they_are(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    table = "a\tb\n\n  two   blanks   inside\n"
    assert fitted(table, Terminal()) == table
    for text in TEXTS:
        assert fitted(text, io.StringIO()) == text


@pytest.mark.parametrize("strange", ["", "0", "9" * 5000, "1_0", "\u0661\u0660\u0660", "-5"])
def test_a_width_that_is_no_number_of_columns_is_ignored(monkeypatch, strange):
    monkeypatch.setenv("COLUMNS", strange)
    assert columns_of(Terminal()) == 80
