"""Laws of `loglinear structure`."""

from __future__ import annotations

import csv
import json
import re
import shlex
import signal
from argparse import ArgumentParser
from dataclasses import dataclass
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from loglinear import PairwiseMRF, _core, compare_networks
from loglinear.cli.progress import Progress
from loglinear.data import table as table_module
from loglinear.datasets import make_network
from loglinear.models.training import structure as training_module
from loglinear.models.training.structure import PathOptions
from loglinear.report.graph_picture import SIGNS

COLUMNS = ["variable_1", "variable_2", "state_1", "state_2", "weight"]
PLAIN = "\t".join(COLUMNS) + "\n"


@pytest.fixture
def structure(run):
    """Run the command; returns what it wrote to stdout, what it said on stderr, and the rows of its table."""

    def ended(*arguments, code=0, **options):
        finished = run("structure", *arguments, **options)
        out, said = finished.stdout, finished.stderr
        assert finished.returncode == code, said
        return SimpleNamespace(out=out, said=said, rows=table(out) if out.startswith(PLAIN) else None)

    return ended


def table(text):
    header, *lines = [line.split("\t") for line in text.splitlines()]
    assert header == COLUMNS
    return [(*line[:4], float(line[4])) for line in lines]


def write(path, X, names, delimiter=","):
    lines = [names, *X.tolist()]
    path.write_text("".join(delimiter.join("" if c is None else str(c) for c in line) + "\n" for line in lines))
    return path


NAMES = [f"v{k}" for k in range(9)]


@pytest.fixture(scope="module")
def known():
    return make_network("grid", 9, 1500, strength=2.0, sweeps=60, random_state=1)


@pytest.fixture
def data(known, tmp_path):
    return write(tmp_path / "data.csv", np.where(known.X, "yes", "no"), NAMES)


def test_the_strongest_edges_are_those_of_the_known_graph_with_their_signs(structure, data, known):
    done = structure(data)
    found = {(int(a[1:]), int(b[1:])): weight for a, b, *_, weight in done.rows[: len(known.edges)]}
    assert sorted(found) == list(map(tuple, known.edges.tolist()))
    for (i, j), weights in zip(known.edges.tolist(), known.weights, strict=True):
        assert np.sign(found[i, j]) == np.sign(weights[1, 1])
    assert {row[2:4] for row in done.rows} == {("yes", "yes")}
    strengths = [abs(row[4]) for row in done.rows]
    assert strengths == sorted(strengths, reverse=True)


def test_the_summary_says_what_was_read_and_what_was_found(structure, data):
    done = structure(data)
    said, n = done.said, len(done.rows)
    assert f"{data}: 9 variables, 1,500 samples, 0 missing values" in said
    for words in ("\ndone: ", f"{n} edges of 36 possible, {n} weights", "chosen by EBIC from 20"):
        assert words in said
    assert (
        f"strongest, by the norm of the weights: {done.rows[0][0]} - {done.rows[0][1]} ({abs(done.rows[0][4]):.3g})"
        in said
    )
    assert (
        f"reference states, which have no weights: {', '.join(f'v{k}=no' for k in range(8))} and 1 more (-v)\n" in said
    )
    assert f"have no weights: {', '.join(f'v{k}=no' for k in range(9))}\n" in structure(data, "-v").said
    assert "v3=yes" in structure(data, "--reference", "v3=yes").said
    assert "pseudo-log-likelihood per sample -" in said
    assert structure(data, "-q").said == ""


def test_weights_are_the_estimator_s(structure, tmp_path):
    from loglinear.models.network import PairwiseMRF

    sample = make_network("chain", 5, 800, states=[2, 3, 2, 4, 3], strength=1.5)
    X = sample.X.astype(object)
    X[::7, 2] = None
    path = write(tmp_path / "data.tsv", X, list("abcde"), "\t")
    done = structure(path, "--l1", "8", "--l2", "0.5")
    model = PairwiseMRF(l1=8.0, l2=0.5, objective="pseudolikelihood").fit(X)
    expected = {
        ("abcde"[i], "abcde"[j], str(a), str(b)): weights[a, b]
        for (i, j), weights in zip(model.edges_.tolist(), model.weights_, strict=True)
        for a, b in np.argwhere(weights)
    }
    assert {row[:4]: row[4] for row in done.rows} == pytest.approx(expected, rel=1e-5)
    assert "115 missing values" in done.said
    assert "l1 8\n" in done.said


