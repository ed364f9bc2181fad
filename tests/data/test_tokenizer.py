"""Laws of tokenizers: tokens are parts of the text, in order and disjoint, and bad expressions are refused."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from loglinear import DataError, OptionError, Tokenizer
from loglinear.data.tokenizer import TOKENIZERS, check_tokenizer

MARKS = "a1é.,-'’ \t\r\n\u00a0\u3000\u0301\u200d\ufe0f\ufeff\x00猫ไ𝒳👩🏽"
TEXTS = st.text() | st.text(alphabet=MARKS)
SPECS = (*TOKENIZERS, r"\w+|[^\w\s]", r"\b[A-Z]\w*", "(?s)..")


@given(TEXTS, st.sampled_from(SPECS))
@example("\ufeffa\r\nb\t𝒳c\u0301 👩🏽", "words")
@example("\x00 a\x00b", "whitespace")
def test_offsets_are_those_of_the_tokens_in_order_and_disjoint(text, spec):
    tokenizer = Tokenizer(spec)
    places, tokens = tokenizer.offsets(text), tokenizer.tokens(text)
    assert [text[start:end] for start, end in places] == tokens
    bounds = [bound for place in places for bound in place]
    assert bounds == sorted(bounds)
    assert all(tokens)


@given(TEXTS)
def test_the_named_tokenizers_leave_out_blanks_alone(text):
    for name in TOKENIZERS:
        assert "".join(Tokenizer(name).tokens(text)) == "".join(text.removeprefix("\ufeff").split()) or any(
            mark in text for mark in "\x1c\x1d\x1e\x1f"
        )  # which are blanks for Python alone


@given(TEXTS)
def test_blanks_separate_as_in_another_program(text):
    text = re.sub("[\x1c-\x1f]", "", text).removeprefix("\ufeff")
    assert Tokenizer("whitespace").offsets(text) == [match.span() for match in re.finditer(r"\S+", text)] or (
        text.startswith("\ufeff")
    )


CUT = [
    ("The King's twenty-one (21) horses.", ["The", "King's", "twenty-one", "(", "21", ")", "horses", "."]),
    ("1,250.50 € or 3.5km, No. 12b", ["1,250.50", "€", "or", "3.5km", ",", "No", ".", "12b"]),
    ("L’été—déjà…", ["L’été", "—", "déjà", "…"]),
    ("नमस्ते दुनिया।", ["नमस्ते", "दुनिया", "।"]),
    ("e\u0301tude co\u00adop", ["e\u0301tude", "co\u00adop"]),
    ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
    ("snake_case a--b -c-", ["snake", "_", "case", "a", "-", "-", "b", "-", "c", "-"]),
    ("猫は好き。", ["猫は好き", "。"]),
]


@pytest.mark.parametrize(("text", "tokens"), CUT)
def test_words_are_runs_of_letters_digits_and_marks(text, tokens):
    assert Tokenizer("words").tokens(text) == tokens


def test_characters_keep_their_marks():
    assert Tokenizer("characters").tokens("猫 e\u0301!") == ["猫", "e\u0301", "!"]


def test_a_named_tokenizer_is_its_expression():
    for name in TOKENIZERS:
        named = Tokenizer(name)
        assert Tokenizer(named.expression).offsets(MARKS * 3) == named.offsets(MARKS * 3)


REFUSED = [
    ("a(", "unclosed group"),
    ("[z-a]", "invalid character class range"),
    ("a*", "empty string"),
    (r"\b", "empty string"),
    ("a|", "empty string"),
    ("[a&&b]", "matches nothing"),
    (r"(?=a)", "look-around"),
    (r"(a)\1", "backreferences"),
    (r"\w{1000}{1000}", "too large"),
    ("word", "did you mean words?"),
    ("", "not one of whitespace, words, characters"),
    ("\ud800+", "not valid Unicode"),
    (7, "neither one of"),
    (None, "neither one of"),
]


@pytest.mark.parametrize(("spec", "reason"), REFUSED)
def test_what_cannot_cut_text_is_refused_with_its_name(spec, reason):
    with pytest.raises(OptionError, match=f"^--tokenizer={re.escape(repr(spec))} .*{re.escape(reason)}"):
        check_tokenizer("--tokenizer", spec)
    with pytest.raises(OptionError, match=r"^tokenizer="):
        Tokenizer(spec)


@pytest.mark.parametrize("text", [7, None, b"a", ["a"], "a\ud800b"])
def test_what_is_no_text_is_refused(text):
    reason = "not valid Unicode" if isinstance(text, str) else "must be a str, not"
    for method in (Tokenizer("words").offsets, Tokenizer("words").tokens):
        with pytest.raises(DataError, match=reason):
            method(text)


def test_tokenizers_are_compared_and_pickled_by_their_rule():
    words = Tokenizer("words")
    assert pickle.loads(pickle.dumps(words)) == words == Tokenizer("words") != Tokenizer("characters")
    assert len({words, Tokenizer("words")}) == 1
    assert repr(words) == "Tokenizer('words')"
