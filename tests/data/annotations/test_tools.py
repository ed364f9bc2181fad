"""Texts with labelled spans: what annotation tools export is read as it is, and what is written is read back."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from loglinear import (
    AnnotatedText,
    ChainCRF,
    Corpus,
    DataError,
    DataWarning,
    OptionError,
    TextSpan,
    annotated_texts,
    labelled_tokens,
    read_annotations,
    write_annotations,
)
from loglinear.data.annotations.tools import READERS, TO_COLUMNS, detected_format
from loglinear.metrics import chunks

SAMPLES = Path(__file__).parent / "samples"
# The same three texts as each program exports them.
TEXTS = (
    "Ada Lovelace wrote to Charles Babbage 😊 in London.",
    "She lived in Ockham Park.\nIt is near Guildford.",
    "Nothing is marked here.",
)
SPANS = (
    [("Ada Lovelace", "PER"), ("Charles Babbage", "PER"), ("London", "LOC")],
    [("Ockham Park", "LOC"), ("Guildford", "LOC")],
    [],
)
EXPORTS = {
    "doccano.jsonl": "doccano",
    "doccano-relations.jsonl": "doccano",
    "label-studio.json": "label-studio",
    "label-studio-min.json": "label-studio",
    "prodigy.jsonl": "prodigy",
    "brat": "brat",
}
# What each export has that is not a labelled span.
LEFT_OUT = {
    "doccano-relations.jsonl": "1 relation left out",
    "prodigy.jsonl": "2 tasks with the answer reject or ignore left out",
    "brat": "5 annotations other than spans left out",
    "inception.tsv": "1 layer of relations or chains left out",
}


def read(name, format=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        texts = read_annotations(SAMPLES / name, format)
    return texts, [str(warning.message) for warning in caught]


def covered(text):
    return [(text.text[span.start : span.end], span.label) for span in text.spans]


@pytest.mark.parametrize("name", EXPORTS)
def test_the_export_of_a_tool_is_read_as_it_is(name):
    texts, said = read(name)
    assert [text.text for text in texts] == [*TEXTS]
    assert [covered(text) for text in texts] == [*SPANS]
    assert all(span.text == text.text[span.start : span.end] for text in texts for span in text.spans)
    assert (texts, said) == read(name, EXPORTS[name])
    assert detected_format(str(SAMPLES / name)) == EXPORTS[name]
    assert len(said) == (name in LEFT_OUT)
    assert all(LEFT_OUT[name] in message and str(SAMPLES / name) in message for message in said)


def test_the_text_of_a_doccano_export_may_be_its_data(tmp_path):
    older = (SAMPLES / "doccano.jsonl").read_text(encoding="utf-8").replace('"text":', '"data":')
    path = tmp_path / "export.jsonl"
    path.write_text(older, encoding="utf-8")
    assert read_annotations(path) == read_annotations(path, "doccano") == read("doccano.jsonl")[0]
    assert '"data":' in older
    assert '"text":' not in older


def test_a_document_of_inception_has_a_line_for_each_sentence():
    (text,), said = read("inception.tsv")
    assert text.text == "\n".join(TEXTS)
    assert covered(text) == [span for spans in SPANS for span in spans]
    assert [text.text[start:end] for start, end in text.tokens[:8]] == TEXTS[0].split()[:8]
    assert LEFT_OUT["inception.tsv"] in said[0]


@pytest.mark.parametrize("name", [*EXPORTS, "inception.tsv", "conll2002.conll", "conll2003.conll"])
def test_all_exports_give_the_same_sentences_to_train_on(name):
    X, y = labelled_tokens(read(name)[0])
    (document,) = read("inception.tsv")[0]
    assert X == [[*map(str, line.replace(".", " .").split())] for line in document.text.split("\n")]
    labels = ["B-PER", "I-PER", "O", "O", "B-PER", "I-PER", "O", "O", "B-LOC", "O"]
    assert y[:2] == [labels, ["O", "O", "O", "B-LOC", "I-LOC", "O"]]
    assert {*map(len, y[3:])} == {5}


def test_a_corpus_is_the_one_of_the_labelled_tokens():
    X, y = labelled_tokens(read_annotations(SAMPLES / "doccano.jsonl"))
    corpus = Corpus.read(SAMPLES / "doccano.jsonl", format="doccano", template="ner")
    assert corpus.gold() == y
    assert ChainCRF().fit(corpus).predict(corpus) == ChainCRF(template="ner").fit(X, y).predict(X)
    with pytest.raises(OptionError, match="the format doccano needs a template"):
        Corpus.read(SAMPLES / "doccano.jsonl", format="doccano")
    with pytest.raises(OptionError, match="looks at 2 columns"):
        Corpus.read(SAMPLES / "doccano.jsonl", format="doccano", template="chunking")


# Words without blanks, one of them beyond the basic plane, with characters that formats reserve.
WORDS = st.sampled_from(["Ada", "é", "e\u0301", "😊", "a_b", "[x]", "p|q", "\\", "*", "->", ";", "#", "_", "名", '"'])
LABELS = st.sampled_from(["PER", "B-LOC", "a_b", "x|y[1]", "*", "_", "\\", "été", "O"])


@st.composite
def annotated(draw):
    """A text of lines of words, with spans of words that do not overlap."""
    lines = draw(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=3))
    spans, at = [], 0
    for words in lines:
        starts = []
        for word in words:
            starts.append((at, at + len(word)))
            at += len(word) + 1
        first = 0
        while first < len(words):
            last = draw(st.integers(first, len(words) - 1))
            if draw(st.booleans()):
                spans.append((starts[first][0], starts[last][1], draw(LABELS)))
            first = last + 1
    text = "\n".join(" ".join(words) for words in lines)
    return text, tuple(TextSpan(start, end, label, text[start:end]) for start, end, label in spans)


@pytest.mark.filterwarnings("ignore:.*labels of spans look like tags")
@pytest.mark.parametrize("format", READERS)
@given(st.lists(annotated(), min_size=1, max_size=3))
@examples(50)
def test_what_is_written_is_read_back(format, tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("texts")
    texts = [AnnotatedText(*pair, id=f"{number}") for number, pair in enumerate(pairs, start=1)]
    path = folder / "file" if format in ("brat", "webanno") else folder / "file.json"
    write_annotations(texts, path, format, tokenizer="whitespace")
    back = read_annotations(path, format)
    assert [(text.text, text.spans, text.id) for text in back] == [(text.text, text.spans, text.id) for text in texts]
    expected = labelled_tokens(texts, tokenizer="whitespace")
    assert labelled_tokens(back, tokenizer="whitespace") == expected
    # From any format to columns and back, sentences keep their labels.
    for columns in TO_COLUMNS:
        write_annotations(back, folder / "columns", columns, tokenizer="whitespace")
        assert labelled_tokens(read_annotations(folder / "columns", columns)) == expected


@pytest.mark.parametrize(("name", "format"), [("a.ann", "brat"), ("a.tsv", "webanno")])
def test_a_single_document_has_a_line_for_each_text(name, format, tmp_path):
    texts = read("prodigy.jsonl")[0]
    write_annotations(texts, tmp_path / name, format)
    (back,) = read_annotations(tmp_path / name)
    assert back.text == "\n".join(TEXTS)
    assert labelled_tokens([back]) == labelled_tokens(texts)


def test_parts_of_words_and_blank_lines_stay_in_a_document_of_inception(tmp_path):
    text = "Adas books\n\n\nof Lovelaces"
    spans = tuple(TextSpan(start, end, "X", text[start:end]) for start, end in ((0, 3), (5, 6), (6, 10), (16, 25)))
    write_annotations([AnnotatedText(text, spans)], tmp_path / "a.tsv", "webanno")
    (back,) = read_annotations(tmp_path / "a.tsv")
    assert (back.text, back.spans) == (text, spans)


def test_spans_of_prodigy_name_their_tokens(tmp_path):
    write_annotations(read("prodigy.jsonl")[0], tmp_path / "a.jsonl", "prodigy")
    files = (tmp_path / "a.jsonl", SAMPLES / "prodigy.jsonl")
    rows = zip(*(file.read_text(encoding="utf-8").splitlines() for file in files), strict=False)
    for ours, theirs in ((json.loads(a), json.loads(b)) for a, b in rows):
        assert {name: theirs[name] for name in ours} == ours
        assert {*ours} == {"text", "tokens", "spans", "_task_hash"}


def test_tokens_of_a_file_are_used_unless_a_tokenizer_is_chosen(tmp_path):
    texts = [AnnotatedText("New York!", (TextSpan(0, 8, "LOC", "New York"),), "", ((0, 8), (8, 9)))]
    for name, format in (("a.jsonl", "prodigy"), ("a.tsv", "webanno")):
        write_annotations(texts, tmp_path / name, format)
        back = read_annotations(tmp_path / name)
        assert labelled_tokens(back) == ([["New York", "!"]], [["B-LOC", "O"]])
        assert labelled_tokens(back, tokenizer="words") == ([["New", "York", "!"]], [["B-LOC", "I-LOC", "O"]])


@given(st.lists(st.lists(st.tuples(WORDS, st.sampled_from(["B-X", "I-X", "I-Y", "O"])), min_size=1), max_size=4))
@examples(50)
def test_labelled_sentences_become_texts_with_the_same_chunks(sentences):
    X = [[word for word, _ in sentence] for sentence in sentences]
    y = [[label for _, label in sentence] for sentence in sentences]
    texts = annotated_texts(X, y, "IOB")
    assert [text.text for text in texts] == [" ".join(words) for words in X]
    tokens, labels = labelled_tokens(texts)
    assert tokens == X
    assert [chunks(row, "IOB") for row in labels] == [chunks(row, "IOB") for row in y]


def test_files_may_be_compressed_and_folders_hold_several(tmp_path):
    content = (SAMPLES / "doccano.jsonl").read_bytes()
    lines = content.splitlines(keepends=True)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines[0]))
    (tmp_path / "b.jsonl").write_bytes(b"\xef\xbb\xbf" + b"".join(lines[1:]).replace(b"\n", b"\r\n"))
    assert read_annotations(tmp_path) == read_annotations(SAMPLES / "doccano.jsonl")


def test_probabilities_are_scores_of_a_tool(tmp_path):
    text = AnnotatedText("Ada wrote", (TextSpan(0, 3, "PER", "Ada", 0.75),))
    for format in ("label-studio", "prodigy"):
        write_annotations([text], tmp_path / "a", format, model_version="m1")
        assert read_annotations(tmp_path / "a", format) == [text]
    write_annotations([text], tmp_path / "a", "label-studio", model_version="m1")
    (task,) = json.loads((tmp_path / "a").read_text())
    assert [(answer["model_version"], answer["score"]) for answer in task["predictions"]] == [("m1", 0.75)]


def test_unknown_formats_and_files_are_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "labels": ["A"]}\n')
    with pytest.raises(DataError, match=r"a\.jsonl: not the export of an annotation tool; .* doccano, label-studio"):
        read_annotations(tmp_path / "a.jsonl")
    with pytest.raises(OptionError, match=r"^format='docano' is not an annotation format.*doccano"):
        read_annotations(tmp_path / "a.jsonl", "docano")
    with pytest.raises(DataError, match=r"line 1: .*the file looks like the format doccano"):
        read_annotations(SAMPLES / "doccano.jsonl", "webanno")
    with pytest.raises(DataError, match=r"no \.tsv file in this folder"):
        read_annotations(tmp_path, "webanno")
    with pytest.raises(DataError, match=r"^text 0 is 'Ada', not an AnnotatedText"):
        write_annotations(["Ada"], tmp_path / "b", "doccano")
    with pytest.raises(OptionError, match="stdout cannot hold"):
        write_annotations([AnnotatedText("a")], "-", "brat")


@pytest.mark.parametrize("ids", [["2", ""], ["A", "a"], ["1", "1"], ["", "1", "3", ""], ["a\0", "../b", ".c"]])
def test_every_text_of_a_folder_has_a_file_of_its_own(ids, tmp_path):
    texts = [AnnotatedText(f"Ada {number}", id=name) for number, name in enumerate(ids)]
    write_annotations(texts, tmp_path / "texts", "brat")
    files = [path.stem for path in (tmp_path / "texts").glob("*.ann")]
    assert len({name.lower() for name in files}) == len(files) == len(ids)
    assert {text.text for text in read_annotations(tmp_path / "texts")} == {text.text for text in texts}


@pytest.mark.parametrize("name", ["7", "-7", "007", "²", "٣", "9" * 5000, "a"])
@pytest.mark.parametrize("format", ["doccano", "label-studio"])
def test_identifiers_stay_as_they_are(name, format, tmp_path):
    write_annotations([AnnotatedText("Ada", id=name)], tmp_path / "a", format)
    assert [text.id for text in read_annotations(tmp_path / "a", format)] == [name]


def test_texts_that_no_file_can_hold_are_refused(tmp_path):
    for text in (AnnotatedText("Ada \ud800"), AnnotatedText("Ada", (TextSpan(0, 3, "\ud800", "Ada"),))):
        with pytest.raises(DataError, match=r"^text 0: .* has half of a character, \\ud800; repair the text"):
            write_annotations([text], tmp_path / "a", "doccano")
    with pytest.raises(DataError, match=r"^text 0: its id is 7, not a text"):
        write_annotations([AnnotatedText("Ada", id=7)], tmp_path / "a", "doccano")


BAD_SPANS = [
    (TextSpan(0, 20, "PER", "Ada"), "the span 0 to 20 (PER) is outside the text; the text has 9 characters"),
    (TextSpan(-1, 3, "PER", "Ada"), "the span -1 to 3 (PER) is outside the text"),
    (TextSpan(3, 0, "PER", "Ada"), "ends before it starts"),
    (TextSpan(3, 3, "PER", ""), "is empty"),
    (TextSpan(3, 4, "PER", " "), "covers only blanks"),
    (TextSpan(0, 3, "", "Ada"), "has an empty label"),
    (TextSpan(0, 3, "  ", "Ada"), "has an empty label, or one of blanks"),
    (TextSpan(0, 3, "PER", "Bob"), "covers 'Ada', but the file says 'Bob'"),
    (TextSpan(0.0, 3, "PER", "Ada"), "is not a span; its start and end are whole numbers"),
]


@pytest.mark.parametrize(("span", "said"), BAD_SPANS)
def test_spans_that_are_none_are_refused(span, said):
    with pytest.raises(DataError) as failure:
        labelled_tokens([AnnotatedText("Ada wrote", (span,))])
    assert str(failure.value).startswith("text 0: ")
    assert said in str(failure.value)


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        ([["a"]], [], "1 sentences but 0 label sequences"),
        ([["a"]], [["O", "O"]], "sentence 0: 1 tokens but 2 labels"),
        ([["a b"], [" "]], [["O"], ["O"]], "sentence 1: ' ' is not a word"),
        ([["a"]], [["NOUN"]], "the labels NOUN do not follow a tagging scheme"),
    ],
)
def test_sentences_that_no_text_can_hold_are_refused(X, y, said):
    with pytest.raises(DataError, match=said):
        annotated_texts(X, y)


def test_a_warning_of_a_widened_span_is_given_once():
    text = AnnotatedText("Lovelaces wrote. Lovelaces", tuple(TextSpan(at, at + 8, "PER", "Lovelace") for at in (0, 17)))
    with pytest.warns(DataWarning, match="^2 spans widened to whole tokens$") as caught:
        assert labelled_tokens([text], widen=True)[1] == [["B-PER", "O", "O", "B-PER"]]
    assert len(caught) == 1
