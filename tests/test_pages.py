"""The Python in README.md and the pages of docs/ runs, and says what the pages say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if "```py" in page.read_text()]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore")
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"^```(python|pycon)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, page.name, "exec"), names)
            continue
        example = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=OPTIONS)
        output: list[str] = []
        assert runner.run(example, out=output.append, clear_globs=False).failed == 0, "".join(output)
        names |= example.globs
