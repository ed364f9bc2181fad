"""The documentation site builds without a warning, has every page and public name, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import loglinear
from loglinear.cli.main import COMMANDS, command_parser
from oracles.browser import findings, has_axe
from oracles.patience import patience

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "sphinx_gallery", "matplotlib", "distributed")
# A page that is another file's text has that file's heading.
INCLUDES = re.compile(r"^```\{include\} \S+\n(?!:start-after:)", re.MULTILINE)
# Names without docstrings of their own.
CONSTANTS = {"CRFSUITE_VERSION", "SOLVERS"}
MISSING = [name for name in NEEDED if find_spec(name) is None]


class Page(HTMLParser):
    """A page's anchors, and the links and files that it names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what identifies and what links."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in {"href", "src"} and value:
                self.links.add(value)


def built(folder: Path) -> dict[Path, Page]:
    """The pages of the site by their paths in it; a warning is an error.

    The gallery's pages are written beside their sources: the site is built in a copy of docs/.
    """
    copy = folder / "copy"
    shutil.copytree(DOCS, copy / "docs", ignore=shutil.ignore_patterns("_build", "gallery"))
    for other in ROOT.iterdir():
        if other.suffix == ".md":
            shutil.copy(other, copy)
        elif other.name != "docs":
            (copy / other.name).symlink_to(other)
    options = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(folder / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(copy / "docs"), str(folder / "html")]
    path = os.pathsep.join([str(Path(loglinear.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=patience(300), env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted((folder / "html").rglob("*.html"))}


def broken_links(pages: dict[Path, Page]) -> Iterator[str]:
    """Links to files of the site that are not there, or to anchors that a page does not have."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if not (parts.scheme or parts.netloc):
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                anchors = pages[target].anchors if target in pages and parts.fragment else {unquote(parts.fragment)}
                if not target.is_file() or unquote(parts.fragment) not in anchors:
                    yield f"{path.name}: {link}"


# One test, for the site takes half a minute to build; `.ci/run` runs it, too.
@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"no {', '.join(MISSING)}: pip install '.[docs]'")
def test_the_site_has_every_page_and_name_and_its_links_lead_somewhere(tmp_path):
    pages = built(tmp_path)
    sources = {
        page.relative_to(DOCS).with_suffix(".html")
        for page in DOCS.rglob("*.md")
        if page.relative_to(DOCS).parts[0] not in {"_build", "gallery"}
    }
    assert len(sources) > 20
    examples = {Path("gallery", page.name).with_suffix(".html") for page in (ROOT / "examples").glob("*.py")}
    assert sources | examples <= {path.relative_to(tmp_path / "html") for path in pages}
    gallery = pages[tmp_path / "html" / "gallery" / "index.html"]
    pictures = {Path(link).name for link in gallery.links if "_thumb." in link}
    assert pictures == {f"sphx_glr_{page.stem}_thumb.png" for page in examples}

    assert list(broken_links(pages)) == []
    fetched = {link for page in pages.values() for link in page.links if link.endswith((".js", ".css", ".woff2"))}
    assert [link for link in fetched if urlsplit(link).netloc] == []

    # Pages with pictures, code, formulas, wide tables and commands.
    kinds = ["index", "start", "networks", "benchmarks", "papers/tsuruoka2009", "command-line"]
    for kind in kinds if has_axe else []:
        for dark in (False, True):
            assert findings(tmp_path / "html" / f"{kind}.html", dark=dark, width=1280 if dark else 390) == [], kind

    formulas = sum(page.read_text(encoding="utf-8").count("```math") for page in DOCS.rglob("*.md"))
    assert sum(path.read_text(encoding="utf-8").count('display="block"') for path in pages) == formulas > 5

    documented = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "api"))
    homes = ("loglinear.", "loglinear.solvers.", "loglinear.metrics.")
    assert [name for name in loglinear.__all__ if documented.isdisjoint({home + name for home in homes})] == []
    for name in ("solvers", "dask", "compat", "compat.pycrfsuite", "compat.sklearn_crfsuite"):
        module = import_module(f"loglinear.{name}")
        missing = {f"{module.__name__}.{name}" for name in module.__all__ if name not in CONSTANTS} - documented
        assert missing <= {"loglinear.compat.pycrfsuite.BaseTrainer"}

    command_line = tmp_path / "html" / "command-line.html"
    for section in command_line.read_text(encoding="utf-8").split("<section")[2:]:
        name = re.search('id="loglinear-(.*?)"', section)[1]
        terms = " ".join(re.sub("<[^>]*>", "", term) for term in re.findall("<dt>(.*?)</dt>", section, re.DOTALL))
        flags = {flag for action in command_parser(name)[1]._actions for flag in action.option_strings}
        assert flags - {"-h", "--help"} == set(re.findall(r"(?<!\S)--?[a-z][\w-]*", terms))
    assert {f"loglinear-{name}" for name in COMMANDS} <= pages[command_line].anchors


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_has_one_heading_of_the_first_level(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^# ", text, re.MULTILINE)) + len(INCLUDES.findall(page.read_text(encoding="utf-8"))) == 1
