"""Cells with probabilities of labels, and unknown labels, wherever one label per token is needed."""

from __future__ import annotations

import json

import pytest

TEXT = "Ann B-PER:0.7|O:0.3\nleft O\n\nOslo B-LOC\nis O\n"
REFUSED = "gives probabilities of labels: allow them with --partial in train and encode"


@pytest.fixture
def folder(done, tmp_path):
    (tmp_path / "template").write_text("U0:%x[0,0]\n")
    (tmp_path / "soft").write_text("Ann B-PER\n\n" + TEXT)
    (tmp_path / "whole").write_text((TEXT + "\nBo O\n").replace(":0.7|O:0.3", ""))
    done("train", tmp_path / "whole", "--template", tmp_path / "template", "-q", "-m", tmp_path / "m")
    return tmp_path


def commands(folder, data):
    template = ("--template", folder / "template")
    out = ("-q", "-m", folder / "other")
    return {
        "train": ("train", data, *template, *out),
        "maxent": ("train", data, *template, *out, "--model-type", "maxent"),
        "dev": ("train", folder / "whole", "--dev", data, *template, *out),
        "select": ("select", folder / "whole", "--dev", data, *template, "-o", folder / "x", "-q"),
        "encode": ("encode", data, *template, "-o", folder / "corpus", "-q"),
        "evaluate": ("evaluate", folder / "m", data),
        "audit": ("audit", data, *template),
        "report": ("report", folder / "m", "--data", data, "-o", folder / "r.html"),
        "calibrate": ("calibrate", folder / "m", data, "-o", folder / "m2"),
    }


@pytest.mark.parametrize(
    "command", ["train", "maxent", "dev", "select", "encode", "evaluate", "audit", "report", "calibrate"]
)
def test_soft_labels_are_refused_where_one_label_is_needed(misuse, folder, command):
    told = misuse(*commands(folder, folder / "soft")[command])
    assert "soft, line 3: label 'B-PER:0.7|O:0.3' " + REFUSED in told
    assert "need one gold label per token" in told


@pytest.mark.parametrize("label", ["A|B", "X:1|Y:2", "x:1", "a:b|c:d", "3:1", "A:0.7"])
def test_labels_with_bars_and_colons_are_labels(done, folder, label):
    text = "".join(f"{word} {label}\nleft O\n\n" for word in ("Ann", "Bo", "Cy"))
    (folder / "data").write_text(text)
    done("train", folder / "data", "--template", folder / "template", "-q", "-m", folder / "m")
    scores = json.loads(done("evaluate", folder / "m", folder / "data", "--json").stdout)
    assert label in scores["per_label"]
    done("audit", folder / "data", "--template", folder / "template", "-q")


def test_one_label_with_a_probability_needs_the_others(done, misuse, folder):
    train = ("--template", folder / "template", "--partial", "-q", "-m", folder / "m")
    (folder / "data").write_text(TEXT.replace("|O:0.3", ""))
    told = misuse("train", folder / "data", *train)
    assert "data, line 1: label 'B-PER:0.7': the probabilities add up to 0.700000" in told
    for label in ("3:1", "X:1", "a:b"):
        (folder / "data").write_text(TEXT.replace("B-PER:0.7|O:0.3", label))
        done("train", folder / "data", *train)
        assert label in done("inspect", folder / "m", "--json").stdout


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_an_audit_leaves_out_unknown_labels_of_any_format(done, folder, kind):
    rows = [("Ann", "B-PER"), ("left", None), *(("Oslo", "B-LOC"), ("is", "O")) * 3, ("Bo", "O"), ("Ann", "B-PER")]
    rows += [("Bo", "O")] * 3
    (folder / "data").write_text("".join(f"{word} {label or '?'}\n\n" for word, label in rows))
    lines = [json.dumps({"tokens": [["U0:" + word]], "labels": [label]}) + "\n" for word, label in rows]
    (folder / "data.jsonl").write_text("".join(lines))
    options = ("--model-type", kind)
    of_columns = done("audit", folder / "data", "--template", folder / "template", *options)
    of_lines = done("audit", folder / "data.jsonl", *options)
    for told in (of_columns, of_lines):
        assert "1 token without a gold label; only the 12 sentences with all labels are audited" in told.stderr
        assert "?" not in {row.split("\t")[5] for row in told.stdout.splitlines()[1:]}
        assert "?" not in {row.split("\t")[6] for row in told.stdout.splitlines()[1:]}
    columns, listed = ([row.split("\t")[5:8] for row in told.stdout.splitlines()] for told in (of_columns, of_lines))
    assert columns == listed


def test_scores_leave_out_unknown_labels_of_any_format(done, folder):
    (folder / "data").write_text("Ann B-PER\nleft ?\n")
    (folder / "data.jsonl").write_text('{"tokens": ["Ann", "left"], "labels": ["B-PER", null]}\n')
    scores = []
    for name in ("data", "data.jsonl"):
        told = done("evaluate", folder / "m", folder / name, "--json")
        assert f"{name}: 1 token without a gold label; it is not scored" in told.stderr
        scores.append(json.loads(told.stdout))
    assert scores[0] == scores[1]


CELLS = [({"X": 0.7, "Y": 0.3}, "a b"), ("Y", "b c"), ("X", "a d"), ({"Z": 1.0, "X": 0.0}, "c d"), ("Z", "d")]


