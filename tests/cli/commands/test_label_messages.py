"""Messages about labels, models of another kind and files that are missing."""

from __future__ import annotations

import gzip
import warnings

import numpy as np
import pytest

from loglinear import ChainCRF, DataError, DataWarning, MaxEnt, audit, rank

TWO = "a X\nb Y\n\na X\nc Y\n"


@pytest.fixture
def folder(tmp_path, done):
    (tmp_path / "template").write_text("U0:%x[0,0]\n")
    (tmp_path / "two").write_text(TWO)
    (tmp_path / "texts").write_text("X\tgood film\nY\tbad film\nX\tgood book\nY\tbad book\n")
    (tmp_path / "x.svm").write_text("X 1:1\nY 2:1\n")
    done("train", tmp_path / "two", "--template", tmp_path / "template", "-q", "-m", tmp_path / "c")
    done("train", tmp_path / "texts", "--model-type", "maxent", "-f", "text", "-q", "-m", tmp_path / "t")
    done("train", tmp_path / "x.svm", "--model-type", "maxent", "-q", "-m", tmp_path / "s")
    return tmp_path


def train(folder, *flags):
    return ("train", folder / "two", "--template", folder / "template", "-q", "-m", folder / "new", *flags)


def test_an_empty_object_is_no_label(misuse, tmp_path):
    (tmp_path / "e.jsonl").write_text('{"tokens": [["a"]], "labels": [{}]}\n')
    told = misuse("train", tmp_path / "e.jsonl", "-m", tmp_path / "m")
    assert "line 1: label 0: no label has a probability; give the probability of each label" in told


@pytest.mark.parametrize("constraints", ["BIO", [("O", "I-X")], None])
def test_constraints_need_a_known_label(constraints):
    with pytest.raises(DataError, match=r"^no token has a known label: there is nothing to train on$"):
        ChainCRF(constraints=constraints).fit([[["a"]], [["b"]]], [[None], [None]])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("form", ["columns", "text"])
def test_rank_writes_the_marks_and_ends_of_lines_of_the_file(done, folder, end, mark, form):
    lines = ["a", "b", "", "c", "a"] if form == "columns" else ["bad film", "good book", "film"]
    (folder / "new").write_bytes((mark + end.join(lines)).encode())
    model = folder / ("c" if form == "columns" else "t")
    done("rank", model, folder / "new", "-o", folder / "chosen", "-q")
    written = (folder / "chosen").read_bytes().decode()
    assert written.startswith("\ufeff") == bool(mark)
    assert "\ufeff" not in written[1:]
    assert set(written.removeprefix("\ufeff").split(end)) == {*lines, ""}
    assert written.count("\n") == written.count(end)


def test_class_weights_of_classifiers_are_explained_and_zeros_are_told(done, folder):
    help_text = " ".join(done("train", "--help").stdout.split())
    assert "with --model-type maxent, the weight of the samples of a label" in help_text
    X, y = [["a"], ["b"], ["c"], ["c"]], ["X", "Y", "Z", "Z"]
    with pytest.warns(DataWarning, match=r"class Z has a weight of 0 in class_weight .*: 2 samples are ignored"):
        model = MaxEnt(class_weight={"Z": 0.0}).fit(X, y)
    assert model.classes_.tolist() == ["X", "Y", "Z"]
    (folder / "three").write_text(TWO + "\nd Z\n")
    flags = ("--template", folder / "template", "--model-type", "maxent", "--class-weight", "X=0", "-q")
    told = done("train", folder / "three", *flags, "-m", folder / "m").stderr
    assert "class X has a weight of 0 in --class-weight: 2 samples are ignored" in told


def test_models_of_another_kind_name_the_flag(misuse, folder):
    t, c = folder / "t", folder / "c"
    assert "not a chain model; add --model-type maxent --format text" in misuse(*train(folder, "--start", t))
    assert "not a chain model; add --model-type maxent" in misuse(*train(folder, "--prior", folder / "s"))
    told = misuse(*train(folder, "--model-type", "maxent", "--start", c))
    assert "not a classifier; leave out --model-type maxent" in told
    texts = ("train", folder / "texts", "-f", "text", "--model-type", "maxent", "-q", "-m", folder / "new")
    assert "not on texts; give a model that was trained with --format text" in misuse(*texts, "--prior", folder / "s")


def test_biases_of_labels_are_removed_in_python_before_an_export(misuse, folder):
    ChainCRF.load(folder / "c").set_params(label_bias={"X": 1.0}).save(folder / "biased")
    told = misuse("convert", folder / "biased", folder / "out.crfsuite")
    assert "remove them in Python before the export: set_params(label_bias=None)" in told


def test_the_range_of_the_strength_is_in_the_words_of_the_command(misuse, folder):
    told = misuse(*train(folder, "--prior", folder / "c", "--prior-strength", "-1"))
    assert "give a number from 0 to 1e+06, or --prior-strength inf to keep the older weights" in told


