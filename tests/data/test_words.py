"""Laws of words: what texts are cut into, and the attributes that the words become."""

from __future__ import annotations

import math
import unicodedata

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from loglinear import DataError, OptionError
from loglinear.data.words import WordCounts, Words, check_unit

TEXTS = ["the cat sat on the mat", "a dog", "the dog sat", "on and on", "the cat and dog"]

CUT = [
    ("Ich mag C++ und C#.", ["ich", "mag", "c++", "und", "c#"]),
    ("R is a language, I think", ["r", "is", "a", "language", "i", "think"]),
    ("a++b #tag x+y 1+1 18+", ["a", "b", "tag", "x", "y", "1", "1", "18"]),
    ("snake_case don't", ["snake_case", "don", "t"]),
    ("हिन्दी में क्रिकेट का खेल", ["हिन्दी", "में", "क्रिकेट", "का", "खेल"]),
    ("தமிழ் மொழி", ["தமிழ்", "மொழி"]),
    ("می‌خواهم بروم", ["می‌خواهم", "بروم"]),
    ("한국어 텍스트", ["한국어", "텍스트"]),
    ("我喜欢苹果", ["我喜", "喜欢", "欢苹", "苹果"]),
    ("我 用Python3编程", ["我", "用", "python3", "编程"]),
    ("日本語のテスト", ["日本", "本語", "語の", "のテ", "テス", "スト"]),
    ("ที่นี่", ["ที่นี่"]),
    ("", []),
    ("?! …", []),
]


@pytest.mark.parametrize(("text", "words"), CUT)
def test_words_of_every_script_are_whole(text, words):
    assert Words().of(text) == words


def test_no_mark_begins_a_word_or_is_one():
    texts = ["ก็ดีที่สุดแล้วน้ำ", "न॒म॑स्ते", "e\u0301a\u0323\u0302", "\u0301 x"]
    for word in (word for text in texts for word in Words().of(text)):
        assert unicodedata.category(word[0])[0] != "M"


def test_words_do_not_depend_on_the_texts_before_or_on_composition():
    words = Words()
    alone = {text: Words().of(text) for text, _ in CUT}
    for text, _ in CUT + CUT[::-1]:
        assert words.of(text) == alone[text]
        assert words.of(unicodedata.normalize("NFD", text)) == alone[text]


def test_blanks_keep_signs_and_characters_cross_words():
    assert Words("blanks").of("Buy NOW!! :-)") == ["buy", "now!!", ":-)"]
    assert Words("characters:1-2").of("Ab  c") == ["a", "b", "c", " a", "ab", "b ", " c", "c "]
    assert Words("characters:3").of("我喜") == [" 我喜", "我喜 "]
    assert Words("blanks", (2, 3)).of("a b c") == ["a b", "b c", "a b c"]


def test_older_models_have_words_as_scikit_learn_has_them():
    analyse = CountVectorizer(ngram_range=(1, 2)).build_analyzer()
    for text, _ in CUT:
        assert Words(None, (1, 2)).of(text) == analyse(text)


@pytest.mark.parametrize(
    "value", ["letters", "characters", "characters:", "characters:0-2", "characters:3-2", "", None, 3]
)
def test_what_texts_are_not_cut_into_is_refused_by_name(value):
    with pytest.raises(OptionError, match="characters:2-4"):
        check_unit("words", value)


@pytest.mark.parametrize("min_count", [1, 2])
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("tfidf", [False, True])
def test_attributes_are_scikit_learns(tfidf, ngrams, min_count):
    counts, matrix = WordCounts.fit(TEXTS, Words(ngrams=ngrams), tfidf=tfidf, min_count=min_count)
    options = {"ngram_range": ngrams, "min_df": min_count, "token_pattern": r"\w+"}
    peer = TfidfVectorizer(**options, sublinear_tf=True) if tfidf else CountVectorizer(**options)
    expected = peer.fit_transform(TEXTS).toarray()
    assert list(counts.vocabulary) == peer.get_feature_names_out().tolist()
    np.testing.assert_allclose(matrix.toarray(), expected, atol=1e-12)
    new = [*TEXTS, "cat cat cat new", "unknown", ""]
    loaded = WordCounts.of_settings(counts.settings())
    np.testing.assert_allclose(loaded.matrix(new).toarray(), peer.transform(new).toarray(), atol=1e-12)
    for row, text in zip(loaded.rows(new), new, strict=True):
        assert set(row) <= set(Words(ngrams=ngrams).of(text)) & set(counts.vocabulary)
        assert not tfidf or not row or math.hypot(*row.values()) == pytest.approx(1.0)


def test_a_reserved_word_and_rare_words_are_no_attributes():
    counts, matrix = WordCounts.fit(["(x) a", "(x) a b"], Words("blanks"), min_count=2, reserved="(x)")
    assert (list(counts.vocabulary), matrix.toarray().tolist()) == (["a"], [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("texts", "options", "remedy"),
    [
        (["?", "!"], {}, "--words characters:1-3"),
        (["a", "b"], {"min_count": 2}, "lower min_count"),
        (["a", "b"], {"ngrams": (2, 2)}, "shorter length of ngrams"),
    ],
)
def test_texts_without_words_are_refused_with_a_remedy(texts, options, remedy):
    words = Words(ngrams=options.pop("ngrams", (1, 1)))
    with pytest.raises(DataError, match=remedy):
        WordCounts.fit(texts, words, **options)
