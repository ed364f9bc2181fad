"""The format of a file by its name, and CoNLL-U."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from loglinear import ChainCRF, Corpus, DataError, OptionError, TemplateError, _core
from loglinear.data import texts
from loglinear.data.annotations.tools import READERS
from loglinear.data.formats import FORMATS, format_of, is_format, named, readable
from loglinear.data.token_lines import line_of, token_lines

NAMES = {
    "a.jsonl": "jsonl",
    "a.json": "jsonl",
    "a.crfsuite": "crfsuite",
    "a.conllu": "conllu",
    "a.svm": "svmlight",
    "a.svmlight": "svmlight",
    "a.libsvm": "svmlight",
    "folder.conllu/a.JSONL": "jsonl",
    "a.b.conllu.gz": "conllu",
    "a.conllu.xz": "conllu",
    "a.txt": "columns",
    "a.tsv": "columns",
    "a.csv": "columns",
    "a.txt.gz": "columns",
    "conllu": "columns",
    "a.conllu.bak": "columns",
    "a.columns": "columns",
    "a.spacy": "spacy",
    "-": "columns",
}

TEXT = """\
# newdoc id = one
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tv\tMood=Imp|Person=1\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\t_\t1\tobj\t_\tA=b
2.1\tya\t_\tADV\t_\t_\t_\t_\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\ts\t_\t5\tcase\t_\t_
4\tel\tel\tDET\td\tPronType=Art\t5\tdet\t_\t_
5\tMar Muerto\tmar\tPROPN\tn\t_\t1\tobl\t_\t_

# sent_id = 2
1\t#\t#\tSYM\tf\t_\t0\troot\t_\t_

"""
# The formats that the native half reads.
NATIVE = sorted(name for name, format in FORMATS.items() if format.content == "lines" and name != "text")
# Sentences in each format: a token's line holds WORD and a number, or TOKEN in formats without words.
SENTENCES = {
    "columns": "\n \nWORD1\tO\n\n\n  WORD2 B-X\r\nWORD3 O\n \t\nWORD4 O\nWORD5 I-X",
    "conllu": "# c\n1\tWORD1\tO\n\n# WORD\n1-2\tNO\tO\n1\tWORD2\tO\n1.1\tNO\tO\n2\tWORD3\tO\n\n# end\n\n".replace(
        "\tO\n", "\t_\tO" + "\t_" * 6 + "\n"
    ),
    "crfsuite": "O\tTOKEN\n\n\n@weight:2.5\nB-X\tTOKEN:2\nO\tTOKEN\tb\n\n@weight:1\tO\tTOKEN\nI-X\tTOKEN",
    "jsonl": """\
{"tokens": ["WORD1"], "labels": ["A"]}

{"tokens": [], "labels": []}
{"tokens": [["WORD2", "b"], ["WORD3"]], "labels": ["A", "B"]}
  {"labels": ["A"], "tokens": [{"n": 1, "w": "WORD4"}]}
