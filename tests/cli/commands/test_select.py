"""Laws of `loglinear select`."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from itertools import groupby, pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

from loglinear import ChainObjective, Corpus, _core
from loglinear.datasets import demo_paths
from loglinear.minimize import Stop, minimize
from loglinear.models.files.chain import weighted_features
from loglinear.models.training.chain import train_chain
from loglinear.models.training.options import SolverOptions
from loglinear.path import largest_l1
from loglinear.penalty import ElasticNet
from loglinear.problem import Problem
from loglinear.solvers import Grafting, GraftingLight
from oracles.command_line import COMMAND
from oracles.patience import patience

posix = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

COLUMNS = ["rank", "round", "feature", "weight", "objective", "working_set", "nnz"]


def table(text):
    """Rows of a table as dictionaries."""
    header, *lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


def column(rows, name, kind=float):
    return [kind(row[name]) for row in rows]


def weights(path):
    return {str(feature): weight for feature, weight in weighted_features(_core.ChainModel.open(os.fspath(path)))}


@pytest.fixture(scope="module")
def problem(chunker):
    """What the command has to solve on the chunker's data."""
    corpus = Corpus.read(chunker.train, template="ner")
    return Problem(ChainObjective(corpus), ElasticNet(l1=2.0))


@pytest.fixture(scope="module")
def grown(chunker, done, tmp_path_factory):
    """A selection with everything written."""
    folder = tmp_path_factory.mktemp("grown")
    finished = done("select", chunker.train, "--preset", "ner", "--l1", "2", "--size", "24", "--dev", chunker.test,
                    "-m", folder / "m", "--plot", folder / "p.svg")  # fmt: skip
    return folder, finished, table(finished.stdout)


@pytest.fixture(scope="module")
def followed(chunker, done, tmp_path_factory):
    """A path with everything written."""
    folder = tmp_path_factory.mktemp("followed")
    finished = done("select", chunker.train, "--preset", "ner", "--path", "9", "--dev", chunker.test,
                    "-m", folder / "m", "--plot", folder / "p.svg")  # fmt: skip
    return folder, finished, table(finished.stdout)


def test_features_come_in_the_solvers_order(grown, problem):
    _, _, rows = grown
    solver = GraftingLight(select=10, max_features=24)
    found = minimize(problem, solver)
    names = [str(feature) for feature in problem.objective.feature_names(found.state.selected)]
    assert column(rows, "feature", str) == names
    assert column(rows, "rank", int) == list(range(1, 25))
    np.testing.assert_allclose(column(rows, "weight"), found.w[found.state.selected], rtol=1e-5)
    assert float(rows[-1]["objective"]) == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.parametrize("options", [["--select", "7", "--steps", "3"], ["--select", "9", "--solver", "grafting"]])
