"""Commands on the model of a network: what they say of it, of a table, and what they fill in."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from loglinear import PairwiseMRF
from loglinear.data.table import read_table

NAMES = ["region", "how old", "rides, weekly", "constant", "amount"]


def rows(n=300, seed=0):
    """Lines of a table with texts, digits, numbers, a constant, and gaps."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        region = random.choice(["north", "south", "west"])
        old = int(random.integers(1, 4)) if region == "west" else 2
        rides = "007" if (old == 2) != (random.random() < 0.1) else "0"
        amount = f"{random.normal(3.0 * old, 1.0):.2f}"
        line = [region, str(old), rides, "yes", amount]
        for at in (1, 2, 4):
            line[at] = "" if random.random() < 0.05 else line[at]
        lines.append(line)
    return lines


def written(path, lines, names=NAMES):
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *lines] if names else lines)
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory, done):
    """A table, and the model that `structure` has learned from it."""
    folder = tmp_path_factory.mktemp("network")
    data = written(folder / "data.csv", rows())
    done("structure", data, "--l1", "3", "--bins", "3", "-m", folder / "m")
    return data, folder / "m"


def test_inspect_shows_variables_edges_weights_and_training(trained, done):
    _, model = trained
    network = PairwiseMRF.load(model)
    shown = done("inspect", model).stdout
    for words in (
        "4, 1 of them in bins; states in order, the reference state first",
        "region: north, south, west",
        "left out         constant",
        "pseudolikelihood",
    ):
        assert words in shown
    assert f"{len(network.edges_)} of 6 possible" in shown
    assert "on 300 samples" in shown
    found = json.loads(done("inspect", "--json", model).stdout)
    assert [each["name"] for each in found["variables"]] == ["region", "how old", "rides, weekly", "amount"]
    assert found["left_out"] == ["constant"]
    assert (found["n_edges"], found["l1"], found["bins"]) == (len(network.edges_), 3.0, 3)
    strengths = [edge["strength"] for edge in found["edges"]]
    assert strengths == sorted(network.strengths_, reverse=True)
    assert len(done("inspect", "--top", "1", model).stdout) < len(shown)


def test_evaluate_gives_the_log_likelihood_and_says_whether_it_is_exact(trained, done, tmp_path):
    data, model = trained
    network = PairwiseMRF.load(model)
    found = json.loads(done("evaluate", "--json", data, "-m", model).stdout)
    expected = network.log_likelihood(read_table(str(data)))
    assert found["log_likelihood"] == pytest.approx(float(expected))
    assert found["log_likelihood_per_sample"] == pytest.approx(float(expected) / 300)
    assert (found["n_samples"], found["n_variables"], found["exact"]) == (300, 4, True)
    assert found["missing"] == sum(cell == "" for line in rows() for cell in line)
    shown = done("evaluate", data, "-m", model).stdout
    assert f"log-likelihood per sample  {float(expected) / 300:.4f}  exact\n" in shown


def test_an_estimate_is_called_one_and_has_bounds(trained, done, monkeypatch):
    monkeypatch.setattr("loglinear.models.network.ANSWER", 4)
    data, model = trained
    shown = done("evaluate", data, "-m", model).stdout
    assert "estimated by belief propagation, between" in shown
    found = json.loads(done("evaluate", "--json", data, "-m", model).stdout)
    assert not found["exact"]
    assert found["lower_per_sample"] <= found["log_likelihood_per_sample"] <= found["upper_per_sample"]


def test_tag_fills_gaps_alone_with_the_most_probable_state(trained, done):
    data, model = trained
    tagged = done("tag", "-m", model, data).stdout
    filled = list(csv.reader(io.StringIO(tagged)))
    assert filled[0] == NAMES
    network = PairwiseMRF.load(model)
    predicted = network.predict(read_table(str(data)))
    for before, after, expected in zip(rows(), filled[1:], predicted, strict=True):
        for cell, now, state in zip(before, after, expected.tolist(), strict=True):
            assert now == (cell or str(state))
    assert {cell for line in filled for cell in line if cell.startswith((">", "<", "["))} <= {
        *network.categories_[4].tolist()
    }


def test_tag_keeps_the_ends_of_lines_and_says_if_nothing_was_empty(trained, done, tmp_path):
    _, model = trained
    other = tmp_path / "other.csv"
    other.write_bytes(f"{'|'.join(NAMES)}\r\nwest|2||yes|6\r\n".encode())
    ended = done("tag", "-m", model, other, "-o", tmp_path / "tagged.csv")
    assert (tmp_path / "tagged.csv").read_bytes().startswith(f"{'|'.join(NAMES)}\r\nwest|2|0".encode())
    assert "note" not in ended.stderr
    full = written(tmp_path / "full.csv", [["west", "2", "0", "", "6"]])
    assert f"note: {full}: no cell of the model's columns is empty" in done("tag", "-m", model, full).stderr


def test_marginals_are_the_probabilities_of_what_was_filled_in(trained, done):
    data, model = trained
    filled = list(csv.reader(io.StringIO(done("tag", "-m", model, "--marginals", data).stdout)))
    assert filled[0] == [*NAMES, "p(how old)", "p(rides, weekly)", "p(amount)"]
    proba = PairwiseMRF.load(model).predict_proba(read_table(str(data)))
    for k, (before, after) in enumerate(zip(rows(), filled[1:], strict=True)):
        for variable, at in ((1, 5), (2, 6), (4, 7)):
            expected = "" if before[variable] else f"{proba[variable][k].max():.6f}"
            assert after[at] == expected


