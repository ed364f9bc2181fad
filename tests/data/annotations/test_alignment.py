"""Labels of tokens from spans of characters: spans on tokens, and spans that tokens do not fit."""

from __future__ import annotations

import re

import pytest

from loglinear import AnnotatedText, DataError, DataWarning, OptionError, TextSpan, labelled_tokens
from loglinear.metrics import chunks

TEXT = "Ada Lovelace wrote.\n\nParis, London"


def annotated(*parts, text=TEXT):
    """Return a text with a span of each of these parts, labelled X; a part may be (part, label)."""
    spans = []
    for part in parts:
        covered, label = part if isinstance(part, tuple) else (part, "X")
        start = text.index(covered)
        spans.append(TextSpan(start, start + len(covered), label, covered))
    return AnnotatedText(text, tuple(spans), place="export.jsonl, line 3")


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "IOE2", "IOBES", "BILOU", "BMES"])
def test_chunks_of_labels_are_the_spans_in_every_scheme(scheme):
    spans = [("Ada", "PER"), ("Lovelace", "PER"), ("Paris", "LOC"), (", London", "LOC")]
    X, y = labelled_tokens([annotated(*spans)], scheme=scheme)
    assert X == [["Ada", "Lovelace", "wrote", "."], ["Paris", ",", "London"]]
    found = [chunks(labels, scheme, mode="strict") for labels in y]
    assert found == [[("PER", 0, 1), ("PER", 1, 2)], [("LOC", 0, 1), ("LOC", 1, 3)]]


def test_blanks_at_the_ends_of_a_span_do_not_count():
    assert labelled_tokens([annotated(" Lovelace ", "Paris")]) == labelled_tokens([annotated("Lovelace", "Paris")])


def test_tokens_are_characters_or_matches_of_an_expression():
    assert labelled_tokens([annotated("Ada", text="Ada ab")], tokenizer="characters")[1] == [
        ["B-X", "I-X", "I-X", "O", "O"]
    ]
    X, y = labelled_tokens([annotated("Ada", text="Ada ab")], tokenizer=r"\w")
    assert (X, y) == ([["A", "d", "a", "a", "b"]], [["B-X", "I-X", "I-X", "O", "O"]])


REFUSED = [
    (["Lovel"], "the span 4 to 9, 'Lovel' (X), ends within the token 'Lovelace'"),
    (["lace"], "the span 8 to 12, 'lace' (X), starts within the token 'Lovelace'"),
    (["Ada", "Ada Lovelace"], "spans labelled X and X share a token"),
    ([("Lovelace wrote", "A"), ("Ada Lovelace", "B")], "spans labelled B and A share a token"),
    ([TEXT], "the span that starts with 'Ada Lovelace wrote.' crosses a line end"),
    ([".\n\nParis"], "the span that starts with '.' crosses a line end"),
]


@pytest.mark.parametrize(("parts", "said"), REFUSED)
def test_spans_that_tokens_do_not_fit_are_named_with_a_remedy(parts, said):
    with pytest.raises(DataError) as failure:
        labelled_tokens([annotated(*parts)])
    message = str(failure.value)
    assert message.startswith(f"export.jsonl, line 3: {said}; ")
    assert re.search("--widen|--overlaps|line by line", message)


def test_a_span_without_tokens_is_refused():
    with pytest.raises(DataError, match=r"line 3: the span 18 to 19, '.' \(X\), contains no token; choose another"):
        labelled_tokens([annotated(".")], tokenizer=r"\w+")


@pytest.mark.parametrize(
    ("overlaps", "labels"),
    [("longest", ["O", "B-B", "I-B", "I-B"]), ("first", ["B-A", "I-A", "O", "B-C"])],
)
def test_of_overlapping_spans_the_longest_or_the_first_are_kept(overlaps, labels):
    text = annotated(("Ada Lovelace", "A"), ("Lovelace wrote.", "B"), (".", "C"), text="Ada Lovelace wrote.")
    n = 2 if overlaps == "longest" else 1
    with pytest.warns(DataWarning, match=f"{n} overlapping spans? left out; the {overlaps} ones are kept"):
        assert labelled_tokens([text], overlaps=overlaps)[1] == [labels]


def test_equal_spans_count_once():
    assert labelled_tokens([annotated("Ada", "Ada")]) == labelled_tokens([annotated("Ada")])


def test_widened_spans_may_overlap():
    text = annotated(("Love", "A"), ("lace wrote", "B"))
    with pytest.raises(DataError, match="share a token"):
        labelled_tokens([text], widen=True)
    with pytest.warns(DataWarning) as caught:
        assert labelled_tokens([text], widen=True, overlaps="longest")[1][0] == ["O", "B-B", "I-B", "O"]
    assert [str(warning.message)[:2] for warning in caught] == ["2 ", "1 "]


def test_lines_end_as_on_any_system_and_blank_ones_are_no_sentences():
    for end in ("\n", "\r\n", "\r", "\n\n"):
        X, y = labelled_tokens([annotated("b", text=f"a{end} {end}b")])
        assert (X, y) == ([["a"], ["b"]], [["O"], ["B-X"]])
    assert labelled_tokens([AnnotatedText("")]) == ([], [])


def test_wrong_options_are_refused():
    with pytest.raises(OptionError, match="overlaps='shortest' is not one of refuse, longest, first"):
        labelled_tokens([], overlaps="shortest")
    with pytest.raises(OptionError, match="unknown tagging scheme 'BOI'"):
        labelled_tokens([annotated("Ada")], scheme="BOI")
    with pytest.raises(OptionError, match="has no labels for chunks"):
        labelled_tokens([annotated("Ada")], scheme="none")
    with pytest.raises(OptionError, match="token"):
        labelled_tokens([], tokenizer="wrods")
