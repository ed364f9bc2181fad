"""Column files of every layout: separators, the column of the label, comments, and the number of columns of a model."""

from __future__ import annotations

import json
import warnings

import pytest

from loglinear import ChainCRF, Corpus, CorpusFile, DataError, DataWarning, OptionError, Tagger
from loglinear.data.column_layout import ColumnLayout
from loglinear.data.token_lines import token_lines

PLAIN = "New\tNNP\tB-LOC\nYork\tNNP\tI-LOC\nis\tVBZ\tO\n\nRita\tNNP\tB-PER\nmet\tVBD\tO\n"
BLANKS = "New York\tNNP\tB-LOC\nis\tVBZ\tO\n\nRita\t\tB-PER\nmet\tVBD\tO\n"
WORDS = "U:%x[0,0]\nU:%x[0,1]\n"


@pytest.fixture
def written(tmp_path):
    """Write a file and return its path."""

    def write(text, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def content(path, **options):
    """Return the attributes of the tokens, and their labels."""
    corpus = Corpus.read(path, template=WORDS, **options)
    return corpus.core.names(), corpus.gold()


def test_tabs_are_chosen_only_where_blanks_give_lines_of_different_lengths(written):
    spaced = PLAIN.replace("\t", " ")
    assert content(written(PLAIN)) == content(written(spaced)) == content(written(PLAIN), separator="tab")
    corpus = Corpus.read(written(BLANKS), template=WORDS)
    assert corpus.columns == ColumnLayout("tab", n=2)
    assert {"U:New York", "U:"} <= {*corpus.core.names()}
    assert corpus.gold() == [["B-LOC", "O"], ["B-PER", "O"]]
    # Two words in every line: blanks separate, as in files without tabs.
    assert Corpus.read(written("a b\tX\nc d\tY\n"), template=WORDS).columns == ColumnLayout(n=2)


def test_a_separator_that_does_not_fit_is_named_with_the_one_that_does(written):
    with pytest.raises(DataError, match=r"line 2: .* both lines have 3 between tabs: add --separator tab"):
        Corpus.read(written(PLAIN.replace("York", "York City")), template=WORDS, separator="blank")
    with pytest.raises(DataError, match=r"found 1; spaces do not separate columns here: .* --separator blank"):
        Corpus.read(written(PLAIN.replace("\t", " ")), template=WORDS, separator="tab")
    with pytest.raises(OptionError, match="separator=',' is not a separator; choose tab or blank"):
        Corpus.read(written(PLAIN), template=WORDS, separator=",")
    with pytest.raises(OptionError, match="are for the format columns, not jsonl"):
        Corpus.read(written("{}", "a.jsonl"), separator="tab")


def test_templates_count_the_columns_beside_the_label(written):
    rows = [line.split("\t") for line in PLAIN.splitlines()]
    for place in (0, 1, -2):
        moved = [cells and [*cells[:2]] for cells in rows]
        for cells, row in zip(moved, rows, strict=True):
            if len(row) == 3:
                cells.insert(place % 3, row[2])
        text = "".join("\t".join(cells) + "\n" for cells in moved)
        assert content(written(text), label_column=place) == content(written(PLAIN, "plain"))
    for wrong in (3, -4):
        with pytest.raises(
            DataError, match=f"no column {wrong} for the label .*: the first line has 3 columns, 0 to 2"
        ):
            Corpus.read(written(PLAIN), template=WORDS, label_column=wrong)


def test_comments_are_tokens_with_a_warning_or_skipped(written):
    lines = "# newdoc\nRita B-PER\nmet O\n\n-DOCSTART- O\n\n# next\nOlaf B-PER\n#tag O\n"
    with pytest.warns(DataWarning, match="comment line|DOCSTART") as caught:
        corpus = Corpus.read(written(lines), template="ner")
    messages = sorted(str(each.message).split(": ", 1)[1] for each in caught)
    assert messages == [
        "1 sentence begins with -DOCSTART-, which is read as a token; skip such lines with skip_comments=True "
        "(--skip-comments)",
        "2 sentences begin with a comment line (#), which is read as a token; skip such lines with "
        "skip_comments=True (--skip-comments)",
    ]
    assert corpus.n_tokens == 7
    skipped = Corpus.read(written(lines), template="ner", skip_comments=True)
    assert skipped.gold() == [["B-PER", "O"], ["B-PER", "O"]]
    # Hash tags begin sentences, too.
    assert Corpus.read(written("#berlin B-LOC\n\n#x O\n"), template="ner").n_tokens == 2
    for odd in ("#begin document (a); part 0\na O\n", "a O\n\n# text = a\n"):
        with pytest.raises(DataError, match="is a comment, add --skip-comments"):
            Corpus.read(written(odd), template="ner")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("token\tlabel\nRita\tB-PER\nmet\tO\n", "the first line has the label 'label': is it a header"),
        ("a|X b|Y\nc|Z d|X\ne|Y f|Z\n", "every label looks like .*: put one token per line"),
        ("a X\n\nb X\n\n" * 15, "all 30 sentences have one token"),
        ("a X\n" * 6000 + "\nb Y\n", "one sentence has 6,000 tokens"),
        ("a b\rc\nd e f\n", "1 carriage return stands within lines"),
    ],
)
def test_files_of_another_shape_are_named(text, said, written):
    with pytest.warns(DataWarning, match=said):
        Corpus.read(written(text), template="U:%x[0,0]\n")


