"""`loglinear evaluate` and the library give the same scores of the same data, or both refuse them."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from loglinear import ChainCRF, Corpus, DataError, MaxEnt, PairwiseMRF, TextClassifier, evaluate
from loglinear.data.table import read_table
from oracles.command_line import run_command

TEMPLATE = "U:%x[0,0]\nB\n"
WORDS = [["w", "v", "u"], ["v", "w"], ["u", "w", "w"]] * 3
TYPES = {
    "str": ("A", "B"),
    "digits": ("1", "2"),
    "int": (1, 2),
    "signs": (-1, 1),
    "numpy": (np.int64(3), np.int64(4)),
    "bool": (True, False),
}


def rows(a, b, unknown):
    """Words and labels, of which one is wrong and, with `unknown`, some are not known."""
    labels = [[a if word == "w" else b for word in words] for words in WORDS]
    labels[0][0] = b
    if unknown is not None:
        labels[1] = [unknown, a]
        labels[4] = [unknown, unknown]
    return labels


def texts(y, format):
    """The sentences in a format."""
    pairs = [[*zip(words, labels, strict=True)] for words, labels in zip(WORDS, y, strict=True)]
    if format == "jsonl":
        plain = [[label if label is None or isinstance(label, str) else str(label) for label in labels] for labels in y]
        lines = [
            json.dumps({"tokens": [[w] for w in s], "labels": labels}) for s, labels in zip(WORDS, plain, strict=True)
        ]
        return "\n".join(lines) + "\n"
    if format == "conllu":
        line = "{at}\t{word}\t_\t{label}" + "\t_" * 6 + "\n"
    else:
        line = "{word} {label}\n" if format == "txt" else "{label}\tw={word}\n"
    parts = ("".join(line.format(at=at, word=w, label=x) for at, (w, x) in enumerate(pair, 1)) for pair in pairs)
    return "\n".join(parts) + "\n"


def told(*arguments):
    """The scores that the command writes; None if it refuses the data."""
    done = run_command("evaluate", *arguments, "--json")
    assert done.returncode in (0, 2), done.stderr
    return json.loads(done.stdout) if done.returncode == 0 else None


def of_library(score):
    """A score; None if the library refuses the data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return score()
        except DataError:
            return None


MARKS = {"txt": "?", "conllu": "_", "jsonl": None, "crfsuite": "?"}


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("unknown", [False, True])
def test_chains_are_scored_alike(tmp_path, monkeypatch, kind, unknown):
    monkeypatch.chdir(tmp_path)
    a, b = TYPES[kind]
    cells = [[[word] for word in words] for words in WORDS]
    whole = [[a if word == "w" else b for word in words] for words in WORDS]
    ChainCRF(template=TEMPLATE).fit(cells, whole).save("m")
    crf = ChainCRF.load("m")
    y = rows(a, b, None)
    if unknown:
        y[1], y[4] = [None, a], [None, None]
    expected = crf.score(cells, y)
    assert expected == (20 / 21 if unknown else 23 / 24)
    for format in ("txt", "conllu", "jsonl"):
        mark = MARKS[format]
        text = texts([[mark if label is None else label for label in labels] for labels in y], format)
        (tmp_path / f"d.{format}").write_text(text)
        scores = told("m", f"d.{format}")
        corpus = Corpus.read(f"d.{format}", template=TEMPLATE, partial=True)
        assert scores["accuracy"] == crf.score(corpus) == expected
        assert scores["sentence_accuracy"] == crf.score(corpus, metric="sentence_accuracy")
        assert scores["sentence_accuracy"] == crf.score(cells, y, metric="sentence_accuracy")


@pytest.mark.parametrize("kind", [*TYPES, "float"])
@pytest.mark.parametrize("unknown", [False, True])
def test_classifiers_are_scored_alike(tmp_path, monkeypatch, kind, unknown):
    monkeypatch.chdir(tmp_path)
    a, b = TYPES.get(kind, (1.0, 2.0))
    samples = [[f"w={word}"] for words in WORDS for word in words]
    MaxEnt().fit(samples, [a if word == "w" else b for words in WORDS for word in words]).save("m")
    classifier = MaxEnt.load("m")
    y = [label for labels in rows(a, b, None) for label in labels]
    expected = classifier.score(samples, y)
    for format in ("crfsuite", "jsonl"):
        labels = rows(a, b, MARKS[format] or "?" if unknown else None)
        text = texts(labels, "crfsuite")
        if format == "jsonl":
            lines = [
                {"tokens": [[f"w={word}"] for word in s], "labels": [None if x == "?" else str(x) for x in row]}
                for s, row in zip(WORDS, labels, strict=True)
            ]
            text = "".join(json.dumps(line) + "\n" for line in lines)
        (tmp_path / f"d.{format}").write_text(text)
        accuracy = told("m", f"d.{format}")["accuracy"]
        assert accuracy == classifier.score(Corpus.read(f"d.{format}", partial=True))
        assert unknown or accuracy == expected


@pytest.mark.parametrize("target", ["0.5", "1.25"])
def test_targets_of_a_regression_are_refused_by_both(tmp_path, monkeypatch, target):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.svm").write_text(f"{target} 1:1\n2.75 2:1\n0.1 1:1 2:1\n" * 3)
    done = run_command("train", "d.svm", "--model-type", "maxent", "-m", "m")
    assert done.returncode == 2
    with pytest.raises(DataError, match="regression"):
        MaxEnt().fit(Corpus.read("d.svm"))
    assert "regression" in done.stderr
    MaxEnt().fit([["1"], ["2"]], ["1", "2"]).save("m")
    assert told("m", "d.svm") is None
    assert of_library(lambda: MaxEnt.load("m").score(Corpus.read("d.svm"))) is None


@pytest.mark.parametrize("labels", [("spam", "ham"), ("1", "2"), ("?", "_"), ("A B", "C D")])
def test_text_classifiers_are_scored_alike(tmp_path, monkeypatch, labels):
    monkeypatch.chdir(tmp_path)
    X, y = ["buy now", "see you", "buy pills", "you see"] * 2, [*labels] * 4
    TextClassifier().fit(X, y).save("m")
    other = [labels[1], *y[1:]]
    (tmp_path / "d.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in zip(other, X, strict=True)))
    scores = told("m", "d.tsv")
    assert scores["accuracy"] == TextClassifier.load("m").score(X, other)
    predicted = TextClassifier.load("m").predict(X).tolist()
    assert scores["accuracy"] == evaluate([other], [predicted]).accuracy


@pytest.mark.parametrize("states", [("a", "b"), ("1", "2"), ("x y", "?")])
def test_networks_are_scored_alike(tmp_path, monkeypatch, states):
    monkeypatch.chdir(tmp_path)
    a, b = states
    table = [[a, "x"], [a, "x"], [b, "y"], [b, "y"]] * 8 + [[a, "y"]]
    (tmp_path / "d.csv").write_text("p,q\n" + "".join(f"{one},{other}\n" for one, other in table))
    assert run_command("structure", "d.csv", "--l1", "0.1", "-m", "m", "-q").returncode == 0
    network = PairwiseMRF.load("m")
    scores = told("m", "d.csv")
    assert scores["log_likelihood_per_sample"] == network.score(read_table("d.csv"))
    (tmp_path / "gaps.csv").write_text(f"p,q\n{a},\n{b},y\n")
    assert told("m", "gaps.csv")["log_likelihood_per_sample"] == network.score(read_table("gaps.csv"))