def test_json_holds_the_table_and_the_summary(structure, data, tmp_path):
    rows = structure(data, "--l1", "30").rows
    done = structure(data, "--l1", "30", "--json", "-q", "--edges", tmp_path / "e.tsv")
    found = json.loads(done.out)
    assert (found["variables"], found["samples"], found["missing"], found["l1"]) == (9, 1500, 0, 30.0)
    assert found["status"] == "converged"
    assert found["pseudo_log_likelihood_per_sample"] == pytest.approx(-found["nll"] / 1500)
    flat = [
        (*edge["variables"], *weight["states"], weight["weight"])
        for edge in found["edges"]
        for weight in edge["weights"]
    ]
    assert [row[:4] for row in flat] == [row[:4] for row in rows]
    assert [row[4] for row in flat] == pytest.approx([row[4] for row in rows], rel=1e-5)
    assert table((tmp_path / "e.tsv").read_text()) == rows


def test_files_are_written_and_named(structure, data, tmp_path):
    edges, plot = tmp_path / "e.tsv", tmp_path / "g.svg"
    done = structure(data, "--edges", edges, "--plot", plot)
    assert done.out == ""
    assert len(table(edges.read_text())) >= 12
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
    texts = plot.read_text()
    for name in (*NAMES, SIGNS[1], SIGNS[-1]):
        assert f"<!-- {name} -->" in texts
    for place in (edges, plot):
        assert f"wrote {place}" in done.said


@pytest.mark.skipif(not hasattr(_core, "write_network"), reason="the native module has no networks")
def test_the_model_is_the_estimator_s_with_names(structure, data, tmp_path):
    from loglinear.models.network import PairwiseMRF

    rows = structure(data, "-m", tmp_path / "m").rows
    model = PairwiseMRF.load(tmp_path / "m")
    assert model.feature_names_in_.tolist() == NAMES
    assert len(model.edges_) == len(rows)
    assert [known.tolist() for known in model.categories_] == [["no", "yes"]] * 9


def test_columns_are_left_out_by_name(structure, known, tmp_path):
    X = np.hstack([np.arange(len(known.X))[:, None], known.X])
    path = write(tmp_path / "d.csv", X, ["id", *NAMES])
    by_name = structure(path, "--ignore", "id,v8", "--ignore", "v7", "--l1", "20")
    assert "7 variables" in by_name.said
    assert "warning" not in by_name.said
    assert not {"id", "v7", "v8"} & {name for row in by_name.rows for name in row[:2]}
    assert structure(path, "--ignore", "1,v8,9", "--l1", "20").rows == by_name.rows


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("index", ["", "id"])
def test_an_index_and_identifiers_are_left_out_with_a_warning(structure, known, tmp_path, index):
    X = np.hstack([np.arange(len(known.X))[:, None], known.X])
    done = structure(write(tmp_path / "d.csv", X, [index, *NAMES]), "--l1", "20", "-m", tmp_path / "m")
    assert done.rows == structure(write(tmp_path / "e.csv", known.X, NAMES), "--l1", "20").rows
    (line,) = [line for line in done.said.splitlines() if line.startswith("warning")]
    assert ("'id'" if index else "index=False") in line


@pytest.mark.parametrize("flags", [[], ["--missing", "?", "--missing=-999,x"]])
def test_marks_of_missing_values_are_named_and_taken_from_a_flag(structure, done, known, tmp_path, flags):
    X = known.X.astype(object)
    X[::10, 0], X[::20, 1] = "?", -999
    found = structure(write(tmp_path / "d.csv", X, NAMES), "--l1", "20", "-m", tmp_path / "m", *flags)
    assert (f"{len(X[::10]) + len(X[::20])} missing values" in found.said) == bool(flags)
    warned = [line for line in found.said.splitlines() if "--missing" in line]
    assert len(warned) == (0 if flags else 1)
    assert flags or "pass --missing '?,-999'" in warned[0]
    filled = done("tag", "-m", tmp_path / "m", tmp_path / "d.csv").stdout
    assert ("?" in filled) != bool(flags)


