import lzma

import pytest

from loglinear import datasets
from loglinear.errors import DataError

UPOS = set("ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split())
SIZES = {"train": (10_445, 170_047), "test": (1_655, 20_304)}


@pytest.fixture(scope="module")
def sentences():
    texts = [lzma.open(path, "rt", encoding="utf-8").read() for path in datasets.demo_paths()]
    return {
        split: [[line.split("\t") for line in block.split("\n")] for block in text.removesuffix("\n\n").split("\n\n")]
        for split, text in zip(SIZES, texts, strict=True)
    }


@pytest.mark.parametrize("split", SIZES)
def test_sizes_are_those_of_the_attribution(sentences, split):
    n_sentences, n_words = SIZES[split]
    assert (len(sentences[split]), sum(map(len, sentences[split]))) == (n_sentences, n_words)
    attribution = (datasets.demo_paths()[0].parent / "ATTRIBUTION.md").read_text(encoding="utf-8")
    assert f"| {n_sentences:,} of " in attribution
    assert f"| {n_words:,} of " in attribution


@pytest.mark.parametrize("split", SIZES)
def test_every_line_has_three_columns_without_blanks(sentences, split):
    for row in (row for sentence in sentences[split] for row in sentence):
        assert len(row) == 3
        assert all(len(cell.split()) == 1 and cell == cell.strip() for cell in row), row


@pytest.mark.parametrize("split", SIZES)
def test_labels_are_the_17_upos(sentences, split):
    assert {row[2] for sentence in sentences[split] for row in sentence} == UPOS


@pytest.mark.parametrize("split", SIZES)
def test_load_demo_returns_words_and_labels_of_the_files(sentences, split):
    words, tags = datasets.load_demo()[list(SIZES).index(split)]
    assert words == [[row[0] for row in sentence] for sentence in sentences[split]]
    assert tags == [[row[2] for row in sentence] for sentence in sentences[split]]


def test_no_long_sentence_is_in_both_files(sentences):
    train, test = ({tuple(row[0] for row in s) for s in sentences[split] if len(s) > 10} for split in SIZES)
    assert train.isdisjoint(test)


def test_files_stay_below_400_kilobytes():
    assert sum(path.stat().st_size for path in datasets.demo_paths()) < 400_000


def test_the_licence_comes_with_the_data():
    folder = datasets.demo_paths()[0].parent
    text = (folder / "LICENSE-UD-English-EWT.txt").read_text(encoding="utf-8")
    assert text.startswith("Attribution-ShareAlike 4.0 International")
    assert "CC BY-SA 4.0" in datasets.__doc__


def test_data_dir_is_what_the_environment_names(monkeypatch, tmp_path):
    monkeypatch.setenv("LOGLINEAR_DATA", str(tmp_path))
    assert datasets.data_dir() == tmp_path
    monkeypatch.setenv("LOGLINEAR_DATA", str(tmp_path / "missing"))
    with pytest.raises(DataError, match="not a folder"):
        datasets.data_dir()
    monkeypatch.delenv("LOGLINEAR_DATA")
    with pytest.raises(DataError, match="LOGLINEAR_DATA is not set"):
        datasets.data_dir()
