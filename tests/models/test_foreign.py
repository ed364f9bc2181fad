"""Laws of other programs' models: CRFsuite's, beside python-crfsuite; Wapiti's; CRF++'s, by their layout."""

from __future__ import annotations

import math
import os
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pycrfsuite
import pytest

from loglinear import ChainCRF, ModelFileError, OptionError
from loglinear.models.files.chain import open_model

DATA = os.environ.get("LOGLINEAR_DATA")
WAPITI = Path(__file__).parent / "wapiti"
REAL_CRFPP = Path(__file__).parent / "crfpp"
X = [
    [{"w": "the", "len": 3.0}, {"w": "dog", "len": 3.0}, {"w": "barks", "len": 0.5}],
    [{"w": "Äpfel"}, {"w": "reifen", "cap": False}],
    [{"w": "the"}, {"w": "cat", "near": {"w": "the"}}],
]
Y = [["DET", "NOUN", "VERB"], ["NOUN", "VERB"], ["DET", "NOUN"]]

needs_data = pytest.mark.skipif(DATA is None, reason="LOGLINEAR_DATA names no folder with real models")


def theirs(path, sentences):
    """Labels, log-probabilities and marginals of python-crfsuite."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    labels = tagger.labels()
    for sentence in sentences:
        found = tagger.tag(sentence)
        yield found, tagger.probability(found), [{y: tagger.marginal(y, t) for y in labels} for t in range(len(found))]


def check_against_crfsuite(path, crf, sentences):
    ours = zip(crf.predict(sentences), crf.predict_marginals(sentences), strict=True)
    for (labels, marginals), (found, probability, expected), x in zip(
        ours, theirs(path, sentences), sentences, strict=True
    ):
        assert labels == found
        assert crf.log_probability([x], [found])[0] == pytest.approx(math.log(probability), abs=1e-9)
        for ours_of_token, theirs_of_token in zip(marginals, expected, strict=True):
            assert ours_of_token == pytest.approx(theirs_of_token, abs=1e-9)


def test_a_model_of_ours_tags_the_same_in_crfsuite(tmp_path):
    crf = ChainCRF(l2=0.1).fit(X, Y)
    crf.export(tmp_path / "m.crfsuite", "crfsuite")
    check_against_crfsuite(tmp_path / "m.crfsuite", crf, X)


def test_a_model_of_crfsuite_is_read_and_written_byte_for_byte(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.train(str(tmp_path / "m.crfsuite"))
    crf = ChainCRF.load(tmp_path / "m.crfsuite")
    assert list(crf.classes_) == ["DET", "NOUN", "VERB"]  # the order of the file
    check_against_crfsuite(tmp_path / "m.crfsuite", crf, X)
    crf.export(tmp_path / "back.crfsuite", "crfsuite")
    assert (tmp_path / "back.crfsuite").read_bytes() == (tmp_path / "m.crfsuite").read_bytes()
    crf.save(tmp_path / "m.loglinear")
    assert ChainCRF.load(tmp_path / "m.loglinear").state_features_ == crf.state_features_


@needs_data
def test_the_model_of_usaddress_comes_back_byte_for_byte():
    path = f"{DATA}/usaddress/usaddr.crfsuite"
    model, settings = open_model(path)
    assert (len(model.labels), model.n_attributes, model.n_features) == (29, 1270, 2605)
    assert settings["imported"] == "crfsuite"
    assert model.export("crfsuite") == Path(path).read_bytes()


def columns(path):
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[line.split() for line in block.splitlines()] for block in blocks]


def test_a_model_of_wapiti_labels_as_wapiti_does():
    """The files were made by Wapiti 1.5.0: `train -1 0.3 -2 0.001 -c`, `label`, `label -p -s`."""
    crf = ChainCRF.load(WAPITI / "model.txt")
    sentences = columns(WAPITI / "test.txt")
    assert crf.predict(sentences) == [[row[-1] for row in block] for block in columns(WAPITI / "labelled.txt")]
    expected = []
    for block in columns(WAPITI / "posteriors.txt"):
        expected.append([row[-1].split("/") for row in block if row[0] != "#"])
    for marginals, rows in zip(crf.predict_marginals(sentences), expected, strict=True):
        for probabilities, (label, probability) in zip(marginals, rows, strict=True):
            assert probabilities[label] == pytest.approx(float(probability), abs=5.1e-7)


@needs_data
@pytest.mark.slow
@pytest.mark.skipif("LOGLINEAR_WAPITI" not in os.environ, reason="LOGLINEAR_WAPITI names no program")
@pytest.mark.parametrize("part", ["date", "name-header", "affiliation-address"])
@pytest.mark.parametrize("detail", [0, 1, 2])
def test_the_models_of_grobid_label_byte_for_byte_as_in_wapiti(part, detail, tmp_path):
    lines = Path(f"{DATA}/grobid/{part}.train").read_bytes().split(b"\n")
    (tmp_path / "data").write_bytes(b"\n".join(line.rpartition(b" ")[0] for line in lines))
    model, _ = open_model(f"{DATA}/grobid/{part}.wapiti")
    model.tag_file(str(tmp_path / "data"), str(tmp_path / "tagged"), format="columns", layout="wapiti", detail=detail)
    options = (["-s"] if detail else []) + (["-p"] if detail == 2 else [])
    command = [os.environ["LOGLINEAR_WAPITI"], "label", *options, "-m", f"{DATA}/grobid/{part}.wapiti"]
    done = subprocess.run([*command, tmp_path / "data"], capture_output=True, check=True)
    assert done.stdout == (tmp_path / "tagged").read_bytes()


def test_a_model_of_wapiti_written_again_is_the_same_model(tmp_path):
    crf = ChainCRF.load(WAPITI / "model.txt")
    crf.export(tmp_path / "m.wapiti", "wapiti")
    back = ChainCRF.load(tmp_path / "m.wapiti")
    assert back.state_features_ == crf.state_features_
    assert back.transition_features_ == crf.transition_features_
    back.export(tmp_path / "again.wapiti", "wapiti")
    assert (tmp_path / "again.wapiti").read_bytes() == (tmp_path / "m.wapiti").read_bytes()


def test_training_with_wapitis_rules_forms_wapitis_attributes():
    template = "#!wapiti\n" + (WAPITI / "template.txt").read_text(encoding="utf-8")
    sentences = [[row[:-1] for row in block] for block in columns(WAPITI / "train.txt")]
    labels = [[row[-1] for row in block] for block in columns(WAPITI / "train.txt")]
    # Without penalties every feature that was seen has a weight.
    ours = ChainCRF(template=template, l2=1e-3, solver="lbfgs").fit(sentences, labels)
    known = {attribute for attribute, _ in ours.state_features_}
    of_wapiti = {attribute for attribute, _ in ChainCRF.load(WAPITI / "model.txt").state_features_}
    # Names with half a character are shown with a replacement character, so several may look alike.
    assert of_wapiti <= known


def test_decimal_weights_and_old_headers_are_read():
    text = "#mdl#3\n#rdr#2/0\n8:u%x[0,0],\n1:b,\n#qrk#2\n1:A,\n1:B,\n#qrk#3\n2:ux,\n2:uy,\n1:b,\n"
    weights = "1=1.5000000e+00\n2=-0x1.8p+1\n5=2.0e-1\n"
    path_of = {}
    for name, start in (("new", text.replace("#mdl#3", "#mdl#2#3").replace("#2/0", "#2/0/0")), ("old", text)):
        path_of[name] = start + weights
    from loglinear._core import ChainModel

    for content in path_of.values():
        model = ChainModel.from_bytes(content.encode())
        assert model.state_features() == [("ux", "B", 1.5), ("uy", "A", -3.0)]
        assert model.transition_features() == [("A", "B", 0.2)]


def test_patterns_that_stand_there_twice_count_twice(tmp_path):
    text = "#mdl#2#2\n#rdr#4/0/0\n8:u%x[0,0],\n1:b,\n8:u%x[0,0],\n1:b,\n#qrk#2\n1:A,\n1:B,\n#qrk#2\n2:ux,\n1:b,\n"
    (tmp_path / "twice.wapiti").write_text(text + "0=0x1p-2\n3=0x1p-1\n")
    crf = ChainCRF.load(tmp_path / "twice.wapiti")
    assert crf.transition_features_ == {("A", "B"): 1.0}
    best = crf.predict([["x", "x"]], n_best=4)[0]
    scores = {"".join(labels): log_p for labels, log_p in best}
    # A twice is 2 x 2 x 0.25 above B twice; A then B is 0.5 and 1.0 above.
    assert scores["AA"] - scores["BB"] == pytest.approx(1.0)
    assert scores["AB"] - scores["BB"] == pytest.approx(1.5)
    crf.export(tmp_path / "again.wapiti", "wapiti")
    assert (tmp_path / "again.wapiti").read_text() == text + "0=0x1p-2\n3=0x1p-1\n"


CRFPP = """version: 100
cost-factor: 1
maxid: 10
xsize: 2