def test_samples_without_any_value_are_left_out(structure, tmp_path):
    X = np.array([["a", "x"], ["b", "y"], [None, None], ["a", None]] * 50, dtype=object)
    done = structure(write(tmp_path / "d.csv", X, ["p", "q"]), "--l1", "1")
    assert "2 variables, 150 samples, 50 missing values; ignored 50 lines without values" in done.said
    assert [row[:4] for row in done.rows] == [("p", "q", "b", "y")]


def test_a_table_without_header_comes_from_standard_input(structure, known):
    text = "".join(";".join(map(str, row)) + "\n" for row in known.X.tolist())
    rows = structure("-", "--no-header", "--delimiter", ";", "--l1", "20", input=text).rows
    assert rows
    assert {name for row in rows for name in row[:2]} <= {f"x{k}" for k in range(1, 10)}


def test_without_edges_it_says_so(structure, data):
    done = structure(data, "--l1", "1e6")
    assert done.rows == []
    assert "0 edges of 36 possible, 0 weights; lower --l1" in done.said


def test_the_number_of_threads_changes_nothing(structure, data):
    assert structure(data, "-j", "1").out == structure(data, "-j", "2").out


@pytest.mark.parametrize("l1", ["ebic", "2"])
def test_ctrl_c_keeps_what_was_reached(structure, data, monkeypatch, tmp_path, l1):
    shown = Progress.__call__
    steps = []

    def interrupting(self, record, state):
        shown(self, record, state)
        steps.append(record)
        if len(steps) == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "__call__", interrupting)
    done = structure(data, "--l1", l1, "--plot", tmp_path / "g.svg", code=1)
    assert done.said.endswith(f"loglinear: interrupted; wrote {tmp_path / 'g.svg'} with the weights reached so far\n")
    assert len(steps) == 5
    assert done.rows is not None
    assert (tmp_path / "g.svg").exists()
    assert "; the weights are from the last complete iteration" in done.said


@pytest.mark.slow
def test_a_path_that_ends_too_early_goes_on_by_itself(structure, data, monkeypatch, tmp_path):
    usual = structure(data).rows

    @dataclass(frozen=True)
    class Short(PathOptions):
        ratio: float = 0.9

    monkeypatch.setattr(training_module, "PathOptions", Short)
    done = structure(data, "-m", tmp_path / "m")
    assert "warning" not in done.said
    assert [row[:2] for row in done.rows[:9]] == [row[:2] for row in usual[:9]]


def test_columns_of_one_value_are_named_in_one_warning_and_left_out(structure, known, tmp_path):
    X = np.hstack([known.X, np.ones((len(known.X), 3), int)]).astype(object)
    X[:, 10] = None
    path = write(tmp_path / "d.csv", X, [*NAMES, "x y", "empty", "one"])
    done = structure(path, "--l1", "30", "--json", "--edges", tmp_path / "e", "--plot", tmp_path / "g.svg")
    assert (
        f"warning: {path}: ignored, because all values are equal or missing: columns 'x y', 'empty', 'one'\n"
        in done.said
    )
    assert done.said.count("warning") == 1
    found = json.loads(done.out)
    assert found["variables"] == 9
    assert found["left_out"] == ["x y", "empty", "one"]
    assert found["reference"] == dict.fromkeys(NAMES, 0)
    assert "edges of 36 possible" in done.said
    assert "<!-- empty -->" not in (tmp_path / "g.svg").read_text()


def test_measurements_are_binned_if_asked_and_the_refusal_says_how(structure, tmp_path):
    amount = np.random.default_rng(0).normal(size=(400, 1))
    X = np.hstack([amount, amount + np.random.default_rng(1).normal(size=(400, 1)) / 4.0])
    path = write(tmp_path / "d.csv", X, ["mean radius", "area"])
    said = structure(path, code=2).said
    assert f"loglinear: error: {path}: column 'mean radius' has 400 different values" in said
    assert "--bins 4" in said
    done = structure(path, "--bins", "3", "-m", tmp_path / "m")
    assert "2 numeric columns in bins: mean radius, area\n" in done.said
    assert done.rows[0][:2] == ("mean radius", "area")
    assert {row[2].split()[0].strip("[,0123456789.-") for row in done.rows} <= {"", ">="}