def cell(label):
    return "|".join(f"{name}:{p}" for name, p in label.items()) if isinstance(label, dict) else label


def written(folder, form):
    """A file with samples of `CELLS`, and the flags that read it."""
    rows = [(label, words.split()) for label, words in CELLS]
    if form == "texts":
        text, flags = "".join(f"{cell(label)}\t{' '.join(words)}\n" for label, words in rows), ("-f", "text")
    elif form == "columns":
        text = "".join(f"{words[0]} {words[-1]} {cell(label)}\n\n" for label, words in rows)
        (folder / "two").write_text("U0:%x[0,0]\nU1:%x[0,1]\n")
        flags = ("--template", folder / "two")
    elif form == "svmlight":
        text = (
            "".join(
                f"{cell(label)} {' '.join(f'{ord(w)}:1' for w in words)}\n".replace("X", "1") for label, words in rows
            )
            .replace("Y", "2")
            .replace("Z", "3")
        )
        flags = ("-f", "svmlight")
    else:
        text, flags = "".join(json.dumps({"tokens": [words], "labels": [label]}) + "\n" for label, words in rows), ()
    (folder / f"data.{form}").write_text(text)
    return folder / f"data.{form}", flags


@pytest.mark.parametrize("form", ["texts", "columns", "svmlight", "jsonl"])
@pytest.mark.parametrize("options", [("--l2", "0.5"), ("--l1", "0.1", "--l2", "0.1", "--multi-class", "ovr")])
def test_classifiers_learn_probabilities_of_labels_from_files(done, folder, form, options):
    import numpy as np

    from loglinear import MaxEnt, TextClassifier

    data, flags = written(folder, form)
    trained = ("train", data, *flags, "--partial", "--model-type", "maxent")
    done(*trained, *options, "-q", "-m", folder / "soft")
    numbers = {option.lstrip("-").replace("-", "_"): value for option, value in zip(*[iter(options)] * 2, strict=True)}
    numbers = {name: value if name == "multi_class" else float(value) for name, value in numbers.items()}
    names = {"X": "1", "Y": "2", "Z": "3"} if form == "svmlight" else {name: name for name in "XYZ"}
    y = [{names[k]: p for k, p in y.items()} if isinstance(y, dict) else names[y] for y, _ in CELLS]
    if form == "texts":
        X = [words for _, words in CELLS]
        mine, theirs = TextClassifier(**numbers).fit(X, y), TextClassifier.load(folder / "soft")
    else:
        words = [words.split() for _, words in CELLS]
        X = [[str(ord(w)) for w in row] for row in words] if form == "svmlight" else words
        if form == "columns":
            X = [[f"U0:{row[0]}", f"U1:{row[-1]}"] for row in words]
        mine, theirs = MaxEnt(**numbers).fit(X, y), MaxEnt.load(folder / "soft")
    assert theirs.classes_.tolist() == [*names.values()]
    assert theirs._stored["training"]["n_samples"] == len(CELLS)
    np.testing.assert_allclose(theirs.predict_proba(X), mine.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("form", ["texts", "columns", "jsonl"])
@pytest.mark.parametrize(
    ("label", "what"), [(None, "the label is unknown"), (["X", "Y"], "the label is one of several (X|Y)")]
)
def test_classifiers_need_a_label_or_its_probabilities(misuse, folder, form, label, what):
    data, flags = written(folder, form)
    cell_of_label = {"jsonl": json.dumps(label)}.get(form, "?" if label is None else "X|Y")
    old = {"jsonl": '"Y"]', "texts": "Y\tb", "columns": "b c Y"}[form]
    new = {"jsonl": f"{cell_of_label}]", "texts": f"{cell_of_label}\tb", "columns": f"b c {cell_of_label}"}[form]
    assert old in data.read_text()
    data.write_text(data.read_text().replace(old, new))
    told = misuse("train", data, *flags, "--partial", "--model-type", "maxent", "-q", "-m", folder / "m")
    line = 3 if form == "columns" else 2
    assert told.startswith(f"{data}, line {line}: {what}, which a classifier cannot learn from; leave out such samples")
    assert "A:0.7|B:0.3" in told


def test_texts_without_partial_refuse_probabilities(misuse, folder):
    data, flags = written(folder, "texts")
    assert REFUSED in misuse("train", data, *flags, "--model-type", "maxent", "-q", "-m", folder / "m")


def test_development_data_of_classifiers_need_one_label_per_sample(misuse, folder):
    data, flags = written(folder, "columns")
    told = misuse("train", data, *flags, "--dev", data, "--partial", "--model-type", "maxent", "-m", folder / "m", "-q")
    assert told.startswith(f"{data}, line 1: the label is partial; development data need one label per sample")


def test_a_misspelt_key_of_json_lines_is_named(done, folder):
    lines = [
        {"tokens": [word], "labels": [label], "token_weight": [1], "id": 3} for word, label in (("a", "X"), ("b", "Y"))
    ]
    (folder / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = done("train", folder / "data.jsonl", "-q", "-m", folder / "m").stderr
    assert "data.jsonl: the key 'token_weight' is not read (did you mean token_weights?)" in told
    assert "'id'" not in told
    assert "'token_weight'" in done("encode", folder / "data.jsonl", "-o", folder / "c", "-q").stderr