def test_options_of_the_solver_are_the_solvers(done, chunker, problem, options):
    rows = table(done("select", chunker.train, "--preset", "ner", "--l1", "2", "--size", "20", *options).stdout)
    select = int(options[1])
    made = Grafting if "grafting" in options else GraftingLight
    solver = made(select=select, max_features=20, **({} if made is Grafting else {"steps": 3}))
    found = minimize(problem, solver)
    assert column(rows, "feature", str) == list(map(str, problem.objective.feature_names(found.state.selected)))
    sizes = [len(list(group)) for _, group in groupby(column(rows, "round", int))]
    assert sizes == [*[select] * (20 // select), 20 % select]


def test_a_round_says_what_stood_at_its_end(grown, problem):
    _, _, rows = grown
    assert [*rows[0]] == [*COLUMNS, "dev_f1"]
    rounds = [list(group) for _, group in groupby(rows, key=lambda row: row["round"])]
    assert [len(each) for each in rounds] == [10, 10, 4]
    objectives = [float(each[0]["objective"]) for each in rounds]
    empty = problem.objective.value_and_gradient(np.zeros(problem.n_features))[0]
    assert [empty, *objectives] == sorted([empty, *objectives], reverse=True)
    for at, each in enumerate(rounds):
        assert len({tuple(row.values())[4:] for row in each}) == 1
        assert int(each[0]["working_set"]) == sum(map(len, rounds[: at + 1])) >= int(each[0]["nnz"])
    # Ten steps on the first ten features are what a limit on iterations leaves.
    first = minimize(problem, GraftingLight(select=10), stop=Stop(max_iterations=10))
    assert objectives[0] == pytest.approx(first.objective, rel=1e-9)


def test_progress_shows_the_score_of_the_table(grown):
    _, finished, rows = grown
    lines = [line for line in finished.stderr.splitlines() if "  iteration " in line]
    assert lines[-1].endswith(f"dev F1 {100 * float(rows[-1]['dev_f1']):.2f}")


def test_the_model_has_the_weights_of_the_table_and_scores_as_it_says(done, chunker, grown):
    folder, _, rows = grown
    found = weights(folder / "m")
    shown = {row["feature"]: float(row["weight"]) for row in rows if float(row["weight"])}
    assert found == pytest.approx(shown, rel=1e-5)
    scores = json.loads(done("evaluate", "-m", folder / "m", chunker.test, "--json").stdout)
    assert float(rows[-1]["dev_f1"]) == pytest.approx(scores["f1"], abs=1e-6)
    assert scores["f1"] > 0.1
    report = json.loads(done("inspect", folder / "m", "--json").stdout)
    assert (report["solver"], report["status"], report["l1"]) == ("grafting_light", "features_selected", 2.0)
    assert done("tag", "-m", folder / "m", chunker.test).stdout.count("\n") == chunker.test.read_text().count("\n")


def test_results_go_to_stdout_and_the_rest_to_stderr(grown):
    folder, finished, rows = grown
    assert len(rows) == 24
    assert "80 sentences" in finished.stderr
    assert "selected 24 features in 3 rounds" in finished.stderr
    for name in ("m", "p.svg"):
        assert f"wrote {folder / name}" in finished.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["m", "p.svg"]


def test_without_a_size_it_goes_on_to_the_optimum(done, chunker, tmp_path):
    rows = table(done("select", chunker.train, "--preset", "ner", "--l1", "4", "-m", tmp_path / "m", "-q").stdout)
    corpus = Corpus.read(chunker.train, template="ner")
    _, best = train_chain(ChainObjective(corpus), SolverOptions(l1=4.0))
    assert float(rows[-1]["objective"]) == pytest.approx(best.objective, rel=1e-3)
    assert [*rows[0]] == COLUMNS
    assert int(rows[-1]["nnz"]) == len(weights(tmp_path / "m")) <= len(rows)


def test_accuracy_is_the_score_where_labels_are_no_chunks(done, sample):
    options = ["select", sample.train, "--template", sample.template, "--dev", sample.test, "--size", "30"]
    rows = table(done(*options).stdout)
    scores = column(rows, "dev_accuracy")
    assert 0 < scores[0] < scores[-1] < 1


@pytest.mark.parametrize("kind", ["crfsuite", "jsonl"])
def test_other_formats(done, sample, kind):
    rows = table(done("select", sample.path("train", kind), "-f", kind, "--size", "12").stdout)
    assert len(rows) == 12


def test_second_order_features_are_among_them(done, chunker, tmp_path):
    done("select", chunker.train, "--preset", "ner", "--order", "2", "--size", "80", "-m", tmp_path / "m", "--table",
         tmp_path / "t")  # fmt: skip
    names = column(table((tmp_path / "t").read_text()), "feature", str)
    assert any(name.count(" -> ") == 2 for name in names)
    assert set(weights(tmp_path / "m")) <= set(names)
    assert _core.ChainModel.open(os.fspath(tmp_path / "m")).triple_features()


def test_names_do_not_break_the_table(done, tmp_path):
    lines = [{"tokens": [["a\tb\nc\rd"], ["x"]], "labels": ["A", "B"]}] * 9
    (tmp_path / "data").write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = table(done("select", tmp_path / "data", "-f", "jsonl").stdout)
    assert "a\\tb\\nc\\rd  -> A" in column(rows, "feature", str)


def test_whoever_reads_the_table_may_stop(run, chunker):
    finished = run("select", chunker.train, "--preset", "ner", "--size", "20", "-q",
                   wrapper=["sh", "-c", '"$@" | head -n 1', "sh"])  # fmt: skip
    assert (finished.stdout.split("\t")[0], finished.stderr) == ("rank", "")


def test_a_penalty_that_leaves_nothing_is_explained(done, chunker, problem):
    finished = done("select", chunker.train, "--preset", "ner", "--l1", "1e6")
    assert table(finished.stdout) == []
    assert f"lower --l1 (largest useful value: {largest_l1(problem):.6g})" in finished.stderr


def test_a_path_falls_from_the_largest_useful_l1(followed, problem):
    _, _, rows = followed
    assert [*rows[0]] == ["l1", "objective", "nnz", "gradient_evaluations", "seconds", "dev_f1", "best"]
    largest = largest_l1(problem)
    step = 0.01 ** (1 / 8)
    np.testing.assert_allclose(column(rows, "l1"), largest * step ** np.arange(len(rows)), rtol=1e-5)
    assert len(rows) >= 9
    objectives = column(rows, "objective")
    assert objectives == sorted(objectives, reverse=True)
    assert int(rows[0]["nnz"]) == 0 < int(rows[-1]["nnz"])
    assert all(int(row["gradient_evaluations"]) >= 1 and float(row["seconds"]) >= 0 for row in rows)


def test_the_best_point_is_the_one_with_the_highest_score_and_its_model_is_written(done, chunker, followed):
    folder, finished, rows = followed
    scores = column(rows, "dev_f1")
    best = scores.index(max(scores))
    assert [row["best"] for row in rows] == ["*" if at == best else "" for at in range(len(rows))]
    report = json.loads(done("inspect", folder / "m", "--json").stdout)
    assert report["l1"] == pytest.approx(float(rows[best]["l1"]), rel=1e-5)
    assert report["objective"] == pytest.approx(float(rows[best]["objective"]), rel=1e-9)
    assert report["n_active"] == int(rows[best]["nnz"]) == len(weights(folder / "m"))
    found = json.loads(done("evaluate", "-m", folder / "m", chunker.test, "--json").stdout)["f1"]
    assert found == pytest.approx(max(scores), abs=1e-6)
    assert f"the best one by dev F1 {100 * found:.2f}: l1 {rows[best]['l1']}" in finished.stderr


def test_a_path_goes_on_until_the_score_has_turned(followed):
    _, finished, rows = followed
    scores, strengths = column(rows, "dev_f1"), column(rows, "l1")
    best = scores.index(max(scores))
    assert len(rows) > 9, "a hundredth of the largest l1 is not small enough for these data"
    assert strengths[best] >= 3.99 * strengths[-1]
    assert scores[-1] < scores[best]
    assert "warning" not in finished.stderr


def test_a_model_at_the_end_of_a_path_is_not_written_silently(done, chunker, tmp_path):
    path = ["select", chunker.train, "--preset", "ner", "-q", "-m", tmp_path / "m", "--path", "3", "--l1", "5"]
    assert "warning: the model is the last one of the path" in done(*path).stderr
    finished = done(*path, "--dev", chunker.test, apart=True)
    assert finished.stderr.startswith("warning: the best point of the path is the last one (l1=5")
    assert len(finished.stderr.splitlines()) == 1


def test_a_path_ends_where_it_is_told_and_without_dev_data_the_last_is_kept(done, chunker, tmp_path):
    rows = table(
        done("select", chunker.train, "--preset", "ner", "-m", tmp_path / "m", "--l1", "5", "--path", "3").stdout
    )
    assert [*rows[0]] == ["l1", "objective", "nnz", "gradient_evaluations", "seconds"]
    assert float(rows[-1]["l1"]) == 5.0
    assert json.loads(done("inspect", tmp_path / "m", "--json").stdout)["l1"] == 5.0


def test_figures_have_a_panel_for_each_curve(grown, followed):
    for folder, x, names in (
        (grown[0], "selected features", ["objective", "dev f1"]),
        (followed[0], "l1", ["objective", "active features", "dev f1"]),
    ):
        root = ElementTree.parse(folder / "p.svg").getroot()
        texts = (folder / "p.svg").read_text()
        assert root.tag.endswith("svg")
        for name in [x, *names]:
            assert f"<!-- {name} -->" in texts
        assert texts.count('id="axes_') == len(names)


@pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("SVG", b"<?xml")])
def test_figures_have_the_format_of_their_names_and_are_the_same_again(done, chunker, tmp_path, suffix, begins):
    drawn = []
    for _ in range(2):
        place = tmp_path / f"p.{suffix}"
        place.write_bytes(b"old")
        done("select", chunker.train, "--preset", "ner", "--size", "10", "--plot", place, "-q")
        drawn.append(place.read_bytes())
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [f"p.{suffix}"]


