"""Laws of `loglinear solvers`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from loglinear.solvers import FOR_RESEARCH, OWLQN, SAG, SOLVERS, option_names


def test_every_solver_is_listed_with_what_it_needs(done, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    shown = done("solvers").stdout
    found = {each["name"]: each for each in json.loads(done("solvers", "--json").stdout)}
    assert list(found) == list(SOLVERS)
    chosen = [name for name, each in found.items() if not each["for_research"]]
    assert chosen[:3] == ["auto", "lbfgs", "owlqn"]
    assert {"bfgs", "iis", "pegasos"} <= FOR_RESEARCH.keys()
    for text in (shown, done("train", "--help").stdout.split("\nsolvers (")[1]):
        first, research = text.split("\n\nfor research:\n")
        named = [
            [line.split()[0] for line in part.splitlines() if line.split()[:1] and line.split()[0] in SOLVERS]
            for part in (first, research.split("\n\n")[0])
        ]
        assert named == [chosen, list(FOR_RESEARCH)]
    for name, each in found.items():
        assert f"{name} " in shown
        assert each["summary"] in " ".join(shown.split())
    assert found["owlqn"]["penalties"] == ["L1", "L2", "elastic net", "none"]
    assert found["lbfgs"]["penalties"] == ["L2", "none"]
    assert found["pegasos"]["penalties"] == ["L2"]
    assert found["grafting"]["penalties"] == ["L1", "elastic net"]
    assert {"auto", "prox_gradient"} <= {name for name, each in found.items() if "groups" in each["penalties"]}
    assert found["dual_cd"]["models"] == ["classifiers of two classes"]
    assert found["iis"]["models"] == ["classifiers"]
    assert found["sag"]["models"] == ["chains", "classifiers"]
    assert "all others" in found["owlqn"]["models"]
    lines = [line.strip() for line in shown.splitlines()]
    needs = [line for line in lines if line.startswith("penalty: ")]
    assert needs == [done("solvers", name).stdout.splitlines()[1] for name in found]
    assert needs[list(found).index("owlqn")] == "penalty: L1, L2, elastic net, none; all models"
    expected = "penalty: L1, L2, elastic net, none; chains, classifiers; sample by sample"
    assert needs[list(found).index("sag")] == expected
    assert lines[-2].startswith("auto, the default, chooses among the others; ")
    by_sample = {name for name, each in found.items() if each["sample_by_sample"]}
    assert {"dual_cd", "sag", "two_stage"} <= by_sample
    assert by_sample.isdisjoint({"hybrid", "lbfgs", "owlqn", "prox_newton"})


def test_the_page_of_methods_has_a_row_for_each_solver_in_the_table_of_its_group():
    page = (Path(__file__).parents[3] / "docs" / "methods.md").read_text(encoding="utf-8")
    chosen, research = page.split("\n## ")[1].split("\nThe solvers for research")
    named = [
        re.findall(r"`(\w+)`", "".join(re.findall("^\\| (`.*?)\\|", table, re.MULTILINE)))
        for table in (chosen, research)
    ]
    assert named[0] == [name for name in SOLVERS if name not in FOR_RESEARCH]
    assert sorted(named[1]) == sorted(FOR_RESEARCH)


@pytest.mark.parametrize("name", SOLVERS)
def test_the_options_of_a_solver_are_listed_with_type_default_and_meaning(done, name):
    shown = done("solvers", name).stdout
    found = json.loads(done("solvers", name, "--json").stdout)["options"]
    assert [each["name"] for each in found] == option_names(SOLVERS[name])
    for each in found:
        assert f"  {each['name']}=" in shown
        assert set(each["type"].split(" | ")) <= {"bool", "float", "int", "str", "None"}
        assert len(each["meaning"]) > 8, each
    assert max(map(len, shown.splitlines())) < 130


def test_defaults_are_those_of_the_code(done):
    assert "  sampling=nus_star  str    " in done("solvers", "sag").stdout
    found = {each["name"]: each for each in json.loads(done("solvers", "sag", "--json").stdout)["options"]}
    assert {name: each["default"] for name, each in found.items()} == vars(SAG())
    lines = [line.split("=")[0].strip() for line in done("solvers", "grafting").stdout.splitlines()]
    assert lines.index("options, with their defaults:") < lines.index("select") == 4
    assert lines.index("max_features") < lines.index("options of its OWLQN:") == lines.index("memory") - 1
    # An inner solver has the defaults that the outer one gives it.
    found = {each["name"]: each for each in json.loads(done("solvers", "grafting", "--json").stdout)["options"]}
    assert (found["memory"]["inner"], found["memory"]["default"], OWLQN().memory) == ("OWLQN", 40, 20)


def test_an_unknown_solver_gets_those_that_are_spelt_alike(misuse):
    message = misuse("solvers", "owlq")
    assert "'owlq'" in message
    assert "did you mean owlqn?" in message
    assert "lbfgs" in misuse("solvers", "nothing-like-it")


def test_train_points_to_the_list(done, misuse, tiny, tmp_path):
    assert "`loglinear solvers NAME`" in done("train", "--help").stdout
    common = ["train", tiny, "--preset", "pos", "-m", tmp_path / "m"]
    message = misuse(*common, "--solver", "lbfgs", "-p", "memoy=3")
    assert message == "solver lbfgs has no option 'memoy' (did you mean memory?); `loglinear solvers lbfgs` lists them"
    message = misuse(*common, "--l1", "1", "-p", "mem=3")
    assert message == "solver auto has no option 'mem'; `loglinear solvers auto` lists them"
    message = misuse(*common, "--solver", "grafting", "-p", "unlike=3")
    assert message == "solver grafting has no option 'unlike'; `loglinear solvers grafting` lists them"
    assert "did you mean lbfgs" in misuse(*common, "--solver", "lbfg")


def test_help_is_plain_text(done):
    for command in (["solvers", "sag"], ["train", "--help"], ["select", "--help"], ["structure", "--help"]):
        assert "``" not in done(*command).stdout
    assert "(default: 1, or 0 if l1 > 0)" not in " ".join(done("select", "--help").stdout.split())
    assert "(default: 1, or 0 if l1 > 0)" in " ".join(done("train", "--help").stdout.split())


def test_narrow_terminals_wrap_the_options_of_a_solver(done, monkeypatch):
    for columns in (60, 90):
        monkeypatch.setenv("COLUMNS", str(columns))
        for name in ("owlqn", "sag"):
            *_, options = done("solvers", name).stdout.partition("options, with")
            assert max(map(len, options.splitlines())) <= columns
