"""Files replaced as a whole: what failures, killed runs and runs at the same time leave."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from loglinear.replacing import replacing

# Writes its number over and over, byte by byte, until it has replaced the file often enough.
WRITER = """
import sys
from loglinear.replacing import replacing
path, number = sys.argv[1:]
for length in range(1, 60):
    with replacing(path) as file:
        for _ in range(length):
            file.write(number.encode())
            file.flush()
"""


def test_a_failure_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), replacing(str(path)) as file:
        file.write("a text")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["f"]


def test_what_a_killed_run_has_left_is_used_up(tmp_path):
    (tmp_path / "f.part").write_bytes(b"more than the next run writes")
    with replacing(str(tmp_path / "f")) as file:
        file.write(b"new")
    assert (tmp_path / "f").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["f"]


def test_an_error_names_the_file_and_not_the_temporary_one(tmp_path):
    (tmp_path / "f.part").mkdir()
    with pytest.raises(OSError, match=r"f'$"), replacing(str(tmp_path / "f")):
        pass


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "link").symlink_to("f")
    with replacing(str(tmp_path / "link")) as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "f").read_bytes() == b"new"


@pytest.mark.skipif(os.name != "posix", reason="needs locks")
def test_runs_that_write_the_same_file_at_the_same_time_each_write_it_whole(tmp_path):
    path = tmp_path / "f"
    path.write_bytes(b"1")
    command = [sys.executable, "-c", WRITER, path]
    writers = [subprocess.Popen([*command, number], stderr=subprocess.PIPE) for number in ("1", "2", "3")]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        text = path.read_bytes()
        seen |= set(text)
        assert text.count(text[:1]) == len(text) > 0, text
    for writer in writers:
        assert writer.communicate()[1] == b""
        assert writer.returncode == 0
    assert len(path.read_bytes()) == 59
    assert len(seen) > 1
    assert os.listdir(tmp_path) == ["f"]