def test_old_line_ends_and_other_encodings_are_refused_with_the_remedy(written):
    for text, said in [
        (b"a X\rb Y\r", "lines end with CR alone"),
        (b"a X\n\xe9 Y\n", r"line 2: invalid UTF-8, byte 0xe9 \(é in Latin-1\); .*iconv -f latin1"),
        ("é X\n".encode() + b"\xe9 Y\n", "line 2: .* the file mixes encodings: correct this line"),
    ]:
        with pytest.raises(DataError, match=said):
            Corpus.read(written(text), template="ner")


def test_words_shown_to_people_are_those_of_the_layout(written):
    layout = ColumnLayout("tab", 0, skip_comments=True, n=1)
    path = written("# x\nB-LOC\tNew York\nO\tis\n\nRita\n")
    shown = [[word for _, word in tokens] for tokens in token_lines(str(path), "columns", layout)]
    assert shown == [["New York", "is"], ["Rita"]]


@pytest.mark.filterwarnings("ignore:all 2 tokens are in one sentence", "ignore:2 of 2 labels occur only once")
def test_a_corpus_on_disk_and_a_model_keep_the_layout(written, tmp_path):
    path = written("# x\nB-LOC\tNew York\nO\tis\n\nO\tit\n")
    options = {"separator": "tab", "label_column": 0, "skip_comments": True}
    with CorpusFile(tmp_path / "c", template="ner") as corpus:
        corpus.keep_frequent([path], 1, **options)
        corpus.add(path, **options)
    opened = Corpus.open(tmp_path / "c")
    assert opened.columns == ColumnLayout("tab", 0, skip_comments=True, n=1)
    assert opened.core.names() == Corpus.read(path, template="ner", **options).core.names()
    ChainCRF().fit(opened).save(tmp_path / "m")
    settings = json.loads(ChainCRF.load(tmp_path / "m").model_.settings)
    assert ColumnLayout.of_settings(settings) == opened.columns
    with pytest.raises(DataError, match="other: 2 columns plus the label, earlier sentences have 1"):
        with CorpusFile(tmp_path / "c", template="ner", append=True) as corpus:
            corpus.add(written(PLAIN, "other"))


def test_tokens_with_more_columns_than_in_training_are_refused():
    crf = ChainCRF(template="ner").fit([["a", "b"]] * 8, [["A", "B"]] * 8)
    tagger = Tagger(crf)
    nested = [["a", "b"], ["c"]]
    for refused in (
        lambda: crf.predict_single(nested),
        lambda: crf.predict_marginals_single(nested),
        lambda: tagger.tag(nested),
        lambda: tagger.tag_batch([nested]),
        lambda: crf.predict([nested]),
    ):
        with pytest.raises(DataError, match="token 0 has 2 columns, the training data had 1: is this a list of sent"):
            refused()
    for refused in (lambda: crf.marginals([[["a", "b"]]]), lambda: crf.score([[["a", "b"]]], [["A"]])):
        with pytest.raises(DataError, match="have 2 columns, the training data had 1"):
            refused()
    with pytest.raises(DataError, match="sentence 0: token 1 has 1 column, earlier tokens have 2"):
        ChainCRF(template="ner").fit([[("a", "N"), ("b",)]] * 8, [["A", "B"]] * 8)
    # A template that needs the first column only reads tokens without the others.
    two = ChainCRF(template="ner").fit([[("a", "N"), ("b", "V")]] * 8, [["A", "B"]] * 8)
    assert Tagger(two).tag(["a", "b"]) == two.predict_single([("a", "N"), ("b", "V")]) == ["A", "B"]


def test_a_description_names_columns_and_label():
    assert ColumnLayout(n=1).describe() == "1 column; the label is the last"
    assert ColumnLayout("tab", 0, n=2).describe() == "2 columns between tabs; the label is the first"
    assert ColumnLayout(n=2).describe(1) == "1 of 2 columns; the label is the last"
    assert ColumnLayout(n=3).describe(2) == "2 of 3 columns; the label is the last"
    assert ColumnLayout(n=2).describe(2) == ColumnLayout(n=2).describe()
    assert ColumnLayout(label=1, n=2).describe() == "2 columns; the label is number 1"


def test_flags_ask_for_the_layout_that_they_name():
    assert ColumnLayout(n=3).flags() == []
    layout = ColumnLayout("tab", 0, skip_comments=True, n=1)
    assert layout.flags() == ["--separator", "tab", "--label-column", "0", "--skip-comments"]


def test_a_model_without_a_number_of_columns_takes_any():
    model = ChainCRF(template="ner").fit([["a", "b"]] * 8, [["A", "B"]] * 8).model_
    settings = json.loads(model.settings)
    assert settings.pop("columns") == {"separator": None, "label": -1, "skip_comments": False, "n": 1}
    assert ColumnLayout.of_settings(settings) == ColumnLayout()


def test_the_word_number_sign_before_a_tab_is_no_comment(tmp_path):
    path = tmp_path / "data"
    path.write_text("#\tNN\tSYM\na\tDT\tD\n\n" * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Corpus.read(path, template="U:%x[0,0]\n")
    path.write_text("# newdoc\na D\n\n" * 3)
    with pytest.warns(DataWarning, match="3 sentences begin with a comment line"):
        Corpus.read(path, template="U:%x[0,0]\n")