def test_a_refused_column_beside_answers_is_cut_alone_by_the_flag_of_the_message(structure, tmp_path):
    rng = np.random.default_rng(0)
    age, answers = rng.normal(40.0, 10.0, (300, 1)).round(1), rng.integers(1, 6, (300, 2))
    path = write(tmp_path / "d.csv", np.hstack([age, answers]).astype(object), ["age", "q1", "q2"])
    said = structure(path, code=2).said
    assert "more than --max-states 32; cut it at its quartiles with --cut age=" in said
    assert "max_states" not in said
    done = structure(path, "--cut", said.split("--cut ")[1].split()[0].rstrip(";,\n"))
    assert "1 numeric column in bins: age\n" in done.said


def test_columns_are_cut_where_one_says(structure, tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(10, 80, 300)
    path = write(
        tmp_path / "d.csv", np.stack([age, age >= 18, rng.integers(2, size=300)], axis=1), ["a=b", "adult", "c"]
    )
    done = structure(path, "--cut", "a=b=18,65", "--l1", "5")
    assert {row[2] for row in done.rows if row[0] == "a=b"} == {"[18, 65)", ">= 65"}
    assert "1 numeric column in bins: a=b\n" in done.said


def test_the_column_that_a_hint_leaves_out_can_be_pasted(structure, known, tmp_path):
    names = ['it\'s, "old"', *NAMES]
    lines = [[f"n{k % 100}", *row] for k, row in enumerate(known.X.tolist())]
    path = tmp_path / "d.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *lines])
    (hint,) = re.findall(r"\((--ignore [^)]*)\)", structure(path, code=2).said)
    assert "9 variables" in structure(path, "--l1", "30", *shlex.split(hint)).said


def test_a_column_has_the_share_of_bootstrap_samples_with_each_edge(structure, data, known):
    done = structure(data, "--l1", "60", "--bootstrap", "15")
    assert "bootstrap sample 15 of 15" in done.said
    header, *lines = [line.split("\t") for line in done.out.splitlines()]
    assert header == [*COLUMNS, "share"]
    network = PairwiseMRF(l1=60.0).fit(np.where(known.X, "yes", "no"))
    found = network.edge_confidence(np.where(known.X, "yes", "no"), 15)
    shares = {(f"v{i}", f"v{j}"): found[i, j] for i, j in network.edges_.tolist()}
    assert {tuple(line[:2]): float(line[5]) for line in lines} == pytest.approx(shares, abs=1e-3)
    report = json.loads(structure(data, "--l1", "60", "--bootstrap", "15", "--json", "-q").out)
    assert {tuple(edge["variables"]): edge["share"] for edge in report["edges"]} == shares


def test_variables_have_centralities_predictability_and_stability(structure, known, tmp_path):
    X, nodes = np.where(known.X[:200, :5], "yes", "no"), tmp_path / "nodes.tsv"
    data = write(tmp_path / "small.csv", X, NAMES[:5])
    done = structure(data, "--l1", "8", "--nodes", nodes, "--stability", "2", "--seed", "3", "--json")
    assert "network of fewer samples 20 of 20" in done.said
    network = PairwiseMRF(l1=8.0, random_state=3).fit(X)
    header, *lines = [line.split("\t") for line in nodes.read_text().splitlines()]
    measures = network.centrality().measures() | network.predictability(X).measures()
    assert header == ["variable", *measures]
    assert [line[0] for line in lines] == NAMES[:5]
    found = np.array([[float(cell or "nan") for cell in line[1:]] for line in lines])
    np.testing.assert_allclose(found, np.stack([*measures.values()], axis=1), rtol=1e-5)
    expected = network.stability(X, 2).coefficients
    shares = ", ".join(f"{name} {value:.3g}" for name, value in expected.items())
    assert f"largest share of samples that can be left out: {shares} (2 networks of each share)\n" in done.said
    report = json.loads(done.out)
    assert report["stability"] == {"coefficients": pytest.approx(expected), "networks_per_share": 2}
    structure(data, "--l1", "8", "--nodes", tmp_path / "nodes.svg", "-q")
    text = (tmp_path / "nodes.svg").read_text()
    assert all(f"<!-- {name} -->" in text for name in (*NAMES[:5], "strength", "betweenness", "normalised"))


def test_two_groups_are_compared(structure, data, known, tmp_path):
    other = make_network("grid", 9, 500, strength=0.5, random_state=2).X
    second = write(tmp_path / "other.csv", np.where(other, "yes", "no"), NAMES)
    page = tmp_path / "differences.html"
    done = structure(data, "--compare", second, "--l1", "30", "--permutations", "2", "--plot", page)
    assert "permutation 2 of 2" in done.said
    groups = (data.name, "other.csv")
    expected = compare_networks(
        np.where(known.X, "yes", "no"), np.where(other, "yes", "no"), PairwiseMRF(l1=30.0), n=2, groups=groups
    )
    header, *lines = [line.split("\t") for line in done.out.splitlines()]
    assert header == ["variable_1", "variable_2", "weight_1", "weight_2", "difference", "p", "p_holm"]
    frame = expected.to_frame()
    assert [line[:2] for line in lines] == [
        [name.replace("column ", "v") for name in pair] for pair in zip(frame["first"], frame["second"], strict=True)
    ]
    numbers = frame.drop(columns=["first", "second"]).to_numpy()
    np.testing.assert_allclose(np.array([line[2:] for line in lines], dtype=float), numbers, rtol=1e-5)
    assert f"p = {expected.structure_p:.3g}\n" in done.said
    assert "other.csv: 500 samples, " in done.said
    assert "higher weight in other.csv" in page.read_text(encoding="utf-8")
    report = json.loads(structure(data, "--compare", second, "--l1", "30", "--permutations", "2", "--json", "-q").out)
    assert report["structure"] == {"difference": expected.structure, "p": expected.structure_p}
    assert [group["samples"] for group in report["groups"]] == [1500, 500]
    assert len(report["pairs"]) == len(lines)


def test_groups_that_cannot_be_compared_are_refused(structure, data, known, tmp_path):
    fewer = write(tmp_path / "fewer.csv", known.X[:20, :8], NAMES[:8])
    done = structure(data, "--compare", fewer, "--l1", "30", "--permutations", "2", code=2)
    assert "fewer.csv does not have columns 'v8' of " in done.said
    assert "Traceback" not in done.said
    done = structure(data, "--compare", tmp_path / "nowhere.csv", code=2)
    assert "nowhere.csv: No such file or directory" in done.said


def test_the_graph_may_be_a_page(structure, data, tmp_path):
    done = structure(data, "--plot", tmp_path / "graph.html", "--edges", tmp_path / "edges")
    assert f"wrote {tmp_path / 'graph.html'}\n" in done.said
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert all(f'"{name}"' in page for name in NAMES)


@pytest.mark.parametrize("options", [[], ["--bins", "3"], ["--objective", "nodewise"], ["--cut", "d=0.5"]])
def test_samples_that_are_counted_give_the_network_of_all_samples(structure, tmp_path, monkeypatch, options):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(3000, 4))
    X[:2000, 1] = X[:2000, 0]
    X = np.where(rng.random(X.shape) < 0.1, None, X).astype(object)
    X[:, 3] = np.round(rng.normal(size=3000), 0)
    path = write(tmp_path / "d.csv", X, ["a", "b", "c", "d"])
    counted = structure(path, *options)
    monkeypatch.setattr(table_module, "_WIDEST", 0)
    whole = structure(path, *options)
    assert [row[:4] for row in counted.rows] == [row[:4] for row in whole.rows]
    np.testing.assert_allclose([row[4] for row in counted.rows], [row[4] for row in whole.rows], rtol=1e-3)
    shown = [re.sub(r"(violation|\(|in) [\d.e+-]+", "", done.said.splitlines()[-3]) for done in (counted, whole)]
    assert "3,000 samples" in counted.said
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_the_strength_may_be_chosen_by_stability(structure, data, known):
    done = structure(data, "--l1", "stars")
    assert "chosen by StARS from" in done.said
    network = PairwiseMRF(l1="stars").fit(np.where(known.X, "yes", "no"))
    assert {tuple(row[:2]) for row in done.rows} == {(f"v{i}", f"v{j}") for i, j in network.edges_.tolist()}


