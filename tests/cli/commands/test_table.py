"""`loglinear table`: the fit of a log-linear model, its parameters, cells and picture."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from loglinear import LogLinear

# Agresti (2002), Categorical Data Analysis, table 8.3.
STUDENTS = {
    ("yes", "yes", "yes"): 911,
    ("yes", "yes", "no"): 538,
    ("yes", "no", "yes"): 44,
    ("yes", "no", "no"): 456,
    ("no", "yes", "yes"): 3,
    ("no", "yes", "no"): 43,
    ("no", "no", "yes"): 2,
    ("no", "no", "no"): 279,
}
NAMES = ("alcohol", "cigarette", "marijuana")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file with a line for each cell."""
    path = tmp_path_factory.mktemp("table") / "students.csv"
    lines = [",".join((*NAMES, "n")), *(",".join((*levels, str(n))) for levels, n in STUDENTS.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_output_has_the_statistics_and_a_line_for_each_parameter(done, table):
    lines = done("table", table, "--counts", "n", "--model", "alcohol*cigarette + marijuana").stdout.splitlines()
    assert lines[0] == "alcohol*cigarette + marijuana: 8 cells, 2,276 samples"
    assert lines[1].startswith("G2 = 843.8266, df = 3, p = ")
    head, *rows = (line.split("\t") for line in lines[5:])
    assert head == ["term", "levels", "estimate", "se", "z", "p"]
    assert [row[0] for row in rows] == ["(constant)", *NAMES, "alcohol:cigarette"]


def test_json_and_the_cells_are_those_of_the_python_model(done, table, tmp_path):
    told = done("table", table, "--counts", "n", "--json", "-o", tmp_path / "cells.csv", "--plot", tmp_path / "m.svg")
    model = LogLinear(".^2").fit(STUDENTS, names=NAMES)
    answer = json.loads(told.stdout)
    assert answer["deviance"] == pytest.approx(model.deviance_)
    assert (answer["df"], answer["n_samples"], answer["choices"]) == (1, 2276, [])
    assert answer["parameters"][0]["estimate"] == pytest.approx(model.effects()["(constant)"].item())
    with (tmp_path / "cells.csv").open(encoding="utf-8") as file:
        cells = {tuple(row[name] for name in NAMES): row for row in csv.DictReader(file)}
    levels = [[*of] for of in model.levels_]
    for place, expected in np.ndenumerate(model.expected_):
        row = cells[tuple(of[k] for of, k in zip(levels, place, strict=True))]
        assert float(row["expected"]) == pytest.approx(expected, rel=1e-8)
        assert float(row["observed"]) == model.counts_[place]
    assert (tmp_path / "m.svg").stat().st_size > 1000
    assert told.stderr.splitlines() == [f"wrote {tmp_path / 'cells.csv'}", f"wrote {tmp_path / 'm.svg'}"]


def test_choose_looks_for_the_best_model_within_the_formula(done, table):
    formula = "alcohol * cigarette * marijuana"
    told = done("table", table, "--counts", "n", "--formula", formula, "--choose", "bic", "--search", "forward")
    assert told.stdout.startswith("alcohol*cigarette + alcohol*marijuana + cigarette*marijuana: 8 cells")
    assert "+ cigarette:marijuana" in told.stdout


def test_lines_are_samples_without_counts_and_columns_outside_the_formula_are_ignored(done, tmp_path):
    path = tmp_path / "rows.tsv"
    path.write_text("id\ta b\tc\n" + "".join(f"{k}\t{k % 2}\t{k % 3}\n" for k in range(12)), encoding="utf-8")
    answer = json.loads(done("table", path, "--formula", "'a b' + c", "--json").stdout)
    assert (answer["formula"], answer["n_samples"], answer["n_cells"]) == ("`a b` + c", 12, 6)
    assert answer["deviance"] == pytest.approx(0.0, abs=1e-9)


def test_a_warning_of_an_empty_margin_names_it(done, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,n\nx,u,5\nx,v,0\ny,u,3\ny,v,4\n", encoding="utf-8")
    told = done("table", path, "--counts", "n", "--formula", "a*b", "--json")
    assert "no samples in the margin a=x, b=v" in told.stderr
    assert None in [each["estimate"] for each in json.loads(told.stdout)["parameters"]]


def test_marks_of_missing_values_are_levels_with_a_warning_that_names_the_flag(done, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,u\n0,v\n-,u\n2,v\n" * 4, encoding="utf-8")
    told = done("table", path, "--formula", "a + b", "--json")
    assert "read as a value: '-' in column 'a' (25 % of the rows); if it marks missing values" in told.stderr
    assert "--missing=-" in told.stderr
    told = done("table", path, "--formula", "a + b", "--json", "--missing=-")
    assert "read as a value" not in told.stderr
    assert json.loads(told.stdout)["n_samples"] == 12


def test_names_cannot_command_a_terminal(done, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\x1b[31m,b\nx,u\ny,v\nx,v\ny,u\n", encoding="utf-8")
    for flags in ([], ["--choose", "bic"]):
        assert "\x1b" not in done("table", path, *flags).stdout


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--formula", "alcohol*cigarete"], "position 9: no variable 'cigarete' (did you mean cigarette?)"),
        (["--formula", "alcohol *"], "position 10: the formula ends early"),
        (["--counts", "m"], "--counts m is not a column"),
        (["--counts", "alcohol"], "students.csv: counts='alcohol'"),
        (["--method", "newtom"], "unknown solver 'newtom'"),
        (["--choose", "bic", "--l1", "1"], "leave out --l1 1, or use --search l1"),
        (["--plot", "m.txt"], "unknown figure format"),
        (["--json", "-o", "-"], "both write to stdout"),
        (["--search", "forward"], "--search forward is for --choose"),
    ],
)
def test_what_cannot_be_done_is_refused(misuse, table, flags, told):
    assert told in misuse("table", table, *flags)
