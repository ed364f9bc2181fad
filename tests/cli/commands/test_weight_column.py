"""A model of weighted training data reads files with the weights and without them."""

from __future__ import annotations

import gzip
import json

import pytest

from loglinear import ChainCRF, MaxEnt

ROWS = [("Ann", "B-PER", 2), ("left", "O", 1), ("Oslo", "B-LOC", 3), ("is", "O", 0), ("big", "O", 1)]
# Order of the columns, number of the label's and of the weight's: w is the word, l the label, c the weight.
ORDERS = [("cwl", -1, 0), ("lwc", 0, 2), ("wcl", 2, -2)]


def lines(order):
    cells = {"w": lambda row: row[0], "l": lambda row: row[1], "c": lambda row: str(row[2])}
    rows = [" ".join(cells[name](row) for name in order) for row in ROWS]
    return "\n".join([*rows[:2], "", *rows[2:], ""])


@pytest.fixture(params=ORDERS, ids=[order for order, _, _ in ORDERS])
def files(request, tmp_path):
    """A template, files with and without weights and labels, and the flags that read the first."""
    order, label, weight = request.param
    (tmp_path / "template").write_text("U0:%x[0,0]\nU1:%x[1,0]\n")
    for name, columns in (("whole", order), ("unweighted", order.replace("c", "")), ("words", "w")):
        (tmp_path / name).write_text(lines(columns))
    flags = (
        "--template",
        tmp_path / "template",
        "--label-column",
        str(label),
        "--weight-column",
        str(weight),
        "--l2",
        "0.1",
    )
    return tmp_path, flags


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_files_with_and_without_weights_are_read_alike(done, files, kind):
    folder, flags = files
    for dev in ("whole", "unweighted"):
        found = done(
            "train",
            folder / "whole",
            *flags,
            "--model-type",
            kind,
            "--dev",
            folder / dev,
            "-m",
            folder / f"m-{dev}",
        )
        assert "warning" not in found.stderr
        assert "dev" in found.stderr
    model = folder / "m-whole"
    scores = [json.loads(done("evaluate", model, folder / name, "--json").stdout) for name in ("whole", "unweighted")]
    assert scores[0] == scores[1]
    assert scores[0]["accuracy"] == 1.0
    predicted = []
    for name in ("whole", "unweighted", "words"):
        tagged = done("tag", model, folder / name)
        assert "warning" not in tagged.stderr
        predicted.append([line.split()[-1] for line in tagged.stdout.splitlines() if line])
    assert predicted[0] == predicted[1] == predicted[2] == [label for _, label, _ in ROWS]
    note = done("tag", model, folder / "whole").stderr
    assert "are taken for the gold labels and weights and ignored (3 columns, the training data had 1 plus" in note
    assert "warning" not in done("evaluate", model, folder / "whole", "-o", folder / "out").stderr
    rows = [line.split() for line in (folder / "out").read_text().splitlines() if line]
    # conlleval reads the last two columns; a label that is not the last is moved there, and the weight is left out.
    inputs = [[str(weight), word] for word, _, weight in ROWS] if flags[3] == "-1" else [[word] for word, _, _ in ROWS]
    assert rows == [[*cells, label, label] for cells, (_, label, _) in zip(inputs, ROWS, strict=True)]


def test_a_model_without_the_column_is_told_of_it(done, files):
    folder, flags = files
    label = ("--label-column", "0") if (folder / "unweighted").read_text().startswith("B-") else ()
    done("train", folder / "unweighted", *flags[:2], *label, "-q", "-m", folder / "m")
    told = done("evaluate", folder / "m", folder / "whole", *flags[2:6], "--json")
    assert "warning" not in told.stderr
    assert json.loads(told.stdout)["accuracy"] == 1.0


def test_an_audit_learns_from_weights_and_shows_words(done, files):
    folder, flags = files
    whole = (folder / "whole").read_text()
    (folder / "many").write_text("\n".join(whole.replace("big", f"big{number}") for number in range(6)))
    table = done("audit", folder / "many", *flags, "-q").stdout.splitlines()
    assert {row.split("\t")[4].rstrip("012345") for row in table[1:]} <= {word for word, _, _ in ROWS}


def test_models_of_before_and_with_another_weight_load_as_they_are(done, files):
    folder, flags = files
    done("train", folder / "whole", *flags, "-q", "-m", folder / "m")
    crf = ChainCRF.load(folder / "m")
    settings = json.loads(crf.model_.settings)
    assert isinstance(settings["columns"].pop("weight"), int)
    older = crf.model_.rewritten(json.dumps(settings))
    older.save(str(folder / "older"))
    assert ChainCRF.load(folder / "older").predict([["Ann"]]) == crf.predict([["Ann"]])
    settings["columns"]["weight"] = "0"
    crf.model_.rewritten(json.dumps(settings)).save(str(folder / "bad"))
    with pytest.raises(Exception, match="weight"):
        ChainCRF.load(folder / "bad")


def test_an_encoded_corpus_hands_the_column_on_to_the_model(done, files):
    folder, flags = files
    done("encode", folder / "whole", *flags[:6], "-o", folder / "corpus", "-q")
    for kind, of_kind in (("chain", ChainCRF), ("maxent", MaxEnt)):
        done("train", folder / "corpus", "--model-type", kind, "--l2", "0.1", "-q", "-m", folder / kind)
        of_kind.load(folder / kind)
        assert (
            json.loads(done("evaluate", folder / kind, folder / "whole", "--format", "columns", "--json").stdout)[
                "accuracy"
            ]
            == 1.0
        )


@pytest.mark.parametrize("kind", ["chain", "maxent"])
def test_files_with_weights_and_no_labels_are_read_as_such(done, run, files, kind):
    folder, flags = files
    order = "".join(
        "l" if cell.startswith(("B-", "O")) else "c" if cell.isdigit() else "w"
        for cell in (folder / "whole").read_text().splitlines()[0].split()
    )
    (folder / "weights").write_text(lines(order.replace("l", "")))
    (folder / "packed.gz").write_bytes(gzip.compress((folder / "weights").read_bytes()))
    done("train", folder / "whole", *flags, "--model-type", kind, "-q", "-m", folder / "m")
    place = order.replace("l", "").index("c")
    for name in ("weights", "packed.gz"):
        tagged = done("tag", folder / "m", folder / name)
        assert [line.split()[-1] for line in tagged.stdout.splitlines() if line] == [label for _, label, _ in ROWS]
        assert f"{name}: column {place} is taken for weights without labels and ignored" in tagged.stderr
        assert "gold labels" not in tagged.stderr
    explained = done("explain", folder / "m", folder / "weights").stdout
    assert all(word in explained for word, _, _ in ROWS)
    found = [done("rank", folder / "m", folder / name) for name in ("weights", "words")]
    assert found[0].stderr.count("is taken for weights without labels and ignored") == 1
    assert "gold labels" not in found[0].stderr
    ranked = [each.stdout for each in found]
    assert [row.split()[0] for row in ranked[0].splitlines()] == [row.split()[0] for row in ranked[1].splitlines()]
    told = run("tag", folder / "m", "-", "--stream", input=lines(order.replace("l", "")))
    if order in ("lwc", "cwl"):  # words and weights change places without the label
        assert told.returncode == 2
        assert "<stdin>: the lines have weights but no labels; remove the column of weights" in told.stderr
    else:
        assert told.returncode == 0
        assert f"<stdin>: column {place} is taken for weights without labels and ignored" in told.stderr
    assert "gold labels" in done("tag", folder / "m", folder / "unweighted").stderr
