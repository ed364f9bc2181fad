"""The suites of python-crfsuite and sklearn-crfsuite, run on the modules that stand in for them.

The source distributions come from the package index that pip uses, or from the folder that LOGLINEAR_SDISTS names. Not
run are `test_open_invalid_with_correct_signature` and `test_tag_not_opened` of python-crfsuite, which are marked
`run=False` because the peer crashes; `test_tagger.py` here has their counterparts.
"""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

import pytest

from oracles.patience import patience

# Distribution, version, and the least number of tests that have to pass.
SUITES = {"python-crfsuite": ("0.9.12", 40), "sklearn-crfsuite": ("0.5.0", 40)}

CONFTEST = """
import sys
import loglinear.compat
loglinear.compat.install()
"""


def index() -> str:
    """The package index that pip uses."""
    if found := os.environ.get("PIP_INDEX_URL"):
        return found
    for path in ("/etc/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf"):
        settings = configparser.ConfigParser()
        settings.read(os.path.expanduser(path))
        if found := settings.get("global", "index-url", fallback=None):
            return found
    return "https://pypi.org/simple"


def sdist(name: str, folder: Path) -> Path:
    """The source distribution of a peer, downloaded unless it is there; skips where the index cannot be reached."""
    file = f"{name.replace('-', '_')}-{SUITES[name][0]}.tar.gz"
    if given := os.environ.get("LOGLINEAR_SDISTS"):
        return Path(given) / file
    try:
        page = f"{index().rstrip('/')}/{name}/"
        with urllib.request.urlopen(page, timeout=patience(10)) as answer:
            links = re.findall(r'href="([^"#]+)', answer.read().decode())
        link = next(link for link in links if link.endswith(file))
        with urllib.request.urlopen(urllib.request.urljoin(page, link), timeout=patience(20)) as answer:
            (folder / file).write_bytes(answer.read())
    except (OSError, StopIteration) as error:
        pytest.skip(f"the source distribution of {name} cannot be had: {error!r}")
    return folder / file


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SUITES))
def test_the_peers_own_suite_passes(name, tmp_path):
    with tarfile.open(sdist(name, tmp_path)) as archive:
        tests = [member for member in archive.getmembers() if "/tests/" in member.name]
        archive.extractall(tmp_path, members=tests, filter="data")
    (suite,) = tmp_path.glob("*/tests")
    conftest = suite / "conftest.py"
    conftest.write_text(CONFTEST + conftest.read_text(encoding="utf-8"), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-c", os.devnull, "-rfE", "."]
    finished = subprocess.run(
        command, cwd=suite, env=environment, capture_output=True, text=True, timeout=patience(300), check=False
    )
    passed = re.search(r"(\d+) passed", finished.stdout)
    assert finished.returncode == 0, finished.stdout[-4000:] + finished.stderr[-2000:]
    assert passed
    assert int(passed[1]) >= SUITES[name][1]
