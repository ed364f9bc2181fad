"""Laws of labels under words: lines fit, labels stand under their words, nothing reaches the terminal but colours."""

from __future__ import annotations

import io
import re

import pytest

from loglinear.cli.labelled_lines import LabelledLines
from loglinear.display_width import display_width
from loglinear.visible import CONTROLS

BIO = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-A-LONG-TYPE-OF-ENTITIES", "I-A-LONG-TYPE-OF-ENTITIES"]
CODES = re.compile(r"\x1b\[(?:0|3[1-6])m")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def lines(monkeypatch):
    """Make lines of a width, for a pipe or a terminal."""

    def of(labels, width, stream=None, **environment):
        for name in ("NO_COLOR", "TERM"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"COLUMNS": str(width), **environment}.items():
            monkeypatch.setenv(name, value)
        return LabelledLines(labels, io.StringIO() if stream is None else stream)

    return of


def test_a_span_has_one_label_below_all_its_words(lines):
    words = ["Ada", "Lovelace", "works", "at", "IBM", "."]
    shown = lines(BIO, 60).sentence(words, ["B-PER", "I-PER", "O", "O", "B-ORG", "O"])
    assert shown == "Ada Lovelace works at IBM .\n└── PER ───┘          ORG\n"


def test_labels_without_a_scheme_are_below_each_word_and_words_make_room(lines):
    shown = lines(["DET", "NOUN", "VERB"], 60).sentence(["a", "dog", "barks"], ["DET", "NOUN", "VERB"])
    assert shown == "a   dog  barks\nDET NOUN VERB\n"
    assert lines(["DET"], 60).sentence(["a", "b"], [None, None]) == "a b\n"


def test_wide_characters_take_two_columns(lines):
    shown = lines(["O", "B-LOC", "I-LOC"], 60).sentence(
        [*"我在北京大学。"], ["O", "O", *["B-LOC"] + ["I-LOC"] * 3, "O"]
    )
    assert shown == "我在 北京大学 。\n     └ LOC ─┘\n"
    assert lines(["B", "M", "E", "S"], 60).sentence([*"我在北京"], [*"SSBE"]) == "我 在 北京\n── ── ────\n"


LONG = ["word"] * 7 + ["x" * 50, "北京" * 12, "e\u0301" * 31, "y"] + ["end"] * 9


@pytest.mark.parametrize("width", [8, 13, 30, 60, 300])
@pytest.mark.parametrize("labels", [["B-PER"] + ["I-PER"] * 19, ["O"] * 20, ["B-A-LONG-TYPE-OF-ENTITIES", "O"] * 10])
def test_lines_fit_and_hold_all_words(lines, width, labels):
    shown = lines(BIO, width).sentence(LONG, labels)
    assert max(map(display_width, shown.splitlines())) <= width
    written = re.sub(r"\s", "", "".join(LONG))
    rows = [row for row in shown.splitlines() if not re.search("[└─…]|PER|LONG|ENTI", row)]
    assert re.sub(r"\s", "", "".join(rows)) == written
    assert ("PER…" in shown) == (labels[1] == "I-PER" and width < 300)


def test_colours_are_for_terminals_that_want_them(lines):
    words, labels = ["Ada", "IBM", "."], ["B-PER", "B-ORG", "O"]
    plain = lines(BIO, 60).sentence(words, labels)
    assert "\x1b" not in plain
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert lines(BIO, 60, Terminal(), **environment).sentence(words, labels) == plain
    shown = lines(BIO, 60, Terminal(), NO_COLOR="").sentence(words, labels)
    assert CODES.sub("", shown) == plain
    assert shown.splitlines()[0] == "\x1b[34mAda\x1b[0m \x1b[35mIBM\x1b[0m ."
    assert shown.count("\x1b[0m") == 4


@pytest.mark.parametrize("hostile", ["\x1b[31m", "\x9b2J", "a\nb", "\x07", "a\tb\rc", "\u2028", "<b>&"])
def test_what_terminals_would_obey_is_shown(lines, hostile):
    for labels in (["O", f"B-{hostile}"], [hostile, "X"]):
        made = lines(labels, 40, Terminal())
        for shown in (made.sentence([hostile, "b"], labels), made.text(f"a {hostile} b", labels[1])):
            text = CODES.sub("", shown)
            assert not {ord(character) for character in text} & {*CONTROLS} - {10}
            assert shown.endswith("\n")
    one_line = lines(["O", "B-X"], 200).sentence(["a\nb", "c"], ["O", "O"])
    assert one_line == "a\\nb c\n"


def test_a_text_is_wrapped_and_its_label_is_below(lines):
    made = lines(["spam", "ham"], 20)
    assert made.text("buy  now\tcheap pills here", "spam") == "buy now cheap pills\nhere\n└─ spam\n"
    cut = made.text("word " * 300, "a label that is longer than the line")
    assert max(map(display_width, cut.splitlines())) <= 20
    assert cut.splitlines()[-2].endswith("…")