def test_the_command_and_the_estimator_have_the_same_defaults():
    from loglinear import PairwiseMRF
    from loglinear.cli.commands import structure as command

    parser = ArgumentParser()
    command.configure(parser)
    assert command._estimator(parser.parse_args(["data.csv"])).get_params() == PairwiseMRF().get_params()


BAD = [
    (["--bins", "1"], ["--bins 1"]),
    (["--l1", "0"], ["--l1 0", "ebic, cv or stars"]),
    (["--l1", "-1"], ["l1"]),
    (["--l2", "-1"], ["l2"]),
    (["--l1", "nan"], ["l1"]),
    (["--cut", "v0=2,1"], ["cuts['v0']", "ascend"]),
    (["--cut", "v0=1", "--cut", "v0=2"], ["--cut v0=2", "already has a --cut"]),
    (["--cut", "v0"], ["--cut v0", "--cut age=18,30,65"]),
    (["--cut", "v0=old"], ["--cut v0=old"]),
    (["--cut", "=3"], ["--cut =3"]),
    (["--bootstrap", "1"], ["--bootstrap 1", "at least 2"]),
    (["--stability", "1"], ["--stability 1", "at least 2"]),
    (["--permutations", "9"], ["--permutations 9", "--compare DATA"]),
    (["--compare", "other.csv", "--nodes", "n.tsv"], ["leave out --nodes"]),
    (["--compare", "other.csv", "--permutations", "0"], ["--permutations 0", "at least 1"]),
    (["--nodes", "nowhere/n.tsv"], ["nowhere/n.tsv", "folder"]),
    (["--inference", "exact"], ["--inference exact", "likelihood", "leave out one"]),
    (["--ignore", "weight"], ["no column 'weight'", "v0, v1"]),
    (["--ignore", ",".join(NAMES[1:])], ["only column 'v0' is left"]),
    (["--max-states", "1"], ["--max-states 1"]),
    (["--delimiter", "ab"], ["--delimiter ab is"]),
    (["--delimiter", ";"], ["one column", "--delimiter"]),
    (["--plot", "figure.jpg"], ["figure.jpg", ".svg, .png, .pdf or .html"]),
    (["--plot", "nowhere/p.svg"], ["nowhere/p.svg", "folder"]),
    (["--edges", "nowhere/e"], ["nowhere/e", "folder"]),
    (["--model", "nowhere/m"], ["nowhere/m", "folder"]),
]