""",
    "svmlight": "# head\n1 1:2 # TOKEN\n\n-1 2:1 # TOKEN\n",
}
WORDS = [["vamos", "nos", "a", "el", "Mar Muerto"], ["#"]]


@pytest.fixture
def path(tmp_path):
    (tmp_path / "data.conllu").write_text(TEXT, encoding="utf-8")
    return tmp_path / "data.conllu"


@pytest.mark.parametrize("name", NAMES)
def test_the_extension_tells_the_format(name):
    assert format_of(name) == NAMES[name]
    assert format_of(Path(name)) == NAMES[name]
    assert format_of(name, default="other") == ("other" if NAMES[name] == "columns" else NAMES[name])
    assert format_of(name, "crfsuite", "other") == "crfsuite"


def test_texts_are_read_without_a_byte_order_mark(tmp_path):
    (tmp_path / "texts").write_text("\ufeffspam\tbuy now\n\nham\t\ufeffsee you\n", encoding="utf-8")
    found = texts.read(str(tmp_path / "texts"))
    assert found[:3] == (["buy now", "\ufeffsee you"], ["spam", "ham"], [1, 3])


def test_no_two_formats_have_an_extension_in_common():
    extensions = [extension for format in FORMATS.values() for extension in format.extensions]
    assert len(extensions) == len({*extensions})


@pytest.mark.parametrize("name", NATIVE)
def test_the_native_half_knows_every_format_and_agrees_on_templates(name, tmp_path):
    path = tmp_path / "data"
    path.write_text(SENTENCES[name].replace('{"n": 1, "w": "WORD4"}', '"WORD4"'), encoding="utf-8")
    takes = FORMATS[name].template
    for template, refused in ((None, takes == "needed"), ("U:%x[0,0]\n", takes == "refused")):
        if refused:
            with pytest.raises(OptionError, match="template"):
                Corpus.read(path, format=name, template=template)
        else:
            assert Corpus.read(path, format=name, template=template).format == name


def test_both_halves_know_the_same_names(tmp_path):
    assert {*FORMATS} == {"text", "spacy", *SENTENCES, *READERS}
    native = {f"{name}:{column}" for name in NATIVE for column in FORMATS[name].columns} | {*NATIVE}
    for name in native:
        template = "U:%x[0,0]\n" if named(name).template == "needed" else None
        with pytest.raises(FileNotFoundError):
            _core.Corpus.read(str(tmp_path / "missing"), name, template)
    for bad in ("conllu:", "conllu:form", "conllu:UPOS", "conllux", "conllu:upos:xpos", "jsonl:upos", "", "nope"):
        assert not is_format(bad)
        with pytest.raises(
            OptionError,
            match=f"^format '{bad}' is unknown( .did you mean [a-z]*..)?; choose columns, conllu .* or text$",
        ):
            named(bad)
        with pytest.raises(OptionError, match=f"^format '{bad}' is unknown; choose ") as failure:
            _core.Corpus.read(str(tmp_path / "missing"), bad, None)
        assert {*re.split(", | or ", str(failure.value).partition("choose ")[2])} == native


def test_the_table_of_formats_names_each_with_its_extensions():
    page = (Path(__file__).parents[2] / "docs" / "overview.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.split("## What it reads")[1].split("\n\n")[1].splitlines()
    ]
    assert rows[0] == ["format", "extensions", "a line", "notes"]
    table = {name.strip("`"): extensions for name, extensions, *_ in rows[2:]}
    assert table == {name: ", ".join(f"`{each}`" for each in format.extensions) for name, format in FORMATS.items()}
    notes = {name.strip("`"): row for name, *row in rows[2:]}
    for name, format in FORMATS.items():
        assert ("needs a template" in notes[name][-1]) == (format.template == "needed")
        assert all(f"`{name}:{column}`" in notes[name][-1] for column in format.columns[1:])


@pytest.mark.parametrize("name", NATIVE)
def test_a_token_is_found_in_its_file(name, tmp_path):
    path, format = tmp_path / "f.gz", FORMATS[name]
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + SENTENCES[name].encode()))
    lines = list(token_lines(str(path), name))
    corpus = Corpus.read(path, format=name, template="U:%x[0,0]\n" if format.template == "needed" else None)
    assert [len(sentence) for sentence in lines] == corpus.core.lengths()
    for at, sentence in enumerate(lines):
        for token, (number, word) in enumerate(sentence):
            line = SENTENCES[name].splitlines()[number - 1]
            assert line_of([str(path)], name, at, token) == (str(path), number)
            assert (word or "TOKEN") in line
            assert word is None or word.startswith("WORD")
        assert line_of([str(path)], name, at, len(sentence)) == (str(path), sentence[-1][0])
    assert line_of([str(path)], name, len(lines), 0) is None


def test_a_corpus_is_read_in_the_format_of_its_extension(path, tmp_path):
    assert Corpus.read(path, template="pos").format == "conllu"
    (tmp_path / "packed.conllu.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert Corpus.read(tmp_path / "packed.conllu.gz", template="pos").gold() == Corpus.read(path, template="pos").gold()
    (tmp_path / "a.jsonl").write_text('{"tokens": ["a"], "labels": ["A"]}\n')
    assert Corpus.read(tmp_path / "a.jsonl").format == "jsonl"
    (tmp_path / "a.svm").write_text("1 1:2\n-1 2:1\n")
    assert Corpus.read(tmp_path / "a.svm").format == "svmlight"
    # The format that is given goes first, whatever the extension.
    (tmp_path / "b.jsonl").write_text("a A\n")
    assert Corpus.read(tmp_path / "b.jsonl", format="columns", template="pos").gold() == [["A"]]


@pytest.mark.parametrize(
    ("format", "labels"),
    [
        ("conllu", [["VERB", "PRON", "ADP", "DET", "PROPN"], ["SYM"]]),
        ("conllu:upos", [["VERB", "PRON", "ADP", "DET", "PROPN"], ["SYM"]]),
        ("conllu:xpos", [["v", "p", "s", "d", "n"], ["f"]]),
        ("conllu:feats", [["Mood=Imp|Person=1", "_", "_", "PronType=Art", "_"], ["_"]]),
        ("conllu:deprel", [["root", "obj", "case", "det", "obl"], ["root"]]),
    ],
)
def test_words_are_read_with_the_labels_of_a_column(path, format, labels):
    corpus = Corpus.read(path, format=format, template="pos")
    assert corpus.gold() == labels
    assert sorted(corpus.core.names()) == sorted(Corpus.encode(WORDS, labels, template="pos").core.names())


def test_templates_see_all_columns_from_the_word_on(path):
    corpus = Corpus.read(path, format="conllu:xpos", template="U:%x[0,1]/%x[0,2]/%x[0,8]\n")
    names = ["U:ir/VERB/_", "U:nosotros/PRON/A=b", "U:a/ADP/_", "U:el/DET/_", "U:mar/PROPN/_", "U:#/SYM/_"]
    assert corpus.core.names() == names


@pytest.mark.parametrize(
    ("format", "template", "said"),
    [
        ("conllu", "U:%x[0,0]/%x[1,2]\n", "column 2, UPOS, which is the label"),
        ("conllu:deprel", "U:%x[0,6]\n", "column 6, DEPREL, which is the label"),
        ("conllu", "U:%x[0,9]\n", "column 9, but CoNLL-U has columns 0 .FORM. to 8 .MISC."),
    ],
)
def test_a_template_that_looks_at_the_label_is_refused(path, format, template, said):
    with pytest.raises(TemplateError, match=said):
        Corpus.read(path, format=format, template=template)


def test_unlabelled_words_are_read_without_their_labels(path):
    path.write_text(TEXT.replace("VERB", "_"), encoding="utf-8")
    assert len(Corpus.read(path, template="pos", labelled=False)) == 2
    with pytest.raises(DataError, match=r"data\.conllu, line 4: the label, UPOS, is missing; --format conllu:xpos"):
        Corpus.read(path, template="pos")
    assert len(Corpus.read(path, format="conllu:xpos", template="pos")) == 2


def test_layout_does_not_change_the_corpus_nor_does_the_number_of_threads(path):
    expected = Corpus.read(path, template="pos")
    for text in (
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT,
        "\n\n" + TEXT.rstrip("\n"),
        TEXT.replace("\n\n", "\n \n"),
    ):
        path.write_bytes(text.encode())
        found = Corpus.read(path, template="pos")
        assert (found.gold(), found.core.names()) == (expected.gold(), expected.core.names())
    path.write_text(TEXT * 9_000, encoding="utf-8")
    one, two = (Corpus.read(path, template="pos", threads=threads) for threads in (1, 2))
    assert one.gold() == two.gold() == expected.gold() * 9_000
    assert one.core.names() == two.core.names() == expected.core.names()


@pytest.mark.filterwarnings("ignore:6 of 6 labels occur only once")
def test_a_model_remembers_the_column_of_its_labels(path, tmp_path):
    crf = ChainCRF(l2=0.1).fit(Corpus.read(path, format="conllu:xpos", template="pos"))
    crf.save(tmp_path / "m")
    assert ChainCRF.load(tmp_path / "m").predict(WORDS) == [["v", "p", "s", "d", "n"], ["f"]]


def test_what_a_model_can_read():
    words, more = "U:%x[0,0]\n", "U:%x[0,0]/%x[0,1]\n"
    expected = {
        None: {"crfsuite", "jsonl", "svmlight"},
        words: {"jsonl", "conllu"},
        more: {"jsonl"},
    }
    for template, formats in expected.items():
        assert {name for name in ("conllu", "crfsuite", "jsonl", "svmlight") if readable(name, template)} == formats


def test_json_lines_of_texts_are_told_from_those_of_tokens(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a b", "label": "A"}\n')
    with pytest.raises(DataError, match='no "tokens" list; for a classifier of texts, write a label, a tab and a text'):
        Corpus.read(path)
    path.write_text('{"words": ["a"], "labels": ["A"]}\n')
    with pytest.raises(DataError, match='no "tokens" list; a line looks like'):
        Corpus.read(path)
    path.write_text('{"tokens": ["a", "b"], "labels": ["A"]}\n')
    with pytest.raises(DataError, match=r"line 1: 2 tokens but 1 label$"):
        Corpus.read(path)


def test_commas_in_every_line_of_column_files_are_told_from_columns(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("New York,LOC\nis,O\nbig,O\n")
    with pytest.raises(DataError, match=r"line 2: .*; every line has a ',': separate the columns with tabs"):
        Corpus.read(path, template="U:%x[0,0]\n")
    path.write_text("New York LOC\nis,O\nbig,O\n")
    with pytest.raises(DataError, match="every line needs the same number"):
        Corpus.read(path, template="U:%x[0,0]\n")
