"""What a package index and a lawyer look at: licences, notices of linked crates, links of the page."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import loglinear
from oracles.patience import patience

ROOT = Path(__file__).parents[1]
NOTICES = (ROOT / "THIRD-PARTY-NOTICES.txt").read_text(encoding="utf-8")
LINKED, OTHERS = NOTICES.split("are no part of it:")


def of_toml(name: str) -> dict:
    """The content of a TOML file."""
    return pytest.importorskip("tomllib", reason="Python 3.10 reads no TOML").loads(
        (ROOT / name).read_text(encoding="utf-8")
    )


def test_the_licence_has_no_placeholder():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert re.findall(r"\[[^\]]*\]", text) == []
    assert re.search(r"^Copyright \d{4} the loglinear contributors$", text, re.MULTILINE)


def test_the_licence_expression_covers_code_and_data_and_its_files_are_there():
    project = of_toml("pyproject.toml")["project"]
    assert project["license"] == "Apache-2.0 AND CC-BY-SA-4.0"
    assert {"LICENSE", "THIRD-PARTY-NOTICES.txt"} < set(project["license-files"])
    assert [name for name in project["license-files"] if not (ROOT / name).is_file()] == []


def listed(part: str) -> set[tuple[str, str]]:
    """Names and versions of the crates in a part of the notices."""
    return set(re.findall(r"^([\w-]+) (\d[\w.+-]*)(?: \(|$)", part, re.MULTILINE))


def test_the_notices_list_the_crates_of_the_lock_file():
    lock = (ROOT / "Cargo.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r'name = "(.+)"\nversion = "(.+)"', lock)) - {("loglinear", loglinear.__version__)}
    assert listed(LINKED) | listed(OTHERS) == locked, "run `python .ci/notices.py`"
    assert len(listed(LINKED)) > 30


def test_the_notices_have_every_crate_that_is_linked():
    command = ["cargo", "tree", "--offline", "--locked", "--edges", "normal,no-proc-macro", "--features", "python"]
    if shutil.which("cargo") is None:
        pytest.skip("no cargo to ask")
    done = subprocess.run(
        [*command, "--prefix", "none"], cwd=ROOT, capture_output=True, text=True, timeout=patience(60)
    )
    if done.returncode:
        pytest.skip("cargo has not fetched the crates")
    linked = set(re.findall(r"^([\w-]+) v(\d\S*)", done.stdout, re.MULTILINE))
    assert linked - listed(LINKED) == {("loglinear", loglinear.__version__)}, "run `python .ci/notices.py`"


def test_the_page_on_a_package_index_has_no_link_that_needs_the_repository():
    readme = of_toml("pyproject.toml")["project"]["readme"]
    text = (ROOT / readme).read_text(encoding="utf-8")
    assert [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith(("https://", "#"))] == []


def test_wheels_have_no_bill_of_materials_that_names_the_build_machine():
    assert of_toml("pyproject.toml")["tool"]["maturin"]["sbom"]["rust"] is False


def test_the_command_is_there():
    module, name = of_toml("pyproject.toml")["project"]["scripts"]["loglinear"].split(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_the_hooks_before_a_commit_have_the_versions_of_continuous_integration():
    hooks = re.findall(r'"([\w-]+==[\d.]+)"', (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert {hook.partition("==")[0] for hook in hooks} == {"ruff", "check-jsonschema"}
    assert set(hooks) <= set((ROOT / ".ci" / "tools.txt").read_text(encoding="utf-8").split())


def test_the_conda_recipe_has_the_version_and_dependencies_of_the_package():
    project = of_toml("pyproject.toml")["project"]
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    assert f'version: "{project["version"]}"' in recipe
    assert project["version"] == loglinear.__version__
    wanted = [
        *project["dependencies"],
        *project["optional-dependencies"]["sklearn"],
        "python" + project["requires-python"],
    ]
    for requirement in wanted:
        assert f"- {requirement.replace('>=', ' >=')}\n" in recipe
    assert f"- loglinear = {project['scripts']['loglinear']}" in recipe
    assert project["description"] in recipe
    assert project["license"] in recipe


def test_the_metadata_name_developers_and_no_address():
    project = of_toml("pyproject.toml")["project"]
    assert project["authors"] == project["maintainers"] == [{"name": "loglinear developers"}]
    assert "urls" not in project
    assert {"classifier", "network", "conditional random field"} <= set(project["keywords"])


def test_the_sizes_on_the_page_on_deploying_are_those_of_readme():
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/deploy.md")]
    sizes = [re.findall(r"`pip install ([^`]*)` \| (\d+ MB)", page) for page in pages]
    assert [size for _, size in sizes[0]] == [size for _, size in sizes[1]] == ["14 MB", "71 MB", "220 MB"]
