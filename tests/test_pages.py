"""The Python in README.md and the pages of docs/ runs, and says what the pages say; of some pages, the shell too."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oracles.patience import patience
from oracles.programs import blocks

ROOT = Path(__file__).parents[1]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
RUN_IN_SHELL = (ROOT / "docs" / "start.md", ROOT / "docs" / "faq.md", *GUIDES)
"""Pages whose `sh` blocks run, too; a `text` block after one is what it prints."""
FOUND = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *GUIDES)
PAGES = [page for page in FOUND if page in RUN_IN_SHELL or "```py" in page.read_text(encoding="utf-8")]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_in_the_shell(text: str, said: str | None) -> None:
    """Run a block with the programs of this environment, and compare what it prints with what the page says."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    shell = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(shell, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=patience(120))
    assert done.returncode == 0, done.stderr
    assert said is None or doctest.OutputChecker().check_output(said, done.stdout, OPTIONS), done.stdout


# `.ci/run` runs README and the start page.
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for kind, text, said in blocks(page, "python", "pycon", "sh"):
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)
        elif kind == "pycon":
            example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=OPTIONS)
            output: list[str] = []
            assert runner.run(example, out=output.append, clear_globs=False).failed == 0, "".join(output)
            names |= example.globs
        elif page in RUN_IN_SHELL:
            run_in_the_shell(text, said or None)