def test_without_matplotlib_it_says_so_before_it_reads(misuse, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = misuse("select", tmp_path / "no-data", "--preset", "ner", "--plot", tmp_path / "p.svg")
    assert message == (f"{tmp_path / 'p.svg'}: a figure needs matplotlib; install it: pip install 'loglinear[report]'")


MISTAKES = [
    (["--size", "0"], ["--size 0", "at least 1"]),
    (["--size", "5", "--path", "3"], ["--size", "--path", "leave out"]),
    (["--select", "0"], ["--select 0", "at least 1"]),
    (["--steps", "0"], ["--steps 0", "at least 1"]),
    (["--steps", "2", "--solver", "grafting"], ["--steps", "grafting"]),
    (["--l1", "0"], ["--l1 0", "above 0"]),
    (["--l1", "-1"], ["--l1 -1", ">= 0"]),
    (["--l1", "nan"], ["--l1 nan"]),
    (["--l1", "1e9", "--path"], ["--l1 1e+09", "smaller value"]),
    (["--l2", "inf"], ["--l2 inf"]),
    (["--tolerance", "-1"], ["--tolerance -1"]),
    (["--order", "3"], ["--order 3"]),
    (["--preset", "nope"], ["'nope'"]),
    (["--plot", "figure"], ["figure", ".svg, .png or .pdf"]),
    (["--plot", "figure.jpg"], ["figure.jpg", ".svg, .png or .pdf"]),
    (["--plot", "nowhere/p.svg"], ["nowhere/p.svg", "folder"]),
    (["--table", "nowhere/t"], ["nowhere/t", "folder"]),
    (["-m", "nowhere/m"], ["nowhere/m", "folder"]),
    (["--dev", "nowhere"], ["nowhere"]),
]


@pytest.mark.parametrize(("options", "words"), MISTAKES, ids=lambda each: " ".join(each))
def test_mistakes_are_refused_with_value_and_remedy(misuse, tiny, options, words):
    preset = [] if "--preset" in options else ["--preset", "pos"]
    message = misuse("select", tiny, *preset, *options, "-q")
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--path", "1"], ["--path", "'1'", "2"]),
        (["--path", "x"], ["--path", "'x'", "TRAIN"]),
        (["--solver", "owlqn"], ["--solver", "grafting_light"]),
        (["--format", "text"], ["--format", "columns"]),
        (["--size", "x"], ["--size", "'x'"]),
    ],
    ids=lambda each: " ".join(each),
)
def test_arguments_that_do_not_parse_are_misuse(run, tiny, options, words):
    finished = run("select", tiny, "--preset", "pos", *options)
    assert (finished.returncode, finished.stdout) == (2, "")
    for word in words:
        assert word in finished.stderr


