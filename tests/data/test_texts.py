"""Laws of files and folders of texts, and of what is odd about them."""

from __future__ import annotations

import gzip

import pytest
from sklearn.datasets import load_files

from loglinear import DataError, DataWarning, TextClassifier
from loglinear.data.texts import Documents, oddities, read


@pytest.fixture
def folder(tmp_path):
    for name, content in {"b/2": b"see you", "b/1": b"two\nlines", "a/x.txt": b"buy", ".git/x": b"\xff"}.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "texts"


def test_a_folder_is_read_as_scikit_learn_reads_it(folder):
    documents = read(str(folder))
    peer = load_files(str(folder), encoding="utf-8", shuffle=False, categories=["a", "b"])
    labels = [peer.target_names[target] for target in peer.target]
    assert sorted(zip(documents.labels, documents.texts, strict=True)) == sorted(zip(labels, peer.data, strict=True))
    assert documents.labels == ["a", "b", "b"]


def test_several_files_are_one(folder, tmp_path):
    (tmp_path / "one.tsv").write_text("x\tfirst\n\ny\tsecond\n")
    (tmp_path / "two.tsv").write_bytes(gzip.compress(b"x\tthird\n"))
    documents = read(str(tmp_path / "one.tsv"), str(tmp_path / "two.tsv"), str(folder))
    assert documents.texts == ["first", "second", "third", "buy", "two\nlines", "see you"]
    assert documents.labels == ["x", "y", "x", "a", "b", "b"]
    assert documents.lines == [1, 3, 1, 1, 2, 3]
    assert read(str(tmp_path / "*.tsv"), str(folder)) == documents


def test_files_that_are_not_utf8_are_named(folder, tmp_path):
    for number in range(7):
        (folder / "a" / f"bad{number}").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"7 of 10 files are not UTF-8: .*bad0, .*bad4, \.\.\.; convert them"):
        read(str(folder))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="a folder for each label and a file for each text"):
        read(str(tmp_path / "empty"))


def test_files_without_a_label_and_labels_without_files_are_said(folder):
    (folder / "README").write_text("about")
    (folder / "a" / "deeper").mkdir()
    (folder / "a" / "deeper" / "y.txt").write_text("sell")
    (folder / "none").mkdir()
    with pytest.warns(DataWarning) as warned:
        documents = read(str(folder))
    assert documents.labels == ["a", "b", "b"]
    assert [str(warning.message) for warning in warned] == [
        f"{folder}: 2 files are left out: {folder}/README, {folder}/a/deeper/y.txt; put every file directly in the "
        "folder of its label",
        f"{folder}: 1 folder has no files, so no label: none",
    ]


def test_without_labels_every_file_of_a_folder_is_a_text(folder):
    (folder / "note.txt").write_text("about")
    (folder / "a" / "round").symlink_to(folder)
    documents = read(str(folder), labelled=False)
    assert documents.texts == ["about", "buy", "two\nlines", "see you"]
    assert documents.labels is None
    assert documents.files == [str(folder / name) for name in ("note.txt", "a/x.txt", "b/1", "b/2")]


def test_exchanged_texts_and_labels_are_said_in_python(recwarn):
    texts = ["the price fell", "the price rose", "the match won", "the goal won"]
    TextClassifier().fit(texts, ["money", "money", "sport", "sport"])
    assert not recwarn.list
    with pytest.warns(DataWarning, match=r"labels look like texts \('the price fell'\).*; give the texts as X"):
        TextClassifier().fit(["money", "money", "sport", "sport"], texts)


def labelled(*rows):
    labels, texts = zip(*rows, strict=True)
    return Documents(list(texts), list(labels), list(range(1, len(rows) + 1)))


GOOD = [("x", "a b"), ("y", "c d"), ("x", "a c"), ("y", "d")]
ODD = [
    (labelled(*((f"the text {n}", f"x{n}") for n in range(10))), "10 different labels", "write the label first"),
    (labelled(*((text, label) for label, text in GOOD), ("a b", "y")), "the texts like labels ('x')", "label first"),
    (labelled(*((f"the {n}", "x") for n in range(9)))._replace(format="folder"), "labels look like", "named after it"),
    (labelled(*GOOD, ("x", "."))._replace(files=[*"abcde"]), "1 of 5 texts have no letters or digits: e", "leave them"),
    (labelled(*GOOD, ("z", "e")), "z occurs in one text only", "merge labels"),
    (labelled(*GOOD, *((f"z{n}", "e") for n in range(3))), "z0, z1, z2 occur in one text only", "add texts"),
    (labelled(*GOOD, ("x", "..."), ("x", "")), "2 of 6 texts have no letters or digits", "leave them out"),
    (labelled(*GOOD, ("x", "c d")), "1 text occurs with different labels, such as 'c d' with x, y", "check the labels"),
]


@pytest.mark.parametrize(("documents", "oddity", "remedy"), ODD)
def test_what_is_odd_about_texts_is_said_with_a_remedy(documents, oddity, remedy):
    found = oddities(documents)
    assert any(oddity in each and remedy in each for each in found), found


def test_nothing_is_odd_about_good_texts():
    assert oddities(labelled(*GOOD)) == []
