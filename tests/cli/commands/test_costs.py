"""Costs of wrong labels on the command line."""

from __future__ import annotations

import json

import pytest

from loglinear import ChainCRF, MaxEnt

ROWS = "a X\nb O\na O\na O\n\na O\nc X\nb O\n"


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text(ROWS)
    (tmp_path / "t").write_text("U:%x[0,0]\nB\n")
    return path


def train(done, rows, *flags):
    done("train", rows, "--template", rows.parent / "t", "-m", rows.parent / "m", *flags, "-q")
    return rows.parent / "m"


def test_class_weights_are_those_of_the_estimator(done, rows):
    X, y = [["a", "b", "a", "a"], ["a", "c", "b"]], [["X", "O", "O", "O"], ["O", "X", "O"]]
    for flags, weights in (
        (["--class-weight", "X=3", "--class-weight", "O=0.5"], {"X": 3.0, "O": 0.5}),
        (["--class-weight=balanced"], "balanced"),
    ):
        loaded = ChainCRF.load(train(done, rows, *flags))
        assert loaded.class_weight == weights
        crf = ChainCRF(template="U:%x[0,0]\nB\n", class_weight=weights).fit(X, y)
        assert loaded.predict_marginals(X) == crf.predict_marginals(X)


def test_a_classifier_has_class_weights_as_well(done, rows):
    model = train(done, rows, "--model-type", "maxent", "--class-weight", "X=3")
    assert MaxEnt.load(model).class_weight == {"X": 3.0}


def test_the_report_names_the_flags(done, rows):
    pytest.importorskip("jinja2")
    model = train(done, rows, "--class-weight", "X=3", "--class-weight", "O=0.5")
    page = rows.parent / "page.html"
    done("report", model, "--data", rows, "-o", page)
    assert "--class-weight X=3.0 --class-weight O=0.5" in page.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["X"], "--class-weight: X: not of the form LABEL=NUMBER"),
        (["X=heavy"], "X=heavy: not of the form LABEL=NUMBER"),
        (["X=1", "X=2"], "X has two values"),
        (["X=1", "balanced"], "balanced: not of the form LABEL=NUMBER"),
        (["balanced", "X=1"], "X=1: not of the form LABEL=NUMBER"),
        (["X=-1"], "--class-weight X=-1.0 is out of range"),
        (["Z=1"], "names 'Z', which is not a class"),
        (
            ["O=1e308"],
            "--class-weight O=1e+308 is out of range; give a number from 0 to 1e+06",
        ),
    ],
)
def test_bad_weights_are_misuse(run, rows, words, message):
    flags = [flag for word in words for flag in ("--class-weight", word)]
    finished = run("train", rows, "--template", rows.parent / "t", "-m", rows.parent / "m", *flags)
    assert finished.returncode == 2
    assert message in finished.stderr


def test_json_lines_carry_costs_of_tokens(done, tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [{"tokens": ["a", "b"], "labels": ["X", "O"], "token_weights": [cost, 0]} for cost in (2, 2)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done("train", path, "-m", tmp_path / "m", "-q")
    X, y = [["a", "b"]] * 2, [["X", "O"]] * 2
    crf = ChainCRF().fit([[[word] for word in row] for row in X], y, token_weight=[[2.0, 0.0]] * 2)
    assert ChainCRF.load(tmp_path / "m").predict_marginals([[["a"], ["b"]]]) == crf.predict_marginals([[["a"], ["b"]]])


def test_tag_adds_biases_of_labels_in_place_of_those_of_the_model(done, run, rows):
    model = train(done, rows)
    crf = ChainCRF.load(model)
    X = [["a", "b", "a", "a"], ["a", "c", "b"]]

    def tagged(*flags):
        return [line.split()[-1] for line in done("tag", model, rows, *flags).stdout.splitlines() if line]

    assert tagged() == [label for labels in crf.predict(X) for label in labels]
    for flags in (["--label-bias", "X=9"], ["--label-bias=X=3", "--label-bias", "O=-6"]):
        assert tagged(*flags) == ["X"] * 7
    crf.label_bias = {"X": 9.0}
    crf.save(model)
    assert tagged() == ["X"] * 7
    assert "X" not in tagged("--label-bias", "O=9")
    assert run("tag", model, rows, "--label-bias", "Z=1").returncode == 2
    assert run("tag", model, rows, "--label-bias", "X").returncode == 2
    for word in ("X", "balanced"):
        message = f"--label-bias: {word}: not of the form LABEL=NUMBER"
        assert message in run("tag", model, rows, "--label-bias", word).stderr


def test_a_column_of_weights_costs_what_token_weights_do(done, misuse, tmp_path):
    rows = [("Ann", "B-PER", 2.0), ("left", "O", 0.5), ("Oslo", "B-LOC", 3.0), ("is", "O", 0.0)] * 3
    (tmp_path / "data").write_text("".join(f"{word} {label} {cost}\n\n" for word, label, cost in rows))
    (tmp_path / "template").write_text("U0:%x[0,0]\n")
    lines = [{"tokens": [w], "labels": [label], "token_weights": [cost]} for w, label, cost in rows]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    train = ("--template", tmp_path / "template", "--l2", "0.1", "-q")
    columns = ("--label-column", "1", "--weight-column", "2")
    done("train", tmp_path / "data", *columns, *train, "-m", tmp_path / "a")
    done("train", tmp_path / "data.jsonl", *train, "-m", tmp_path / "b")
    (tmp_path / "new").write_text("Ann\nOslo\n")
    tag = (tmp_path / "new", "--format", "columns", "--marginals")
    probabilities = [done("tag", tmp_path / name, *tag).stdout for name in "ab"]
    assert probabilities[0] == probabilities[1]
    says = misuse(
        "train", tmp_path / "data", "--weight-column", "1", "--label-column", "1", *train, "-m", tmp_path / "c"
    )
    assert "column 1 is both the label and the weight: set --label-column and --weight-column" in says


def test_a_classifier_weighs_samples_by_the_weights_of_tokens(done, tmp_path):
    rows = [("Ann", "PER", 2), ("left", "O", 1), ("Oslo", "LOC", 3), ("Ann", "LOC", 1), ("is", "O", 0)]
    (tmp_path / "data").write_text("".join(f"{cost} {word} {label}\n\n" for word, label, cost in rows))
    (tmp_path / "template").write_text("U0:%x[0,0]\n")
    lines = [{"tokens": [["U0:" + w]], "labels": [label], "token_weights": [cost]} for w, label, cost in rows]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shared = ("--model-type", "maxent", "--l2", "0.1", "-q")
    of_columns = ("--template", tmp_path / "template", "--weight-column", "0")
    done("train", tmp_path / "data", *of_columns, *shared, "-m", tmp_path / "a")
    done("train", tmp_path / "data.jsonl", *shared, "-m", tmp_path / "b")
    done("encode", tmp_path / "data", *of_columns, "-o", tmp_path / "encoded", "-q")
    done("train", tmp_path / "encoded", *shared, "-m", tmp_path / "c")
    copies = [("U0:" + word, label) for word, label, cost in rows for _ in range(cost)]
    repeated = MaxEnt(l2=0.1).fit([[word] for word, _ in copies], [label for _, label in copies])
    for name in "abc":
        model = MaxEnt.load(tmp_path / name)
        samples = [["U0:Ann"], ["U0:Oslo"], ["U0:left"]]
        assert model.predict_proba(samples) == pytest.approx(repeated.predict_proba(samples), abs=1e-5)
