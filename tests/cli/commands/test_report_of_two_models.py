"""Laws of `loglinear report` with two models: figures of `evaluate`, and which models can be compared."""

from __future__ import annotations

import json
import os
import re

import pytest

from loglinear import ChainCRF, MaxEnt, PairwiseMRF, TextClassifier
from loglinear.cli.inputs import take_inputs
from loglinear.cli.main import command_parser
from oracles.pages import Page


@pytest.fixture(scope="module")
def weaker(tmp_path_factory, done, chunker):
    """A chunker that has been trained less than the other one."""
    path = tmp_path_factory.mktemp("weaker") / "weaker"
    done("train", chunker.train, "--preset", "np-chunking", "--l1", "3", "-m", path, "--tolerance", "0.1", "-q")
    return path


def test_figures_are_those_of_evaluate_for_each_model(done, chunker, weaker, tmp_path):
    models, path = (weaker, chunker.model), tmp_path / "out.html"
    finished = done("report", *models, "--data", chunker.test, "-o", path)
    assert (finished.stdout, finished.stderr) == ("", f"wrote {path}; open it in a browser\n")
    page = Page(path.read_text(encoding="utf-8"))
    page.check_alone()
    assert page.text.lstrip().startswith("weaker and model on test.txt")
    first, second = (json.loads(done("evaluate", "-m", model, chunker.test, "--json").stdout) for model in models)
    (overall,) = (rows for caption, rows in page.tables.items() if caption.startswith("Scores of both"))
    names = ("f1", "precision", "recall", "accuracy", "sentence_accuracy")
    for row, name in zip(overall[1:], names, strict=True):
        a, b = first[name], second[name]
        wanted = [f"{100 * a:.2f}", f"{100 * b:.2f}", f"{100 * (b - a):+.2f}"]
        assert [cell.split()[0] for cell in row[1:]] == wanted
    for caption, kind in (("Chunks by type", "per_type"), ("Labels of tokens", "per_label")):
        (rows,) = (rows for name, rows in page.tables.items() if name.startswith(caption))
        assert {row[0] for row in rows[1:]} == {*first[kind], *second[kind]}
        for row in rows[1:]:
            a, b = (scores[kind].get(row[0], {"f1": 0.0, "correct": 0}) for scores in (first, second))
            assert row[1:3] == [f"{100 * each['f1']:.2f}" for each in (a, b)]
            if kind == "per_label":
                assert int(row[6]) - int(row[7]) == b["correct"] - a["correct"]
    (outcomes,) = (rows for caption, rows in page.tables.items() if caption.startswith("Numbers by what"))
    right, fixed, broken, wrong = (int(cell.replace(",", "")) for cell in outcomes[1][1:])
    n = first["n_tokens"]
    assert (right + fixed + broken + wrong, right + broken) == (n, round(n * first["accuracy"]))
    assert re.search(r"l1\s*3\.0\s*1\.0", page.text)


@pytest.mark.parametrize("order", ["A B D", "A B --data D", "D A B", "-m A B D", "-m A --other B D", "A D --other B"])
def test_places_and_flags_name_the_same_files(chunker, weaker, order):
    places = {"A": weaker, "B": chunker.model, "D": chunker.test}
    _, parser = command_parser("report")
    words = [str(places.get(word, word)) for word in order.split()]
    parsed = parser.parse_intermixed_args([*words, "-o", "out"])
    take_inputs(parser, parsed)
    assert [parsed.model, parsed.other, parsed.data] == [str(places[name]) for name in "ABD"]


def test_misuse_is_named(misuse, chunker, weaker, sample, tmp_path):
    out = ("-o", tmp_path / "out")
    said = misuse("report", weaker, chunker.model, *out, usage=True)
    assert f"a file is missing: {weaker} and {chunker.model} are models" in said
    said = misuse("report", weaker, chunker.test, chunker.test, *out)
    assert f"{chunker.test}: not a loglinear model" in said
    said = misuse("report", weaker, chunker.model, chunker.test, "--trace", chunker.test, *out)
    assert "--trace is the training of one model" in said
    assert not (tmp_path / "out").exists()


def test_only_chains_and_classifiers_are_compared(misuse, done, tmp_path):
    X, y = [["w=the"], ["w=dog"]], ["D", "N"]
    ChainCRF().fit([X], [y]).save(tmp_path / "chain")
    MaxEnt().fit(X, y).save(tmp_path / "maxent")
    TextClassifier().fit(["the", "dog"], y).save(tmp_path / "texts")
    PairwiseMRF(l1=0.1).fit([["a", "x"], ["b", "y"]] * 9).save(tmp_path / "network")
    (tmp_path / "data.crfsuite").write_text("D\tw=the\nN\tw=dog\n\n")
    (tmp_path / "data.tsv").write_text("D\tthe\nN\tdog\n")
    (tmp_path / "data.csv").write_text("x1,x2\na,x\n")
    out = tmp_path / "out"

    def files(*names):
        return [tmp_path / name for name in names]

    for names, n in (("maxent chain", 2), ("texts texts", 2)):
        done(
            "report", *files(*names.split()), tmp_path / f"data.{'tsv' if 'texts' in names else 'crfsuite'}", "-o", out
        )
        page = Page(out.read_text(encoding="utf-8"))
        assert "Both models give the same labels." in page.text
        (rows,) = (rows for caption, rows in page.tables.items() if caption.startswith("Numbers by what"))
        assert rows[1] == ["tokens" if "chain" in names else "texts", f"{n}", "0", "0", "0"]
    for names in ("network network", "network chain"):
        said = misuse("report", *files(*names.split()), "--data", tmp_path / "data.csv", "-o", out)
        assert "only chains and classifiers are compared; write a report of each model" in said


def test_tokens_without_a_label_are_left_out_with_their_words(done, tmp_path):
    train = "the D\ndog N\nbarks V\n\nit N\nbarks V\n"
    (tmp_path / "a.train").write_text(train)
    (tmp_path / "b.train").write_text(f"{train}\n" + "cat D\n\n" * 9)
    (tmp_path / "test").write_text("the ?\ncat D\nbarks V\n\nit N\n")
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    for name in "ab":
        options = ("--template", tmp_path / "template", "--l2", "0.1", "-q")
        done("train", tmp_path / f"{name}.train", "-m", tmp_path / name, *options)
    done("report", tmp_path / "a", tmp_path / "b", tmp_path / "test", "-o", tmp_path / "out")
    text = Page((tmp_path / "out").read_text(encoding="utf-8")).text
    scores = json.loads(done("evaluate", tmp_path / "a", tmp_path / "test", "--json").stdout)
    assert scores["n_tokens"] == 3
    assert re.search(r"tokens\s*3\b", text)
    assert re.search(r"gold\s*catD\s*barks\s*A\s*cat[NV]\s*barks\s*B\s*catD\s*barks", text)


def test_a_pipe_that_both_models_would_read_is_refused(run, chunker, weaker, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended = run("report", weaker, chunker.model, "--data", pipe, "-o", tmp_path / "x.html")
    assert ended.returncode == 2
    assert "a report reads its data twice, which a pipe does not allow; save the data to a file first" in ended.stderr


def test_the_model_that_does_not_fit_the_data_is_named(run, chunker, weaker, tmp_path):
    data = tmp_path / "other.txt"
    data.write_text("a b X\nc d Y\n")
    ended = run("report", weaker, chunker.model, "--data", data, "-o", tmp_path / "x.html")
    assert ended.returncode == 2
    assert f"{weaker}: {data}" in ended.stderr