def test_places_are_looked_at_before_the_data(misuse, tmp_path):
    for option in ("-m", "--table", "--plot"):
        place = tmp_path / "nowhere" / "x.svg"
        assert str(place) in misuse("select", tmp_path / "no-data", "--preset", "pos", option, place)


def interrupted(tmp_path, *options):
    """Start a selection that takes long, interrupt it after a second's work, return what it said."""
    train, dev = demo_paths()
    command = [*COMMAND, "select", train, "--preset", "pos", "--dev", dev, "--tolerance", "0", *options]
    command += ["-m", tmp_path / "m", "--table", tmp_path / "t", "--plot", tmp_path / "p.svg"]
    process = subprocess.Popen(
        list(map(os.fspath, command)), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        said = b""
        deadline = time.monotonic() + 20
        while b"iteration" not in said and select.select([process.stderr], [], [], deadline - time.monotonic())[0]:
            said += os.read(process.stderr.fileno(), 65536)
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=patience(30))
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 1
    assert out == b""
    text = (said + rest).decode()
    assert "Traceback" not in text
    places = ", ".join(str(tmp_path / name) for name in ("m", "p.svg", "t"))
    assert text.endswith(f"loglinear: interrupted; wrote {places} with the weights reached so far\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "p.svg", "t"]
    return table((tmp_path / "t").read_text())


@posix
@pytest.mark.slow
def test_an_interrupted_selection_keeps_what_it_has(tmp_path):
    rows = interrupted(tmp_path, "--select", "1", "--l1", "0.1")
    assert rows
    assert all(before >= after for before, after in pairwise(column(rows, "objective")))
    found = weights(tmp_path / "m")
    assert found == pytest.approx(
        {row["feature"]: float(row["weight"]) for row in rows if float(row["weight"])}, rel=1e-5
    )


@posix
@pytest.mark.slow
def test_an_interrupted_path_keeps_what_it_has(done, tmp_path):
    rows = interrupted(tmp_path, "--path", "100", "--l1", "0.001")
    assert 1 <= len(rows) < 100
    scores = [float(row["dev_accuracy"]) for row in rows if row["dev_accuracy"]]
    assert [float(row["dev_accuracy"]) for row in rows if row["best"]] == ([max(scores)] if scores else [])


def test_help_shows_examples(done):
    shown = done("select", "--help").stdout
    assert "example: loglinear select" in shown
    for option in ("--dev", "--l1", "--size", "--path", "--select", "--steps", "--table", "--plot", "--model"):
        assert option in shown


@pytest.mark.usefixtures("hang_up_counts")
def test_results_are_written_when_the_terminal_goes(chunker, tmp_path):
    pty = pytest.importorskip("pty", reason="needs a terminal")
    terminal, stderr = pty.openpty()
    command = [*COMMAND, "select", chunker.train, "--preset", "ner", "--l1", "1e-4", "--tolerance", "0"]
    command += ["--path", "1000", "-m", tmp_path / "m", "--table", tmp_path / "t"]
    environment = os.environ | {"TERM": "xterm"}
    process = subprocess.Popen(list(map(os.fspath, command)), stdin=subprocess.DEVNULL, stderr=stderr, env=environment)
    os.close(stderr)
    try:
        said = b""
        deadline = time.monotonic() + 20
        while b"point 2" not in said and select.select([terminal], [], [], deadline - time.monotonic())[0]:
            said += os.read(terminal, 65536)
        os.close(terminal)
        process.send_signal(signal.SIGHUP)
        assert process.wait(timeout=patience(30)) == 1
    finally:
        process.kill()
        process.wait()
    assert len(table((tmp_path / "t").read_text())) >= 2
    assert (tmp_path / "m").exists()


@pytest.mark.parametrize("number", ["1", "9" * 5000, "1_0", "\u0662\u0660", "-3"])
def test_a_number_of_strengths_that_is_none_is_refused(misuse, number):
    assert "is not a number of strengths (2 or more)" in misuse("select", "f", f"--path={number}", usage=True)