@pytest.mark.parametrize(("options", "words"), BAD, ids=lambda value: " ".join(value)[:40])
def test_mistakes_are_refused_in_one_line(structure, data, options, words):
    done = structure(data, *options, code=2)
    assert done.out == ""
    assert done.said.startswith("loglinear: error: ")
    assert done.said.count("\n") == 1
    for word in words:
        assert word in done.said


@pytest.mark.parametrize("options", [["--l1", "much"], ["--objective", "hinge"], ["--inference", "guess"]])
def test_unknown_choices_are_misuse(structure, data, options):
    assert options[1] in structure(data, *options, code=2).said


def test_a_missing_file_is_named(structure, tmp_path):
    assert str(tmp_path / "none.csv") in structure(tmp_path / "none.csv", code=2).said


def test_help_shows_an_example(done):
    shown = done("structure", "--help").stdout
    assert "example: loglinear structure" in shown
    for option in ("--edges", "--plot", "--model", "--l1", "--objective", "--grouped", "--ignore", "--json"):
        assert option in shown


def test_the_reference_state_is_the_one_that_is_asked_for(structure, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size,n\n" + "small,1\nlarge,2\nmedium,3\n" * 9 + "large,1\n")
    done = structure(path, "--reference", "size=small", "--reference", "n=3", "--l1", "0.5")
    states = {tuple(line.split("\t")[2:4]) for line in done.out.splitlines()[1:]}
    assert {a for a, _ in states} | {b for _, b in states} <= {"large", "medium", "1", "2"}
    for option, message in (
        ("size", "--reference size: not of the form COLUMN=STATE; write, for example, --reference income=none"),
        (
            "size=tiny",
            "reference: column 'size' does not have the value 'tiny'; choose one of 'large', 'medium', 'small'",
        ),
    ):
        assert message in structure(path, "--reference", option, code=2).said
