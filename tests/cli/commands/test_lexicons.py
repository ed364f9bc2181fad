"""Lexicons of templates on the command line."""

import json

import pytest

TEMPLATE = 'U0:%x[0,0]\nU1:%in[0,0,"words/towns.txt"]  # names\nU2:%IN[-1,0,"words/towns.txt"]\nB\n'
TRAIN = "in O\nParis T\n\nto O\nNew T\nYork T\n\nor O\nAnna P\n\n"


@pytest.fixture
def folder(tmp_path):
    """A folder with a template, its lexicon in a folder beside it, and data."""
    (tmp_path / "words").mkdir()
    (tmp_path / "template").write_text(TEMPLATE)
    (tmp_path / "words" / "towns.txt").write_text("# towns\nParis\tTOWN\nNew York\tTOWN\nLe Havre\tTOWN\n")
    (tmp_path / "train.txt").write_text(TRAIN)
    return tmp_path


def test_paths_are_relative_to_the_template_and_the_model_needs_no_file(folder, done):
    model = folder / "m.loglinear"
    done("train", folder / "train.txt", "--template", folder / "template", "-o", model, "--l2", "0.1")
    done("encode", folder / "train.txt", "--template", folder / "template", "-o", folder / "corpus")
    (folder / "words" / "towns.txt").unlink()
    assert done("tag", model, "-", input="at\nLe\nHavre\n").stdout == "at\tO\nLe\tT\nHavre\tT\n\n"
    done("evaluate", model, folder / "train.txt")
    shown = done("inspect", model).stdout
    assert "lexicons         words/towns.txt: 3 entries, 0." in shown
    assert "words/towns.txt: 3 entries, lower case, 0." in shown
    assert "in towns = B-TOWN" in shown
    assert "#!lexicon" not in shown
    report = json.loads(done("inspect", model, "--json").stdout)
    assert report["template"].rstrip("\n") == TEMPLATE.rstrip("\n")
    assert report["lexicons"][0] | {"n_bytes": 0} == {
        "name": "words/towns.txt", "lower_case": False, "n_entries": 3, "n_bytes": 0
    }  # fmt: skip
    assert "in towns = B-TOWN" in done("explain", model, "-", input="Le\nHavre\n").stdout
    assert "words/towns.txt: 3 entries" in done("inspect", folder / "corpus").stdout
    again = folder / "again.loglinear"
    done("train", folder / "corpus", "-o", again, "--l2", "0.1")
    assert done("tag", again, "-", input="at\nLe\nHavre\n").stdout == "at\tO\nLe\tT\nHavre\tT\n\n"


def test_lexicons_that_cannot_be_read_are_refused_with_file_line_and_remedy(folder, misuse):
    towns, template = folder / "words" / "towns.txt", folder / "template"
    for content, words in [
        (b"Paris\n\xff\n", [f"{towns}, line 2: invalid UTF-8", "convert"]),
        (b"a\tb\tc\n", [f"{towns}, line 1: more than one tab", "entry TAB type"]),
        (b"x\n" + b"a " * 65, [f"{towns}, line 2: an entry of more than 64 words", "shorten"]),
        (b"\x1f\x8b\x08 damaged", [str(towns), "damaged"]),
        (
            None,
            [
                f"{template}, line 2: cannot read the lexicon {towns}: No such file",
                "relative to the file of the template",
            ],
        ),
    ]:
        towns.write_bytes(content) if content is not None else towns.unlink()
        message = misuse("encode", folder / "train.txt", "--template", template, "-o", folder / "corpus")
        assert all(word in message for word in words), message
    towns.mkdir()
    assert f"line 2: cannot read the lexicon {towns}: a folder, not a file" in misuse(
        "encode", folder / "train.txt", "--template", template, "-o", folder / "corpus"
    )


def test_a_lexicon_without_entries_is_told(folder, done):
    (folder / "words" / "towns.txt").write_text("# nothing\n\n")
    told = done("train", folder / "train.txt", "--template", folder / "template", "-o", folder / "m").stderr
    assert "towns.txt: the lexicon has no entries, so %in gives O for every token; add entries" in told


def test_other_programs_have_no_lexicons(folder, done, misuse):
    done("train", folder / "train.txt", "--template", folder / "template", "-o", folder / "m")
    for format in ("crfsuite", "wapiti", "crf++"):
        message = misuse("convert", folder / "m", folder / "other", "--to", format)
        assert "has no lexicons, and the template looks words up in words/towns.txt" in message