@pytest.mark.parametrize(
    "command",
    [
        ("train", "nosuch.txt", "-m", "m"),
        ("train", "nosuch.txt", "-m", "m", "--model-type", "maxent"),
        ("audit", "nosuch.txt"),
        ("encode", "nosuch.txt", "-o", "c"),
        ("select", "nosuch.txt", "--dev", "nosuch.txt", "-o", "s"),
    ],
)
def test_a_missing_file_comes_before_a_missing_template(misuse, tmp_path, command):
    told = misuse(*(tmp_path / word if word in ("m", "c", "s") else word for word in command))
    assert told == "nosuch.txt: No such file or directory"


def test_audits_do_not_warn_of_their_own_folds(done, folder):
    told = done("audit", folder / "two", "--template", folder / "template", "--folds", "9").stderr
    assert "warning" not in told


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_audits_need_labels(misuse, folder, kind):
    (folder / "none").write_text("a ?\nb ?\n\na ?\n")
    told = misuse("audit", folder / "none", "--template", folder / "template", "--model-type", kind)
    assert told == f"{folder}/none: no sentence has all its labels; an audit needs labelled data"
    with pytest.raises(DataError, match="no token has a label; an audit needs labelled data"):
        audit(ChainCRF(), [[["a"]], [["b"]]], [[None], [None]])


FORBIDDEN = [(before, after) for before in "XY" for after in "XY"]


def test_sentences_without_an_allowed_labelling_are_named():
    X = [[["a"]], [["a"], ["b"]]]
    crf = ChainCRF(l2=0.1).fit(X, [["X"], ["X", "Y"]]).set_params(constraints=FORBIDDEN)
    with pytest.warns(DataWarning, match="sentence 1: no labelling is allowed by the constraints"):
        found = crf.log_probability(X, [["X"], ["X", "Y"]])
    assert np.isfinite(found[0])
    assert found[1] == -np.inf
    with pytest.warns(DataWarning, match="sentence 0: no labelling is allowed by the constraints"):
        explained = crf.explain(X[1])
    assert [token.label for token in explained] == ["?", "?"]
    assert "nan" not in str(explained)


def test_traces_are_not_compressed_and_pages_are(misuse, done, folder):
    told = misuse(*train(folder, "--trace", folder / "t.gz"))
    assert "a trace is written line by line, not compressed; give a name without .gz" in told
    told = done("audit", folder / "two", "--template", folder / "template", "-o", folder / "page.html.gz").stderr
    assert "open it in a browser" in told
    assert "page.tsv" in told
    assert gzip.decompress((folder / "page.html.gz").read_bytes()).lower().startswith(b"<!doctype html")


def test_a_start_tells_what_it_does_not_hand_on(done, folder):
    X, y = [[["a"], ["b"]], [["c"]]], [["X", "Y"], ["X"]]
    biased = ChainCRF(l2=0.1, label_bias={"X": 1.0}).fit(X, y)
    with pytest.warns(UserWarning, match="^start: the older model has biases of labels"):
        ChainCRF(l2=0.1).fit(X, y, start=biased)
    ChainCRF(l2=0.1, label_bias={"X": 1.0}).fit(X, y, start=biased)
    biased.save(folder / "biased")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        told = done(*train(folder, "--start", folder / "biased")).stderr
    assert f"start: {folder}/biased has biases of labels" in told
    model = MaxEnt(l2=0.01).fit([["a"], ["b"]] * 20, ["A", "B"] * 20)
    model.calibrate([["a"], ["b"]] * 20, ["B", "A"] * 5 + ["A", "B"] * 15)
    with pytest.warns(UserWarning, match="^start: the older model is calibrated"):
        MaxEnt().fit([["a"], ["b"]], ["A", "B"], start=model)


def test_results_are_short_in_a_console():
    X = [[["the"], [word]] for word in ("dog", "cat", "cow", "pig", "hen", "ape", "bee", "ant")]
    y = [["DET", "NOUN"]] * 4 + [["NOUN", "DET"]] * 4
    found = audit(ChainCRF(l2=0.1), X, y, folds=4)
    lines = repr(found).splitlines()
    n = len(found.findings)
    assert lines[0] == f"<Audit: {n} findings, {len(found.disagreements)} disagreement>"
    first = found.findings[0]
    assert lines[1].startswith(f"  sentence {first.sentence}, token {first.start}: {'/'.join(first.given)} -> ")
    assert lines[6:] == ([f"  and {n - 5} more"] if n > 5 else [])
    assert len(lines) <= 7
    assert max(map(len, lines)) <= 122
    assert repr(found.out_of_fold) == "<OutOfFold: 8 sentences, 16 tokens, 4 folds; labels DET, NOUN>"
    ranking = rank(ChainCRF(l2=0.1).fit(X, y), X)
    lines = repr(ranking).splitlines()
    assert lines[0] == f"<Ranking by sequence: {len(ranking.sentences)} sentences>"
    assert lines[1].startswith(f"  sentence {ranking.sentences[0].sentence}: score ")
    assert lines[6] == f"  and {len(ranking.sentences) - 5} more"
    assert repr(rank(ChainCRF(l2=0.1).fit(X, y), X[:1])).startswith("<Ranking by sequence: 1 sentence>")
