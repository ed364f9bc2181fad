"""A Python on which packages are missing."""

import subprocess
import sys

from loglinear.extras import PACKAGES
from oracles.patience import patience

ALL = sorted(PACKAGES)
BUT_NUMPY = sorted({*PACKAGES} - {"numpy"})
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {missing}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def run(missing, program, *arguments):
    """Run a program on a Python without these packages."""
    command = [sys.executable, "-c", WITHOUT.format(missing=set(missing)) + program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience(60))


def printed(missing, program, *arguments):
    done = run(missing, program, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
