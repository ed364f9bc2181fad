"""The C library, built for tests of programs that are linked to it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from oracles.patience import patience

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def library():
    """The folder of libloglinear.so, built as the pages say but with less optimisation."""
    if shutil.which("cargo") is None:
        pytest.skip("needs cargo")
    command = ["cargo", "build", "--profile", "quick", "--lib", "--message-format", "json"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=patience(1200)).stdout
    names = [name for line in built.splitlines() for name in json.loads(line).get("filenames", [])]
    return next(Path(name).parent for name in names if name.endswith("libloglinear.so"))
