"""The recipes of CONTRIBUTING.md are true, and pages name files that are there."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# What stands for NAME, FORMAT and KIND in a recipe's paths when they are looked up.
EXAMPLES = {"NAME": "sag", "FORMAT": "jsonl", "KIND": "graph", "COMMAND": "tag", "TOOL": "doccano"}


def recipe(title: str) -> str:
    """The section of this title."""
    return re.split(rf"^## {title}$", TEXT, flags=re.MULTILINE)[1].split("\n## ")[0]


def paths(text: str, name: str) -> set[str]:
    """The files that a recipe names, with a name filled in."""
    found = re.findall(r"`((?:src|native|tests|docs|benchmarks)/[\w/.]+\.\w+|[A-Z]+\.md)`", text)
    return {path.replace("NAME", name) for path in found}


@cache
def sources() -> dict[str, str]:
    """The files of the package and of its native half, and their texts."""
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.pyi"), *(ROOT / "native" / "src").rglob("*.rs")]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


def mentions(pattern: str) -> dict[str, int]:
    """File of the package or its native half -> the number of lines where a pattern occurs."""
    return {
        name: sum(re.search(pattern, line) is not None for line in text.splitlines())
        for name, text in sources().items()
        if re.search(pattern, text, re.MULTILINE)
    }


def test_every_path_that_is_named_exists():
    named = re.findall(r"`((?:src|native|tests|docs|benchmarks)/[\w/.*]+)`", TEXT)
    assert len(named) > 15
    for path in named:
        for word, example in EXAMPLES.items():
            path = path.replace(word, example)
        assert list(ROOT.glob(path)), path


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name
)
def test_pages_name_files_that_exist(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|native|tests|benchmarks|docs)/[\w/.-]*|[A-Z-]+\.(?:md|txt))`", text)
    linked = [path.split("#")[0] for path in re.findall(r"\]\((?!https?:|#|mailto:)([^)]+)\)", text)]
    missing = [path for path in named if not re.search("NAME|FORMAT|KIND|TOOL", path) and not (ROOT / path).exists()]
    assert missing + [path for path in linked if not (page.parent / path).exists()] == []


@pytest.mark.parametrize(("name", "per_sample"), [("iis", False), ("hybrid", False), ("adagrad", True)])
def test_the_recipe_of_solvers_names_every_file_that_knows_a_solver(name, per_sample):
    steps = recipe("Adding a solver")
    batch, besides = steps.split("A method that goes sample by sample")
    besides, exceptions = besides.split("\nA solver whose distance")
    assert len(paths(batch, name)) == 5
    assert len(paths(batch + besides, name)) == 8
    named = paths(steps if per_sample else batch, name)
    assert exceptions
    knowing = mentions(rf"(?i)\b{name}(_pass|State)?\b|{name.replace('_', '').title()}\b")
    assert set(knowing) <= named, f"{sorted(set(knowing) - named)} know {name}, and the recipe does not name them"


def test_the_recipe_of_options_names_every_file_that_knows_one():
    named = paths(recipe("Adding an option of chains").split("\nAnother option")[0], "")
    assert len(named) == 5
    knowing = mentions(r"\ball_transitions\b")
    assert set(knowing) <= named, f"{sorted(set(knowing) - named)} know all_transitions"
    assert len(knowing) <= 5
    assert sum(knowing.values()) <= 8


def test_the_recipe_of_kinds_names_every_file_that_knows_one():
    named = {path.replace("KIND", "graph") for path in paths(recipe("Adding a kind of model"), "")}
    assert len(named) == 6
    named |= {path.replace("KIND", "graph") for path in paths(recipe("Adding an estimator"), "")}
    knowing = mentions(r'\bGraphCRF\b|"graph":? |files import graph\b|"a graph model')
    assert set(knowing) <= named, f"{sorted(set(knowing) - named)} know graphs, and the recipe does not name them"


def test_the_recipe_of_estimators_has_as_many_files_as_it_says():
    assert len(paths(recipe("Adding an estimator"), "")) == 5


def test_the_recipe_of_commands_names_every_file_that_knows_one():
    steps = recipe("Adding a command").split("in `CHANGELOG.md`:")[1].split("\n\n`tests")[0]
    named = {path.replace("COMMAND", "doctor") for path in paths(steps, "")}
    assert len(named) == 2
    knowing = mentions(r'"doctor"|\bcommands[./]doctor\b|\bimport doctor\b')
    assert set(knowing) <= named, f"{sorted(set(knowing) - named)} know the command, and the recipe does not name them"


def test_the_recipe_of_annotation_tools_names_every_file_that_knows_one():
    text = recipe("Adding the format of an annotation tool").replace("TOOL", "doccano")
    assert set(mentions(r"\"doccano\"|import doccano\b")) <= paths(text, "")


def test_the_recipe_of_formats_names_every_file_that_knows_one():
    named = {path.replace("FORMAT", "svmlight") for path in paths(recipe("Adding a file format"), "")}
    assert len(named) == 8
    knowing = mentions(r"\"svmlight\"|\bSvmlight\b|\bsvmlight(::|;)")
    assert set(knowing) <= named, f"{sorted(set(knowing) - named)} know svmlight"
    # An arm for all other formats is refused: the compiler names every question that a new format has to answer.
    lints = (ROOT / "native" / "src" / "text" / "format.rs").read_text(encoding="utf-8")
    assert "#![deny(clippy::wildcard_enum_match_arm, clippy::match_wildcard_for_single_variants)]" in lints