def test_a_state_of_just_the_least_probability_is_filled_in_and_one_below_it_is_not(trained, done):
    data, model = trained
    row = next(k for k, line in enumerate(rows()) if not line[1])
    probability = float(PairwiseMRF.load(model).predict_proba(read_table(str(data)))[1][row].max())
    for least, is_filled in ((probability, True), (np.nextafter(probability, 1.0), False)):
        tagged = done("tag", "-m", model, data, "--min-probability", repr(float(least)), "--below", "?").stdout
        assert (list(csv.reader(io.StringIO(tagged)))[row + 1][1] != "?") == is_filled


def test_a_network_has_no_several_labellings(trained, misuse):
    data, model = trained
    assert "--n-best" in misuse("tag", "-m", model, "--n-best", "2", data)


def test_other_tables_may_have_more_columns_in_any_order_and_lack_constant_ones(trained, done, tmp_path):
    _, model = trained
    lines = [[f"id{k}", *line[:3], line[4]][::-1] for k, line in enumerate(rows(20, seed=1))]
    names = ["id", *NAMES[:3], NAMES[4]][::-1]
    moved = written(tmp_path / "moved.csv", lines, names)
    plain = written(tmp_path / "plain.csv", rows(20, seed=1))
    reports = [json.loads(done("evaluate", "--json", path, "-m", model).stdout) for path in (moved, plain)]
    assert reports[0] == reports[1]
    filled = list(csv.reader(io.StringIO(done("tag", "-m", model, moved).stdout)))
    assert filled[0] == names
    assert [line[-1] for line in filled[1:]] == [f"id{k}" for k in range(20)]
    # One line, in which `how old` and `rides, weekly` are digits alone.
    one = written(tmp_path / "one.csv", [["", "2", "0", "", "6"]])
    (line,) = list(csv.reader(io.StringIO(done("tag", "-m", model, one).stdout)))[1:]
    assert line[0] in ("north", "south", "west")


def test_a_network_without_a_header_reads_tables_without_one(done, tmp_path):
    lines = [[str(k % 2), "ab"[k % 2] if k % 5 else "b"] for k in range(100)]
    data = written(tmp_path / "d.csv", lines, None)
    done("structure", "--no-header", data, "--l1", "1", "-m", tmp_path / "m")
    gaps = written(tmp_path / "gaps.csv", [["1", ""], ["", "a"]], None)
    assert done("tag", "-m", tmp_path / "m", gaps).stdout == "1,b\n0,a\n"
    with_names = written(tmp_path / "names.csv", [["1", ""], ["", "a"]], ["x1", "x2"])
    assert done("tag", "-m", tmp_path / "m", with_names).stdout == "x1,x2\n1,b\n0,a\n"


def test_a_network_of_the_library_without_names_takes_columns_as_they_come(done, tmp_path):
    X = np.array([["a", "x"], ["b", "y"], ["b", "y"], ["a", "y"]] * 20)
    PairwiseMRF(l1=1.0).fit(X).save(tmp_path / "m")
    gaps = written(tmp_path / "gaps.csv", [["b", ""]], ["first", "second"])
    assert done("tag", "-m", tmp_path / "m", gaps).stdout == "first,second\nb,y\n"


def test_mistakes_are_named(trained, misuse, tmp_path):
    data, model = trained
    lacking = written(tmp_path / "lacking.csv", [["north", "2"]], NAMES[:2])
    for command in (["tag", "-m", model, lacking], ["evaluate", lacking, "-m", model]):
        said = misuse(*command)
        assert "lacking.csv: columns 'rides, weekly', 'amount' of the model are missing; add them" in said
    unknown = written(tmp_path / "unknown.csv", [["west", "2", "0", "", "1"], ["east", "2", "0", "", "2"]])
    for command in (["tag", "-m", model, unknown], ["evaluate", unknown, "-m", model]):
        assert "unknown.csv, line 3, column 'region': the model does not know the value 'east'" in misuse(*command)
    assert "leave out --format" in misuse("tag", "-m", model, "-f", "columns", data)


def test_other_files_are_refused_as_before(misuse, tmp_path):
    (tmp_path / "text").write_text("no model at all, but long enough to have a length in its first bytes")
    for command in (["inspect"], ["tag", "-m"], ["evaluate", "data.csv", "-m"]):
        assert "not a loglinear model" in misuse(*command, tmp_path / "text")
        assert "nowhere" in misuse(*command, tmp_path / "nowhere")


def test_a_file_of_words_is_refused_without_flags_that_the_command_lacks(misuse, tmp_path, trained):
    _, model = trained
    words = tmp_path / "words.txt"
    words.write_text("Jan\nPeeters\n")
    for command in ("tag", "evaluate"):
        said = misuse(command, "-m", model, words)
        assert said.startswith(f"{words}, line 1: only one column found (separator: a comma); ")
        assert f"{model} is a network model, which reads tables" in said
        assert "--" not in said
    assert "--delimiter" in misuse("structure", words)


def test_modes_are_for_sequences(misuse, trained):
    data, model = trained
    assert "--mode" in misuse("evaluate", "-m", model, data, "--mode", "strict")


def test_the_end_of_a_networks_training_is_told_in_words(done, trained):
    shown = done("inspect", trained[1]).stdout
    assert "ended            converged; " in shown
