"""The programs of docs/migration.md that are written for other packages run unchanged, and print the same."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "migration.md"
BEFORE = dict(re.findall(r"^```py before=(\w+)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
INSTALL = "import loglinear.compat\nloglinear.compat.install()\n"


def printed(program, folder):
    finished = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("package", ["pycrfsuite", "sklearn_crfsuite"])
def test_a_program_for_another_package_runs_unchanged(package, tmp_path):
    ours = printed(INSTALL + BEFORE[package], tmp_path)
    assert ours
    if importlib.util.find_spec(package) is not None:
        assert printed(BEFORE[package], tmp_path) == ours