A
B

U00:%x[-1,0]/%x[0,1]
B01:%x[0,0]
B

8 B01:y
4 B
0 U00:_B-1/p
2 U00:x/q

0.5000000000000000
-0.5000000000000000
0.2500000000000000
0.7500000000000000
"""


def crfpp_text():
    """Weights: U of x 0, 1 and 2, 3; B 4 to 7; B01:y 8 to 11."""
    rest = ["0.1250000000000000", "0.0000000000000000", "-1.0000000000000000", "0.0000000000000000"]
    rest += ["0.0000000000000000", "2.0000000000000000", "0.0000000000000000", "0.0000000000000000"]
    return CRFPP.replace("maxid: 10", "maxid: 12") + "".join(line + "\n" for line in rest)


def test_a_text_model_of_crfpp_is_read_and_written(tmp_path):
    (tmp_path / "m.txt").write_text(crfpp_text())
    crf = ChainCRF.load(tmp_path / "m.txt")
    assert crf.state_features_ == {
        ("U00:_B-1/p", "A"): 0.5,
        ("U00:_B-1/p", "B"): -0.5,
        ("U00:x/q", "A"): 0.25,
        ("U00:x/q", "B"): 0.75,
    }
    assert crf.transition_features_ == {("A", "A"): 0.125, ("B", "A"): -1.0}
    scores = {"".join(y): s for y, s in crf.predict([[["x", "p"], ["y", "q"]]], n_best=4)[0]}
    # U00:_B-1/p gives A 0.5 and B -0.5; U00:x/q gives A 0.25 and B 0.75; B01:y gives A, B 2.
    assert scores["AB"] - scores["AA"] == pytest.approx((0.75 + 2.0) - (0.25 + 0.125))
    assert scores["AA"] - scores["BA"] == pytest.approx((0.5 + 0.125) - (-0.5 - 1.0))
    crf.export(tmp_path / "again.txt", "crf++-text")
    again = ChainCRF.load(tmp_path / "again.txt")
    assert again.state_features_ == crf.state_features_
    again.export(tmp_path / "third.txt", "crf++-text")
    assert (tmp_path / "third.txt").read_text() == (tmp_path / "again.txt").read_text()


def find_in_trie(units, name):
    """Number of a string in a double array, as CRF++ looks it up; None if it is not there."""
    b = units[0][0]
    for byte in name:
        p = b + byte + 1
        if p >= len(units) or units[p][1] != b:
            return None
        b = units[p][0]
    n = units[b][0] if b < len(units) and units[b][1] == b else 0
    return -n - 1 if n < 0 else None


def test_a_binary_model_of_crfpp_has_its_layout(tmp_path):
    (tmp_path / "m.txt").write_text(crfpp_text())
    crf = ChainCRF.load(tmp_path / "m.txt")
    crf.export(tmp_path / "m.crfpp", "crf++")
    content = (tmp_path / "m.crfpp").read_bytes()
    version, kind, cost_factor, maxid, columns, trie, length = struct.unpack_from("<IidIIII", content)
    assert (version, kind, cost_factor, maxid, columns) == (100, 0, 1.0, 12, 2)
    assert content[32 : 32 + length] == b"A\0B\0"
    at = 32 + length
    (t_length,) = struct.unpack_from("<I", content, at)
    assert content[at + 4 : at + 4 + t_length].rstrip(b"\0").split(b"\0") == [
        b"U00:%x[-1,0]/%x[0,1]",
        b"B01:%x[0,0]",
        b"B",
    ]
    assert (length + t_length) % 4 == 0
    at += 4 + t_length
    units = list(struct.iter_unpack("<iI", content[at : at + trie]))
    weights = struct.unpack_from(f"<{maxid}f", content, at + trie)
    assert len(content) == at + trie + 4 * maxid
    assert weights[find_in_trie(units, b"U00:x/q") + 1] == 0.75
    assert weights[find_in_trie(units, b"B01:y") + 1] == 2.0
    assert weights[find_in_trie(units, b"B") + 2] == -1.0
    assert find_in_trie(units, b"U00:x/") is None
    assert find_in_trie(units, b"U00:x/qq") is None
    assert ChainCRF.load(tmp_path / "m.crfpp").state_features_ == crf.state_features_


@pytest.mark.parametrize("name", ["model", "model.txt"])
def test_a_model_of_crfpp_labels_as_crfpp_does(name):
    """The files were made by CRF++ 0.59, of the PyPI distribution crfpy: `crf_learn -t -c 2`, `crf_test -v2`, `-n3`."""
    crf = ChainCRF.load(REAL_CRFPP / name)
    sentences = [[line.split() for line in b.splitlines()] for b in text_of("test.txt").strip().split("\n\n")]
    rows = [block.splitlines() for block in text_of("posteriors.txt").strip().split("\n\n")]
    for sentence, labels, marginals, (head, *tokens) in zip(
        sentences, crf.predict(sentences), crf.predict_marginals(sentences), rows, strict=True
    ):
        cells = [token.split("\t") for token in tokens]
        assert labels == [token[2].split("/")[0] for token in cells]
        assert crf.log_probability([sentence], [labels])[0] == pytest.approx(math.log(float(head[2:])), rel=1e-4)
        for found, token in zip(marginals, cells, strict=True):
            expected = dict(cell.split("/") for cell in token[3:])
            assert found == pytest.approx({label: float(p) for label, p in expected.items()}, abs=1.1e-6)


def text_of(name):
    return (REAL_CRFPP / name).read_text(encoding="utf-8")


def test_both_files_of_crfpp_are_one_model_and_it_goes_there_and_back(tmp_path):
    binary, text = (ChainCRF.load(REAL_CRFPP / name) for name in ("model", "model.txt"))
    assert binary.state_features_ == pytest.approx(text.state_features_, rel=1e-6)
    text.export(tmp_path / "m.txt", "crf++-text")
    assert ChainCRF.load(tmp_path / "m.txt").state_features_ == text.state_features_
    binary.export(tmp_path / "m", "crf++")
    back = ChainCRF.load(tmp_path / "m")
    assert back.state_features_ == binary.state_features_
    assert back.transition_features_ == binary.transition_features_


@pytest.mark.slow
@pytest.mark.skipif(find_spec("CRFPP") is None, reason="CRF++ is not installed (pip install crfpy)")
def test_crfpp_reads_the_models_that_are_written_for_it(tmp_path):
    ChainCRF.load(REAL_CRFPP / "model").export(tmp_path / "m", "crf++")
    program = "import sys; from CRFPP import crfpp_test; crfpp_test(sys.argv)"
    command = [sys.executable, "-c", program, "-v2", "-m", tmp_path / "m", REAL_CRFPP / "test.txt"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == text_of("posteriors.txt")


def test_a_model_of_ours_with_a_template_of_crfpp_goes_there_and_back(tmp_path):
    template = "U00:%x[0,0]\nU01:%x[-1,0]\nB\n"
    crf = ChainCRF(template=template, l2=0.1).fit([["the", "dog"], ["dog", "barks"]], [["D", "N"], ["N", "V"]])
    for format in ("crf++", "crf++-text"):
        crf.export(tmp_path / "m", format)
        back = ChainCRF.load(tmp_path / "m")
        assert back.predict([["the", "dog", "barks"]]) == crf.predict([["the", "dog", "barks"]])
        assert back.state_features_ == pytest.approx(crf.state_features_, rel=1e-6)


def test_what_another_program_cannot_hold_is_refused_with_the_reason(tmp_path):
    second = ChainCRF(order=2, l2=0.1).fit(X, Y)
    with pytest.raises(ModelFileError, match="order=2"):
        second.export(tmp_path / "m", "crfsuite")
    with pytest.raises(ModelFileError, match="first line is #!wapiti"):
        ChainCRF(l2=0.1).fit(X, Y).export(tmp_path / "m", "wapiti")
    with pytest.raises(ModelFileError, match="CRF\\+\\+ cannot read the template"):
        ChainCRF(template="pos", l2=0.1).fit([["a", "b"]], [["A", "B"]]).export(tmp_path / "m", "crf++")
    with pytest.raises(ModelFileError, match="constraints"):
        ChainCRF(l2=0.1, constraints="BIO").fit([[["a"], ["b"]]], [["B-X", "I-X"]]).export(tmp_path / "m", "crfsuite")
    with pytest.raises(OptionError, match="choose crfsuite, wapiti"):
        second.export(tmp_path / "m", "onnx")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"lCRFfoo" * 100, "cannot be read as a CRFsuite model"),
        (b"lCRF", "cannot be read as a CRFsuite model"),
        (b"#mdl#1#0\n", "maximum-entropy Markov model"),
        (b"#mdl#2#1\n#rdr#0/0/0\n#qrk#4294967295\n", "too short"),
        (b"version: 101\n", "version is 101"),
        (struct.pack("<IidIIII", 100, 0, 1.0, 0xFFFFFFFF, 1, 0, 0) + b"\0\0\0\0", "read as a CRF\\+\\+ model"),
        (b"hello, world, this is text", "not a loglinear model .*; give the name of a model, or train one with"),
    ],
)
def test_damaged_models_are_named(tmp_path, content, word):
    (tmp_path / "damaged").write_bytes(content)
    with pytest.raises(ModelFileError, match=word):
        ChainCRF.load(tmp_path / "damaged")


def test_training_starts_at_a_model_of_another_program(tmp_path):
    old = ChainCRF(l2=0.1).fit(X, Y)
    old.export(tmp_path / "m.crfsuite", "crfsuite")
    new = ChainCRF(l2=0.1).fit(X, Y, start=tmp_path / "m.crfsuite")
    assert new.result_.start.n_shared == old.model_.n_features
