"""The check of wheels notices what does not belong into one, and what is missing."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from oracles.patience import patience

ROOT = Path(__file__).parents[1]
NAME = "loglinear-0.1.0-cp310-abi3-manylinux2014_x86_64.whl"
MODULE = b"\x7fELF, and in its code .debug_info, as in Rust's library; \0.text\0"
FILES = {
    "loglinear/py.typed": b"",
    "loglinear/_core/__init__.pyi": b"",
    "loglinear/_core.abi3.so": MODULE,
    "loglinear/datasets/ud-english-ewt-train.txt.xz": b"",
    "loglinear-0.1.0.dist-info/licenses/LICENSE": b"",
    "loglinear-0.1.0.dist-info/licenses/THIRD-PARTY-NOTICES.txt": b"",
    "loglinear-0.1.0.dist-info/licenses/src/loglinear/datasets/ATTRIBUTION.md": b"",
    "loglinear-0.1.0.dist-info/entry_points.txt": b"",
}


def check(folder: Path, files: dict[str, bytes], name: str = NAME) -> tuple[int, str]:
    """Check a wheel of these files: exit code, and what is said."""
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)
    command = [sys.executable, str(ROOT / ".ci" / "check_wheels.py"), str(folder / name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(60))
    return done.returncode, done.stdout + done.stderr


def test_a_wheel_as_it_should_be_passes(tmp_path):
    code, said = check(tmp_path, FILES)
    assert (code, "as it should be" in said) == (0, True)


@pytest.mark.parametrize("missing", FILES)
def test_a_missing_file_is_named(tmp_path, missing):
    code, said = check(tmp_path, {name: content for name, content in FILES.items() if name != missing})
    assert (code, said.count("is missing")) == (1, 1)


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"loglinear/_core.abi3.so": MODULE + b"\0.symtab\0"}, "is not stripped"),
        ({"loglinear/_core.abi3.so": MODULE + b"/home/ann/loglinear/native/src/lib.rs"}, "names a folder"),
        ({"tests/test_api.py": b""}, "tests/test_api.py does not belong there"),
        ({"loglinear/__pycache__/api.pyc": b""}, "does not belong there"),
        ({"loglinear/large.bin": bytes(12_000_001)}, "12,000,000 or more"),
    ],
)
def test_what_does_not_belong_there_is_named(tmp_path, more, fault):
    code, said = check(tmp_path, FILES | more)
    assert (code, fault in said) == (1, True)


def test_a_wheel_for_another_python_is_refused(tmp_path):
    code, said = check(tmp_path, FILES, "loglinear-0.1.0-cp312-cp312-manylinux2014_x86_64.whl")
    assert (code, "its name" in said) == (1, True)


def test_no_wheels_are_an_error():
    command = [sys.executable, str(ROOT / ".ci" / "check_wheels.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patience(60))
    assert (done.returncode, "no wheels" in done.stderr) == (2, True)
