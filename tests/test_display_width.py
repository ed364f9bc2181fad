"""Laws of the width of texts on a terminal."""

from __future__ import annotations

import pytest

from loglinear.display_width import display_width, padded, without_middle

TEXTS = ["", "a", "B-ORGANISATION", "北京大学生", "e\u0301e\u0301e\u0301", "a北b京", "カタカナ", "ｶﾀｶﾅ", "\u200b", "é"]


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("北京", 4), ("ｶﾀ", 2), ("e\u0301", 1), ("\u200b", 0), ("Ａ", 2), ("", 0)]
)
def test_wide_characters_take_two_columns_and_marks_none(text, width):
    assert display_width(text) == width
    assert display_width(padded(text, 9)) == display_width(padded(text, 9, right=True)) == 9
    assert padded(text, 9).startswith(text)
    assert padded(text, 9, right=True).endswith(text)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_without_its_middle_fits_and_keeps_its_beginning_and_its_end(text):
    for width in range(1, 15):
        short = without_middle(text, width)
        assert display_width(short) <= width
        if display_width(text) <= width:
            assert short == text
            continue
        start, end = short.split("…")
        assert text.startswith(start)
        assert text.endswith(end)
        assert not end or display_width(end[0])
        assert display_width(short) >= width - 2
